"""A set larger than the memory that training may use: passes, peak memory, time of a pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.shards import ShardEntry, shard_path
from benchmarks.problems import shards
from benchmarks.run import Settings, bar, table

name = "scale_large"
#: Rows at a time, each with 250 entries of 8 bytes.
CHUNK, ENTRIES, COLUMNS = 50_000, 250, 100_000
#: Rows of the whole set that the bar names, 20 GB, and of what is made unless asked otherwise.
ALL, USUAL = 10_000_000, 500_000
#: Seconds after which the solve ends.
SECONDS = 400
CHILD = """
import json, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from auctor.data import open_shards
from auctor.losses import PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose
from benchmarks.sections.scale_disk import _forget, _read
data = open_shards(sys.argv[1], memory=512 << 20)
problem = Problem(PairwiseHinge(), L2(1e-4), data)
start = time.perf_counter()
found = minimise(problem, choose(problem), tol=1e-2, on_failure="ignore",
                 max_seconds=float(sys.argv[2]))
seconds = time.perf_counter() - start
peak = 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
paths = sorted(Path(sys.argv[1]).glob("*.shard"))
_forget(paths)
start = time.perf_counter()
with ThreadPoolExecutor(2) as pool:
    list(pool.map(_read, paths))
raw = time.perf_counter() - start
print(json.dumps([found.passes, found.converged, found.gap, seconds, peak, raw]))
"""


def _write(room: str, number: int) -> list[ShardEntry]:
    """Two shards of the set."""
    X, y = shards.rows(CHUNK, ENTRIES, COLUMNS, seed=number, truth=0)
    halves = (slice(None, CHUNK // 2), slice(CHUNK // 2, None))
    return [
        write_shard(shard_path(room, 2 * number + k), X[some], y[some])
        for k, some in enumerate(halves)
    ]


def run(settings: Settings) -> dict[str, object]:
    """1 GB, half a million rows; AUCTOR_SCALE_ROWS of them (0.2 GB with --quick)."""
    n = 100_000 if settings.quick else int(os.environ.get("AUCTOR_SCALE_ROWS", USUAL))
    with tempfile.TemporaryDirectory(dir=os.environ.get("AUCTOR_SCALE_DIR")) as room:
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            pairs = pool.map(partial(_write, room), range(n // CHUNK))
            entries = [entry for pair in pairs for entry in pair]
        write_manifest(room, COLUMNS, entries, sparse=True)
        size = sum(path.stat().st_size for path in Path(room).iterdir())
        command = [sys.executable, "-c", CHILD, room, str(SECONDS)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    passes, converged, gap, seconds, peak, raw = json.loads(out)
    part = "" if n == ALL else (
        f"{n / ALL:.0%} of the rows that the bar names (AUCTOR_SCALE_ROWS={ALL} makes them all). "
    )  # fmt: skip
    return {
        "title": "AUC hinge with l2 to a gap of 1e-2, larger than its memory",
        "bars": [
            bar("passes to 1e-2", passes, 40, at_least=False),
            bar("peak memory, GB", peak / 1e9, 1.5, at_least=False),
            bar("time / (passes x plain read)", seconds / (passes * raw), 1.25, at_least=False),
        ],
        "tables": [
            table(
                f"{n:,} rows of {ENTRIES} entries, {size / 1e9:.1f} GB",
                ["passes", "converged", "gap", "seconds", "peak bytes", "plain read, s"],
                [[passes, converged, gap, seconds, peak, raw]],
            )
        ],
        "notes": [
            f"{part}The plain read is cold; a system with the memory for it keeps the pages of the "
            "files, so that passes after the first may not be."
        ],
    }
