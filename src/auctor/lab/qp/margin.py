"""Maximum-margin hyperplanes as quadratic programs: hard and soft, primal and dual.

Soft margin: minimise ``|w|^2/2 + C sum slack`` over ``y_i (x_i'w + b) >= 1 - slack_i``, slack >= 0;
hard margin: without slack. G is singular in every form (Cameron, Numerical optimization in the
context of classification problems, (47)-(71); the dual has rank at most d), so each is solved in
the null space of the active constraints, without a shift of G.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from auctor.core.checks import check_choice, check_real, check_vector
from auctor.core.errors import DataError
from auctor.core.types import FloatArray, IntArray
from auctor.data import as_matrix
from auctor.data.matrices import dense_array
from auctor.kernel.dual import EXACT_ROUNDS, EXACT_TOL, Dual, solve_matrix
from auctor.lab.qp.program import QuadraticProgram
from auctor.lab.qp.solver import QpStatus, solve

Form = Literal["primal", "dual"]

#: Multiplier, as a share of the largest, above which a row counts as a support vector: far above
#: the rounding error of a multiplier that is zero.
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
    matrix, labels = _read("hard_margin", X, y)
    check_choice("hard_margin", "form", form, ("primal", "dual"))
    if form == "dual":
        return _hard_dual(matrix, labels)
    n, d = matrix.shape
    rows = labels[:, None] * np.column_stack((matrix, np.ones(n)))
    found = solve(QuadraticProgram(_ridge(d, 1), np.zeros(d + 1), rows, np.ones(n)))
    if found.status is QpStatus.INFEASIBLE:
        raise _inseparable(float(np.linalg.norm(rows.T @ found.multipliers)))
    return _margin(
        matrix, labels, found.multipliers, found.x[:d], float(found.x[d]), np.inf, found.n_iter
    )


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
    matrix, labels = _read("soft_margin", X, y)
    check_real("soft_margin", "C", C, low=0.0, open_low=True)
    check_choice("soft_margin", "form", form, ("primal", "dual"))
    if form == "dual":
        multipliers, intercept, steps = svm_dual(matrix @ matrix.T, labels, C=C)
        coef = matrix.T @ (labels * multipliers)
        return _margin(matrix, labels, multipliers, coef, intercept, C, steps)
    n, d = matrix.shape
    signed = labels[:, None] * np.column_stack((matrix, np.ones(n)))
    program = QuadraticProgram(
        _ridge(d, n + 1),
        np.concatenate((np.zeros(d + 1), np.full(n, C))),
        np.block([[signed, np.eye(n)], [np.zeros((n, d + 1)), np.eye(n)]]),
        np.concatenate((np.ones(n), np.zeros(n))),
    )
    # w = 0, b = 0 with a slack of 1 for every row is feasible.
    found = solve(program, start=np.concatenate((np.zeros(d + 1), np.ones(n))))
    return _margin(
        matrix, labels, found.multipliers[:n], found.x[:d], float(found.x[d]), C, found.n_iter
    )


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
    labels = _labels("svm_dual", y, matrix.shape[0])
    if matrix.shape != (labels.size, labels.size):
        raise DataError(
            "svm_dual",
            needs="a square K with a row per label",
            got=f"shape {matrix.shape}",
            todo="Pass the kernel of the training rows with themselves.",
        )
    caps = np.array(np.broadcast_to(np.asarray(C, dtype=np.float64), labels.shape))
    # In b = y a the bounds are [0, C] for positives and [-C, 0] for negatives, and sum b = 0.
    low, high = np.where(labels > 0, 0.0, -caps), np.where(labels > 0, caps, 0.0)
    dual = Dual(labels, low, high, np.arange(labels.size))
    found = solve_matrix(matrix, dual, EXACT_TOL, EXACT_ROUNDS)
    if not found.converged:
        return _general_dual(matrix, labels, caps)
    return labels * found.beta, found.intercept, found.n_iter


def _general_dual(K: FloatArray, y: FloatArray, caps: FloatArray) -> tuple[FloatArray, float, int]:
    """The dual by the general active-set method: slower, but it always terminates."""
    program = QuadraticProgram(
        K * y * y[:, None], -np.ones(y.size), E=y[None, :], e=[0.0], lower=0.0, upper=caps
    )
    found = solve(program, start=np.zeros(y.size))
    # The multiplier of y'a = 0 is minus the intercept.
    return found.x, float(-found.multipliers[0]), found.n_iter


def _hard_dual(X: FloatArray, y: FloatArray) -> Margin:
    """The hard margin from its dual: non-negative variables with one equation."""
    signed = y[:, None] * X
    program = QuadraticProgram(
        signed @ signed.T, -np.ones(y.size), E=y[None, :], e=[0.0], lower=0.0
    )
    found = solve(program, start=np.zeros(y.size))
    if found.status is QpStatus.UNBOUNDED and found.ray is not None:
        raise _inseparable(float(np.linalg.norm(signed.T @ found.ray)))
    coef = signed.T @ found.x
    return _margin(X, y, found.x, coef, -found.multipliers[0], np.inf, found.n_iter)


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
        "hard_margin",
        needs="classes that a hyperplane separates",
        got=f"weighted means of both classes that coincide (they differ by {distance:.1g})",
        todo="Use soft_margin, or features in which the classes separate.",
    )


def _read(who: str, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """A dense matrix and labels of both signs."""
    matrix = np.ascontiguousarray(dense_array(as_matrix(X, who=who)), dtype=np.float64)
    return matrix, _labels(who, y, matrix.shape[0])


def _labels(who: str, y: Any, n: int) -> FloatArray:
    """Labels -1 and +1 as an array; an error unless both occur."""
    labels = check_vector(who, "y", y, size=n)
    if not (np.abs(labels) == 1.0).all() or np.abs(labels.sum()) == n:
        raise DataError(
            who,
            needs="labels -1 and +1, both of them",
            got=f"{np.unique(labels)[:4].tolist()}",
            todo="Encode the two classes as -1 and +1.",
        )
    return labels
