"""The numbers of a report as named tuples: metrics, curves, convergence, features, data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from auctor.core.result import Solution
from auctor.core.types import FloatArray
from auctor.evaluate.curves import Curve, Histogram, LiftPoint, ReliabilityCurve, ThresholdTable
from auctor.evaluate.curves_info import CurvesInfo
from auctor.evaluate.drift import Drift, differs
from auctor.evaluate.intervals import Estimate
from auctor.evaluate.rows import CostlyRow
from auctor.evaluate.slices import Sliced
from auctor.evaluate.trained_metric import Baseline, TrainedMetric


class MetricStep(NamedTuple):
    """The metric on held-out rows at one step of a fit."""

    seconds: float
    passes: float
    value: float


class ReportedModel(NamedTuple):
    """A model to report: its scores of the test rows, and how it was fitted.

    Parameters
    ----------
    name : str
    scores : array
        Scores of the test rows.
    threshold : float
        Rows with a greater score are predicted positive.
    solution : Solution, optional
        The result of the solver.
    seconds, train_auc : float
        Time of the fit and AUC on the training rows; NaN if not known.
    coef : array, optional
        Weights; by default those of the solution. An empty array hides them.
    feature_names : sequence of str, optional
    probabilities : array, optional
        Probabilities of the positive class.
    metric_steps : sequence of MetricStep
        The metric on held-out rows during the fit.
    first_index : int, optional
        First index of columns without names.
    headline : Headline, optional
        The result of `headline` for these rows, if it was computed before.
    deviations : array, optional
        Standard deviations of the columns.
    units : sequence of str, optional
        Units of the columns.
    features : sequence of Feature, optional
        The columns of the table by decreasing importance, in place of those that follow from
        ``coef``, ``deviations`` and ``units``.
    weight : array, optional
        Weights of the test rows.
    """

    name: str
    scores: FloatArray
    threshold: float = 0.0
    solution: Solution | None = None
    seconds: float = math.nan
    train_auc: float = math.nan
    coef: FloatArray | None = None
    feature_names: Sequence[str] | None = None
    probabilities: FloatArray | None = None
    metric_steps: Sequence[MetricStep] = ()
    first_index: int | None = None
    headline: Headline | None = None
    deviations: FloatArray | None = None
    units: Sequence[str] | None = None
    features: Sequence[Feature] | None = None
    weight: FloatArray | None = None


class Headline(NamedTuple):
    """The first numbers of a report, with 95 % intervals.

    F-beta, precision and recall are at ``threshold``. The intervals are for a fixed share of
    positives: DeLong's for AUC, Wilson's for precision and recall, and those of a stratified
    bootstrap for the others.
    """

    auc: Estimate
    average_precision: Estimate
    prbep: Estimate
    fbeta: Estimate
    precision: Estimate
    recall: Estimate
    beta: float
    threshold: float


class FitInfo(NamedTuple):
    """The result of a solve.

    If ``certified``, ``gap`` is an upper bound of ``objective`` minus the optimum; otherwise it is
    the optimality violation.
    """

    objective: float
    gap: float
    certified: bool
    tol: float
    converged: bool
    status: str
    solver: str
    n_iter: int
    passes: float


class Convergence(NamedTuple):
    """The trace of a solve, and the metric along it if it was measured.

    ``excess`` is ``(J(w_t) - lower) / J(w_0)`` with ``lower``, the final objective minus the final
    gap, a lower bound of the optimum; it is empty if the gap is not certified.
    """

    seconds: tuple[float, ...] = ()
    passes: tuple[float, ...] = ()
    objective: tuple[float, ...] = ()
    gap: tuple[float, ...] = ()
    excess: tuple[float, ...] = ()
    metric: tuple[MetricStep, ...] = ()


class Feature(NamedTuple):
    """A column and its weight; positions count from 0.

    ``weight`` is what one ``unit`` of the column adds to the score; ``deviation`` is the standard
    deviation of the column, NaN if it is not known. A category has a weight for each level: its
    ``weight`` is NaN, and ``deviation`` is the standard deviation of what its levels add.
    """

    name: str
    position: int
    weight: float
    deviation: float = math.nan
    unit: str = ""

    @property
    def effect(self) -> float:
        """Weight times standard deviation; the weight if the deviation is not known."""
        if math.isnan(self.weight):
            return self.deviation
        return self.weight if math.isnan(self.deviation) else self.weight * self.deviation


class Weights(NamedTuple):
    """Numbers of all and of nonzero weights of a model, and the columns of largest effect."""

    total: int
    nonzeros: int
    top: tuple[Feature, ...]


class ModelInfo(NamedTuple):
    """One model on the test rows; ``fit`` and ``weights`` are None if they are not known.

    ``calibration_error`` is None without probabilities, ``total_weight`` without weights. With
    weights, the headline and the curves count rows by them; thresholds, histogram and bins of
    calibration count rows.
    """

    name: str
    train_auc: float
    seconds: float
    headline: Headline
    fit: FitInfo | None
    weights: Weights | None
    roc: Curve
    precision_recall: Curve
    gains: Curve
    lift: tuple[LiftPoint, ...]
    calibration: ReliabilityCurve
    histogram: Histogram
    thresholds: ThresholdTable
    convergence: Convergence
    calibration_error: Estimate | None = None
    total_weight: float | None = None


class Comparison(NamedTuple):
    """Test AUC of a model minus that of another on the same rows, with DeLong's paired test."""

    name: str
    baseline: str
    difference: float
    standard_error: float
    p_value: float


class DataInfo(NamedTuple):
    """Sizes of the data of a report; the training sizes are 0 if they are not known."""

    train_rows: int
    train_positives: int
    test_rows: int
    test_positives: int
    n_columns: int
    source: str = ""
    positive: str = ""
    negative: str = ""


class ColumnInfo(NamedTuple):
    """Summary of a column; values that are unknown, or undefined for its kind, are None.

    ``drift`` is the distance between the training rows and the test rows, from 0 to 1, and
    ``p_value`` that of a test that they are alike.
    """

    name: str
    kind: str
    missing: int
    distinct: int | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    drift: float | None = None
    p_value: float | None = None

    def drifts(self, columns: int) -> bool:
        """Whether the column, one of so many, differs by more than chance, and not little."""
        if self.drift is None or self.p_value is None:
            return False
        return differs(Drift(self.drift, self.p_value), columns)


class PathInfo(NamedTuple):
    """A path of strengths: numbers of nonzero weights, and cross-validated scores."""

    strengths: tuple[float, ...]
    nonzeros: tuple[float, ...]
    score_mean: tuple[float, ...]
    score_se: tuple[float, ...]
    best: int
    metric: str


class ReportInfo(NamedTuple):
    """All numbers of a report; ``models[0]`` is the model, and others are compared with it.

    ``costs`` are those of a false positive and of a false negative. ``trained`` has the metric that
    the model was trained for, ``baselines`` the values of simpler models, ``errors`` the most
    expensive wrong predictions, ``slices`` metrics by the values of some columns, ``curves`` the
    curves of an additive model, ``chosen`` how the kind of model was chosen, ``split`` how the test
    rows were, and ``savings`` what the predictions save where each row has its own costs.
    """

    title: str
    data: DataInfo
    models: tuple[ModelInfo, ...]
    comparisons: tuple[Comparison, ...]
    path: PathInfo | None
    columns: tuple[ColumnInfo, ...]
    warnings: tuple[str, ...]
    command: str
    costs: tuple[float, float]
    beta: float
    seed: int
    version: str
    trained: TrainedMetric | None = None
    baselines: tuple[Baseline, ...] = ()
    errors: tuple[CostlyRow, ...] = ()
    slices: tuple[Sliced, ...] = ()
    curves: CurvesInfo | None = None
    chosen: str = ""
    split: str = ""
    savings: str = ""
