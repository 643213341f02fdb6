"""The graphical lasso as a problem of the house: a loss, a penalty, and the identity as data.

With an empirical covariance S and a symmetric positive definite precision matrix X::

    F(X) = -log det X + tr(S X) + sum_{i != j} strength_ij |X_ij|

The parameters are the upper triangle of X, read row by row, and so are the scores: the data are the
identity. Off the diagonal an entry of the triangle stands for two of the matrix. A penalty on the
diagonal adds a constant to the diagonal of S, because the diagonal of X is positive, so here the
diagonal has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from auctor.core.needs import Access, Coupling, Need
from auctor.core.types import FloatArray, SeparableSpec, Target
from auctor.kernels.descent import log_det as kernels
from auctor.losses.base import BaseLoss
from auctor.penalties import BasePenalty
from auctor.penalties.separable import Separable
from auctor.problem import Certificate, Point, Problem


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
        """The inverse of the factorised matrix; it takes the place of the factor."""
        half, _ = dpotri(self.upper.T, lower=1, overwrite_c=1)
        full: FloatArray = half.T
        kernels.mirror_upper(full)
        return full


def factorise(matrix: FloatArray) -> Factor | None:
    """Cholesky factor of a symmetric matrix; ``None`` where it is not positive definite.

    The factor takes the place of the matrix, which must be C-contiguous: its transpose is what
    LAPACK works on, without a copy.
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
        """The gradient at a matrix whose Cholesky factor is given, and used up."""
        slopes = np.empty(triangle_size(self.S.shape[0]))
        kernels.slopes_of_inverse(self.S, factor.inverse(), slopes)
        return slopes


#: The penalty of no pair, as kernels take it.
NO_PENALTY: FloatArray = np.zeros((1, 1))


class PairPenalty(BasePenalty):
    """``sum_{i != j} strength_ij |X_ij|`` of the upper triangle of X; some entries may be fixed.

    Parameters
    ----------
    strengths : (p, p) or (1, 1) array
        Penalty of every pair, or of all: 0 leaves an entry free, infinity keeps it at zero. The
        diagonal is not read.
    p : int
        Variables.
    """

    def __init__(self, strengths: FloatArray, p: int) -> None:
        self.strengths, self.p = np.ascontiguousarray(strengths), p

    @cached_property
    def _entries(self) -> Separable:
        """The same as arrays over the triangle, which only some solvers ask for."""
        full = np.array(np.broadcast_to(self.strengths, (self.p, self.p)))
        np.fill_diagonal(full, 0.0)
        l1 = 2.0 * pack(full)
        forbidden = np.isinf(l1)
        bound = np.where(forbidden, 0.0, np.inf)
        return Separable(np.where(forbidden, 0.0, l1), lower=-bound, upper=bound)

    def separable(self, d: int) -> SeparableSpec:
        """Strengths and bounds of the entries of the triangle."""
        return self._entries.separable(d)

    def value(self, w: FloatArray) -> float:
        """Penalty of an upper triangle; infinite where a forbidden entry is not zero."""
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

    access = Access.PRODUCTS

    @property
    def n_rows(self) -> int:
        """As many as columns."""
        return self.n_columns

    @cached_property
    def target(self) -> Target:
        """Zeros, stored once: the loss holds what it is fitted to."""
        return Target(np.broadcast_to(0.0, (self.n_columns,)))

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """The parameters."""
        return w + offset

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """The slopes."""
        return dscores.copy()


class GraphProblem(Problem):
    """The graphical lasso of one connected component.

    Parameters
    ----------
    S : (p, p) array
        The empirical covariance, with the penalty of the diagonal added to its diagonal.
    strengths : (p, p) or (1, 1) array
        Penalty of every pair, or of all: 0 leaves an entry free, infinity keeps it at zero. The
        diagonal is not read.

    Notes
    -----
    The dual is ``max log det Z + p`` over positive definite Z with ``|Z_ij - S_ij| <= strength_ij``
    and the diagonal of S. One dual point is used everywhere, for every iterate and for the gap that
    is returned: where X is not zero entries are at their bound, ``S_ij + strength_ij sign(X_ij)``,
    and the others are those of the inverse of X, scaled from both sides to the diagonal of S and
    clipped onto the box. The box holds by construction and a Cholesky factor shows that the point
    is positive definite, so it is feasible and the gap is certified. The gap is infinite where the
    factor does not exist. Near the optimum it falls like the square of the distance. That of the
    clipped inverse alone falls like the distance itself, because entries inside the box, which
    belong to its edge, stay there.
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
        """The given triangle, or that of the best diagonal matrix, ``1 / S_ii``."""
        if w0 is not None:
            return w0.copy()
        return pack(np.diag(1.0 / self.loss.S.diagonal()))

    @property
    def column_squares(self) -> FloatArray:
        """Curvature of the loss by every entry at the starting point, ``S_ii S_jj`` twice."""
        diagonal = self.loss.S.diagonal()
        full = 2.0 * np.outer(diagonal, diagonal)
        np.fill_diagonal(full, diagonal * diagonal)
        return pack(full)

    def evaluate(self, w: FloatArray, *, scores: FloatArray | None = None) -> Point:
        """Value and slopes at a triangle; infinite where its matrix is not positive definite."""
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
        """The evaluated point of a triangle whose Cholesky factor is known, and used up."""
        loss, penalty = self.values(w, factor)
        slopes = self.loss.slopes(factor)
        return Point(self, w, w, loss, penalty, slopes, known_gradient=slopes)

    def inverse_at(self, point: Point) -> FloatArray:
        """``X^-1`` at a point, from its slopes."""
        W = np.empty_like(self.loss.S)
        kernels.inverse_of_slopes(self.loss.S, point.dscores, W)
        return W

    def certificate(self, point: Point, dual: Point | None = None) -> Certificate:
        """The gap to the dual value of the clipped inverse; infinite where that is indefinite."""
        Z = np.empty_like(self.loss.S)
        kernels.dual_point(self.loss.S, point.w, point.dscores, self.penalty.strengths, Z)
        factor = factorise(Z)
        bound = -np.inf if factor is None else factor.log_det + self.size
        return Certificate(max(point.value - bound, 0.0), True)

    def certify(self, point: Point, dual: Point | None = None) -> tuple[Point, Certificate]:
        """The point and its gap; there is no intercept to improve."""
        return point, self.certificate(point)

    def tolerance(self, tol: float) -> float:
        """``tol`` for every variable: the gap is a log-likelihood, and does not depend on units."""
        return tol * self.size
