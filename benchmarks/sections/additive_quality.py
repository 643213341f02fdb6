"""Test AUC of additive models, linear ones, EBM and LightGBM on real sets, all tuned inside."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "additive_quality"
SETS = (
    "diabetes", "svmguide3", "pageblocks", "wilt", "cardio", "vehicle", "australian", "ijcnn1",
    "heart", "breast-cancer", "waveform", "ionosphere", "satimage", "caravan",
)  # fmt: skip
#: Rows kept of larger sets, drawn with a fixed seed.
ROWS = 1_200
FOLDS = 2
#: Times that the folds are drawn anew on sets below `SMALL` rows, whose folds say little.
REPEATS = 3
SMALL = 1_000
#: EBM with pairs takes most of the time; it is fitted to the first fold of every set only.
EBM_FOLDS = 1
#: Pairs for every column in EBM's defaults ("3x").
EBM_PAIRS = 3


def _linear(_: int) -> object:
    from auctor import MetricClassifierCV

    return make_pipeline(StandardScaler(), MetricClassifierCV("auc", n_threads=1))


def _additive(columns: int, pairs: int = 0) -> object:
    from auctor import AdditiveClassifier

    return AdditiveClassifier("auc", n_threads=1, interactions=pairs * columns)


def _ebm(_: int, **changes: object) -> object:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(n_jobs=1, random_state=0, **changes)


def _lightgbm(_: int) -> object:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)


def _tuned(columns: int) -> object:
    grid = {"num_leaves": [4, 31], "n_estimators": [50, 200]}
    return GridSearchCV(_lightgbm(columns), grid, scoring="roc_auc", cv=3)


#: From the number of columns to a classifier.
METHODS: dict[str, Callable[[int], object]] = {
    "additive": _additive,
    "additive, pairs": partial(_additive, pairs=EBM_PAIRS),
    "linear": _linear,
    "lightgbm": _lightgbm,
    "lightgbm, tuned": _tuned,
    "EBM": _ebm,
    "EBM, no pairs": partial(_ebm, interactions=0),
}


def run(settings: Settings) -> dict[str, object]:
    """Every set, every method, the same folds."""
    cells: dict[str, dict[str, object]] = dict(settings.known)
    notes = [
        f"{FOLDS} folds of up to {ROWS} rows, {REPEATS} times on sets below {SMALL} rows; EBM with "
        "pairs on the first fold alone, and compared on it: it takes most of the time.",
        f"EBM's defaults have {EBM_PAIRS} pairs for every column, and average 14 models of drawn "
        "rows; our default has no pairs and is one model. Both are shown with and without pairs.",
        "Linear and additive models pick their strength on five inner folds; LightGBM is tuned "
        "over four settings on three.",
    ]
    for stem in SETS[: 2 if settings.quick else None]:
        wanted = [
            label
            for label in METHODS
            if label not in cells.get(stem, {}) and settings.wants(f"{stem}:{label}")
        ]
        if not wanted:
            continue
        if settings.over():
            notes.append(f"not run, the time budget ended: {stem}")
            continue
        try:
            data = datasets.load(stem)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        cells[stem] = {**cells.get(stem, {}), **_measure(data, wanted)}
    return {
        "title": "Mean test AUC, and CPU seconds of all folds",
        "bars": _bars(cells),
        "tables": [_auc(cells), _auc(cells, EBM_FOLDS), _cpu(cells)],
        "notes": notes,
        "cells": cells,
    }


def _measure(data: datasets.DataSet, labels: list[str]) -> dict[str, object]:
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    y = data.y > 0
    if y.size > ROWS:
        rows = np.random.default_rng(0).choice(y.size, ROWS, replace=False)
        X, y = X[rows], y[rows]
    folds = [
        fold
        for repeat in range(REPEATS if y.size < SMALL else 1)
        for fold in StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(X, y)
    ]
    found: dict[str, object] = {}
    for label in labels:
        make = METHODS[label]
        scores, start = [], time.process_time()
        try:
            for train, test in folds[: EBM_FOLDS if label == "EBM" else None]:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = make(X.shape[1]).fit(X[train], y[train])
                decide = getattr(model, "decision_function", None) or model.predict_proba
                decision = decide(X[test])
                column = decision if decision.ndim == 1 else decision[:, 1]
                scores.append(float(roc_auc_score(y[test], column)))
        except ImportError:
            continue
        found[label] = {"auc": scores, "cpu": time.process_time() - start}
    return found


def _mean(cell: dict[str, object], label: str, folds: int | None = None) -> float:
    return float(np.mean(cell[label]["auc"][:folds]))


def _bars(cells: dict[str, dict[str, object]]) -> list[dict[str, object]]:
    both = [cell for cell in cells.values() if {"additive", "linear"} <= cell.keys()]
    gains = [_mean(cell, "additive") - _mean(cell, "linear") for cell in both]
    return [
        bar("mean gain of AUC over linear", float(np.mean(gains)) if gains else None, 0.005),
        bar("least gain over linear on a set", min(gains, default=None), -0.003),
        *(
            bar(
                f"mean AUC of {ours} behind {other}",
                _behind(both, ours, other),
                0.003,
                at_least=False,
            )
            for ours, other in (
                ("additive", "EBM, no pairs"),
                ("additive, pairs", "EBM"),
                ("additive", "EBM"),
            )
        ),
    ]


def _behind(cells: list[dict[str, object]], ours: str, other: str) -> float | None:
    """Mean difference over the sets, on the folds that both were fitted to."""
    found = []
    for cell in cells:
        if {ours, other} <= cell.keys():
            folds = min(len(cell[label]["auc"]) for label in (ours, other))
            found.append(_mean(cell, other, folds) - _mean(cell, ours, folds))
    return float(np.mean(found)) if found else None


def _auc(cells: dict[str, dict[str, object]], folds: int | None = None) -> dict[str, object]:
    """Mean test AUC of the methods that were fitted to the same folds: all, or the first ones."""
    methods = [label for label in METHODS if folds or label != "EBM"]
    where = "on the first fold" if folds else "on all folds"
    return table(
        f"Test AUC {where}",
        ["set", *methods],
        _rows(cells, methods, lambda cell, label: f"{_mean(cell, label, folds):.4f}"),
    )


def _cpu(cells: dict[str, dict[str, object]]) -> dict[str, object]:
    rows = _rows(cells, list(METHODS), lambda cell, label: f"{cell[label]['cpu']:.1f}")
    return table("CPU seconds", ["set", *METHODS], rows)


def _rows(
    cells: dict[str, dict[str, object]],
    methods: list[str],
    text: Callable[[dict[str, object], str], str],
) -> list[list[object]]:
    return [
        [stem, *(text(cell, label) if label in cell else "-" for label in methods)]
        for stem, cell in cells.items()
    ]
