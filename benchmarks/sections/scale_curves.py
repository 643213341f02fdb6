"""Curves with pairs on rows in shards: the model of memory, passes, memory, many columns."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from auctor import AdditiveClassifier
from auctor.data import open_shards
from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.shards import shard_path
from benchmarks.run import Settings, bar, table

name = "scale_curves"
#: Metrics whose models are compared, with smooth surrogates.
METRICS = {"log_loss": "logistic", "auc": "squared_hinge", "f1": "logistic"}
#: Rows and columns on the disk, rows of a shard, and bytes for the ring of buffers.
DISK, PART, RING = (2_000_000, 50), 50_000, 32 << 20
#: Rows and columns of the wide table.
WIDE = (100_000, 2000)
#: Fits a model in a process of its own and prints what it cost.
CHILD = """
import json, sys, time
from pathlib import Path
import numpy as np
from auctor import AdditiveClassifier
from auctor.data import open_shards
from auctor.data.workers import FileWorkers
given = json.loads(sys.argv[1])
start, cpu = time.perf_counter(), time.process_time()
if "folder" in given:
    data = open_shards(given["folder"], check=False, memory=given["memory"])
    model = AdditiveClassifier("log_loss", members=1, interactions=0, strength=1e-3).fit(data)
    codes = data.n_rows * data.n_columns
else:
    rng = np.random.default_rng(0)
    X = rng.normal(size=given["wide"]).astype(np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + rng.normal(size=X.shape[0]) > 1.0
    start, cpu = time.perf_counter(), time.process_time()
    model = AdditiveClassifier("log_loss").fit(X, y)
    codes = X.size
status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
solutions = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
print(json.dumps({
    "rss": 1024 * int(status.split()[0]), "passes": max(one.passes for one in solutions),
    "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
    "gap": model.gap_, "auc": model.score_oof_, "codes": codes,
    "pairs": len(model.names_) - len(model.bins_.columns),
}))
"""


def run(settings: Settings) -> dict[str, object]:
    """Compare the models, then fit in processes of their own."""
    scale = 20 if settings.quick else 1
    with tempfile.TemporaryDirectory(dir=os.environ.get("AUCTOR_SCALE_DIR")) as room:
        same = [row for metric in METRICS for row in _same(Path(room, metric), metric)]
        folder = Path(room, "large")
        n, d = DISK[0] // scale, DISK[1]
        _write(
            folder, (_chunk(k, min(PART, n - low), d) for k, low in enumerate(range(0, n, PART)))
        )
        disk = _child({"folder": str(folder), "memory": RING})
        read = _read_seconds(folder)
    wide = _child({"wide": [WIDE[0] // scale, WIDE[1]]})
    apart = max(float(row[-1]) for row in same)
    return {
        "title": "Curves with pairs in shards",
        "bars": [
            bar("largest difference of a score to memory", apart, 1e-6, at_least=False),
            bar("passes at one strength", disk["passes"], 40.0, at_least=False),
            bar("GB at the peak, codes on the disk", disk["rss"] / 1e9, 1.2, at_least=False),
            bar("seconds, 2,000 columns", wide["seconds"], 600.0, at_least=False),
            bar("GB at the peak, 2,000 columns", wide["rss"] / 1e9, 4.0, at_least=False),
        ],
        "tables": [
            table("The same rows elsewhere (tol 1e-5)", ["metric", "rows in", "apart"], same),
            table(
                "Fits",
                ["rows x columns", "stored", "seconds", "CPU s", "GB", "passes", "pairs", "gap"],
                [_line(f"{n:,} x {d}", "codes on the disk", disk),
                 _line(f"{WIDE[0] // scale:,} x {WIDE[1]:,}", "memory", wide)],
            ),
        ],
        "notes": [
            f"A plain read of the codes takes {read:.2f} s a pass. Seconds on the disk include the "
            "bins, the codes, the five folds that give held-out scores, and the fit of all rows, "
            "whose passes are those in the table.",
            "2,000 columns: the default fit with 8 members; pairs among the 50 columns whose "
            "curves vary most.",
        ],
        "cells": {"disk": disk, "wide": wide},
    }  # fmt: skip


def _line(size: str, where: str, cost: dict[str, float]) -> list[object]:
    names = ("seconds", "cpu")
    return [size, where, *(cost[one] for one in names), cost["rss"] / 1e9, cost["passes"],
            cost["pairs"], cost["gap"]]  # fmt: skip


def _child(given: dict[str, object]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, json.dumps(given)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _chunk(k: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    X = rng.normal(size=(n, d)).astype(np.float32)
    return X, X[:, 0] * X[:, 1] + X[:, 2] ** 2 + rng.normal(size=n) > 1.0


def _write(folder: Path, chunks: object) -> None:
    folder.mkdir()
    entries, width = [], 0
    for k, (X, y) in enumerate(chunks):  # type: ignore[attr-defined]
        entries.append(write_shard(shard_path(folder, k), X, y.astype(float)))
        width = X.shape[1]
    write_manifest(folder, width, entries, sparse=False, labels=[0, 1])


def _read_seconds(folder: Path) -> float:
    start = time.perf_counter()
    for path in sorted((folder / "codes").rglob("*.codes")):
        path.read_bytes()
    return time.perf_counter() - start


def _same(folder: Path, metric: str) -> list[list[object]]:
    """How far scores of rows elsewhere are from those in memory."""
    X, y = _chunk(0, 4000, 8)
    parts = np.array_split(np.arange(4000), 5)
    _write(folder, ((X[part], y[part]) for part in parts))

    def model() -> AdditiveClassifier:
        return AdditiveClassifier(
            metric, surrogate=METRICS[metric], members=2, interactions=2, strength=0.003, tol=1e-5
        )

    here = model().fit(X, y).decision_function(X)
    rows: list[list[object]] = []

    def add(where: str, scores: np.ndarray) -> None:
        rows.append([metric, where, float(np.abs(scores - here).max())])

    for where, memory in {"codes in memory": 1 << 28, "codes on the disk": 30_000}.items():
        data = open_shards(folder, check=False, memory=memory)
        add(f"shards, {where}", model().fit(data).decision_function(X))
    if importlib.util.find_spec("distributed"):
        import dask.array as arrays
        import distributed

        with (
            distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster),
        ):
            far = arrays.from_array(X, chunks=(800, 8)), arrays.from_array(y, chunks=800)
            add("Dask, 2 workers", model().fit(*far).decision_function(X))
    return rows
