"""Memory over 10^8 generated rows: the resident size of a process that does nothing else."""

from __future__ import annotations

from benchmarks.child import ChildFailed, measure
from benchmarks.run import Settings, bar, table

name = "memory"
ROWS, QUICK_ROWS = 10**8, 10**6
POINTS = 10
CHUNK = 50_000
COLUMNS = 10
LEARNERS = {"StreamingAUC": "auctor.StreamingAUC()", "Spam": "auctor.streaming.Spam()"}
#: Growth from the first point to the highest that still counts as constant, in MiB.
LIMIT = 4.0

CHILD = """
import json, os, re, time
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"
os.nice(10)
import numpy as np, auctor, auctor.streaming
learner, rng = {learner}, np.random.default_rng(0)
direction = rng.standard_normal({columns})
def resident():
    status = open("/proc/self/status").read()
    return int(re.search(r"VmRSS:\\s+(\\d+)", status)[1]) / 1024
X, noise = np.empty(({chunk}, {columns})), np.empty({chunk})
points, done, learning = [], 0, 0.0
while done < {rows}:
    rng.standard_normal(out=X)
    rng.standard_normal(out=noise)
    y = np.where(X @ direction + 4.0 * noise > 5.0, 1, -1)
    start = time.process_time()
    learner.partial_fit(X, y, classes=[-1, 1])
    learning += time.process_time() - start
    done += {chunk}
    if done % {every} == 0:
        state = sum(a.nbytes for a in learner.state_.values())
        points.append(dict(rows=done, mib=resident(), state=state, seconds=learning))
rng.standard_normal(out=X)
rng.standard_normal(out=noise)
y = np.where(X @ direction + 4.0 * noise > 5.0, 1, -1)
print(json.dumps(dict(points=points, auc=learner.score(X, y), best=auctor.metrics.auc(y, X @ direction))))
"""  # noqa: E501


def run(settings: Settings) -> dict[str, object]:
    """Resident size after every tenth of the rows."""
    rows = QUICK_ROWS if settings.quick else ROWS
    cells, notes, left = dict(settings.known), [], []
    for label, learner in LEARNERS.items():
        if label in cells or not settings.wants(label):
            continue
        if settings.over():
            left.append(label)
            continue
        code = CHILD.format(
            learner=learner, columns=COLUMNS, chunk=CHUNK, rows=rows, every=rows // POINTS
        )
        try:
            cells[label] = measure(code)
        except ChildFailed as error:
            notes.append(f"{label} failed: {error}")
    return {
        "title": f"{rows:,} generated rows of {COLUMNS} columns in chunks of {CHUNK:,}",
        "bars": [
            bar(f"{label}: growth of the resident size after the first {rows // POINTS:,} rows, "
                "MiB", _growth(cell), LIMIT, at_least=False)
            for label, cell in cells.items()
        ],
        "tables": [_table(cells), _speed(cells)],
        "cells": cells,
        "left": left,
        "notes": [*notes, "A process of low priority that generates the rows itself; one thread."],
    }  # fmt: skip


def _growth(cell: dict) -> float:
    sizes = [point["mib"] for point in cell["points"]]
    return max(sizes) - sizes[0]


def _table(cells: dict) -> dict[str, object]:
    curves = [cell["points"] for cell in cells.values()]
    rows = [
        [f"{points[0]['rows']:,}", *(f"{p['mib']:.1f}" for p in points)]
        for points in zip(*curves, strict=True)
    ]
    return table("Resident size of the process, MiB", ["rows", *cells], rows)


def _speed(cells: dict) -> dict[str, object]:
    rows = []
    for label, cell in cells.items():
        last = cell["points"][-1]
        rate = last["rows"] / last["seconds"]
        row = [label, f"{rate:,.0f}", last["seconds"], last["state"], cell["auc"], cell["best"]]
        rows.append(row)
    columns = [
        "learner", "rows/s of CPU time", "CPU seconds", "bytes of state", "AUC of new rows",
        "best AUC",
    ]  # fmt: skip
    return table("Speed and result", columns, rows)
