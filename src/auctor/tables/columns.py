"""What readers of tables share: column names, the label column, numbers in text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from auctor.core.checks import meant
from auctor.core.errors import DataError
from auctor.core.types import Array, IntArray
from auctor.tables.blocks import TableFile
from auctor.tables.options import ReadOptions, reading_option
from auctor.tables.source import shown

#: Words for a missing value in text, in lower case.
MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "?"))
#: Words that are read as numbers, in lower case.
_TRUTH = {"true": 1.0, "false": 0.0}
#: Largest absolute value up to which 64-bit floats hold every whole number.
EXACT_INTEGERS = 2**53
#: What labels that are numbers must be, for messages.
EXACT_LABELS = "labels below 2^53, which floats hold exactly"
#: Whole numbers of 16 digits or more, which may exceed `EXACT_INTEGERS`.
_LONG = re.compile(r"[+-]?[0-9]{16,400}")
#: Exchanges the decimal comma and the decimal point.
_SWAP = str.maketrans(",.", ".,")
_DECIMAL_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:\.\d{3})+|\d+),\d+")
#: Names by which the label column is found if none is given, the first that exists.
LABEL_NAMES = ("label", "target", "y", "class")


def as_number(token: bytes) -> float | None:
    """The number that a token spells, such as ``1e400`` or ``nan``; None if it is not a number."""
    if b"_" in token:
        return None
    try:
        return float(token)
    except ValueError:
        return None


def parse_number(word: str, decimal: str = ".") -> float | None:
    """The number that a word spells, NaN for a word of `MISSING`, None for other words.

    Examples
    --------
    >>> [parse_number(word) for word in ("1e3", "True", "?", "red")]
    [1000.0, 1.0, nan, None]
    >>> parse_number("1,5", decimal=","), parse_number("1,5")
    (1.5, None)
    """
    word = word if decimal == "." else word.translate(_SWAP)
    small = word.lower()
    if small in MISSING:
        return np.nan
    return _TRUTH.get(small, as_number(word.encode()))


def has_decimal_comma(word: str) -> bool:
    """Whether a word is a number with a decimal comma."""
    return _DECIMAL_COMMA.fullmatch(word.strip()) is not None


def no_number(
    column: str, word: str, place: str = "", name: str = "", *, trained: bool = True
) -> DataError:
    """The error for a word in a column of numbers.

    Parameters
    ----------
    column : str
        The column in words, such as "column 3 (age)".
    word : str
        The word that is not a number; one with a decimal comma gets advice of its own.
    place : str
        Where the word is.
    name : str
        Name of the column if it may be read as text instead, otherwise "".
    trained : bool
        Whether the rows are for a model, which decides what a column is.
    """
    got = f"{shown(word.encode())}{place}"
    if has_decimal_comma(word):
        todo, option = "Pass {option} if that is a decimal comma.", reading_option("decimal", ",")
        return DataError(f"numbers in {column}", got=got, todo=todo, option=option)
    if name:
        todo, option = (
            "Correct it, or take the column as text with {option}.",
            reading_option("as_category", name),
        )
        return DataError(f"numbers in {column}", got=got, todo=todo, option=option)
    todo = "Correct it, or leave out the column; auctor train, compare and stream take text."
    if trained:
        todo = "Correct or drop such rows, or train the model with text in that column."
    return DataError(f"numbers in {column}", got=got, todo=todo)


def is_missing(word: str) -> bool:
    """Whether a word stands for a missing value."""
    return word.lower() in MISSING


def default_names(n_fields: int) -> list[str]:
    """Names for columns without names.

    Examples
    --------
    >>> default_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{k}" for k in range(1, n_fields + 1)]


def long_labels(labels: Array) -> IntArray:
    """Rows whose label is a float from 2^53 on, or infinite: several numbers are read as it."""
    rows: IntArray = np.flatnonzero(np.abs(labels) >= EXACT_INTEGERS)
    return rows


def check_names(file: str, names: Sequence[str]) -> list[str]:
    """The names, with a default for empty ones; refuses names that occur twice."""
    names = [name or spare for name, spare in zip(names, default_names(len(names)), strict=True)]
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = dict.fromkeys(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise DataError(
            f"distinct column names; got {listed(twice)} more than once in {file}. Rename them."
        )
    return names


def find_label(
    file: str, names: list[str] | None, options: ReadOptions, n_fields: int
) -> int | None:
    """Position of the label column; None if there is none and none is needed.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    names : list of str, optional
        Names of the columns, if the file has them.
    n_fields : int
        Number of columns.
    """
    label = _name_or_position(names, options, n_fields)
    if n_fields < 2 and options.labelled:
        raise DataError(
            f"a label and at least one more column; got {n_fields} column in {file}. Check the "
            "delimiter."
        )
    schema = options.schema
    # Rows to predict, without names and without a label: all columns are those of the schema.
    unnamed = names in (None, default_names(n_fields)) and not isinstance(label, int)
    if unnamed and not options.labelled and schema and n_fields == len(schema.columns):
        return None
    if label is None and names is not None:
        label = next((usual for usual in LABEL_NAMES if usual in names), None)
    known_names = names or []
    known = listed(known_names) or "columns without names"
    if label is None:
        if not options.labelled:
            return None
        raise DataError(
            f"the name of the label column; got {known} in {file}. Pass `ReadOptions(label=)`."
        )
    if isinstance(label, str):
        if label not in known_names:
            if not options.labelled:
                return None
            raise DataError(
                f"one column named {label!r}; got {known} in {file}. "
                f"{meant(label, known_names)}Pass `ReadOptions(label=)` with a name or a position."
            )
        return known_names.index(label)
    if not -n_fields <= label < n_fields:
        raise DataError(
            f"`label` in [{-n_fields}, {n_fields}); got {label} for {n_fields} columns of {file}. "
            "Pass a position in that range."
        )
    return label % n_fields


def _name_or_position(
    names: list[str] | None, options: ReadOptions, n_fields: int
) -> str | int | None:
    """The label option; text that is a position and not the name of a column becomes an int."""
    label, schema = options.label_column, options.schema
    if label in (names or ()) or (schema is not None and label == schema.label):
        return label
    return int(label) if label is not None and is_position(label, n_fields) else label


def is_position(label: str | int | None, n_fields: int) -> bool:
    """Whether a label option is a position, as text or number.

    Examples
    --------
    >>> [is_position(label, 5) for label in ("2021", "-1", 3, "y", None)]
    [False, True, True, False, False]
    """
    if isinstance(label, str):
        spelt = re.fullmatch("-?[0-9]{1,9}", label)
        return spelt is not None and -n_fields <= int(label) < n_fields
    return label is not None


def check_width(file: str, n_columns: int, options: ReadOptions) -> None:
    """Refuse a table whose number of columns is not ``n_features``."""
    if options.n_features not in (None, n_columns):
        raise DataError(
            f"{options.n_features} columns besides the label, as `n_features` says; got "
            f"{n_columns} in {file}. Drop `n_features`."
        )


def listed(names: Sequence[str] | dict[str, None], most: int = 8) -> str:
    """The first ``most`` names on one line, and how many there are in all."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    shown = (name if name.isprintable() else repr(name) for name in list(names)[:most])
    return ", ".join(shown) + more


def spelt_long_integers(file: TableFile, columns: Sequence[int]) -> dict[int, str]:
    """The first whole number beyond 2^53 in each of some columns that has one, as text.

    The columns are read again as text: as floats such numbers are already rounded.
    """
    integers: dict[int, str] = {}
    kinds = ["category" if k in columns else "skip" for k in range(len(file.names))]
    for block in file.blocks(kinds):
        for k, words in zip(sorted(columns), block.words, strict=True):
            long = (w for w in words if _LONG.fullmatch(w) and abs(int(w)) > EXACT_INTEGERS)
            word = None if k in integers else next(long, None)
            if word is not None:
                integers[k] = word
    return integers
