"""A quadratic program as checked arrays, and the residuals of its optimality conditions."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs

from auctor.core.checks import check_matrix, check_vector
from auctor.core.errors import DataError, speaks_as, speaks_for_itself
from auctor.core.types import FloatArray

#: Negative eigenvalue of G, as a share of the largest, up to which it counts as zero.
NEGATIVE_SHARE = 1e-10
#: Smallest reciprocal condition number for which G counts as positive definite.
SMALLEST_RECIPROCAL = 1e-12
#: Ratio of the largest to the smallest curvature of a variable up to which units are not changed.
ALIKE = 100.0
#: Difference between G and its transpose, as a share of its largest entry, that is rounding.
ASYMMETRY = 1e-10


class QuadraticProgram:
    """Minimise ``x'Gx/2 + c'x`` subject to ``A x >= b``, ``E x = e`` and ``lower <= x <= upper``.

    Parameters
    ----------
    G : (d, d) array
        Symmetric, positive semi-definite; zeros make it a linear program.
    c : (d,) array
    A, b : (m, d) and (m,) arrays, optional
        Inequalities.
    E, e : (k, d) and (k,) arrays, optional
        Equations.
    lower, upper : (d,) arrays or numbers, optional
        Bounds; infinite entries mean no bound.

    Raises
    ------
    DataError
        If G has a negative eigenvalue, bounds contradict each other or shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> program = QuadraticProgram(np.eye(2), [-1.0, 0.0], lower=[0.0, 0.5])
    >>> program.rows.tolist(), program.limits.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.5])
    """

    @speaks_for_itself
    def __init__(
        self,
        G: Any,
        c: Any,
        A: Any = None,
        b: Any = None,
        *,
        E: Any = None,
        e: Any = None,
        lower: Any = None,
        upper: Any = None,
    ) -> None:
        self.c = check_vector("c", c)
        d = self.c.size
        self.G = check_matrix("G", G, rows=d, columns=d)
        self.units = _units(self.G.diagonal())
        self._factor = _convex_factor(self.G, self.scaled)
        self.A, self.b = _side("A", A, "b", b, d)
        self.E, self.e = _side("E", E, "e", e, d)
        self.lower, self.upper = (
            _bound("lower", lower, d, -np.inf),
            _bound("upper", upper, d, np.inf),
        )
        if (self.lower > self.upper).any():
            j = int(np.argmax(self.lower - self.upper))
            raise DataError(
                f"`lower` <= `upper`; got {self.lower[j]:g} > {self.upper[j]:g} for variable {j}. "
                "Swap or widen these bounds."
            )

    @property
    def size(self) -> int:
        """Number of variables."""
        return int(self.c.size)

    @property
    def n_equal(self) -> int:
        """Number of equations."""
        return int(self.e.size)

    @cached_property
    def rows(self) -> FloatArray:
        """All constraints as rows of ``rows x >= limits``, equations first, bounds last."""
        parts = [part for part in (self.E, self.A) if part.shape[0]]
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        if below.any() or above.any():
            unit = np.eye(self.size)
            parts += [unit[below], -unit[above]]
        return np.ascontiguousarray(np.vstack(parts)) if parts else np.zeros((0, self.size))

    @cached_property
    def limits(self) -> FloatArray:
        """Right-hand sides of ``rows``."""
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        return np.concatenate((self.e, self.b, self.lower[below], -self.upper[above]))

    @cached_property
    def scaled(self) -> FloatArray:
        """G with its variables in ``units``."""
        one = bool((self.units == 1.0).all())
        return self.G if one else self.G * self.units * self.units[:, None]

    @property
    def strictly_convex(self) -> bool:
        """Whether G is positive definite."""
        return self._factor is not None

    @cached_property
    def lowest(self) -> FloatArray:
        """Minimiser without constraints if G is positive definite, otherwise zero."""
        if self._factor is None or not self.size:
            return np.zeros(self.size)
        step, _ = dpotrs(self._factor, -self.c * self.units, lower=1)
        lowest: FloatArray = self.units * step
        return lowest

    def value(self, x: FloatArray) -> float:
        """Objective at a point."""
        return float(0.5 * x @ (self.G @ x) + self.c @ x)


class KktResidual(NamedTuple):
    """Largest violation of each of the five Karush-Kuhn-Tucker conditions.

    Parameters
    ----------
    stationarity : float
        Violation of ``G x + c = rows' multipliers``.
    equality : float
        Violation of ``E x = e``.
    inequality : float
        Violation of ``A x >= b`` and the bounds.
    sign : float
        Violation of multipliers >= 0, for inequalities and bounds.
    complementarity : float
        Violation of ``multiplier * (row x - limit) = 0``.
    """

    stationarity: float
    equality: float
    inequality: float
    sign: float
    complementarity: float

    @property
    def largest(self) -> float:
        """The largest of the five violations."""
        return max(self)


@speaks_as("kkt_residual")
def kkt_residual(program: QuadraticProgram, x: Any, multipliers: Any) -> KktResidual:
    """Violations of the optimality conditions by a point and its multipliers; 0 at a solution.

    Parameters
    ----------
    x : (d,) array
    multipliers : (m,) array
        One for each of ``program.rows``.

    Examples
    --------
    >>> program = QuadraticProgram([[1.0]], [0.0], lower=[2.0])
    >>> kkt_residual(program, [2.0], [2.0]).largest
    0.0
    >>> kkt_residual(program, [1.0], [0.0])
    KktResidual(stationarity=1.0, equality=0.0, inequality=1.0, sign=0.0, complementarity=0.0)
    """
    point = check_vector("x", x, size=program.size)
    weight = check_vector("multipliers", multipliers, size=program.limits.size)
    # Gradient of the Lagrangian, and slacks of all constraints.
    gradient = program.G @ point + program.c - program.rows.T @ weight
    slack = program.rows @ point - program.limits
    k = program.n_equal
    return KktResidual(
        stationarity=_largest(np.abs(gradient)),
        equality=_largest(np.abs(slack[:k])),
        inequality=_largest(-slack[k:]),
        sign=_largest(-weight[k:]),
        complementarity=_largest(np.abs(weight[k:] * slack[k:])),
    )


def _largest(values: FloatArray) -> float:
    return max(0.0, float(values.max(initial=0.0)))


def _side(
    name: str, matrix: Any, limit_name: str, limits: Any, d: int
) -> tuple[FloatArray, FloatArray]:
    """Rows and limits of one kind of constraint; both or neither are given."""
    if matrix is None and limits is None:
        return np.zeros((0, d)), np.zeros(0)
    if matrix is None or limits is None:
        raise DataError(
            f"{name} and {limit_name} together",
            got=f"only {limit_name if matrix is None else name}",
            todo="Pass both.",
        )
    rows = check_matrix(name, matrix, columns=d)
    return rows, check_vector(limit_name, limits, size=rows.shape[0])


def _bound(name: str, value: Any, d: int, none: float) -> FloatArray:
    """Bounds as an array; ``none`` is the infinity that means no bound."""
    if value is None:
        return np.full(d, none)
    bound = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (d,)))
    if np.isnan(bound).any() or (bound == -none).any():
        raise DataError(f"{name} bounds that can be met; got NaN or infinity. Drop them.")
    return bound


def _units(curvature: FloatArray) -> FloatArray:
    """Units of the variables in which all that have curvature have about the same, at most 1.

    They are powers of two, so that scaling rounds nothing. Variables without curvature take the
    mean unit of the others. Curvatures that differ little, or are all zero, keep their units.
    """
    most = float(curvature.max(initial=0.0))
    if most <= ALIKE * curvature.min(initial=most) or most <= 0.0:
        return np.ones(curvature.size)
    curved = curvature > 0.0
    exponent = np.zeros(curvature.size)
    exponent[curved] = np.round(-0.5 * np.log2(curvature[curved]))
    exponent[~curved] = np.round(exponent[curved].mean())
    units: FloatArray = np.exp2(exponent - exponent.max())
    return units


def _convex_factor(G: FloatArray, scaled: FloatArray) -> FloatArray | None:
    """Cholesky factor of G in units of its own, ``scaled``, or None if G is singular.

    Raises `DataError` if G has a negative eigenvalue.
    """
    if np.abs(G - G.T).max(initial=0.0) > ASYMMETRY * np.abs(G).max(initial=0.0):
        raise DataError(
            f"a symmetric G; got a difference of {np.abs(G - G.T).max():g} from its transpose. "
            "Pass (G + G.T) / 2."
        )
    if not G.size:
        return G
    factor, failed = dpotrf(scaled, lower=1)
    if failed:
        values = np.linalg.eigvalsh(G)
        if values[0] < -NEGATIVE_SHARE * max(values[-1], -values[0]):
            raise DataError(
                f"a positive semi-definite G; got the eigenvalue {values[0]:.6g}. Add at least its "
                "size to the diagonal, or correct the signs."
            )
        return None
    # A singular matrix may pass, with pivots that are rounding errors.
    reciprocal, _ = dpocon(factor, np.abs(scaled).sum(axis=0).max(), uplo="L")
    return np.asarray(factor, dtype=np.float64) if reciprocal > SMALLEST_RECIPROCAL else None
