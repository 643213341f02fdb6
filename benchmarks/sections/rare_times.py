"""Estimates by folds in time and by random folds against the score on the future."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold

from auctor import AdditiveClassifier, MetricClassifier, metrics
from auctor.fit.folds import SplitBy, time_folds
from benchmarks.problems.datasets import csv_rows
from benchmarks.run import Settings, bar, table

name = "rare_times"
TITLE = "splits in time against random splits, on tables with drift"
#: Share of the rows, the last ones, that are the future.
FUTURE = 0.25
FOLDS = 5
#: Rows kept of a table, evenly spaced, so that a fold takes seconds.
ROWS = 12_000


def elec2() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Price up or down each half hour, in two and a half years: drift of prices."""
    rows = _numbers("elec2", "elec.csv.xz")
    return rows[:, :-1], rows[:, -1] > 0, np.arange(len(rows), dtype=float)


def isone() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether the load of an hour is a peak, from the load a day and a week before it."""
    lines = csv_rows("load-isone", "selected_data_ISONE.csv.xz")[1:]
    table = np.array([[float(word) for word in line[1:]] for line in lines])
    load, peak = table[:, 5], table[:, 5] > np.quantile(table[: len(table) // 4, 5], 0.9)
    # Yesterday's and last week's load at this hour, the hour, the weekday, the temperature.
    past = np.column_stack([np.roll(load, 24), np.roll(load, 168)])
    X = np.column_stack([past, table[:, 1], table[:, 3], table[:, 4], table[:, 6]])
    return X[168:], peak[168:], np.arange(168, len(table), dtype=float)


def _numbers(*parts: str) -> np.ndarray:
    return np.array(csv_rows(*parts)[1:], dtype=float)


SETS = {"elec2": elec2, "load-isone": isone}
MODELS = {
    "linear": lambda: MetricClassifier("auc", strength=1e-4, n_threads=1),
    "curves": lambda: AdditiveClassifier("auc", members=2, interactions=0, n_threads=1),
}


def run(settings: Settings) -> dict[str, object]:
    """Errors of both estimates."""
    rows: list[list[object]] = []
    for title, load in SETS.items():
        X, y, times = load()
        every = slice(None, None, max(1, len(y) // (3_000 if settings.quick else ROWS)))
        X, y, times = X[every], y[every], times[every]
        cut = round((1.0 - FUTURE) * len(y))
        past, future = slice(0, cut), slice(cut, None)
        by = SplitBy(times=times[past])
        ways = {
            "in time": list(time_folds(by, y[past].astype(int), FOLDS)),
            "random": list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(
                X[past], y[past])),
        }  # fmt: skip
        for name_of, make in MODELS.items():
            model = make().fit(X[past], y[past])
            truth = metrics.auc(y[future], model.decision_function(X[future]))
            found = {}
            for way, folds in ways.items():
                scores = [
                    metrics.auc(y[past][b], make().fit(X[past][a], y[past][a]).decision_function(
                        X[past][b]))
                    for a, b in folds
                ]  # fmt: skip
                found[way] = float(np.mean(scores))
            rows.append([title, name_of, len(y), truth, *found.values(),
                         abs(found["in time"] - truth), abs(found["random"] - truth)])  # fmt: skip
    nearer = sum(row[6] < row[7] for row in rows)
    return {
        "title": TITLE,
        "bars": [bar("tables and models where folds in time are nearer", float(nearer),
                     float(len(rows)))],
        "tables": [
            table(
                "AUC on the future, and the two estimates of it from the past",
                ["table", "model", "rows", "on the future", "folds in time", "random folds",
                 "error in time", "error random"],
                rows,
            )
        ],
        "notes": [f"The future is the last {FUTURE:.0%} of the rows. Means over {FOLDS} folds."],
    }  # fmt: skip
