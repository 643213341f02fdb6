"""The solver of quadratic programs: a feasible point first, then the active-set kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_int, check_vector
from auctor.core.errors import DataError
from auctor.core.types import FloatArray, IntArray
from auctor.kernels.descent.active_set import OPTIMAL, UNBOUNDED, active_set
from auctor.kernels.descent.phase_one import FEASIBLE, shortfall, unit_rows, with_shortfall
from auctor.qp.program import KktResidual, QuadraticProgram, kkt_residual

#: Changes of the working set allowed for each variable and constraint. Active-set methods usually
#: need fewer than two; the worst case is exponential.
STEPS_EACH = 20
#: Price of a unit of shortfall, in units of the objective's gradient. It must exceed the sum of the
#: multipliers; where it does not, the linear program of phase 1 is solved too.
PRICE = 1e3

#: Factor of a row that is divided by its length after one more entry as long as the row.
ROOT_HALF = 0.5**0.5


class QpStatus(Enum):
    """How a solve ended; the value is the sentence a user reads."""

    OPTIMAL = "The point satisfies the conditions of optimality."
    INFEASIBLE = "No point satisfies all constraints; the multipliers prove it."
    UNBOUNDED = "The objective falls without end along the ray."
    MAX_ITER = "The steps ran out before the optimum was reached."


@dataclass(frozen=True)
class QpSolution:
    """The outcome of a solve.

    Attributes
    ----------
    x : (d,) array
        The solution; where there is none, the last point.
    value : float
        Objective at x.
    multipliers : (m,) array
        One for each of ``program.rows``. Where the program is infeasible they prove it (Farkas):
        they are non-negative on inequalities, ``rows' multipliers = 0`` and
        ``limits' multipliers > 0``.
    working : (k,) int array
        Rows that were equations at the end; a warm start takes them.
    status : QpStatus
    n_iter : int
        Changes of the working set, those of the search for a feasible point included.
    ray : (d,) array, optional
        Where the program is unbounded: ``G ray = 0``, ``rows ray >= 0`` and ``c' ray < 0``.
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
        """How far x and the multipliers are from the conditions of optimality."""
        return kkt_residual(self.program, self.x, self.multipliers)


@dataclass(frozen=True)
class _Rows:
    """The constraints with rows of length one; ``norm`` turns multipliers back."""

    A: FloatArray
    b: FloatArray
    norm: FloatArray
    n_equal: int

    @classmethod
    def of(cls, program: QuadraticProgram) -> _Rows:
        A, b, norm = unit_rows(program.rows, program.limits)
        return cls(A, b, norm, program.n_equal)

    def missed(self, x: FloatArray) -> FloatArray:
        """By how much each constraint is missed at x, 0 where by no more than rounding."""
        return shortfall(self.A, self.b, self.n_equal, x)


def solve(
    program: QuadraticProgram,
    *,
    start: QpSolution | Any = None,
    working: Any = None,
    max_iter: int | None = None,
) -> QpSolution:
    """Solve a convex quadratic program exactly, up to rounding.

    A primal active-set method in the null space of the working constraints. It needs no positive
    definite G: directions without curvature are followed until a constraint ends them. Cycling is
    prevented by Bland's rule. A point that satisfies the constraints is found by a linear program
    with one more variable, solved by the same method.

    Parameters
    ----------
    program : QuadraticProgram
    start : QpSolution or (d,) array, optional
        Where to begin: the solution of a similar program is a warm start. By default the minimum
        without constraints, where G is positive definite, or zero.
    working : ints, optional
        Rows of ``program.rows`` to treat as equations at first; those of ``start`` by default.
    max_iter : int, optional
        Changes of the working set allowed; 20 for each variable and constraint by default.

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
        most = check_int("solve", "max_iter", max_iter, low=1)
    if isinstance(start, QpSolution):
        working = start.working if working is None else working
        start = start.x
    x = program.lowest if start is None else check_vector("solve", "start", start, size=d)
    x = x.copy()
    rows = _Rows.of(program)
    held = _check_working(working, rows)
    strict = program.strictly_convex and start is None
    objective = _Quadratic(program.G, program.c) if strict else None
    first = _feasible(rows, x, held, most, objective)
    if first.multipliers is not None:
        proved = first.steps < most and float(rows.b @ first.multipliers) > 0.0
        status = QpStatus.INFEASIBLE if proved else QpStatus.MAX_ITER
        return _solution(program, rows, first.x, first.multipliers, first.working, status, first)
    x, slots = first.x, np.zeros(max(d, first.working.size), dtype=np.int64)
    slots[: first.working.size] = first.working
    weight, before = np.zeros(d), x.copy()
    code, size, steps = active_set(
        program.G, program.c, rows.A, rows.b, rows.n_equal, x, slots, first.working.size, weight,
        most - first.steps, True,
    )  # fmt: skip
    done = _First(x, slots[:size], None, first.steps + steps)
    if code == UNBOUNDED:
        return _solution(program, rows, before, np.zeros(m), slots[:0], QpStatus.UNBOUNDED, done, x)
    multipliers = np.zeros(m)
    real = slots[:size] < m
    multipliers[slots[:size][real]] = weight[:size][real]
    status = QpStatus.OPTIMAL if code == OPTIMAL else QpStatus.MAX_ITER
    return _solution(program, rows, x, multipliers, slots[:size][real], status, done)


def find_feasible(program: QuadraticProgram, *, start: Any = None) -> QpSolution:
    """A point that satisfies the constraints, or the proof that there is none.

    Minimises the largest shortfall t over ``(x, t)``, a linear program. The objective of the
    program itself plays no part.

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
        """A price of the shortfall that outweighs the objective."""
        return PRICE * float(np.abs(self.c).max() + np.abs(self.G).max() * (1.0 + missed.max()))


@dataclass(frozen=True)
class _First:
    """A feasible point, its working rows, and multipliers where there is no such point."""

    x: FloatArray
    working: IntArray
    multipliers: FloatArray | None
    steps: int


def _feasible(
    rows: _Rows, x: FloatArray, held: IntArray, most: int, objective: _Quadratic | None
) -> _First:
    """Phase 1: from x to a point that misses no row, with multipliers where there is none.

    With a strictly convex objective the first attempt charges a high price for the shortfall
    beside it: it then ends at the solution, in half the steps. If the price was too low, or no
    point is feasible, the linear program decides.
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
    rows: _Rows,
    x: FloatArray,
    missed: FloatArray,
    objective: _Quadratic,
    price: float,
    most: int,
    refine: bool,
) -> _First:
    """Minimise the objective plus the shortfall t at a price.

    With no objective this is the linear program of phase 1, whose multipliers may be a proof, so
    that they are worth a second look (``refine``).
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
    # A row that was shortened for its t has a multiplier that is longer by as much.
    multipliers[slots[real]] = weight[real] * np.where(missed[slots[real]] > 0.0, ROOT_HALF, 1.0)
    return _First(x, slots[real], multipliers, steps if code == OPTIMAL else most)


def _meet_equations(rows: _Rows, x: FloatArray) -> FloatArray | None:
    """Move x to the nearest point of the equations, in place; multipliers where there is none."""
    k = rows.n_equal
    E, miss = rows.A[:k], rows.b[:k] - rows.A[:k] @ x
    if np.abs(miss).max() > 0.0:
        x += np.linalg.lstsq(E, miss, rcond=None)[0]
    left = rows.b[:k] - E @ x
    if not rows.missed(x)[:k].any():
        return None
    # What is left is orthogonal to the columns of E: E' left = 0 and e' left = |left|^2 > 0.
    multipliers = np.zeros(rows.b.size)
    multipliers[:k] = left / np.abs(left).max()
    return multipliers


def _check_working(working: Any, rows: _Rows) -> IntArray:
    """Rows to begin with, the equations left out: they always take part."""
    if working is None:
        return np.zeros(0, dtype=np.int64)
    chosen = np.asarray(working, dtype=np.int64).ravel()
    if chosen.size and (chosen.min() < 0 or chosen.max() >= rows.b.size):
        raise DataError(
            "solve",
            needs=f"working rows among the {rows.b.size} constraints",
            got=f"{chosen.min()} to {chosen.max()}",
            todo="Pass numbers of rows of the program.",
        )
    room = rows.A.shape[1] - rows.n_equal
    held: IntArray = np.unique(chosen[chosen >= rows.n_equal])[: max(room, 0)]
    return held


def _solution(
    program: QuadraticProgram,
    rows: _Rows,
    x: FloatArray,
    multipliers: FloatArray,
    working: IntArray,
    status: QpStatus,
    done: _First,
    ray: FloatArray | None = None,
) -> QpSolution:
    """Everything in the units of the program, the residual recomputed."""
    weight = multipliers / rows.norm
    return QpSolution(
        x=x,
        value=program.value(x),
        multipliers=weight,
        working=working,
        status=status,
        n_iter=done.steps,
        program=program,
        ray=ray,
    )
