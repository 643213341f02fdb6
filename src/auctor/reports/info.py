"""What a report says, as numbers: one row per model, curves, convergence."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray

#: Most points a curve keeps.
MAX_POINTS = 200


class Curve(NamedTuple):
    """Points of a curve, thinned for drawing."""

    x: tuple[float, ...]
    y: tuple[float, ...]


class Convergence(NamedTuple):
    """How far above the optimum each iterate of a solve was, at most.

    ``excess`` is ``J(w_t) - lower`` over the starting objective, where ``lower`` is the objective
    that the final gap proves nothing can go below. Empty when the solve has no such proof.
    """

    passes: tuple[float, ...] = ()
    excess: tuple[float, ...] = ()


class ModelInfo(NamedTuple):
    """One model on the test rows.

    ``f1`` is taken at the model's own threshold; ``gap`` bounds ``objective`` minus the best
    objective there is when ``certified``, and is the optimality violation otherwise.
    """

    name: str
    train_auc: float
    auc: float
    auc_low: float
    auc_high: float
    prbep: float
    f1: float
    gap: float
    certified: bool
    objective: float
    seconds: float
    solver: str
    n_iter: int
    roc: Curve
    precision_recall: Curve
    convergence: Convergence


class Comparison(NamedTuple):
    """Test AUC of a model minus that of a baseline on the same rows, by DeLong's paired test."""

    name: str
    baseline: str
    difference: float
    standard_error: float
    p_value: float


class DataInfo(NamedTuple):
    """Sizes of the data behind a report."""

    train_rows: int
    train_positives: int
    test_rows: int
    test_positives: int
    n_columns: int


class ReportInfo(NamedTuple):
    """Everything a report shows."""

    title: str
    data: DataInfo
    models: tuple[ModelInfo, ...]
    comparisons: tuple[Comparison, ...]
    seed: int
    version: str


def model_info(
    name: str,
    y: Array,
    scores: FloatArray,
    *,
    train_auc: float,
    solution: Solution,
    seconds: float,
    threshold: float = 0.0,
) -> ModelInfo:
    """Measure one model on test rows.

    Parameters
    ----------
    name : str
    y, scores : (n,) arrays
        Test labels and the model's scores.
    train_auc : float
        Its AUC on the training rows.
    solution : Solution
        How it was solved.
    seconds : float
        How long the whole fit took.
    threshold : float
        Scores above it are predicted positive.
    """
    interval = metrics.auc_interval(y, scores)
    return ModelInfo(
        name=name,
        train_auc=train_auc,
        auc=interval.auc,
        auc_low=interval.low,
        auc_high=interval.high,
        prbep=metrics.prbep(y, scores),
        f1=metrics.fbeta(y, scores, threshold=threshold),
        gap=solution.gap,
        certified=solution.certified,
        objective=solution.value,
        seconds=seconds,
        solver=solution.solver,
        n_iter=solution.n_iter,
        roc=roc(y, scores),
        precision_recall=precision_recall(y, scores),
        convergence=convergence(solution),
    )


def compare(
    y: Array, baseline: tuple[str, FloatArray], others: list[tuple[str, FloatArray]]
) -> tuple[Comparison, ...]:
    """Compare named scores with a baseline's."""
    name, scores = baseline
    return tuple(
        Comparison(other, name, *metrics.compare_auc(y, other_scores, scores))
        for other, other_scores in others
    )


def roc(y: Array, scores: FloatArray, limit: int = MAX_POINTS) -> Curve:
    """ROC curve of at most ``limit`` points.

    Examples
    --------
    >>> roc([0, 1, 0, 1], [1.0, 2.0, 2.0, 3.0])
    Curve(x=(0.0, 0.0, 0.5, 1.0), y=(0.0, 0.5, 1.0, 1.0))
    """
    curve = metrics.roc_curve(y, scores)
    return thin(curve.fpr, curve.tpr, limit)


def precision_recall(y: Array, scores: FloatArray, limit: int = MAX_POINTS) -> Curve:
    """Precision over recall, the best precision of each recall, at most ``limit`` points.

    Examples
    --------
    >>> precision_recall([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    Curve(x=(0.5, 1.0), y=(1.0, 0.6666666666666666))
    """
    curve = metrics.precision_recall_curve(y, scores)
    # Thresholds ascend, so recall falls: the last row of each recall has the fewest false alarms.
    last = np.append(np.diff(curve.recall[:-1]) != 0.0, True)
    recall, precision = curve.recall[:-1][last][::-1], curve.precision[:-1][last][::-1]
    found = recall > 0.0
    return thin(recall[found], precision[found], limit)


def convergence(solution: Solution, limit: int = MAX_POINTS) -> Convergence:
    """Proven distance to the optimum along a solve; empty without a certificate."""
    trace = solution.trace
    if not solution.certified or not len(trace):
        return Convergence()
    lower = solution.value - solution.gap
    start = abs(trace.value[0]) or 1.0
    keep = np.unique(np.linspace(0, len(trace) - 1, min(limit, len(trace))).astype(int))
    return Convergence(
        tuple(float(trace.passes[i]) for i in keep),
        tuple(max(0.0, trace.value[i] - lower) / start for i in keep),
    )


def thin(x: FloatArray, y: FloatArray, limit: int = MAX_POINTS) -> Curve:
    """Keep the corners of a curve, and of those at most ``limit``, evenly along its length."""
    corner = np.ones(x.shape[0], dtype=bool)
    dx, dy = np.diff(x), np.diff(y)
    corner[1:-1] = np.abs(dx[:-1] * dy[1:] - dx[1:] * dy[:-1]) > 1e-15
    x, y = x[corner], y[corner]
    if x.shape[0] > limit:
        length = np.concatenate(([0.0], np.cumsum(np.abs(np.diff(x)) + np.abs(np.diff(y)))))
        wanted = np.linspace(0.0, length[-1], limit)
        keep = np.unique(np.searchsorted(length, wanted).clip(max=x.shape[0] - 1))
        x, y = x[keep], y[keep]
    return Curve(tuple(x.tolist()), tuple(y.tolist()))


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
    if isinstance(info, float):
        return float(info) if math.isfinite(info) else None
    return info
