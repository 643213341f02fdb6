"""Products of binned data against dense ones, memory, and the time of fits against peers."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.run import Settings, bar, interleave, table

name = "additive_speed"
ROWS, COLUMNS = 100_000, 96
#: Shape of the timed fits.
FIT_ROWS, FIT_COLUMNS = 50_000, 100
#: Shape of the fit whose memory is measured.
MEMORY_ROWS, MEMORY_COLUMNS = 50_000, 20
#: Rows and columns of the comparison with EBM, which takes minutes on more.
EBM_ROWS, EBM_COLUMNS = 2_000, 10
#: Pairs for every column in EBM's defaults ("3x").
EBM_PAIRS = 3


def run(settings: Settings) -> dict[str, object]:
    """Products side by side, then fits."""
    cells: dict[str, object] = {}
    products, memory, rows = _products(settings, cells)
    fits, fit_rows = _fits(settings, cells)
    return {
        "title": "Products, memory and time of fits, one thread",
        "bars": [
            bar(
                "scores: CPU over that of numpy's float64 X @ w",
                products["scores"],
                0.5,
                at_least=False,
            ),
            bar(
                "gradient: CPU over that of numpy's float64 X.T @ r",
                products["gradient"],
                0.5,
                at_least=False,
            ),
            bar(
                "scores: CPU over that of auctor's own dense kernel",
                products["scores, own"],
                0.5,
                at_least=False,
            ),
            bar(
                "gradient: CPU over auctor's own dense kernel",
                products["gradient, own"],
                0.5,
                at_least=False,
            ),
            bar("bytes per entry", memory, 1.3, at_least=False),
            bar(
                "fit at one strength: CPU over LightGBM's default",
                fits["lightgbm"],
                2.0,
                at_least=False,
            ),
            bar(
                "mains with their search: CPU over LightGBM's default",
                fits["lightgbm, search"],
                3.0,
                at_least=False,
            ),
            bar(
                "peak memory of a fit over 1.3 B an entry and 20 B a row and member",
                _memory(settings),
                1.0,
                at_least=False,
            ),
            bar("EBM's CPU (defaults) over that of strength='auto'", fits["ebm"], 5.0),
            bar("the same, both with 3 pairs a column", fits["ebm, pairs"], 5.0),
            bar("the same, both without pairs", fits["ebm, no pairs"], 5.0),
        ],
        "tables": [
            table(f"Products, {ROWS:,} x {COLUMNS}", ["product", "CPU s", "ns per entry"], rows),
            table("Fits", ["fit", "rows", "columns", "CPU s"], fit_rows),
            table(
                "Paths of 12 strengths, pairwise squared hinge, fused",
                ["rows x columns", "lhac CPU s", "subspace_newton CPU s", "ratio"],
                _paths(settings),
            ),
        ],
        "notes": [
            "Dense float64 products are measured twice: numpy's (OpenBLAS) and auctor's own dense "
            "kernels, which run at the speed of memory on this machine.",
            "Binned products are bound by the processor, at about one cycle an entry: a shift, a "
            "mask and a load for scores, and one store a cycle for histograms. Strips of 256 to "
            "4,096 rows and codes loaded byte by byte took as long.",
        ],
        "cells": cells,
    }


def _products(
    settings: Settings, cells: dict[str, object]
) -> tuple[dict[str, float], float, list[list[object]]]:
    from auctor.additive.bins import Bins
    from auctor.core.types import Target
    from auctor.data import Binned, Dense

    rng = np.random.default_rng(0)
    n = ROWS // 5 if settings.quick else ROWS
    X = rng.normal(size=(n, COLUMNS))
    target = Target(np.where(rng.random(n) < 0.3, 1.0, -1.0))
    matrix = Bins.of(X).encoded(X)
    binned, dense = Binned(matrix, target, n_threads=1), Dense(X, target, n_threads=1)
    w, r = rng.normal(size=matrix.shape[1]), rng.normal(size=n)
    v = rng.normal(size=COLUMNS)
    calls: dict[str, Callable[[], object]] = {
        "scores, binned": lambda: binned.scores(w),
        "scores, numpy": lambda: X @ v,
        "scores, auctor dense": lambda: dense.scores(v),
        "gradient, binned": lambda: binned.gradient(r),
        "gradient, numpy": lambda: X.T @ r,
        "gradient, auctor dense": lambda: dense.gradient(r),
    }
    for call in calls.values():
        call()
    clocks = interleave(calls, 5 if settings.quick else 15, inner=3)
    for label, clock in clocks.items():
        cells[label] = clock.summary()
    cpu = {label: float(clock.summary()["cpu"]) for label, clock in clocks.items()}
    rows = [[label, seconds, 1e9 * seconds / X.size] for label, seconds in cpu.items()]
    ratios = {}
    for product in ("scores", "gradient"):
        ratios[product] = cpu[f"{product}, binned"] / cpu[f"{product}, numpy"]
        ratios[f"{product}, own"] = cpu[f"{product}, binned"] / cpu[f"{product}, auctor dense"]
    return ratios, matrix.n_bytes / X.size, rows


def problem(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose label depends on curves of ten columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    z = np.sin(2 * X[:, 0]) + (X[:, 1] > 0.5) + X[:, 2] - 0.5 * X[:, 3] ** 2
    z += 0.3 * X[:, 4:10].sum(axis=1) + 0.7 * rng.logistic(size=n)
    return X, z > 1.5


def _cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def _fits(
    settings: Settings, cells: dict[str, object]
) -> tuple[dict[str, object], list[list[object]]]:
    from auctor import AdditiveClassifier

    ratios: dict[str, object] = {"lightgbm": None, "lightgbm, search": None}
    rows: list[list[object]] = []
    n, p = (FIT_ROWS // 10, FIT_COLUMNS) if settings.quick else (FIT_ROWS, FIT_COLUMNS)
    X, y = problem(n, p)
    AdditiveClassifier(strength=1e-3, n_threads=1).fit(X[:500], y[:500])  # compiles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = _cpu(lambda: AdditiveClassifier(strength=3e-3, n_threads=1).fit(X, y))
        rows.append(["auctor, one strength", n, p, ours])
        search = _cpu(lambda: AdditiveClassifier(interactions=0, n_threads=1).fit(X, y))
        rows.append(["auctor, strength auto, no pairs", n, p, search])
        try:
            from lightgbm import LGBMClassifier

            theirs = _cpu(lambda: LGBMClassifier(n_jobs=1, verbose=-1).fit(X, y))
            rows.append(["lightgbm, 100 trees", n, p, theirs])
            ratios["lightgbm"] = ours / theirs
            ratios["lightgbm, search"] = search / theirs
        except ImportError:
            pass
        n, p = EBM_ROWS, EBM_COLUMNS
        X, y = problem(n, p)
        ratios |= _against_ebm(X, y, rows)
    cells["fits"] = rows
    return ratios, rows


def _against_ebm(X: np.ndarray, y: np.ndarray, rows: list[list[object]]) -> dict[str, object]:
    """EBM's CPU over ours, both with and without pairs; fits are added to the rows."""
    from auctor import AdditiveClassifier

    pairs = {"no pairs": 0, "pairs": EBM_PAIRS * X.shape[1]}
    ours = {}
    for label, count in pairs.items():
        model = AdditiveClassifier(n_threads=1, interactions=count)
        ours[label] = _cpu(lambda model=model: model.fit(X, y))
        rows.append([f"auctor, strength auto, {label}", *X.shape, ours[label]])
    ratios: dict[str, object] = dict.fromkeys(("ebm", "ebm, no pairs", "ebm, pairs"))
    try:
        from interpret.glassbox import ExplainableBoostingClassifier
    except ImportError:
        return ratios
    for label, changes in {"no pairs": {"interactions": 0}, "pairs": {}}.items():
        model = ExplainableBoostingClassifier(n_jobs=1, **changes)
        theirs = _cpu(lambda model=model: model.fit(X, y))
        rows.append([f"EBM, {label}" + ("" if changes else " (defaults)"), *X.shape, theirs])
        ratios[f"ebm, {label}"] = theirs / ours[label]
    ratios["ebm"] = theirs / ours["no pairs"]
    return ratios


def _memory(settings: Settings) -> float:
    """Largest sum of all arrays during a default fit, over what the design allows."""
    from auctor import AdditiveClassifier

    n, p = MEMORY_ROWS // (10 if settings.quick else 1), MEMORY_COLUMNS
    X, y = problem(n, p)
    model = AdditiveClassifier(n_threads=1)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (1.3 * n * p + 20 * n * model.members)


def _paths(settings: Settings) -> list[list[object]]:
    """A path of the pairwise squared hinge with the solvers that need no columns."""
    from auctor.additive.bins import Bins
    from auctor.additive.parameters import KINKED_CURVE_RATIO, curve_penalty
    from auctor.core.types import Target
    from auctor.data import Binned
    from auctor.losses import PairwiseSquaredHinge
    from auctor.problem import Problem
    from auctor.solvers import regularisation_path, strength_max

    rows: list[list[object]] = []
    for n, p in ((1_000, 10), (3_000, 20), (10_000, 10)):
        X, y = problem(n, p)
        bins = Bins.of(X)
        data = Binned(bins.encoded(X), Target(np.where(y, 1.0, -1.0)), n_threads=1)
        penalty = curve_penalty("fused", bins, np.zeros(p, dtype=np.int64))
        task = Problem(PairwiseSquaredHinge(), penalty, data)
        strengths = np.geomspace(1.0, KINKED_CURVE_RATIO, 12) * strength_max(task)
        row: list[object] = [f"{n} x {p}"]
        for solver in ("lhac", "subspace_newton"):

            def path(solver: str = solver, task: object = task, levels: object = strengths) -> None:
                regularisation_path(task, strengths=levels, solver=solver, on_failure="ignore")

            row.append(_cpu(path))
        rows.append([*row, row[1] / row[2]])
    return rows
