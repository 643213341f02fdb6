"""Gradients on a path: exact where they matter, enclosed elsewhere by those of earlier points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.linalg import columns as kernels
from auctor.problem import Goal, Point, Problem
from auctor.solvers.sparse.models.columns import Store

#: Earlier points that are kept.
MOST = 4
#: Columns at rest that could not be enclosed may cost so many passes before all are computed again.
PATIENCE = 1.0


class Estimate(NamedTuple):
    """``X' u`` to within ``far`` times the reach of each column."""

    pulled: FloatArray
    far: float


class Promise(NamedTuple):
    """An estimated gradient, the gap it would have, and an upper bound of the true one."""

    pulled: FloatArray
    gap: float
    bound: float


class Anchors:
    """Slopes u in score space of earlier points with their ``X' u``.

    The slopes of another point are nearly a combination of theirs, and so is its gradient. What is
    left over, r, has ``|x_j' r| <= |x_j| |r|``, with rows in proportion to their shares.
    """

    def __init__(self, problem: Problem) -> None:
        n, d = problem.data.n_rows, problem.n_columns
        share = problem.data.target.share
        self._inverse = 1.0 / np.where(share > 0.0, share, np.inf)
        self._slopes, self._pulled = np.zeros((MOST, n)), np.zeros((MOST, d))
        self._gram = np.zeros((MOST, MOST))
        self._count = 0
        self._spent = 0.0
        self._followed: Point | None = None
        self._latest: tuple[FloatArray, FloatArray, float] | None = None
        problem.counts.passes += 1
        self._reach = np.sqrt(problem.data.square_gradient(share))

    def __len__(self) -> int:
        return min(self._count, MOST)

    def add(self, dscores: FloatArray, pulled: FloatArray) -> None:
        """One more point, in place of the oldest."""
        products, own = self._products(dscores)
        at = self._count % MOST
        self._count += 1
        self._slopes[at], self._pulled[at] = dscores, pulled
        self._gram[at, : products.size] = self._gram[: products.size, at] = products
        self._gram[at, at] = own
        self._spent, self._latest = 0.0, None

    def _products(self, dscores: FloatArray) -> tuple[FloatArray, float]:
        """With the slopes at hand and with itself, rows in proportion to their shares."""
        if self._latest is None or self._latest[0] is not dscores:
            out = np.empty(len(self))
            own = kernels.slope_products(self._slopes[: out.size], self._inverse, dscores, out)
            self._latest = dscores, out, own
        return self._latest[1:]

    def follow(self, problem: Problem, point: Point | None) -> None:
        """Take in the last point followed, if its gradient was asked for, and follow another."""
        last, self._followed = self._followed, point
        if last is not None and "gradient" in vars(last):
            self.add(last.dscores, problem.coef(last.gradient))

    def estimate(self, dscores: FloatArray) -> Estimate:
        """The nearest combination of the gradients at hand."""
        products, own = self._products(dscores)
        out = np.empty(self._pulled.shape[1])
        square = kernels.nearest(self._gram, products, own, self._pulled, out)
        return Estimate(out, math.sqrt(square))

    def promise(self, problem: Problem, point: Point) -> Promise:
        """What an estimate promises at a point followed, for a penalty that is the same both ways.

        With every entry of the gradient as large as it may be, the duality gap is an upper bound.
        If it is good enough, the point keeps this gradient.
        """
        pulled, far = self.estimate(point.dscores)
        most = pulled + np.copysign(far * self._reach, pulled)
        bound = problem.certificate(with_gradient(problem, point, most)).gap
        dual_scale = problem.penalty.dual_scale
        # To first order, the gap changes by u.s with the scale of the dual point.
        longer = dual_scale(-pulled) - dual_scale(-most)
        gap = bound + longer * float(point.dscores @ point.scores)
        assert problem.kept is not None
        if bound <= problem.kept[Goal].gap:
            self._followed = None
        else:
            for name in ("gradient", "duality_gap"):
                vars(point).pop(name, None)
        return Promise(pulled, gap, bound)

    def gradient(self, problem: Problem, point: Point, store: Store) -> FloatArray:
        """``X' dscores`` at ``point``, estimated for columns at rest.

        Those are at 0 and certain to have no violation; neither violations nor the duality gap
        change when an estimate takes the place of their gradient.
        """
        spec = problem.penalty.separable(problem.n_columns)
        assert spec is not None
        if not len(self):
            return self._full(problem, point)
        out, far = self.estimate(point.dscores)
        wanted = np.empty(out.shape[0], dtype=np.int64)
        count, entries, resting = kernels.not_enclosed(
            store.columns.indptr, out, far, self._reach, problem.coef(point.w), spec.l1, wanted
        )
        self._spent += resting / max(1, problem.data.n_entries)
        if self._spent > PATIENCE:
            return self._full(problem, point)
        problem.counts.passes += entries / max(1, problem.data.n_entries)
        kernels.dots_at(*store.columns, wanted[:count], point.dscores, out)
        return out

    def _full(self, problem: Problem, point: Point) -> FloatArray:
        problem.counts.passes += 1
        pulled = problem.data.gradient(point.dscores)
        self.add(point.dscores, pulled)
        return pulled.copy()


def with_gradient(problem: Problem, point: Point, pulled: FloatArray) -> Point:
    """The point, told its gradient in the columns."""
    slope = float(point.dscores.sum()) if problem.has_intercept and point.imbalance else 0.0
    vars(point)["gradient"] = problem.join(pulled, slope)
    return point
