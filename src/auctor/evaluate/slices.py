"""Metrics of the test rows by the values of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.types import Array, FloatArray
from auctor.evaluate.intervals import DELONG, Estimate, wilson
from auctor.evaluate.trained_metric import ReportedMetric

#: Largest number of slices of a column; the rarest values share the last.
MAX_SLICES = 12
#: Number of slices of a column of numbers with more values: quartiles.
PARTS = 4
#: Name of the slice of rows with a missing value.
MISSING = "(missing)"
#: Name of the slice of the rarest values.
OTHERS = "(others)"


class Slice(NamedTuple):
    """A part of the test rows.

    Parameters
    ----------
    name : str
    rows, positives : int
    value : float
        The metric that the model was trained for; NaN if it is not defined for these rows.
    auc : Estimate
    precision : float
    recall, fpr, flagged : Estimate
        Rates of true and of false positives, and the share of rows that are predicted positive.
    """

    name: str
    rows: int
    positives: int
    value: float
    auc: Estimate
    precision: float
    recall: Estimate
    fpr: Estimate
    flagged: Estimate


class Sliced(NamedTuple):
    """The slices of a column."""

    column: str
    slices: tuple[Slice, ...]


def sliced(
    column: str, words: Sequence[str], hit: Array, scores: FloatArray, metric: ReportedMetric
) -> Sliced:
    """Metrics for every value of a column, or for ranges of a column with many numbers.

    Parameters
    ----------
    column : str
    words : sequence of str
        Value of the column in each row as text; a missing value is "".
    hit : (n,) bool array
        Which rows are positive.
    scores : (n,) array
        Scores, above 0 for rows that are predicted positive.
    metric : ReportedMetric
        The metric that the model was trained for.

    Examples
    --------
    >>> metric = ReportedMetric("auc", lambda y, s, w: metrics.auc(y, s, weight=w))
    >>> hit, scores = np.array([True, False, True, False]), np.array([1.0, 0.0, -1.0, 2.0])
    >>> cities = sliced("city", ["Oslo", "Oslo", "Rome", "Rome"], hit, scores, metric)
    >>> [(one.name, one.value) for one in cities.slices]
    [('Oslo', 1.0), ('Rome', 0.0)]
    """
    parts = groups(words)
    return Sliced(
        column, tuple(_slice(name, rows, hit, scores, metric) for name, rows in parts.items())
    )


def groups(words: Sequence[str]) -> dict[str, Array]:
    """Positions of the rows of each slice, by its name.

    Examples
    --------
    >>> {name: rows.tolist() for name, rows in groups(["a", "", "a", "b"]).items()}
    {'a': [0, 2], 'b': [3], '(missing)': [1]}
    """
    texts = np.array([str(word) for word in words], dtype=object)
    missing = texts == ""
    names, codes = np.unique(texts[~missing].astype(str), return_inverse=True)
    places = np.flatnonzero(~missing)
    if names.size > MAX_SLICES:
        names, codes = _ranges(names, codes) or _frequent(names, codes)
    groups_of = {str(name): places[codes == k] for k, name in enumerate(names.tolist())}
    if missing.any():
        groups_of[MISSING] = np.flatnonzero(missing)
    return {name: rows for name, rows in groups_of.items() if rows.size}


def _ranges(names: Array, codes: Array) -> tuple[Array, Array] | None:
    """Ranges of numbers with about equal numbers of rows; None if not all words are numbers."""
    try:
        numbers = names.astype(np.float64)
    except ValueError:
        return None
    if not np.isfinite(numbers).all():
        return None
    values = numbers[codes]
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, PARTS + 1)[1:-1]))
    part = np.searchsorted(edges, values, side="left")
    used, part = np.unique(part, return_inverse=True)
    pieces = [values[part == k] for k in range(used.size)]
    ends = [f"{piece.min():.4g} to {piece.max():.4g}" for piece in pieces]
    return np.array(ends, dtype=object), part


def _frequent(names: Array, codes: Array) -> tuple[Array, Array]:
    """The most frequent words, and one slice for all others."""
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    kept = [*names[order][: MAX_SLICES - 1].tolist(), OTHERS]
    return np.array(kept, dtype=object), rank[codes].clip(max=MAX_SLICES - 1)


def _slice(name: str, rows: Array, hit: Array, scores: FloatArray, metric: ReportedMetric) -> Slice:
    """The metrics of some rows."""
    truth, values = hit[rows], scores[rows]
    positives = int(truth.sum())
    both = 0 < positives < rows.size
    auc = Estimate(math.nan, 0.0, 1.0, DELONG)
    if both:
        auc = Estimate(*metrics.auc_interval(truth, values)[:3], DELONG)
    table = metrics.confusion(truth, values > 0.0)
    value = metric.value(truth, values + metric.shift) if both else math.nan
    rates = (
        wilson(table.tp, table.tp + table.fn),
        wilson(table.fp, table.fp + table.tn),
        wilson(table.tp + table.fp, sum(table)),
    )
    return Slice(name, int(rows.size), positives, value, auc, table.precision, *rates)
