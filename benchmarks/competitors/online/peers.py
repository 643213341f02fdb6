"""The environment of River and Vowpal Wabbit: a stream of rows goes in, seconds come out.

``AUCTOR_ONLINE_PYTHON`` names its interpreter; ``.venv-online/bin/python`` by default. Run as
``python benchmarks/competitors/online/peers.py STREAM.npz OUT.json SECONDS`` it measures there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

#: Rows for learners that take one row at a time through Python.
ROWS = 5_000
REPEATS = 3


def python() -> str:
    """The interpreter that has both."""
    default = Path(__file__).resolve().parents[3] / ".venv-online" / "bin" / "python"
    return os.environ.get("AUCTOR_ONLINE_PYTHON", str(default))


def available() -> str | None:
    """A reason why they cannot be used."""
    if Path(python()).exists():
        return None
    return (
        "river and vowpalwabbit: python -m venv .venv-online && .venv-online/bin/pip install river "
        "vowpalwabbit numpy scipy, or set AUCTOR_ONLINE_PYTHON"
    )


def measure(X: object, y: np.ndarray, limit: float) -> dict[str, dict[str, float]]:
    """CPU and wall seconds per row and per non-zero of every learner that is installed there."""
    with tempfile.TemporaryDirectory() as folder:
        source, answer = Path(folder, "stream.npz"), Path(folder, "out.json")
        np.savez(source, data=X.data, indices=X.indices, indptr=X.indptr, y=y)
        env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        subprocess.run(
            [python(), __file__, str(source), str(answer)],
            check=True, env=env, timeout=limit, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return json.loads(answer.read_text())


# --- in the other environment ---------------------------------------------------------------------


def _time(call: object) -> tuple[float, float]:
    """Best of the CPU and of the wall seconds."""
    found = []
    for _ in range(REPEATS):
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(f[0] for f in found), min(f[1] for f in found)


def _main(source: str, answer: str) -> None:
    # A program's own folder is on its path; the package `benchmarks` is not, in that environment.
    import river_learners
    import vowpal_wabbit

    with np.load(source) as given:
        X, y = tuple(given[k] for k in ("data", "indices", "indptr")), given["y"]
    data, indices, indptr = X
    n = len(y)
    few = min(ROWS, n)
    results: dict[str, dict[str, float]] = {}

    def add(name: str, call: object, rows: int, fixed: tuple[float, float] = (0.0, 0.0)) -> None:
        try:
            cpu, wall = _time(call)
        except Exception as error:
            results[name] = {"failed": str(error)[:200]}
            return
        cpu, wall = max(cpu - fixed[0], 1e-9), max(wall - fixed[1], 1e-9)
        entries = int(indptr[rows])
        results[name] = {"rows": rows, "cpu": cpu, "wall": wall, "entries": entries}

    try:
        dicts = [
            dict(zip(indices[indptr[i] : indptr[i + 1]].tolist(),
                     data[indptr[i] : indptr[i + 1]].tolist(), strict=True))
            for i in range(few)
        ]  # fmt: skip
        for name, call in river_learners.calls(dicts, y[:few] > 0).items():
            add(name, call, few)
    except ImportError as error:
        results["river"] = {"failed": str(error)}
    try:
        lines = vowpal_wabbit.text(X, y, n)
        with tempfile.TemporaryDirectory() as folder:
            path, empty = Path(folder, "stream.vw"), Path(folder, "empty.vw")
            path.write_text("\n".join(lines) + "\n")
            empty.write_text(lines[0] + "\n")
            for label, penalty in (("", "--l2 1e-8"), (", l1", "--l1 1e-8")):
                calls = vowpal_wabbit.calls(lines[:few], str(path), penalty)
                start = _time(vowpal_wabbit.calls([], str(empty), penalty)["from a file"])
                add(f"vw{label}, from a file", calls["from a file"], n, start)
                add(f"vw{label}, one line at a time", calls["one line at a time"], few, start)
    except ImportError as error:
        results["vw"] = {"failed": str(error)}
    Path(answer).write_text(json.dumps(results))


if __name__ == "__main__":
    _main(*sys.argv[1:3])
