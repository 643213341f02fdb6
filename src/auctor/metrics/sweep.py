"""Cumulative counts at distinct thresholds, from which all curves and cuts are computed."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.linalg.sorting import ascending, ascending_with, counts_at_thresholds, split
from auctor.metrics.inputs import Inputs

#: Distance of a cut beyond all scores, relative to the largest magnitude among them.
_MARGIN = 2.0**-26
#: Losses closer than this, relative to the largest, count as equal: some 500 machine epsilons.
_TIE = 1e-13


class SortedScores(NamedTuple):
    """Ascending scores of each class, with their weights (``None`` when all are one)."""

    pos: FloatArray
    neg: FloatArray
    pos_weight: FloatArray | None
    neg_weight: FloatArray | None


class Sweep(NamedTuple):
    """Weight of positives (``tp``) and negatives (``fp``) with score >= threshold.

    Thresholds are +inf and then the distinct scores, descending.
    """

    threshold: FloatArray
    tp: FloatArray
    fp: FloatArray

    @property
    def positives(self) -> float:
        """Total weight of the positives."""
        return float(self.tp[-1])

    @property
    def negatives(self) -> float:
        """Total weight of the negatives."""
        return float(self.fp[-1])

    @property
    def depth(self) -> FloatArray:
        """Weight of all rows with score >= threshold."""
        return self.tp + self.fp

    def captured(self, depth: float) -> float:
        """Return the expected weight of positives in the top ``depth``, ties in random order.

        Within a tied group that expectation is linear in the depth.
        """
        return float(np.interp(depth, self.depth, self.tp))

    def cut(self, index: int) -> float:
        """Finite t for which ``scores > t`` selects the first ``index`` distinct scores.

        The middle of the gap between two scores. Beyond all scores it is at a small distance, so
        that rounding errors in recomputed scores do not change the prediction.
        """
        scores = self.threshold[1:]
        top, bottom = float(scores[0]), float(scores[-1])
        margin = _MARGIN * (max(abs(top), abs(bottom)) or 1.0)
        # Nothing is predicted positive, or everything; the threshold stays finite.
        if index == 0:
            return min(top + margin, sys.float_info.max)
        if index == scores.shape[0]:
            below = min(bottom - margin, math.nextafter(bottom, -math.inf))
            return max(below, -sys.float_info.max)
        return _midpoint(float(scores[index - 1]), float(scores[index]))

    def best_cut(self, loss: FloatArray) -> tuple[int, float]:
        """Index and cut of the least ``loss``; among equals, the fewest predicted positives."""
        # Losses are sorted by descending threshold: the first of equal ones predicts the fewest.
        tolerance = _TIE * float(np.abs(loss).max())
        index = int(np.argmax(loss <= loss.min() + tolerance))
        return index, self.cut(index)


def _midpoint(above: float, below: float) -> float:
    """Return a number in [below, above), the middle where floating point has one."""
    # The sum of two large scores may overflow; adjacent doubles have no number between them.
    total = above + below
    middle = 0.5 * total if math.isfinite(total) else 0.5 * above + 0.5 * below
    return middle if middle < above else below


def sorted_classes(inputs: Inputs) -> SortedScores:
    """Split by class and sort each; O(n)."""
    pos, neg = split(inputs.positive, inputs.scores)
    if inputs.weight is None:
        return SortedScores(ascending(pos, spare=True), ascending(neg, spare=True), None, None)
    pos_weight, neg_weight = split(inputs.positive, inputs.weight)
    pos, pos_weight = ascending_with(pos, pos_weight)
    neg, neg_weight = ascending_with(neg, neg_weight)
    return SortedScores(pos, neg, pos_weight, neg_weight)


def sweep(inputs: Inputs) -> Sweep:
    """Count positives and negatives above every distinct threshold.

    Examples
    --------
    >>> from auctor.metrics.inputs import validate
    >>> sweep(validate([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0], None)).fp
    array([0., 0., 1., 2.])
    """
    return Sweep(*counts_at_thresholds(*sorted_classes(inputs)))
