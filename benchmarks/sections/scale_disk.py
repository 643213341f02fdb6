"""Rows on the disk: a pass beside a plain read, passes to a gap, memory per row."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from auctor.data import open_shards
from auctor.losses import Logistic, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import choose
from benchmarks.problems import shards
from benchmarks.run import Settings, bar, table

name = "scale_disk"
#: Passes to a gap of 1e-3 that are asked for, at most.
PASSES = {"auc hinge l2": 45.0, "auc hinge l1": 110.0, "log-loss l1": 42.0}
CASES = {
    "auc hinge l2": (PairwiseHinge(), L2(1e-4)),
    "auc hinge l1": (PairwiseHinge(), L1(1e-4)),
    "log-loss l1": (Logistic(), L1(1e-4)),
}
#: Bytes of a shard of the large set.
SHARD = 16 << 20
#: Bytes of the ring where memory is measured.
RING = 48 << 20
#: Times that a pass and a plain read are taken, in turns.
ROUNDS = 9
#: Rows of the sets whose memory is compared: the difference is what a row costs.
SIZES = (200_000, 1_200_000)
#: Bytes of a row on the driver that are allowed: y, scores and slopes of row losses; pairs.
BYTES = {"Logistic": 40.0, "PairwiseHinge": 104.0}
CHILD = """
import sys
from pathlib import Path
import auctor.losses as losses
from auctor.data import open_shards
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose
data = open_shards(sys.argv[1], memory=int(sys.argv[3]))
problem = Problem(getattr(losses, sys.argv[2])(), L2(1e-3), data)
minimise(problem, choose(problem), tol=0.0, max_iter=2, on_failure="ignore")
status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
print(1024 * int(status.split()[0]))
"""


def run(settings: Settings) -> dict[str, object]:
    """Write the sets, read them in all ways, remove them."""
    scale = 10 if settings.quick else 1
    with tempfile.TemporaryDirectory(dir=os.environ.get("AUCTOR_SCALE_DIR")) as room:
        folder = Path(room, "rows.shards")
        X, y = shards.rows(100_000 // scale, 50, 10_000)
        shards.write(folder, X, y, 4 << 20)
        passes = [_passes(case, folder) for case in CASES]
        wide = Path(room, "large.shards")
        X, y = shards.rows(1_000_000 // scale, 50, 100_000)
        shards.write(wide, X, y, SHARD)
        del X
        speed = _speed(wide)
        memory = _memory(Path(room), scale)
    rows = [bar(f"passes to 1e-3, {c}", n, PASSES[c], at_least=False) for c, n, *_ in passes]
    costs = [bar(f"bytes of a row, {loss}", b, BYTES[loss], at_least=False) for loss, b in memory]
    ratio = float(np.median([a / b for a, b in speed["pairs"]]))
    return {
        "title": "Rows on the disk",
        "bars": [
            bar("pass / plain read by two threads", ratio, 1.15, at_least=False), *rows, *costs
        ],
        "tables": [
            table(
                f"One pass of scores over {speed['bytes'] / 1e6:.0f} MB, seconds, cold",
                ["pass", "plain read"],
                [list(pair) for pair in speed["pairs"]],
            ),
            table(
                "Passes to a gap of 1e-3, 50 entries a row in 10,000 columns",
                ["case", "passes", "solver", "converged"],
                [list(one) for one in passes],
            ),
            table(
                f"Peak memory: growth from {SIZES[0]:,} to {SIZES[1]:,} rows, a row",
                ["loss", "bytes"],
                [list(one) for one in memory],
            ),
        ],
        "notes": [
            "Cold means that the files' pages were dropped by posix_fadvise; the machine below "
            "may still hold them. Other work ran on the same cores.",
            "Memory: everything a row costs the driver, in two iterations of the chosen solver.",
        ],
    }  # fmt: skip


def _passes(case: str, folder: Path) -> tuple[object, ...]:
    loss, penalty = CASES[case]
    problem = Problem(loss, penalty, open_shards(folder))
    found = minimise(problem, choose(problem), tol=1e-3, max_iter=500, on_failure="ignore")
    return case, found.passes, found.solver, found.converged


def _forget(paths: list[Path]) -> None:
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _speed(folder: Path) -> dict[str, object]:
    paths = sorted(folder.glob("*.shard"))
    data, pairs = open_shards(folder, check=False), []
    w = np.random.default_rng(0).normal(size=data.n_columns)
    data.scores(w)  # compile
    for _ in range(ROUNDS):
        _forget(paths)
        start = time.perf_counter()
        data.scores(w)
        middle = time.perf_counter()
        _forget(paths)
        begin = time.perf_counter()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(_read, paths))
        pairs.append((middle - start, time.perf_counter() - begin))
    return {"pairs": pairs, "bytes": sum(path.stat().st_size for path in paths)}


def _read(path: Path) -> None:
    buffer = bytearray(path.stat().st_size)
    with path.open("rb", buffering=0) as file:
        os.preadv(file.fileno(), [buffer], 0)


def _memory(room: Path, scale: int) -> list[tuple[str, float]]:
    folders = []
    for n in SIZES:
        folder = room / f"{n}.shards"
        X, y = shards.rows(n // scale, 5, 1000)
        shards.write(folder, X, y, SHARD // 4)
        folders.append(folder)
    found = []
    for loss in BYTES:
        low, high = (_peak(folder, loss) for folder in folders)
        found.append((loss, (high - low) / ((SIZES[1] - SIZES[0]) / scale)))
    return found


def _peak(folder: Path, loss: str) -> int:
    """Peak bytes of a process that evaluates a loss twice."""
    command = [sys.executable, "-c", CHILD, str(folder), loss, str(RING)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
