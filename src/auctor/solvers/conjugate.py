"""Preconditioned conjugate gradients inside a trust region."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.hessian import Solve


class Truncated(NamedTuple):
    """A step, what is left of the equation, its preconditioned length, and if it hit the region."""

    step: FloatArray
    residual: FloatArray
    length: float
    on_boundary: bool


def truncated_cg(
    matvec: Solve,
    gradient: FloatArray,
    precondition: Solve,
    *,
    radius: float,
    rtol: float,
    max_iter: int,
) -> Truncated:
    """Minimise ``g.p + p.Hp/2`` over ``|p|_M <= radius`` by Steihaug's method.

    M is the matrix that ``precondition`` inverts. Stops when the residual's ``M^-1`` norm has
    fallen by ``rtol``, at the boundary, or when no curvature is left.
    """
    p = np.zeros_like(gradient)
    r = -gradient
    z = precondition(r)
    rz = float(r @ z)
    goal = rtol * math.sqrt(max(rz, 0.0))
    direction = z
    # Lengths in the M norm follow from the recurrences: p.Mp, p.Md, d.Md.
    pmp, pmd, dmd = 0.0, 0.0, rz
    for _ in range(max_iter):
        if rz <= 0.0 or math.sqrt(rz) <= goal:
            break
        product = matvec(direction)
        curve = float(direction @ product)
        alpha = rz / curve if curve > 0.0 else math.inf
        longer = pmp + alpha * (2.0 * pmd + alpha * dmd)
        if not longer < radius * radius:
            if math.isinf(radius):
                break
            alpha = _to_boundary(pmp, pmd, dmd, radius)
            p = p + alpha * direction
            return Truncated(p, r - alpha * product, radius, True)
        p = p + alpha * direction
        r = r - alpha * product
        z = precondition(r)
        previous, rz = rz, float(r @ z)
        beta = rz / previous
        pmp, pmd, dmd = longer, beta * (pmd + alpha * dmd), rz + beta * beta * dmd
        direction = z + beta * direction
    return Truncated(p, r, math.sqrt(max(pmp, 0.0)), False)


def _to_boundary(pmp: float, pmd: float, dmd: float, radius: float) -> float:
    """Positive root of ``|p + a d|_M = radius``."""
    slack = max(radius * radius - pmp, 0.0)
    root = math.sqrt(pmd * pmd + dmd * slack)
    return slack / (pmd + root) if pmd > 0.0 else (root - pmd) / dmd
