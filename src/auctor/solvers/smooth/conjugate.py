"""Preconditioned conjugate gradients."""

from __future__ import annotations

import math
from enum import Enum
from typing import NamedTuple

import numpy as np

from auctor.core.linalg import Solve
from auctor.core.types import FloatArray


class CgStatus(Enum):
    """How a solve ended; the value is the sentence a user reads."""

    CONVERGED = "The residual is within the tolerance."
    NEGATIVE_CURVATURE = "The matrix is not positive along the direction; the last point is kept."
    MAX_ITER = "The limit on iterations was reached."


class CgSolution(NamedTuple):
    """The result of conjugate gradients.

    Parameters
    ----------
    x : (d,) array
    residual : (d,) array
        ``b - A x``.
    n_iter : int
        Products with the matrix that moved x.
    direction : (d,) array
        The last direction. If the status is ``NEGATIVE_CURVATURE``, ``x'Ax/2 - b'x`` is unbounded
        below along it.
    """

    x: FloatArray
    residual: FloatArray
    status: CgStatus
    n_iter: int
    direction: FloatArray


class Truncated(NamedTuple):
    """An approximate Newton step p and its residual ``-g - H p``."""

    step: FloatArray
    residual: FloatArray


def conjugate_gradient(
    matvec: Solve,
    b: FloatArray,
    *,
    x0: FloatArray | None = None,
    precondition: Solve | None = None,
    rtol: float = 1e-10,
    max_iter: int | None = None,
    reorthogonalise: int = 0,
) -> CgSolution:
    """Solve ``A x = b`` for a symmetric positive definite A given by its products ``A v``.

    Parameters
    ----------
    matvec : callable
        ``A v``.
    b : (d,) array
    x0 : (d,) array, optional
        Starting point; zeros by default.
    precondition : callable, optional
        An approximation of ``A^-1 v``.
    rtol : float >= 0
        Tolerance on the residual relative to the residual at zero, in the norm of the
        preconditioner.
    max_iter : int, optional
        Largest number of products; ``10 d`` by default. In exact arithmetic d are enough.
    reorthogonalise : int >= 0
        Number of first iterations in which the residual is made orthogonal to all earlier ones.
        Stores two vectors per iteration.

    Notes
    -----
    If ``v'Av <= 0`` for a direction v, the solve stops and returns the last point and v, a
    direction of negative curvature for Newton's method (Steihaug, 1983).

    In floating point the residuals lose their orthogonality: components along the eigenvectors of
    large isolated eigenvalues return and grow by a constant factor per iteration (Greenbaum,
    Strakos, 1992). For the F-beta loss the factor is about ten, so that after some fifteen
    iterations the rounding error of one product changes the number of iterations and the solution.
    Reorthogonalisation prevents that, and needs fewer iterations.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[1.0, 0.1], [0.1, 2.0]])
    >>> found = conjugate_gradient(lambda v: A @ v, np.array([-0.1, -0.2]))
    >>> found.x.round(8), found.n_iter
    (array([-0.09045226, -0.09547739]), 2)
    """
    inverse = (lambda v: v) if precondition is None else precondition
    x = np.zeros_like(b) if x0 is None else x0.astype(np.float64)
    r = b.copy() if x0 is None else b - matvec(x)
    accuracy = rtol * math.sqrt(max(float(b @ inverse(b)), 0.0))
    z = inverse(r)
    rz = float(r @ z)
    direction = z
    kept = np.empty((2, reorthogonalise, b.size))
    for done in range(10 * b.size if max_iter is None else max_iter):
        if rz <= 0.0 or math.sqrt(rz) <= accuracy:
            return CgSolution(x, r, CgStatus.CONVERGED, done, direction)
        if done < reorthogonalise:
            kept[:, done] = r / math.sqrt(rz), z / math.sqrt(rz)
        # Curvature along the direction.
        product = matvec(direction)
        curve = float(direction @ product)
        if not curve > 0.0 or not math.isfinite(rz / curve):
            return CgSolution(x, r, CgStatus.NEGATIVE_CURVATURE, done, direction)
        # The minimum along the direction, then the next conjugate direction (Fletcher-Reeves).
        x = x + (rz / curve) * direction
        r = r - (rz / curve) * product
        if done < reorthogonalise:  # r_i.z_j = 0 for j < i, in exact arithmetic
            residuals, dual = kept[:, : done + 1]
            r -= (dual @ r) @ residuals
        # Next conjugate direction.
        z = inverse(r)
        previous, rz = rz, float(r @ z)
        direction = z + (rz / previous) * direction
    reached = rz <= 0.0 or math.sqrt(rz) <= accuracy
    status = CgStatus.CONVERGED if reached else CgStatus.MAX_ITER
    return CgSolution(x, r, status, 10 * b.size if max_iter is None else max_iter, direction)


def truncated_cg(
    matvec: Solve,
    gradient: FloatArray,
    precondition: Solve,
    *,
    rtol: float,
    max_iter: int,
    reorthogonalise: int = 0,
) -> Truncated:
    """Approximate minimiser p of ``g.p + p.Hp/2`` by truncated conjugate gradients.

    Stops when the residual, in the norm of the preconditioner, has fallen to ``rtol`` times its
    first value, or when a direction has no positive curvature. ``reorthogonalise`` as in
    `conjugate_gradient`.
    """
    solution = conjugate_gradient(
        matvec,
        -gradient,
        precondition=precondition,
        rtol=rtol,
        max_iter=max_iter,
        reorthogonalise=reorthogonalise,
    )
    return Truncated(solution.x, solution.residual)
