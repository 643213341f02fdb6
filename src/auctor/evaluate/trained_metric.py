"""The metric that a model was trained for: its value, its best possible value, and baselines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.errors import AuctorError
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray
from auctor.evaluate.intervals import REACH, Estimate
from auctor.evaluate.verdict import LINEAR, verdict_on_rows

#: Largest number of bootstrap samples: a standard error is then accurate to 1 / sqrt(400) = 5 %.
DRAWS = 200
#: Smallest number of bootstrap samples: a standard error is then accurate to 16 %.
FEWEST_DRAWS = 20
#: Approximate number of rows over all samples and models, which bounds the time to some seconds.
DRAWN_ROWS = 4_000_000
#: Score of a perfect model: as log-odds its log-loss is 0 in floating point.
CERTAIN = 1e3
#: Name of the method of the intervals, for readers.
METHOD = "stratified bootstrap"

#: A function of labels, scores and row weights; greater is better.
Measure = Callable[[Array, FloatArray, FloatArray | None], float]


class ReportedMetric(NamedTuple):
    """A metric, and how it is computed.

    Parameters
    ----------
    name : str
        Name of the metric, such as ``cost(10)``.
    measure : callable
        Function of labels, scores and row weights; greater is better.
    base : float, optional
        For a metric that should be small, the metric is ``base`` minus the measure.
    shift : float
        Added to the model's scores, from which the threshold was subtracted, before they are
        measured: log-loss needs the scores before that.
    kind : str
        The kind of the model, one of `auctor.evaluate.verdict`.
    """

    name: str
    measure: Measure
    base: float | None = None
    shift: float = 0.0
    kind: str = LINEAR

    def metric_value(self, measured: float) -> float:
        """The metric itself from the value of the measure.

        Examples
        --------
        >>> ReportedMetric("error", lambda y, scores, weight: 0.75, 1.0).metric_value(0.75)
        0.25
        """
        return measured if self.base is None else self.base - measured

    def value(self, y: Array, scores: FloatArray, weight: FloatArray | None = None) -> float:
        """The metric on some rows; NaN if it is not defined for them."""
        try:
            return self.metric_value(float(self.measure(y, scores, weight)))
        except AuctorError:
            return math.nan


class Rival(NamedTuple):
    """A model to compare with: its scores of the test rows, or the reason why it has none.

    Parameters
    ----------
    name : str
    scores : (n,) array, optional
        Scores, above 0 for rows that are predicted positive.
    note : str
        Description of the model, or the reason why it has no scores.
    kind : str
        One of `auctor.evaluate.verdict`.
    """

    name: str
    scores: FloatArray | None
    note: str = ""
    kind: str = LINEAR


class TrainedMetric(NamedTuple):
    """The metric that a model was trained for.

    Parameters
    ----------
    metric : str
    test : Estimate
        The metric on the test rows.
    best : float
        The metric of a perfect model on the test rows.
    train : float
        The metric on the training rows; NaN if it is not known.
    greater : bool
        Whether greater is better.
    verdict : str
        Which of this and the other models to take, by the rule of `auctor compare`; empty without
        others.
    """

    metric: str
    test: Estimate
    best: float
    train: float
    greater: bool
    verdict: str = ""

    @property
    def overfits(self) -> bool:
        """Whether the metric on the training rows is better than the interval of the test rows."""
        return self.train > self.test.high if self.greater else self.train < self.test.low


class Baseline(NamedTuple):
    """The metric of a rival on the same rows.

    Parameters
    ----------
    name : str
    value : float
        The metric; NaN if the rival could not be trained.
    ahead : Estimate, optional
        How much better the model is, over the same bootstrap samples; negative if it is worse.
    note : str
    """

    name: str
    value: float
    ahead: Estimate | None
    note: str = ""


def trained_metric(
    metric: ReportedMetric,
    y: Array,
    scores: FloatArray,
    rivals: Sequence[Rival] = (),
    *,
    train: float = math.nan,
    known: Estimate | None = None,
    seed: int = 0,
) -> tuple[TrainedMetric, tuple[Baseline, ...]]:
    """A metric of a model and of its rivals, on the same bootstrap samples of the rows.

    Parameters
    ----------
    metric : ReportedMetric
    y : (n,) array
        Labels, above 0 for positive rows.
    scores : (n,) array
        Scores of the model, above 0 for rows that it predicts positive.
    rivals : sequence of Rival
    train : float
        The metric on the training rows.
    known : Estimate, optional
        The metric on the test rows, if a better interval than that of the bootstrap is known.
    seed : int
        Random seed of the bootstrap.

    Examples
    --------
    >>> from auctor import metrics
    >>> metric = ReportedMetric("auc", lambda y, s, w: metrics.auc(y, s, weight=w))
    >>> y, scores = np.array([0, 0, 1, 1]), np.array([1.0, 3.0, 2.0, 4.0])
    >>> trained, (constant,) = trained_metric(metric, y, scores, [Rival("constant", np.zeros(4))])
    >>> trained.test.value, trained.best, constant.value, constant.ahead.value
    (0.75, 1.0, 0.5, 0.25)
    """
    hit = np.asarray(y) > 0
    measured = [rival for rival in rivals if rival.scores is not None]
    scores = scores + metric.shift
    every = [scores, *(rival.scores for rival in measured if rival.scores is not None)]
    values = np.array([metric.value(hit, one) for one in every])
    drawn = _draws(metric, hit, every, seed)
    best = metric.value(hit, np.where(hit, CERTAIN, -CERTAIN))
    greater = metric.base is None
    estimate = known or _within(float(values[0]), _error(drawn[:, 0]), greater, best)
    sign = 1.0 if greater else -1.0
    ahead = iter(
        _around(float(sign * (values[0] - values[k])), _error(drawn[:, 0] - drawn[:, k]))
        for k in range(1, len(every))
    )
    own = iter(values[1:].tolist())
    lines = tuple(
        Baseline(rival.name, math.nan, None, rival.note)
        if rival.scores is None
        else Baseline(rival.name, next(own), next(ahead), rival.note)
        for rival in rivals
    )
    models = [("this model", metric.kind), *((rival.name, rival.kind) for rival in measured)]
    told = verdict_on_rows(models, sign * values, sign * drawn)
    return TrainedMetric(metric.name, estimate, best, train, greater, told), lines


def _draws(metric: ReportedMetric, hit: Array, scored: list[FloatArray], seed: int) -> FloatArray:
    """The metric of each model on the same bootstrap samples of the rows, (samples, models).

    A bootstrap sample is drawn from each class separately, as weights of the rows.
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
        row[:] = [metric.value(hit, scores, weight) for scores in scored]
    defined = ~np.isnan(values).any(axis=1)
    return np.asarray(values[defined])


def _error(values: FloatArray) -> float:
    """The standard error; NaN for fewer than two samples."""
    return float(values.std(ddof=1)) if values.size > 1 else math.nan


def _around(value: float, error: float) -> Estimate:
    """A normal interval from a standard error."""
    return Estimate(value, value - REACH * error, value + REACH * error, METHOD)


def _within(value: float, error: float, greater: bool, best: float) -> Estimate:
    """The interval, cut at the best possible value and at zero, the least of all metrics."""
    interval = _around(value, error)
    low = max(0.0 if greater else best, interval.low)
    return interval._replace(low=low, high=min(best, interval.high) if greater else interval.high)
