"""ROC curve and the areas under it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_real
from auctor.core.errors import speaks_as
from auctor.core.types import FloatArray
from auctor.kernels.linalg.sorting import twice_ordered_pairs
from auctor.metrics.inputs import Inputs, validate
from auctor.metrics.sweep import sorted_classes, sweep


class RocCurve(NamedTuple):
    """Points of a ROC curve, from (0, 0) to (1, 1)."""

    fpr: FloatArray
    tpr: FloatArray
    threshold: FloatArray


@speaks_as("roc_curve")
def roc_curve(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> RocCurve:
    """Rates of false and true positives at every distinct threshold.

    ``fpr = FP / N`` and ``tpr = TP / P`` when rows with ``score >= threshold`` are predicted
    positive. The first threshold is +inf; rows with equal scores make one diagonal segment.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive; both must occur.
    scores : (n,) array_like
        Finite; greater means more positive.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    RocCurve
        ``fpr``, ``tpr``, ``threshold``: as many points as distinct scores, plus one.

    Notes
    -----
    O(n) time and memory: radix sort and one sweep.

    Examples
    --------
    >>> curve = roc_curve([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0])
    >>> curve.fpr, curve.tpr
    (array([0. , 0. , 0.5, 1. ]), array([0. , 0.5, 1. , 1. ]))
    """
    s = sweep(validate(y, scores, weight))
    return RocCurve(s.fp / s.negatives, s.tp / s.positives, s.threshold)


@speaks_as("auc")
def auc(y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None) -> float:
    """Area under the ROC curve: the share of correctly ordered pairs, ties counting one half.

    ``sum_{i positive, j negative} w_i w_j (1[s_i > s_j] + 1/2 1[s_i = s_j]) / (W_pos W_neg)``, the
    Mann-Whitney statistic. It does not change when the weights of a class are multiplied by a
    constant.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive; both must occur.
    scores : (n,) array_like
        Finite; greater means more positive.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    float
        In [0, 1]; 1 for a perfect ranking, 0.5 for constant scores.

    Notes
    -----
    O(n): both classes are radix sorted and merged. Without weights pairs are counted in integers,
    so that the result is the correctly rounded one.

    Examples
    --------
    >>> auc([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0])
    0.875
    """
    return area(validate(y, scores, weight))


def area(inputs: Inputs) -> float:
    """`auc` of inputs that are already checked."""
    # Without weights, pairs are counted exactly in integers.
    if inputs.weight is None:
        pos, neg, _, _ = sorted_classes(inputs)
        return float(int(twice_ordered_pairs(pos, neg)) / (2 * pos.shape[0] * neg.shape[0]))
    # With weights, the trapezoidal rule on the ROC curve, in units of weight.
    s = sweep(inputs)
    step = np.diff(s.fp)
    height = 0.5 * (s.tp[1:] + s.tp[:-1])
    ordered = float(step @ height)
    # Divided by ordered + misordered pairs, not by W_pos W_neg: a perfect ranking gives exactly 1.
    return ordered / (ordered + float(step @ (s.positives - height)))


@speaks_as("partial_auc")
def partial_auc(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    max_fpr: float,
    *,
    min_tpr: float = 0.0,
    standardised: bool = False,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Area under the ROC curve right of which the false positive rate exceeds ``max_fpr``.

    ``A = int_0^m max(tpr(u) - a, 0) du`` for ``m = max_fpr`` and ``a = min_tpr``, the curve linear
    between its points: with ``min_tpr`` only the part above that true positive rate counts (two-way
    partial AUC). With ``standardised`` McClish's ``1/2 (1 + (A - r) / ((1 - a) m - r))`` where
    ``r = max(m - a, 0)^2 / 2`` is the area of a random ranking: 1 for a perfect ranking and 1/2 for
    a random one whatever ``m``.

    Parameters
    ----------
    y, scores, weight
        As in `auc`.
    max_fpr : float
        In (0, 1].
    min_tpr : float
        In [0, 1).
    standardised : bool
        Whether to rescale as above.

    Returns
    -------
    float
        In [0, (1 - min_tpr) max_fpr], or at most 1 when standardised.

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> partial_auc([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], max_fpr=0.5)
    0.375
    >>> partial_auc([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], max_fpr=0.5, min_tpr=0.5)
    0.125
    """
    max_fpr = check_real("max_fpr", max_fpr, low=0.0, high=1.0, open_low=True)
    min_tpr = check_real("min_tpr", min_tpr, low=0.0, high=1.0, open_high=True)
    s = sweep(validate(y, scores, weight))
    fpr, tpr = s.fp / s.negatives, s.tp / s.positives
    # The curve from where it crosses min_tpr to max_fpr, both points by linear interpolation.
    first = int(np.argmax(tpr > min_tpr)) - 1
    rise = (min_tpr - tpr[first]) / (tpr[first + 1] - tpr[first])
    start = float(fpr[first] + rise * (fpr[first + 1] - fpr[first]))
    inside = slice(first + 1, int(np.searchsorted(fpr, max_fpr, side="right")))
    result = 0.0
    if start < max_fpr:
        height = np.concatenate(([min_tpr], tpr[inside], [np.interp(max_fpr, fpr, tpr)])) - min_tpr
        step = np.diff(np.concatenate(([start], fpr[inside], [max_fpr])))
        result = float(step @ (0.5 * (height[1:] + height[:-1])))
    if not standardised:
        return result
    random = 0.5 * max(max_fpr - min_tpr, 0.0) ** 2
    return 0.5 * (1.0 + (result - random) / ((1.0 - min_tpr) * max_fpr - random))
