"""The thesis: clusters against one machine at equal passes, the shift, and both solvers."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.svm import SVR

from auctor.forecast import Embedding, KernelKMeans, LoadForecaster, ShiftedTubeRegressor
from auctor.forecast.metrics import mape
from auctor.kernel import KernelRegressor
from benchmarks.problems import loads
from benchmarks.problems.datasets import MissingDataSet
from benchmarks.run import Settings, bar, table

name = "forecast_thesis"
CLUSTERS = (2, 3, 5)
PASSES = 50.0
STRENGTH = 1e-3
#: Rows of steps that the machines are trained on.
ROWS = 4000


def regimes() -> loads.Load:
    """A generated series of two regimes, summer and winter, with different shapes."""
    rng = np.random.default_rng(0)
    day, hour = np.arange(400)[:, None], np.arange(24)[None]
    winter = (np.sin(day / 60 * 2 * np.pi) > 0).astype(float)
    shape = winter * np.sin(hour / 24 * 2 * np.pi) + (1 - winter) * np.cos(hour / 12 * 2 * np.pi)
    load = 1000 * (1 + 0.2 * shape + 0.1 * winter - 0.1 * (day % 7 >= 5))
    load *= np.exp(0.02 * rng.normal(size=load.shape))
    stamps = np.datetime64("2020-01-01T00:00") + np.arange(load.size) * np.timedelta64(60, "m")
    return loads.Load(stamps, load.ravel(), None, (), 60)


def run(settings: Settings) -> dict[str, object]:
    """Clusters on two series, shifts, and the solvers at 4,000 rows."""
    series, notes = {"regimes": regimes()}, []
    try:
        series["ISO-NE"] = loads.isone().between(2011, 2014)
    except MissingDataSet as error:
        notes.append(str(error))
    rows, cells, found = [], {}, []
    _train(np.zeros((30, 2)) + np.arange(30)[:, None], np.arange(30.0), 0.0)  # compiles
    for label, data in series.items():
        cells[label] = cell = clusters(data)
        rows += [[label, who, *c.values()] for who, c in cell.items()]
        for k in CLUSTERS:
            one, whole = cell[f"{k} clusters"], cell["global"]
            ratio, longest = one["cpu"] / whole["cpu"], one["longest"] / whole["cpu"]
            found += [
                bar(f"{label}, {k}: CPU of all clusters / global", ratio, 0.6, at_least=False),
                bar(f"{label}, {k}: longest cluster / global", longest, 1.5 / k, at_least=False),
                bar(f"{label}, {k}: MAPE / persistence",
                    one["mape"] / cell["persistence"]["mape"], 1.0, at_least=False),
            ]  # fmt: skip
    shifts = shift_rows(series["regimes"])
    falling = all(a[1] > b[1] for a, b in pairwise(shifts))
    found.append(bar("share of forecasts too low falls with the shift", float(falling), 1.0))
    solver = solvers(600 if settings.quick else ROWS)
    cells["solvers"] = solver
    found.append(
        bar("certified solver / scikit-learn SVR, CPU", solver["ratio"], 1.0, at_least=False)
    )
    found.append(bar("objective over SVR's", solver["objective"], 1.0 + 1e-4, at_least=False))
    return {
        "title": "Clusters of the thesis and solvers, one thread",
        "bars": found,
        "tables": [
            table("Delay embedding of 14 days; machines with equal passes",
                  ["series", "who", "MAPE %", "CPU s", "longest, CPU s"], rows),
            table("Shift of the tube, clustered model on regimes", ["shift", "under", "MAPE %"],
                  shifts),
        ],
        "notes": notes, "cells": cells,
    }  # fmt: skip


def _train(X: np.ndarray, y: np.ndarray, shift: float) -> tuple[ShiftedTubeRegressor, float]:
    model = ShiftedTubeRegressor(
        STRENGTH, epsilon=0.1, shift=shift, gamma=0.5 / X.shape[1], passes=PASSES, n_threads=1
    )
    start = time.process_time()
    return model.fit(X, y), time.process_time() - start


def clusters(data: loads.Load) -> dict[str, dict[str, Any]]:
    """MAPE and CPU of one machine and of clusters with the softmax gate."""
    embedding = Embedding(lags=tuple(range(1, 15)), seasonal_lags=(), calendar=False)
    rows = embedding.steps(data.series)
    cut = len(rows.X) - data.origins * 24
    mean, spread = rows.Y[:cut].mean(), rows.Y[:cut].std()
    X, y = (rows.X - mean) / spread, (rows.Y - mean) / spread
    actual, persistence = rows.Y[cut:], rows.X[cut:, 0]
    cell = {"persistence": {"mape": mape(actual, persistence), "cpu": 0.0, "longest": None}}
    drawn = np.sort(np.random.default_rng(0).choice(cut, min(ROWS, cut), replace=False))
    whole, cpu = _train(X[drawn], y[drawn], 0.0)
    cell["global"] = {
        "mape": mape(actual, whole.predict(X[cut:]) * spread + mean), "cpu": cpu, "longest": cpu,
    }  # fmt: skip
    for k in CLUSTERS:
        groups = KernelKMeans(k, gamma=0.5 / X.shape[1]).fit(X[drawn])
        parts = [drawn[groups.labels_ == j] for j in range(k)]
        trained = [_train(X[part], y[part], 0.0) for part in parts]
        made = np.column_stack([model.predict(X[cut:]) for model, _ in trained])
        forecast = (made * groups.memberships(X[cut:])).sum(axis=1) * spread + mean
        seconds = [s for _, s in trained]
        cell[f"{k} clusters"] = {
            "mape": mape(actual, forecast), "cpu": sum(seconds), "longest": max(seconds),
        }  # fmt: skip
    return cell


def shift_rows(data: loads.Load) -> list[list[float]]:
    """Share of forecasts that are too low, and MAPE, by the shift."""
    rows = []
    for shift in (0.0, 0.3, 0.6, 1.0):
        model = LoadForecaster("clustered", shift=shift, n_clusters=2, n_threads=1)
        found = model.backtest(data.series, origins=data.origins).metrics()
        rows.append([shift, found["under_share"], found["mape"]])
    return rows


def solvers(n: int) -> dict[str, float]:
    """CPU of the certified solver against libsvm, on rows of steps, to the same objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 14))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    C, epsilon, gamma = 10.0, 0.05, 0.05
    strength = 1.0 / (n * C)
    KernelRegressor(C=C, epsilon=epsilon, gamma=gamma).fit(X[:1200], y[:1200])  # compiles

    def objective(model: Any) -> float:
        f = model.predict(X)
        coef = np.zeros(n)
        coef[model.support_] = model.dual_coef_.ravel()
        norm = coef @ (f - float(np.ravel(model.intercept_)[0]))
        loss = np.maximum(np.abs(y - f) - epsilon, 0.0).mean()
        return float(loss + 0.5 * strength * norm)

    start = time.process_time()
    theirs = SVR(C=C, epsilon=epsilon, gamma=gamma).fit(X, y)
    middle = time.process_time()
    ours = KernelRegressor(C=C, epsilon=epsilon, gamma=gamma, n_threads=1).fit(X, y)
    end = time.process_time()
    return {
        "ours": end - middle, "theirs": middle - start,
        "ratio": (end - middle) / (middle - start),
        "objective": objective(ours) / objective(theirs), "gap": ours.gap_,
    }  # fmt: skip
