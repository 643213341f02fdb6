"""The schema of a table, inferred from statistics of its columns, with notes for the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.checks import meant
from auctor.core.errors import DataError, DataWarning, Option
from auctor.core.types import FloatArray
from auctor.tables.amounts import decimal_sign
from auctor.tables.blocks import TableFile
from auctor.tables.columns import EXACT_INTEGERS, listed, parse_number
from auctor.tables.dates import are_dates
from auctor.tables.encode import numbers_in, refuse_missing
from auctor.tables.lost import Lost
from auctor.tables.options import SKIP, ReadOptions, reading_option
from auctor.tables.schema import KEEP, Column, ColumnSummary, Schema
from auctor.tables.stats import ColumnStats
from auctor.tables.words import frequent_words

#: Rules for missing values that need all numbers of a column at once.
WHOLE_COLUMN = ("auto", "median", "most_frequent")
#: Share of the values of a text column that must have a form.
MOSTLY = 0.9


class Note(NamedTuple):
    """A message about a file, given once the file is read.

    Parameters
    ----------
    does : str
        What the reader does that may not be meant.
    todo : str, optional
        What the user can do.
    option : str or Option
        The parameter that ``todo`` names.
    warns : bool
        Whether an estimator warns of it; if not, only commands print it.
    """

    does: str
    todo: str | None = None
    option: str | Option | tuple[()] = ()
    warns: bool = True

    def warning(self) -> DataWarning:
        """The note as a warning."""
        return DataWarning(does=self.does, todo=self.todo, option=self.option)


def first_kinds(file: TableFile, options: ReadOptions, name: str) -> list[str]:
    """The kind of each column, from the options, the types in the file and the first block."""
    kinds = ["number"] * len(file.names)
    for k in file.text_columns:
        kinds[k] = "category"
    if options.columns is not None:
        wanted = set(options.listed("columns"))
        absent = [column for column in options.listed("columns") if column not in set(file.names)]
        if absent:
            raise DataError(
                f"columns in {name}; got {listed(absent)}. Choose among {listed(file.names)}."
            )
        kinds = [k if c in wanted else "skip" for c, k in zip(file.names, kinds, strict=True)]
    _apply_options(file, kinds, options, name)
    blocks = file.blocks(kinds, strict=False)
    next(blocks, None)
    for k in file.non_numeric:
        kinds[k] = "category"
    return kinds


def _apply_options(file: TableFile, kinds: list[str], options: ReadOptions, name: str) -> None:
    """Set the kinds of columns that options name; refuses columns that do not exist."""
    places = {column: k for k, column in enumerate(file.names)}
    # Amounts and dates are read as text, and become numbers when they are encoded.
    settings = {
        "drop": ("skip", options.listed("drop")),
        "as_category": ("category", options.listed("as_category")),
        "as_words": ("category", options.listed("as_words")),
        "as_number": ("category", options.listed("as_number")),
        "date": ("category", tuple(options.date)),
    }
    for option, (kind, columns) in settings.items():
        for column in columns:
            if column not in places:
                raise DataError(
                    f"columns that are in {name} for {{option}}",
                    got=repr(column),
                    todo=_one_each(column, places)
                    or f"{meant(column, file.names)}Choose among {listed(file.names)}.",
                    option=(option, reading_option(option, column.split(","))),
                )
            kinds[places[column]] = kind


def _one_each(names: str, places: Mapping[str, int]) -> str:
    """Advice if a name is several names of columns with commas between, otherwise ""."""
    parts = names.split(",")
    return "Name one column at a time: {option2}." if all(n in places for n in parts) else ""


def scan_columns(file: TableFile, options: ReadOptions, name: str) -> tuple[ColumnStats, list[str]]:
    """Statistics and kinds of the columns of a whole file, which is not kept in memory."""
    kinds = first_kinds(file, options, name)
    # A second pass is needed if columns of numbers turn out to have text.
    for strict in (False, True):
        stats = ColumnStats()
        for block in file.blocks(kinds, strict=strict):
            if not file.non_numeric:
                stats.add(block)
        if not file.non_numeric:
            break
        for k in file.non_numeric:
            kinds[k] = "category"
    return stats, kinds


def leave_out_empty(
    stats: ColumnStats, file: TableFile, kinds: list[str], name: str, notes: list[Note]
) -> bool:
    """Skip columns without any value, with a note; returns whether there are any."""
    used = [k for k, kind in enumerate(kinds) if kind != "skip"]
    places = {kind: iter(range(len(kinds))) for kind in ("number", "category")}
    empty = []
    for k in used:
        place = next(places[kinds[k]])
        number = kinds[k] == "number"
        if stats.facts[0, place] == stats.rows if number else not stats.words[place]:
            empty.append(k)
    if not stats.rows or not empty or len(empty) == len(used):
        return False
    for k in empty:
        kinds[k] = "skip"
    out = [repr(file.names[k]) for k in empty]
    notes.append(Note(f"leaves out {listed(out)} of {name}: no row has a value there."))
    return True


def note_text(
    stats: ColumnStats, file: TableFile, kinds: Sequence[str], name: str, decimal: str = "."
) -> list[Note]:
    """Notes on columns that are text only because of a few values that are not numbers."""
    notes = []
    texts = (k for k, kind in enumerate(kinds) if kind == "category")
    for k, words in zip(texts, stats.words, strict=True):
        if k not in file.first_non_numbers:
            continue
        total = sum(words.values())
        numbers = sum(
            count for word, count in words.items() if parse_number(word, decimal) is not None
        )
        if numbers >= MOSTLY * total:
            notes.append(
                Note(
                    f"takes column {file.names[k]!r} of {name} as text of {len(words)} "
                    f"categories: {numbers} of {total} values are numbers, "
                    f"{file.first_non_numbers[k]} is not.",
                    "Correct it, or pass {option} to take it as missing.",
                    reading_option("as_number", [file.names[k]]),
                )
            )
    return notes


def long_integers(stats: ColumnStats, file: TableFile, kinds: Sequence[str]) -> list[str]:
    """Columns with whole numbers beyond 2^53, each with one of them, for messages.

    Only columns whose largest value reaches 2^53 are read again.
    """
    numbers = [k for k, kind in enumerate(kinds) if kind == "number"]
    largest = np.fmax(-stats.facts[1], stats.facts[2]).tolist()
    columns = [
        k
        for k, x in zip(numbers, largest, strict=True)
        if x >= EXACT_INTEGERS and k not in file.float_columns
    ]
    integers = file.long_integers(columns) if columns else {}
    return [f"{number} in {file.names[k]!r}" for k, number in sorted(integers.items())]


def note_long_integers(
    stats: ColumnStats, file: TableFile, kinds: Sequence[str], name: str
) -> list[Note]:
    """A note on columns with whole numbers that are rounded to the nearest float."""
    columns = long_integers(stats, file, kinds)
    if not columns:
        return []
    return [
        Note(
            f"rounds whole numbers beyond 2^53: {listed(columns)} of {name}.",
            "Drop such a column, or put a letter before its numbers to make them text.",
        )
    ]


def infer(
    stats: ColumnStats,
    file: TableFile,
    kinds: Sequence[str],
    options: ReadOptions,
    name: str,
    numbers: FloatArray | None = None,
) -> tuple[Schema, tuple[ColumnSummary, ...]]:
    """The schema and the summaries of columns.

    Parameters
    ----------
    kinds : sequence of str
        How each column of the file was read.
    name : str
        Name of the file, for messages.
    numbers : (n, k) array, optional
        The columns of numbers; needed for the rules of `WHOLE_COLUMN`.
    """
    columns: list[Column] = []
    summary: list[ColumnSummary] = []
    # n and c count the columns of numbers and of text so far, which index the statistics.
    n = c = 0
    for position, (column, kind) in enumerate(zip(file.names, kinds, strict=True)):
        if kind == "number":
            values = None if numbers is None else numbers[:, n]
            columns.append(Column(column, kind, _number_fill(stats.facts[:, n], options, values)))
            summary.append(stats.number(column, n))
            n += 1
        elif kind == "category":
            facts = stats.category(column, c)
            plain = position not in file.text_columns
            made, facts = _of_words(facts, stats.words[c], options, may_be_dates=plain)
            columns.append(made)
            summary.append(facts)
            c += 1
    if not stats.rows or not columns:
        raise DataError(
            "some rows and columns",
            got=f"{stats.rows} rows of {len(columns)} columns besides the label in {name}",
            todo="Drop fewer columns."
            if stats.rows and options.listed("drop")
            else "Check the file.",
        )
    words = [one.name for one in columns if one.kind == "category" and not one.words]
    if words and options.categorical == "refuse":
        raise DataError(
            f"columns of numbers; got text in {listed(words)} of {name}. Pass "
            "`ReadOptions(categorical='one_hot')` or 'hash', or choose other columns."
        )
    # Missing values without a fill are refused, unless a stream skips such rows.
    refused = {
        facts.name: facts.missing
        for facts, column in zip(summary, columns, strict=True)
        if facts.missing and column.fill is None
    }
    if refused and options.missing_rule != SKIP:
        advice = "Fill or drop them first."
        if options.missing_rule == "refuse":
            advice = "Pass {option} with a rule, such as 'mean', or fill or drop them first."
        refuse_missing(refused, name, advice=advice, option=reading_option("missing"))
    schema = Schema.of(columns, file.label)
    if not schema.n_features:
        raise DataError(f"a column with values; got none in {name}. Check the file.")
    return schema, tuple(summary)


def note_dates(schema: Schema, name: str) -> list[Note]:
    """A note on columns that are read as dates without an option that says so."""
    dates = [c.name for c in schema.columns if c.kind == "date" and c.pattern is None]
    if not dates:
        return []
    shown = listed([repr(date) for date in dates])
    does = f"reads {shown} of {name} as dates, in days since 1 January 1970."
    option = reading_option("as_category", dates)
    return [Note(does, "Pass {option} to treat them as text.", option, warns=False)]


def note_amounts(schema: Schema, options: ReadOptions) -> list[Note]:
    """Notes on amounts that are read with another decimal sign than that of the file."""
    signs = {",": "comma", ".": "point"}
    return [
        Note(
            f"reads {c.name!r} with a decimal {signs[c.pattern]}, as its values have one.",
            warns=False,
        )
        for c in schema.columns
        if c.kind == "amount" and c.pattern in signs and c.pattern != options.decimal
    ]


def note_filled(summary: Sequence[ColumnSummary], name: str) -> list[Note]:
    """A note on missing values that the rule "auto" fills."""
    gaps = [f"{one.missing} in {one.name!r}" for one in summary if one.missing]
    if not gaps:
        return []
    return [
        Note(
            f"fills missing values ({listed(gaps, 5)} of {name}): numbers and dates by their "
            "median; missing text is treated as no category.",
            "Choose another rule with {option}.",
            "missing",
            warns=False,
        )
    ]


def note_unreadable(lost: Mapping[str, Lost], name: str) -> list[Note]:
    """A note on text in columns of dates or amounts that is read as missing."""
    bad = [str(one) for one in lost.values() if one.unreadable]
    if not bad:
        return []
    does = f"takes text that is no date or amount as missing: {listed(bad)}, in {name}."
    return [Note(does, warns=False)]


def _of_words(
    facts: ColumnSummary, words: dict[str, int], options: ReadOptions, *, may_be_dates: bool
) -> tuple[Column, ColumnSummary]:
    """The schema and summary of a column of text: dates, amounts or categories."""
    name = facts.name
    if name in options.listed("as_words"):
        return Column(name, "category", "", frequent_words(name, words), words=True), facts
    if name in options.date:
        wanted = Column(name, "date", pattern=options.date[name])
    elif name in options.listed("as_number"):
        wanted = Column(name, "amount", pattern=decimal_sign(words, options.decimal))
    elif may_be_dates and name not in options.listed("as_category") and are_dates(words):
        wanted = Column(name, "date")
    else:
        return _category(name, words, options), facts
    return _date_or_amount(wanted, words, facts.missing, options)


def _date_or_amount(
    column: Column, words: dict[str, int], missing: int, options: ReadOptions
) -> tuple[Column, ColumnSummary]:
    """The schema and summary of a column of dates or amounts; other words count as missing."""
    values = np.repeat(numbers_in(column, list(words)), list(words.values()))
    known = values[~np.isnan(values)]
    if not known.size:
        what = "dates of that pattern" if column.kind == "date" else "amounts"
        raise DataError(
            f"{what} in column {column.name!r}; got {next(iter(words), 'nothing')!r}. Correct "
            "{option}.",
            option=Option("date" if column.kind == "date" else "as_number", bare=True),
        )
    missing += values.size - known.size
    facts = np.array([missing, known.min(), known.max(), known.mean()])
    made = column._replace(fill=_number_fill(facts, options, known))
    summary = ColumnSummary(column.name, column.kind, missing, len(words), *facts[1:].tolist())
    return made, summary


def _category(name: str, words: dict[str, int], options: ReadOptions) -> Column:
    """The schema of a column of categories; a missing value becomes none or the most frequent."""
    no_category = ("auto", "zero", KEEP, SKIP)
    fill = "" if options.missing_rule in no_category else None
    if words and options.missing_rule not in (*no_category, "refuse"):
        most = max(words.values())
        fill = min(word for word, count in words.items() if count == most)
    if options.categorical == "hash":
        return Column(name, "category", fill, buckets=options.buckets)
    numbered = True if options.categorical == "levels" else None
    return Column(name, "category", fill, tuple(sorted(words)), numbered=numbered)


def _number_fill(
    facts: FloatArray, options: ReadOptions, values: FloatArray | None
) -> float | str | None:
    """The number that missing values of a column become; None refuses them."""
    if options.missing_rule == "zero":
        return 0.0
    if options.missing_rule == KEEP:
        return KEEP
    if options.missing_rule in ("refuse", SKIP) or np.isnan(facts[1]):
        return None
    if options.missing_rule == "mean":
        fill = float(facts[3])
    else:
        assert values is not None
        known = values[~np.isnan(values)]
        if options.missing_rule in ("auto", "median"):
            fill = float(np.median(known))
        else:
            distinct, counts = np.unique(known, return_counts=True)
            fill = float(distinct[np.argmax(counts)])
    return fill if np.isfinite(fill) else None
