"""Losses in plain numpy, with all pairs as a matrix; they share no code with the library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm as normal

from auctor.core.types import FloatArray, Target

#: Value and gradient in the scores of a loss written in plain numpy.
Plain = Callable[[FloatArray, Target], tuple[float, FloatArray]]


def by_row(
    value: Callable[[FloatArray, FloatArray], FloatArray],
    slope: Callable[[FloatArray, FloatArray], FloatArray],
) -> Plain:
    """Weighted mean of ``value(s, y)`` with derivative ``slope(s, y)`` in s."""

    def plain(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
        weight = np.ones_like(s) if target.weight is None else target.weight
        share = weight / weight.sum()
        return float(share @ value(s, target.y)), share * slope(s, target.y)

    return plain


def by_pair(
    value: Callable[[FloatArray], FloatArray], slope: Callable[[FloatArray], FloatArray]
) -> Plain:
    """Weighted mean over (positive, negative) pairs of ``value(1 - s_i + s_j)``."""

    def plain(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
        weight = np.ones_like(s) if target.weight is None else target.weight
        p, q = weight * (target.y > 0), weight * (target.y < 0)
        pairs = np.outer(p / p.sum(), q / q.sum())
        # A positive's score lowers z of its pairs, a negative's raises it.
        z = 1.0 - s[:, None] + s[None, :]
        force = pairs * slope(z)
        return float((pairs * value(z)).sum()), force.sum(axis=0) - force.sum(axis=1)

    return plain


def huber_hinge(width: float) -> tuple[Callable[[FloatArray], FloatArray], ...]:
    """Value and slope of the hinge of z, smoothed over ``width``."""

    def value(z: FloatArray) -> FloatArray:
        bent = z * z / (2.0 * width) if width > 0.0 else z
        return np.where(z <= 0.0, 0.0, np.where(z < width, bent, z - 0.5 * width))

    def slope(z: FloatArray) -> FloatArray:
        return np.clip(z / width, 0.0, 1.0) if width > 0.0 else (z > 0.0).astype(float)

    return value, slope


def plain_margin(width: float) -> Plain:
    """The hinge of the margin, smoothed over ``width``."""
    value, slope = huber_hinge(width)
    return by_row(lambda s, y: value(1.0 - y * s), lambda s, y: -y * slope(1.0 - y * s))


#: Losses of `auctor.losses` in plain numpy.
PLAIN_SQUARED = by_row(lambda s, y: 0.5 * (s - y) ** 2, lambda s, y: s - y)
PLAIN_LOGISTIC = by_row(lambda s, y: np.logaddexp(0.0, -y * s), lambda s, y: -y * expit(-y * s))
PLAIN_SQUARED_HINGE = by_row(
    lambda s, y: 0.5 * np.maximum(0.0, 1.0 - y * s) ** 2,
    lambda s, y: -y * np.maximum(0.0, 1.0 - y * s),
)
PLAIN_POISSON = by_row(lambda s, y: np.exp(s) - y * s, lambda s, y: np.exp(s) - y)
PLAIN_PAIRWISE_SQUARE = by_pair(np.square, lambda z: 2.0 * z)


def _class_moments(s: FloatArray, target: Target) -> Iterator[tuple[float, FloatArray, float, Any]]:
    """Weight, shares, mean and variance of the scores of each class, the positive one first."""
    weight = np.ones_like(s) if target.weight is None else target.weight
    for label in (1.0, -1.0):
        own = weight * (target.y == label)
        share = own / own.sum()
        mean = float(share @ s)
        yield float(own.sum() / weight.sum()), share, mean, share @ (s - mean) ** 2


def plain_expected_auc(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
    """Expected AUC error of normal scores in each class."""
    (_, p, up, v_up), (_, q, down, v_down) = _class_moments(s, target)
    # P(positive score < negative score) = Phi((mean- - mean+) / sd of the difference).
    sd = np.sqrt(v_up + v_down)
    ratio = (down - up) / sd
    bend = p * (s - up) + q * (s - down)
    slope = (q - p) / sd - ratio / sd**2 * bend
    return float(normal.cdf(ratio)), normal.pdf(ratio) * slope


def plain_expected_error(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
    """Expected error rate of normal scores in each class."""
    value, slope = 0.0, np.zeros_like(s)
    # Share of each class times the normal probability of the wrong side of 0.
    for sign, (prior, share, mean, v) in zip((-1, 1), _class_moments(s, target), strict=True):
        ratio = sign * mean / np.sqrt(v)
        value += prior * float(normal.cdf(ratio))
        bend = share * sign / np.sqrt(v) - ratio / v * share * (s - mean)
        slope += prior * normal.pdf(ratio) * bend
    return value, slope


def plain_huber(delta: float) -> Plain:
    """The Huber loss of the residual."""

    def value(s: FloatArray, y: FloatArray) -> FloatArray:
        r = np.abs(s - y)
        return np.where(r <= delta, 0.5 * r * r, delta * (r - 0.5 * delta))

    return by_row(value, lambda s, y: np.clip(s - y, -delta, delta))


def plain_quantile(tau: float) -> Plain:
    """The quantile (pinball) loss of the residual."""
    return by_row(
        lambda s, y: np.maximum(tau * (y - s), (1.0 - tau) * (s - y)),
        lambda s, y: np.where(s > y, 1.0 - tau, -tau),
    )


def plain_break_even(s: FloatArray, target: Target) -> tuple[float, FloatArray]:
    """The max-margin break-even loss, without weights.

    The worst labelling flips the lowest positives and the highest negatives, in pairs, while a pair
    has a positive gain.
    """
    up, down = np.flatnonzero(target.y > 0), np.flatnonzero(target.y < 0)
    low, high = up[np.argsort(s[up])], down[np.argsort(-s[down])]
    pairs = min(low.size, high.size)
    gains = 1.0 / up.size + 2.0 / s.size * (s[high[:pairs]] - s[low[:pairs]])
    flipped = int((gains > 0.0).sum())
    slope = np.zeros_like(s)
    slope[low[:flipped]] = -2.0 / s.size
    slope[high[:flipped]] = 2.0 / s.size
    return float(gains[:flipped].sum()), slope


def distance(s: FloatArray, y: FloatArray) -> FloatArray:
    """Absolute residual."""
    return np.abs(s - y)


def sign_of_residual(s: FloatArray, y: FloatArray) -> FloatArray:
    """Derivative of the absolute residual."""
    return np.sign(s - y)
