"""The pair hinge of many rows: time, and its gradient against integer counts."""

from __future__ import annotations

import time

import numpy as np

from auctor.core.types import Target
from auctor.losses import PairwiseHinge
from benchmarks.run import Settings, bar, table

name = "scale_pairs"
ROUNDS = 9


def run(settings: Settings) -> dict[str, object]:
    """1e6 and 1e7 rows (1e5 with --quick), 10 % positive."""
    found = [_case(n) for n in ((100_000,) if settings.quick else (1_000_000, 10_000_000))]
    last = found[-1]
    return {
        "title": "The pair hinge of many rows",
        "bars": [
            bar("CPU ns a row, value and gradient", last[1], 100.0, at_least=False),
            bar("gradient against integer counts, relative", last[3], 1e-13, at_least=False),
        ],
        "tables": [
            table(
                "Value and gradient, sorted anew",
                ["rows", "CPU ns a row", "wall ns a row", "error"],
                found,
            )
        ],
        "notes": ["Median of nine; CPU seconds of all threads."],
    }


def _case(n: int) -> list[float]:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    scores, target, loss = rng.normal(size=n), Target(y), PairwiseHinge()
    loss.value_grad(scores, target)  # compiles, and finds the rows of both classes
    times = []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        _, slopes = loss.value_grad(scores, target)
        times.append((time.process_time() - cpu, time.perf_counter() - wall))
    positive, negative = scores[y > 0.0], scores[y < 0.0]
    raised = np.sort(negative) + 1.0
    counts = negative.size - np.searchsorted(raised, positive, side="right")
    wanted = -(counts / negative.size) / positive.size
    error = float(np.abs(slopes[y > 0.0] - wanted).max() / np.abs(wanted).max())
    cpu, wall = np.median(times, axis=0)
    return [n, float(1e9 * cpu / n), float(1e9 * wall / n), error]
