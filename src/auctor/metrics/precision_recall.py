"""Precision, recall and other metrics of the top of a ranking.

Where a cut goes through a group of equal scores, every value here is the expectation over random
orders of the tied rows: the group counts in proportion to the part that is taken. With weights,
depths are measured in weight, so that a row of weight 2 equals two rows.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_real
from auctor.core.errors import ParameterError, speaks_as
from auctor.core.types import FloatArray
from auctor.metrics.capacity import at_k_of_groups
from auctor.metrics.error import confusion_of
from auctor.metrics.inputs import Classes, validate, validate_predicted
from auctor.metrics.sweep import Sweep, sweep


class PrecisionRecallCurve(NamedTuple):
    """Points of a precision-recall curve, thresholds ascending."""

    precision: FloatArray
    recall: FloatArray
    threshold: FloatArray


class BestFbeta(NamedTuple):
    """The greatest F-beta over thresholds, and the threshold at which it is reached."""

    value: float
    threshold: float


@speaks_as("precision_recall_curve")
def precision_recall_curve(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> PrecisionRecallCurve:
    """Precision and recall at every distinct threshold.

    ``precision = TP / (TP + FP)`` and ``recall = TP / P`` when rows with ``score >= threshold`` are
    predicted positive.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive; at least one row must be positive.
    scores : (n,) array_like
        Finite; greater means more positive.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    PrecisionRecallCurve
        ``precision`` and ``recall`` have one entry more than ``threshold``: the last point,
        (1, 0), belongs to no threshold. The layout is scikit-learn's.

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> curve = precision_recall_curve([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0])
    >>> curve.recall, curve.threshold
    (array([1. , 1. , 0.5, 0. ]), array([1., 2., 3.]))
    """
    s = sweep(validate(y, scores, weight, Classes.POSITIVE))
    precision = np.append(_precision(s)[::-1], 1.0)
    return PrecisionRecallCurve(precision, s.tp[::-1] / s.positives, s.threshold[:0:-1].copy())


@speaks_as("average_precision")
def average_precision(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> float:
    """Precision averaged over the recall steps: ``sum_k (R_k - R_{k-1}) P_k``.

    Parameters
    ----------
    y, scores, weight
        As in `precision_recall_curve`.

    Returns
    -------
    float
        In (0, 1]; the share of positives for constant scores.

    Notes
    -----
    O(n). No interpolation between thresholds, as in scikit-learn.

    Examples
    --------
    >>> average_precision([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    0.8333333333333333
    """
    s = sweep(validate(y, scores, weight, Classes.POSITIVE))
    return float(np.diff(s.tp) @ _precision(s)) / s.positives


@speaks_as("prbep")
def prbep(y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None) -> float:
    """Precision/recall break-even point: precision among the P top-scored rows.

    P is the number of positives, so that precision and recall are equal (FP = FN). With ties at
    the boundary it is the expectation over random orders of the tied rows; with weights, the top
    rows of total weight P are taken and the tied group at the boundary counts in proportion.

    Parameters
    ----------
    y, scores, weight
        As in `precision_recall_curve`.

    Returns
    -------
    float
        In [0, 1]; the share of positives for constant scores.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> prbep([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0])
    0.75
    """
    s = sweep(validate(y, scores, weight, Classes.POSITIVE))
    return s.captured(s.positives) / s.positives


@speaks_as("precision_at_k")
def precision_at_k(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    k: float,
    *,
    groups: npt.ArrayLike | None = None,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Share of positives among the ``k`` top-scored rows.

    Ties at the boundary give the expectation over random orders of the tied rows.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive.
    scores : (n,) array_like
        Finite; greater means more positive.
    k : int or float
        A number of rows (of total weight, when weighted) from 1 to n, or a float in (0, 1]: that
        fraction of the rows, not rounded.
    groups : (n,) array_like, optional
        A label per row, such as a day: k counts rows of each group, and the share is that of all
        these rows together. Groups with fewer than k rows count with all their rows.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    O(n).

    Examples
    --------
    >>> precision_at_k([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], 1, groups=["a", "a", "b", "b"])
    1.0
    >>> precision_at_k([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], 2)
    0.75
    """
    if groups is not None:
        return at_k_of_groups(y, scores, k, groups, weight, precision=True)
    s = sweep(validate(y, scores, weight, Classes.ANY))
    depth = depth_of(k, s)
    return s.captured(depth) / depth


@speaks_as("recall_at_k")
def recall_at_k(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    k: float,
    *,
    groups: npt.ArrayLike | None = None,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Share of the positives that is found among the ``k`` top-scored rows.

    Parameters
    ----------
    y, scores, k, groups, weight
        As in `precision_at_k`; at least one row must be positive.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    O(n).

    Examples
    --------
    >>> recall_at_k([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], 1)
    0.5
    """
    if groups is not None:
        return at_k_of_groups(y, scores, k, groups, weight, precision=False)
    s = sweep(validate(y, scores, weight, Classes.POSITIVE))
    return s.captured(depth_of(k, s)) / s.positives


@speaks_as("lift_at_k")
def lift_at_k(
    y: npt.ArrayLike, scores: npt.ArrayLike, k: float, *, weight: npt.ArrayLike | None = None
) -> float:
    """Precision among the ``k`` top-scored rows over the share of positives in all rows.

    Parameters
    ----------
    y, scores, k, weight
        As in `precision_at_k`; at least one row must be positive.

    Returns
    -------
    float
        1 for a random ranking; at most n / P.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> lift_at_k([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], 0.25)
    2.0
    """
    s = sweep(validate(y, scores, weight, Classes.POSITIVE))
    depth = depth_of(k, s)
    return s.captured(depth) / depth * (float(s.depth[-1]) / s.positives)


@speaks_as("fbeta")
def fbeta(
    y: npt.ArrayLike,
    predicted: npt.ArrayLike,
    beta: float = 1.0,
    *,
    threshold: float | None = None,
    weight: npt.ArrayLike | None = None,
) -> float:
    """F-beta of predictions: ``(1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP)``.

    The weighted harmonic mean of precision and recall; recall has ``beta^2`` times the weight.

    Parameters
    ----------
    y, predicted, threshold, weight
        As in `confusion`: predicted labels, or scores compared with ``threshold``.
    beta : float
        At least zero; 0 gives precision.

    Returns
    -------
    float
        In [0, 1]; 0 when no positive is found, whether or not there is one.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> fbeta([0, 0, 1, 1], [0, 1, 1, 1])
    0.8
    """
    beta = check_real("beta", beta, low=0.0)
    table = confusion_of(*validate_predicted(y, predicted, threshold, weight))
    fn_share, fp_share = _shares(beta)
    if table.tp == 0.0:
        return 0.0
    return table.tp / (table.tp + fn_share * table.fn + fp_share * table.fp)


@speaks_as("best_fbeta")
def best_fbeta(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    beta: float = 1.0,
    *,
    weight: npt.ArrayLike | None = None,
) -> BestFbeta:
    """Greatest F-beta that a threshold on the scores can reach.

    Parameters
    ----------
    y, scores, weight
        As in `precision_recall_curve`.
    beta : float
        As in `fbeta`.

    Returns
    -------
    BestFbeta
        ``value`` and the ``threshold`` t for which ``scores > t`` reaches it, placed as in
        `best_threshold`; among equal values the one with the fewest predicted positives.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> best_fbeta([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    BestFbeta(value=0.8, threshold=1.5)
    """
    beta = check_real("beta", beta, low=0.0)
    s = sweep(validate(y, scores, weight, Classes.POSITIVE))
    values = fbeta_along(s, beta)
    index, threshold = s.best_cut(-values)
    return BestFbeta(float(values[index]), threshold)


def fbeta_along(s: Sweep, beta: float) -> FloatArray:
    """F-beta at every threshold of a sweep; the first, with nothing predicted, is zero."""
    fn_share, fp_share = _shares(beta)
    values = np.zeros_like(s.tp)
    np.divide(
        s.tp, s.tp + fn_share * (s.positives - s.tp) + fp_share * s.fp, out=values, where=s.tp > 0.0
    )
    return values


def _shares(beta: float) -> tuple[float, float]:
    """Weights of FN and FP relative to TP: ``b^2 / (1 + b^2)`` and ``1 / (1 + b^2)``."""
    fp_share = 1.0 / (1.0 + beta * beta)
    return 1.0 - fp_share, fp_share


def _precision(s: Sweep) -> FloatArray:
    """Precision at every finite threshold of a sweep."""
    return s.tp[1:] / s.depth[1:]


def depth_of(k: object, s: Sweep) -> float:
    """Weight of the rows to take from the top for ``k``; raises for an invalid ``k``."""
    total = float(s.depth[-1])
    # A total weight may be just below an integer by rounding.
    if isinstance(k, Integral) and not isinstance(k, bool) and 1 <= int(k) <= total * (1 + 1e-12):
        return min(float(k), total)
    if isinstance(k, Real) and not isinstance(k, Integral | np.bool_) and 0.0 < float(k) <= 1.0:
        return float(k) * total
    raise ParameterError(
        f"`k` to be an integer from 1 to the total weight of the rows, {total:g}, or a float in "
        f"(0, 1]; got {k!r}. Pass a number of rows, or a fraction as a float."
    )
