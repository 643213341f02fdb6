"""Maximum-margin hyperplanes as quadratic programs: hard and soft, primal and dual.

Soft margin: minimise ``|w|^2/2 + C sum slack`` over ``y_i (x_i'w + b) >= 1 - slack_i``, slack >= 0;
hard margin: without slack. G is singular in every form (Cameron, Numerical optimization in the
context of classification problems, (47)-(71); the dual has rank at most d), so each is solved in
the null space of the active constraints, without a shift of G.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from auctor.core.checks import check_choice, check_real, check_vector
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.types import FloatArray, IntArray
from auctor.data import as_matrix
from auctor.data.matrices import dense_array
from auctor.kernel.dual import EXACT_ROUNDS, EXACT_TOL, Dual, solve_matrix
from auctor.kernel.spectrum import check_kernel_matrix
from auctor.lab.qp.program import QuadraticProgram
from auctor.lab.qp.solver import QpStatus, settled, solve

Form = Literal["primal", "dual"]

#: Multiplier, as a share of the largest, above which a row counts as a support vector.
SUPPORT = 1e-8


@dataclass(frozen=True)
class Margin:
    """A hyperplane ``x'coef + intercept = 0`` with its multipliers and slacks.

    Attributes
    ----------
    coef : (d,) array
    intercept : float
    multipliers : (n,) array
        Multipliers of the rows' constraints: the variables of the dual.
    slack : (n,) array
        Violation of the margin by each row: its hinge loss.
    value, dual_value : float
        Objectives of both problems; equal at the solution.
    n_iter : int
    """

    coef: FloatArray
    intercept: float
    multipliers: FloatArray = field(repr=False)
    slack: FloatArray = field(repr=False)
    value: float
    dual_value: float
    n_iter: int

    @property
    def width(self) -> float:
        """Width of the margin, ``2 / |coef|``."""
        return 2.0 / float(np.linalg.norm(self.coef))

    @property
    def support(self) -> IntArray:
        """Indices of the support vectors: rows with a positive multiplier."""
        largest = float(self.multipliers.max(initial=0.0))
        return np.flatnonzero(self.multipliers > SUPPORT * largest)

    def decision_function(self, X: Any) -> FloatArray:
        """Scores ``X coef + intercept``."""
        scores: FloatArray = np.asarray(X, dtype=np.float64) @ self.coef + self.intercept
        return scores


@dataclass(frozen=True)
class _Units:
    """Rows ``z = (x - centre) / scale``, in which programs lose no digits to the columns' means."""

    centre: FloatArray
    scale: float

    @classmethod
    def of(cls, X: FloatArray) -> _Units:
        centre = X.mean(axis=0)
        largest = float(np.abs(X - centre).max(initial=0.0))
        # A power of two rounds nothing.
        scale = float(np.exp2(np.round(np.log2(largest)))) if largest > 0.0 else 1.0
        return cls(centre, scale)

    def rows(self, X: FloatArray) -> FloatArray:
        """The rows in these units."""
        return (X - self.centre) / self.scale

    def back(self, margin: Margin) -> Margin:
        """The hyperplane in the units of x: ``w = v / scale``, objectives by ``1 / scale^2``."""
        square = self.scale**2
        coef = margin.coef / self.scale
        return replace(
            margin,
            coef=coef,
            intercept=margin.intercept - float(coef @ self.centre),
            multipliers=margin.multipliers / square,
            value=margin.value / square,
            dual_value=margin.dual_value / square,
        )


@speaks_as("hard_margin")
def hard_margin(X: Any, y: Any, *, form: Form = "primal") -> Margin:
    """The hyperplane with the widest margin between two linearly separable classes.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array of -1 and +1
    form : {"primal", "dual"}
        Which of the two quadratic programs to solve; the answer is the same.

    Raises
    ------
    DataError
        If no hyperplane separates the classes.

    Examples
    --------
    >>> found = hard_margin([[0.0, 0.0], [2.0, 0.0], [3.0, 1.0]], [-1, 1, 1])
    >>> found.coef.round(6), round(found.intercept, 6), round(found.width, 6)
    (array([1., 0.]), -1.0, 2.0)
    """
    matrix, labels = _read(X, y)
    check_choice("form", form, ("primal", "dual"))
    units = _Units.of(matrix)
    Z = units.rows(matrix)
    if form == "dual":
        margin = _hard_dual(Z, labels)
    else:
        n, d = Z.shape
        rows = labels[:, None] * np.column_stack((Z, np.ones(n)))
        plane = solve(QuadraticProgram(_ridge(d, 1), np.zeros(d + 1), rows, np.ones(n)))
        if plane.status is QpStatus.INFEASIBLE:
            raise _inseparable(float(np.linalg.norm(rows.T @ plane.multipliers)))
        settled(plane)
        coef, intercept = plane.x[:d], float(plane.x[d])
        margin = _margin(Z, labels, plane.multipliers, coef, intercept, np.inf, plane.n_iter)
    if not (labels * margin.decision_function(Z) > 0.0).all():
        raise _inseparable(float(np.linalg.norm(Z.T @ (labels * margin.multipliers))))
    return units.back(margin)


@speaks_as("soft_margin")
def soft_margin(X: Any, y: Any, *, C: float = 1.0, form: Form = "primal") -> Margin:
    """The hyperplane of a soft-margin support vector machine.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array of -1 and +1
    C : float > 0
        Cost of a unit of slack.
    form : {"primal", "dual"}
        The primal has ``d + 1 + n`` variables and suits a few dozen rows; the dual has n variables
        with bounds.

    Examples
    --------
    >>> found = soft_margin([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1], C=1.0)
    >>> found.coef.round(6), round(found.value, 6)
    (array([0.666667]), 2.888889)
    """
    matrix, labels = _read(X, y)
    check_real("C", C, low=0.0, open_low=True)
    check_choice("form", form, ("primal", "dual"))
    units = _Units.of(matrix)
    Z = units.rows(matrix)
    price = C * units.scale**2
    n, d = Z.shape
    if form == "dual":
        caps = np.full(n, price)
        multipliers, intercept, steps = _solve_dual(Z @ Z.T, labels, caps)
        coef = Z.T @ (labels * multipliers)
        return units.back(_margin(Z, labels, multipliers, coef, intercept, price, steps))
    signed = labels[:, None] * np.column_stack((Z, np.ones(n)))
    program = QuadraticProgram(
        _ridge(d, n + 1),
        np.concatenate((np.zeros(d + 1), np.full(n, price))),
        np.block([[signed, np.eye(n)], [np.zeros((n, d + 1)), np.eye(n)]]),
        np.concatenate((np.ones(n), np.zeros(n))),
    )
    # w = 0, b = 0 with a slack of 1 for every row is feasible.
    plane = solve(program, start=np.concatenate((np.zeros(d + 1), np.ones(n))))
    settled(plane)
    coef, intercept = plane.x[:d], float(plane.x[d])
    return units.back(
        _margin(Z, labels, plane.multipliers[:n], coef, intercept, price, plane.n_iter)
    )


@speaks_as("svm_dual")
def svm_dual(K: Any, y: Any, *, C: float | Any = 1.0) -> tuple[FloatArray, float, int]:
    """Solve the dual of a support vector machine for any kernel matrix.

    Maximise ``sum a - a'Da/2`` with ``D_ij = y_i y_j K_ij`` over ``y'a = 0``, ``0 <= a <= C``, by
    steps on pairs of variables and, near the end, exact steps on the free ones together.

    Parameters
    ----------
    K : (n, n) array
        Positive semi-definite.
    y : (n,) array of -1 and +1
    C : float or (n,) array > 0

    Returns
    -------
    multipliers : (n,) array
    intercept : float
    n_iter : int

    Examples
    --------
    >>> import numpy as np
    >>> a, b, _ = svm_dual(np.outer([0.0, 2.0], [0.0, 2.0]), [-1, 1], C=10.0)
    >>> a.round(6), round(b, 6)
    (array([0.5, 0.5]), -1.0)
    """
    matrix = np.ascontiguousarray(K, dtype=np.float64)
    labels = _labels(y, matrix.shape[0])
    if matrix.shape != (labels.size, labels.size):
        raise DataError(
            f"a square K with a row per label; got shape {matrix.shape}. Pass the kernel of the "
            "training rows with themselves."
        )
    costs = C if np.ndim(C) else np.full(labels.size, C, dtype=np.float64)
    caps = np.asarray(costs, dtype=np.float64)
    if caps.shape != labels.shape:
        raise ParameterError(
            f"`C` to be a number, or one for every row; got shape {caps.shape} for {labels.size} "
            "rows. Pass as many as labels."
        )
    if not (np.isfinite(caps) & (caps > 0.0)).all():
        raise ParameterError(
            f"`C` finite and above 0; got {caps[~(np.isfinite(caps) & (caps > 0.0))][0]:g}. Drop "
            "rows that should not count."
        )
    check_kernel_matrix(matrix)
    return _solve_dual(matrix, labels, caps)


def _solve_dual(K: FloatArray, y: FloatArray, caps: FloatArray) -> tuple[FloatArray, float, int]:
    """The dual by pair steps and exact steps; by the active-set method if these do not end."""
    # In b = y a the bounds are [0, C] for positives and [-C, 0] for negatives, and sum b = 0.
    low, high = np.where(y > 0, 0.0, -caps), np.where(y > 0, caps, 0.0)
    solution = solve_matrix(K, Dual(y, low, high, np.arange(y.size)), EXACT_TOL, EXACT_ROUNDS)
    if solution.converged:
        return y * solution.beta, solution.intercept, solution.n_iter
    program = QuadraticProgram(
        K * y * y[:, None], -np.ones(y.size), E=y[None, :], e=[0.0], lower=0.0, upper=caps
    )
    exact = settled(solve(program, start=np.zeros(y.size)))
    # The multiplier of y'a = 0 is minus the intercept.
    return exact.x, float(-exact.multipliers[0]), exact.n_iter


def _hard_dual(X: FloatArray, y: FloatArray) -> Margin:
    """The hard margin from its dual: non-negative variables with one equation."""
    signed = y[:, None] * X
    program = QuadraticProgram(
        signed @ signed.T, -np.ones(y.size), E=y[None, :], e=[0.0], lower=0.0
    )
    dual = solve(program, start=np.zeros(y.size))
    if dual.status is QpStatus.UNBOUNDED and dual.ray is not None:
        raise _inseparable(float(np.linalg.norm(signed.T @ dual.ray)))
    settled(dual)
    coef = signed.T @ dual.x
    return _margin(X, y, dual.x, coef, -dual.multipliers[0], np.inf, dual.n_iter)


def _margin(
    X: FloatArray, y: FloatArray, multipliers: FloatArray, coef: FloatArray, intercept: float,
    C: float, n_iter: int,
) -> Margin:  # fmt: skip
    """The hyperplane with its slacks and both objectives; C is infinite for a hard margin."""
    slack = np.maximum(1.0 - y * (X @ coef + intercept), 0.0)
    # The dual objective: sum a - |X'(y a)|^2 / 2.
    combined = X.T @ (y * multipliers)
    loss = C * float(slack.sum()) if np.isfinite(C) else 0.0
    return Margin(
        coef=coef,
        intercept=float(intercept),
        multipliers=multipliers,
        slack=slack,
        value=0.5 * float(coef @ coef) + loss,
        dual_value=float(multipliers.sum() - 0.5 * combined @ combined),
        n_iter=n_iter,
    )


def _ridge(d: int, others: int) -> FloatArray:
    """Matrix of ``|w|^2/2`` for w the first d of ``d + others`` variables."""
    return np.diag(np.concatenate((np.ones(d), np.zeros(others))))


def _inseparable(distance: float) -> DataError:
    """The error for classes whose convex hulls meet."""
    return DataError(
        "classes that a hyperplane separates; got weighted means of both classes that coincide "
        f"(they differ by {distance:.1g}). Use soft_margin, or features in which the classes "
        "separate."
    )


def _read(X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """A dense matrix and labels of both signs."""
    matrix = np.ascontiguousarray(dense_array(as_matrix(X)), dtype=np.float64)
    return matrix, _labels(y, matrix.shape[0])


def _labels(y: Any, n: int) -> FloatArray:
    """Labels -1 and +1 as an array; an error unless both occur."""
    labels = check_vector("y", y, size=n)
    if not (np.abs(labels) == 1.0).all() or np.abs(labels.sum()) == n:
        raise DataError(
            f"labels -1 and +1, both of them; got {np.unique(labels)[:4].tolist()}. Encode the two "
            "classes as -1 and +1."
        )
    return labels
