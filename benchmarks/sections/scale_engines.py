"""The same solver on shards, on Dask and on Spark as in memory; any number of workers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from auctor.core.types import Target
from auctor.data import Dense, Sharded, open_shards
from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.shards import shard_path
from auctor.data.workers import MemoryWorkers
from auctor.minimise import minimise
from auctor.problem import Problem
from auctor.solvers import choose
from benchmarks.problems import clusters
from benchmarks.run import Settings, bar, table
from benchmarks.sections.scale_answers import LOSSES, PENALTIES, apart

name = "scale_engines"
title = "Every loss on shards, Dask and Spark as in memory"
ROWS, COLUMNS, SHARDS = 1200, 8, 6
#: Iterations after which all end, converged or not.
STEPS = 8
#: Cases whose bits are compared between one, two and three workers.
FEW = ("Logistic L2", "PairwiseHinge L2", "Prbep L2", "FBeta L1")


def run(settings: Settings) -> dict[str, object]:
    """Twenty cases on each engine that is installed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    signal = X @ rng.normal(size=COLUMNS) + 2.0 * rng.normal(size=ROWS)
    y = np.where(signal > np.quantile(signal, 0.9), 1.0, -1.0)
    parts = np.array_split(np.arange(ROWS), SHARDS)
    near = _solved(_memory(X, y, parts))
    found, notes, bits = {}, [], None
    with tempfile.TemporaryDirectory() as room:
        entries = [
            write_shard(shard_path(room, number), X[rows], y[rows])
            for number, rows in enumerate(parts)
        ]
        write_manifest(room, COLUMNS, entries, sparse=False)
        found["shards"] = _compared(_solved(open_shards(room)), near)
    if lacks := clusters.lacks_dask():
        notes.append(lacks)
    else:
        two, bits = _dask(X, y)
        found["Dask"] = _compared(two, near)
    if lacks := clusters.lacks_spark():
        notes.append(lacks)
    else:
        with tempfile.TemporaryDirectory() as room:
            found["Spark"] = _spark(Path(room, "rows"), X, y)
    bars = []
    for engine, cases in found.items():
        coef, value = (max(case[k] for case in cases.values()) for k in (0, 1))
        bars.append(bar(f"{engine}: largest |dw| / |w|", coef, 1e-10, at_least=False))
        bars.append(bar(f"{engine}: largest difference of values", value, 1e-12, at_least=False))
    bars.append(bar("Dask: largest difference, 1 and 3 workers to 2", bits, 0.0, at_least=False))
    return {
        "title": title,
        "bars": bars,
        "tables": [
            table(
                "|dw| / |w| against the same shards in memory",
                ["case", *found],
                [[case, *(cases[case][0] for cases in found.values())] for case in near],
            )
        ],
        "notes": [
            f"{ROWS:,} rows, {COLUMNS} columns, {SHARDS} shards (Spark: two); the solver chosen "
            f"for shards, tolerance 1e-4, {STEPS} iterations at most.",
            *notes,
        ],
    }


def _memory(X: np.ndarray, y: np.ndarray, parts: list[np.ndarray]) -> Sharded:
    return Sharded(MemoryWorkers([Dense(X[i], Target(y[i]), n_threads=1) for i in parts]))


def _solved(data: Sharded, wanted: tuple[str, ...] | None = None) -> dict[str, object]:
    found = {}
    for loss in LOSSES:
        for penalty in PENALTIES:
            case = f"{type(loss).__name__} {type(penalty).__name__}"
            if wanted is None or case in wanted:
                problem = Problem(loss, penalty, data)
                found[case] = minimise(
                    problem, choose(problem), tol=1e-4, max_iter=STEPS, rng=0, on_failure="ignore"
                )
    return found


def _compared(far: dict[str, object], near: dict[str, object]) -> dict[str, tuple[float, float]]:
    return {
        case: (
            apart(far[case].coef, near[case].coef),
            abs(far[case].value - near[case].value) / abs(near[case].value),
        )
        for case in near
    }


def _dask(X: np.ndarray, y: np.ndarray) -> tuple[dict[str, object], float]:
    """Answers of two workers, and how far those of one and of three are from them."""
    import dask.array as arrays

    from auctor.dask import from_dask

    found = {}
    for count in (2, 1, 3):
        with clusters.dask(count) as client:
            rows = arrays.from_array(X, chunks=(ROWS // SHARDS, COLUMNS))
            data = from_dask(rows, arrays.from_array(y, chunks=ROWS // SHARDS), client=client)
            found[count] = _solved(data, None if count == 2 else FEW)
    two = found[2]
    apart_by = [
        float(np.abs(found[count][case].coef - two[case].coef).max())
        for count in (1, 3)
        for case in FEW
    ]
    return two, max(apart_by)


def _spark(path: Path, X: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float]]:
    """Spark's rows in memory are those of its own partitions."""
    import pandas

    from auctor.spark import from_spark

    with clusters.spark("1g") as session:
        names = [f"x{k}" for k in range(COLUMNS)]
        path.mkdir()
        for number, rows in enumerate(np.array_split(np.arange(ROWS), 2)):
            some = pandas.DataFrame(X[rows], columns=names).assign(y=y[rows])
            some.to_parquet(path / f"part-{number}.parquet")
        data = from_spark(session.read.parquet(str(path)), names, "y")
        try:
            rows = np.column_stack([data.scores(unit) for unit in np.eye(COLUMNS)])
            cuts = np.split(np.arange(ROWS), np.cumsum(data.holder.lengths)[:-1])
            near = _solved(_memory(rows, data.target.y, cuts))
            return _compared(_solved(data), near)
        finally:
            data.workers.close()
