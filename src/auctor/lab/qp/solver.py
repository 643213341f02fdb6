"""The solver of quadratic programs: a feasible point first, then the active-set kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_int, check_vector
from auctor.core.errors import ConvergenceWarning, DataError, speaks_as, warn
from auctor.core.types import FloatArray, IntArray
from auctor.lab.kernels.active_set import OPTIMAL, UNBOUNDED, active_set
from auctor.lab.kernels.phase_one import FEASIBLE, shortfall, unit_rows, with_shortfall
from auctor.lab.qp.program import KktResidual, QuadraticProgram, kkt_residual

#: Most changes of the working set per variable and constraint.
STEPS_EACH = 20
#: Penalty of a unit of constraint violation in phase 1, in units of the objective's gradient.
PRICE = 1e3

#: 1 / sqrt(2): factor by which a row of length 1 is scaled after an entry of size 1 is appended.
ROOT_HALF = 0.5**0.5


class QpStatus(Enum):
    """How a solve ended; the value is the sentence a user reads."""

    OPTIMAL = "The point satisfies the optimality conditions."
    INFEASIBLE = "No point satisfies all constraints; the multipliers prove it."
    UNBOUNDED = "The objective is unbounded below along the ray."
    MAX_ITER = "The limit on steps was reached before the optimum."


@dataclass(frozen=True)
class QpSolution:
    """The result of a solve.

    Attributes
    ----------
    x : (d,) array
        The solution, or the last point if there is none.
    value : float
        Objective at x.
    multipliers : (m,) array
        One for each of ``program.rows``. If the program is infeasible they prove it (Farkas): they
        are non-negative on inequalities, ``rows' multipliers = 0`` and ``limits' multipliers > 0``.
    working : (k,) int array
        Active constraints at the end, as rows of ``program.rows``, for a warm start.
    status : QpStatus
    n_iter : int
        Changes of the working set, including the search for a feasible point.
    ray : (d,) array, optional
        If the program is unbounded: ``G ray = 0``, ``rows ray >= 0`` and ``c' ray < 0``.
    """

    x: FloatArray
    value: float
    multipliers: FloatArray = field(repr=False)
    working: IntArray = field(repr=False)
    status: QpStatus
    n_iter: int
    program: QuadraticProgram = field(repr=False)
    ray: FloatArray | None = field(default=None, repr=False)

    @property
    def converged(self) -> bool:
        """Whether x is optimal."""
        return self.status is QpStatus.OPTIMAL

    @cached_property
    def residual(self) -> KktResidual:
        """Violations of the optimality conditions by x and the multipliers."""
        return kkt_residual(self.program, self.x, self.multipliers)


@dataclass(frozen=True)
class _Scaled:
    """The program in units of its own: ``x = scale * z``, and constraints of length one in z.

    The multipliers of the program are those of the scaled rows divided by ``norm``.
    """

    G: FloatArray
    c: FloatArray
    A: FloatArray
    b: FloatArray
    n_equal: int
    norm: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, program: QuadraticProgram) -> _Scaled:
        scale = program.units
        A, b, norm = unit_rows(program.rows * scale, program.limits)
        return cls(program.scaled, program.c * scale, A, b, program.n_equal, norm, scale)

    def missed(self, x: FloatArray) -> FloatArray:
        """Violation of each constraint at x; violations within rounding error are 0."""
        return shortfall(self.A, self.b, self.n_equal, x)


@speaks_as("solve")
def solve(
    program: QuadraticProgram,
    *,
    start: QpSolution | Any = None,
    working: Any = None,
    max_iter: int | None = None,
) -> QpSolution:
    """Solve a convex quadratic program exactly, up to rounding error.

    A primal active-set method in the null space of the active constraints. G may be singular:
    directions without curvature are followed up to the next constraint. Cycling is prevented by
    Bland's rule. A feasible point is found by a linear program with one more variable, solved by
    the same method.

    Parameters
    ----------
    start : QpSolution or (d,) array, optional
        Starting point: the solution of a similar program is a warm start. By default the minimiser
        without constraints if G is positive definite, otherwise zero.
    working : ints, optional
        Rows of ``program.rows`` that are active at first; those of ``start`` by default.
    max_iter : int, optional
        Most changes of the working set; 20 per variable and constraint by default.

    Examples
    --------
    >>> import numpy as np
    >>> A = [[1, -2], [-1, -2], [-1, 2], [1, 0], [0, 1]]
    >>> program = QuadraticProgram(2 * np.eye(2), [-2, -5], A, [-2, -6, -2, 0, 0])
    >>> found = solve(program, start=[2.0, 0.0])
    >>> found.x.round(6), found.multipliers.round(6)
    (array([1.4, 1.7]), array([0.8, 0. , 0. , 0. , 0. ]))
    """
    d, m = program.size, program.limits.size
    most = STEPS_EACH * (d + m + 1)
    if max_iter is not None:
        most = check_int("max_iter", max_iter, low=1)
    if isinstance(start, QpSolution):
        working = start.working if working is None else working
        start = start.x
    x = program.lowest if start is None else check_vector("start", start, size=d)
    if d == 0:
        return _without_variables(program)
    rows = _Scaled.of(program)
    x = x / rows.scale
    held = _check_working(working, rows)
    # Phase 1: a feasible point, or multipliers that prove that there is none.
    strict = program.strictly_convex and start is None
    objective = _Quadratic(rows.G, rows.c) if strict else None
    first = _feasible(rows, x, held, most, objective)
    if first.multipliers is not None:
        proved = first.steps < most and float(rows.b @ first.multipliers) > 0.0
        status = QpStatus.INFEASIBLE if proved else QpStatus.MAX_ITER
        return _solution(program, rows, first.x, first.multipliers, first.working, status, first)
    # Phase 2: the active-set method from the feasible point.
    x, slots = first.x, np.zeros(max(d, first.working.size), dtype=np.int64)
    slots[: first.working.size] = first.working
    weight, before = np.zeros(d), x.copy()
    code, size, steps = active_set(
        rows.G, rows.c, rows.A, rows.b, rows.n_equal, x, slots, first.working.size, weight,
        most - first.steps, True,
    )  # fmt: skip
    done = _First(x, slots[:size], None, first.steps + steps)
    if code == UNBOUNDED:
        return _solution(program, rows, before, np.zeros(m), slots[:0], QpStatus.UNBOUNDED, done, x)
    multipliers = np.zeros(m)
    real = slots[:size] < m  # larger numbers are artificial constraints of the kernel
    multipliers[slots[:size][real]] = weight[:size][real]
    status = QpStatus.OPTIMAL if code == OPTIMAL else QpStatus.MAX_ITER
    return _solution(program, rows, x, multipliers, slots[:size][real], status, done)


def settled(solution: QpSolution) -> QpSolution:
    """The solution of a program that has one, with a warning if it is not optimal.

    Raises
    ------
    DataError
        If rounding errors make the program infeasible or unbounded.
    """
    advice = "Scale the columns, or drop columns that nearly depend on others."
    if solution.status is QpStatus.MAX_ITER:
        late = f"violated by {solution.residual.largest:.3g} after {solution.n_iter} steps"
        warn(ConvergenceWarning(does=f"leaves the optimality conditions {late}", todo=advice))
    elif solution.status is not QpStatus.OPTIMAL:
        status = solution.status.name.lower()
        raise DataError("columns of comparable sizes", got=f"an {status} program", todo=advice)
    return solution


def find_feasible(program: QuadraticProgram, *, start: Any = None) -> QpSolution:
    """A feasible point, or the proof that there is none.

    Minimises the largest constraint violation t over ``(x, t)``, a linear program; the objective of
    the program is not used.

    Examples
    --------
    >>> program = QuadraticProgram([[0.0]], [0.0], [[1.0], [-1.0]], [1.0, 0.0])
    >>> none = find_feasible(program)
    >>> none.status, none.multipliers
    (<QpStatus.INFEASIBLE: ...>, array([1., 1.]))
    """
    zero = QuadraticProgram(
        np.zeros_like(program.G), np.zeros(program.size), program.A, program.b,
        E=program.E, e=program.e, lower=program.lower, upper=program.upper,
    )  # fmt: skip
    return solve(zero, start=start)


class _Quadratic(NamedTuple):
    """The objective ``x'Gx/2 + c'x``."""

    G: FloatArray
    c: FloatArray

    def price(self, missed: FloatArray) -> float:
        """Penalty of a unit of constraint violation that usually outweighs the objective."""
        return PRICE * float(np.abs(self.c).max() + np.abs(self.G).max() * (1.0 + missed.max()))


@dataclass(frozen=True)
class _First:
    """A feasible point and its active rows, or multipliers that prove infeasibility."""

    x: FloatArray
    working: IntArray
    multipliers: FloatArray | None
    steps: int


def _feasible(
    rows: _Scaled, x: FloatArray, held: IntArray, most: int, objective: _Quadratic | None
) -> _First:
    """Phase 1: from x to a feasible point, or multipliers that prove that there is none.

    With a strictly convex objective the first attempt minimises the objective plus a penalty on the
    largest violation: it ends at the solution, in half the steps. If the penalty was too small, or
    no point is feasible, the linear program decides.
    """
    k = rows.n_equal
    if k:
        refusal = _meet_equations(rows, x)
        if refusal is not None:
            return _First(x, held[:0], refusal, 0)
    missed = rows.missed(x)
    missed[:k] = 0.0
    if not missed.any():
        slack = rows.A @ x - rows.b
        tight = np.abs(slack[held]) <= FEASIBLE * (1.0 + np.abs(rows.b[held]))
        return _First(x, np.concatenate((np.arange(k), held[tight])).astype(np.int64), None, 0)
    if objective is not None:
        first = _elastic(rows, x, missed, objective, objective.price(missed), most, False)
        if first.multipliers is None:
            return first
    nothing = _Quadratic(np.zeros((x.size, x.size)), np.zeros(x.size))
    return _elastic(rows, x, missed, nothing, 1.0, most, True)


def _elastic(
    rows: _Scaled,
    x: FloatArray,
    missed: FloatArray,
    objective: _Quadratic,
    price: float,
    most: int,
    refine: bool,
) -> _First:
    """Minimise the objective plus ``price`` times the largest violation t.

    Without an objective this is the linear program of phase 1, whose multipliers may prove
    infeasibility; ``refine`` then improves their accuracy.
    """
    k, m, d = rows.n_equal, rows.b.size, x.size
    G, c, A, b = with_shortfall(objective.G, objective.c, price, rows.A, rows.b, missed)
    slots, weight = np.zeros(max(d + 1, k), np.int64), np.zeros(d + 1)
    slots[:k] = np.arange(k)
    point = np.append(x, missed.max())
    code, size, steps = active_set(G, c, A, b, k, point, slots, k, weight, most, refine)
    x, slots, weight = point[:d].copy(), slots[:size], weight[:size]
    real = slots < m
    if code == OPTIMAL and not rows.missed(x)[k:].any():
        return _First(x, slots[real], None, steps)
    multipliers = np.zeros(m)
    # Rows with an entry for t were scaled by ROOT_HALF: scale their multipliers back.
    multipliers[slots[real]] = weight[real] * np.where(missed[slots[real]] > 0.0, ROOT_HALF, 1.0)
    return _First(x, slots[real], multipliers, steps if code == OPTIMAL else most)


def _meet_equations(rows: _Scaled, x: FloatArray) -> FloatArray | None:
    """Move x to the nearest point that satisfies the equations, in place.

    Returns multipliers that prove infeasibility if there is none, otherwise None.
    """
    k = rows.n_equal
    E, miss = rows.A[:k], rows.b[:k] - rows.A[:k] @ x
    if np.abs(miss).max() > 0.0:
        x += np.linalg.lstsq(E, miss, rcond=None)[0]
    left = rows.b[:k] - E @ x
    if not rows.missed(x)[:k].any():
        return None
    # The residual is orthogonal to the columns of E: E' left = 0 and e' left = |left|^2 > 0.
    multipliers = np.zeros(rows.b.size)
    multipliers[:k] = left / np.abs(left).max()
    return multipliers


def _check_working(working: Any, rows: _Scaled) -> IntArray:
    """The rows of a warm start without the equations, which are always active."""
    if working is None:
        return np.zeros(0, dtype=np.int64)
    chosen = np.asarray(working, dtype=np.int64).ravel()
    if chosen.size and (chosen.min() < 0 or chosen.max() >= rows.b.size):
        raise DataError(
            f"working rows among the {rows.b.size} constraints; got {chosen.min()} to "
            f"{chosen.max()}. Pass numbers of rows of the program."
        )
    room = rows.A.shape[1] - rows.n_equal
    held: IntArray = np.unique(chosen[chosen >= rows.n_equal])[: max(room, 0)]
    return held


def _solution(
    program: QuadraticProgram,
    rows: _Scaled,
    x: FloatArray,
    multipliers: FloatArray,
    working: IntArray,
    status: QpStatus,
    done: _First,
    ray: FloatArray | None = None,
) -> QpSolution:
    """The solution in the units of the program's variables and rows."""
    weight, x = multipliers / rows.norm, rows.scale * x
    return QpSolution(
        x=x,
        value=program.value(x),
        multipliers=weight,
        working=working,
        status=status,
        n_iter=done.steps,
        program=program,
        ray=None if ray is None else rows.scale * ray,
    )


def _without_variables(program: QuadraticProgram) -> QpSolution:
    """The answer for a program of no variables, whose rows are all ``0 >= limit``."""
    missed, k = program.limits.copy(), program.n_equal
    missed[k:] = np.maximum(missed[k:], 0.0)
    return QpSolution(
        x=np.zeros(0),
        value=0.0,
        multipliers=missed,
        working=np.zeros(0, dtype=np.int64),
        status=QpStatus.INFEASIBLE if missed.any() else QpStatus.OPTIMAL,
        n_iter=0,
        program=program,
    )
