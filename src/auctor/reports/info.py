"""What a report says, as numbers: headlines with intervals, curves, convergence, features, data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.core.result import Solution
from auctor.core.types import FloatArray
from auctor.reports.curves import Calibration, Curve, Histogram, LiftPoint, ThresholdTable
from auctor.reports.curves_info import CurvesInfo
from auctor.reports.intervals import Estimate
from auctor.reports.judged import Baseline, Trained
from auctor.reports.rows import CostlyRow
from auctor.reports.slices import Sliced


class MetricStep(NamedTuple):
    """The metric on held-out rows at some moment of a fit."""

    seconds: float
    passes: float
    value: float


class Candidate(NamedTuple):
    """A scored model to be reported: what it says of the test rows, and how it was fitted.

    A row is predicted positive when its score is above ``threshold``. ``probabilities``, where the
    model has them, are of the positive class; ``coef`` is by default that of the solution;
    of an empty one nothing is shown.
    ``first_index`` is where the indices of columns without names start. ``headline`` is what
    `headline` returns for these rows, where that was asked for before. ``deviations`` are those of
    the columns, and ``units`` what one more of each column is.
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


class Headline(NamedTuple):
    """The numbers that come first, with 95 % intervals.

    The last three are at ``threshold``. Intervals hold the share of positives fixed; AUC has
    DeLong's, shares at a threshold have Wilson's, the others a stratified bootstrap's.
    """

    auc: Estimate
    average_precision: Estimate
    prbep: Estimate
    fbeta: Estimate
    precision: Estimate
    recall: Estimate
    beta: float
    threshold: float


class Fit(NamedTuple):
    """How a solve ended.

    ``gap`` bounds ``objective`` minus the best objective there is when ``certified``, and is the
    optimality violation otherwise.
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
    """The trace of a solve, and the metric along it where that was measured.

    ``excess`` is ``J(w_t) - lower`` over the starting objective, where ``lower`` is the objective
    that the final gap proves nothing can go below; empty when the solve has no such proof.
    """

    seconds: tuple[float, ...] = ()
    passes: tuple[float, ...] = ()
    objective: tuple[float, ...] = ()
    gap: tuple[float, ...] = ()
    excess: tuple[float, ...] = ()
    metric: tuple[MetricStep, ...] = ()


class Feature(NamedTuple):
    """A column and its weight; positions count from 0.

    ``weight`` is what one more ``unit`` of the column adds to the score, ``deviation`` how far the
    column usually is from its mean; NaN where that is not known.
    """

    name: str
    position: int
    weight: float
    deviation: float = math.nan
    unit: str = ""

    @property
    def effect(self) -> float:
        """What one deviation of the column adds to the score; the weight where it is not known."""
        return self.weight if math.isnan(self.deviation) else self.weight * self.deviation


def feature_name(names: Sequence[str] | None, first_index: int | None, position: int) -> str:
    """The name of a column; without names, its index in a file that counts from ``first_index``.

    Examples
    --------
    >>> feature_name(["age"], None, 0), feature_name(None, 1, 0), feature_name(None, None, 0)
    ('age', 'index 1', 'column 0')
    """
    if names is not None:
        return str(names[position])
    return f"column {position}" if first_index is None else f"index {position + first_index}"


class Weights(NamedTuple):
    """How many weights a model has, how many are not zero, and those of the largest effect."""

    total: int
    nonzeros: int
    top: tuple[Feature, ...]


class ModelInfo(NamedTuple):
    """One model on the test rows; ``fit`` and ``weights`` are None where they are not known."""

    name: str
    train_auc: float
    seconds: float
    headline: Headline
    fit: Fit | None
    weights: Weights | None
    roc: Curve
    precision_recall: Curve
    gains: Curve
    lift: tuple[LiftPoint, ...]
    calibration: Calibration
    histogram: Histogram
    thresholds: ThresholdTable
    convergence: Convergence


class Comparison(NamedTuple):
    """Test AUC of a model minus that of a baseline on the same rows, by DeLong's paired test."""

    name: str
    baseline: str
    difference: float
    standard_error: float
    p_value: float


class DataInfo(NamedTuple):
    """Sizes of the data behind a report; without training rows, the model came from elsewhere."""

    train_rows: int
    train_positives: int
    test_rows: int
    test_positives: int
    n_columns: int
    source: str = ""
    positive: str = ""
    negative: str = ""


class ColumnInfo(NamedTuple):
    """A column of the data; what is not known, or has no meaning for its kind, is None."""

    name: str
    kind: str
    missing: int
    distinct: int | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None


class PathInfo(NamedTuple):
    """Models along strengths: weights that are not zero, and the score out of fold."""

    strengths: tuple[float, ...]
    nonzeros: tuple[float, ...]
    score_mean: tuple[float, ...]
    score_se: tuple[float, ...]
    chosen: int
    metric: str


class ReportInfo(NamedTuple):
    """Everything a report shows; ``models[0]`` is the model, the others are compared with it.

    ``costs`` are those of a false alarm and of a miss. ``trained`` is about the metric that the
    model was trained for, ``baselines`` about what simpler models reach by it, ``errors`` are the
    most expensive wrong predictions, ``slices`` metrics by the values of some columns, ``curves``
    those of an additive model.
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
    trained: Trained | None = None
    baselines: tuple[Baseline, ...] = ()
    errors: tuple[CostlyRow, ...] = ()
    slices: tuple[Sliced, ...] = ()
    curves: CurvesInfo | None = None


def plain(info: Any) -> Any:
    """Dictionaries, lists and numbers of an info, ready for JSON; NaN and infinity become None.

    Examples
    --------
    >>> plain(Curve((0.0, float("nan")), (1.0, 2.0)))
    {'x': [0.0, None], 'y': [1.0, 2.0]}
    """
    if isinstance(info, tuple) and hasattr(info, "_asdict"):
        return {key: plain(value) for key, value in info._asdict().items()}
    if isinstance(info, tuple | list):
        return [plain(value) for value in info]
    if isinstance(info, np.ndarray):
        return plain(info.tolist())
    if isinstance(info, np.generic):
        return plain(info.item())
    if isinstance(info, float):
        return info if math.isfinite(info) else None
    return info
