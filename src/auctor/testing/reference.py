"""The published algorithm of the smoothed break-even loss, as a reference for the fast one.

With ``a_i = -(2/n) y_i s_i`` and ``kappa = -1/n+`` the flips are ``clip((a - theta)/mu)`` on the
positives and ``clip((a - kappa + theta)/mu)`` on the negatives, where theta is a root of a monotone
piecewise linear function. In score units the width is ``mu n / 2``.

References
----------
Zhang, Saha, Vishwanathan, Smoothing multivariate performance measures, JMLR 2012, Algorithms 2, 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray


class ReferenceFlips(NamedTuple):
    """Shares by which rows are flipped, the root theta, and the number of anchor moves."""

    flip: FloatArray
    theta: float
    moves: int


class Anchor:
    """Evaluates minus the sum of ``clip((a_i - theta)/mu)`` at a sequence of theta.

    The anchor is at one of the kinks ``a_i`` (a head, below which a term grows) and ``a_i - mu``
    (a tail, below which it is 1), in descending order. It stores the value there and the number of
    growing terms just below. A query moves it kink by kink, in either direction.
    """

    def __init__(self, a: FloatArray, mu: float) -> None:
        kinks = np.concatenate((a, a - mu))
        order = np.argsort(-kinks, kind="stable")
        self.kinks = kinks[order]
        self._head = order < a.size
        self._mu, self._count = mu, a.size
        self._at, self._growing, self._value = 0, 1, 0.0
        self.moves = 0

    def __call__(self, theta: float) -> float:
        """The value at theta, which may be infinite, a case that the paper leaves out."""
        if math.isinf(theta):
            return 0.0 if theta > 0 else -float(self._count)
        last = self.kinks.size - 1
        while self._at < last and self.kinks[self._at + 1] >= theta:
            self._move(1)
        while self._at > 0 and self.kinks[self._at] < theta:
            self._move(-1)
        if theta >= self.kinks[0]:
            return 0.0
        if theta <= self.kinks[last]:
            return -float(self._count)
        return self._value + self._growing / self._mu * (theta - float(self.kinks[self._at]))

    def _move(self, step: int) -> None:
        """Move to the next kink below (1) or above (-1), with value and growing terms."""
        self.moves += 1
        here = self._at if step > 0 else self._at - 1
        stretch = float(self.kinks[here] - self.kinks[here + 1])
        if step < 0:
            self._growing -= 1 if self._head[self._at] else -1
        self._value -= step * self._growing / self._mu * stretch
        self._at += step
        if step > 0:
            self._growing += 1 if self._head[self._at] else -1


def _parts(scores: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    a = -2.0 / y.size * y * scores
    return a[y > 0], a[y < 0], -1.0 / int((y > 0).sum())


def _flips(scores: FloatArray, y: FloatArray, mu: float, theta: float) -> FloatArray:
    pos, neg, kappa = _parts(scores, y)
    flip = np.empty_like(scores)
    flip[y > 0] = np.clip((pos - theta) / mu, 0.0, 1.0)
    flip[y < 0] = np.clip((neg - kappa + theta) / mu, 0.0, 1.0)
    return flip


class _Piece(NamedTuple):
    """A function on an interval: a finite point, the value there, the slope."""

    at: float
    value: float
    slope: float

    @classmethod
    def of(cls, g: Anchor, low: float, high: float) -> _Piece:
        """The linear piece of ``g`` on [low, high]; constant on a half-line or a point."""
        if low == high or math.isinf(high):
            return cls(low, g(low), 0.0)
        if math.isinf(low):
            return cls(high, g(low), 0.0)
        return cls(low, g(low), (g(high) - g(low)) / (high - low))


def anchored_flips(scores: FloatArray, y: FloatArray, mu: float) -> ReferenceFlips:
    """Algorithms 2 and 3: find the piece of each class that contains the root, then the root.

    Special cases that the paper leaves out: values at infinity are known; a half-infinite piece is
    constant; if both pieces are constant any common point is a root; a piece of length zero is the
    root.
    """
    pos, neg, kappa = _parts(scores, y)
    g_pos, g_neg = Anchor(pos, mu), Anchor(neg, mu)

    def slope(theta: float) -> float:
        return g_pos(theta) - g_neg(kappa - theta)

    # The interval between kinks of the positives in which the slope changes its sign, then the
    # kinks of the negatives inside it.
    ends = [math.inf, *g_pos.kinks.tolist(), -math.inf]
    i = next(k for k in range(1, len(ends)) if slope(ends[k]) <= 0.0)
    low, high = ends[i], ends[i - 1]
    inner = g_neg.kinks[(g_neg.kinks >= kappa - high) & (g_neg.kinks <= kappa - low)]
    cuts = [kappa - low, *inner.tolist(), kappa - high]
    j = next((k for k in range(1, len(cuts)) if slope(kappa - cuts[k]) >= 0.0), len(cuts) - 1)
    low_neg, high_neg = cuts[j], cuts[j - 1]
    if low_neg == high_neg:
        theta = kappa - low_neg
    else:
        # Both functions are linear there: p(theta) = q(kappa - theta).
        p, q = _Piece.of(g_pos, low, high), _Piece.of(g_neg, low_neg, high_neg)
        steep = p.slope + q.slope
        if steep != 0.0:
            theta = (q.value - p.value + p.slope * p.at + q.slope * (kappa - q.at)) / steep
        else:
            first, last = max(low, kappa - high_neg), min(high, kappa - low_neg)
            theta = first if math.isfinite(first) else last
    return ReferenceFlips(_flips(scores, y, mu, theta), theta, g_pos.moves + g_neg.moves)


def sorted_flips(scores: FloatArray, y: FloatArray, mu: float) -> ReferenceFlips:
    """The same by one sort of the kinks of both classes and a cumulative sum up to the root."""
    pos, neg, kappa = _parts(scores, y)
    kinks = np.concatenate((pos - mu, kappa - neg, pos, kappa - neg + mu))
    order = np.argsort(kinks, kind="stable")
    kinks = kinks[order]
    growing = np.cumsum(np.where(order < y.size, 1.0, -1.0))
    value = np.concatenate(([0.0], np.cumsum(growing[:-1] * np.diff(kinks) / mu))) - pos.size
    k = max(1, int(np.argmax(value >= -1e-12 * y.size)))
    theta = float(kinks[k - 1])
    if growing[k - 1] > 0:
        theta -= float(value[k - 1] * mu / growing[k - 1])
    # Newton corrections by sums over rows remove the rounding errors of the cumulative sum.
    for _ in range(3):
        flip = _flips(scores, y, mu, theta)
        active = int(((flip > 0.0) & (flip < 1.0)).sum())
        if active == 0:
            break
        theta += float((flip * y).sum()) * mu / active
    return ReferenceFlips(_flips(scores, y, mu, theta), theta, 0)
