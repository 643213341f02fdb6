"""Candidates of a search, the rule that skips their folds, and the table of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import rankdata

from auctor.core.types import FloatArray


@dataclass(frozen=True)
class FoldResult:
    """Times and scores by their names in ``cv_results_``, the error if any, and the fitted model.

    A failed fold has no scores. The model is kept only if another fit can be warm-started from it.
    """

    scores: dict[str, float]
    error: str | None = None
    model: Any = None


@dataclass
class ScoredParameters:
    """Parameters, the results of each evaluated fold, and the mean score of the leading metric.

    If a fold failed, the candidate failed and ``value`` is NaN. ``fallback`` is the score of a
    failed fold.
    """

    parameters: dict[str, Any]
    fallback: float = np.nan
    folds: dict[int, FoldResult] = field(default_factory=dict)
    value: float = np.nan

    @property
    def errors(self) -> list[str]:
        """Error texts of the failed folds."""
        return [fold.error for fold in self.folds.values() if fold.error is not None]

    def scores(self, metric: str, part: str = "test") -> dict[int, float]:
        """Score of each evaluated fold."""
        name = f"{part}_{metric}"
        return {k: fold.scores.get(name, self.fallback) for k, fold in self.folds.items()}


def cannot_win(
    candidate: ScoredParameters, others: Sequence[ScoredParameters], metric: str
) -> bool:
    """Whether a candidate stays below the best even with a record score on each remaining fold.

    ``(own scores on the evaluated folds + the best score of any candidate on each other fold) /
    folds`` is compared with the best mean. This is a heuristic: a candidate that would beat all
    others by much on a remaining fold may be dropped wrongly.
    """
    whole = [one for one in others if np.isfinite(one.value)]
    if not whole:
        return False
    done = candidate.scores(metric)
    if not np.isfinite(list(done.values())).all():
        return True  # the mean will not be finite
    records: dict[int, float] = {}
    for one in whole:
        for k, score in one.scores(metric).items():
            records[k] = max(score, records.get(k, -np.inf))
    rest = [record for k, record in records.items() if k not in done]
    if not rest:
        return False
    bound = float(np.mean([*done.values(), *rest]))
    return bound < max(one.value for one in whole)


def mean_score(
    candidate: ScoredParameters, others: Sequence[ScoredParameters], metric: str, n_splits: int
) -> float:
    """Mean over the folds; if some were skipped, an estimate.

    The estimate is the mean of the best candidate plus the mean difference on their common folds.
    """
    own = candidate.scores(metric)
    if candidate.errors:
        return float("nan")
    if len(own) == n_splits or not np.isfinite(list(own.values())).all():
        return float(np.mean(list(own.values())))
    whole = [one for one in others if np.isfinite(one.value) and len(one.folds) == n_splits]
    best = max(whole, key=lambda one: one.value)
    theirs = best.scores(metric)
    return best.value + float(np.mean([score - theirs[k] for k, score in own.items()]))


def cv_results(
    candidates: Sequence[ScoredParameters], metrics: list[str], n_splits: int
) -> dict[str, Any]:
    """The table ``cv_results_`` of scikit-learn, with a column ``n_folds``."""
    table: dict[str, Any] = {}
    for what in ("fit_time", "score_time"):
        times = [[fold.scores[what] for fold in one.folds.values()] for one in candidates]
        table[f"mean_{what}"] = np.array([np.mean(each) for each in times])
        table[f"std_{what}"] = np.array([np.std(each) for each in times])
    for name in dict.fromkeys(name for one in candidates for name in one.parameters):
        present = [one.parameters[name] for one in candidates if name in one.parameters]
        column = np.ma.MaskedArray(np.empty(len(candidates), dtype=_dtype(present)), mask=True)
        for i, one in enumerate(candidates):
            if name in one.parameters:
                column[i] = one.parameters[name]
        table[f"param_{name}"] = column
    table["params"] = [one.parameters for one in candidates]
    parts = ["test"]
    train = f"train_{metrics[0]}"
    if any(train in fold.scores for one in candidates for fold in one.folds.values()):
        parts.append("train")
    for metric in metrics:
        for part in parts:
            _scores(table, candidates, metric, part, n_splits)
    table["n_folds"] = np.array([len(one.folds) for one in candidates])
    return table


def _dtype(values: Sequence[Any]) -> np.dtype[Any]:
    """The type of a column of parameters: that of its numbers, otherwise ``object``."""
    if all(isinstance(value, bool | np.bool_) for value in values) or all(
        isinstance(value, int | float | np.number) and not isinstance(value, bool)
        for value in values
    ):
        return np.array(values).dtype
    return np.dtype(object)


def _scores(
    table: dict[str, Any],
    candidates: Sequence[ScoredParameters],
    metric: str,
    part: str,
    n_splits: int,
) -> None:
    """Add the columns of one metric: each split, mean, standard deviation, and the test rank."""
    grid = np.full((len(candidates), n_splits), np.nan)
    for i, one in enumerate(candidates):
        for k, score in one.scores(metric, part).items():
            grid[i, k] = score
    for k in range(n_splits):
        table[f"split{k}_{part}_{metric}"] = grid[:, k]
    means, spreads = _by_row(grid, candidates)
    if part == "test":
        means = _estimated(means, grid, candidates, n_splits)
    table[f"mean_{part}_{metric}"], table[f"std_{part}_{metric}"] = means, spreads
    if part == "test":
        low = np.where(np.isnan(means), -np.inf, means)
        ranks = rankdata(-low, method="min").astype(np.int32)
        table[f"rank_{part}_{metric}"] = ranks


def _by_row(
    grid: FloatArray, candidates: Sequence[ScoredParameters]
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation over the evaluated folds of each candidate."""
    rows = [grid[i, sorted(one.folds)] for i, one in enumerate(candidates)]
    return np.array([row.mean() for row in rows]), np.array([row.std() for row in rows])


def _estimated(
    means: FloatArray, grid: FloatArray, candidates: Sequence[ScoredParameters], n_splits: int
) -> FloatArray:
    """Means, with estimates as in `mean_score` for candidates with skipped folds."""
    # A failed candidate is no estimate: its mean is that of the scores it has.
    whole = np.array([len(one.folds) == n_splits or bool(one.errors) for one in candidates])
    sound = whole & np.array([not one.errors for one in candidates])
    if whole.all() or not np.isfinite(means[sound]).any():
        return means
    best = int(np.flatnonzero(sound)[np.nanargmax(means[sound])])
    estimates = means.copy()
    for i in map(int, np.flatnonzero(~whole)):
        have = sorted(candidates[i].folds)
        estimates[i] = means[best] + (grid[i, have] - grid[best, have]).mean()
    return estimates
