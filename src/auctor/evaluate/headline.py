"""The main metrics of two classes, with 95 % intervals, of rows with or without weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from auctor import metrics
from auctor.core.checks import check_real
from auctor.core.errors import speaks_as
from auctor.core.types import Array, FloatArray
from auctor.evaluate import curves
from auctor.evaluate.info import Headline
from auctor.evaluate.intervals import DELONG, Estimate, around, fbeta_error, spread, wilson
from auctor.evaluate.trained_metric import ReportedMetric, trained_metric
from auctor.metrics.error import Confusion
from auctor.metrics.inputs import validate
from auctor.metrics.precision_recall import fbeta_along
from auctor.metrics.sweep import Sweep, sweep


@speaks_as("headline")
def headline(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    *,
    threshold: float = 0.0,
    beta: float = 1.0,
    seed: int = 0,
    weight: FloatArray | None = None,
) -> Headline:
    """AUC, average precision, PRBEP, F-beta, precision and recall, with 95 % intervals.

    Parameters
    ----------
    y, scores
        As in `auctor.metrics.auc`.
    threshold : float
        Rows with a greater score are predicted positive.
    beta : float
        Weight of recall in F-beta.
    seed : int
        Random seed of the bootstrap.
    weight : (n,) array, optional
        Of the rows; all intervals are then by a bootstrap of the rows.

    Examples
    --------
    >>> model = headline([0, 0, 0, 1, 1, 1], [1.0, 2.0, 4.0, 3.0, 5.0, 6.0], threshold=3.5)
    >>> [round(value, 3) for value in model.recall[:3]]
    [0.667, 0.208, 0.939]
    """
    threshold = check_real("threshold", threshold)
    beta = check_real("beta", beta, low=0.0)
    rows = validate(y, scores, weight)
    if rows.weight is not None:
        return _weighted_headline(
            np.asarray(rows.positive), rows.scores, rows.weight, threshold, beta, seed
        )
    return swept_headline(y, scores, sweep(rows), threshold, beta, seed)


def swept_headline(
    y: npt.ArrayLike, scores: npt.ArrayLike, s: Sweep, threshold: float, beta: float, seed: int
) -> Headline:
    """The headline from a sweep over the thresholds, as `headline` returns it."""
    at, positives = curves.above(s, threshold), s.positives
    tp, fp = float(s.tp[at]), float(s.fp[at])
    table = Confusion(tp, fp, positives - tp, s.negatives - fp)
    error = spread(s, seed)
    average = float(np.diff(s.tp) @ (s.tp[1:] / s.depth[1:])) / positives
    fbeta = float(fbeta_along(s, beta)[at])
    return Headline(
        auc=Estimate(*metrics.auc_interval(y, scores)[:3], DELONG),
        average_precision=around(average, error.average_precision, positives),
        prbep=around(s.captured(positives) / positives, error.prbep, positives),
        fbeta=around(fbeta, fbeta_error(table, beta, seed), positives),
        precision=wilson(tp, tp + fp),
        recall=wilson(tp, positives),
        beta=beta,
        threshold=threshold,
    )


def _weighted_headline(
    hit: Array, scores: FloatArray, weight: FloatArray, threshold: float, beta: float, seed: int
) -> Headline:
    """The headline of rows with weights, whose intervals are by the bootstrap."""

    def estimate(measure: Callable[[Array, FloatArray, FloatArray], float]) -> Estimate:
        def weighted(y: Array, s: FloatArray, drawn: FloatArray | None) -> float:
            return measure(y, s, weight if drawn is None else weight * drawn)

        return trained_metric(ReportedMetric("", weighted), hit, scores, seed=seed)[0].test

    def table(y: Array, s: FloatArray, w: FloatArray) -> Confusion:
        return metrics.confusion(y, s > threshold, weight=w)

    def precision(y: Array, s: FloatArray, w: FloatArray) -> float:
        headline = table(y, s, w)
        flagged = headline.tp + headline.fp
        return headline.tp / flagged if flagged > 0.0 else math.nan

    def recall(y: Array, s: FloatArray, w: FloatArray) -> float:
        headline = table(y, s, w)
        return headline.tp / (headline.tp + headline.fn)

    return Headline(
        auc=estimate(lambda y, s, w: metrics.auc(y, s, weight=w)),
        average_precision=estimate(lambda y, s, w: metrics.average_precision(y, s, weight=w)),
        prbep=estimate(lambda y, s, w: metrics.prbep(y, s, weight=w)),
        fbeta=estimate(lambda y, s, w: metrics.fbeta(y, s > threshold, beta=beta, weight=w)),
        precision=estimate(precision),
        recall=estimate(recall),
        beta=beta,
        threshold=threshold,
    )


def calibration(
    y: npt.ArrayLike, probability: FloatArray | None, weight: FloatArray | None
) -> Estimate | None:
    """The calibration error of probabilities with its interval; ``None`` without probabilities."""
    if probability is None:
        return None
    error = metrics.calibration_error(y, np.clip(probability, 0.0, 1.0), weight=weight)
    return Estimate(*error, "normal, of its square")
