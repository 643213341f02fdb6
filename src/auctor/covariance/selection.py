"""The strength of a sparse inverse covariance, chosen by likelihood, EBIC or stability."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.model_selection import check_cv

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ParameterError
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray
from auctor.covariance.estimator import GraphEstimator, refit
from auctor.covariance.inputs import check_covariance, penalties
from auctor.covariance.path import path_strengths
from auctor.covariance.solve import GraphSolution

#: Gap for every variable inside folds and subsamples, where only the order of strengths matters.
LOOSE_TOL = 1e-3
#: Subsamples that stability is measured on (Liu, Roeder, Wasserman 2010 use 20 and more).
SUBSAMPLES = 20
#: Largest mean variance of an edge over subsamples: the beta of StARS.
INSTABILITY = 0.05


def log_likelihood(S: FloatArray, solution: GraphSolution) -> float:
    """Mean Gaussian log-likelihood of rows with covariance S, up to a constant."""
    _, log_det = np.linalg.slogdet(solution.precision)
    return float(log_det - np.sum(S * solution.precision)) / 2.0


def ebic(S: FloatArray, n: int, solution: GraphSolution, gamma: float) -> float:
    """Extended BIC: ``-2 n loglik + edges log n + 4 edges gamma log p`` (Foygel, Drton 2010)."""
    edges, p = solution.n_edges, S.shape[0]
    fit = -2.0 * n * log_likelihood(S, solution)
    return fit + edges * math.log(n) + 4.0 * edges * gamma * math.log(p)


class SparseInverseCovarianceCV(GraphEstimator):
    """Sparse inverse covariance whose strength is chosen from a path.

    Parameters
    ----------
    strengths : int or array
        Strengths to try: so many from that of the empty graph down to a tenth of it, or these.
    criterion : {"likelihood", "ebic", "stability"}
        Log-likelihood of rows left out by ``cv``; the extended Bayesian information criterion; or
        the smallest strength whose edges hardly depend on the subsample (StARS).
    cv : int, splitter or iterable
        Folds of "likelihood".
    ebic_gamma : float in [0, 1]
        Weight of the number of possible graphs; 0 is the plain BIC.
    refit_graph : bool
        Whether the chosen graph is fitted again without a penalty.
    random_state : int or Generator, optional
        Subsamples of "stability".
    penalise_diagonal, weights, correlation, solver, tol, max_iter, max_seconds, n_threads, \
assume_centered
        As for `SparseInverseCovariance`; weights are None or an array.

    Attributes
    ----------
    strength_ : float
        The chosen strength.
    strengths_ : array
        All strengths, decreasing.
    criterion_values_ : array
        Their criterion: larger is better for "likelihood", smaller for the others.
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

    def __init__(
        self,
        strengths: Any = 20,
        *,
        criterion: str = "likelihood",
        cv: Any = 5,
        ebic_gamma: float = 0.5,
        refit_graph: bool = False,
        random_state: Any = None,
        penalise_diagonal: bool = False,
        weights: Any = None,
        correlation: str = "none",
        solver: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        assume_centered: bool = False,
    ) -> None:
        super().__init__(assume_centered=assume_centered)
        self.strengths = strengths
        self.criterion = criterion
        self.cv = cv
        self.ebic_gamma = ebic_gamma
        self.refit_graph = refit_graph
        self.random_state = random_state
        self.penalise_diagonal = penalise_diagonal
        self.weights = weights
        self.correlation = correlation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows X.

        Parameters
        ----------
        X : (n, p) array
        y : ignored
        """
        self._check_parameters()
        who = type(self).__name__
        check_choice(who, "criterion", self.criterion, tuple(CRITERIA))
        check_real(who, "ebic_gamma", self.ebic_gamma, low=0.0, high=1.0)
        rows = self._rows(X)
        p = rows.shape[1]
        self.location_ = np.zeros(p) if self.assume_centered else rows.mean(axis=0)
        S, deviation = self._covariance(rows)
        S = check_covariance(who, S)
        weights = penalties(who, self.weights, p, self.penalise_diagonal)
        self.strengths_ = self._grid(S, weights)
        values, best, path = CRITERIA[self.criterion](self, rows, S, weights)
        self.criterion_values_ = values
        self.strength_ = float(self.strengths_[best])
        start = None if path is None else path[best].precision
        solution = self._solve(S, weights, self.strength_, start)
        if self.refit_graph:
            solution = refit(S, solution.precision, max_iter=self.max_iter)
        self._take(solution, deviation)
        return self

    def _grid(self, S: FloatArray, weights: FloatArray) -> FloatArray:
        who = type(self).__name__
        if np.ndim(self.strengths) == 0:
            return path_strengths(S, weights, check_int(who, "strengths", self.strengths, low=1))
        grid = np.sort(np.asarray(self.strengths, dtype=np.float64))[::-1].copy()
        if not grid.size or not np.isfinite(grid).all() or grid[-1] < 0.0:
            raise ParameterError(
                who, needs="strengths >= 0", got=f"{self.strengths!r}", todo="Pass a few of them."
            )
        return grid

    def _path(self, S: FloatArray, weights: FloatArray, tol: float) -> list[GraphSolution]:
        """Solutions for all strengths, each from the one before."""
        found: list[GraphSolution] = []
        kept, self.tol = self.tol, tol
        try:
            for strength in self.strengths_:
                start = found[-1].precision if found else None
                found.append(self._solve(S, weights, float(strength), start))
        finally:
            self.tol = kept
        return found

    def _by_likelihood(
        self, rows: FloatArray, S: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, int, None]:
        """Mean log-likelihood of the rows of every fold under models of the others."""
        folds = list(check_cv(self.cv).split(rows))
        values = np.zeros(self.strengths_.size)
        for train, test in folds:
            inside, deviation = self._covariance(rows[train])
            centre = 0.0 if self.assume_centered else rows[train].mean(axis=0)
            left = (rows[test] - centre) / deviation
            held = left.T @ left / test.size
            path = self._path(check_covariance(type(self).__name__, inside), weights, LOOSE_TOL)
            values += [log_likelihood(held, solution) for solution in path]
        values /= len(folds)
        return values, int(np.argmax(values)), None

    def _by_ebic(
        self, rows: FloatArray, S: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, int, list[GraphSolution]]:
        """Extended BIC of the whole data."""
        path = self._path(S, weights, self.tol)
        values = np.array([ebic(S, rows.shape[0], one, self.ebic_gamma) for one in path])
        return values, int(np.argmin(values)), path

    def _by_stability(
        self, rows: FloatArray, S: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, int, None]:
        """Mean variance of the edges over subsamples; the smallest strength before it is large."""
        n, p = rows.shape
        rng = as_rng(self.random_state)
        size = min(max(2, int(10.0 * math.sqrt(n))), max(2, int(0.8 * n)))
        often = np.zeros((self.strengths_.size, p, p))
        for _ in range(SUBSAMPLES):
            part = rows[rng.choice(n, size=size, replace=False)]
            inside, _ = self._covariance(part)
            path = self._path(check_covariance(type(self).__name__, inside), weights, LOOSE_TOL)
            for at, solution in enumerate(path):
                often[at] += solution.precision != 0.0
        often /= SUBSAMPLES
        upper = np.triu_indices(p, 1)
        variance = 2.0 * often * (1.0 - often)
        values = np.array([float(one[upper].mean()) if p > 1 else 0.0 for one in variance])
        rising = np.maximum.accumulate(values)
        return values, max(0, int(np.searchsorted(rising, INSTABILITY, side="right")) - 1), None


#: Values of all strengths, the best one's place, and the path where it was made on all rows.
Chosen = tuple[FloatArray, int, list[GraphSolution] | None]

#: How a strength is chosen, by name.
CRITERIA: dict[str, Callable[[SparseInverseCovarianceCV, FloatArray, FloatArray, FloatArray], Any]]
CRITERIA = {
    "likelihood": SparseInverseCovarianceCV._by_likelihood,
    "ebic": SparseInverseCovarianceCV._by_ebic,
    "stability": SparseInverseCovarianceCV._by_stability,
}
