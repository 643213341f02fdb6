"""Preconditioned conjugate gradients."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auctor.core.linalg import Solve
from auctor.core.types import FloatArray


class Truncated(NamedTuple):
    """A step, and what is left of the equation."""

    step: FloatArray
    residual: FloatArray


def truncated_cg(
    matvec: Solve, gradient: FloatArray, precondition: Solve, *, rtol: float, max_iter: int
) -> Truncated:
    """Minimise ``g.p + p.Hp/2``.

    Stops when the residual, in the norm of the inverse that ``precondition`` is, has fallen by
    ``rtol``, or when no curvature is left.
    """
    p = np.zeros_like(gradient)
    r = -gradient
    z = precondition(r)
    rz = float(r @ z)
    goal = rtol * math.sqrt(max(rz, 0.0))
    direction = z
    for _ in range(max_iter):
        if rz <= 0.0 or math.sqrt(rz) <= goal:
            break
        product = matvec(direction)
        curve = float(direction @ product)
        if not curve > 0.0 or not math.isfinite(rz / curve):
            break
        p = p + (rz / curve) * direction
        r = r - (rz / curve) * product
        z = precondition(r)
        previous, rz = rz, float(r @ z)
        direction = z + (rz / previous) * direction
    return Truncated(p, r)
