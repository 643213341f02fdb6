"""Tables in memory (pandas, polars, pyarrow, arrays) behind the protocol of files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import meant
from auctor.core.errors import DataError, DataTypeError
from auctor.core.types import Array, FloatArray
from auctor.data.coerce import refuse_lazy, refuse_masked
from auctor.data.matrices import is_sparse
from auctor.tables.blocks import Block
from auctor.tables.columns import (
    check_names,
    default_names,
    is_missing,
    listed,
    no_number,
    parse_number,
    spelt_long_integers,
)
from auctor.tables.source import shown

#: Names of types whose values are categories even if they all spell numbers.
_CATEGORIES = ("category", "categorical", "enum", "dictionary")


class _Words(NamedTuple):
    """A column of text: codes, which are positions in a list of distinct words; -1 is missing."""

    codes: Array
    words: list[str]


class TableInMemory:
    """A table in memory behind the protocol of `auctor.tables.blocks.TableFile`.

    Numbers and bools are numbers, dates and times are dates, and everything else is text. Text that
    spells a number in every row is a column of numbers, as in a CSV file, unless its type is
    categorical.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or two-dimensional array
        Columns of an array are called column_1, column_2 and so on.
    without : str, optional
        The label column, which is left out.
    name : str
        Name of the table in error messages.
    decimal : {".", ","}
        Decimal sign of numbers in text.
    """

    def __init__(
        self,
        table: Any,
        *,
        without: str | None = None,
        name: str = "the table",
        decimal: str = ".",
    ) -> None:
        self.name, self.decimal = name, decimal
        self.label = without
        names, columns, self.named = _columns(table)
        kept = [(n, c) for n, c in zip(names, columns, strict=True) if n != without]
        self.names = tuple(check_names(name, [n for n, _ in kept]))
        self._raw = [column for _, column in kept]
        if len({len(column) for column in self._raw}) > 1:
            raise DataError(
                "columns of one length",
                got="columns of different lengths",
                todo="Pass a rectangular table.",
            )
        self.n_rows = len(self._raw[0]) if self._raw else 0
        self._read = [_column(column, n) for (n, column) in kept]
        self.text_columns = frozenset(
            k for k, column in enumerate(self._raw) if _is_category(column)
        )
        self.float_columns = frozenset(
            k
            for k, column in enumerate(self._read)
            if not isinstance(column, _Words) and column.dtype.kind == "f"
        )
        self.non_numeric: set[int] = set()
        self.first_non_numbers: dict[int, str] = {}

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """All rows in one block; ``kinds`` reads each column as "number", "category" or "skip"."""
        self.non_numeric = set()
        numbers: list[FloatArray] = []
        texts: list[_Words] = []
        for k, kind in enumerate(kinds):
            if kind == "number":
                numbers.append(self._numbers(k, strict))
            elif kind == "category":
                texts.append(self._words(k))
        empty: Array = np.empty((self.n_rows, 0))
        yield Block(
            np.column_stack(numbers).astype(np.float64) if numbers else empty,
            np.column_stack([text.codes for text in texts]) if texts else empty.astype(np.int32),
            [text.words for text in texts],
            None,
        )

    def long_integers(self, columns: Sequence[int]) -> dict[int, str]:
        """The first whole number beyond 2^53 in each of some columns that has one."""
        return spelt_long_integers(self, columns)

    def _numbers(self, k: int, strict: bool) -> FloatArray:
        """A column as numbers; text that is not a number is refused or recorded."""
        column = self._read[k]
        if not isinstance(column, _Words):
            return column.astype(np.float64)
        meanings = [parse_number(word, self.decimal) for word in column.words]
        if None in meanings:
            word = column.words[meanings.index(None)]
            if strict:
                raise no_number(f"column {self.names[k]!r}", word)
            self.non_numeric.add(k)
            self.first_non_numbers.setdefault(k, shown(word.encode()))
            return np.full(self.n_rows, np.nan)
        found: FloatArray = np.array([*meanings, np.nan], dtype=np.float64)[column.codes]
        return found

    def _words(self, k: int) -> _Words:
        """A column as text."""
        column = self._read[k]
        return column if isinstance(column, _Words) else _coded(column.tolist())


def _columns(table: Any) -> tuple[list[str], list[Any], bool]:
    """Names and columns of a table, and whether the table has names."""
    refuse_masked(table, "X")
    refuse_lazy(table)
    if hasattr(table, "column_names"):  # pyarrow
        names = list(table.column_names)
        return names, [table.column(k) for k in range(len(names))], True
    if hasattr(table, "iloc") and hasattr(table, "columns"):  # pandas
        names = [str(name) for name in table.columns]
        columns = [table.iloc[:, k] for k in range(len(names))]
        return names, columns, not all(isinstance(name, int) for name in table.columns)
    if hasattr(table, "columns"):  # polars
        names = [str(name) for name in table.columns]
        return names, [table[name] for name in names], True
    if is_sparse(table):
        raise DataTypeError(
            "a table or an array",
            got="sparse data",
            todo="Use MetricClassifier, which takes sparse matrices.",
        )
    array = np.asarray(table)
    if array.ndim < 2 and array.dtype.kind in "OU" and not isinstance(table, np.ndarray):
        raise DataTypeError(
            "a table with two dimensions",
            got=f"an object of type {type(table).__name__}",
            todo="Pass a pandas, polars or pyarrow table; pandas.DataFrame([row]) has one row.",
        )
    if array.dtype.kind == "c":
        raise DataError("real numbers", got="Complex data not supported", todo="Drop them.")
    if array.ndim != 2:
        raise DataError(
            "a table with two dimensions",
            got=f"{array.ndim}",
            todo="Reshape your data: X.reshape(-1, 1) for one column.",
        )
    if not array.size:
        n, d = array.shape
        raise DataError(
            "some rows and columns",
            got=f"{n} sample(s) and {d} feature(s) (shape=({n}, {d})) while a minimum of 1 is "
            "required",
            todo="Pass some data.",
        )
    return default_names(array.shape[1]), list(array.T), False


def _is_category(column: Any) -> bool:
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    return kind.startswith(_CATEGORIES)


def _column(column: Any, name: str) -> Array | _Words:
    """A column as numbers, with NaN for missing values, or as words."""
    kind = getattr(getattr(column, "dtype", None), "kind", "")
    if hasattr(column, "isna") and kind in "iufb" and kind:  # pandas, nullable types too
        values = column.to_numpy(dtype=np.float64, na_value=np.nan) if column.hasnans else column
    else:
        values = column.to_numpy() if hasattr(column, "to_numpy") else column
    array = np.asarray(values)
    if array.dtype.kind in "iub":
        return array.astype(np.int64) if array.dtype.kind == "b" else array
    if array.dtype.kind == "f":
        return array
    if array.dtype.kind == "M":
        return _coded(np.datetime_as_string(array.astype("datetime64[us]")).tolist())
    if array.dtype.kind == "m":
        days: FloatArray = array / np.timedelta64(1, "D")
        return days
    if array.ndim != 1 or array.dtype.kind not in "OUST":
        raise DataTypeError(
            "columns of numbers, text or dates",
            got=f"{array.dtype} in {name!r}",
            todo="Encode or drop such columns first.",
        )
    entries = array.tolist()
    known = [entry for entry in entries if not is_none(entry)]
    if known and all(isinstance(entry, Real) for entry in known):
        return np.array([math.nan if is_none(e) else float(e) for e in entries])
    return _coded(entries, name=name)


def is_none(entry: Any) -> bool:
    """Whether an entry is a missing value: None, NaN, NaT or NA."""
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, float) and math.isnan(entry)


def _coded(entries: list[Any], *, name: str = "") -> _Words:
    """Entries as codes of words, spelt as in a CSV file."""
    known: dict[str, int] = {}
    codes = np.empty(len(entries), np.int32)
    for k, entry in enumerate(entries):
        word = "" if is_none(entry) else _word(entry, name)
        codes[k] = -1 if word == "nat" or is_missing(word) else known.setdefault(word, len(known))
    return _Words(codes, list(known))


def _word(entry: Any, name: str) -> str:
    """An entry as a CSV file would spell it."""
    if isinstance(entry, str):
        return entry.strip()
    if isinstance(entry, bool | np.bool_):
        return str(entry).lower()
    if isinstance(entry, float) and entry.is_integer():
        return str(int(entry))
    if isinstance(entry, Real | date):
        return str(entry)
    if isinstance(entry, bytes):
        return entry.decode(errors="replace").strip()
    raise DataTypeError(
        "columns of numbers, text or dates",
        got=f"{type(entry).__name__} in {name!r}: argument must be a string or a number",
        todo="Encode or drop such columns first.",
    )


def labels_of(table: Any, name: str) -> Array:
    """The labels in a column of a table."""
    names, columns, _ = _columns(table)
    if name not in names:
        raise DataError(
            f"a label column named {name!r}",
            got=f"{listed(names)}",
            todo=f"{meant(name, names)}Pass the name of a column, or one label for each row.",
        )
    if names.count(name) > 1:
        check_names("the table", names)
    column = columns[names.index(name)]
    entries = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    missing = sum(map(is_none, entries.tolist()))
    if missing:
        raise DataError(
            "a label in every row",
            got=f"{missing} missing in {name!r}",
            todo="Drop the rows without a label first.",
        )
    found = np.array(entries.tolist()) if entries.dtype.kind == "O" else entries
    return found
