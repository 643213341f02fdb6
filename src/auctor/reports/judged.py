"""The metric that a model was trained for: its value, its best, and what simpler models reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.errors import AuctorError
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray
from auctor.reports.intervals import REACH, Estimate

#: Samples of the bootstrap of a metric at most: the standard error is then good to 5 %.
DRAWS = 200
#: Samples at least: the standard error is then good to 16 %.
FEWEST_DRAWS = 20
#: Rows over all samples, about: some seconds, however many rows there are. Set by hand.
DRAWN_ROWS = 4_000_000
#: A score without any doubt: as log-odds its log-loss is 0.
CERTAIN = 1e3
#: How the interval is made, in words.
METHOD = "stratified bootstrap"

#: A metric of labels, scores and row weights, greater is better.
Measure = Callable[[Array, FloatArray, FloatArray | None], float]


class Judge(NamedTuple):
    """How the metric of a model is measured and how it is said.

    Parameters
    ----------
    name : str
        Of the metric, such as ``cost(10)``.
    measure : callable
        Of labels, scores and row weights; greater is better.
    base : float, optional
        Where less of the metric is better: what the measure is taken off to get it.
    shift : float
        What is added to the scores of the model, minus its threshold, before they are measured:
        log-loss is about the scores themselves.
    """

    name: str
    measure: Measure
    base: float | None = None
    shift: float = 0.0

    def said(self, measured: float) -> float:
        """What was measured, in terms of the metric itself.

        Examples
        --------
        >>> Judge("error", lambda y, scores, weight: 0.75, 1.0).said(0.75)
        0.25
        """
        return measured if self.base is None else self.base - measured

    def value(self, y: Array, scores: FloatArray, weight: FloatArray | None = None) -> float:
        """The metric itself; NaN where these rows do not define it."""
        try:
            return self.said(float(self.measure(y, scores, weight)))
        except AuctorError:
            return math.nan


class Rival(NamedTuple):
    """A simpler or other model to be beaten: its scores of the test rows, or why it has none.

    Parameters
    ----------
    name : str
    scores : (n,) array, optional
        Positive where a positive is predicted.
    note : str
        What it is, or why it is missing.
    """

    name: str
    scores: FloatArray | None
    note: str = ""


class Trained(NamedTuple):
    """The metric that a model was trained for.

    Parameters
    ----------
    metric : str
    test : Estimate
        On the test rows.
    best : float
        Of a perfect model on these rows.
    train : float
        On the training rows; NaN if it is not known.
    greater : bool
        Whether more is better.
    """

    metric: str
    test: Estimate
    best: float
    train: float
    greater: bool

    @property
    def overfits(self) -> bool:
        """Whether the training rows do better than the interval of the test rows allows."""
        return self.train > self.test.high if self.greater else self.train < self.test.low


class Baseline(NamedTuple):
    """What a rival reaches on the same rows.

    Parameters
    ----------
    name : str
    value : float
        The metric; NaN where the rival could not be trained.
    ahead : Estimate, optional
        By how much the model is better, over the same samples of rows; below 0 it is worse.
    note : str
    """

    name: str
    value: float
    ahead: Estimate | None
    note: str = ""


def judged(
    judge: Judge,
    y: Array,
    scores: FloatArray,
    rivals: Sequence[Rival] = (),
    *,
    train: float = math.nan,
    known: Estimate | None = None,
    seed: int = 0,
) -> tuple[Trained, tuple[Baseline, ...]]:
    """A model and its rivals by one metric, on the same samples of the rows.

    Parameters
    ----------
    judge : Judge
    y : (n,) array
        Which rows are positive.
    scores : (n,) array
        Of the model, positive where it predicts a positive.
    rivals : sequence of Rival
    train : float
        The metric on the training rows.
    known : Estimate, optional
        The metric on the test rows where a better interval than the bootstrap's is known.
    seed : int
        Of the bootstrap.

    Examples
    --------
    >>> from auctor import metrics
    >>> judge = Judge("auc", lambda y, s, w: metrics.auc(y, s, weight=w))
    >>> y, scores = np.array([0, 0, 1, 1]), np.array([1.0, 3.0, 2.0, 4.0])
    >>> trained, (constant,) = judged(judge, y, scores, [Rival("constant", np.zeros(4))])
    >>> trained.test.value, trained.best, constant.value, constant.ahead.value
    (0.75, 1.0, 0.5, 0.25)
    """
    hit = np.asarray(y) > 0
    measured = [rival.scores for rival in rivals if rival.scores is not None]
    scores = scores + judge.shift
    errors = _errors(judge, hit, [scores, *measured], seed)
    value = judge.value(hit, scores)
    best = judge.value(hit, np.where(hit, CERTAIN, -CERTAIN))
    greater = judge.base is None
    found = known or _within(value, errors[0], greater, best)
    left = iter(errors[1:])
    lines = []
    for rival in rivals:
        if rival.scores is None:
            lines.append(Baseline(rival.name, math.nan, None, rival.note))
            continue
        own = judge.value(hit, rival.scores)
        difference = value - own if greater else own - value
        ahead = _around(difference, next(left))
        lines.append(Baseline(rival.name, own, ahead, rival.note))
    return Trained(judge.name, found, best, train, greater), tuple(lines)


def _errors(judge: Judge, hit: Array, scored: list[FloatArray], seed: int) -> list[float]:
    """Standard errors of the first metric, and of its difference from each of the others.

    Samples are drawn with replacement from each class on its own, as row weights.
    """
    rng = as_rng(seed)
    draws = int(np.clip(DRAWN_ROWS // (hit.size * len(scored)), FEWEST_DRAWS, DRAWS))
    places = [np.flatnonzero(hit), np.flatnonzero(~hit)]
    values = np.full((draws, len(scored)), np.nan)
    weight = np.empty(hit.size)
    for row in values:
        for place in places:
            weight[place] = np.bincount(rng.integers(place.size, size=place.size),
                                        minlength=place.size)  # fmt: skip
        row[:] = [judge.value(hit, scores, weight) for scores in scored]
    known = values[~np.isnan(values).any(axis=1)]
    if known.shape[0] < 2:
        return [math.nan] * len(scored)
    others = known[:, :1] - known[:, 1:]
    return [float(known[:, 0].std(ddof=1)), *others.std(axis=0, ddof=1).tolist()]


def _around(value: float, error: float) -> Estimate:
    return Estimate(value, value - REACH * error, value + REACH * error, METHOD)


def _within(value: float, error: float, greater: bool, best: float) -> Estimate:
    """The interval, no better than perfect and no less than zero, which no metric falls below."""
    found = _around(value, error)
    low = max(0.0 if greater else best, found.low)
    return found._replace(low=low, high=min(best, found.high) if greater else found.high)
