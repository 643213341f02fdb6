"""The numbers of a report on a model: its metric, columns and errors, and other models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.columns import ColumnBins
from auctor.additive.model import AdditiveModel
from auctor.core.errors import speaks_as
from auctor.core.result import Solution
from auctor.core.types import FloatArray, Target
from auctor.core.version import __version__
from auctor.data import as_matrix, wrap
from auctor.data.matrices import dense_array
from auctor.data.preparation import column_moments
from auctor.evaluate.build import build_report
from auctor.evaluate.curves_info import CurvesInfo, curves_info, part_texts, striking_rows
from auctor.evaluate.info import (
    DataInfo,
    MetricStep,
    PathInfo,
    ReportedModel,
    ReportInfo,
    feature_name,
)
from auctor.evaluate.rows import MAX_REASONS, MeasuredRows, Reason
from auctor.evaluate.scores import ScoredRows
from auctor.evaluate.trained_metric import ReportedMetric, Rival
from auctor.fit.metric import ALIASES, falling_base, parse, resolve_metric
from auctor.fit.model import LinearModel
from auctor.fit.result import StrengthChoice
from auctor.tables.schema import Schema

#: For a metric that is a loss object: the metric that the report shows, by the name it resolves to.
UNNAMED = {"auc": "auc", "error": "accuracy"}
#: Unit of a column in texts such as "per day", by the kind of the column; else "1".
UNITS = {"date": "day", "category": "category"}


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
    """

    seconds: float = math.nan
    train_auc: float = math.nan
    train_score: float = math.nan
    metric_steps: Sequence[MetricStep] = ()
    path: PathInfo | None = None
    warnings: Sequence[str] = ()
    command: str = ""
    rivals: Sequence[Rival] = ()
    solution: Solution | None = None
    name: str | None = None
    numbers: Sequence[int] | None = None
    slices: Mapping[str, Sequence[str]] | None = None


@speaks_as("report")
def reported_metric(model: LinearModel) -> ReportedMetric:
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
    shift = float(model.positive_scores(model.threshold)[0]) if metric.by_level else 0.0
    return ReportedMetric(name, metric.measure, falling_base(name), shift)


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
    parts: _CurveTerms | _LinearTerms
    if isinstance(model, AdditiveModel):
        parts = _CurveTerms(model, matrix, schema, rows)
    else:
        parts = _LinearTerms(model, as_matrix(matrix), schema, rows)
    metric = reported_metric(model)
    candidate = ReportedModel(  # the model is the only one of the report
        str(model.metric) if told.name is None else told.name,
        rows.scores,
        solution=told.solution,
        seconds=told.seconds,
        train_auc=told.train_auc,
        coef=parts.coef,
        feature_names=parts.names,
        first_index=schema.first_index,
        probabilities=rows.likely,
        metric_steps=told.metric_steps,
        headline=rows.headline if beta == 1.0 else None,
        deviations=parts.deviations,
        units=parts.units,
    )
    numbers = range(1, rows.codes.size + 1) if told.numbers is None else told.numbers
    return build_report(
        title,
        rows.hit,
        [candidate],
        data=data,
        path=told.path,
        columns=columns,
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


def path_info(search: StrengthChoice, metric: Any, nonzeros: Sequence[float] = ()) -> PathInfo:
    """The scores of the cross-validation that picked the strength.

    Parameters
    ----------
    search : StrengthChoice
    metric : str or loss
        The metric that the scores are of.
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
        metric=str(metric),
    )


def units_of(schema: Schema) -> list[str] | None:
    """Unit of each encoded column, for texts such as "0.3 per day".

    Examples
    --------
    >>> from auctor.tables.schema import Column
    >>> units_of(Schema.of([Column("sold", "date"), Column("city", "category", levels=("a",))], None))
    ['day', 'category']
    """  # noqa: E501
    if not schema.columns:
        return None
    return [UNITS.get(c.kind, "1") for c in schema.columns for _ in range(c.width)]


class _LinearTerms:
    """Coefficients of a linear model, and what each column adds to the score of a row."""

    curves: CurvesInfo | None = None

    def __init__(self, model: LinearModel, matrix: Any, schema: Schema, rows: ScoredRows) -> None:
        self.matrix, self.first = matrix, schema.first_index
        self.mean, self.deviations = column_moments(matrix)
        self.coef = rows.sign * model.coef[0]
        self.names, self.units = schema.feature_names, units_of(schema)

    def reasons(self, position: int) -> list[Reason]:
        """Largest contributions to the score of a row, both signs, relative to column means."""
        row = wrap(self.matrix[[position]], Target(np.empty(0)))
        values = row.gradient(np.ones(1))  # X.T @ [1]: the row as a dense vector
        parts = self.coef * (values - self.mean)
        return _strongest(self.names, self.first, values.tolist(), parts, self.units)


class _CurveTerms:
    """Curves of an additive model, and what each column or pair adds to the score of a row."""

    coef: FloatArray = np.empty(0)
    names: tuple[str, ...] | None = None
    deviations: FloatArray | None = None
    units: list[str] | None = None

    def __init__(self, model: AdditiveModel, matrix: Any, schema: Schema, rows: ScoredRows) -> None:
        self.model, self.matrix, self.sign = model, matrix, rows.sign
        self.first = schema.first_index
        names = schema.feature_names
        self.parts = None if names is None else model.part_names(names)
        self.kinds = units_of(schema)
        striking = striking_rows(rows.scores)
        self.curves = curves_info(model, schema.feature_names, matrix, striking)

    def reasons(self, position: int) -> list[Reason]:
        """Largest contributions to the score of a row, both signs, relative to the mean row."""
        row = self.matrix[[position]]
        parts = self.sign * self.model.explained(row)[0, :, 0]
        values = dense_array(row)[0].astype(np.float64)
        shown: list[float | str] = list(part_texts(values, self.model.bins))
        for k in np.flatnonzero(~np.isnan(values)).tolist():
            if isinstance(self.model.bins.columns[k], ColumnBins):
                shown[k] = float(values[k])
        return _strongest(self.parts, self.first, shown, parts, self.kinds)


def _strongest(
    names: Sequence[str] | None,
    first: int | None,
    values: Sequence[float | str],
    parts: FloatArray,
    units: Sequence[str] | None,
) -> list[Reason]:
    """The `MAX_REASONS` largest and smallest contributions, as `Reason` objects."""
    known = dict(enumerate(units or ()))
    order = np.argsort(parts, kind="stable")
    columns = dict.fromkeys([*order[:MAX_REASONS].tolist(), *order[-MAX_REASONS:].tolist()])
    return [
        Reason(feature_name(names, first, k), values[k], float(parts[k]), known.get(k, "1"))
        for k in columns
    ]
