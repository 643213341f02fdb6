"""One evaluation on one and on two workers of Dask, beside this process."""

from __future__ import annotations

import os
import time

import numpy as np

from auctor.data import as_data
from benchmarks.problems import clusters, shards
from benchmarks.run import Settings, bar, table

name = "scale_dask"
ROUNDS = 9
#: Least speed-up by the second worker, and most time of two beside one thread here.
TWO, ONE_HERE = 1.7, 1.0


def run(settings: Settings) -> dict[str, object]:
    """Scores and gradient of 1e6 rows of 50 entries (1e5 with --quick)."""
    title = "Scores and gradient of rows with 50 entries on workers of Dask"
    if lacks := clusters.lacks_dask():
        return {"title": title, "bars": [], "tables": [], "notes": [lacks]}
    X, y = shards.rows(100_000 if settings.quick else 1_000_000, 50, 100_000)
    u = np.random.default_rng(0).normal(size=X.shape[0])
    w = np.random.default_rng(1).normal(size=X.shape[1])
    near = times(as_data(X, y, n_threads=1), w, u)
    found = {count: _cluster(X, y, w, u, count) for count in (1, 2)}
    far = {count: seconds for count, (seconds, _) in found.items()}
    seconds = {"this process": near, "1 worker": far[1], "2 workers": far[2]}
    return {
        "title": title,
        "bars": [
            bar("2 workers: times faster than 1", far[1][1] / far[2][1], TWO),
            bar("2 workers / one thread here", far[2][1] / near[1], ONE_HERE, at_least=False),
        ],
        "tables": [
            table(
                f"Seconds, {X.shape[0]:,} rows", ["where", "least", "median"],
                [[where, *two] for where, two in seconds.items()],
            ),
            table(
                "CPU seconds of an evaluation, and the wall time of a call that does nothing",
                ["workers", "this process, with the scheduler", "all workers", "null call"],
                [[count, *spent] for count, (_, spent) in found.items()],
            ),
        ],
        "notes": ["The workers share two cores with this process, which sends and receives."],
    }  # fmt: skip


def times(data: object, w: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    data.scores(w), data.gradient(u)
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        data.scores(w)
        data.gradient(u)
        found.append(time.perf_counter() - start)
    return min(found), float(np.median(found))


def _cluster(
    X: object, y: np.ndarray, w: np.ndarray, u: np.ndarray, count: int
) -> tuple[tuple[float, float], tuple[float, float, float]]:
    """Least and median seconds; CPU seconds here and there, and seconds of a null call."""
    import distributed
    import psutil

    from auctor.core.types import Target
    from auctor.dask import DaskWorkers
    from auctor.data import Sharded, Sparse

    with clusters.dask(count) as client:
        pieces = np.array_split(np.arange(X.shape[0]), 2)
        made = [Sparse(X[some], Target(y[some]), n_threads=1) for some in pieces]
        held = client.scatter(made)
        distributed.wait(held)
        data = Sharded(DaskWorkers(held, client))
        data.scores(w), data.gradient(u)
        there = [psutil.Process(one) for one in client.run(os.getpid).values()]
        here = psutil.Process()
        before = _spent([here]), _spent(there)
        seconds = times(data, w, u)
        rounds = ROUNDS + 1  # `times` warms up first
        spent = [
            (_spent(who) - old) / rounds for who, old in zip(([here], there), before, strict=True)
        ]
        start = time.perf_counter()
        for _ in range(ROUNDS):
            data.workers.each("total", [(np.zeros(1),)] * len(held))
        return seconds, (spent[0], spent[1], (time.perf_counter() - start) / ROUNDS)


def _spent(processes: list[object]) -> float:
    """CPU seconds that processes have used so far."""
    return sum(sum(one.cpu_times()[:2]) for one in processes)
