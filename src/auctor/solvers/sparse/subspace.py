"""Newton's method on the nonzero groups of a penalty on nested groups: tree norms, groups, l1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.linalg import floored
from auctor.core.types import Array, FloatArray, IntArray, TreeSpec
from auctor.kernels.penalties import trees as kernels
from auctor.problem import Point, Problem
from auctor.problem.equivalent import column_problem
from auctor.problem.needs import Need
from auctor.solvers.base import State, tree_of
from auctor.solvers.line_search import first_accepted, polishes, violations
from auctor.solvers.smooth.conjugate import truncated_cg
from auctor.solvers.sparse.proximal import first_proximal_step, first_step
from auctor.solvers.sparse.screening import worst_violators

#: Columns of the working set, as a multiple of the nonzero ones.
GROWTH = 1.5
#: Share of all columns above which the working set is not copied: all columns are taken.
WHOLE = 0.7
#: Relative tolerance of the conjugate gradients.
RESIDUAL = 0.2
#: Accuracy on the working set below which a failed step means that the solver has stalled.
FINEST_FRACTION = 1e-6
#: Factor on that accuracy after a failed step.
FRACTION_DECREASE = 0.1
#: Factor on the damping after a full Newton step; its inverse after any other.
DAMPING_DECREASE = 0.25
#: Damping after the first shortened Newton step, in [0, 1].
FIRST_DAMPING = 0.25
#: Damping below which it becomes 0.
LEAST_DAMPING = 0.01
#: Largest factor between the step sizes of two proximal steps.
LONGER_STEP = 4.0
#: Trial lengths of a Newton step.
LENGTHS = (1.0, 0.5, 0.2, 0.05)


class StepControl(NamedTuple):
    """The step size of proximal steps, and the damping of Newton steps, in [0, 1]."""

    length: float
    damping: float = 0.0


@dataclass(frozen=True)
class SubspaceState(State):
    """The point, the step control, and the relative accuracy on the working set."""

    control: StepControl
    fraction: float


@dataclass(frozen=True)
class WorkingProblem:
    """The problem restricted to the columns of a working set; the others are 0."""

    problem: Problem
    spec: TreeSpec
    chosen: IntArray

    def enter(self, point: Point) -> Point:
        """The restriction of a point whose other coefficients are 0."""
        last = point.w.shape[0] - point.problem.n_columns
        keep = np.append(self.chosen, point.problem.n_columns + np.arange(last))
        return point.in_problem(self.problem, point.w[keep], point.gradient[keep])

    def leave(self, problem: Problem, inside: Point) -> Point:
        """The point of the whole problem, with zeros for the other columns."""
        coef = np.zeros(problem.n_columns)
        coef[self.chosen] = self.problem.coef(inside.w)
        w = problem.join(coef, self.problem.intercept(inside.w))
        return inside.in_problem(problem, w)


@dataclass(frozen=True)
class SubspaceNewton:
    """Proximal steps find the nonzero groups, Newton steps move the columns in them.

    A norm of nested groups is smooth at points with nonzero groups; l1 has groups of one column.
    Each inner iteration takes one proximal step, exact for the whole tree, and then minimises the
    quadratic model of loss and penalty over the columns whose groups are nonzero, by conjugate
    gradients; groups whose direction the step would reverse are set to 0. All this happens on a
    working set: the nonzero columns, those that violate optimality most, and the groups that
    contain them. One pass over all data per step gives the next working set and the certificate.

    Parameters
    ----------
    fraction : float in (0, 1)
        Largest ratio of the violations of optimality on the working set after and before a step.
    max_moves : int
        Largest number of inner iterations per step.
    max_products : int
        Largest number of conjugate-gradient iterations per Newton step.
    fewest : int
        Least number of columns in the working set, which holds 1.5 times the nonzero ones.

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach, Proximal methods for hierarchical sparse coding, 2011;
    Curtis, Dai, Robinson, A subspace acceleration method for minimization involving a group
    sparsity-inducing regularizer, 2022.
    """

    fraction: float = 0.1
    max_moves: int = 20
    max_products: int = 40
    fewest: int = 200

    needs = Need.SMOOTH_LOSS | Need.CURVATURE | Need.TREE_PENALTY | Need.COLUMN_SUBSETS

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("fraction", self.fraction, low=0.0, high=1.0, open_low=True, open_high=True)
        for name in ("max_moves", "max_products", "fewest"):
            check_int(name, getattr(self, name), low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> SubspaceState:
        """State at the starting point."""
        point = problem.with_best_intercept(problem.evaluate(w))
        return SubspaceState(point, StepControl(first_step(problem, point)), self.fraction)

    def step(self, problem: Problem, state: SubspaceState) -> SubspaceState:
        """Choose a working set and minimise over it."""
        point, control = state.point, state.control
        violation = violations(point)
        if not violation.any():
            return replace(state, stalled=True)
        # Working set.
        part = self._part(problem, point, violation)
        # Moves on the working set until its violation has fallen far enough.
        x = start = part.enter(point)
        now = float(np.linalg.norm(violation[part.chosen]))
        accuracy = state.fraction * now
        # If the part is the whole problem, one move per step: each then gets a certificate.
        for _ in range(self.max_moves if part.problem is not problem else 1):
            new, control = self._move(part, x, control)
            left = float(np.linalg.norm(violations(new)))
            if new.value >= x.value and left >= now:
                break
            x, now = new, left
            if left <= accuracy:
                break
        # Work on the smaller problem, in passes over all data.
        part_counts, total = part.problem.counts, problem.counts
        if part_counts is not total:
            share = part.problem.n_entries / max(1, problem.n_entries)
            total.passes += share * part_counts.passes
            total.evaluations += part_counts.evaluations
        # No progress: solve the next working set more accurately, or stop.
        if x is start:
            tight = state.fraction < FINEST_FRACTION
            fraction = FRACTION_DECREASE * state.fraction
            return replace(state, control=control, fraction=fraction, stalled=tight)
        return SubspaceState(
            problem.with_best_intercept(part.leave(problem, x)), control, self.fraction
        )

    def _part(self, problem: Problem, point: Point, violation: FloatArray) -> WorkingProblem:
        """The problem on the nonzero columns and the worst violators of the others."""
        spec = tree_of(problem)
        # Nonzero columns, and the worst violators of the others, up to a limit.
        inside = problem.coef(point.w) != 0.0
        count = int(inside.sum())
        limit = max(self.fewest, int(GROWTH * count)) - count
        inside[worst_violators(violation, inside, limit)] = True
        if inside.sum() > WHOLE * problem.n_columns:
            return WorkingProblem(problem, spec, np.arange(problem.n_columns))
        columns, smaller = subtree(spec, inside)
        return WorkingProblem(column_problem(problem, columns, smaller), smaller, columns)

    def _move(
        self, part: WorkingProblem, x: Point, control: StepControl
    ) -> tuple[Point, StepControl]:
        """A Newton step, after a proximal step if a zero group violates optimality."""
        local = LocalPenalty.at(part, x)
        # No zero group violates optimality: a Newton step alone may do.
        if not violations(x)[~local.smooth].any():
            new, damping = self._newton(part, local, control.damping)
            control = StepControl(control.length, damping)
            if new is not x:
                return new, control
        y, length = proximal(x, control.length)
        new, damping = self._newton(part, LocalPenalty.at(part, y), control.damping)
        return new, StepControl(length, damping)

    def _newton(
        self, part: WorkingProblem, local: LocalPenalty, damping: float
    ) -> tuple[Point, float]:
        """First length of a Newton step that decreases the objective, and the next damping."""
        problem, spec, y = part.problem, part.spec, local.point
        coef, d = problem.coef(y.w), problem.n_columns
        hessian = problem.hessian(y)
        where = problem.join(local.smooth.astype(np.float64), 1.0)  # 1 for columns that may move
        # The penalty weight |w_g| has gradient (weight/norm) w and Hessian
        # weight/norm I - weight/norm^3 w w'; damping in [0, 1] reduces the negative term.
        gradient, diagonal = y.gradient + problem.ridge * y.w, hessian.diagonal()
        gradient[:d] += local.pull[:d] * coef
        diagonal[:d] += local.pull[:d] - (1.0 - damping) * local.flat[:d] * coef * coef
        inverse = where / floored(diagonal)

        def product(v: FloatArray) -> FloatArray:
            out = hessian.matvec(v)
            kernels.tree_hessian_product(coef, v, *spec, local.norm, local.pull, damping, out)
            return out * where

        # Descent direction.
        solution = truncated_cg(
            product,
            gradient * where,
            lambda v: inverse * v,
            rtol=RESIDUAL,
            max_iter=self.max_products,
        )
        if not solution.step.any():
            return y, damping
        # Step size, with the groups that the step reverses set to zero.
        moved = problem.score_change(solution.step)
        less = DAMPING_DECREASE * damping if damping > LEAST_DAMPING else 0.0
        more = min(1.0, max(damping / DAMPING_DECREASE, FIRST_DAMPING))

        def trial(size: float) -> Point:
            w = y.w + size * solution.step
            before = problem.coef(w).copy()
            kernels.zero_reversed_groups(coef, problem.coef(w), *spec)  # in place
            same = np.array_equal(before, problem.coef(w))
            return problem.evaluate(w, scores=y.scores + size * moved if same else None)

        accepted = first_accepted(
            trial, lambda size, new: new.value < y.value or polishes(new, y), LENGTHS
        )
        if accepted is None:
            return y, more
        size, new = accepted
        return new, less if size == 1.0 else more


@dataclass(frozen=True)
class LocalPenalty:
    """The penalty around a point, per node of the tree.

    ``norm`` is the norm of a group, ``pull`` and ``flat`` are the sums of ``weight/norm`` and
    ``weight/norm^3`` over the groups that contain it; ``smooth`` says for every column whether
    all its groups are nonzero.
    """

    point: Point
    norm: FloatArray
    pull: FloatArray
    flat: FloatArray
    smooth: Array

    @classmethod
    def at(cls, part: WorkingProblem, point: Point) -> LocalPenalty:
        """Evaluate the penalty of a part at a point."""
        d, m = part.problem.n_columns, part.spec.weight.shape[0]
        norm, pull, flat = np.empty(m + 1), np.empty(m + 1), np.empty(m + 1)
        smooth = np.empty(m + 1, dtype=bool)
        kernels.tree_derivatives(part.problem.coef(point.w), *part.spec, norm, pull, flat, smooth)
        return cls(point, norm, pull, flat, smooth[:d])


def proximal(x: Point, length: float) -> tuple[Point, float]:
    """A backtracked proximal step, and the step size to try next."""
    accepted_step = first_proximal_step(x, length)
    if accepted_step is None:
        return x, length
    length, y = accepted_step
    # Barzilai-Borwein step |d|^2 / d.dg, between one and four times the last.
    change = y.w - x.w
    curve = float(change @ (y.gradient - x.gradient))
    fit = float(change @ change) / curve if curve > 0.0 else np.inf
    return y, float(np.clip(fit, length, LONGER_STEP * length))


def subtree(spec: TreeSpec, inside: Array) -> tuple[IntArray, TreeSpec]:
    """The columns in ``inside``, and the tree of these columns and their ancestors.

    An ancestor that holds a column outside stays as a node without that column.
    """
    d, m = inside.shape[0], spec.weight.shape[0]
    kept = np.zeros(m + 1, dtype=bool)
    kept[:d] = inside
    kernels.tree_above(spec.parent, spec.order, kept)
    columns = np.flatnonzero(inside)
    others = np.flatnonzero(kept[:m] & ~np.append(inside, np.zeros(m - d, dtype=bool)))
    # Renumber the kept nodes: chosen columns first, then their ancestors; slot m is the root.
    nodes = np.concatenate((columns, others))
    slot = np.full(m + 1, nodes.size, dtype=np.uint32)
    slot[nodes] = np.arange(nodes.size)
    slot[m] = nodes.size
    order = spec.order[kept[spec.order]]
    return columns, TreeSpec(slot[spec.parent[nodes]], slot[order], spec.weight[nodes])
