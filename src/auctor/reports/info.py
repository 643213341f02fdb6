"""What a report says, as numbers: headlines with intervals, curves, convergence, features, data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.core.result import Solution
from auctor.core.types import FloatArray
from auctor.reports.curves import Calibration, Curve, Histogram, LiftPoint, ThresholdTable
from auctor.reports.intervals import Estimate


class MetricStep(NamedTuple):
    """The metric on held-out rows at some moment of a fit."""

    seconds: float
    passes: float
    value: float


class Candidate(NamedTuple):
    """A scored model to be reported: what it says of the test rows, and how it was fitted.

    A row is predicted positive when its score is above ``threshold``. ``probabilities``, where the
    model has them, are of the positive class; ``coef`` is by default that of the solution.
    ``first_index`` is where the indices of columns without names start. ``headline`` is what
    `headline` returns for these rows, where that was asked for before.
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
    """A column and its weight; positions count from 0."""

    name: str
    position: int
    weight: float


class Weights(NamedTuple):
    """How many weights a model has, how many are not zero, and the largest of these."""

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
    """Everything a report shows; ``models[0]`` is the model, the others are baselines.

    ``costs`` are those of a false alarm and of a miss.
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
    if isinstance(info, np.generic):
        return plain(info.item())
    if isinstance(info, float):
        return info if math.isfinite(info) else None
    return info
