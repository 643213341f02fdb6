"""Peak memory growth of a fit on CSR data, from the kernel's high-water mark in a fresh process."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.child import ChildFailed, measure
from benchmarks.problems import generated
from benchmarks.run import Settings, bar, table

name = "memory"
TITLE = "peak memory of a fit on CSR data"
#: "O(n + d) extra" is read as at most this many vectors of length n + d.
VECTORS = 40
#: Who is measured: label, competitor file, its mode.
SOLVERS = (("auctor", "auctor", "auto"), ("sklearn lbfgs", "sklearn_newton", "lbfgs"))

CHILD = """
import json, re, sys
import numpy as np, scipy.sparse as sp
from benchmarks.competitors import {module} as solver
from benchmarks.problems.forms import Form
form = Form("logistic", "l2")
parts = [np.load(r"{folder}/" + f) for f in ("data.npy", "indices.npy", "indptr.npy", "y.npy")]
X, y = sp.csr_array(tuple(parts[:3]), shape={shape}), parts[3]
def status(key):
    return 1024 * int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
solver.fit(X[:500], y[:500], form.at(1e-3), 1e-2, "{mode}", 1)
# code, caches and threads are there already
try:
    open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
    reset = True
except OSError:
    reset = False
before = status("VmRSS") if reset else status("VmHWM")
fit = solver.fit(X, y, form.at({strength}), 1e-6, "{mode}", 1)
print(json.dumps(dict(growth=status("VmHWM") - before, reset=reset, work=fit.work)))
"""


def run(settings: Settings) -> dict[str, object]:
    """Growth relative to the bytes of the CSR arrays."""
    rows = 10_000 if settings.quick else 60_000
    X, y = generated.rcv1_like(n=rows)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    vector = 8 * sum(X.shape)
    cells, notes = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for part, array in (("data", X.data), ("indices", X.indices), ("indptr", X.indptr)):
            np.save(Path(folder) / f"{part}.npy", array)
        np.save(Path(folder) / "y.npy", y)
        for label, module, mode in SOLVERS:
            facts = {"shape": X.shape, "strength": 1.0 / rows}
            code = CHILD.format(module=module, mode=mode, folder=folder, **facts)
            try:
                cells[label] = measure(code)
            except ChildFailed as error:
                notes.append(f"{label} skipped: {error}")
    lines = [_row(label, cell, size, vector) for label, cell in cells.items()]
    head = ["solver", "growth MB", "growth / CSR", "vectors of n + d beyond one copy", "work"]
    notes.append(f"{rows} x {X.shape[1]}, CSR arrays {size / 1e6:.1f} MB, l2 logistic, C = 1.")
    return {
        "title": TITLE,
        "bars": [_bar(cells, size, vector)],
        "tables": [table("Peak growth over the resident size before the fit", head, lines)],
        "notes": notes,
        "cells": cells,
    }


def _row(label: str, cell: dict, size: int, vector: int) -> list[object]:
    growth = cell["growth"]
    work = ", ".join(f"{k} {v}" for k, v in cell["work"].items())
    return [label, growth / 1e6, growth / size, (growth - size) / vector, work]


def _bar(cells: dict[str, dict], size: int, vector: int) -> dict[str, object]:
    ours = cells.get("auctor")
    value = (ours["growth"] - size) / vector if ours else None
    text = "vectors of length n + d beyond one transposed copy (negative: less than a copy)"
    return bar(text, value, VECTORS, at_least=False)
