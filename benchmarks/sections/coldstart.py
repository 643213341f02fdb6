"""Cold start: CPU seconds of the import and of the first fits, in fresh processes."""

from __future__ import annotations

import statistics
import tempfile

from benchmarks.child import ChildFailed, measure
from benchmarks.run import Settings, bar, table

name = "coldstart"
TITLE = "CPU seconds of the import and of the first fit"
LOSSES = ("log_loss", "auc")
STORAGES = ("csr", "dense")

IMPORT = """
import json, time
t0 = time.process_time()
import numpy, scipy, scipy.sparse, numba
t1 = time.process_time()
import auctor
t2 = time.process_time()
print(json.dumps({"base": t1 - t0, "auctor": t2 - t1}))
"""

FIT = """
import json, time, warnings
warnings.simplefilter("ignore")
import numpy as np, scipy, scipy.sparse as sp, numba
t0 = time.process_time()
import sklearn.base, sklearn.utils, sklearn.utils.multiclass, sklearn.utils.validation
import sklearn.linear_model
t1 = time.process_time()
import auctor
rng = np.random.default_rng(0)
X = rng.standard_normal((1000, 20)) * (rng.random((1000, 20)) < 0.3)
y = (X[:, 0] + rng.standard_normal(1000) > 0.5).astype(int)
X = sp.csr_array(X) if {csr} else X
times, walls = [], []
for _ in range(2):
    c, w = time.process_time(), time.perf_counter()
    auctor.MetricClassifier(metric="{metric}").fit(X, y)
    times.append(time.process_time() - c)
    walls.append(time.perf_counter() - w)
print(json.dumps(dict(sklearn=t1 - t0, first=times[0], second=times[1], first_wall=walls[0])))
"""


def run(settings: Settings) -> dict[str, object]:
    """Median over fresh processes; the compiled code is cached in a folder of this run."""
    repeats = 2 if settings.quick else 5
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as warm:
        imports = _median(IMPORT, repeats, notes, "import", NUMBA_CACHE_DIR=warm)
        cells = {}
        for metric, storage in ((m, s) for m in LOSSES for s in STORAGES):
            label = f"{metric}, {storage}"
            code = FIT.replace("{csr}", str(storage == "csr")).replace("{metric}", metric)
            _median(code, 1, notes, label, NUMBA_CACHE_DIR=warm)  # fills the cache
            cells[label] = {
                "warm": _median(code, repeats, notes, label, NUMBA_CACHE_DIR=warm),
                "cold": _median(code, repeats, notes, label, cold=True),
            }
    return {
        "title": TITLE,
        "bars": _bars(imports, cells),
        "tables": [_imports(imports, cells), _fits(cells)],
        "notes": [*dict.fromkeys(notes), "1000 x 20; each line is its own set of processes."],
        "cells": {"import": imports, **cells},
    }


def _median(
    code: str, repeats: int, notes: list[str], label: str, *, cold: bool = False, **env: str
) -> dict[str, float] | None:
    """Median of every number the code prints; None, with a note, when it fails."""
    seen = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as empty:
            try:
                cache = {"NUMBA_CACHE_DIR": empty} if cold else env
                # Bytecode is written, as pip does for an installed package.
                seen.append(measure(code, PYTHONDONTWRITEBYTECODE="", **cache))
            except ChildFailed as error:
                notes.append(f"{label}: {error}")
                return None
    return {key: statistics.median(s[key] for s in seen) for key in seen[0]}


def _worst(cells: dict[str, dict], key: str) -> float | None:
    parts = [c[key] for c in cells.values()]
    return None if None in parts or not parts else max(p["first"] - p["second"] for p in parts)


def _bars(imports: dict | None, cells: dict[str, dict]) -> list[dict[str, object]]:
    extra = imports["auctor"] if imports else None
    cold = [c["cold"]["first"] for c in cells.values() if c["cold"]]
    return [
        bar("import auctor beyond numpy, scipy, numba", extra, 0.3, at_least=False),
        bar("first fit minus second, warm disk cache", _worst(cells, "warm"), 0.5, at_least=False),
        bar("first fit, no cache", max(cold) if cold else None, 10.0, at_least=False),
    ]


def _imports(imports: dict | None, cells: dict[str, dict]) -> dict[str, object]:
    rows: list[list[object]] = []
    if imports:
        rows = [["numpy, scipy, numba", imports["base"]], ["auctor", imports["auctor"]]]
    first = next((c["warm"] for c in cells.values() if c["warm"]), None)
    if first:
        rows.append(["scikit-learn (after the others)", first["sklearn"]])
    return table("Imports", ["package", "CPU s"], rows)


def _fits(cells: dict[str, dict]) -> dict[str, object]:
    rows = []
    for label, cell in cells.items():
        warm, cold = cell["warm"] or {}, cell["cold"] or {}
        rows.append(
            [
                label,
                warm.get("first"),
                warm.get("second"),
                cold.get("first"),
                cold.get("first_wall"),
            ]
        )
    head = ["fit", "first, warm cache", "second", "first, no cache", "the same, wall"]
    return table("MetricClassifier.fit, CPU seconds", head, rows)
