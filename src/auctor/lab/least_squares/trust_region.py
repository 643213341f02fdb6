"""The exact minimum of a linear least-squares model inside a ball, from one SVD."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.lab.least_squares.linear import RANK_SHARE

#: Largest difference of the length of a step from the radius, as a share of the radius.
RADIUS_SHARE = 1e-3
#: Most Newton steps on the secular equation. Four are usual.
MOST_STEPS = 50


class TrustStep(NamedTuple):
    """A step, the multiplier of the bound on its length, and the Newton steps it took."""

    p: FloatArray
    multiplier: float
    n_iter: int


def trust_step(J: FloatArray, r: FloatArray, radius: float) -> TrustStep:
    """Minimise ``|J p + r|^2 / 2`` over ``|p| <= radius``, for J of any rank.

    With ``J = U S V'`` the step is ``-V S U'r / (S^2 + multiplier)``. The multiplier is 0 if the
    shortest minimiser is inside the ball; otherwise Newton's method solves
    ``1 / radius = 1 / |p|`` for it, at O(d) per step.

    Examples
    --------
    >>> import numpy as np
    >>> trust_step(np.eye(2), np.array([-3.0, -4.0]), 1.0).p.round(3)
    array([0.6, 0.8])
    """
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    kept = sigma > max(J.shape) * RANK_SHARE * sigma.max(initial=0.0)
    sigma, Vt = sigma[kept], Vt[kept]
    along = sigma * (U[:, kept].T @ r)
    squares = sigma * sigma
    free = along / squares
    if float(np.linalg.norm(free)) <= radius:
        return TrustStep(-(free @ Vt), 0.0, 0)
    # |p| falls as the multiplier grows, so the root is between these bounds.
    low, high = 0.0, float(np.linalg.norm(along)) / radius
    multiplier = min(float(np.min(squares)), high)
    steps = 0
    while steps < MOST_STEPS:
        steps += 1
        scaled = along / (squares + multiplier)
        length = float(np.linalg.norm(scaled))
        if abs(length - radius) <= RADIUS_SHARE * radius:
            break
        if length > radius:
            low = multiplier
        else:
            high = multiplier
        # Newton step on 1 / radius - 1 / |p(multiplier)|, which is nearly linear.
        curve = float(scaled @ (scaled / (squares + multiplier)))
        multiplier += length * length / curve * (length - radius) / radius
        if not low < multiplier < high:  # outside the bracket: geometric mean instead
            multiplier = np.sqrt(max(low, 1e-3 * high) * high)
    return TrustStep(-(scaled @ Vt), float(multiplier), steps)
