"""Counts of correct and wrong predictions, and error rates computed from them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.errors import speaks_as
from auctor.core.types import FloatArray
from auctor.metrics.inputs import BoolArray, Classes, validate, validate_predicted


class Confusion(NamedTuple):
    """Weights of true positives, false positives, false negatives and true negatives."""

    tp: float
    fp: float
    fn: float
    tn: float

    @property
    def accuracy(self) -> float:
        """``(TP + TN) / (P + N)``."""
        return (self.tp + self.tn) / (self.tp + self.fp + self.fn + self.tn)

    @property
    def precision(self) -> float:
        """``TP / (TP + FP)``; NaN when nothing is predicted positive."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def tpr(self) -> float:
        """True positive rate, or recall: ``TP / P``; NaN without positives."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def fpr(self) -> float:
        """False positive rate: ``FP / N``; NaN without negatives."""
        return _ratio(self.fp, self.fp + self.tn)


@speaks_as("confusion")
def confusion(
    y: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    threshold: float | None = None,
    weight: npt.ArrayLike | None = None,
) -> Confusion:
    """Weights of true and false positives and negatives.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive; one class may be missing when the values are
        -1/+1 or 0/1.
    predicted : (n,) array_like
        Predicted labels, in the values of ``y`` or boolean. Any other numbers are scores: a row is
        predicted positive when ``score > threshold``. Labels -1/+1 and 0/1 read as scores mean the
        same.
    threshold : float, optional
        Where to cut the scores, 0 unless given; when given, ``predicted`` is read as scores.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    Confusion
        ``tp``, ``fp``, ``fn``, ``tn``, with ``accuracy``, ``precision``, ``tpr``, ``fpr`` as
        properties.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> confusion([-1, -1, 1, 1], [-0.5, 0.2, 0.1, 3.0])
    Confusion(tp=2.0, fp=1.0, fn=0.0, tn=1.0)
    """
    return confusion_of(*validate_predicted(y, predicted, threshold, weight))


@speaks_as("error_rate")
def error_rate(
    y: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    threshold: float | None = None,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Share of wrong predictions: ``(FP + FN) / (P + N)``.

    Parameters
    ----------
    y, predicted, threshold, weight
        As in `confusion`.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    O(n).

    Examples
    --------
    >>> error_rate([-1, -1, 1, 1], [-0.5, 0.2, 0.1, 3.0])
    0.25
    """
    table = confusion_of(*validate_predicted(y, predicted, threshold, weight))
    return (table.fp + table.fn) / sum(table)


@speaks_as("balanced_error")
def balanced_error(
    y: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    threshold: float | None = None,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Mean of the error rates of the two classes: ``(FN / P + FP / N) / 2``.

    Parameters
    ----------
    y, predicted, threshold, weight
        As in `confusion`; both classes must occur.

    Returns
    -------
    float
        In [0, 1]; 1/2 for a constant prediction.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> balanced_error([-1, -1, -1, 1], [-1, -1, -1, -1])
    0.5
    """
    table = confusion_of(*validate_predicted(y, predicted, threshold, weight, Classes.BOTH))
    return 0.5 * (table.fn / (table.tp + table.fn) + table.fp / (table.fp + table.tn))


@speaks_as("log_loss")
def log_loss(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> float:
    """Mean logistic loss of scores on the logit scale: ``log(1 + exp(-y s))`` with y = -1 or +1.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive; one class may be missing when the values are
        -1/+1 or 0/1.
    scores : (n,) array_like
        Finite log-odds of the positive class, not probabilities.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    float
        At least zero, in nats; ``log 2`` for zero scores.

    Notes
    -----
    O(n), exact for scores of any size: nothing is clipped.

    Examples
    --------
    >>> log_loss([0, 1], [-1000.0, -1000.0])
    500.0
    """
    positive, s, w = validate(y, scores, weight, Classes.ANY)
    losses = np.logaddexp(0.0, np.where(positive, -s, s))
    return float(np.average(losses, weights=w))


def confusion_of(positive: BoolArray, predicted: BoolArray, weight: FloatArray | None) -> Confusion:
    """`confusion` of inputs that are already checked."""
    # Cells 0 to 3 are tn, fp, fn, tp: twice the class plus the prediction.
    cell = 2 * positive.astype(np.intp) + predicted
    tn, fp, fn, tp = np.bincount(cell, weights=weight, minlength=4).tolist()
    return Confusion(float(tp), float(fp), float(fn), float(tn))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else math.nan
