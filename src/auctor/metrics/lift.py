"""Lift charts: positives captured against the targeted fraction of the population."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.errors import speaks_as
from auctor.core.types import FloatArray
from auctor.metrics.inputs import Classes, validate
from auctor.metrics.sweep import sweep


class LiftCurve(NamedTuple):
    """Points of a lift chart, from (0, 0) to (1, P)."""

    fraction: FloatArray
    captured: FloatArray


class CumulativeGains(NamedTuple):
    """Points of a gains chart, from (0, 0) to (1, 1)."""

    fraction: FloatArray
    recall: FloatArray


@speaks_as("lift_curve")
def lift_curve(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> LiftCurve:
    """Positives captured against the fraction of the population that is predicted positive.

    ``fraction = (TP + FP) / n`` and ``captured = TP`` as the threshold falls; rows with equal
    scores make one straight segment.

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
    LiftCurve
        ``fraction`` and ``captured`` (a weight), from (0, 0).

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> lift_curve([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]).captured
    array([0., 1., 1., 2., 2.])
    """
    return _lift(y, scores, weight)


@speaks_as("cumulative_gains")
def cumulative_gains(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> CumulativeGains:
    """Share of the positives captured against the fraction predicted positive.

    The `lift_curve` divided by the number of positives: ``recall = TP / P``.

    Parameters
    ----------
    y, scores, weight
        As in `lift_curve`.

    Returns
    -------
    CumulativeGains
        ``fraction`` and ``recall``, from (0, 0) to (1, 1).

    Notes
    -----
    O(n) time and memory.

    Examples
    --------
    >>> cumulative_gains([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0]).recall
    array([0. , 0.5, 0.5, 1. , 1. ])
    """
    fraction, captured = _lift(y, scores, weight)
    return CumulativeGains(fraction, captured / captured[-1])


@speaks_as("lift_area")
def lift_area(
    y: npt.ArrayLike, scores: npt.ArrayLike, *, weight: npt.ArrayLike | None = None
) -> float:
    """Area under the `lift_curve`: ``P (p / 2 + (1 - p) AUC)`` with ``p = P / n``.

    Parameters
    ----------
    y, scores, weight
        As in `lift_curve`.

    Returns
    -------
    float
        From ``P p / 2`` for the worst ranking to ``P (1 - p / 2)`` for a perfect one.

    Notes
    -----
    O(n). Unlike the AUC it depends on the share of positives.

    Examples
    --------
    >>> lift_area([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    1.25
    """
    fraction, captured = _lift(y, scores, weight)
    return float(np.diff(fraction) @ (0.5 * (captured[1:] + captured[:-1])))


def _lift(y: object, scores: object, weight: object) -> LiftCurve:
    s = sweep(validate(y, scores, weight, Classes.POSITIVE))
    depth = s.depth
    return LiftCurve(depth / depth[-1], s.tp)
