"""Average precision: what an evaluation of the loss costs, and held-out values beside others."""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from auctor import metrics
from auctor.core.types import Target
from auctor.data import as_data
from auctor.losses import AveragePrecision, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import resolve
from benchmarks.problems.datasets import DataSet, load, present
from benchmarks.run import Settings, bar, table

name = "average_precision"

SETS = ("w8a", "ijcnn1", "a9a")
SIZES = (10_000, 100_000, 1_000_000)
#: Random splits into halves to train on and quarters to choose the strength and to measure on.
SPLITS = 3
#: Strengths tried, the same range for everybody: C = 1 / (n strength).
STRENGTHS = 10.0 ** np.arange(-1.0, -7.1, -1.0)
#: Gap at which a fit ends, relative to the loss of constant scores.
TOL = 1e-3


def run(settings: Settings) -> dict[str, object]:
    """Cost per row and binary digit of n, then held-out average precision."""
    sizes = [(n, *_cost(n)) for n in SIZES]
    cells, rows = [], []
    for label in SETS:
        if not settings.wants(label) or not present(label) or settings.over():
            continue
        found = np.array([_split(load(label), seed) for seed in range(SPLITS)])
        mean = found.mean(axis=0)
        error = (found[:, 1] - found[:, 0]).std(ddof=1) / np.sqrt(SPLITS)
        rows.append([label, *mean.tolist(), float(mean[1] - mean[0]), float(error)])
        cells.append({"set": label, "splits": found.tolist()})
    per_step = [seconds / (n * np.log2(n)) for n, seconds, _ in sizes]
    return {
        "title": "Average precision: cost of the loss, held-out values",
        "bars": [
            bar(
                "ns per n log2 n at a million rows, over those at 10,000",
                float(per_step[-1] / per_step[0]),
                4.0,
                at_least=False,
            )
        ],
        "tables": [
            table(
                "Seconds for value and gradient, one positive in twenty",
                ["rows", "average precision", "pairwise hinge"],
                [list(row) for row in sizes],
            ),
            table(
                f"Held-out average precision, mean of {SPLITS} splits, strength chosen for it",
                ["set", "logistic", "max_margin", "auc hinge", "max_margin - logistic", "error"],
                rows,
            ),
        ],
        "notes": ["The bar leaves room for the cache; sorting is part of the cost."],
        "cells": cells,
    }


def _cost(n: int) -> tuple[float, float]:
    """CPU seconds of the loss, and of the pairwise hinge beside it."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.05, 1.0, -1.0)
    scores, target = rng.normal(size=n) + 0.5 * (y > 0.0), Target(y)
    found = []
    for loss in (AveragePrecision(), PairwiseHinge()):
        loss.value_grad(scores, target)
        count = max(3, 1_000_000 // n)
        start = time.process_time()
        for _ in range(count):
            loss.value_grad(scores, target)
        found.append((time.process_time() - start) / count)
    return found[0], found[1]


def _split(data: DataSet, seed: int) -> tuple[float, float, float]:
    """Held-out values of logistic regression, the max-margin loss and the pairwise hinge."""
    X, y = data.X, data.y
    order = np.random.default_rng(seed).permutation(y.size)
    train, choose, test = np.split(order, [y.size // 2, 3 * y.size // 4])

    def judged(weights: list[np.ndarray]) -> float:
        values = [metrics.average_precision(y[choose], X[choose] @ w) for w in weights]
        return metrics.average_precision(y[test], X[test] @ weights[int(np.argmax(values))])

    plain = [
        LogisticRegression(C=1.0 / (train.size * s), max_iter=2000).fit(X[train], y[train])
        for s in STRENGTHS
    ]
    found = [judged([model.coef_[0] for model in plain])]
    for loss in (AveragePrecision(), PairwiseHinge()):
        weights: list[np.ndarray] = []
        for strength in STRENGTHS:
            problem = Problem(loss, L2(float(strength)), as_data(X[train], y[train]))
            start = weights[-1] if weights else None
            solver = resolve("auto", problem)
            weights.append(minimise(problem, solver, tol=TOL, w0=start, max_seconds=60.0).coef)
        found.append(judged(weights))
    return found[0], found[1], found[2]
