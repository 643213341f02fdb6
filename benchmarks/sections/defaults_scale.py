"""The first ``auctor train`` of an installation, and one of a large table: CPU and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.run import Settings, bar, table

name = "defaults_scale"
#: Rows, columns, whether nothing is compiled yet, and the bars of CPU seconds and gigabytes.
RUNS: dict[str, tuple[int, int, bool, float, float | None]] = {
    "first run": (900, 10, True, 12.0, None),
    "large": (300_000, 400, False, 120.0, 1.2),
}
#: Seconds after which a run is given up.
LIMIT = 600


def run(settings: Settings) -> dict[str, object]:
    """Every run once, each in a process of its own."""
    cells = dict(settings.known)
    wanted = [
        one for one in RUNS if settings.wants(one) and not (settings.quick and one != "first run")
    ]
    for item in wanted:
        if item in cells or settings.over():
            continue
        with tempfile.TemporaryDirectory() as place:
            cells[item] = _measure(item, Path(place))
    return summary(cells) | {"left": sum(item not in cells for item in wanted)}


def _measure(item: str, folder: Path) -> dict[str, object]:
    rows, columns, cold, _, _ = RUNS[item]
    rng = np.random.default_rng(0)
    data = folder / "data.csv"
    weight = rng.normal(size=columns) / np.sqrt(columns)
    with open(data, "w") as file:
        file.write(",".join([*(f"x{j}" for j in range(columns)), "y"]) + "\n")
        for _ in range(0, rows, 900):
            X = rng.normal(size=(min(900, rows), columns)).round(2)
            z = X @ weight + np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(size=len(X))
            np.savetxt(file, np.column_stack([X, z > 1.0]), fmt="%.4g", delimiter=",")
    command = [sys.executable, "-m", "auctor", "train", str(data), "--label", "y", "--out",
               str(folder / "model.auctor")]  # fmt: skip
    own = {"NUMBA_CACHE_DIR": str(folder / "compiled")} if cold else {}
    probe = (
        "import resource, subprocess, sys; "
        f"code = subprocess.run(sys.argv[1:], timeout={LIMIT}).returncode; "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9, code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe, *command],
        env=os.environ | own, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:80]}
    cpu, memory, code = map(float, done.stdout.splitlines()[-1].split())
    error = f"the command ended with {code:.0f}" if code else ""
    stamp = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    return {"cpu": cpu, "gigabytes": memory, "error": error, "measured": stamp}


def summary(cells: dict[str, dict[str, object]]) -> dict[str, object]:
    """What is shown of the cells."""
    bars, rows = [], []
    for item, (n, d, cold, seconds, most) in RUNS.items():
        cell = cells.get(item, {})
        where = f"{item}, {n:,} rows, {d} columns" + (", nothing compiled yet" if cold else "")
        rows.append([where, *(cell.get(key) for key in ("cpu", "gigabytes", "error", "measured"))])
        bars.append(bar(f"{where}: CPU seconds", cell.get("cpu"), seconds, at_least=False))
        if most is not None:
            text = f"{where}: gigabytes at the peak"
            bars.append(bar(text, cell.get("gigabytes"), most, at_least=False))
    return {
        "title": "The first training of an installation, and a large table",
        "bars": bars,
        "tables": [table("Runs", ["run", "CPU s", "GB", "error", "measured"], rows)],
        "notes": ["`auctor train data.csv --label y`: numbers of two decimals, a curve, a "
                  "product of two columns and a linear part; reading and baselines included"],
        "cells": cells,
    }  # fmt: skip
