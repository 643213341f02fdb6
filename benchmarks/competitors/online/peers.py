"""River and Vowpal Wabbit on a stream of rows, in an environment of their own.

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


def _river(rows: list[dict], y: np.ndarray) -> dict:
    from river import linear_model, optim

    def loop(model: object) -> None:
        for x, label in zip(rows, y, strict=True):
            model.learn_one(x, label)

    labels = {
        "river LogisticRegression": lambda: linear_model.LogisticRegression(
            optim.SGD(0.01), l2=1e-4
        ),
        "river Perceptron": lambda: linear_model.Perceptron(l2=1e-4),
        "river ALMAClassifier": linear_model.ALMAClassifier,
        "river PAClassifier": linear_model.PAClassifier,
    }
    return {name: lambda make=make: loop(make()) for name, make in labels.items()}


def _vw_lines(X: tuple, y: np.ndarray, rows: int) -> list[str]:
    data, indices, indptr = X
    lines = []
    for i in range(rows):
        part = slice(indptr[i], indptr[i + 1])
        entries = zip(indices[part], data[part], strict=True)
        label = "1" if y[i] > 0 else "-1"
        lines.append(label + " |f " + " ".join(f"{j}:{x:.6g}" for j, x in entries))
    return lines


def _vw(lines: list[str], path: str, penalty: str) -> dict:
    from vowpalwabbit import Workspace

    options = f"--loss_function logistic {penalty} -b 18 --quiet"

    def file() -> None:
        Workspace(options, d=path).finish()  # as a keyword: read at once

    def api() -> None:
        model = Workspace(options)
        for line in lines:
            model.learn(line)
        model.finish()

    return {"from a file": file, "one line at a time": api}


def _time(call: object) -> tuple[float, float]:
    """Best of the CPU and of the wall seconds."""
    found = []
    for _ in range(REPEATS):
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return min(f[0] for f in found), min(f[1] for f in found)


def _main(source: str, answer: str) -> None:
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
        for name, call in _river(dicts, y[:few] > 0).items():
            add(name, call, few)
    except ImportError as error:
        results["river"] = {"failed": str(error)}
    try:
        lines = _vw_lines(X, y, n)
        with tempfile.TemporaryDirectory() as folder:
            path, empty = Path(folder, "stream.vw"), Path(folder, "empty.vw")
            path.write_text("\n".join(lines) + "\n")
            empty.write_text(lines[0] + "\n")
            for label, penalty in (("", "--l2 1e-8"), (", l1", "--l1 1e-8")):
                calls = _vw(lines[:few], str(path), penalty)
                start = _time(_vw([], str(empty), penalty)["from a file"])
                add(f"vw{label}, from a file", calls["from a file"], n, start)
                add(f"vw{label}, one line at a time", calls["one line at a time"], few, start)
    except ImportError as error:
        results["vw"] = {"failed": str(error)}
    Path(answer).write_text(json.dumps(results))


if __name__ == "__main__":
    _main(*sys.argv[1:3])
