"""Exact metrics and curves for reports; `auctor.losses` are what models are trained on.

Every function takes labels (two values, the greater one positive), then scores or predictions, and
optional row ``weight``. Equal scores are ties, never broken by position.
"""

from auctor.metrics import agreement as agreement
from auctor.metrics.calibration import calibration_error
from auctor.metrics.capacity import top_rows
from auctor.metrics.costs import bayes_threshold, savings
from auctor.metrics.delong import auc_interval, compare_auc
from auctor.metrics.error import balanced_error, confusion, error_rate, log_loss
from auctor.metrics.gaussian import expected_auc, expected_error, gaussian_check
from auctor.metrics.grouped import by_group
from auctor.metrics.lift import cumulative_gains, lift_area, lift_curve
from auctor.metrics.precision_recall import (
    average_precision,
    best_fbeta,
    fbeta,
    lift_at_k,
    prbep,
    precision_at_k,
    precision_recall_curve,
    recall_at_k,
)
from auctor.metrics.roc import auc, partial_auc, roc_curve
from auctor.metrics.thresholds import best_threshold

__all__ = [
    "auc",
    "auc_interval",
    "average_precision",
    "balanced_error",
    "bayes_threshold",
    "best_fbeta",
    "best_threshold",
    "by_group",
    "calibration_error",
    "compare_auc",
    "confusion",
    "cumulative_gains",
    "error_rate",
    "expected_auc",
    "expected_error",
    "fbeta",
    "gaussian_check",
    "lift_area",
    "lift_at_k",
    "lift_curve",
    "log_loss",
    "partial_auc",
    "prbep",
    "precision_at_k",
    "precision_recall_curve",
    "recall_at_k",
    "roc_curve",
    "savings",
    "top_rows",
]
