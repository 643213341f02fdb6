"""The numbers of a report, computed from labels, scores and solutions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from auctor import metrics
from auctor.core.checks import check_real
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray
from auctor.evaluate import curves
from auctor.evaluate.curves import ReliabilityCurve
from auctor.evaluate.curves_info import CurvesInfo
from auctor.evaluate.headline import calibration, headline, swept_headline
from auctor.evaluate.info import (
    ColumnInfo,
    Comparison,
    Convergence,
    DataInfo,
    Feature,
    FitInfo,
    Headline,
    MetricStep,
    ModelInfo,
    PathInfo,
    ReportedModel,
    ReportInfo,
    Weights,
)
from auctor.evaluate.rows import MeasuredRows, costly_rows
from auctor.evaluate.slices import sliced
from auctor.evaluate.table_columns import feature_name
from auctor.evaluate.trained_metric import (
    Baseline,
    ReportedMetric,
    Rival,
    TrainedMetric,
    trained_metric,
)
from auctor.metrics.inputs import validate
from auctor.metrics.sweep import Sweep, sweep

#: Largest number of features in a report: about one screen.
MAX_FEATURES = 30
#: Number of test rows of a class below which the report warns that all its numbers are uncertain.
FEW_ROWS = 30

#: Metric of the slices if it is not known which metric the model was trained for.
RANKING = ReportedMetric("auc", lambda y, scores, weight: metrics.auc(y, scores, weight=weight))


@speaks_as("build_report")
def build_report(  # noqa: PLR0913 - the parts of a page
    title: str,
    y: npt.ArrayLike,
    candidates: Sequence[ReportedModel],
    *,
    data: DataInfo,
    path: PathInfo | None = None,
    columns: Sequence[tuple[Any, ...]] = (),
    warnings: Sequence[str] = (),
    command: str = "",
    costs: tuple[float, float] = (1.0, 1.0),
    beta: float = 1.0,
    seed: int = 0,
    version: str,
    metric: ReportedMetric | None = None,
    train_value: float = math.nan,
    rivals: Sequence[Rival] = (),
    rows: MeasuredRows | None = None,
    slices: Mapping[str, Sequence[str]] | None = None,
    curves_of: CurvesInfo | None = None,
) -> ReportInfo:
    """Measure scored models on labelled rows.

    Parameters
    ----------
    title : str
    y : (n,) array_like
        Two label values, the greater one positive; both must occur.
    candidates : sequence of ReportedModel
        The model, followed by models to compare it with.
    data : DataInfo
    path : PathInfo, optional
        The path of strengths on which the strength was chosen.
    columns : sequence of tuples
        Name, kind, missing, distinct, low, high and mean of each column.
    warnings : sequence of str
        Warnings to show first; the report adds its own.
    command : str
        The command that reproduces the model.
    costs : pair of floats
        Costs of a false positive and of a false negative.
    beta : float
        Weight of recall in F-beta.
    seed : int
        Random seed of the bootstrap.
    version : str
        Version of auctor.
    metric : ReportedMetric, optional
        The metric that the model was trained for; the report starts with it.
    train_value : float
        That metric on the training rows.
    rivals : sequence of Rival
        Simpler models to measure by that metric on the same rows.
    rows : MeasuredRows, optional
        Numbers of the rows in the data, and explanations of their scores.
    slices : mapping, optional
        Columns to show metrics by: the text of each column in every row.
    curves_of : CurvesInfo, optional
        The curves of an additive model.
    """
    beta = check_real("beta", beta, low=0.0)
    checked_costs = tuple(check_real("costs", cost, low=0.0) for cost in costs)
    if len(checked_costs) != 2:
        raise ParameterError(
            f"two costs, of a false positive and of a false negative; got {len(checked_costs)}. "
            "Pass a pair."
        )
    if not candidates:
        raise ParameterError("at least one candidate", got="none", todo="Pass the model.")
    pair = (checked_costs[0], checked_costs[1])
    labels = np.asarray(y)
    models = tuple(
        model_info(labels, candidate, beta=beta, costs=pair, seed=seed) for candidate in candidates
    )
    first, *others = candidates
    hit = np.asarray(validate(labels, first.scores, None).positive)
    margin = first.scores - first.threshold  # positive for rows that are predicted positive
    trained, baselines = _trained(
        hit, margin, metric, train_value, rivals, models[0].headline, seed
    )
    own = _own_warnings(first, models[0], trained)
    names = (data.negative or "negative", data.positive or "positive")
    return ReportInfo(
        title=title,
        data=data,
        models=models,
        comparisons=tuple(compare(labels, first, other) for other in others),
        path=path,
        columns=tuple(ColumnInfo(*row) for row in columns),
        warnings=tuple(dict.fromkeys((*warnings, *own))),
        command=command,
        costs=pair,
        beta=beta,
        seed=seed,
        version=version,
        trained=trained,
        baselines=baselines,
        errors=costly_rows(hit, margin, pair, names, rows=rows, probabilities=first.probabilities),
        slices=tuple(
            sliced(column, words, hit, margin, metric or RANKING)
            for column, words in (slices or {}).items()
        ),
        curves=curves_of,
    )


@speaks_as("build_report")
def model_info(
    y: Array,
    candidate: ReportedModel,
    *,
    beta: float = 1.0,
    costs: tuple[float, float] = (1.0, 1.0),
    seed: int = 0,
) -> ModelInfo:
    """Measure one model on labelled rows; O(n)."""
    threshold = check_real("threshold", candidate.threshold)
    s = heavy = sweep(validate(y, candidate.scores, None))
    head = candidate.headline
    if candidate.weight is not None:
        heavy = sweep(validate(y, candidate.scores, candidate.weight))
        head = head or headline(
            y, candidate.scores, threshold=threshold, beta=beta, seed=seed, weight=candidate.weight
        )
    solution, coef = candidate.solution, candidate.coef
    if coef is None and solution is not None:
        coef = solution.coef
    return ModelInfo(
        name=candidate.name,
        train_auc=float(candidate.train_auc),
        seconds=float(candidate.seconds),
        headline=head or swept_headline(y, candidate.scores, s, threshold, beta, seed),
        fit=None if solution is None else _fit(solution),
        weights=None if coef is None or not np.size(coef) else _weights(coef, candidate),
        roc=curves.roc(heavy),
        precision_recall=curves.precision_recall(heavy),
        gains=curves.gains(heavy),
        lift=curves.lift(heavy),
        calibration=_calibration(y, candidate, s),
        histogram=curves.histogram(s),
        thresholds=curves.threshold_table(s, threshold, beta=beta, costs=costs),
        convergence=convergence(solution, candidate.metric_steps),
        calibration_error=calibration(y, candidate.probabilities, candidate.weight),
        total_weight=None if candidate.weight is None else float(candidate.weight.sum()),
    )


def _weights(coef: FloatArray, candidate: ReportedModel) -> Weights:
    """The weights of a model: by columns of the table if these are known, else of the matrix."""
    if candidate.features is not None:
        top = tuple(candidate.features[:MAX_FEATURES])
        return Weights(int(coef.size), int(np.count_nonzero(coef)), top)
    return weights(
        coef,
        candidate.feature_names,
        first_index=candidate.first_index,
        deviations=candidate.deviations,
        units=candidate.units,
    )


def compare(y: Array, first: ReportedModel, other: ReportedModel) -> Comparison:
    """Difference of the test AUCs of two models, with DeLong's test."""
    comparison = metrics.compare_auc(y, first.scores, other.scores)
    return Comparison(first.name, other.name, *comparison)


def weights(
    coef: npt.ArrayLike,
    names: Sequence[str] | None,
    limit: int = MAX_FEATURES,
    first_index: int | None = None,
    deviations: FloatArray | None = None,
    units: Sequence[str] | None = None,
) -> Weights:
    """The ``limit`` largest weights, by absolute weight times standard deviation of the column.

    Without ``deviations`` they are ordered by absolute weight. Columns without names are shown by
    their index in a file whose indices start from ``first_index``.

    Examples
    --------
    >>> model = weights([0.0, -3.0, 1.0], ["a", "b", "c"], limit=1)
    >>> model.nonzeros, model.top[0].name, model.top[0].weight
    (2, 'b', -3.0)
    >>> weights([0.5, -3.0], ["a", "b"], deviations=np.array([10.0, 1.0])).top[0].effect
    5.0
    """
    w = np.asarray(coef, dtype=np.float64).ravel()
    if names is not None and len(names) != w.size:
        raise DataError(
            f"one feature name per weight; got {len(names)} and {w.size}. Leave `feature_names` "
            "out if the names are not known."
        )
    used = np.flatnonzero(w)
    size = np.abs(w if deviations is None else w * deviations)[used]
    if used.size > limit:  # O(n) selection before the sort
        least = np.partition(size, used.size - limit)[used.size - limit]
        used, size = used[size >= least], size[size >= least]
    order = used[np.argsort(-size, kind="stable")][:limit]
    top = tuple(
        Feature(
            feature_name(names, first_index, k),
            k,
            float(w[k]),
            math.nan if deviations is None else float(deviations[k]),
            "" if units is None else units[k],
        )
        for k in order.tolist()
    )
    return Weights(int(w.size), int(np.count_nonzero(w)), top)


def convergence(
    solution: Solution | None,
    metric_steps: Sequence[MetricStep] = (),
    limit: int = curves.MAX_POINTS,
) -> Convergence:
    """The trace of a solve, thinned to ``limit`` steps; without a certified gap no ``excess``."""
    steps = tuple(MetricStep(*step) for step in metric_steps)
    if solution is None or not len(solution.trace):
        return Convergence(metric=steps)
    trace = solution.trace
    keep = np.unique(np.linspace(0, len(trace) - 1, min(limit, len(trace))).astype(int)).tolist()
    seconds, passes, objective, gap = (
        tuple(float(along[i]) for i in keep)
        for along in (trace.seconds, trace.passes, trace.value, trace.gap)
    )
    excess: tuple[float, ...] = ()
    if solution.certified:
        # The final gap gives a lower bound of the optimum, and so a bound of every excess.
        lower, start = solution.value - solution.gap, abs(trace.value[0]) or 1.0
        excess = tuple(max(0.0, value - lower) / start for value in objective)
    return Convergence(seconds, passes, objective, gap, excess, steps)


def _fit(solution: Solution) -> FitInfo:
    """The result of a solve for a report."""
    return FitInfo(
        objective=solution.value,
        gap=solution.gap,
        certified=solution.certified,
        tol=solution.tol,
        converged=solution.converged,
        status=solution.status.value,
        solver=solution.solver,
        n_iter=solution.n_iter,
        passes=solution.passes,
    )


def _calibration(y: Array, candidate: ReportedModel, s: Sweep) -> ReliabilityCurve:
    """Calibration of the probabilities, or of the scores of a model without probabilities."""
    if candidate.probabilities is None:
        return curves.calibration(s, of_probabilities=False)
    by_probability = sweep(validate(y, candidate.probabilities, None))
    return curves.calibration(by_probability, of_probabilities=True)


def _trained(
    hit: Array,
    scores: FloatArray,
    metric: ReportedMetric | None,
    train_value: float,
    rivals: Sequence[Rival],
    head: Headline,
    seed: int,
) -> tuple[TrainedMetric | None, tuple[Baseline, ...]]:
    """The metric that the model was trained for, if it is known, for the model and its rivals.

    If the headline has an interval for that metric, it is used in place of a bootstrap.
    """
    if metric is None:
        return None, ()
    same = {
        "auc": head.auc,
        "roc_auc": head.auc,
        "average_precision": head.average_precision,
        "prbep": head.prbep,
    }
    if head.beta == 1.0:
        same["f1"] = head.fbeta
    known = same.get(metric.name)
    if known is not None and not math.isclose(known.value, metric.value(hit, scores)):
        known = None  # the metric counts rows by their costs too
    return trained_metric(metric, hit, scores, rivals, train=train_value, known=known, seed=seed)


def _own_warnings(
    candidate: ReportedModel, model: ModelInfo, trained: TrainedMetric | None
) -> list[str]:
    """Warnings that follow from the numbers: convergence, few rows, equal scores, over-fitting."""
    table, warnings = model.thresholds, []
    if candidate.solution is not None and not candidate.solution.converged:
        warnings.append(candidate.solution.advice())
    positives, negatives = table.tp[0] + table.fn[0], table.fp[0] + table.tn[0]
    for count, kind in ((positives, "positive"), (negatives, "negative")):
        if count < FEW_ROWS:
            warnings.append(f"Only {count} {kind} test rows: every number here is uncertain.")
    if len(table.threshold) == 2:
        warnings.append("All test rows have the same score: the model cannot rank them.")
    elif table.tp[table.own] + table.fp[table.own] == 0:
        warnings.append("No test row has a score above the model's threshold.")
    if trained is None or math.isnan(trained.train):
        auc = model.headline.auc
        trained = TrainedMetric("AUC", auc, 1.0, candidate.train_auc, True)
    if trained.overfits:
        side = "above" if trained.greater else "below"
        warnings.append(
            f"Over-fitting: {trained.metric} is {trained.train:.4f} on the training rows, {side} "
            f"the 95 % interval of the test rows, {trained.test.low:.4f} to "
            f"{trained.test.high:.4f}. A greater strength or more rows would help."
        )
    return warnings
