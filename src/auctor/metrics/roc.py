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
    standardised: bool = False,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Area under the ROC curve where the false positive rate is at most ``max_fpr``.

    ``A = int_0^m tpr(u) du`` for ``m = max_fpr``, the curve linear between its points, or with
    ``standardised`` McClish's ``1/2 (1 + (A - m^2 / 2) / (m - m^2 / 2))``, which is 1 for a perfect
    ranking and 1/2 for a random one whatever ``m``.

    Parameters
    ----------
    y, scores, weight
        As in `auc`.
    max_fpr : float
        In (0, 1].
    standardised : bool
        Whether to rescale as above.

    Returns
    -------
    float
        In [0, max_fpr], or at most 1 when standardised.

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> partial_auc([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], max_fpr=0.5)
    0.375
    """
    max_fpr = check_real("max_fpr", max_fpr, low=0.0, high=1.0, open_low=True)
    s = sweep(validate(y, scores, weight))
    fpr, tpr = s.fp / s.negatives, s.tp / s.positives
    # Cut the curve at max_fpr, with a linearly interpolated last point.
    stop = int(np.searchsorted(fpr, max_fpr, side="right"))
    fpr = np.append(fpr[:stop], max_fpr)
    tpr = np.append(tpr[:stop], np.interp(max_fpr, s.fp / s.negatives, tpr))
    result = float(np.diff(fpr) @ (0.5 * (tpr[1:] + tpr[:-1])))
    if not standardised:
        return result
    # Area of a random ranking up to max_fpr.
    random = 0.5 * max_fpr**2
    return 0.5 * (1.0 + (result - random) / (max_fpr - random))
