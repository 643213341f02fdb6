"""Cross-validation curve of one surrogate: scores by strength and fold, and the best strength."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from auctor.core.errors import DataError
from auctor.core.protocols import Penalty
from auctor.core.result import Solution, Status
from auctor.core.rounding import SMALLEST_DIVISOR
from auctor.core.types import FloatArray
from auctor.core.watching import tell_plan, tell_stage
from auctor.fit.fold_scores import FoldModel, FoldScorer, OutOfTimeError
from auctor.fit.metric import Goal

#: Mean scores that differ by less than this, relative or absolute, count as equal.
EQUAL = 1e-12
#: Rounding error of a mean over folds, relative to its standard error.
MEAN_ROUNDING = 1e-9
#: Factor on the tolerance of a fit that is warm-started from a model of another fold.
OTHER_FOLD_TOL = 0.1


@dataclass
class Budget:
    """Tolerance and iterations of the fits of a search, and its progress.

    Parameters
    ----------
    tol : float
        Tolerance of every fit, as in `auctor.minimise`.
    max_iter : int
        Largest number of iterations of every fit.
    planned : int
        Number of paths that the search is expected to solve.
    points : int
        Number of strengths on these paths in total that are still to be solved.
    done : int
        Number of paths begun.
    """

    tol: float
    max_iter: int
    planned: int
    points: int
    done: int = 0

    def step(self, points: int) -> None:
        """Report that another path begins, with ``points`` strengths."""
        self.done += 1
        self.planned = max(self.planned, self.done)
        self.points = max(self.points - points, 0)
        tell_stage("fold", self.done, self.planned)
        tell_plan(self.points)


@dataclass(eq=False)
class ValidationCurve:
    """Held-out scores of one surrogate at several strengths on several folds.

    Parameters
    ----------
    goal : Goal
        The metric with the surrogate.
    penalty : Penalty
        With a strength of one.
    name : str
        Name of the surrogate.
    table : dict
        The scored models: strength -> fold -> `FoldModel`.
    """

    scorer: FoldScorer
    goal: Goal
    penalty: Penalty
    name: str = "auto"
    table: dict[float, dict[int, FoldModel]] = field(default_factory=dict)

    def add(self, folds: Iterable[int], strengths: Sequence[float], budget: Budget) -> None:
        """Score those of the strengths that have not been scored yet on the folds.

        An incomplete fold, by an interrupt or the end of the time, is kept only if these strengths
        have no scores on another fold: means over different folds cannot be compared.
        """
        for fold in folds:
            new = sorted({s for s in strengths if fold not in self.table.get(s, {})}, reverse=True)
            if not new:
                continue
            budget.step(len(new))
            # One path per fold, from the largest strength down.
            start, own = self._start(fold, new[0])
            models = self.scorer.score(
                fold,
                self.goal,
                self.penalty,
                np.array(new),
                tol=budget.tol if own else OTHER_FOLD_TOL * budget.tol,
                max_iter=budget.max_iter,
                start=start,
            )
            last = models[-1].solutions[-1].status if models else Status.CONVERGED
            # A path that is too short was ended, unless the metric was undefined (a NaN score).
            ended = last is Status.INTERRUPTED or (
                len(models) < len(new) and not np.isnan(models[-1].score)
            )
            if not ended or not any(self.table.get(s) for s in new):
                for strength, one in zip(new, models, strict=False):
                    self.table.setdefault(strength, {})[fold] = one
            if ended and (last is Status.INTERRUPTED or np.isinf(self.scorer.end)):
                raise KeyboardInterrupt
            if ended:
                raise OutOfTimeError

    def _start(self, fold: int, strength: float) -> tuple[Sequence[Solution], bool]:
        """Warm start for a path on a fold, and whether it is a model of the same fold.

        It is the model of the nearest strength, of this fold if there is one. A path that begins
        at the largest strength of all starts from zero, which is near its solution. Without warm
        starts, searches on five tables took 0.96 to 1.5 times the CPU seconds, most with many
        columns and weak penalties. A loss with kinks starts from zero on a new fold: it gains
        nothing from another fold's model and may stop at once there, within its tolerance.
        """
        near = sorted(
            self.table, key=lambda s: max(s, strength) / max(min(s, strength), SMALLEST_DIVISOR)
        )
        own = [self.table[s][fold] for s in near if fold in self.table[s]]
        if own:
            return own[0].solutions, True
        if not near or strength >= max(near) or not self.goal.loss.smooth:
            return (), True
        return next(iter(self.table[near[0]].values())).solutions, False

    @property
    def strengths(self) -> FloatArray:
        """The strengths that were scored, decreasing."""
        return np.array(sorted(self.table, reverse=True))

    def scores(self, *, second: bool = False) -> FloatArray:
        """Scores, shape (folds, strengths), NaN where there are none.

        ``second`` asks for the scores that break ties, the average precision.
        """
        table = np.full((len(self.scorer.folds), len(self.table)), np.nan)
        for k, strength in enumerate(self.strengths.tolist()):
            for fold, one in self.table[strength].items():
                table[fold, k] = one.second if second else one.score
        return table

    def means(self, *, second: bool = False) -> FloatArray:
        """Mean scores by strength; NaN where another strength was scored on more folds."""
        scores = self.scores(second=second)
        # Means over different numbers of folds cannot be compared.
        counts = (~np.isnan(scores)).sum(axis=0)
        full = (counts == counts.max(initial=0)) & (counts > 0)
        means = np.full(counts.size, np.nan)
        means[full] = np.nanmean(scores[:, full], axis=0)
        return means

    def best(self) -> int:
        """Position of the best mean score; ties are broken by the second score."""
        means = self.means()
        if not means.size or np.isnan(means).all():
            raise DataError(
                "scores that are numbers; got NaN in every fold or at every strength. Use fewer "
                "folds, or check `scoring`."
            )
        top = float(np.nanmax(means))
        tied = np.flatnonzero(np.isclose(means, top, rtol=EQUAL, atol=EQUAL))
        seconds = self.means(second=True)[tied]
        return int(tied[0 if np.isnan(seconds).all() else np.nanargmax(seconds)])

    def simplest(self) -> int:
        """Position of the largest strength within one standard error of the best."""
        best = self.best()
        return within_error(self.means(), best, self.scores()[:, best])

    def lead(self, mine: int, other: FloatArray) -> tuple[float, float]:
        """Mean and standard error over folds of a strength's scores minus ``other`` scores."""
        apart = self.scores()[:, mine] - other
        return mean_and_error(apart[~np.isnan(apart)])

    def leads(self, mine: int, other: FloatArray) -> bool:
        """Whether a strength has a mean lead over other scores of more than one standard error.

        A lead on only one of the folds equals one standard error, up to rounding errors, and does
        not count.
        """
        mean, error = self.lead(mine, other)
        return mean > (1.0 + MEAN_ROUNDING) * error

    def rising_edge(self, at: int) -> bool:
        """Whether a strength is the first or last one tried and scores still rise there."""
        beside = self._inner_neighbour(at)
        if beside is None:
            return False
        return self.leads(at, self.scores()[:, beside])

    def flat_edge(self, at: int) -> bool:
        """Whether a strength is the first or last one tried and its neighbour scores the same.

        The second score must be the same, too. Under a very strong penalty all models rank alike.
        """
        beside = self._inner_neighbour(at)
        if beside is None:
            return False
        pairs = [self.means(second=second)[[at, beside]] for second in (False, True)]
        return all(bool(np.isclose(a, b, rtol=EQUAL, atol=EQUAL, equal_nan=True)) for a, b in pairs)

    def off_edge(self, at: int) -> int:
        """Position to use for ``at``: its inner neighbour if scores are flat at this end.

        At the end of the range, a neighbour within the noise of the folds is as good and safer.
        """
        beside = self._inner_neighbour(at)
        if beside is None or self.rising_edge(at) or np.isnan(self.means()[beside]):
            return at
        return beside

    def _inner_neighbour(self, at: int) -> int | None:
        """Position next to the first or last of three or more strengths, else ``None``."""
        last = len(self.table) - 1
        if last < 2 or at not in (0, last):
            return None
        return 1 if at == 0 else last - 1


def mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Mean and its standard error, which is infinite for fewer than two values."""
    if values.size < 2:
        return float(values.mean()) if values.size else 0.0, np.inf
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def within_error(means: FloatArray, best: int, scores: FloatArray) -> int:
    """The first position whose mean is within one standard error of the best mean.

    Parameters
    ----------
    means : array
        Mean scores, by decreasing strength.
    best : int
        Position of the best mean.
    scores : array
        Scores at the best position, by fold; NaN where there is none.

    Examples
    --------
    >>> within_error(np.array([0.1, 0.75, 0.8]), 2, np.array([0.7, 0.9]))
    1
    """
    _, error = mean_and_error(scores[~np.isnan(scores)])
    return int(np.flatnonzero(means >= means[best] - error)[0]) if np.isfinite(error) else best
