"""First points of a run, and points far from all evaluated ones."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray

#: Random candidates from which the one farthest from other points is taken.
CANDIDATES = 200


def coordinate_design(start: FloatArray, radius: float) -> list[FloatArray]:
    """``start`` moved by the radius along each coordinate, in the direction with room.

    Examples
    --------
    >>> [point.tolist() for point in coordinate_design(np.array([0.5, 1.0]), 0.25)]
    [[0.75, 1.0], [0.5, 0.75]]
    """
    points = []
    for j in range(start.shape[0]):
        point = start.copy()
        point[j] += radius if point[j] + radius <= 1.0 else -radius
        points.append(np.clip(point, 0.0, 1.0))
    return points


def far_from(
    rng: np.random.Generator, taken: list[FloatArray], start: FloatArray | None, reach: float
) -> FloatArray:
    """A random point of the cube that is far from the points ``taken``.

    Parameters
    ----------
    start : point, optional
        The point is within ``reach`` of it in every coordinate.
    """
    dims = taken[0].shape[0] if taken else (0 if start is None else start.shape[0])
    drawn: FloatArray = rng.random((CANDIDATES, dims))
    if start is not None:
        lower, upper = np.maximum(start - reach, 0.0), np.minimum(start + reach, 1.0)
        drawn = lower + drawn * (upper - lower)
    point: FloatArray = drawn[_farthest(drawn, taken) if taken else 0]
    return point


def spread_point(
    rng: np.random.Generator, taken: list[FloatArray], center: FloatArray, radius: float
) -> FloatArray:
    """A random point in a ball around the centre that is far from the points ``taken``."""
    directions = rng.normal(size=(CANDIDATES, center.shape[0]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # Lengths ~ radius * U^(1/d), so that points are uniform in the ball.
    lengths = radius * rng.random((CANDIDATES, 1)) ** (1.0 / center.shape[0])
    drawn = np.clip(center + lengths * directions, 0.0, 1.0)
    point: FloatArray = drawn[_farthest(drawn, taken)]
    return point


def _farthest(drawn: FloatArray, taken: list[FloatArray]) -> int:
    """Index of the candidate with the largest distance to its nearest taken point."""
    others = np.array(taken)
    squares = (drawn**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * drawn @ others.T
    return int(np.argmax(squares.min(axis=1)))
