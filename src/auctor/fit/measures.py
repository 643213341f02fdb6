"""What the metrics of the table measure: the value, labels, scores and weights in, a number out.

A measure is greater where the model is better; predicted positives have scores above 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from auctor import metrics
from auctor.core.types import FloatArray


def ranking(function: Callable[..., float]) -> Callable[..., float]:
    """A measure, for the table, from a metric function that uses only the ranking."""

    def measure(
        value: float | None, y: Any, scores: FloatArray, weight: Any, **groups: Any
    ) -> float:
        return function(y, scores, *(() if value is None else (value,)), weight=weight, **groups)

    return measure


def partial_auc(fpr: float, y: Any, scores: FloatArray, weight: Any, min_tpr: float = 0.0) -> float:
    """McClish's standardised partial AUC, which is in [0, 1] for any ``fpr``, as the AUC is."""
    return metrics.partial_auc(y, scores, fpr, min_tpr=min_tpr, standardised=True, weight=weight)


def minus_log_loss(_: None, y: Any, scores: FloatArray, weight: Any) -> float:
    """Minus the log-loss of log-odds."""
    return -metrics.log_loss(y, scores, weight=weight)


def accuracy(_: None, y: Any, scores: FloatArray, weight: Any) -> float:
    """Share of right predictions."""
    return 1.0 - metrics.error_rate(y, scores > 0.0, weight=weight)


def balanced(_: None, y: Any, scores: FloatArray, weight: Any) -> float:
    """1 minus the mean error rate of the classes."""
    return 1.0 - metrics.balanced_error(y, scores > 0.0, weight=weight)


def minus_cost(ratio: float, y: Any, scores: FloatArray, weight: Any) -> float:
    """Minus the cost per row, a miss counting as much as ``ratio`` false alarms."""
    table = metrics.confusion(y, scores > 0.0, weight=weight)
    return -(table.fp + ratio * table.fn) / sum(table)


def fbeta(beta: float, y: Any, scores: FloatArray, weight: Any) -> float:
    """F-beta of the predictions."""
    return metrics.fbeta(y, scores > 0.0, beta, weight=weight)
