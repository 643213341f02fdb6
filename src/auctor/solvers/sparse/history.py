"""Gradients along a path, estimated from earlier points for columns that provably stay at 0."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from auctor.core.data_capabilities import SECOND_ORDER
from auctor.core.types import FloatArray
from auctor.kernels.linalg import columns as kernels
from auctor.problem import Point, Problem
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.models.columns import Store

#: Number of earlier points in the history.
KEPT_POINTS = 4
#: Wasted passes on columns that stay at 0 after which the whole gradient is computed again.
WASTED_PASSES = 1.0


class GradientEstimate(NamedTuple):
    """``X' u``, with an error of at most ``error`` times the norm of each column."""

    pulled: FloatArray
    error: float


class GradientHistory:
    """Derivatives u of the loss in the scores at earlier points, with their ``X' u``.

    The derivatives at another point are nearly a linear combination of these, and so is its
    gradient. The residual r of the combination has ``|x_j' r| <= |x_j| |r|``, in norms that weight
    the rows by their shares.
    """

    def __init__(self, problem: Problem) -> None:
        n, d = problem.data.n_rows, problem.n_columns
        share = problem.data.target.share
        self._inverse = 1.0 / np.where(share > 0.0, share, np.inf)
        self._slopes, self._pulled = np.zeros((KEPT_POINTS, n)), np.zeros((KEPT_POINTS, d))
        self._gram = np.zeros((KEPT_POINTS, KEPT_POINTS))
        self._count = 0
        self._spent = 0.0
        self._latest: tuple[FloatArray, FloatArray, float] | None = None
        problem.counts.passes += 1
        self._column_norms = np.sqrt(SECOND_ORDER.of(problem.data).square_gradient(share))

    def __len__(self) -> int:
        return min(self._count, KEPT_POINTS)

    def add(self, dscores: FloatArray, pulled: FloatArray) -> None:
        """Store the derivatives and gradient of a point in place of the oldest."""
        products, own = self._products(dscores)
        at = self._count % KEPT_POINTS
        self._count += 1
        self._slopes[at], self._pulled[at] = dscores, pulled
        # Keep the Gram matrix of the stored derivatives up to date.
        self._gram[at, : products.size] = self._gram[: products.size, at] = products
        self._gram[at, at] = own
        self._spent, self._latest = 0.0, None

    def _products(self, dscores: FloatArray) -> tuple[FloatArray, float]:
        """Weighted inner products of derivatives with the stored ones and with themselves."""
        if self._latest is None or self._latest[0] is not dscores:
            out = np.empty(len(self))
            own = kernels.slope_products(self._slopes[: out.size], self._inverse, dscores, out)
            self._latest = dscores, out, own
        return self._latest[1:]

    def estimate(self, dscores: FloatArray) -> GradientEstimate:
        """The gradient of the nearest combination of the stored derivatives."""
        products, own = self._products(dscores)
        out = np.empty(self._pulled.shape[1])
        square = kernels.project_on_span(self._gram, products, own, self._pulled, out)
        return GradientEstimate(out, math.sqrt(square))

    def attach(self, problem: Problem, point: Point, store: Store) -> Point:
        """The point with its gradient from `gradient`, which often costs less than a pass."""
        slope = float(point.dscores.sum()) if problem.has_intercept and point.imbalance else 0.0
        return point.with_gradient(problem.join(self.gradient(problem, point, store), slope))

    def gradient(self, problem: Problem, point: Point, store: Store) -> FloatArray:
        """``X' dscores`` at ``point``, estimated for columns that stay at 0.

        The error bound proves that their gradient is inside ``(-l1, l1)``, so they do not violate
        optimality: neither violations nor the duality gap change if the estimate replaces the
        gradient.
        """
        spec = spec_of(problem)
        if not len(self):
            return self._full(problem, point)
        out, error = self.estimate(point.dscores)
        wanted = np.empty(out.shape[0], dtype=np.int64)
        # Columns whose gradient may reach l1 in absolute value, and those not at 0, are computed.
        w, norms = problem.coef(point.w), self._column_norms
        count, entries, wasted = kernels.unscreened_columns(
            store.columns.indptr, out, error, norms, w, spec.l1, wanted
        )
        self._spent += wasted / max(1, problem.n_entries)
        if self._spent > WASTED_PASSES:
            return self._full(problem, point)
        problem.counts.passes += entries / max(1, problem.n_entries)
        kernels.dots_at(*store.columns, wanted[:count], point.dscores, out)
        return out

    def _full(self, problem: Problem, point: Point) -> FloatArray:
        """The whole gradient, by one pass over the data, which is stored."""
        problem.counts.passes += 1
        pulled = problem.data.gradient(point.dscores)
        self.add(point.dscores, pulled)
        return pulled.copy()
