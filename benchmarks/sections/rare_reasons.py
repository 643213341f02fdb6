"""Seconds of reasons against seconds of scores, for a million rows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from auctor import AdditiveClassifier, MetricClassifier, TableClassifier
from benchmarks.run import Settings, bar, table

name = "rare_reasons"
TITLE = "four reasons for each of a million rows"
COLUMNS = 20
REPEATS = 3


def run(settings: Settings) -> dict[str, object]:
    """CPU seconds, the least of some repeats, after one call that compiles."""
    import pandas as pd

    n = 20_000 if settings.quick else 1_000_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS))
    y = X[:20_000, 0] + rng.normal(size=20_000) > 1.0
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    frame["city"] = np.array(["Oslo", "Rome", "Bonn"])[np.arange(n) % 3]
    cases = {
        "linear, array": (MetricClassifier("auc", n_threads=1), X),
        "curves, array": (AdditiveClassifier(members=2, interactions=0, n_threads=1), X),
        "linear, table": (TableClassifier("auc", n_threads=1), frame),
        "curves, table": (
            TableClassifier("auc", model="additive", members=2, interactions=0, n_threads=1),
            frame,
        ),
    }
    rows: list[list[object]] = []
    for title, (model, data) in cases.items():
        model.fit(data[:20_000], y)
        model.reasons(data[:1000], 4)
        model.decision_function(data[:1000])
        alone = _least(lambda: model.decision_function(data))  # noqa: B023
        both = _least(lambda: model.reasons(data, 4))  # noqa: B023
        rows.append([title, n, alone, both, both / alone])
    return {
        "title": TITLE,
        "bars": [
            bar(f"times the seconds of scoring: {row[0]}", float(row[4]), 3.0, at_least=False)
            for row in rows
        ],
        "tables": [table("CPU seconds", ["model", "rows", "scores", "reasons", "ratio"], rows)],
        "notes": [
            "A linear score of an array is one product of a matrix and a vector, 0.7 nanoseconds "
            "per entry, bound by memory; the largest parts of a row cost some 8 nanoseconds per "
            "entry. In tables both wait for the reading of the columns."
        ],
    }


def _least(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)
