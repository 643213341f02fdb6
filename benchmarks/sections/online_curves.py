"""Test AUC against rows seen and against seconds, with the exact batch solution as horizon."""

from __future__ import annotations

import statistics
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "curves"
SETS = ("a9a", "ijcnn1", "covtype-20k", "rcv1-like")
STRENGTH = 1e-4
REPEATS = 3
TEST = 0.2
#: Rows after which the learners are judged, then all of them.
MARKS = (100, 300, 1000, 3000, 10_000)
WIDE = 1000
US = "StreamingAUC"
HORIZON = "exact, all rows"


def run(settings: Settings) -> dict[str, object]:
    """Every set, every learner."""
    cells, notes, left = dict(settings.known), [], []
    for stem in SETS[: 1 if settings.quick else None]:
        if stem in cells or not settings.wants(stem):
            continue
        if settings.over():
            left.append(stem)
            continue
        try:
            data = datasets.load(stem)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        cells[stem] = _cell(data.X, data.y)
        print(f"   {stem} {_last(cells[stem])}", flush=True)
    if left:
        notes.append(f"not run, the time budget ended: {', '.join(left)}")
    return {
        "title": "test AUC against rows seen and CPU seconds",
        "bars": [
            bar("exact batch solution minus StreamingAUC after one pass, test AUC: worst set "
                "(no limit was set; 0.005)",
                max((_gap(cell, US) for cell in cells.values()), default=None), 0.005,
                at_least=False),
        ],
        "tables": [part for stem, cell in cells.items() for part in _tables(stem, cell)],
        "cells": cells,
        "left": left,
        "notes": [
            *notes,
            f"A fifth of the rows is for testing; strength {STRENGTH:g} for all but StreamingAUC, "
            "which chooses; Solam with its defaults; OPAUC with a sketch of rank 50 above "
            f"{WIDE} columns; SGD is scikit-learn's logistic regression. Means over {REPEATS} "
            "orders of the rows, seconds of partial_fit alone, medians.",
            "The exact solution minimises the pairwise square loss of all training rows with the "
            "same strength; a learner may end above it on test rows.",
        ],
    }  # fmt: skip


def _learners(d: int) -> dict[str, object]:
    from auctor import StreamingAUC
    from auctor.lab import learners

    return {
        US: StreamingAUC(),
        "Spam": learners.Spam(STRENGTH),
        "Opauc": learners.Opauc(STRENGTH, rank=50 if d > WIDE else None, random_state=0),
        "Solam": learners.Solam(),
        "SGD": SGDClassifier(loss="log_loss", alpha=STRENGTH, random_state=0),
    }


def _cell(X: object, y: np.ndarray) -> dict[str, object]:
    from auctor import MetricClassifier

    order = np.random.default_rng(0).permutation(len(y))
    cut = int((1.0 - TEST) * len(y))
    train, test = order[:cut], order[cut:]
    marks = [*(m for m in MARKS if m < cut), cut]
    curves: dict[str, dict[str, list]] = {}
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        start = time.process_time()
        exact = MetricClassifier("auc", surrogate="square", strength=STRENGTH, n_threads=1)
        w = exact.fit(X[train], y[train]).coef_[0]
        seconds = time.process_time() - start
        horizon = float(roc_auc_score(y[test], X[test] @ w))
        for repeat in range(REPEATS):
            rows = np.random.default_rng(repeat).permutation(train)
            for label, learner in _learners(X.shape[1]).items():
                if repeat == 0:
                    _curve(learner, X, y, rows[:50], test, [50])  # compiled by now
                    learner = _learners(X.shape[1])[label]
                found = _curve(learner, X, y, rows, test, marks)
                curve = curves.setdefault(label, {"auc": [], "seconds": []})
                curve["auc"].append(found[0])
                curve["seconds"].append(found[1])
    return {
        "rows": marks,
        "columns": X.shape[1],
        "entries": int(X.nnz if sp.issparse(X) else X.size),
        "horizon": {"auc": horizon, "seconds": seconds},
        "curves": {
            label: {
                "auc": np.mean(curve["auc"], axis=0).tolist(),
                "deviation": np.std(curve["auc"], axis=0).tolist(),
                "seconds": [statistics.median(s) for s in zip(*curve["seconds"], strict=True)],
            }
            for label, curve in curves.items()
        },
    }


def _curve(
    learner: object, X: object, y: np.ndarray, rows: np.ndarray, test: np.ndarray, marks: list[int]
) -> tuple[list[float], list[float]]:
    aucs, seconds, spent, low = [], [], 0.0, 0
    for high in marks:
        Z, labels = X[rows[low:high]], y[rows[low:high]]
        start = time.process_time()
        learner.partial_fit(Z, labels, classes=[-1.0, 1.0])
        spent += time.process_time() - start
        aucs.append(float(roc_auc_score(y[test], X[test] @ learner.coef_[0])))
        seconds.append(spent)
        low = high
    return aucs, seconds


def _gap(cell: dict, label: str) -> float:
    return cell["horizon"]["auc"] - cell["curves"][label]["auc"][-1]


def _last(cell: dict) -> str:
    ends = {label: round(curve["auc"][-1], 4) for label, curve in cell["curves"].items()}
    return f"{ends}, exact {cell['horizon']['auc']:.4f}"


def _tables(stem: str, cell: dict) -> list[dict[str, object]]:
    marks, horizon = [f"{m:,}" for m in cell["rows"]], cell["horizon"]
    aucs = [[label, *(f"{a:.4f}" for a in c["auc"])] for label, c in cell["curves"].items()]
    aucs.append([HORIZON, *["-"] * (len(marks) - 1), f"{horizon['auc']:.4f}"])
    times = [[label, *c["seconds"]] for label, c in cell["curves"].items()]
    times.append([HORIZON, *[None] * (len(marks) - 1), horizon["seconds"]])
    return [
        table(f"{stem} ({cell['columns']} columns): test AUC after so many rows",
              ["learner", *marks], aucs),
        table(f"{stem}: CPU seconds until then", ["learner", *marks], times),
    ]  # fmt: skip
