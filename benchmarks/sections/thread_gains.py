"""Wall seconds of the same fit on 1, 2, 4, ... threads, and what of it is serial."""

from __future__ import annotations

import cProfile
import os
import pstats
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from auctor import AdditiveClassifier, KernelClassifier, MetricClassifier, MetricClassifierCV
from benchmarks.run import Settings, bar, table

name = "thread_gains"
TITLE = "Fits on several threads"
#: Cores of the machine for which the bars are stated, and for machines of two cores.
MANY, TWO = 16, 2
#: Gain on two cores where the bar of many cores is at least `STEEP`.
TWO_GAIN, STEEP = 1.7, 6.0
#: Functions of the profile that are shown.
SHOWN = 6


class Case(NamedTuple):
    """One fit, its data and the gain at 16 threads that is asked for."""

    label: str
    data: str
    make: Callable[[int], Any]
    gain: float


def _linear(**options: Any) -> Callable[[int], Any]:
    common = {"strength": 1e-4, "standardise": False, "threshold": 0.0} | options
    return lambda threads: MetricClassifier(n_threads=threads, **common)


CASES = (
    Case("dense logistic l2", "dense", _linear(metric="log_loss"), 8.0),
    Case("dense AUC l2", "dense", _linear(metric="auc", surrogate="squared_hinge"), 6.0),
    Case(
        "dense logistic l1", "dense", _linear(metric="log_loss", penalty="l1", strength=1e-3), 5.0
    ),
    Case("sparse logistic l2", "sparse", _linear(metric="log_loss", strength=1e-6), 6.0),
    Case(
        "sparse logistic l1", "sparse", _linear(metric="log_loss", penalty="l1", strength=1e-5), 3.0
    ),
    Case(
        "sparse hinge l2", "sparse", _linear(metric="error", surrogate="hinge", strength=1e-5), 4.0
    ),
    Case(
        "sparse AUC hinge", "sparse", _linear(metric="auc", surrogate="hinge", strength=1e-5), 5.0
    ),
    Case(
        "additive, one strength",
        "curves",
        lambda t: AdditiveClassifier(strength=3e-3, interactions=0, members=1, n_threads=t),
        8.0,
    ),
    Case("additive, search and pairs", "small", lambda t: AdditiveClassifier(n_threads=t), 8.0),
    Case("kernel rbf", "kernel", lambda t: KernelClassifier(kernel="rbf", n_threads=t), 8.0),
    Case(
        "linear AUC, search",
        "search",
        lambda t: MetricClassifierCV(metric="auc", penalty="l1", n_threads=t),
        8.0,
    ),
)


def dense(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns, logistic labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    scores = X @ (rng.standard_normal(d) * (rng.random(d) < 0.5)) / np.sqrt(d)
    return X, rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * scores))


def bent(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns whose effects are curves."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    scores = np.abs(X[:, 0]) - np.sin(2.0 * X[:, 1]) + X[:, 2] * (X[:, 3] > 0) - 0.5
    return X, scores + rng.logistic(size=n) > 0.0


def words(n: int, d: int, per_row: int) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of unit length with columns of a power law."""
    rng = np.random.default_rng(0)
    columns = np.minimum((d + 10.0) ** rng.random(n * per_row) - 1.0, d - 1).astype(np.int32)
    columns = rng.permutation(d).astype(np.int32)[columns]
    X = sp.coo_array(
        (np.ones(columns.size), (np.repeat(np.arange(n), per_row), columns)), shape=(n, d)
    ).tocsr()
    X.data = X.data / np.repeat(
        np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr)
    )
    scores = X @ rng.standard_normal(d)
    return X, scores + 0.4 * scores.std() * rng.standard_normal(n) > 0.0


def data_of(kind: str, share: float) -> tuple[Any, np.ndarray]:
    """The rows of a case, of which a machine with fewer cores gets a share."""
    sizes = {
        "dense": lambda: dense(int(1e6 * share), 100),
        "sparse": lambda: words(int(4e5 * share), int(2e5 * share), 60),
        "curves": lambda: bent(int(3e5 * share), 100),
        "small": lambda: bent(int(5e4 * share), 30),
        "kernel": lambda: bent(int(2e4 * share**0.5), 100),
        "search": lambda: dense(int(1e5 * share), 100),
    }
    return sizes[kind]()


def threads_up_to(cores: int) -> Iterator[int]:
    """1, 2, 4, ... and the number of cores."""
    count = 1
    while count < cores:
        yield count
        count *= 2
    yield cores


def run(settings: Settings) -> dict[str, object]:
    """All cases; AUCTOR_THREADS limits the threads. Fewer cores get fewer rows."""
    cores = int(os.environ.get("AUCTOR_THREADS", len(os.sched_getaffinity(0))))
    counts = list(threads_up_to(cores))
    share = 0.02 if settings.quick else min(1.0, cores / MANY)
    rows, profiles, cells, bars = [], [], {}, []
    kind, data = "", None
    for case in CASES:
        if not settings.wants(case.label):
            continue
        if case.data != kind:
            kind, data = case.data, data_of(case.data, share)
        X, y = data
        case.make(cores).fit(X[:2000], y[:2000])  # compilation
        seconds = []
        for count in counts:
            start = time.perf_counter()
            model = case.make(count).fit(X, y)
            seconds.append(time.perf_counter() - start)
        gain = seconds[0] / seconds[-1]
        cells[case.label] = {
            "threads": counts,
            "wall": seconds,
            "shape": X.shape,
            "gap": model.gap_,
        }
        rows.append([case.label, f"{X.shape[0]} x {X.shape[1]}", *seconds, gain])
        if cores >= MANY:
            bars.append(bar(f"{case.label}: gain on {cores} threads", gain, case.gain))
        elif case.gain >= STEEP:
            bars.append(bar(f"{case.label}: gain on {cores} threads", gain, TWO_GAIN))
        profiles.append([case.label, *profile(case.make(cores), X, y)])
        print(
            case.label, [round(s, 2) for s in seconds], profiles[-1][1], profiles[-1][2], flush=True
        )
        if settings.over():
            break
    return {
        "title": TITLE,
        "bars": bars,
        "tables": [
            table("Wall seconds", ["fit", "rows x columns", *map(str, counts), "gain"], rows),
            table(
                f"Where the calling thread spends its time on {cores} threads",
                ["fit", "share in tasks of the pool", "largest other parts (share of the fit)"],
                profiles,
            ),
        ],
        "notes": [
            "Seconds include validation, copies and the certificate, not compilation.",
            "Shares are of the time of the calling thread by a profile, which slows functions.",
        ],
        "cells": cells,
    }


def profile(model: Any, X: Any, y: np.ndarray) -> tuple[float, str]:
    """Share of the time in tasks of the pool, and the functions that take most of the rest."""
    watch = cProfile.Profile()
    watch.runcall(model.fit, X, y)
    stats = pstats.Stats(watch).stats
    whole = sum(own for _, _, own, _, _ in stats.values())
    pooled = sum(
        total
        for (file, _, function), (_, _, _, total, _) in stats.items()
        if function == "run_tasks"
    )
    inside = {"run_share", "run_tasks", "result", "wait", "acquire"}
    rest = sorted(
        ((own, f"{os.path.basename(file)}:{function}") for (file, _, function), (_, _, own, _, _)
         in stats.items() if not inside & set(function.replace("'", " ").split())),
        reverse=True,
    )  # fmt: skip
    return pooled / whole, ", ".join(f"{who} {own / whole:.2f}" for own, who in rest[:SHOWN])
