"""The graphical lasso as a problem of the house: a loss, a penalty, and the identity as data.

With an empirical covariance S and a symmetric positive definite matrix X of partial relations::

    F(X) = -log det X + tr(S X) + sum_ij strength_ij |X_ij|

The scores are the upper triangle of X, read row by row, and so are the parameters: the data are the
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

from auctor.core.needs import Access, Coupling
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.kernels.descent.log_det import pack_upper, unpack_upper
from auctor.losses.base import BaseLoss
from auctor.penalties.separable import Separable
from auctor.problem import Certificate, Point, Problem


class Triangle(NamedTuple):
    """An upper triangle, row by row: its matrix's size, and how often each entry stands there."""

    size: int
    times: FloatArray

    @classmethod
    def of(cls, size: int) -> Triangle:
        """The triangle of a matrix of this size."""
        times = np.full(size * (size + 1) // 2, 2.0)
        times[np.cumsum(np.arange(size, 0, -1)) - np.arange(size, 0, -1)] = 1.0
        return cls(size, times)

    def pack(self, matrix: FloatArray) -> FloatArray:
        """The upper triangle of a matrix."""
        packed = np.empty_like(self.times)
        pack_upper(np.ascontiguousarray(matrix), packed)
        return packed

    def unpack(self, packed: FloatArray) -> FloatArray:
        """The symmetric matrix of an upper triangle."""
        matrix = np.empty((self.size, self.size))
        unpack_upper(packed, matrix)
        return matrix

    def place(self, row: Array, column: Array) -> IntArray:
        """Where entries ``row <= column`` of the matrix stand in the triangle."""
        i, j = row.astype(np.int64), column.astype(np.int64)
        place: IntArray = i * (2 * self.size - i - 1) // 2 + j
        return place


class Factor(NamedTuple):
    """A Cholesky factor in the lower triangle of ``lower``, and the log-determinant."""

    lower: FloatArray
    log_det: float

    def inverse(self) -> FloatArray:
        """The inverse of the factorised matrix; the factor is overwritten."""
        half, _ = dpotri(self.lower, lower=1, overwrite_c=1)
        full: FloatArray = np.tril(half)
        full += np.tril(full, -1).T
        return full


def factorise(matrix: FloatArray) -> Factor | None:
    """Cholesky factor of a symmetric matrix; ``None`` where it is not positive definite."""
    lower, info = dpotrf(np.asfortranarray(matrix), lower=1, clean=0, overwrite_a=0)
    diagonal = lower.diagonal()
    if info != 0 or not np.isfinite(diagonal).all():
        return None
    return Factor(lower, 2.0 * float(np.log(diagonal).sum()))


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

    @cached_property
    def triangle(self) -> Triangle:
        """Places of the scores in the matrix."""
        return Triangle.of(self.S.shape[0])

    def value(self, scores: FloatArray, target: Target) -> float:
        """The negative log-likelihood, up to a constant and a factor."""
        factor = factorise(self.triangle.unpack(scores))
        return np.inf if factor is None else self.value_of(scores, factor)

    def value_of(self, scores: FloatArray, factor: Factor) -> float:
        """The value where the Cholesky factor is known."""
        triangle = self.triangle
        return float(triangle.times * triangle.pack(self.S) @ scores) - factor.log_det

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Value, and gradient ``S - X^-1``, doubled off the diagonal."""
        factor = factorise(self.triangle.unpack(scores))
        if factor is None:
            return np.inf, np.zeros_like(scores)
        value = self.value_of(scores, factor)
        return value, self.triangle.times * self.triangle.pack(self.S - factor.inverse())


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
        """Zeros: the loss holds what it is fitted to."""
        return Target(np.zeros(self.n_columns))

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
    strengths : (p, p) array
        Penalty of every entry off the diagonal: 0 leaves it free, infinity keeps it at zero. The
        diagonal is not read.

    Notes
    -----
    The dual is ``max log det Z + p`` over positive definite Z with ``|Z_ij - S_ij| <= strength_ij``
    and the diagonal of S. The inverse of an iterate, clipped onto that box, is such a Z whenever it
    is positive definite, which gives a certified gap.
    """

    loss: LogDet

    def __init__(self, S: FloatArray, strengths: FloatArray) -> None:
        loss = LogDet(S)
        triangle = loss.triangle
        self.strengths = strengths.copy()
        np.fill_diagonal(self.strengths, 0.0)
        packed = triangle.pack(self.strengths)
        forbidden = np.isinf(packed)
        l1 = np.where(forbidden, 0.0, triangle.times * packed)
        bound = np.where(forbidden, 0.0, np.inf)
        penalty = Separable(l1=l1, lower=-bound, upper=bound)
        super().__init__(loss, penalty, Identity(packed.size), fit_intercept=False)

    @property
    def size(self) -> int:
        """Variables."""
        return self.loss.triangle.size

    def start(self, w0: FloatArray | None = None) -> FloatArray:
        """The given triangle, or the diagonal matrix that is best among those."""
        if w0 is not None:
            return super().start(w0)
        return self.loss.triangle.pack(np.diag(1.0 / self.loss.S.diagonal()))

    def inverse_at(self, point: Point) -> FloatArray:
        """``X^-1`` at a point, from its gradient ``S - X^-1``."""
        triangle = self.loss.triangle
        return self.loss.S - triangle.unpack(point.dscores / triangle.times)

    def lower_bound(self, inverse: FloatArray) -> float:
        """The dual value of the inverse of an iterate, clipped onto the box."""
        S, most = self.loss.S, self.strengths
        factor = factorise(S + np.clip(inverse - S, -most, most))
        return -np.inf if factor is None else factor.log_det + self.size

    def certificate(self, point: Point, dual: Point | None = None) -> Certificate:
        """The gap to the dual value of the clipped inverse."""
        gap = point.value - self.lower_bound(self.inverse_at(point))
        return Certificate(max(gap, 0.0), True)

    def certify(self, point: Point, dual: Point | None = None) -> tuple[Point, Certificate]:
        """The point and its gap; there is no intercept to improve."""
        return point, self.certificate(point)

    def tolerance(self, tol: float) -> float:
        """``tol`` for every variable: the gap is a log-likelihood, and does not depend on units."""
        return tol * self.size
