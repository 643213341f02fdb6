"""Scores of one surrogate by strength and fold, and which strength they speak for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from auctor.core.errors import DataError
from auctor.core.protocols import Penalty
from auctor.core.result import Solution, Status
from auctor.core.types import FloatArray
from auctor.core.watching import tell_plan, tell_stage
from auctor.training.fold_scores import FoldScorer, OutOfTimeError, Scored
from auctor.training.metric import Chosen

#: Mean scores closer than this, relative and absolute, are equal: what rounding leaves of sums.
EQUAL = 1e-12
#: Rounding of a mean over folds beside its standard error.
ROUNDING = 1e-9
#: Stands in for a strength of zero in ratios.
TINY = 1e-300
#: Share of the tolerance that models must meet that start from a model of another fold: it has
#: seen the rows that they are scored on, of which nothing may be left. A step of Newton's method
#: from there leaves less.
APART = 0.1


@dataclass
class Budget:
    """How exactly models are fitted whose scores are compared, and how far a search has come.

    Parameters
    ----------
    tol : float
        Of every fit, as in `auctor.minimise`.
    max_iter : int
        Of every fit.
    planned : int
        Paths that the search will need, as far as it knows.
    points : int
        Strengths on these paths, all together.
    """

    tol: float
    max_iter: int
    planned: int
    points: int
    done: int = 0

    def step(self, points: int) -> None:
        """Say that another path begins, of so many strengths."""
        self.done += 1
        self.planned = max(self.planned, self.done)
        self.points = max(self.points - points, 0)
        tell_stage("fold", self.done, self.planned)
        tell_plan(self.points)


@dataclass(eq=False)
class Curve:
    """Models of one surrogate at some strengths on some folds.

    Parameters
    ----------
    scorer : FoldScorer
    chosen : Chosen
        The metric with the surrogate.
    penalty : Penalty
        With a strength of one.
    name : str
        Of the surrogate.
    """

    scorer: FoldScorer
    chosen: Chosen
    penalty: Penalty
    name: str = "auto"
    table: dict[float, dict[int, Scored]] = field(default_factory=dict)

    def add(self, folds: Iterable[int], strengths: Sequence[float], budget: Budget) -> None:
        """Score the strengths on the folds, those that are not there yet.

        A fold in which the time ends, or somebody ends it, counts only if it is the first.
        """
        for fold in folds:
            new = sorted({s for s in strengths if fold not in self.table.get(s, {})}, reverse=True)
            if not new:
                continue
            budget.step(len(new))
            start, own = self._start(fold, new[0])
            found = self.scorer.score(
                fold,
                self.chosen,
                self.penalty,
                np.array(new),
                tol=budget.tol if own else APART * budget.tol,
                max_iter=budget.max_iter,
                start=start,
            )
            last = found[-1].solutions[-1].status if found else Status.CONVERGED
            ended = last is Status.INTERRUPTED or (
                len(found) < len(new) and not np.isnan(found[-1].score)
            )
            if not ended or not any(self.table.get(s) for s in new):
                for strength, one in zip(new, found, strict=False):
                    self.table.setdefault(strength, {})[fold] = one
            if ended and (last is Status.INTERRUPTED or np.isinf(self.scorer.end)):
                raise KeyboardInterrupt
            if ended:
                raise OutOfTimeError

    def _start(self, fold: int, strength: float) -> tuple[Sequence[Solution], bool]:
        """A model to start from, and whether it is of the same fold; none where zero is near.

        That of the nearest strength; a path that begins at the largest of all starts from zero.
        Searches on five tables took 0.96 to 1.5 times the CPU seconds without it, those with more
        columns and weaker penalties the most.
        So does a loss with kinks on a new fold: it gains nothing from another fold's model, and
        may take it as it is.
        """
        near = sorted(self.table, key=lambda s: max(s, strength) / max(min(s, strength), TINY))
        own = [self.table[s][fold] for s in near if fold in self.table[s]]
        if own:
            return own[0].solutions, True
        if not near or strength >= max(near) or not self.chosen.loss.smooth:
            return (), True
        return next(iter(self.table[near[0]].values())).solutions, False

    @property
    def strengths(self) -> FloatArray:
        """What was tried, decreasing."""
        return np.array(sorted(self.table, reverse=True))

    def scores(self, *, second: bool = False) -> FloatArray:
        """Scores by fold and strength, NaN where there are none."""
        found = np.full((len(self.scorer.folds), len(self.table)), np.nan)
        for k, strength in enumerate(self.strengths.tolist()):
            for fold, one in self.table[strength].items():
                found[fold, k] = one.second if second else one.score
        return found

    def means(self, *, second: bool = False) -> FloatArray:
        """Mean scores by strength; NaN where another strength was scored on more folds."""
        scores = self.scores(second=second)
        counts = (~np.isnan(scores)).sum(axis=0)
        full = (counts == counts.max(initial=0)) & (counts > 0)
        means = np.full(counts.size, np.nan)
        means[full] = np.nanmean(scores[:, full], axis=0)
        return means

    def best(self, who: str) -> int:
        """Position of the best mean score; of equal ones the best by the second score."""
        means = self.means()
        if not means.size or np.isnan(means).all():
            raise DataError(
                who,
                needs="scores that are numbers",
                got="NaN in every fold or at every strength",
                todo="Use fewer folds, or check scoring.",
            )
        top = float(np.nanmax(means))
        tied = np.flatnonzero(np.isclose(means, top, rtol=EQUAL, atol=EQUAL))
        seconds = self.means(second=True)[tied]
        return int(tied[0 if np.isnan(seconds).all() else np.nanargmax(seconds)])

    def simplest(self, who: str) -> int:
        """Position of the largest strength within one standard error of the best."""
        best = self.best(who)
        return within_error(self.means(), best, self.scores()[:, best])

    def lead(self, mine: int, other: FloatArray) -> tuple[float, float]:
        """Mean lead of a strength over other scores, by fold, and its standard error."""
        apart = self.scores()[:, mine] - other
        return mean_and_error(apart[~np.isnan(apart)])

    def ahead(self, mine: int, other: FloatArray) -> bool:
        """Whether a strength leads other scores by more than one standard error.

        A lead on a single fold is one standard error, up to rounding, and does not count.
        """
        mean, error = self.lead(mine, other)
        return mean > (1.0 + ROUNDING) * error

    def rising_edge(self, at: int) -> bool:
        """Whether a strength ends the range that was tried, with scores that still rise there."""
        beside = self._beside(at)
        if beside is None:
            return False
        return self.ahead(at, self.scores()[:, beside])

    def level(self, at: int) -> bool:
        """Whether a strength ends the range that was tried, and the one beside it scores the same.

        By the second score too: under a very strong penalty all models rank alike.
        """
        beside = self._beside(at)
        if beside is None:
            return False
        pairs = [self.means(second=second)[[at, beside]] for second in (False, True)]
        return all(bool(np.isclose(a, b, rtol=EQUAL, atol=EQUAL, equal_nan=True)) for a, b in pairs)

    def inside(self, at: int) -> int:
        """A strength that does not end the range that was tried, unless scores rise there.

        Where they are level up to their noise, the one beside the end is as good.
        """
        beside = self._beside(at)
        if beside is None or self.rising_edge(at) or np.isnan(self.means()[beside]):
            return at
        return beside

    def _beside(self, at: int) -> int | None:
        """The neighbour of a strength that ends the range, where three or more were tried."""
        last = len(self.table) - 1
        if last < 2 or at not in (0, last):
            return None
        return 1 if at == 0 else last - 1


def mean_and_error(values: FloatArray) -> tuple[float, float]:
    """Mean and its standard error; infinite for fewer than two values."""
    if values.size < 2:
        return float(values.mean()) if values.size else 0.0, np.inf
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def within_error(means: FloatArray, best: int, scores: FloatArray) -> int:
    """The first position whose mean is within one standard error of the best one's.

    Parameters
    ----------
    means : array
        By strength, decreasing.
    best : int
        Position of the best one.
    scores : array
        Scores of the best one by fold; NaN where there is none.

    Examples
    --------
    >>> within_error(np.array([0.1, 0.75, 0.8]), 2, np.array([0.7, 0.9]))
    1
    """
    _, error = mean_and_error(scores[~np.isnan(scores)])
    return int(np.flatnonzero(means >= means[best] - error)[0]) if np.isfinite(error) else best
