"""LHAC for penalties on groups of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.types import Array, BlockSpec, FloatArray
from auctor.kernels.descent.lowrank import GROWING, PINNED, SHRINKING, model_change
from auctor.lab.kernels.lowrank_blocks import block_bounds, block_sweeps
from auctor.problem import Point
from auctor.problem.needs import Need
from auctor.solvers.base import blocks_of
from auctor.solvers.line_search import violations
from auctor.solvers.sparse.lhac import Lhac
from auctor.solvers.sparse.matrices import LbfgsMatrix, Restricted
from auctor.solvers.sparse.models.lowrank import Inner, Model, ModelStep, Survey


@dataclass(frozen=True)
class GroupLhac(Lhac):
    """`Lhac` for the group lasso: whole groups are free, and move together.

    The active sets are those of `Lhac` with groups in place of coordinates: the norm of a group's
    weights, of its violation, and the weight of its penalty. A step of the inner method majorises
    the model on the group by its Frobenius norm. No second derivatives of the loss are needed, so
    it fits losses over pairs, which `BlockCoordinateDescent` does not take.

    Parameters
    ----------
    memory, rho, active_set, inner, inner_rate, order, theta_shrink, prox, growth, scaling
        As in `Lhac`.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.minimise import minimise
    >>> from auctor.problem import Problem
    >>> from auctor.data import as_data
    >>> from auctor.losses import PairwiseHinge
    >>> from auctor.penalties import GroupL2
    >>> X = np.random.default_rng(0).normal(size=(80, 30))
    >>> y = np.where(X[:, 3] + X[:, 4] > 0, 1, -1)
    >>> problem = Problem(PairwiseHinge(0.5), GroupL2(0.3, 3), as_data(X, y))
    >>> np.flatnonzero(minimise(problem, GroupLhac(), tol=1e-6).coef)
    array([3, 4, 5])

    References
    ----------
    Tang, Big data optimization in machine learning, Lehigh 2016, sections 2.1 and 5.5.
    """

    needs = Need.SMOOTH_LOSS | Need.BLOCK_PENALTY

    def _survey(self, point: Point) -> tuple[Survey, FloatArray, FloatArray]:
        """The kinds of the groups, the norms of their weights, and their strengths."""
        problem = point.problem
        spec = blocks_of(problem)
        w, slope = problem.coef(point.w), problem.coef(point.gradient)
        size, steepest, pull = (_norms(part, spec) for part in (w, violations(point), slope))
        kind = np.full(size.size, GROWING, dtype=np.uint8)
        kind[(size > 0.0) & (pull < spec.weight)] = SHRINKING
        kind[(size == 0.0) & (steepest == 0.0) & (spec.weight + spec.l1 > 0.0)] = PINNED
        return Survey(steepest, kind), size, spec.weight

    def _model(self, point: Point, pairs: LbfgsMatrix, free: Array) -> Model:
        return GroupSubproblem.at(point, pairs, blocks_of(point.problem), free)


def _norms(v: FloatArray, spec: BlockSpec) -> FloatArray:
    starts = spec.indptr[:-1].astype(np.int64)
    return np.asarray(np.sqrt(np.add.reduceat(v[spec.indices] ** 2, starts)))


@dataclass(frozen=True)
class GroupSubproblem:
    """The model of `Subproblem` with norms of groups; ``index`` holds their columns in turn."""

    origin: FloatArray
    index: Array
    gradient: FloatArray
    starts: Array
    weight: FloatArray
    l1: FloatArray
    bound: FloatArray
    model: Restricted

    @classmethod
    def at(cls, point: Point, matrix: LbfgsMatrix, spec: BlockSpec, free: Array) -> GroupSubproblem:
        """The model around a point, on the free groups."""
        bounds = spec.indptr.astype(np.int64)
        parts = [np.arange(0), *(np.arange(bounds[b], bounds[b + 1]) for b in free)]
        index = spec.indices[np.concatenate(parts)].astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(np.diff(bounds)[free]))).astype(np.uint32)
        model = matrix.restrict(index)
        matrix.keep(model.pairs)
        bound = np.empty(free.size)
        block_bounds(model.base, model.rows, model.hats, starts, bound)
        levels = spec.weight[free], spec.l1[free]
        return cls(point.w, index, point.gradient[index], starts, *levels, bound, model)

    def solve(self, inner: Inner, *, scale: float, extra: float, passes: int) -> ModelStep:
        """Block coordinate descent from the point."""
        w = self.origin[self.index]
        u, project = w.copy(), np.zeros(self.model.hats.shape[1])
        base, _, rows, hats = self.model
        penalty = self.starts, self.weight, self.l1, self.bound
        order, tiny, state = inner
        data = w, self.gradient, base, rows, hats, *penalty
        steps = block_sweeps(*data, scale, extra, order, passes, tiny, state, u, project)
        linear, curve = model_change(w, u, self.gradient, base, rows, project, scale, extra)
        out = self.origin.copy()
        out[self.index] = u
        return ModelStep(out, linear + curve, steps)
