"""Problems whose scores are a non-linear function of the parameters."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from auctor.core.checks import check_vector
from auctor.core.protocols import Loss, Penalty
from auctor.core.result import Counts
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray, IntArray
from auctor.lab.maps.base import MapRows, ScoreMap, Tangent
from auctor.problem import Point, Problem
from auctor.problem.hessian import Hessian, RowSampling
from auctor.problem.needs import NOTHING, Need

#: Needs that a score map can provide: for solvers with line searches or batches of rows.
OFFERED = Need.SMOOTH_LOSS | Need.CURVATURE | Need.SMOOTH_PENALTY | Need.ROW_LOSS


class MapProblem(Problem):
    """Minimise ``loss(map(w) + intercept) + penalty(w)`` for a score map.

    Every smooth loss can be minimised, also losses on pairs and on sets of rows, with `Lbfgs`,
    `GradientDescent` and `Newton`, which uses the Gauss-Newton matrix: the Jacobian's transpose
    times the curvature of the loss times the Jacobian. Losses that are sums over rows also work
    with batches: `Sgd`, `Adam`, `SubsampledNewton` and `StochasticLbfgs`. The problem is not
    convex: a solution is a stationary point, and its gap is the largest gradient entry, not a bound
    on the distance to the minimum.

    Parameters
    ----------
    penalty : Penalty
        Penalty of all parameters of the map, including offsets.
    seed : int
        Seed of the starting point.
    start : array, optional
        Starting parameters of the map; by default ``score_map.start``.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.losses import Squared
    >>> from auctor.lab.maps import CallableMap
    >>> from auctor.minimise import minimise
    >>> from auctor.penalties import L2
    >>> from auctor.solvers import Newton
    >>> t = np.array([0.0, 1.0, 2.0])
    >>> growth = CallableMap(
    ...     lambda w: np.exp(w[0] * t),
    ...     lambda w: (t * np.exp(w[0] * t))[:, None],
    ...     y=[1.0, 2.0, 4.0],
    ...     start=[0.0],
    ... )
    >>> problem = MapProblem(Squared(), L2(0.0), growth, fit_intercept=False)
    >>> minimise(problem, Newton(), tol=1e-10).coef.round(6)
    array([0.693147])
    """

    linear = False

    def __init__(
        self,
        loss: Loss,
        penalty: Penalty,
        score_map: ScoreMap,
        *,
        fit_intercept: bool = True,
        seed: int = 0,
        start: FloatArray | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.map, self.seed = score_map, seed
        self._first = score_map.start(as_rng(seed)) if start is None else start
        self._near: list[tuple[FloatArray, Tangent]] = []
        if start is None:  # evaluate now, so that errors of the map are raised here
            self._near.append((self._first, score_map.at(self._first)))
        rows = MapRows(score_map, self._first)
        super().__init__(loss, penalty, rows, fit_intercept=fit_intercept, counts=counts)

    def on_rows(self, index: IntArray, counts: Counts) -> MapProblem:
        """The same problem on some of the rows, with its own counter of passes."""
        return MapProblem(
            self.loss,
            self.penalty,
            self.map.rows(index),
            fit_intercept=self.fit_intercept,
            start=self._first,
            counts=counts,
        )

    def _changed(self, loss: Loss, penalty: Penalty) -> MapProblem:
        """The same problem with another loss or penalty; both share one counter of passes."""
        return MapProblem(
            loss,
            penalty,
            self.map,
            fit_intercept=self.fit_intercept,
            seed=self.seed,
            start=self._first,
            counts=self.counts,
        )

    @cached_property
    def provides(self) -> Need:
        """Flags of a smooth loss and penalty, and of rows if the map gives them."""
        rows = Need.ROWS if self.map.has_rows else NOTHING
        return (super().provides & OFFERED) | rows

    @cached_property
    def column_squares(self) -> FloatArray:
        """Mean square of the derivatives by every parameter at the start, from one product.

        With random signs ``s_i`` of the rows, ``(sum_i s_i sqrt(share_i) J_ij)^2`` has the mean
        ``sum_i share_i J_ij^2``: accurate enough for the unit of a step size.
        """
        signs = as_rng(self.seed).choice([-1.0, 1.0], size=self.map.n_rows)
        product = self.tangent(self.start()).gradient(signs * np.sqrt(self.map.target.share))
        return product * product

    def start(self, w0: FloatArray | None = None) -> FloatArray:
        """A copy of ``w0``, by default the map's start with the null model's intercept."""
        if w0 is not None:
            return check_vector("w0", w0, size=self.n_params).copy()
        return self.join(self._first, self.null.intercept)

    def tangent(self, w: FloatArray) -> Tangent:
        """The map's tangent at some parameters; the latest two are cached."""
        coef = self.coef(w)
        # A line search asks for the scores and the gradient at the same parameters.
        for known, tangent in self._near:
            if np.array_equal(known, coef):
                return tangent
        self.counts.passes += 1
        found = self.map.at(coef)
        self._near[:] = [(coef.copy(), found), *self._near[:1]]
        return found

    def score_change(self, direction: FloatArray) -> FloatArray:
        """Scores of a parameter vector."""
        return self.tangent(direction).value + self.intercept(direction)

    def pull_back(self, dscores: FloatArray, w: FloatArray | None = None) -> FloatArray:
        """Gradient in the parameters at ``w``, the start by default."""
        tangent = self.tangent(self.start() if w is None else w)
        self.counts.passes += 1
        return self.join(tangent.gradient(dscores), float(dscores.sum()))

    def hessian(self, point: Point, kept: RowSampling | None = None) -> Hessian:
        """The Gauss-Newton matrix ``J' C J``, with C the curvature of the loss, plus the ridge."""
        # The linearised problem: its data matrix is the Jacobian.
        near = Problem(
            self.loss,
            self.penalty,
            self.tangent(point.w),
            fit_intercept=self.fit_intercept,
            counts=self.counts,
        )
        return near.hessian(point)

    @cached_property
    def certifiable(self) -> bool:
        """False: the problem is not convex, so there is no duality gap."""
        return False

    @cached_property
    def unit(self) -> float:
        """Unit of relative tolerances: the largest gradient entry at the start."""
        slope = np.abs(self.evaluate(self.start()).gradient).max(initial=0.0)
        return float(slope) or 1.0
