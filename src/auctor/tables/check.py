"""A look at a table before training: columns that are probably not meant as they are read.

Every finding says what was done and which option changes it. Nothing is hidden: what is left out
is named too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.errors import Option
from auctor.core.types import Array, FloatArray
from auctor.tables.amounts import has_sign, has_thousands
from auctor.tables.blocks import Block, TableFile
from auctor.tables.columns import EXACT, has_decimal_comma, listed, meaning
from auctor.tables.dates import patterns_of
from auctor.tables.infer import MOSTLY, Look, Note
from auctor.tables.options import ReadOptions

#: Rows below which nothing is said of how many different values a column has: a short column is
#: often different in every row by chance.
FEW_ROWS = 20
#: A column of text is nearly unique where it has more categories than this share of its values.
NEARLY_UNIQUE = 0.5
#: A column that alone ranks the labels better than this is probably made from them.
LEAK = 0.99
#: What to do with a column that knows the label.
KNOWN = "Pass {option} unless you know it beforehand."
#: Rows that a column is ranked on at most, evenly spaced, so that wide tables stay quick.
MOST_RANKED = 20_000
#: A category is ranked only if it has at least this many rows per level; with fewer, every column
#: of text would seem to know the labels.
ROWS_PER_LEVEL = 20
#: Names of columns of codes that are made of digits and are no quantities.
_CODE_NAME = re.compile(r"(?:^|[_\W])(?:zip|plz|cap|postal|post_?code|zip_?code)", re.IGNORECASE)
_DATE = re.compile(
    r"\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d{2})(?:[ T].*)?"
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}|[A-Za-z]{3,9} \d{1,2},? \d{4}"
)


class Finding(NamedTuple):
    """Something about a column: what kind of thing, what was done, what the user can do."""

    column: str
    kind: str
    note: Note


class Seen(NamedTuple):
    """One column as it was read: numbers, or positions in words with their counts."""

    name: str
    numbers: FloatArray | None
    codes: Array
    words: list[str]
    counts: dict[str, int]
    #: Whether values of a CSV file or a table are whole numbers rather than measurements.
    whole: bool


def check_columns(
    block: Block,
    look: Look,
    file: TableFile,
    kinds: Sequence[str],
    labels: Array | None,
    options: ReadOptions,
) -> list[Finding]:
    """Findings about the columns of a table in memory; settled ones are those the user named."""
    settled = {*options.as_category, *options.as_number, *options.date}
    found = list(_spellings(labels, file.label or "label"))
    hit = _hits(labels, block.n_rows)
    for seen in _columns(block, look, file, kinds):
        found += _ranked(seen, hit)
        if seen.name not in settled:
            found += _number(seen) if seen.numbers is not None else _text(seen, options.decimal)
    return found


def leave_out_unique(
    look: Look, file: TableFile, kinds: list[str], options: ReadOptions, notes: list[Note]
) -> bool:
    """Mark text that differs in every row to be skipped, with a note; whether there is some."""
    settled = {*options.as_category, *options.as_number, *options.date}
    texts = [k for k, kind in enumerate(kinds) if kind == "category"]
    unique = [
        k
        for k, words in zip(texts, look.words, strict=True)
        if len(words) == look.rows >= FEW_ROWS
        and k not in file.word_columns
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
            Option("as_category", [file.names[k] for k in unique]),
            warns=False,
        )
    )
    return True


def unseen_note(unseen: Mapping[str, int], rows: int, of: str = "training") -> str:
    """One sentence about categories that training, or another time, did not have.

    Examples
    --------
    >>> unseen_note({"city": 3}, 100)
    "3 of 100 rows have a category of 'city' that training did not have; it counts as no category"
    """
    parts = [f"{count:,} of {rows:,} rows have a category of {n!r}" for n, count in unseen.items()]
    end = "it counts" if len(unseen) == 1 else "they count"
    return f"{listed(parts)} that {of} did not have; {end} as no category"


# --- columns ------------------------------------------------------------------------------------


def _columns(block: Block, look: Look, file: TableFile, kinds: Sequence[str]) -> Iterator[Seen]:
    n = c = 0
    for k, kind in enumerate(kinds):
        if kind == "number":
            values = block.numbers[:, n]
            known = values[~np.isnan(values)]
            whole = k not in file.floats and bool((np.trunc(known) == known).all())
            yield Seen(file.names[k], values, np.empty(0), [], {}, whole)
            n += 1
        elif kind == "category":
            yield Seen(file.names[k], None, block.codes[:, c], block.words[c], look.words[c], False)
            c += 1


def _found(
    seen: Seen, kind: str, does: str, todo: str, option: str | Option, *, warns: bool = False
) -> Finding:
    """A finding; an option by its name is one that takes the column."""
    named = Option(option, [seen.name]) if isinstance(option, str) else option
    return Finding(seen.name, kind, Note(does, todo, named, warns=warns))


def _number(seen: Seen) -> Iterator[Finding]:
    """What a column of numbers may be instead."""
    assert seen.numbers is not None
    known = seen.numbers[~np.isnan(seen.numbers)]
    if not known.size:
        return
    name = repr(seen.name)
    if known.min() == known.max():
        if known.size == seen.numbers.size:
            does = f"keeps {name}, which is {known[0]:g} in every row and cannot tell rows apart."
            yield _found(seen, "constant", does, "Pass {option} to leave it out.", "drop")
    elif seen.whole and _CODE_NAME.search(seen.name):
        does = f"takes {name} as a quantity; by its name it is a code, such as a zip code."
        yield _found(seen, "code", does, "Pass {option} to make it a category.", "as_category")
    elif seen.whole and known.size >= FEW_ROWS and _is_id(known):
        does = f"takes {name} as a quantity; it is another whole number in every row, as an id is."
        yield _found(seen, "id", does, "Pass {option} to leave it out.", "drop")


def _is_id(known: FloatArray) -> bool:
    """Whether whole numbers differ in every row and either rise or fill their range.

    Of numbers that a float does not hold exactly, another note says more.
    """
    if np.unique(known).size != known.size or np.abs(known).max() >= EXACT:
        return False
    steps = np.diff(known)
    dense = known.max() - known.min() < 2 * known.size
    return bool(dense or (steps > 0).all() or (steps < 0).all())


def _text(seen: Seen, decimal: str) -> Iterator[Finding]:
    """What a column of text may be instead, in a file with that decimal sign."""
    name, words = repr(seen.name), seen.counts
    total = sum(words.values())
    shown = repr(next(iter(words), ""))
    if _shaped(words, _is_date):
        does = f"takes {name} as text of {len(words)} categories; values such as {shown} are dates."
        yield _found(seen, "date", does, *_date_option(seen))
    elif decimal != "," and _shaped(words, has_thousands):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are numbers "
            "with a comma between thousands."
        )
        yield _found(seen, "amount", does, "Pass {option} to make it a number.", "as_number")
    elif decimal != "," and _shaped(words, has_decimal_comma):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are numbers "
            "with a decimal comma."
        )
        yield _found(seen, "decimal", does, "Pass {option} to read them.", Option("decimal", ","))
    elif decimal == "," and _shaped(words, _has_point):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are numbers "
            "with a decimal point."
        )
        yield _found(seen, "decimal", does, "Pass {option} to make it a number.", "as_number")
    elif _shaped(words, has_sign):
        does = (
            f"takes {name} as text of {len(words)} categories; values such as {shown} are amounts."
        )
        yield _found(seen, "amount", does, "Pass {option} to make it a number.", "as_number")
    elif len(words) == 1 and total == seen.codes.size:
        does = f"keeps {name}, which is {shown} in every row and cannot tell rows apart."
        yield _found(seen, "constant", does, "Pass {option} to leave it out.", "drop")
    elif (
        total >= FEW_ROWS and len(words) > NEARLY_UNIQUE * total and not _shaped(words, _is_number)
    ):
        does = (
            f"takes {name} as text of {len(words)} categories in {total} rows, most of which new "
            "rows will not have."
        )
        yield _found(seen, "many", does, "Pass {option} to leave it out.", "drop")


def _date_option(seen: Seen) -> tuple[str, Option]:
    """What to do about dates as text, with the pattern where the values tell it."""
    fits = patterns_of(seen.counts)
    if not fits:
        todo = "Pass {option} with its pattern, such as %d/%m/%Y for day/month/year."
        return todo, Option("date")
    todo = "Pass {option} to read them."
    if len(fits) > 1:
        todo = f"Pass {{option}} to read them, or {fits[1]} where the month comes first."
    return todo, Option("date", {seen.name: fits[0]})


def _shaped(words: dict[str, int], shape: Callable[[str], bool]) -> bool:
    """Whether nearly all values have a shape."""
    total = sum(words.values())
    return total > 0 and sum(c for word, c in words.items() if shape(word)) >= MOSTLY * total


def _is_date(word: str) -> bool:
    return _DATE.fullmatch(word.strip()) is not None


def _has_point(word: str) -> bool:
    return "." in word and _is_number(word)


def _is_number(word: str) -> bool:
    return meaning(word) is not None


#: What text that differs in every row may be besides names and ids.
SHAPES = (has_sign, has_decimal_comma, _is_date, _is_number)


# --- labels -----------------------------------------------------------------------------------


def _spellings(labels: Array | None, name: str) -> Iterator[Finding]:
    """Labels that are different classes by their case alone."""
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "OUS":
        return
    known: dict[str, str] = {}
    for label in sorted({str(one) for one in labels}):
        first = known.setdefault(label.lower(), label)
        if first != label:
            does = f"takes the labels {first!r} and {label!r} as two classes; only case differs."
            yield Finding(name, "spelling", Note(does, "Write them alike in the file."))
            return


# --- columns that know the label -----------------------------------------------------------------


def _hits(labels: Array | None, rows: int) -> Array | None:
    """The rows of one of two classes, of those that columns are ranked on."""
    if labels is None or len(labels) != rows or rows < FEW_ROWS:
        return None
    array = np.asarray(labels)
    if array.ndim != 1:
        return None
    if array.dtype.kind == "f" and np.isnan(array).any():
        return None
    classes = np.unique(array.astype(str) if array.dtype.kind == "O" else array)
    if classes.size != 2:
        return None
    given = array.astype(str) if array.dtype.kind == "O" else array
    hit: Array = (given == classes[1])[_sample(rows)]
    return hit


def _sample(rows: int) -> Any:
    return slice(None, None, -(-rows // MOST_RANKED))


def _ranked(seen: Seen, hit: Array | None) -> Iterator[Finding]:
    """Whether a column alone ranks the labels too well to be true."""
    if hit is None:
        return
    scores = _scores(seen, hit)
    if scores is None:
        return
    known = np.isfinite(scores)
    if known.sum() < FEW_ROWS or hit[known].all() or not hit[known].any():
        return
    auc = float(metrics.auc(hit[known], scores[known]))
    auc = max(auc, 1.0 - auc)
    if auc < LEAK:
        return
    name = repr(seen.name)
    if auc == 1.0 and known.all() and np.unique(scores).size == 2:
        does = f"keeps {name}, which says the same as the label in every row."
        yield _found(seen, "label", does, KNOWN, "drop", warns=True)
    else:
        does = (
            f"keeps {name}, which alone ranks the labels with an AUC of {auc:.4f}, as a column "
            "that was made from the label does."
        )
        yield _found(seen, "leak", does, KNOWN, "drop", warns=True)


def _scores(seen: Seen, hit: Array) -> FloatArray | None:
    """Numbers of a column, or the share of hits of its categories."""
    rows = seen.codes.size if seen.numbers is None else seen.numbers.size
    if seen.numbers is not None:
        numbers: FloatArray = seen.numbers[_sample(rows)]
        return numbers
    codes = seen.codes[_sample(rows)]
    if len(seen.words) * ROWS_PER_LEVEL > codes.size or len(seen.words) < 2:
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(seen.words))
    hits = np.bincount(codes[(codes >= 0) & hit], minlength=len(seen.words))
    share: FloatArray = np.append(hits / np.maximum(counts, 1), np.nan)
    found: FloatArray = share[codes]
    return found
