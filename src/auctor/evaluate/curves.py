"""Curves, bins and thresholds of one score vector, from one sweep over its thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.evaluate.intervals import wilson
from auctor.metrics.precision_recall import fbeta_along
from auctor.metrics.sweep import Sweep

#: Largest number of points of a curve: more are not visible in a chart of 360 units.
MAX_POINTS = 200
#: Largest number of positions of the threshold slider, which are stored in the page.
MAX_THRESHOLDS = 400
#: Shares of the rows, from the highest scores, at which the lift is given.
LIFT_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
#: Shares of the rows at which calibration bins end, from the highest scores.
CALIBRATION_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Smallest number of rows of a calibration bin; fewer make its rate meaningless.
MIN_BIN = 20
#: Number of bins of the histogram: each is about 7 units wide in a chart of 360.
HISTOGRAM_BINS = 40
#: Share of each class that may lie beyond either end of the histogram.
HISTOGRAM_TAIL = 0.01


class Curve(NamedTuple):
    """Points of a curve, thinned for drawing."""

    x: tuple[float, ...]
    y: tuple[float, ...]


class LiftPoint(NamedTuple):
    """The top ``share`` of the rows: the share of all positives in it, and the ratio of the two."""

    share: float
    recall: float
    lift: float


class CalibrationBin(NamedTuple):
    """A bin of neighbouring scores: mean score, rows, and rate of positives with its interval."""

    score: float
    rows: int
    positives: int
    rate: float
    low: float
    high: float


class ReliabilityCurve(NamedTuple):
    """Rate of positives in bins of probabilities, or of scores if the model has none."""

    bins: tuple[CalibrationBin, ...]
    of_probabilities: bool


class Histogram(NamedTuple):
    """Counts of each class per bin; the outermost bins include all rows beyond them."""

    edges: tuple[float, ...]
    positives: tuple[int, ...]
    negatives: tuple[int, ...]


class ThresholdTable(NamedTuple):
    """Exact counts at ascending thresholds; ``own`` is the position of the model's threshold.

    A row is predicted positive when its score is above the threshold.
    """

    threshold: tuple[float, ...]
    tp: tuple[int, ...]
    fp: tuple[int, ...]
    fn: tuple[int, ...]
    tn: tuple[int, ...]
    own: int


def roc(s: Sweep, limit: int = MAX_POINTS) -> Curve:
    """ROC curve of at most ``limit`` points."""
    return thin(s.fp / s.negatives, s.tp / s.positives, limit)


def precision_recall(s: Sweep, limit: int = MAX_POINTS) -> Curve:
    """Precision against recall, at most ``limit`` points.

    Several thresholds may have the same recall; those of its highest and its lowest precision are
    points of the curve.
    """
    fewest = np.flatnonzero(np.diff(s.tp)) + 1
    most = np.append(fewest[1:] - 1, s.tp.shape[0] - 1)
    at = np.column_stack((fewest, most)).ravel()
    return thin(s.tp[at] / s.positives, s.tp[at] / s.depth[at], limit)


def gains(s: Sweep, limit: int = MAX_POINTS) -> Curve:
    """Share of the positives found in the top share of the rows, at most ``limit`` points."""
    return thin(s.depth / s.depth[-1], s.tp / s.positives, limit)


def lift(s: Sweep) -> tuple[LiftPoint, ...]:
    """Lift at the shares `LIFT_SHARES` that are at least one row."""
    rows = float(s.depth[-1])
    points = []
    for share in LIFT_SHARES:
        if share * rows >= 1.0:
            shares = s.captured(share * rows) / s.positives
            points.append(LiftPoint(share, shares, shares / share))
    return tuple(points)


def calibration(s: Sweep, *, of_probabilities: bool) -> ReliabilityCurve:
    """Rate of positives in bins by quantiles of the score, ascending; ties are in one bin."""
    depth = s.depth[1:]
    ends = _bin_ends(depth)
    # Sums over a bin are differences of cumulative sums at its ends.
    total = np.cumsum(s.threshold[1:] * np.diff(depth, prepend=0.0))
    rows, positives, sums = (
        np.diff(along[ends], prepend=0.0) for along in (depth, s.tp[1:], total)
    )
    bins = [
        CalibrationBin(float(score / n), int(n), int(hits), *wilson(float(hits), float(n))[:3])
        for score, n, hits in zip(sums, rows, positives, strict=True)
    ]
    return ReliabilityCurve(tuple(bins[::-1]), of_probabilities)


def histogram(s: Sweep) -> Histogram:
    """Counts of each class in bins of equal width."""
    scores = s.threshold[1:]
    low = min(
        _quantile(s.tp, scores, 1 - HISTOGRAM_TAIL), _quantile(s.fp, scores, 1 - HISTOGRAM_TAIL)
    )
    high = max(_quantile(s.tp, scores, HISTOGRAM_TAIL), _quantile(s.fp, scores, HISTOGRAM_TAIL))
    if not low < high:  # all scores are equal: a range around them
        half = max(0.5, 1e-6 * abs(low))
        low, high = low - half, low + half
    edges = np.linspace(low, high, HISTOGRAM_BINS + 1)
    at = np.searchsorted(edges[1:-1], scores, side="right")
    counts = [
        np.bincount(at, weights=np.diff(along), minlength=HISTOGRAM_BINS).astype(int)
        for along in (s.tp, s.fp)
    ]
    return Histogram(tuple(edges.tolist()), *(tuple(count.tolist()) for count in counts))


def threshold_table(
    s: Sweep,
    threshold: float,
    *,
    beta: float = 1.0,
    costs: tuple[float, float] = (1.0, 1.0),
    limit: int = MAX_THRESHOLDS,
) -> ThresholdTable:
    """Counts at all thresholds if there are at most ``limit``, otherwise at a selection.

    The selection always has the model's threshold, no row and all rows predicted positive, the best
    F-beta, the least cost and the break-even point of precision and recall.
    """
    own = above(s, threshold)
    kept = np.arange(s.tp.shape[0])
    if kept.shape[0] > limit:
        cost = costs[0] * s.fp + costs[1] * (s.positives - s.tp)
        ends = (0, kept[-1], own, int(np.argmax(fbeta_along(s, beta))), int(np.argmin(cost)))
        kept = np.unique(np.concatenate((ends, _spread(s, (limit - len(ends) - 1) // 3))))
    kept = kept[::-1]  # the sweep has descending thresholds
    cuts = [threshold if index == own else s.cut(int(index)) for index in kept]
    tp, fp = s.tp[kept].astype(int), s.fp[kept].astype(int)
    return ThresholdTable(
        tuple(cuts),
        tuple(tp.tolist()),
        tuple(fp.tolist()),
        tuple((int(s.positives) - tp).tolist()),
        tuple((int(s.negatives) - fp).tolist()),
        int(np.flatnonzero(kept == own)[0]),
    )


def above(s: Sweep, threshold: float) -> int:
    """Number of distinct scores above a threshold, which is its position in the sweep."""
    return int(np.searchsorted(-s.threshold[1:], -threshold))


def thin(x: FloatArray, y: FloatArray, limit: int = MAX_POINTS) -> Curve:
    """The corners of a curve; at most ``limit`` of them, evenly spaced along its length."""
    # A point is a corner if the cross product of the segments around it is not zero.
    corner = np.ones(x.shape[0], dtype=bool)
    dx, dy = np.diff(x), np.diff(y)
    corner[1:-1] = np.abs(dx[:-1] * dy[1:] - dx[1:] * dy[:-1]) > 1e-15
    x, y = x[corner], y[corner]
    if x.shape[0] > limit:
        length = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))))
        wanted = np.linspace(0.0, length[-1], limit)
        keep = np.unique(np.searchsorted(length, wanted).clip(max=x.shape[0] - 1))
        x, y = x[keep], y[keep]
    return Curve(tuple(x.tolist()), tuple(y.tolist()))


def _bin_ends(depth: FloatArray) -> IntArray:
    """Position of the last distinct score of each bin, from the top; bins of at least `MIN_BIN`."""
    rows, last, done = float(depth[-1]), depth.shape[0] - 1, 0.0
    ends = []
    for share in CALIBRATION_SHARES[:-1]:
        end = int(np.searchsorted(depth, share * rows))
        if depth[end] - done >= MIN_BIN and rows - depth[end] >= MIN_BIN:
            ends.append(end)
            done = float(depth[end])
    return np.array([*ends, last])


def _spread(s: Sweep, count: int) -> IntArray:
    """Positions evenly spaced in true positives, false positives and the logarithm of the depth.

    The break-even point, at a depth of the number of positives, is among them.
    """
    depth = np.append(np.geomspace(1.0, s.depth[-1], count), s.positives)
    bands = [
        np.searchsorted(s.tp, np.linspace(0.0, s.positives, count)),
        np.searchsorted(s.fp, np.linspace(0.0, s.negatives, count)),
        np.searchsorted(s.depth, depth),
    ]
    return np.concatenate(bands).clip(max=s.tp.shape[0] - 1)


def _quantile(along: FloatArray, scores: FloatArray, share: float) -> float:
    """The score that a share ``share`` of a class reaches; ``along`` are cumulative counts."""
    at = int(np.searchsorted(along[1:], share * along[-1]))
    return float(scores[min(at, scores.shape[0] - 1)])
