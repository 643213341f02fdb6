"""A process that trains by the command line, defaults only: a line of JSON in, a line out.

It stays alive between runs, so that importing and loading compiled code is paid for once; the CPU
seconds of a run are capped by the system, which ends the process (`resource.RLIMIT_CPU`).
"""

from __future__ import annotations

import csv
import io
import json
import math
import resource
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

#: CPU seconds for the tiny table, whose first run may have to compile.
COMPILING = 600.0
#: Rows of the table that start-up is measured on.
TINY = 60
#: Letters of an error message that are kept.
ERROR = 80
WHO = "benchmarks.sections.defaults_worker"


class Worker:
    """The process, started when it is needed and again after a run that was ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._started: dict[str, tuple[float, float]] = {}

    def start_up(self, metric: str, folder: Path) -> tuple[float, float]:
        """CPU seconds of training on a tiny table, the first time in this process and again."""
        if metric not in self._started:
            path, other = folder / "tiny.csv", folder / "tiny_test.csv"
            rng = np.random.default_rng(0)
            lines = [f"{x:.4f},{'u' if x + z > 0 else 'v'},{int(x + y > 0)}"
                     for x, y, z in rng.normal(size=(TINY, 3)).tolist()]  # fmt: skip
            path.write_text("\n".join(["a,b,y", *lines]) + "\n")
            other.write_text("\n".join(["a,b,y", *reversed(lines)]) + "\n")
            asked = {"train": str(path), "test": str(other), "label": "y", "rare": "1",
                     "metric": metric, "folder": str(folder), "cap": COMPILING}  # fmt: skip
            answers = [answer for answer in (self.ask(asked), self.ask(asked)) if answer]
            if any("error" in answer for answer in answers):
                raise RuntimeError(f"the tiny table was refused: {answers[0]['error']}")
            seen = [answer["cpu"] for answer in answers]
            self._started[metric] = (seen[0], seen[-1]) if seen else (0.0, 0.0)
        return self._started[metric]

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a request; ``None`` where its CPU seconds ran out."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", WHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return dict(json.loads(line))
        ended = self._process.wait()
        self.close()
        if ended != -signal.SIGXCPU:
            raise RuntimeError(f"the worker ended with {ended} on {request}")
        return None

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._started.clear()


def train(request: dict[str, Any]) -> dict[str, Any]:
    """Train on a file, predict another; scores are positive where ``rare`` is predicted.

    The request has ``train``, ``test`` (paths), ``label`` (the column), ``rare`` (the rarer label),
    ``metric``, ``folder`` (where to write) and ``cap`` (CPU seconds); with ``report`` a report is
    written, for which baselines are trained too.
    """
    from auctor.cli.main import main

    model = str(Path(request["folder"], "model.auctor"))
    out, err = io.StringIO(), io.StringIO()
    start = time.process_time()
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(start + request["cap"]), hard))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(
            ["train", request["train"], "--test", request["test"], "--label", request["label"],
             "--metric", request["metric"], "--out", model, "--json",
             *(["--report", model + ".html"] if request.get("report") else [])]
        )  # fmt: skip
    cpu = time.process_time() - start
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    if code:
        said = err.getvalue().strip().splitlines()[-1].replace(request["folder"], "")
        return {"cpu": cpu, "error": said[:ERROR]}
    said = json.loads(out.getvalue())
    scores, positive = _predictions(model, request["test"], request["rare"])
    return {"cpu": cpu, "scores": scores, "rare_is_positive": positive, "kind": said["kind"]}


def _predictions(model: str, test: str, rare: str) -> tuple[list[float], bool]:
    """Scores of the test rows, turned so that ``rare`` is above 0, and whether it already was."""
    from auctor.cli.main import main

    path = str(Path(model).with_name("predicted.csv"))
    main(["predict", model, test, "--out", path, "--scores", "--labels", "--quiet"])
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    scores = [float(row["score"]) for row in rows]
    above = {row["predicted"] for row, score in zip(rows, scores, strict=True) if score > 0.0}
    below = {row["predicted"] for row, score in zip(rows, scores, strict=True) if score <= 0.0}
    positive = above == {rare} or (not above and below != {rare})
    return (scores if positive else [-score for score in scores]), positive


if __name__ == "__main__":
    for asked in sys.stdin:
        sys.stdout.write(json.dumps(train(json.loads(asked))) + "\n")
        sys.stdout.flush()
