"""Sparse inverse covariance with a strength chosen by likelihood, EBIC or stability."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataWarning, ParameterError, speaks, warn
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.covariance.criteria import (
    Candidates,
    ChosenStrength,
    choose_by_ebic,
    choose_by_likelihood,
    choose_by_stability,
)
from auctor.covariance.estimators.covariance import GraphEstimator, refit
from auctor.covariance.inputs import Penalties, normal_scores, penalty_factors
from auctor.covariance.path import path_strengths


@dataclass(eq=False, repr=False, kw_only=True)
class SparseInverseCovarianceCV(GraphEstimator):
    """Sparse inverse covariance whose strength is chosen from a path.

    Parameters
    ----------
    strengths : int or array
        Strengths to try, or their number: then from the strength at which the graph is empty down
        to a tenth of it.
    criterion : {"likelihood", "ebic", "stability"}
        Log-likelihood of held-out rows, which predicts best and keeps many weak edges; the extended
        Bayesian information criterion, which estimates the true graph; or the smallest strength
        whose edges hardly depend on the subsample (StARS).
    cv : int, splitter or iterable
        Folds for "likelihood".
    ebic_gamma : float in [0, 1]
        Weight of the term for the number of possible graphs in "ebic"; 0 is the usual BIC.
    refit_graph : bool
        Whether the chosen graph is fitted again without a penalty.
    random_state : int or Generator, optional
        Random numbers for the subsamples of "stability".
    penalise_diagonal, weights, standardise, solver, tol, max_iter, max_seconds, assume_centered
        As for `SparseInverseCovariance`; weights are None or an array.
    n_threads : int, optional
        Number of folds, subsamples or connected components that are solved at the same time.

    Attributes
    ----------
    strength_ : float
        The chosen strength.
    strengths_ : array
        All strengths, decreasing.
    criterion_values_ : array
        Criterion of every strength: larger is better for "likelihood", smaller for the others. NaN
        for strengths that some fold or subsample did not try: the first fold follows the path until
        its likelihood has fallen twice in a row, and the other folds try strengths around its best,
        as long as the mean likelihood rises; "stability" ends after the first unstable graph.
    precision_, covariance_, location_, gap_, n_iter_, solution_, graph_, partial_correlation_
        As for `SparseInverseCovariance`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> X[:, 1] += X[:, 0]
    >>> model = SparseInverseCovarianceCV(criterion="ebic").fit(X)
    >>> np.argwhere(np.triu(model.precision_, 1))
    array([[0, 1]])
    """

    strengths: Any = field(default=20, kw_only=False)
    criterion: str = "likelihood"
    cv: Any = 5
    ebic_gamma: float = 0.5
    refit_graph: bool = False
    random_state: Any = None

    @speaks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows X.

        Parameters
        ----------
        X : (n, p) array
        y : ignored
        """
        budget = self._check_parameters()
        check_choice("criterion", self.criterion, ("likelihood", "ebic", "stability"))
        check_real("ebic_gamma", self.ebic_gamma, low=0.0, high=1.0)
        rows = self._rows(X)
        S, deviation = self._covariance(rows)
        factors = penalty_factors(self.weights, rows.shape[1], self.penalise_diagonal)
        self.strengths_ = self._grid(S, factors)
        candidates = Candidates(
            rows, S, self.strengths_, factors, self._covariance, self.solver, budget
        )
        self.criterion_values_, best, start = self._choose(candidates)
        self.strength_ = float(self.strengths_[best])
        if self.criterion == "likelihood":
            warn_at_smallest(self.strengths_, best)
        solution = candidates.solve(S, best, start)
        if self.refit_graph:
            solution = refit(S, solution.precision, tol=self.tol, max_iter=self.max_iter)
        self._take(solution, deviation)
        return self

    def _choose(self, candidates: Candidates) -> ChosenStrength:
        """The best strength by the criterion."""
        if self.criterion == "ebic":
            return choose_by_ebic(candidates, self.ebic_gamma)
        if self.criterion == "stability":
            return choose_by_stability(candidates, as_rng(self.random_state))
        rows = candidates.rows
        ranked = self.standardise == "rank"
        held = normal_scores(rows) if ranked else rows
        folds = list(check_cv(self.cv).split(rows))
        return choose_by_likelihood(candidates, folds, held, not (self.assume_centered or ranked))

    def _grid(self, S: FloatArray, factors: Penalties) -> FloatArray:
        """The strengths to try, decreasing."""
        if np.ndim(self.strengths) == 0:
            return path_strengths(S, factors, check_int("strengths", self.strengths, low=1))
        grid = np.sort(np.asarray(self.strengths, dtype=np.float64))[::-1].copy()
        if not grid.size or not np.isfinite(grid).all() or grid[-1] < 0.0:
            raise ParameterError(f"`strengths` >= 0; got {self.strengths!r}. Pass such numbers.")
        return grid


def warn_at_smallest(strengths: FloatArray, best: int) -> None:
    """Warn if the likelihood is largest at the smallest strength."""
    if 0 < best == strengths.size - 1 and strengths[best] > 0.0:
        warn(
            DataWarning(
                does=f"chose the smallest strength that it tried, {strengths[best]:.3g}, and the "
                "likelihood of the held-out rows still rises there. Pass `strengths=` with "
                "smaller ones."
            )
        )
