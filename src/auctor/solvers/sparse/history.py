"""Gradients on a path: exact where they matter, enclosed elsewhere by those of earlier points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.linalg import columns as kernels
from auctor.problem import Point, Problem
from auctor.solvers.sparse.models.columns import Store
from auctor.solvers.specs import spec_of

#: Earlier points that are kept; set by hand.
MOST = 4
#: Passes over the data that columns which stay at 0, but could not be enclosed, may cost before the
#: whole gradient is computed again: then it would have been cheaper.
PATIENCE = 1.0


class Estimate(NamedTuple):
    """``X' u`` to within ``far`` times the reach of each column."""

    pulled: FloatArray
    far: float


class GradientHistory:
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

    def estimate(self, dscores: FloatArray) -> Estimate:
        """The nearest combination of the gradients at hand."""
        products, own = self._products(dscores)
        out = np.empty(self._pulled.shape[1])
        square = kernels.project_on_span(self._gram, products, own, self._pulled, out)
        return Estimate(out, math.sqrt(square))

    def attach(self, problem: Problem, point: Point, store: Store) -> Point:
        """The point with a gradient that took less than a pass, where most columns are at rest."""
        slope = float(point.dscores.sum()) if problem.has_intercept and point.imbalance else 0.0
        return point.with_gradient(problem.join(self.gradient(problem, point, store), slope))

    def gradient(self, problem: Problem, point: Point, store: Store) -> FloatArray:
        """``X' dscores`` at ``point``, estimated for columns that stay at 0.

        Those have an enclosure of their gradient inside ``(-l1, l1)``, so they violate nothing;
        neither violations nor the duality gap change when the estimate takes the gradient's place.
        """
        spec = spec_of(problem)
        if not len(self):
            return self._full(problem, point)
        out, far = self.estimate(point.dscores)
        wanted = np.empty(out.shape[0], dtype=np.int64)
        count, entries, resting = kernels.unscreened_columns(
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
