"""Thresholds with a confidence: how often the true rate violates the bound, by simulation."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from auctor.core.errors import DataError
from auctor.metrics import best_threshold
from benchmarks.run import Settings, bar, table

name = "rare_guarantees"
TITLE = "thresholds with a confidence of 0.95"
REPEATS = 2000
LEVEL = 0.05
#: Mean of the scores of positives; those of negatives have mean 0, both have deviation 1.
SHIFT = 2.0
#: Criterion, value, positives and negatives among the rows that set the threshold.
CASES = (
    ("recall", 0.7, 10, 100),
    ("recall", 0.9, 30, 300),
    ("recall", 0.9, 1_000, 2_000),
    ("recall", 0.95, 10_000, 10_000),
    ("fpr", 0.05, 10, 100),
    ("fpr", 0.01, 30, 400),
    ("fpr", 0.01, 100, 10_000),
    ("precision", 0.3, 10, 100),
    ("precision", 0.5, 100, 1_000),
    ("precision", 0.5, 1_000, 10_000),
    ("precision", 0.9, 10_000, 10_000),
)
#: Plain scores; ties, rounded to thirds; weights of 1 to 1.5.
KINDS = ("plain", "ties", "weights")


def run(settings: Settings) -> dict[str, object]:
    """The share of repeats in which the rate of the population violates the bound."""
    repeats = 100 if settings.quick else REPEATS
    rows: list[list[object]] = []
    for criterion, value, positives, negatives in CASES:
        for kind in KINDS:
            # Large samples have fewer repeats: the seconds are in the sorting.
            times = max(100, repeats if positives + negatives < 5_000 else repeats // 4)
            wrong, refused, reached = _simulated(
                criterion, value, positives, negatives, kind, times
            )
            rows.append([
                f"{criterion}({value})", positives, negatives, kind, times, refused,
                wrong, reached,
            ])  # fmt: skip
    # Two standard errors of a share of 0.05 in the repeats.
    worst = max(row[6] - 2.0 * np.sqrt(LEVEL * (1 - LEVEL) / row[4]) for row in rows)
    return {
        "title": TITLE,
        "bars": [
            bar("largest share of violations, less two standard errors", float(worst), LEVEL,
                at_least=False),
        ],
        "tables": [
            table(
                "Violations",
                ["rule", "positives", "negatives", "kind", "repeats", "refused", "violations",
                 "mean recall"],
                rows,
            )
        ],
        "notes": [
            "Scores are normal, with means 2 and 0: the true rates are known. Violations are a "
            "share of the repeats that were not refused for too few rows."
        ],
    }  # fmt: skip


def _simulated(
    criterion: str, value: float, positives: int, negatives: int, kind: str, repeats: int
) -> tuple[float, int, float]:
    rng = np.random.default_rng(7)
    y = np.repeat([1, 0], [positives, negatives])
    wrong = refused = 0
    recalls = []
    for _ in range(repeats):
        scores = rng.normal(size=y.size) + SHIFT * y
        weight = None
        if kind == "ties":
            scores = np.round(scores * 3.0) / 3.0
        if kind == "weights":
            weight = rng.choice([1.0, 1.5], y.size)
        try:
            t = best_threshold(y, scores, criterion, value, 1.0 - LEVEL, weight=weight)
        except DataError:
            refused += 1
            continue
        if kind == "ties":  # a rounded score is above t where the score is above this
            t = (np.floor(t * 3.0 + 1e-9) + 0.5) / 3.0
        recall, fpr = float(ndtr(SHIFT - t)), float(ndtr(-t))
        precision = positives * recall / (positives * recall + negatives * fpr)
        rate = {"recall": recall, "fpr": fpr, "precision": precision}[criterion]
        wrong += rate > value + 1e-12 if criterion == "fpr" else rate < value - 1e-12
        recalls.append(recall)
    done = max(1, repeats - refused)
    return wrong / done, refused, float(np.mean(recalls)) if recalls else float("nan")
