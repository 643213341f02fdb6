"""The numbers of a report on a model: its metric, columns and errors, and other models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.model import AdditiveModel
from auctor.core.errors import DataError, speaks_as
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray, IntArray
from auctor.core.version import __version__
from auctor.data.preparation import Scaling
from auctor.evaluate.build import build_report
from auctor.evaluate.drift import drifts
from auctor.evaluate.info import DataInfo, MetricStep, PathInfo, ReportedModel, ReportInfo
from auctor.evaluate.rows import MeasuredRows
from auctor.evaluate.scores import ScoredRows
from auctor.evaluate.terms import CurveTerms, LinearTerms
from auctor.evaluate.trained_metric import ReportedMetric, Rival
from auctor.fit.metric import ALIASES, falling_base, parse, resolve_metric
from auctor.fit.model import LinearModel
from auctor.fit.result import StrengthChoice
from auctor.tables.schema import Schema

#: For a metric that is a loss object: the metric that the report shows, by the name it resolves to.
UNNAMED = {"auc": "auc", "error": "accuracy"}


class TrainRows(NamedTuple):
    """The matrix of the training rows, and how it was scaled, if it was."""

    matrix: Any
    scaling: Scaling | None = None


class ReportContext(NamedTuple):
    """What a report shows besides the model and the rows it is measured on.

    Parameters
    ----------
    seconds, train_auc, train_score : float
        Time of the fit, and AUC and score on its training rows; NaN if not known. The score is the
        metric that the model was trained for, greater is better.
    metric_steps : sequence of MetricStep
        The metric on held-out rows during the fit.
    path : PathInfo, optional
    chosen : str
        The kind of model, how it was chosen, and its metric by cross-validation.
    split, savings : str
        How the test rows were chosen, and what the predictions save with costs of each row.
    warnings : sequence of str
    command : str
        The command line that reproduces the model.
    rivals : sequence of Rival
        Other models, measured on the same rows.
    solution : Solution, optional
        Outcome of the fit; models of other libraries and learners of streams have none.
    name : str, optional
        Name of the model; by default its metric.
    numbers : sequence of int, optional
        Row numbers in the file, from 1.
    slices : mapping
        Columns to break metrics down by: name -> value in every row, as text.
    train : TrainRows, optional
        The training rows, to compare their columns with those of the rows.
    """

    seconds: float = math.nan
    train_auc: float = math.nan
    train_score: float = math.nan
    metric_steps: Sequence[MetricStep] = ()
    path: PathInfo | None = None
    chosen: str = ""
    split: str = ""
    savings: str = ""
    warnings: Sequence[str] = ()
    command: str = ""
    rivals: Sequence[Rival] = ()
    solution: Solution | None = None
    name: str | None = None
    numbers: Sequence[int] | None = None
    slices: Mapping[str, Sequence[str]] | None = None
    train: TrainRows | None = None


@speaks_as("report")
def reported_metric(
    model: LinearModel, weight: FloatArray | None = None, groups: IntArray | None = None
) -> ReportedMetric:
    """How the metric of a model of two classes is measured on scores minus its threshold.

    Examples
    --------
    >>> zero = np.zeros(1)
    >>> model = LinearModel(
    ...     coef=np.ones((1, 1)), intercept=zero, classes=np.arange(2), threshold=zero,
    ...     metric="cost(10)",
    ... )
    >>> reported_metric(model).value(np.array([True, True, False]), np.array([1.0, -1.0, -1.0]))
    3.3333333333333335
    """
    metric = resolve_metric(model.metric, "auto")
    name = model.metric if isinstance(model.metric, str) else UNNAMED[metric.name]
    if metric.per is not None and groups is None:
        raise DataError(f"groups of rows for {name}; got none. Pass them, or use auctor report.")
    shift = float(model.positive_scores(model.threshold)[0]) if metric.by_level else 0.0
    if weight is None and metric.per is None:
        return ReportedMetric(name, metric.measure, falling_base(name), shift, model.kind)

    def measure(y: Array, scores: FloatArray, drawn: FloatArray | None) -> float:
        # Only all rows together, which the bootstrap weights: parts of them have other weights.
        size = next(one.size for one in (weight, groups) if one is not None)
        if y.size != size:
            raise DataError(f"all {size} rows; got {y.size}. Pass them.")
        mass = drawn if weight is None or drawn is None else weight * drawn
        return metric.measured(y, scores, weight if drawn is None else mass, groups)

    return ReportedMetric(name, measure, falling_base(name), shift, model.kind)


@speaks_as("report")
def costs_of(metric: Any) -> tuple[float, float]:
    """Costs of a false positive and a false negative under a metric; usually 1 and 1.

    Examples
    --------
    >>> costs_of("cost(10)"), costs_of("auc")
    ((1.0, 10.0), (1.0, 1.0))
    """
    if not isinstance(metric, str):
        return 1.0, 1.0
    name, ratio = parse("metric", ALIASES.get(metric, metric))
    return 1.0, float(ratio) if name == "cost" and ratio is not None else 1.0


@speaks_as("report")
def describe(
    title: str,
    model: LinearModel,
    rows: ScoredRows,
    matrix: Any,
    schema: Schema,
    told: ReportContext,
    *,
    data: DataInfo,
    columns: Sequence[tuple[Any, ...]] = (),
    costs: tuple[float, float] | None = None,
    beta: float = 1.0,
) -> ReportInfo:
    """Measure a model of two classes on rows, for a report.

    Parameters
    ----------
    title : str
    model : LinearModel
        Of two classes; it may be additive.
    rows : ScoredRows
        Labels and scores of the rows.
    matrix : (n, d) array or CSR matrix
        The columns of the rows.
    schema : Schema
    told : ReportContext
    data : DataInfo
    columns : sequence of tuples
        Summaries of the columns of the file.
    costs : pair of floats, optional
        Of a false positive and of a false negative; by default those of the metric.
    beta : float
        Weight of recall in the F-beta of the report.
    """
    # Weights or curves, and the contributions of columns to the score of a row.
    parts: CurveTerms | LinearTerms
    if isinstance(model, AdditiveModel):
        parts = CurveTerms(model, matrix, schema, rows)
    else:
        parts = LinearTerms(model, matrix, schema, rows)
    metric = reported_metric(model, rows.judged, rows.groups)
    candidate = ReportedModel(  # the model is the only one of the report
        str(model.metric) if told.name is None else told.name,
        rows.scores,
        solution=told.solution,
        seconds=told.seconds,
        train_auc=told.train_auc,
        coef=parts.coef,
        features=parts.features,
        probabilities=rows.likely,
        metric_steps=told.metric_steps,
        headline=rows.headline if beta == 1.0 else None,
        weight=rows.weight,
    )
    numbers = range(1, rows.codes.size + 1) if told.numbers is None else told.numbers
    made = build_report(
        title,
        rows.hit,
        [candidate],
        data=data,
        path=told.path,
        columns=_with_drift(columns, schema, told.train, matrix),
        warnings=told.warnings,
        command=told.command,
        costs=costs or costs_of(model.metric),
        beta=beta,
        seed=rows.seed,
        version=__version__,
        metric=metric,
        train_value=metric.metric_value(told.train_score),
        rivals=told.rivals,
        rows=MeasuredRows(numbers, parts.reasons),
        slices=told.slices,
        curves_of=parts.curves,
    )
    return made._replace(chosen=told.chosen, split=told.split, savings=told.savings)


def path_info(search: StrengthChoice, model: Any, nonzeros: Sequence[float] = ()) -> PathInfo:
    """The scores of the cross-validation that picked the strength.

    Parameters
    ----------
    search : StrengthChoice
    model : fitted model
        The scores are of its metric; those of an additive model are of its loss.
    nonzeros : sequence of float
        Mean number of non-zero columns at each strength, if known.
    """
    judged = search.scores[~np.isnan(search.scores).all(axis=1)]  # folds that have scores
    count = search.strengths.size
    seen = (~np.isnan(judged)).sum(axis=0)
    mean, spread = np.full(count, np.nan), np.full(count, np.nan)
    mean[seen > 0] = np.nanmean(judged[:, seen > 0], axis=0)
    several = seen > 1
    spread[several] = np.nanstd(judged[:, several], axis=0, ddof=1) / np.sqrt(seen[several])
    return PathInfo(
        strengths=tuple(search.strengths.tolist()),
        nonzeros=tuple(nonzeros) if len(nonzeros) == count else (math.nan,) * count,
        score_mean=tuple(mean.tolist()),
        score_se=tuple(spread.tolist()),
        best=search.best_index,
        metric="minus the loss" if isinstance(model, AdditiveModel) else str(model.metric),
    )


def _with_drift(
    columns: Sequence[tuple[Any, ...]], schema: Schema, train: TrainRows | None, matrix: Any
) -> list[tuple[Any, ...]]:
    """Summaries of columns with the difference between test and training rows, where known."""
    if train is None or train.matrix is matrix:
        return [tuple(column) for column in columns]
    drift_of = drifts(schema, train.matrix, matrix, train.scaling)
    return [(*column, *drift_of.get(column[0], ())) for column in columns]
