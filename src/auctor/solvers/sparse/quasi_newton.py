"""Inexact proximal quasi-Newton with a prox parameter in place of a line search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.types import FloatArray
from auctor.problem import Point, Problem
from auctor.problem.needs import Need
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.matrices import Diagonal, LbfgsMatrix, Matrix
from auctor.solvers.sparse.models.lowrank import (
    Inner,
    ModelState,
    Subproblem,
    advance,
    budget,
    check_model,
    column_metric,
    curvature_along_gradient,
    descend,
    survey,
)
from auctor.solvers.sparse.proximal import feasible

#: Largest number of passes on an "exact" subproblem.
EXACT_PASSES = 100_000
#: Growth of the number of passes per outer iteration in the practical rule.
PRACTICAL_RATE = 1.0 / 3.0
#: Least entry of a diagonal matrix, as a share of the largest.
LEAST_DIAGONAL = 1e-10


def theoretical_steps(k: int, n: int, conditioning: float) -> float:
    """Coordinate steps at iteration k that keep the outer rate in expectation.

    ``k log(k) / log(1/a)``, where ``a = 1 - conditioning / (4 n)`` is the expected contraction of
    one random coordinate step on a model whose smallest over largest eigenvalue is
    ``conditioning``.

    Examples
    --------
    >>> round(theoretical_steps(10, 100, 0.1))
    92092
    """
    return k * math.log(k) / -math.log1p(-conditioning / (4.0 * n))


def loss_diagonal(problem: Problem, point: Point, pairs: LbfgsMatrix) -> FloatArray:
    """Diagonal of the loss's Hessian; the first L-BFGS matrix if the loss has no curvature."""
    if problem.loss.order >= 2:
        diagonal = problem.hessian(point).diagonal() - problem.ridge
        largest = float(diagonal.max())
        if 0.0 < largest < math.inf:
            return np.maximum(diagonal, LEAST_DIAGONAL * largest)[: pairs.metric.shape[0]]
    return pairs.theta * pairs.metric


@dataclass(frozen=True)
class ProximalQuasiNewtonState(ModelState):
    """`ModelState` with the ``scale`` and the ``extra`` diagonal of the last H."""

    scale: float = 1.0
    extra: float = 0.0


class Model(NamedTuple):
    """The matrix of an iteration, its first scale and prox parameter, and how these grow."""

    matrix: Matrix
    scale: float
    extra: float
    harder: Callable[[float, float], tuple[float, float]]


class LatestPairs:
    """The L-BFGS matrix of the latest pairs; its diagonal part grows after a failed test."""

    def pairs_kept(self, memory: int) -> int:
        """Number of pairs to store."""
        return memory

    def learns(self, solver: ProximalQuasiNewton, iteration: int) -> bool:
        """Whether the pair of an iteration is stored."""
        return True

    def exhausted(self, pairs: LbfgsMatrix) -> bool:
        """Whether there are no pairs left to clear after a failed step."""
        return not pairs.count

    def model(
        self, solver: ProximalQuasiNewton, problem: Problem, state: ProximalQuasiNewtonState
    ) -> Model:
        """The matrix of this iteration with its first scale and prox parameter."""
        growth = solver.growth
        return Model(
            state.pairs,
            1.0,
            solver.prox,
            lambda scale, extra: (scale, growth * (1.0 + extra) - 1.0),
        )


def _scaled(
    solver: ProximalQuasiNewton, state: ProximalQuasiNewtonState, matrix: Matrix, first: bool
) -> Model:
    """A matrix that is scaled as a whole, from the last scale divided by ``relax``."""
    growth, scale = solver.growth, 1.0 if first else state.scale / solver.relax
    return Model(matrix, scale, solver.prox, lambda scale, extra: (scale * growth, extra * growth))


class LossDiagonal(LatestPairs):
    """The diagonal of the loss's Hessian."""

    def pairs_kept(self, memory: int) -> int:
        """One: only the scale of the first matrix is used."""
        return 1

    def exhausted(self, pairs: LbfgsMatrix) -> bool:
        """Always: the matrix has no pairs to clear."""
        return True

    def model(
        self, solver: ProximalQuasiNewton, problem: Problem, state: ProximalQuasiNewtonState
    ) -> Model:
        """The diagonal of the loss's Hessian at the point."""
        matrix = Diagonal(loss_diagonal(problem, state.point, state.pairs))
        return _scaled(solver, state, matrix, state.iteration == 0)


class FixedPairs(LatestPairs):
    """The L-BFGS matrix at the end of the warm-up, fixed from then on."""

    def learns(self, solver: ProximalQuasiNewton, iteration: int) -> bool:
        """Whether the iteration is in the warm-up."""
        return iteration < solver.warmup

    def model(
        self, solver: ProximalQuasiNewton, problem: Problem, state: ProximalQuasiNewtonState
    ) -> Model:
        """The matrix of this iteration with its first scale and prox parameter.

        During the warm-up the current L-BFGS matrix; later the matrix at its end, times a scale.
        """
        if self.learns(solver, state.iteration):
            return super().model(solver, problem, state)
        return _scaled(solver, state, state.pairs, state.iteration == solver.warmup)


#: Rule for the matrix of the model, by the name that users type.
HESSIANS = {"lbfgs": LatestPairs(), "diagonal": LossDiagonal(), "fixed": FixedPairs()}


class Effort(NamedTuple):
    """Passes of coordinate descent by (solver, iteration, columns), and its order if fixed."""

    passes: Callable[[ProximalQuasiNewton, int, int], int]
    order: str | None = None


def _practical_passes(solver: ProximalQuasiNewton, k: int, n: int) -> int:
    return budget("linear", k, PRACTICAL_RATE)


def _theoretical_passes(solver: ProximalQuasiNewton, k: int, n: int) -> int:
    return max(1, math.ceil(theoretical_steps(k, n, solver.conditioning) / max(n, 1)))


#: Effort on an inexact subproblem, by the name that users type; the theory assumes random steps.
EFFORTS = {
    "practical": Effort(_practical_passes),
    "theoretical": Effort(_theoretical_passes, "iid"),
}


@dataclass(frozen=True)
class ProximalQuasiNewton:
    """Minimise a quadratic model plus the penalty; enlarge the model until the step is accepted.

    Two passes over the data per iteration (three with a diagonal), one more per backtrack;
    O(memory) per coordinate step. Coordinates that are optimal at a kink or bound are not in the
    model; nor is the intercept, which is minimised exactly at every point.

    Parameters
    ----------
    hessian : {"lbfgs", "diagonal", "fixed"}
        The matrix of the model: L-BFGS of the latest pairs; the diagonal of the loss's Hessian (the
        first L-BFGS matrix if the loss has no curvature); or the L-BFGS matrix after ``warmup``
        iterations, fixed.
    memory : int >= 1
        Number of pairs in memory.
    rho : float in (0, 1]
        Least share of the predicted decrease; 1 is the classical test.
    exact : bool
        Solve subproblems over all coordinates to rounding error, as the theory assumes.
    inner : {"practical", "theoretical"}
        Inexact subproblems get ``1 + k/3`` passes at iteration k, or the number of random
        coordinate steps that keeps the outer rate in expectation (far more).
    conditioning : float in (0, 1]
        Ratio of the model's extreme eigenvalues that the theoretical rule assumes.
    order : {"shuffled", "cyclic", "iid"}
        Order of the coordinates in a pass; the theoretical rule always uses "iid".
    prox : float >= 0
        First prox parameter of an iteration, in units of the matrix's own diagonal part.
    growth : float > 1
        Factor on the model after a failed test: on its diagonal part for "lbfgs", on the whole
        matrix for "diagonal" and "fixed".
    relax : float >= 1
        For "diagonal" and "fixed": divisor of the last iteration's scale, which gives the first
        scale of the next.
    warmup : int >= 1
        Iterations before the matrix of "fixed" is fixed.
    scaling : float in [0, 1]
        The L-BFGS matrix starts from the columns' second moments to this power; 0 is the published
        method.

    References
    ----------
    Scheinberg, Tang, Practical inexact proximal quasi-Newton method with global complexity
    analysis, 2016; Ghanbari, Scheinberg, Proximal quasi-Newton methods for regularized convex
    optimization with linear and accelerated sublinear convergence rates, 2018 (``rho`` is its
    ``eta``).

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.problem import Problem
    >>> from auctor.data import as_data
    >>> from auctor.losses import Squared
    >>> from auctor.penalties import L1
    >>> problem = Problem(Squared(), L1(0.25), as_data(np.eye(2), [1, 3]), fit_intercept=False)
    >>> minimise(problem, ProximalQuasiNewton(), tol=1e-9).coef.round(6)
    array([0.5, 2.5])
    """

    hessian: str = "lbfgs"
    memory: int = 10
    rho: float = 0.01
    exact: bool = False
    inner: str = "practical"
    conditioning: float = 0.1
    order: str = "shuffled"
    prox: float = 0.0
    growth: float = 2.0
    relax: float = 1.015
    warmup: int = 8
    scaling: float = 0.75

    needs = Need.SMOOTH_LOSS | Need.SEPARABLE_PENALTY

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_model(self.memory, self.order, self.scaling, rho=self.rho, growth=self.growth)
        check_choice("hessian", self.hessian, tuple(HESSIANS))
        check_choice("inner", self.inner, tuple(EFFORTS))
        check_real("conditioning", self.conditioning, low=0.0, high=1.0, open_low=True)
        check_real("prox", self.prox, low=0.0)
        check_real("relax", self.relax, low=1.0)
        check_int("warmup", self.warmup, low=1)

    @classmethod
    def examples(cls) -> list[ProximalQuasiNewton]:
        """Instances the conformance kit tests."""
        return [cls(), cls("diagonal"), cls("fixed", rho=1.0, exact=True)]

    def init(
        self, problem: Problem, w: FloatArray, rng: np.random.Generator
    ) -> ProximalQuasiNewtonState:
        """State at the starting point, with the curvature along the gradient as scale."""
        point = problem.with_best_intercept(feasible(problem, w))
        metric = column_metric(problem, self.scaling)
        theta = curvature_along_gradient(problem, point, metric)
        kept = self._rule.pairs_kept(self.memory)
        pairs = LbfgsMatrix(kept, problem.n_columns, theta, metric=metric)
        inner = Inner.seeded(rng, self._effort.order or self.order, exact=self.exact)
        return ProximalQuasiNewtonState(point, pairs, inner)

    def step(self, problem: Problem, state: ProximalQuasiNewtonState) -> ProximalQuasiNewtonState:
        """Minimise the model by coordinate descent, and test the step."""
        point, pairs, spec = state.point, state.pairs, spec_of(problem)
        # Quadratic model on the coordinates that may move.
        model = self._rule.model(self, problem, state)
        everything = np.arange(problem.n_columns)
        index = everything if self.exact else survey(point, spec).movable()
        passes = self.passes(state.iteration + 1, index.shape[0])
        done = descend(
            problem,
            point,
            Subproblem.at(point, model.matrix, spec, index),
            state.inner,
            passes=passes,
            rho=self.rho,
            scale=model.scale,
            extra=model.extra,
            harder=model.harder,
        )
        # No damping made the step acceptable: clear the pairs, or stop.
        if done is None:
            exhausted = self._rule.exhausted(pairs)
            pairs.clear()
            return replace(state, scale=1.0, stalled=exhausted)
        new = advance(problem, state, done, learn=self._rule.learns(self, state.iteration))
        return replace(new, free=index.shape[0], scale=done.scale, extra=done.extra)

    def passes(self, k: int, n: int) -> int:
        """Largest number of coordinate-descent passes over n columns at iteration k >= 1."""
        return EXACT_PASSES if self.exact else self._effort.passes(self, k, n)

    @cached_property
    def _rule(self) -> LatestPairs:
        return HESSIANS[self.hessian]

    @cached_property
    def _effort(self) -> Effort:
        return EFFORTS[self.inner]
