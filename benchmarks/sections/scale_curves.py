"""Curves with pairs on rows in shards: the model of memory, passes, memory, many columns.

Items of ``--only scale_curves/ITEM``: ``same``, ``dask``, ``spark``, ``disk``, ``wide``, ``table``
and ``rivals``. The sizes of the issue that asked for them take hours on a loaded machine, so they
can be set by ``AUCTOR_CURVES``, such as ``disk=10000000x100,wide=100000x2000``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from auctor import AdditiveClassifier
from auctor.additive.bins import Bins
from auctor.additive.coding import coding_of
from auctor.data import open_shards
from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.shards import shard_path
from auctor.tables.blocks import Chunk
from auctor.tables.shards import write_chunks
from benchmarks.run import Settings, bar, table

name = "scale_curves"
#: Metrics whose models are compared, with smooth surrogates.
METRICS = {"log_loss": "logistic", "auc": "squared_hinge", "f1": "logistic"}
#: Rows and columns of each item, rows of a shard, and bytes for the ring of buffers.
SIZES = {"disk": (10_000_000, 100), "wide": (100_000, 2000), "table": (5_000_000, 50),
         "rivals": (1_000_000, 50)}  # fmt: skip
PART, RING = 50_000, 64 << 20
#: CPU seconds after which a rival is stopped.
LIMIT = 900
#: Fits a model in a process of its own and prints what it cost.
CHILD = """
import json, resource, sys, time
from pathlib import Path
import numpy as np
asked = json.loads(sys.argv[1])
resource.setrlimit(resource.RLIMIT_CPU, (asked["limit"], asked["limit"] + 5))
def status(name):
    return 1024 * int(Path("/proc/self/status").read_text().split(name + ":")[1].split()[0])
def table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2 + rng.normal(size=n) > 1.0
    return X, y
out = {}
if asked["kind"] == "disk":
    from auctor import AdditiveClassifier
    from auctor.data import open_shards
    start, cpu = time.perf_counter(), time.process_time()
    data = open_shards(asked["folder"], memory=asked["memory"])
    model = AdditiveClassifier("log_loss", members=1, cv=2, interactions=0, strength=1e-3)
    model.fit(data.unnamed())
else:
    X, y = table(*asked["size"])
    # Codes are made and kernels compiled before the clock starts.
    if asked["kind"] in ("wide", "table", "auctor"):
        from auctor import AdditiveClassifier
        more = asked["settings"]
        small = AdditiveClassifier("log_loss", n_threads=1, **more)
        small.fit(X[:2000, :10], y[:2000])
        model = AdditiveClassifier("log_loss", n_threads=1, **more)
    elif asked["kind"] == "lightgbm":
        from lightgbm import LGBMClassifier
        model = LGBMClassifier(n_jobs=1, verbose=-1)
    else:
        from interpret.glassbox import ExplainableBoostingClassifier
        model = ExplainableBoostingClassifier(n_jobs=1)
    out["before"] = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
out |= {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu,
        "rss": status("VmHWM")}
if hasattr(model, "solution_"):
    found = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
    out |= {"passes": max(one.passes for one in found), "gap": model.gap_,
            "pairs": len(model.names_) - len(model.bins_.columns)}
if asked["kind"] != "disk":
    from sklearn.metrics import roc_auc_score
    far, hit = table(100_000, asked["size"][1], 1)
    out["auc"] = float(roc_auc_score(hit, model.predict_proba(far)[:, 1]))
print(json.dumps(out))
"""


def run(settings: Settings) -> dict[str, object]:
    """Compare the models, then fit in processes of their own."""
    sizes = SIZES | _asked()
    if settings.quick:
        sizes = {item: (n // 50, max(d // 2, 10)) for item, (n, d) in sizes.items()}
    cells: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("AUCTOR_SCALE_DIR")) as room:
        for engine in ("same", "dask", "spark"):
            for metric in METRICS:
                if settings.wants(engine) or settings.wants(f"{engine}-{metric}"):
                    made = _same(Path(room, f"{metric}-{engine}"), metric, engine)
                    for where, apart in made.items():
                        item = {"metric": metric, "where": where, "apart": apart}
                        cells[f"{metric} {where}"] = item
        if settings.wants("disk"):
            folder = Path(room, "large.shards")
            _write_codes(folder, *sizes["disk"])
            files = sorted(folder.glob("*.shard"))
            before = _read_seconds(files)
            cell = _child({"kind": "disk", "folder": str(folder), "memory": RING})
            cells["disk"] = cell | {
                "size": sizes["disk"], "bytes": sum(one.stat().st_size for one in files),
                "read": max(before, _read_seconds(files)),
            }  # fmt: skip
    for item in ("wide", "table"):
        if settings.wants(item):
            asked = {"kind": item, "size": sizes[item], "settings": {}}
            cells[item] = _child(asked) | {"size": sizes[item]}
    for rival in ("auctor", "lightgbm", "ebm"):
        if settings.wants("rivals") or settings.wants(f"rivals-{rival}"):
            asked = {"kind": rival, "size": sizes["rivals"], "settings": {}, "limit": LIMIT}
            cells[f"rivals {rival}"] = _child(asked) | {"size": sizes["rivals"]}
    return summary(cells)


def summary(cells: dict[str, dict[str, object]]) -> dict[str, object]:
    """Bars and tables of the items that were measured."""
    same = {item: cell for item, cell in cells.items() if "apart" in cell}
    apart = max((float(cell["apart"]) for cell in same.values()), default=None)  # type: ignore[arg-type]
    fits = {item: cell for item, cell in cells.items() if "apart" not in cell}

    def of(item: str, *names: str) -> list[float | None]:
        return [fits.get(item, {}).get(one) for one in names]  # type: ignore[misc]

    passes, rss = of("disk", "passes", "rss")
    wide, wide_cpu = of("wide", "rss", "cpu")
    ours, ebm = of("rivals auctor", "cpu", "auc"), of("rivals ebm", "cpu", "auc")
    share = None if None in (ours[0], ebm[0]) else ours[0] / ebm[0]  # type: ignore[operator]
    return {
        "title": "Curves with pairs in shards",
        "bars": [
            bar("largest difference of a score to memory", apart, 1e-10, at_least=False),
            bar("passes at one strength", passes, 40.0, at_least=False),
            bar("GB at the peak, codes on the disk", _giga(rss), 1.2, at_least=False),
            bar("CPU seconds, 2,000 columns", wide_cpu, 600.0, at_least=False),
            bar("GB at the peak, 2,000 columns", _giga(wide), 4.0, at_least=False),
            bar("bytes at the peak beyond the input, less 60 a row, by entry", _entry_bytes(fits),
                1.6, at_least=False),
            bar("CPU of curves with search over that of EBM", share, 0.1, at_least=False),
        ],
        "tables": [
            table("The same rows elsewhere (tol 1e-12)", ["metric", "rows in", "apart"],
                  [[cell["metric"], cell["where"], cell["apart"]] for cell in same.values()]),
            table("Fits", ["item", "rows x columns", "seconds", "CPU s", "GB at the peak",
                           "passes of one solve", "pairs", "gap", "held-out AUC",
                           "plain read, s", "said"],
                  [_line(item, cell) for item, cell in fits.items()]),
        ],
        "notes": [
            "disk: one strength, no pairs, two folds and the fit of all rows, codes on the disk, "
            "whose files are cached; a plain read of them is in the table. wide, table, rivals: "
            "default fits with 8 members, pairs included; of more than 50 columns, pairs are "
            f"screened among the 50 whose curves vary most. Rivals are stopped after {LIMIT:,} CPU "
            "seconds. Machines were shared: CPU seconds are those to compare. Sizes asked for are "
            "1e7 x 100 on the disk, 1e5 x 2,000, 5e6 x 50 and 1e6 x 50; a table says what was run.",
            "auc: the solver of the squared hinge over pairs stops short of tol 1e-12, with a gap "
            "of 6e-9, so that scores agree to that only.",
        ],
        "cells": cells,
    }  # fmt: skip


def _line(item: str, cell: dict[str, object]) -> list[object]:
    n, d = cell["size"]  # type: ignore[misc]
    names = ("passes", "pairs", "gap", "auc", "read", "said")
    return [item, f"{n:,} x {d:,}", cell.get("seconds"), cell.get("cpu"),
            _giga(cell.get("rss")), *(cell.get(one, "") for one in names)]  # fmt: skip


def _giga(size: object) -> float | None:
    return None if size is None else float(size) / 1e9  # type: ignore[arg-type]


def _entry_bytes(fits: dict[str, dict[str, object]]) -> float | None:
    """Bytes at the peak beyond the input, less 60 a row, by entry of the table."""
    cell = fits.get("table")
    if cell is None or "rss" not in cell:
        return None
    n, d = cell["size"]  # type: ignore[misc]
    return (float(cell["rss"]) - float(cell["before"]) - 60.0 * n) / (n * d)  # type: ignore[arg-type]


def _asked() -> dict[str, tuple[int, int]]:
    """Sizes of items from the environment."""
    found = {}
    for part in filter(None, os.environ.get("AUCTOR_CURVES", "").split(",")):
        item, _, size = part.partition("=")
        n, _, d = size.partition("x")
        found[item] = int(n), int(d)
    return found


def _child(asked: dict[str, object]) -> dict[str, object]:
    """What a fit in a process of its own cost; why it has no result, if it has none."""
    line = json.dumps({"limit": 36_000} | asked)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, line],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["stopped"]
        return {"said": last[0][:80] if done.returncode == 1 else "stopped at the limit"}
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def _chunk(k: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    X = rng.standard_normal((n, d), dtype=np.float32)
    return X, X[:, 0] * X[:, 1] + X[:, 2] ** 2 + rng.normal(size=n) > 1.0


def _write_codes(folder: Path, n: int, d: int) -> None:
    """Shards of codes of the bins of the first rows."""
    bins = Bins.of(_chunk(0, min(n, PART), d)[0])

    def chunks() -> Iterator[Chunk]:
        for k, low in enumerate(range(0, n, PART)):
            X, y = _chunk(k, min(PART, n - low), d)
            yield Chunk(np.ascontiguousarray(bins.codes(X).T), y.astype(int), low)

    write_chunks(chunks(), folder, PART * d, lambda: coding_of(bins))


def _write(folder: Path, chunks: Iterator[tuple[np.ndarray, np.ndarray]]) -> None:
    folder.mkdir()
    entries, width = [], 0
    for k, (X, y) in enumerate(chunks):
        entries.append(write_shard(shard_path(folder, k), X, y.astype(float)))
        width = X.shape[1]
    write_manifest(folder, width, entries, sparse=False, labels=[0, 1])


def _read_seconds(files: list[Path]) -> float:
    start = time.perf_counter()
    for path in files:
        path.read_bytes()
    return time.perf_counter() - start


def _same(folder: Path, metric: str, engine: str) -> dict[str, float]:
    """How far scores of rows elsewhere are from those in memory."""
    X, y = _chunk(0, 2000, 6)
    parts = np.array_split(np.arange(2000), 4)

    def model() -> AdditiveClassifier:
        return AdditiveClassifier(
            metric, surrogate=METRICS[metric], members=2, interactions=2, strength=0.003, tol=1e-12
        )

    here = model().fit(X, y).decision_function(X)
    found: dict[str, float] = {}

    def add(where: str, scores: np.ndarray) -> None:
        found[where] = float(np.abs(scores - here).max())

    if engine == "same":
        _write(folder, ((X[part], y[part]) for part in parts))
        for where, memory in {"codes in memory": 1 << 28, "codes on the disk": 14_000}.items():
            data = open_shards(folder, check=False, memory=memory)
            add(f"shards, {where}", model().fit(data).decision_function(X))
    elif engine == "dask" and importlib.util.find_spec("distributed"):
        import dask.array as arrays
        import distributed

        with (
            distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster),
        ):
            far = arrays.from_array(X, chunks=(500, 6)), arrays.from_array(y, chunks=500)
            add("Dask, 2 workers", model().fit(*far).decision_function(X))
    elif engine == "spark" and importlib.util.find_spec("pyspark"):
        add("Spark, local[2]", _on_spark(folder, model, X, y))
    return found


def _on_spark(folder: Path, model: object, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Scores of the rows by a model that Spark was fitted by."""
    import pandas as pd
    from pyspark.sql import SparkSession

    import auctor.data

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    names = [f"c{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names).assign(y=y.astype(int))
    frame.to_parquet(folder.with_suffix(".parquet"))
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = spark.getOrCreate()
    try:
        rows = session.read.parquet(str(folder.with_suffix(".parquet")))
        fitted = model().fit(auctor.data.spark(rows, names, "y"))  # type: ignore[operator]
        return np.asarray(fitted.decision_function(X))
    finally:
        session.stop()
