"""The graphical lasso as a `Problem`: a loss, a penalty, and the identity as data.

With an empirical covariance S and a symmetric positive definite precision matrix X::

    F(X) = -log det X + tr(S X) + sum_{i != j} strength_ij |X_ij|

The parameters are the upper triangle of X, packed row by row, and so are the scores: the data are
the identity. An off-diagonal entry of the triangle stands for two entries of the matrix. As the
diagonal of X is positive, a penalty on it equals a constant added to the diagonal of S, so the
penalty here has no diagonal part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from auctor.core.protocols import Coupling
from auctor.core.types import FloatArray, SeparableSpec, Target
from auctor.kernels.descent import log_det as kernels
from auctor.losses.base import BaseLoss
from auctor.penalties import BasePenalty
from auctor.penalties.separable import Separable
from auctor.problem import Point, Problem
from auctor.problem.certificate import Certificate
from auctor.problem.needs import Need


def triangle_size(p: int) -> int:
    """Entries of the upper triangle of a p x p matrix."""
    return p * (p + 1) // 2


def pack(matrix: FloatArray) -> FloatArray:
    """The upper triangle of a matrix, row by row."""
    packed = np.empty(triangle_size(matrix.shape[0]))
    kernels.pack_upper(np.ascontiguousarray(matrix), packed)
    return packed


def unpack(packed: FloatArray, p: int) -> FloatArray:
    """The symmetric p x p matrix of an upper triangle."""
    matrix = np.empty((p, p))
    kernels.unpack_upper(packed, matrix)
    return matrix


class Factor(NamedTuple):
    """A Cholesky factor, in the upper triangle of ``upper``, and the log-determinant."""

    upper: FloatArray
    log_det: float

    def inverse(self) -> FloatArray:
        """The inverse of the factorised matrix; it overwrites the factor."""
        half, _ = dpotri(self.upper.T, lower=1, overwrite_c=1)
        full: FloatArray = half.T
        kernels.mirror_upper(full)
        return full


def factorise(matrix: FloatArray) -> Factor | None:
    """Cholesky factor of a symmetric matrix; ``None`` if it is not positive definite.

    The factor overwrites the matrix, which must be C-contiguous: LAPACK then works on its transpose
    without a copy.
    """
    lower, info = dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    diagonal = lower.diagonal()
    if info != 0 or not np.isfinite(diagonal).all():
        return None
    return Factor(lower.T, 2.0 * float(np.log(diagonal).sum()))


@dataclass(frozen=True, eq=False)
class LogDet(BaseLoss):
    """``-log det X + tr(S X)`` of the upper triangle of X; infinite unless X is positive definite.

    Parameters
    ----------
    S : (p, p) array
        The empirical covariance, with the penalty of the diagonal added to its diagonal.
    """

    S: FloatArray

    coupling = Coupling.GLOBAL
    targets = "real"
    exchangeable = False

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Value, and gradient ``S - X^-1``, doubled off the diagonal."""
        factor = factorise(unpack(scores, self.S.shape[0]))
        if factor is None:
            return np.inf, np.zeros_like(scores)
        trace, _ = kernels.linear_and_l1(self.S, NO_PENALTY, scores)
        return trace - factor.log_det, self.slopes(factor)

    def slopes(self, factor: Factor) -> FloatArray:
        """The gradient at a matrix whose Cholesky factor is given and overwritten."""
        slopes = np.empty(triangle_size(self.S.shape[0]))
        kernels.slopes_of_inverse(self.S, factor.inverse(), slopes)
        return slopes


#: A penalty of 0 for all pairs, in the form that kernels take.
NO_PENALTY: FloatArray = np.zeros((1, 1))


class PairPenalty(BasePenalty):
    """``sum_{i != j} strength_ij |X_ij|`` of the upper triangle of X; some entries may be fixed.

    Parameters
    ----------
    strengths : (p, p) or (1, 1) array
        Penalty of every pair, or one for all: 0 leaves an entry free, infinity keeps it at zero.
        The diagonal is ignored.
    p : int
        Number of variables.
    """

    def __init__(self, strengths: FloatArray, p: int) -> None:
        self.strengths, self.p = np.ascontiguousarray(strengths), p

    @cached_property
    def _entries(self) -> Separable:
        """The penalty as arrays over the triangle, made on first use: some solvers need none."""
        full = np.array(np.broadcast_to(self.strengths, (self.p, self.p)))
        np.fill_diagonal(full, 0.0)
        # Each off-diagonal entry of the triangle occurs twice in the matrix.
        l1 = 2.0 * pack(full)
        forbidden = np.isinf(l1)
        bound = np.where(forbidden, 0.0, np.inf)
        return Separable(np.where(forbidden, 0.0, l1), lower=-bound, upper=bound)

    def separable(self, d: int) -> SeparableSpec:
        """Strengths and bounds of the entries of the triangle."""
        return self._entries.separable(d)

    def value(self, w: FloatArray) -> float:
        """Penalty of an upper triangle; infinite if a forbidden entry is nonzero."""
        return self._entries.value(w)

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        return self._entries.prox(v, step)

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w."""
        return self._entries.violation(w, grad)


@dataclass(frozen=True)
class Identity:
    """Data whose scores are the parameters."""

    n_columns: int

    @property
    def n_rows(self) -> int:
        """Number of rows, equal to that of columns."""
        return self.n_columns

    @cached_property
    def target(self) -> Target:
        """Zeros, stored once: the loss itself holds S, and uses no target."""
        return Target(np.broadcast_to(0.0, (self.n_columns,)))

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """The parameters."""
        return w + offset

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """A copy of the derivatives in the scores."""
        return dscores.copy()


class GraphProblem(Problem):
    """The graphical lasso of one connected component.

    Parameters
    ----------
    S : (p, p) array
        The empirical covariance, with the penalty of the diagonal added to its diagonal.
    strengths : (p, p) or (1, 1) array
        Penalty of every pair, or one for all: 0 leaves an entry free, infinity keeps it at zero.
        The diagonal is ignored.

    Notes
    -----
    The dual is ``max log det Z + p`` over positive definite Z with ``|Z_ij - S_ij| <= strength_ij``
    and the diagonal of S. The dual point of an iterate X is built as follows: entries at which X is
    nonzero are at their bound, ``S_ij + strength_ij sign(X_ij)``; all others are those of the
    inverse of X, scaled from both sides to the diagonal of S and clipped to the box. The box holds
    by construction and a Cholesky factor proves that the point is positive definite, so it is
    feasible and the gap is certified. If there is no Cholesky factor the gap is infinite. Near the
    optimum this gap falls like the square of the distance. The gap of the clipped inverse alone
    falls like the distance itself, because its entries that should be at a bound are inside the
    box.
    """

    loss: LogDet
    penalty: PairPenalty

    def __init__(self, S: FloatArray, strengths: FloatArray) -> None:
        self.size = int(S.shape[0])
        data = Identity(triangle_size(self.size))
        super().__init__(LogDet(S), PairPenalty(strengths, self.size), data, fit_intercept=False)

    @cached_property
    def provides(self) -> Need:
        """A smooth convex loss, and a penalty that is a sum over entries."""
        return Need.SMOOTH_LOSS | Need.CONVEX_LOSS | Need.SEPARABLE_PENALTY | Need.PROX

    def start(self, w0: FloatArray | None = None) -> FloatArray:
        """A copy of the given triangle; by default the best diagonal matrix, ``1 / S_ii``."""
        if w0 is not None:
            return w0.copy()
        return pack(np.diag(1.0 / self.loss.S.diagonal()))

    @property
    def column_squares(self) -> FloatArray:
        """Second derivatives of the loss at the starting point: ``2 S_ii S_jj``, or ``S_ii^2``."""
        diagonal = self.loss.S.diagonal()
        full = 2.0 * np.outer(diagonal, diagonal)
        np.fill_diagonal(full, diagonal * diagonal)
        return pack(full)

    def evaluate(self, w: FloatArray, *, scores: FloatArray | None = None) -> Point:
        """Value and gradient at a triangle; infinite if its matrix is not positive definite."""
        self.counts.evaluations += 1
        factor = factorise(unpack(w, self.size))
        if factor is None:
            return Point(self, w, w, np.inf, 0.0, np.zeros_like(w))
        return self.point(w, factor)

    def values(self, w: FloatArray, factor: Factor) -> tuple[float, float]:
        """Loss and penalty of a triangle whose Cholesky factor is known."""
        trace, penalty = kernels.linear_and_l1(self.loss.S, self.penalty.strengths, w)
        return trace - factor.log_det, penalty

    def point(self, w: FloatArray, factor: Factor) -> Point:
        """The point of a triangle whose Cholesky factor is given and overwritten."""
        loss, penalty = self.values(w, factor)
        slopes = self.loss.slopes(factor)
        return Point(self, w, w, loss, penalty, slopes, known_gradient=slopes)

    def inverse_at(self, point: Point) -> FloatArray:
        """``X^-1`` at a point, from its gradient ``S - X^-1``."""
        W = np.empty_like(self.loss.S)
        kernels.inverse_of_slopes(self.loss.S, point.dscores, W)
        return W

    def certificate(self, point: Point, dual: Point | None = None) -> Certificate:
        """The duality gap, from the dual point in the notes; infinite if that is indefinite."""
        Z = np.empty_like(self.loss.S)
        kernels.dual_point(self.loss.S, point.w, point.dscores, self.penalty.strengths, Z)
        factor = factorise(Z)
        bound = -np.inf if factor is None else factor.log_det + self.size
        return Certificate(max(point.value - bound, 0.0), True)

    def certify(self, point: Point, dual: Point | None = None) -> tuple[Point, Certificate]:
        """The point and its gap; the problem has no intercept to minimise over."""
        return point, self.certificate(point)

    def tolerance(self, tol: float) -> float:
        """``tol`` per variable: the gap is a log-likelihood and has no unit."""
        return tol * self.size
