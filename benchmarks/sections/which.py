"""F1 and cost of logistic regression, boosted trees and auctor on new rows, cuts tuned or not."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import StratifiedShuffleSplit, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.problems import datasets
from benchmarks.run import Settings, table

name = "which"
#: Tables with few positives, of the kinds that the documentation speaks of.
SETS = ("wilt", "heart", "diabetes", "vehicle", "pageblocks", "cardio", "satimage", "caravan")
#: Rows kept of larger sets, drawn with a fixed seed.
ROWS = 5_000
#: Halves that are trained on; the others are tested on.
SPLITS = 5
#: What a missed positive costs, in false alarms.
MISS = 5.0


def cost(y: np.ndarray, predicted: np.ndarray) -> float:
    """Mean cost of a row."""
    return float(np.mean(np.where(y, MISS * (~predicted.astype(bool)), predicted)))


#: How each measure is computed, how auctor calls it, and whether greater is better.
MEASURES = {"F1": (f1_score, "f1", True), "cost": (cost, f"cost({MISS:g})", False)}


def _logistic(measure: str) -> object:
    return make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(
            l1_ratios=(0.0,), scoring="neg_log_loss", max_iter=1000, use_legacy_attributes=False
        ),
    )


def _lightgbm(measure: str) -> object:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)


def _cut(make: Callable[[str], object]) -> Callable[[str], object]:
    """The same model with the threshold that is best for the measure on five folds."""

    def tuned(measure: str) -> object:
        function, _, greater = MEASURES[measure]
        scoring = make_scorer(function, greater_is_better=greater)
        return TunedThresholdClassifierCV(make(measure), scoring=scoring, cv=5, random_state=0)

    return tuned


def _auctor(measure: str) -> object:
    from auctor import MetricClassifierCV

    return MetricClassifierCV(MEASURES[measure][1], n_threads=1, random_state=0)


def _curves(measure: str) -> object:
    from auctor import AdditiveClassifier

    return AdditiveClassifier(MEASURES[measure][1], n_threads=1, random_state=0)


METHODS: dict[str, Callable[[str], object]] = {
    "logistic": _logistic,
    "logistic, tuned cut": _cut(_logistic),
    "lightgbm": _lightgbm,
    "lightgbm, tuned cut": _cut(_lightgbm),
    "auctor": _auctor,
    "auctor, curves": _curves,
}


def run(settings: Settings) -> dict[str, object]:
    """Every set, every method, the same halves."""
    cells: dict[str, dict[str, object]] = dict(settings.known)
    notes = [
        f"{SPLITS} random halves of up to {ROWS} rows; the positive class is the rarer one. A "
        f"missed positive costs {MISS:g} false alarms; the cost is that of a row, less is better.",
        "Logistic regression and auctor pick their strength on five inner folds, LightGBM has its "
        "defaults; a tuned cut is chosen on five inner folds for the measure.",
        "CPU seconds are those of one fit for F1, on a machine that others used too.",
    ]
    for stem in SETS[: 2 if settings.quick else None]:
        if stem in cells or not settings.wants(stem):
            continue
        if settings.over():
            notes.append(f"not run, the time budget ended: {stem}")
            continue
        try:
            cells[stem] = _measure(datasets.load(stem), 2 if settings.quick else SPLITS)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
    return {
        "title": "F1 and cost on new rows, means over halves",
        "bars": [],
        "tables": [*(_table(cells, measure) for measure in MEASURES), _seconds(cells)],
        "notes": notes,
        "cells": cells,
    }


def _measure(data: datasets.DataSet, splits: int) -> dict[str, object]:
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    y = data.y > 0
    y = y if y.mean() <= 0.5 else ~y
    if y.size > ROWS:
        rows = np.random.default_rng(0).choice(y.size, ROWS, replace=False)
        X, y = X[rows], y[rows]
    halves = list(StratifiedShuffleSplit(splits, test_size=0.5, random_state=0).split(X, y))
    found: dict[str, object] = {"positives": float(y.mean())}
    for label, make in METHODS.items():
        found[label] = {}
        for measure, (function, _, _) in MEASURES.items():
            values, start = [], time.process_time()
            for train, test in halves:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = make(measure).fit(X[train], y[train])
                values.append(float(function(y[test], model.predict(X[test]))))
            seconds = (time.process_time() - start) / len(halves)
            found[label][measure] = {"values": values, "cpu": seconds}
    return found


def _table(cells: dict[str, dict[str, object]], measure: str) -> dict[str, object]:
    """Means; the best of a row is bold, and the last row counts the bold ones."""
    greater = MEASURES[measure][2]
    rows, wins = [], dict.fromkeys(METHODS, 0)
    for stem, cell in cells.items():
        means = {label: float(np.mean(cell[label][measure]["values"])) for label in METHODS}
        best = (max if greater else min)(means.values())
        for label, mean in means.items():
            wins[label] += mean == best
        shown = [f"**{m:.3f}**" if m == best else f"{m:.3f}" for m in means.values()]
        rows.append([stem, f"{cell['positives']:.1%}", *shown])
    rows.append(["best on", "", *(str(count) for count in wins.values())])
    return table(measure, ["set", "positives", *METHODS], rows)


def _seconds(cells: dict[str, dict[str, object]]) -> dict[str, object]:
    rows = [
        [stem, *(f"{cell[label]['F1']['cpu']:.2f}" for label in METHODS)]
        for stem, cell in cells.items()
    ]
    return table("CPU seconds of a fit for F1", ["set", *METHODS], rows)
