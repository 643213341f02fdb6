"""The strength of a sparse inverse covariance, chosen by likelihood, EBIC or stability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.model_selection import check_cv

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ParameterError
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray
from auctor.covariance.estimator import GraphEstimator, refit
from auctor.covariance.inputs import Penalties, normal_scores, penalty_factors
from auctor.covariance.path import along_path, path_strengths
from auctor.covariance.problem import factorise
from auctor.covariance.solve import Budget, GraphSolution, solve_graph
from auctor.kernels.runtime.parallel import available_threads, run_tasks

#: Gap for every variable inside folds and subsamples, where only the order of strengths matters.
LOOSE_TOL = 1e-3
#: Gap inside folds, as a share of the last change of the mean log-likelihood from one strength to
#: the next: far from the best strength the order is clear. Set by hand; on rows as estrogen-692 the
#: choice is that of solves to `LOOSE_TOL`.
CLEAR_SHARE = 0.2
#: Strengths in a row with less likelihood than the best so far that end the path; set by hand.
PATIENCE = 2
#: Subsamples that stability is measured on (Liu, Roeder, Wasserman 2010 use 20 and more).
SUBSAMPLES = 20
#: Largest mean variance of an edge over subsamples: the beta of StARS.
INSTABILITY = 0.05


def log_likelihood(S: FloatArray, solution: GraphSolution) -> float:
    """Mean Gaussian log-likelihood of rows with covariance S, up to a constant."""
    factor = factorise(solution.precision.copy())
    assert factor is not None  # every solution is positive definite
    return (factor.log_det - float(np.vdot(S, solution.precision))) / 2.0


def ebic(S: FloatArray, n: int, solution: GraphSolution, gamma: float) -> float:
    """Extended BIC: ``-2 n loglik + edges log n + 4 edges gamma log p`` (Foygel, Drton 2010)."""
    edges, p = solution.n_edges, S.shape[0]
    fit = -2.0 * n * log_likelihood(S, solution)
    return fit + edges * math.log(n) + 4.0 * edges * gamma * math.log(p)


class Choice(NamedTuple):
    """The criterion of every strength, which one is best, and a precision to start from there."""

    values: FloatArray
    best: int
    start: FloatArray | None = None


@dataclass(frozen=True)
class Candidates:
    """Strengths to choose from, and how models are fitted with them.

    Parameters
    ----------
    rows : (n, p) array
    S : (p, p) array
        The covariance of all rows.
    strengths : array
        In decreasing order.
    factors : Penalties
        Factors of the strength.
    covariance : callable
        What is fitted for some of the rows, and their standard deviations where it is scaled.
    solver : str or solver object
    budget : Budget
    who : str
        Who asks, for messages.
    """

    rows: FloatArray
    S: FloatArray
    strengths: FloatArray
    factors: Penalties
    covariance: Callable[[FloatArray], tuple[FloatArray, FloatArray | None]]
    solver: Any
    budget: Budget
    who: str

    def path(self, S: FloatArray) -> Iterator[GraphSolution]:
        """Solutions for all strengths, each from the one before."""
        return along_path(
            S, self.factors, self.strengths, solver=self.solver, budget=self.budget, who=self.who
        )

    def solve(self, S: FloatArray, at: int, start: FloatArray | None) -> GraphSolution:
        """The solution for one strength."""
        penalties = self.factors.times(float(self.strengths[at]))
        return solve_graph(
            S, penalties, solver=self.solver, start=start, budget=self.budget, who=self.who
        )


class Parts:
    """Models of some of the rows each, for one strength after the other.

    Every model starts from the one before. Parts run side by side, on one thread each; between
    strengths only the entries of the precisions that are not zero are kept.

    Parameters
    ----------
    candidates : Candidates
    rows : list of arrays
        The rows of every part.
    """

    def __init__(self, candidates: Candidates, rows: list[Array]) -> None:
        self.candidates, self.rows = candidates, rows
        self.precisions: list[csr_array | None] = [None] * len(rows)

    def solve(
        self, at: int, tol: float, see: Callable[[int, GraphSolution, FloatArray | None], None]
    ) -> None:
        """Solve all parts for one strength; ``see`` gets number, solution, deviations."""
        whole = self.candidates
        budget = replace(whole.budget, tol=max(whole.budget.tol, tol), n_threads=1)
        within = replace(whole, budget=budget)

        def one(k: int) -> None:
            S, deviation = whole.covariance(whole.rows[self.rows[k]])
            known = self.precisions[k]
            solution = within.solve(S, at, None if known is None else known.toarray())
            self.precisions[k] = csr_array(solution.precision)
            see(k, solution, deviation)

        tasks = [partial(one, k) for k in range(len(self.rows))]
        run_tasks(tasks, available_threads(whole.budget.n_threads))


def choose_by_likelihood(
    candidates: Candidates, folds: list[tuple[Array, Array]], held_rows: FloatArray, centre: bool
) -> Choice:
    """Mean log-likelihood of the rows of every fold under models of the others.

    ``held_rows`` are the rows in the units in which they are judged. Strengths after `PATIENCE`
    ones in a row that are worse than the best are not tried; they have NaN. The mean of the models
    of the folds at the best strength is where the fit of all rows starts.
    """
    parts = Parts(candidates, [train for train, _ in folds])
    values = np.full((len(folds), candidates.strengths.size), np.nan)
    mean = np.full(candidates.strengths.size, np.nan)
    size, best, start, change = candidates.S.shape[0], 0, None, 0.0
    for at in range(candidates.strengths.size):

        def judge(
            k: int, solution: GraphSolution, deviation: FloatArray | None, at: int = at
        ) -> None:
            train, test = folds[k]
            left = held_rows[test] - (held_rows[train].mean(axis=0) if centre else 0.0)
            if deviation is not None and held_rows is candidates.rows:
                left /= deviation
            values[k, at] = log_likelihood(left.T @ left / test.size, solution)

        parts.solve(at, max(LOOSE_TOL, CLEAR_SHARE * change / size), judge)
        mean[at] = values[:, at].mean()
        if at > 0:
            change = abs(float(mean[at] - mean[at - 1]))
        if at == 0 or mean[at] > mean[best]:
            best = at
            found = [one for one in parts.precisions if one is not None]
            start = np.mean([one.toarray() for one in found], axis=0)
        elif at >= best + PATIENCE:
            break
    return Choice(mean, best, start)


def choose_by_ebic(candidates: Candidates, gamma: float) -> Choice:
    """Extended BIC of the models of all rows."""
    n, S = candidates.rows.shape[0], candidates.S
    values = np.array([ebic(S, n, one, gamma) for one in candidates.path(S)])
    return Choice(values, int(np.argmin(values)))


def choose_by_stability(candidates: Candidates, rng: np.random.Generator) -> Choice:
    """Mean variance of the edges over subsamples; the smallest strength before it is large.

    Strengths after the first one whose edges are unstable are not tried; they have NaN.
    """
    n, p = candidates.rows.shape
    size = min(max(2, int(10.0 * math.sqrt(n))), max(2, int(0.8 * n)))
    parts = Parts(candidates, [rng.choice(n, size=size, replace=False) for _ in range(SUBSAMPLES)])
    values = np.full(candidates.strengths.size, np.nan)
    best = 0
    for at in range(candidates.strengths.size):
        parts.solve(at, LOOSE_TOL, lambda *_: None)
        often = np.zeros((p, p))
        for one in parts.precisions:
            if one is not None:
                often[one.nonzero()] += 1.0 / SUBSAMPLES
        values[at] = 2.0 * float(np.sum(often * (1.0 - often))) / max(1, p * (p - 1))
        if values[at] > INSTABILITY:
            break
        best = at
    return Choice(values, best)


class SparseInverseCovarianceCV(GraphEstimator):
    """Sparse inverse covariance whose strength is chosen from a path.

    Parameters
    ----------
    strengths : int or array
        Strengths to try: a number of them, from the empty graph's down to a tenth of it, or a list.
    criterion : {"likelihood", "ebic", "stability"}
        Log-likelihood of rows left out by ``cv``, which predicts best and keeps many weak edges;
        the extended Bayesian information criterion, which looks for the true graph; or the smallest
        strength whose edges hardly depend on the subsample (StARS).
    cv : int, splitter or iterable
        Folds of "likelihood".
    ebic_gamma : float in [0, 1]
        Weight of the number of possible graphs; 0 is the plain BIC.
    refit_graph : bool
        Whether the chosen graph is fitted again without a penalty.
    random_state : int or Generator, optional
        Subsamples of "stability".
    penalise_diagonal, weights, standardize, solver, tol, max_iter, max_seconds, assume_centered
        As for `SparseInverseCovariance`; weights are None or an array.
    n_threads : int, optional
        Folds, subsamples and connected components are solved side by side.

    Attributes
    ----------
    strength_ : float
        The chosen strength.
    strengths_ : array
        All strengths, decreasing.
    criterion_values_ : array
        Their criterion: larger is better for "likelihood", smaller for the others. NaN for the
        strengths that were not tried: those after the likelihood has fallen twice in a row, or
        after the first graph that is not stable.
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
        standardize: bool | str = False,
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
        self.standardize = standardize
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
        budget = self._check_parameters()
        who = type(self).__name__
        check_choice(who, "criterion", self.criterion, ("likelihood", "ebic", "stability"))
        check_real(who, "ebic_gamma", self.ebic_gamma, low=0.0, high=1.0)
        rows = self._rows(X)
        S, deviation = self._covariance(rows)
        factors = penalty_factors(who, self.weights, rows.shape[1], self.penalise_diagonal)
        self.strengths_ = self._grid(S, factors)
        candidates = Candidates(
            rows, S, self.strengths_, factors, self._covariance, self.solver, budget, who
        )
        self.criterion_values_, best, start = self._choose(candidates)
        self.strength_ = float(self.strengths_[best])
        solution = candidates.solve(S, best, start)
        if self.refit_graph:
            solution = refit(S, solution.precision, tol=self.tol, max_iter=self.max_iter)
        self._take(solution, deviation)
        return self

    def _choose(self, candidates: Candidates) -> Choice:
        """The best strength by the criterion."""
        if self.criterion == "ebic":
            return choose_by_ebic(candidates, self.ebic_gamma)
        if self.criterion == "stability":
            return choose_by_stability(candidates, as_rng(self.random_state))
        rows = candidates.rows
        ranked = self.standardize == "rank"
        held = normal_scores(rows) if ranked else rows
        folds = list(check_cv(self.cv).split(rows))
        return choose_by_likelihood(candidates, folds, held, not (self.assume_centered or ranked))

    def _grid(self, S: FloatArray, factors: Penalties) -> FloatArray:
        who = type(self).__name__
        if np.ndim(self.strengths) == 0:
            return path_strengths(S, factors, check_int(who, "strengths", self.strengths, low=1))
        grid = np.sort(np.asarray(self.strengths, dtype=np.float64))[::-1].copy()
        if not grid.size or not np.isfinite(grid).all() or grid[-1] < 0.0:
            raise ParameterError(
                who, needs="strengths >= 0", got=f"{self.strengths!r}", todo="Pass a few of them."
            )
        return grid
