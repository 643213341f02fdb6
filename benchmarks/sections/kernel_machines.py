"""Kernel support vector machines against libsvm and scikit-learn-intelex."""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from auctor import KernelClassifier
from auctor.kernel import dual
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, geometric_mean, table

name = "kernel_machines"
#: Set, C and gamma, as the issue has them.
CASES = (("a9a", 1.0, 1.0 / 123), ("ijcnn1", 10.0, 1.0), ("w8a", 10.0, 0.05))
ROWS = 16_000
#: Variables of a block to try.
BLOCKS = (256, 512, 1024, 2048)
#: Memory for kernel rows, the same for everyone.
CACHE = 1 << 29
#: What a fit spends its time on, by the functions that do it.
SHARES = {
    "kernel rows": "_compute", "slopes of all variables": "subtract_rows",
    "pairs": "solve_pairs", "matrix of the block": "gather", "choice of the block": "_select",
}  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Fit and predict with everyone in turn; the objective of each is computed in float64."""
    size = 3_000 if settings.quick else ROWS
    _warm()
    rows, notes, cells, blocks, parts = [], [], {}, [], []
    for label, C, gamma in CASES:
        if not settings.wants(label):
            continue
        try:
            data = datasets.load(label)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        X, y = data.X[:size], data.y[:size]
        cells[label] = cell = _cell(X, y, C, gamma, notes)
        rows += [
            [label, who, c["cpu"], c["wall"], c["predict"], c["objective"], c["support"]]
            for who, c in cell.items()
        ]
        blocks.append([label, *_block_sizes(X, y, C, gamma)])
        parts.append([label, *_shares(X, y, C, gamma)])
        if not settings.quick and not settings.over():
            rows.append(_whole(label, data, C, gamma, cells))
    return {
        "title": f"Kernel SVM, {size:,} rows, float64 objectives, one thread unless said",
        "bars": _bars({k: v for k, v in cells.items() if not k.startswith("all of")}),
        "tables": [
            table("Fits", ["set", "who", "CPU s", "wall s", "predict CPU s", "dual objective",
                           "support"], rows),
            table("Share of the wall time of a fit, one thread", ["set", *SHARES, "rest"], parts),
            table("CPU seconds by size of the block", ["set", *map(str, BLOCKS)], blocks),
        ],
        "notes": [
            *dict.fromkeys(notes), "Caches of half a gibibyte; tolerance 1e-3 as in libsvm.",
            "Shrinking: variables that stay at a bound enter no block. Their slopes are kept up to "
            "date, because the certified gap needs them; the share of that work is all that "
            "leaving them out could save.",
        ],
        "cells": cells,
    }  # fmt: skip


def _makers(C: float, gamma: float, notes: list[str]) -> dict[str, Callable[[], Any]]:
    from sklearn.svm import SVC

    makers: dict[str, Callable[[], Any]] = {
        "auctor": lambda: KernelClassifier(C=C, gamma=gamma, cache_bytes=CACHE, n_threads=1),
        "libsvm": lambda: SVC(C=C, gamma=gamma, cache_size=CACHE / 1e6),
        "auctor, 2 threads": lambda: KernelClassifier(
            C=C, gamma=gamma, cache_bytes=CACHE, n_threads=2
        ),
    }
    try:
        from sklearnex.svm import SVC as IntelSVC
    except ImportError:
        notes.append("scikit-learn-intelex does not import here; its times are missing.")
    else:
        makers["intelex"] = lambda: IntelSVC(C=C, gamma=gamma, cache_size=CACHE / 1e6)
    return makers


def _cell(X: Any, y: np.ndarray, C: float, gamma: float, notes: list[str]) -> dict[str, dict]:
    cell = {}
    for who, make in _makers(C, gamma, notes).items():
        model = make()
        cell[who] = _fit(model, X, y, gamma)
    return cell


def _fit(model: Any, X: Any, y: np.ndarray, gamma: float) -> dict[str, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    model.fit(X, y)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    start = time.process_time()
    model.decision_function(X)
    predict = time.process_time() - start
    coef = model.dual_coef_
    coef = coef.toarray() if hasattr(coef, "toarray") else np.asarray(coef)
    objective = _objective(X, y, np.asarray(model.support_), coef.ravel(), gamma)
    return {
        "cpu": cpu, "wall": wall, "predict": predict, "objective": objective,
        "support": int(coef.size), "gap": float(getattr(model, "gap_", np.nan)),
    }  # fmt: skip


def _block_sizes(X: Any, y: np.ndarray, C: float, gamma: float) -> list[float]:
    """CPU seconds of a fit by blocks of each size."""
    usual, seconds = dual.BLOCK_VARIABLES, []
    for size in BLOCKS:
        dual.BLOCK_VARIABLES = size
        start = time.process_time()
        KernelClassifier(C=C, gamma=gamma, cache_bytes=CACHE, n_threads=1).fit(X, y)
        seconds.append(time.process_time() - start)
    dual.BLOCK_VARIABLES = usual
    return seconds


def _shares(X: Any, y: np.ndarray, C: float, gamma: float) -> list[str]:
    """Share of the wall time in each part of a fit, and in the rest."""
    model = KernelClassifier(C=C, gamma=gamma, cache_bytes=CACHE, n_threads=1)
    profile = cProfile.Profile()
    profile.runcall(model.fit, X, y)
    stats = pstats.Stats(profile).get_stats_profile()
    known = stats.func_profiles
    found = [known[f].cumtime / stats.total_tt if f in known else 0.0 for f in SHARES.values()]
    return [f"{100.0 * share:.0f} %" for share in (*found, 1.0 - sum(found))]


def _objective(X: Any, y: np.ndarray, support: np.ndarray, beta: np.ndarray, gamma: float) -> float:
    """The dual objective in float64, whatever the solver computed with."""
    rows = X[support].toarray()
    squares = (rows**2).sum(axis=1)
    quadratic = 0.0
    for start in range(0, support.size, 1000):
        part = slice(start, start + 1000)
        dots = rows[part] @ rows.T
        K = np.exp(-gamma * (squares[part][:, None] + squares[None] - 2.0 * dots))
        quadratic += float(beta[part] @ (K @ beta))
    return float(beta @ y[support]) - 0.5 * quadratic


def _whole(label: str, data: datasets.DataSet, C: float, gamma: float, cells: dict) -> list[object]:
    """The whole set, ours alone: a report."""
    model = KernelClassifier(C=C, gamma=gamma, cache_bytes=CACHE, n_threads=1)
    cell = _fit(model, data.X, data.y, gamma)
    cells[f"all of {label}"] = cell
    who = f"auctor, all {data.n_rows:,} rows"
    return [
        label,
        who,
        cell["cpu"],
        cell["wall"],
        cell["predict"],
        cell["objective"],
        cell["support"],
    ]


def _bars(cells: dict[str, dict]) -> list[dict[str, object]]:
    bars = []
    for label, cell in cells.items():
        others = [c["cpu"] for who, c in cell.items() if not who.startswith("auctor")]
        ratio = min(others) / cell["auctor"]["cpu"]
        bars.append(bar(f"{label}: CPU of the best other / auctor", ratio, 1.0))
        off = abs(cell["auctor"]["objective"] / cell["libsvm"]["objective"] - 1.0)
        bars.append(bar(f"{label}: relative difference of objectives", off, 1e-6, at_least=False))
    gains = [c["libsvm"]["cpu"] / c["auctor"]["cpu"] for c in cells.values()]
    predictions = [c["libsvm"]["predict"] / c["auctor"]["predict"] for c in cells.values()]
    threads = [c["auctor"]["wall"] / c["auctor, 2 threads"]["wall"] for c in cells.values()]
    bars.append(bar("libsvm / auctor, CPU, geometric mean", geometric_mean(gains), 2.0))
    bars.append(bar("libsvm / auctor, prediction, worst set", min(predictions, default=0.0), 5.0))
    bars.append(bar("one thread / two, wall, geometric mean", geometric_mean(threads), 1.5))
    return bars


def _warm() -> None:
    """Compile before anything is timed."""
    from scipy import sparse

    rng = np.random.default_rng(0)
    y = np.where(rng.random(1500) < 0.5, 1.0, -1.0)
    dense = rng.normal(size=(1500, 5))
    thin = sparse.random(1500, 200, 0.02, format="csr", random_state=0)
    for X in (dense, sparse.csr_array(thin), sparse.csr_array(dense)):
        KernelClassifier(gamma=0.1).fit(X, y).decision_function(X)
