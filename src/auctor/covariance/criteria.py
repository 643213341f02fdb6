"""Criteria for the strength: likelihood of held-out rows, extended BIC, stability of edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.covariance.inputs import Penalties
from auctor.covariance.path import along_path
from auctor.covariance.problem import factorise
from auctor.covariance.solve import GraphSolution, Limits, solve_graph
from auctor.data.matrices import CompressedRows, compressed_rows, dense_array
from auctor.kernels.runtime.parallel import available_threads, run_tasks

#: Gap per variable on subsamples, and at the first strengths of folds.
LOOSE_TOL = 1e-3
#: Gap inside folds, as a share of the last change of the mean log-likelihood along the path.
CLEAR_SHARE = 0.1
#: Consecutive strengths below the best likelihood that end the path of the first fold.
WORSE_STRENGTHS = 2
#: Number of subsamples for the stability of edges.
SUBSAMPLES = 20
#: Largest size of a subsample, as a share of the rows: larger ones hardly differ from each other.
LARGEST_SUBSAMPLE = 0.8
#: Largest mean over the pairs of 2 f (1 - f), with f the share of subsamples that connect a pair.
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


class ChosenStrength(NamedTuple):
    """The criterion of every strength, the index of the best, and a precision to start from."""

    values: FloatArray
    best: int
    start: FloatArray | None = None


@dataclass(frozen=True)
class Candidates:
    """Strengths to choose from, and everything that fitting a model with one of them needs.

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
        ``covariance(rows)`` gives the matrix to fit for some of the rows, and their standard
        deviations if it is scaled.
    """

    rows: FloatArray
    S: FloatArray
    strengths: FloatArray
    factors: Penalties
    covariance: Callable[[FloatArray], tuple[FloatArray, FloatArray | None]]
    solver: Any
    budget: Limits

    def path(self, S: FloatArray) -> Iterator[GraphSolution]:
        """Solutions for all strengths, each started from the last one."""
        return along_path(S, self.factors, self.strengths, solver=self.solver, budget=self.budget)

    def solve(self, S: FloatArray, at: int, start: FloatArray | None) -> GraphSolution:
        """The solution for the strength with index ``at``."""
        penalties = self.factors.times(float(self.strengths[at]))
        return solve_graph(S, penalties, solver=self.solver, start=start, budget=self.budget)


class Subsets:
    """Models of several subsets of the rows, solved for one strength after the other.

    Every model starts from the last one of its subset. Subsets are solved in parallel, on one
    thread each; between strengths only the nonzero entries of the precisions are stored.

    Parameters
    ----------
    rows : list of arrays
        Row indices of every subset.
    """

    def __init__(self, candidates: Candidates, rows: list[Array]) -> None:
        self.candidates, self.rows = candidates, rows
        self.precisions: list[CompressedRows | None] = [None] * len(rows)

    def solve(
        self,
        at: int,
        tol: float,
        *,
        which: Sequence[int] | None = None,
        start: CompressedRows | None = None,
        on_solution: Callable[[int, GraphSolution, FloatArray | None], None] | None = None,
    ) -> None:
        """Solve all subsets, or those in ``which``, for one strength.

        ``on_solution`` is called with number, solution and standard deviations of every subset.
        ``start`` is a starting point for all, in place of their last models.
        """
        whole = self.candidates
        numbers = range(len(self.rows)) if which is None else which
        threads = 1 if len(numbers) > 1 else whole.budget.n_threads
        budget = replace(whole.budget, tol=max(whole.budget.tol, tol), n_threads=threads)
        within = replace(whole, budget=budget)

        def one(k: int) -> None:
            S, deviation = whole.covariance(whole.rows[self.rows[k]])
            first = self.precisions[k] if start is None else start
            solution = within.solve(S, at, None if first is None else dense_array(first))
            self.precisions[k] = compressed_rows(solution.precision)
            if on_solution is not None:
                on_solution(k, solution, deviation)

        tasks = [partial(one, k) for k in numbers]
        run_tasks(tasks, available_threads(whole.budget.n_threads))


class HeldOut:
    """Log-likelihood of the held-out rows of every fold under the model of the other rows.

    The first fold follows the path until its likelihood falls. The others are solved only around
    its best strength, started from its models, as long as the mean likelihood rises.

    Parameters
    ----------
    folds : list of pairs of arrays
        Indices of the training rows and of the held-out rows.
    rows : (n, p) array
        All rows, of which the likelihood is computed: the data, or their normal scores if
        correlations of ranks are fitted.
    centre : bool
        Whether the means of the training rows are subtracted.
    """

    def __init__(
        self,
        candidates: Candidates,
        folds: list[tuple[Array, Array]],
        rows: FloatArray,
        centre: bool,
    ) -> None:
        self.candidates, self.folds, self.rows, self.centre = candidates, folds, rows, centre
        self.subsets = Subsets(candidates, [train for train, _ in folds])
        self.values = np.full((len(folds), candidates.strengths.size), np.nan)
        self.tol = np.full(candidates.strengths.size, LOOSE_TOL)
        self.models: dict[tuple[int, int], CompressedRows] = {}

    @property
    def mean(self) -> FloatArray:
        """Mean likelihood over the folds, NaN for strengths that some fold has not tried."""
        means: FloatArray = self.values.mean(axis=0)
        return means

    def best(self) -> int:
        """Index of a strength whose mean likelihood is above those of the strengths beside it."""
        best = self._follow_first()
        changes = np.abs(np.diff(self.values[0, max(best - 1, 0) : best + 2]))
        tol = self._tolerance(float(np.min(changes[np.isfinite(changes)], initial=np.inf)))
        # Values that were computed with a looser tolerance are computed again.
        self.values[0, self.tol > tol] = np.nan
        self.tol[:] = tol
        all_folds = range(len(self.folds))
        self._judge(best, all_folds)
        for direction in (1, -1):
            while 0 <= best + direction < self.tol.size:
                self._judge(best + direction, all_folds)
                if not self.mean[best + direction] > self.mean[best]:
                    break
                best += direction
        return best

    def start(self, at: int) -> FloatArray:
        """Mean of the folds' precision matrices, a starting point for the fit of all rows."""
        total = np.zeros_like(self.candidates.S)
        for k in range(len(self.folds)):
            total += dense_array(self.models[k, at])
        return total / len(self.folds)

    def _follow_first(self) -> int:
        """Solve the first fold until it is worse than its best at `WORSE_STRENGTHS` strengths."""
        first, best = self.values[0], 0
        for at in range(first.size):
            change = abs(float(first[at - 1] - first[at - 2])) if at > 1 else 0.0
            # Tolerance from the last change of the likelihood, once there is one.
            self.tol[at] = (
                CLEAR_SHARE * change / self.candidates.S.shape[0] if at > 1 else LOOSE_TOL
            )
            self._judge(at, [0])
            if first[at] > first[best]:
                best = at
            elif at >= best + WORSE_STRENGTHS:
                break
        return best

    def _tolerance(self, change: float) -> float:
        """Gap per variable that is a share `CLEAR_SHARE` of a change of the likelihood."""
        tol = CLEAR_SHARE * change / self.candidates.S.shape[0]
        return tol if np.isfinite(tol) else LOOSE_TOL

    def _judge(self, at: int, which: Sequence[int]) -> None:
        """Compute the likelihood at one strength on those of the folds that have not tried it."""

        def judge(k: int, solution: GraphSolution, deviation: FloatArray | None) -> None:
            train, test = self.folds[k]
            # Held-out rows, centred and scaled like the training rows.
            left = self.rows[test] - (self.rows[train].mean(axis=0) if self.centre else 0.0)
            if deviation is not None and self.rows is self.candidates.rows:
                left /= deviation
            self.values[k, at] = log_likelihood(left.T @ left / test.size, solution)
            self.models[k, at] = compressed_rows(solution.precision)

        new = [k for k in which if np.isnan(self.values[k, at])]
        if new:
            start = self.models.get((0, at))
            self.subsets.solve(at, float(self.tol[at]), which=new, start=start, on_solution=judge)


def choose_by_likelihood(
    candidates: Candidates, folds: list[tuple[Array, Array]], held_rows: FloatArray, centre: bool
) -> ChosenStrength:
    """The strength with the largest mean log-likelihood of held-out rows.

    The likelihood is that of ``held_rows``: all rows, or their normal scores if correlations of
    ranks are fitted.
    """
    held = HeldOut(candidates, folds, held_rows, centre)
    best = held.best()
    return ChosenStrength(held.mean, best, held.start(best))


def choose_by_ebic(candidates: Candidates, gamma: float) -> ChosenStrength:
    """The strength with the smallest extended BIC of the model of all rows."""
    n, S = candidates.rows.shape[0], candidates.S
    values = np.array([ebic(S, n, one, gamma) for one in candidates.path(S)])
    return ChosenStrength(values, int(np.argmin(values)))


def choose_by_stability(candidates: Candidates, rng: np.random.Generator) -> ChosenStrength:
    """The smallest strength whose edges are nearly the same on all subsamples (StARS).

    Strengths are tried in decreasing order, up to the first one whose edges differ by more than
    `INSTABILITY`. The values of all later strengths are NaN.
    """
    n, p = candidates.rows.shape
    # Subsamples of 10 sqrt(n) rows (Liu, Roeder, Wasserman, 2010), but not nearly all of them.
    size = min(max(2, int(10.0 * math.sqrt(n))), max(2, int(LARGEST_SUBSAMPLE * n)))
    subsets = Subsets(
        candidates, [rng.choice(n, size=size, replace=False) for _ in range(SUBSAMPLES)]
    )
    values = np.full(candidates.strengths.size, np.nan)
    best = 0
    for at in range(candidates.strengths.size):
        subsets.solve(at, LOOSE_TOL)
        frequency = np.zeros((p, p))  # share of the subsamples in which a pair is connected
        for one in subsets.precisions:
            if one is not None:
                frequency[one.nonzero()] += 1.0 / SUBSAMPLES
        # Mean over the pairs of 2 f (1 - f): both triangles are in the sum.
        values[at] = 2.0 * float(np.sum(frequency * (1.0 - frequency))) / max(1, p * (p - 1))
        if values[at] > INSTABILITY:
            break
        best = at
    return ChosenStrength(values, best)
