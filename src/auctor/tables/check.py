"""Checks of a table before training: ids, dates as text, leaks of the label and the like.

Every finding says how the column is used and which option changes that. Columns that are left out
are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from auctor.core.errors import Option
from auctor.core.types import Array, FloatArray
from auctor.data.codebook import MOST_CODES
from auctor.tables.amounts import has_sign, has_thousands
from auctor.tables.blocks import Block, TableFile
from auctor.tables.columns import EXACT_INTEGERS, has_decimal_comma, listed, parse_number
from auctor.tables.dates import days, patterns_of
from auctor.tables.findings import FEW_ROWS, ColumnView, Finding, found_in, merged
from auctor.tables.infer import MOSTLY, Note
from auctor.tables.leaks import binary_hits, leaks, spellings
from auctor.tables.options import ReadOptions, reading_option
from auctor.tables.stats import ColumnStats

#: Share of categories among the values from which a column of text is nearly unique.
NEARLY_UNIQUE = 0.2
#: Numbers that often stand for a missing value: -1, and nines such as 999 or -99.
_STANDS_FOR_MISSING = re.compile(r"-1|-9|-?99+")
#: Smallest number of rows with such a number for a finding.
FEW_REPEATS = 5
#: Levels that an additive model can tell apart in one column, at most.
MOST_LEVELS = MOST_CODES - 2
#: Names of columns whose whole numbers are codes, not quantities.
_CODE_NAME = re.compile(
    r"(?:^|[_\W])(?:zip|plz|postal|post_?code|zip_?code)(?![a-z])|^cap$", re.IGNORECASE
)
#: Names of columns whose whole numbers are ids: id, customer_id, Customer ID, customerId, ...
_ID_NAME = re.compile(r"(?:^|[_\W])(?i:ids?|[ug]uid)$|[a-z]I[Dd]$")
_DATE = re.compile(
    r"\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})(?:[ T].*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)


def check_columns(
    block: Block,
    stats: ColumnStats,
    file: TableFile,
    kinds: Sequence[str],
    labels: Array | None,
    options: ReadOptions,
) -> list[Finding]:
    """Findings about the columns of a table in memory, without those whose kind the user set."""
    settled = _settled(options)
    findings = list(spellings(labels, file.label or "label"))
    hit = binary_hits(labels, block.n_rows)
    for seen in _columns(block, stats, file, kinds):
        findings += leaks(seen, hit)
        if seen.name not in settled:
            if seen.numbers is not None:
                findings += _number(seen)
            else:
                findings += _text(seen, options.decimal, curves=options.categorical == "levels")
    return merged(findings)


def _settled(options: ReadOptions) -> set[str]:
    """The columns whose kind the user set."""
    named = (options.listed(what) for what in ("as_category", "as_words", "as_number"))
    return {*options.date, *(name for names in named for name in names)}


def leave_out_unique(
    stats: ColumnStats, file: TableFile, kinds: list[str], options: ReadOptions, notes: list[Note]
) -> bool:
    """Skip columns of text that differ in every row, with a note; returns whether there are any."""
    settled = _settled(options)
    texts = [k for k, kind in enumerate(kinds) if kind == "category"]
    unique = [
        k
        for k, words in zip(texts, stats.words, strict=True)
        if len(words) == stats.rows >= FEW_ROWS
        and k not in file.text_columns
        and file.names[k] not in settled
        and not any(_shaped(words, shape) for shape in SHAPES)
    ]
    used = [kind for kind in kinds if kind != "skip"]
    if not unique or len(unique) == len(used):
        return False
    for k in unique:
        kinds[k] = "skip"
    names = listed([repr(file.names[k]) for k in unique])
    notes.append(
        Note(
            f"leaves out {names}: the text differs in every row, as names and ids do.",
            "Pass {option} to keep it.",
            reading_option("as_category", [file.names[k] for k in unique]),
            warns=False,
        )
    )
    return True


# --- columns ------------------------------------------------------------------------------------


def _columns(
    block: Block, stats: ColumnStats, file: TableFile, kinds: Sequence[str]
) -> Iterator[ColumnView]:
    """The columns of a block, in the order of the file."""
    n = c = 0
    for k, kind in enumerate(kinds):
        if kind == "number":
            values = block.numbers[:, n]
            known = values[~np.isnan(values)]
            whole = k not in file.float_columns and bool((np.trunc(known) == known).all())
            yield ColumnView(file.names[k], values, np.empty(0), [], {}, whole)
            n += 1
        elif kind == "category":
            yield ColumnView(
                file.names[k], None, block.codes[:, c], block.words[c], stats.words[c], False
            )
            c += 1


def _number(seen: ColumnView) -> Iterator[Finding]:
    """Findings about a column of numbers: a constant, a code, or an id."""
    assert seen.numbers is not None
    known = seen.numbers[~np.isnan(seen.numbers)]
    if not known.size:
        return
    name = repr(seen.name)
    if known.min() == known.max():
        if known.size == seen.numbers.size:
            does = f"keeps {name}, which is {known[0]:g} in every row and cannot tell rows apart."
            yield found_in(seen, "constant", does, "Pass {option} to leave it out.", "drop")
    elif seen.whole and _CODE_NAME.search(seen.name):
        does = f"takes {name} as a quantity; by its name it is a code, such as a zip code."
        yield found_in(seen, "code", does, "Pass {option} to make it a category.", "as_category")
    elif seen.whole and known.size >= FEW_ROWS and _is_id(known):
        does = f"takes {name} as a quantity; it is another whole number in every row, as an id is."
        yield found_in(seen, "id", does, "Pass {option} to leave it out.", "drop")
    elif seen.whole and _ID_NAME.search(seen.name) and np.unique(known).size >= FEW_ROWS:
        does = (
            f"takes {name} as a quantity; by its name it is an id, and a model that learns ids is "
            "no use for new ones."
        )
        yield found_in(seen, "id", does, "Pass {option} to leave it out.", "drop")
    else:
        for value in (known.min(), known.max()):
            if _stands_for_missing(known, value):
                rows = int((known == value).sum())
                does = (
                    f"takes {value:.0f} in {name} as a quantity; by the other values its {rows} "
                    "rows may mean that the value is missing."
                )
                todo = "Leave these fields empty if so."
                yield Finding(seen.name, "sentinel", Note(does, todo, warns=False))


def _stands_for_missing(known: FloatArray, value: float) -> bool:
    """Whether the smallest or largest number of a column seems to stand for a missing value.

    Three conditions must hold. The number is one that is often used for missing values. It is more
    than twice as frequent as the nearest other number. And it is farther from that number than all
    others are from each other, or it is the only negative one among many different numbers.
    """
    if _STANDS_FOR_MISSING.fullmatch(f"{value:g}") is None:
        return False
    others = known[known != value]
    low, high = others.min(), others.max()
    nearest = low if value < low else high
    if (known.size - others.size) < max(FEW_REPEATS, 2 * (others == nearest).sum() + 1):
        return False
    alone = value < 0 <= low and np.unique(others).size >= FEW_ROWS
    return bool(low < high and (abs(value - nearest) > high - low or alone))


def _is_id(known: FloatArray) -> bool:
    """Whether whole numbers look like ids: all distinct, and sorted or dense in their range.

    Numbers beyond 2^53 are left to `note_long_integers`.
    """
    if np.unique(known).size != known.size or np.abs(known).max() >= EXACT_INTEGERS:
        return False
    steps = np.diff(known)
    dense = known.max() - known.min() < 2 * known.size
    return bool(dense or (steps > 0).all() or (steps < 0).all())


def _text(seen: ColumnView, decimal: str, *, curves: bool) -> Iterator[Finding]:
    """Findings about a column of text: dates, amounts, a constant, or too many categories."""
    name, words = repr(seen.name), seen.counts
    total = sum(words.values())
    shown = repr(next(iter(words), ""))
    points = any("." in word for word in words)
    # The first form that nearly all values have decides; the order matters for 1,234, which may be
    # a number with thousands or with a decimal comma.
    if _shaped(words, _is_date):
        does = f"takes {name} as text of {len(words)} categories; values such as {shown} are dates."
        yield found_in(seen, "date", does, *_date_option(seen))
    elif _shaped(words, _is_any_date):
        yield from _dates_in_several_forms(seen)
    elif decimal != "," and _shaped(words, has_thousands):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are numbers "
            "with a comma between thousands."
        )
        yield found_in(seen, "amount", does, "Pass {option} to make it a number.", "as_number")
    elif _shaped(words, has_decimal_comma) and (points or decimal != ","):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are numbers "
            "with a decimal comma."
        )
        if points:  # as in 1.234,50; the option decimal does not read points between thousands
            yield found_in(seen, "decimal", does, "Pass {option} to make it a number.", "as_number")
        else:
            todo, option = "Pass {option} to read them.", reading_option("decimal", ",")
            yield found_in(seen, "decimal", does, todo, option)
    elif decimal == "," and _shaped(words, _has_point):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are numbers "
            "with a decimal point."
        )
        yield found_in(seen, "decimal", does, "Pass {option} to make it a number.", "as_number")
    elif _shaped(words, has_sign):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are amounts."
        )
        yield found_in(seen, "amount", does, "Pass {option} to make it a number.", "as_number")
    elif len(words) == 1 and total == seen.codes.size:
        does = f"keeps {name}, which is {shown} in every row and cannot tell rows apart."
        yield found_in(seen, "constant", does, "Pass {option} to leave it out.", "drop")
    elif (word := _only_word(words, decimal)) is not None:
        does = f"takes {name} as text of {len(words)} categories; all but {word!r} are numbers."
        todo = "Pass {option} to take that as a missing value."
        yield found_in(seen, "word", does, todo, "as_number")
    elif curves and len(words) > MOST_LEVELS:
        does = (
            f"reads {name} as one category of {len(words):,} levels; the mean of the label of its "
            "level is used as one curve."
        )
        yield found_in(seen, "levels", does, "Pass {option} to leave it out.", "drop")
    elif len(words) >= max(FEW_ROWS, NEARLY_UNIQUE * total) and not _shaped(words, _is_number):
        does = (
            f"takes {name} as text of {len(words):,} categories in {total:,} rows: too few rows of "
            "each to learn from, and new rows will have others."
        )
        yield found_in(seen, "many", does, "Pass {option} to leave it out.", "drop")


def _only_word(words: dict[str, int], decimal: str) -> str | None:
    """The only value that is not a number among many numbers, such as - or unknown.

    None if it is rare: `note_text` gives the line of it.
    """
    if len(words) <= FEW_ROWS or _shaped(words, _is_number):
        return None
    others = [word for word in words if parse_number(word, decimal) is None]
    return others[0] if len(others) == 1 else None


def _dates_in_several_forms(seen: ColumnView) -> Iterator[Finding]:
    """A finding about dates of which some are year-month-day and some values are not."""
    usual = next(word for word in seen.counts if _is_year_first(word))
    other = next((word for word in seen.counts if not _is_year_first(word)), None)
    if other is not None:  # None: the file itself says that the dates are categories
        does = (
            f"takes {seen.name!r} as text of {len(seen.counts)} categories; values such as "
            f"{usual!r} are dates, {other!r} is written otherwise."
        )
        todo = "Write all of them as year-month-day, or leave fields empty."
        yield Finding(seen.name, "date", Note(does, todo, warns=False))


def _date_option(seen: ColumnView) -> tuple[str, Option]:
    """Advice for dates that are read as text, with their pattern if the values determine it."""
    fits = patterns_of(seen.counts)
    if not fits:
        todo = "Pass {option} with its pattern, such as %d/%m/%Y for day/month/year."
        return todo, reading_option("date")
    todo = "Pass {option} to read them."
    if len(fits) > 1:
        todo = f"Pass {{option}} to read them, or {fits[1]} if the month comes first."
    return todo, reading_option("date", {seen.name: fits[0]})


def _shaped(words: dict[str, int], shape: Callable[[str], bool]) -> bool:
    """Whether at least a share `MOSTLY` of the values satisfies a predicate."""
    total = sum(words.values())
    return total > 0 and sum(c for word, c in words.items() if shape(word)) >= MOSTLY * total


def _is_date(word: str) -> bool:
    return _DATE.fullmatch(word.strip()) is not None


def _is_year_first(word: str) -> bool:
    return bool(np.isfinite(days(word.strip())))


def _is_any_date(word: str) -> bool:
    return _is_date(word) or _is_year_first(word)


def _has_point(word: str) -> bool:
    return "." in word and _is_number(word)


def _is_number(word: str) -> bool:
    return parse_number(word) is not None


#: Predicates of text that may differ in every row without being a name or an id.
SHAPES = (has_sign, has_decimal_comma, _is_any_date, _is_number)
