"""LHAC: low-rank Hessian approximation in active-set coordinate descent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self, TypeAlias

import numpy as np

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.rng import is_kernel_state
from auctor.core.types import Array, FloatArray
from auctor.kernels.descent.lowrank import GROWING, SHRINKING
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import spec_of
from auctor.solvers.lbfgs import Pairs
from auctor.solvers.sparse.matrices import LbfgsMatrix
from auctor.solvers.sparse.models.lowrank import (
    BUDGETS,
    Inner,
    Model,
    ModelState,
    Subproblem,
    Survey,
    advance,
    budget,
    check_model,
    column_metric,
    curvature_along_gradient,
    descend,
    survey,
)
from auctor.solvers.sparse.proximal import feasible

#: Number of shrinking coordinates below which the greedy set takes all coordinates.
FEW = 10
#: Ratio of growing to shrinking coordinates up to which the greedy set takes all coordinates.
IMBALANCE = 2.0
#: Least share of the growing coordinates in the greedy set.
SHARE = 0.5
#: Consecutive greedy iterations after which an iteration takes all coordinates.
STREAK = 5
#: Consecutive steps accepted at the first trial after which the scale of the matrix shrinks.
ACCEPTED_STEPS = 20
#: Factor on the matrix scale per step, after `ACCEPTED_STEPS` accepted steps in a row.
SCALE_DECREASE = 0.8
#: Smallest scale, as a share of its first value.
LEAST_SCALE = 1.0 / 30.0
#: Relative decrease below which a step does not count as accepted at the first trial.
CLEAR_DECREASE = 1e-11
#: Zeros that violate, below which "largest" leaves none out, as in the author's code.
MANY_ZEROS = 100

#: From the survey of a point, its weights and the l1 strengths: the free coordinates, and whether
#: the rule left out some that may move.
ActiveSet: TypeAlias = Callable[[Survey, FloatArray, FloatArray], tuple[Array, bool]]


@dataclass(frozen=True)
class LhacState(ModelState):
    """`ModelState` with the factor ``shrink`` on the scale of the matrix, and two counters.

    ``streak`` counts greedy iterations since a full one, ``calm`` steps since a backtrack.
    """

    shrink: float = 1.0
    streak: int = 0
    calm: int = 0

    def learned(self) -> Pairs:
        """The pairs in memory, their scale, the counters and the state of the random numbers."""
        return replace(
            self.pairs.learned(),
            shrink=self.shrink,
            iteration=self.iteration,
            streak=self.streak,
            calm=self.calm,
            random=self.inner.state.copy(),
        )

    def resumed(self, learned: object) -> Self:
        """The state with what an earlier solve has learned, if it fits."""
        if not isinstance(learned, Pairs):
            return self
        # The fresh shrink is the largest.
        shrink = min(max(learned.shrink, LEAST_SCALE * self.shrink), self.shrink)
        if not self.pairs.recall(learned, shrink=shrink):
            return self
        if is_kernel_state(learned.random, self.inner.state.shape[0]):
            self.inner.state[:] = learned.random
        return replace(
            self,
            shrink=shrink,
            iteration=max(learned.iteration, 0),
            streak=max(learned.streak, 0),
            calm=max(learned.calm, 0),
        )


@dataclass(frozen=True)
class Lhac:
    """Proximal quasi-Newton with coordinate descent on the L-BFGS model of a free set.

    Each iteration picks coordinates that may move, minimises the compact L-BFGS model plus the
    penalty over them by a few passes of coordinate descent, at O(memory) per coordinate, and
    enlarges the model's diagonal until the objective falls enough. It needs no second derivatives
    of the loss, so it fits any smooth loss with any separable penalty. The intercept is not in the
    model; it is minimised exactly at every point. Two passes over the data per iteration, one more
    per backtrack; memory ``(6 memory + O(1)) p`` numbers.

    Parameters
    ----------
    memory : int >= 1
        Number of pairs in memory.
    rho : float in (0, 1]
        Least share of the predicted decrease; small values accept long steps.
    active_set : str
        "standard" takes every coordinate that is not optimal at a kink or bound. "greedy", while
        many more coordinates grow than shrink, takes the shrinking ones and the growing ones with
        the largest subgradient, at least half of them. The others of Tang's Table 5.3 are for
        comparisons: "sorted" takes all by falling violation (which ``order="cyclic"`` follows),
        "largest" the largest violations, as many as coordinates are not zero, and "clear",
        "clear_sorted" and "coarse" leave out zeros that violate by less than 0.01, 0.01 and 0.5 of
        their l1 strength. Sets that leave some out take all of them every sixth iteration.
    inner : {"linear", "log", "constant"}
        Passes at iteration k: ``1 + rate k``, ``1 + rate log k``, or ``rate``.
    inner_rate : float > 0
        The ``rate`` of ``inner``.
    order : {"shuffled", "cyclic", "iid"}
        Order of the coordinates in a pass.
    theta_shrink : float in (0, 1]
        Factor on the L-BFGS scale ``t't / s't``; below 1 steps are longer. It falls, down to a
        thirtieth, while steps are accepted at the first trial, and rises again after others.
    prox : float >= 0
        Prox parameter added to the diagonal at the start of every iteration, in units of the
        matrix's own diagonal part, so that the unit of the loss does not matter.
    growth : float > 1
        Factor on the diagonal part after a failed test.
    scaling : float in [0, 1]
        The L-BFGS matrix starts from the columns' second moments to this power; 0 is the published
        method, which is slow if columns differ in scale.

    References
    ----------
    Scheinberg, Tang, Practical inexact proximal quasi-Newton method with global complexity
    analysis, 2016; Tang, Big data optimization in machine learning, Lehigh 2016, chapter 5. The
    algorithm as printed there never leaves w = 0 and assumes a sum of losses; both are corrected
    here.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.problem import Problem
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseHinge
    >>> from auctor.penalties import L1
    >>> X = np.random.default_rng(0).normal(size=(80, 30))
    >>> problem = Problem(PairwiseHinge(0.5), L1(0.3), as_data(X, np.where(X[:, 3] > 0, 1, -1)))
    >>> np.flatnonzero(minimise(problem, Lhac(), tol=1e-6).coef)
    array([3])
    """

    memory: int = 10
    rho: float = 0.01
    active_set: str = "greedy"
    inner: str = "linear"
    inner_rate: float = 0.2
    order: str = "shuffled"
    theta_shrink: float = 0.3
    prox: float = 0.0
    growth: float = 2.0
    scaling: float = 0.75

    needs = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_model(self.memory, self.order, self.scaling, rho=self.rho, growth=self.growth)
        check_choice("active_set", self.active_set, tuple(ACTIVE_SETS))
        check_choice("inner", self.inner, tuple(BUDGETS))
        check_real("inner_rate", self.inner_rate, low=0.0, open_low=True)
        check_real("theta_shrink", self.theta_shrink, low=0.0, high=1.0, open_low=True)
        check_real("prox", self.prox, low=0.0)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> LhacState:
        """State at the starting point, with the curvature along the gradient as scale."""
        point = problem.with_best_intercept(feasible(problem, w))
        metric = column_metric(problem, self.scaling)
        theta = curvature_along_gradient(problem, point, metric)
        pairs = LbfgsMatrix(self.memory, problem.n_columns, theta, metric=metric)
        inner = Inner.seeded(rng, self.order)
        return LhacState(point, pairs, inner, shrink=self.theta_shrink)

    def step(self, problem: Problem, state: LhacState) -> LhacState:
        """Choose the free coordinates, minimise the model over them, and test the step."""
        point, pairs, k = state.point, state.pairs, state.iteration + 1
        # Working set, and the model of the loss on it.
        index, greedy = self._free_set(state)
        model = self._model(point, pairs, index)
        # Descent direction and step size: a model that fails is made harder.
        done = descend(
            problem,
            point,
            model,
            state.inner,
            passes=budget(self.inner, k, self.inner_rate),
            rho=self.rho,
            extra=self.prox,
            harder=lambda scale, extra: (scale, self.growth * (1.0 + extra) - 1.0),
        )
        if done is None:
            # No step on this model: clear the pairs, and take all coordinates next time.
            exhausted = not pairs.count and not greedy
            pairs.clear()
            return replace(state, streak=STREAK, stalled=exhausted)
        # Scale of the next model.
        streak = state.streak + 1 if greedy else 0
        # Only clear decreases count: tiny ones may pass the test by rounding.
        clear = point.value - done.point.value > CLEAR_DECREASE * abs(point.value)
        calm = state.calm + 1 if done.trials == 1 and clear else 0
        shrink = self._shrink(state.shrink, calm)
        new = advance(problem, state, done, shrink=shrink)
        return replace(new, shrink=shrink, streak=streak, calm=calm, free=index.shape[0])

    def _shrink(self, shrink: float, calm: int) -> float:
        """The next factor on the scale, after ``calm`` steps without a backtrack."""
        if calm == 0:
            # Factor on the scale after a step that needed several trials.
            return min(2.0 * shrink, self.theta_shrink)
        if calm < ACCEPTED_STEPS:
            return shrink
        return max(SCALE_DECREASE * shrink, LEAST_SCALE * self.theta_shrink)

    def _free_set(self, state: LhacState) -> tuple[Array, bool]:
        """Coordinates that may move, and whether the greedy rule left some out."""
        seen = self._survey(state.point)
        free, left_out = self._rule(*seen)
        if left_out and (state.streak >= STREAK or not free.size):
            return standard_set(*seen)
        return free, left_out

    def _survey(self, point: Point) -> tuple[Survey, FloatArray, FloatArray]:
        """The kinds of the coordinates, their weights and l1 strengths."""
        spec = spec_of(point.problem)
        return survey(point, spec), point.problem.coef(point.w), spec.l1

    def _model(self, point: Point, pairs: LbfgsMatrix, free: Array) -> Model:
        """The model on the free coordinates."""
        return Subproblem.at(point, pairs, spec_of(point.problem), free)

    @cached_property
    def _rule(self) -> ActiveSet:
        return ACTIVE_SETS[self.active_set]


def standard_set(seen: Survey, w: FloatArray, l1: FloatArray) -> tuple[Array, bool]:
    """Every coordinate that is not optimal at a kink or bound; none is left out."""
    return seen.movable(), False


def greedy_set(seen: Survey, w: FloatArray, l1: FloatArray) -> tuple[Array, bool]:
    """Shrinking coordinates and the growing ones with the largest subgradients.

    All coordinates if that would leave out few, or if few coordinates shrink.
    """
    growing, shrinking = seen.kind == GROWING, seen.kind == SHRINKING
    n_growing, n_shrinking = int(growing.sum()), int(shrinking.sum())
    if n_shrinking < FEW or n_growing <= IMBALANCE * n_shrinking:
        return seen.movable(), False
    candidates = np.flatnonzero(growing)
    # At least as many growing coordinates as shrinking ones.
    pick = max(n_shrinking, math.ceil(SHARE * n_growing))
    order = np.argpartition(-np.abs(seen.steepest[candidates]), pick - 1)[:pick]
    working = shrinking.copy()
    working[candidates[order]] = True
    return np.flatnonzero(working), True


def by_violation(seen: Survey, index: Array) -> Array:
    """The coordinates by falling violation."""
    order: Array = index[np.argsort(-np.abs(seen.steepest[index]), kind="stable")]
    return order


def sorted_set(seen: Survey, w: FloatArray, l1: FloatArray) -> tuple[Array, bool]:
    """All coordinates that may move, by falling violation."""
    return by_violation(seen, seen.movable()), False


def largest_set(seen: Survey, w: FloatArray, l1: FloatArray) -> tuple[Array, bool]:
    """The largest violations, as many as coordinates are not zero; all if few zeros violate."""
    free = by_violation(seen, seen.movable())
    count = int(np.count_nonzero(w[free]))
    return (free[:count], True) if free.size - count >= MANY_ZEROS else (free, False)


def clear_set(
    seen: Survey, w: FloatArray, l1: FloatArray, *, share: float = 0.01, ordered: bool = False
) -> tuple[Array, bool]:
    """All but the zeros whose gradient exceeds the l1 strength by less than a share of it."""
    movable = seen.movable()
    kept = (w[movable] != 0.0) | (np.abs(seen.steepest[movable]) > share * l1[movable])
    free = movable[kept]
    return by_violation(seen, free) if ordered else free, free.size < movable.size


#: Rule for the coordinates that may move, by the name that users type; in Tang's table GRDY-AD,
#: STD, GRDY, GRDY-CTZ, STD-EP, GRDY-EP and STD-EPA.
ACTIVE_SETS: dict[str, ActiveSet] = {
    "greedy": greedy_set,
    "standard": standard_set,
    "sorted": sorted_set,
    "largest": largest_set,
    "clear": clear_set,
    "clear_sorted": partial(clear_set, ordered=True),
    "coarse": partial(clear_set, share=0.5),
}
