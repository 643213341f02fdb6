"""``auctor train`` as a process: start-up against the fit alone, and memory on a large file."""

from __future__ import annotations

import json
import lzma
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.child import ROOT, measure
from benchmarks.problems import generated
from benchmarks.problems.datasets import data_dir
from benchmarks.run import Settings, bar, table

name = "train"
TITLE = "auctor train: CPU seconds on a9a with start-up, peak memory on a large svmlight file"

#: Commands on a9a; the fit alone is timed in a warm process with the same rows.
A9A = {
    "auc, l2, auto": [],
    "auc, l1, auto": ["--penalty", "l1"],
    "auc, l2, fixed": ["--strength", "1e-4"],
    "log_loss, l2, fixed": ["--metric", "log_loss", "--strength", "1e-4"],
}
#: Commands on the large file.
LARGE = {
    "auc, l2, fixed": ["--strength", "1e-4"],
    "auc, l1, fixed": ["--penalty", "l1", "--strength", "1e-4", "--tol", "1e-3"],
    "auc, l2, auto": ["--tol", "1e-3", "--n-strengths", "8"],
    "auc, l1, auto": ["--penalty", "l1", "--tol", "1e-2", "--n-strengths", "8"],
}
#: Text of the large file in bytes.
LARGE_BYTES, QUICK_BYTES = 1_000_000_000, 40_000_000
#: Rows that are generated; they are written several times, labels of some of them flipped.
BLOCK_ROWS = 20_000
#: Solvers keep vectors as long as the columns, so a wide file is the harder case.
COLUMNS = 200_000


def run(settings: Settings) -> dict[str, object]:
    """Fresh processes with a warm cache of compiled code."""
    notes: list[str] = []
    cells: dict[str, dict] = dict(settings.known) if settings.known else {}
    with tempfile.TemporaryDirectory() as folder:
        _a9a(Path(folder), settings, cells, notes)
        _large(Path(folder), settings, cells, notes)
    small = {k[4:]: c for k, c in cells.items() if k.startswith("a9a/")}
    large = {k[6:]: c for k, c in cells.items() if k.startswith("large/")}
    return {
        "title": TITLE,
        "bars": _bars(small, large),
        "tables": [_small_table(small), _large_table(large)],
        "notes": notes,
        "cells": cells,
    }


def _environment() -> dict[str, str]:
    """With bytecode on disk, as an installed package has."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return dict(os.environ, PYTHONPATH=paths, PYTHONDONTWRITEBYTECODE="")


def command(*arguments: str, cwd: Path) -> dict[str, float]:
    """Run auctor; wall and CPU seconds, peak memory and what it said in JSON."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-m", "auctor", *arguments, "--json"],
            cwd=cwd, env=_environment(), stdout=out, stderr=err,
        )  # fmt: skip
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise RuntimeError(err.read().decode().strip())
        said = json.loads(out.read())
    return {
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": 1024.0 * usage.ru_maxrss,
        "fit": said["seconds"],
        "auc": said["test"]["auc"]["value"],
        "gap": said["gap"],
    }


def _a9a(folder: Path, settings: Settings, cells: dict[str, dict], notes: list[str]) -> None:
    base = data_dir()
    if base is None or not (base / "a9a" / "a9a.xz").exists():
        notes.append("a9a is missing: set AUCTOR_DATA.")
        return
    path = folder / "a9a.svm"
    path.write_bytes(lzma.decompress((base / "a9a" / "a9a.xz").read_bytes()))
    repeats = 2 if settings.quick else 5
    for label, options in A9A.items():
        slow = settings.quick and label == "auc, l1, auto"
        if slow or f"a9a/{label}" in cells or not settings.wants(f"a9a/{label}"):
            continue
        arguments = ["train", str(path), *options, "--report", "r.html"]
        first = command(*arguments, cwd=folder)  # fills the cache
        seen: list[dict[str, float]] = []
        fits: list[float] = []
        for _ in range(repeats if first["wall"] < 20.0 else 1):
            seen.append(command(*arguments, cwd=folder))
            fits.append(_fit_alone(path, options))
        cells[f"a9a/{label}"] = {
            **{key: statistics.median(s[key] for s in seen) for key in seen[0]},
            "fit_alone": statistics.median(fits),
        }


FIT = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from auctor.fit.prepare import hold_out, tidy_labels
from auctor import MetricClassifier, MetricClassifierCV
from auctor.tables import read_table
path, *options = json.loads(sys.argv[1])
given = dict(zip(options[::2], options[1::2]))
table = read_table(path)
y = tidy_labels(table.labels, who="benchmark")
rows, _ = hold_out(y, 0.2, 0, who="benchmark")
params = dict(metric=given.get("--metric", "auc"), penalty=given.get("--penalty", "l2"),
              random_state=0)
strength = given.get("--strength", "auto")
X, y = table.matrix[rows], y[rows]
times = []
for _ in range(2):
    model = (MetricClassifierCV(**params) if strength == "auto"
             else MetricClassifier(strength=float(strength), **params))
    start = time.process_time()
    model.fit(X, y)
    times.append(time.process_time() - start)
    if times[0] > 10.0:
        break  # loading compiled code is a small part of it
print(json.dumps(times[-1]))
"""


def _fit_alone(path: Path, options: list[str]) -> float:
    """CPU seconds of a fit in a process that has done it before, unless it takes long."""
    done = subprocess.run(
        [sys.executable, "-c", FIT, json.dumps([str(path), *options])],
        env=_environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout)


#: In a process of its own: what a parent takes at a fork counts as the peak of its child.
WRITE = """
import json
from pathlib import Path
from benchmarks.sections.train import write_large
print(json.dumps(write_large(Path({path!r}), {size})))
"""


def write_large(path: Path, size: int) -> dict[str, int]:
    """Text-like rows; the bytes of the file and of its CSR arrays."""
    X, y = generated.rcv1_like(n=BLOCK_ROWS, d=COLUMNS)
    ends, rng = X.indptr.tolist(), np.random.default_rng(0)
    words = [f"{j + 1}:{x:.9g}" for j, x in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    rows = [" ".join(words[a:b]) for a, b in pairwise(ends)]
    written = entries = lines = 0
    with open(path, "w") as file:
        while written < size:
            labels = np.where(rng.random(y.size) < 0.05, -y, y).astype(int).tolist()
            written += file.write(
                "".join(f"{label:+d} {row}\n" for label, row in zip(labels, rows, strict=True))
            )
            entries += X.nnz
            lines += X.shape[0]
    return {"text": written, "csr": 12 * entries + 4 * (lines + 1), "rows": lines}


def _large(folder: Path, settings: Settings, cells: dict[str, dict], notes: list[str]) -> None:
    wanted = [k for k in LARGE if f"large/{k}" not in cells and settings.wants(f"large/{k}")]
    if not wanted:
        return
    path = folder / "large.svm"
    size = QUICK_BYTES if settings.quick else LARGE_BYTES
    sizes = measure(WRITE.format(path=str(path), size=size))
    for label in wanted:
        if settings.over():
            notes.append(f"{label} on the large file left out: no time left.")
            continue
        arguments = ["train", str(path), *LARGE[label], "--report", "r.html"]
        cells[f"large/{label}"] = {**command(*arguments, cwd=folder), **sizes}


def _bars(small: dict[str, dict], large: dict[str, dict]) -> list[dict[str, object]]:
    bars = [
        bar(f"a9a, {label}: CPU seconds beyond three fits", c["cpu"] - 3.0 * c["fit_alone"], 1.0,
            at_least=False)
        for label, c in small.items()
    ]  # fmt: skip
    bars += [
        bar(f"large file, {label}: peak memory over the CSR", c["peak"] / c["csr"], 2.5,
            at_least=False)
        for label, c in large.items()
    ]  # fmt: skip
    return bars


def _small_table(cells: dict[str, dict]) -> dict[str, object]:
    head = ["command", "wall s", "CPU s", "fit inside, wall s", "fit alone, CPU s", "AUC held out"]
    rows = [
        [label, c["wall"], c["cpu"], c["fit"], c["fit_alone"], c["auc"]]
        for label, c in cells.items()
    ]
    return table("auctor train a9a --report, fresh process", head, rows)


def _large_table(cells: dict[str, dict]) -> dict[str, object]:
    head = [
        "command",
        "text MB",
        "CSR MB",
        "peak MB",
        "peak / CSR",
        "wall s",
        "fit s",
        "AUC",
        "gap",
    ]
    rows = [
        [label, c["text"] / 1e6, c["csr"] / 1e6, c["peak"] / 1e6, c["peak"] / c["csr"], c["wall"],
         c["fit"], c["auc"], c["gap"]]
        for label, c in cells.items()
    ]  # fmt: skip
    return table("read, train, report in one command", head, rows)
