"""Checks of the labels of a table, and of columns that say what the label is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from auctor import metrics
from auctor.core.types import Array, FloatArray
from auctor.tables.findings import FEW_ROWS, ColumnView, Finding, found_in
from auctor.tables.infer import Note

#: AUC of a single column from which it is reported as a possible leak of the label.
LEAK = 0.99
#: Advice about a possible leak.
LEAK_ADVICE = "Pass {option} unless its value is known before the label is."
#: Largest number of rows, evenly spaced, on which the AUC of a column is computed.
MOST_RANKED = 20_000
#: Smallest mean number of rows per category for the AUC of a column of text.
ROWS_PER_LEVEL = 20


def spellings(labels: Array | None, name: str) -> Iterator[Finding]:
    """A finding if two labels differ only in upper and lower case."""
    if labels is None or labels.ndim != 1 or labels.dtype.kind not in "OUS":
        return
    known: dict[str, str] = {}
    for label in sorted({str(one) for one in labels}):
        first = known.setdefault(label.lower(), label)
        if first != label:
            does = f"takes the labels {first!r} and {label!r} as two classes; only case differs."
            yield Finding(name, "spelling", Note(does, "Write them alike in the file."))
            return


# --- leaks of the label --------------------------------------------------------------------------


def binary_hits(labels: Array | None, rows: int) -> Array | None:
    """A mask of one of two classes, on the rows of `_sample`; None for other labels."""
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
    values = array.astype(str) if array.dtype.kind == "O" else array
    hit: Array = (values == classes[1])[_sample(rows)]
    return hit


def _sample(rows: int) -> Any:
    """Evenly spaced rows, at most `MOST_RANKED`."""
    return slice(None, None, -(-rows // MOST_RANKED))


def leaks(seen: ColumnView, hit: Array | None) -> Iterator[Finding]:
    """A finding if the AUC of a column alone is at least `LEAK`, or it equals the label."""
    if hit is None:
        return
    scores = _scores(seen, hit)
    if scores is None:
        return
    # AUC on the rows with a value; it needs enough rows, of both classes.
    known = np.isfinite(scores)
    if known.sum() < FEW_ROWS or hit[known].all() or not hit[known].any():
        return
    auc = float(metrics.auc(hit[known], scores[known]))
    auc = max(auc, 1.0 - auc)  # a column that ranks the labels in reverse is as good
    if auc < LEAK:
        return
    name = repr(seen.name)
    if auc == 1.0 and known.all() and np.unique(scores).size == 2:
        does = f"keeps {name}, which says the same as the label in every row."
        yield found_in(seen, "label", does, LEAK_ADVICE, "drop", warns=True)
    else:
        does = (
            f"keeps {name}, which alone ranks the labels with an AUC of {auc:.4f}, as a column "
            "that was made from the label does."
        )
        yield found_in(seen, "leak", does, LEAK_ADVICE, "drop", warns=True)


def _scores(seen: ColumnView, hit: Array) -> FloatArray | None:
    """Scores to rank rows by: the numbers of a column, or the positive rate of its categories."""
    rows = seen.codes.size if seen.numbers is None else seen.numbers.size
    if seen.numbers is not None:
        numbers: FloatArray = seen.numbers[_sample(rows)]
        return numbers
    codes = seen.codes[_sample(rows)]
    if len(seen.words) * ROWS_PER_LEVEL > codes.size or len(seen.words) < 2:
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(seen.words))
    hits = np.bincount(codes[(codes >= 0) & hit], minlength=len(seen.words))
    share: FloatArray = np.append(hits / np.maximum(counts, 1), np.nan)  # NaN for the code -1
    scores: FloatArray = share[codes]
    return scores
