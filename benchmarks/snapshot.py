"""The process that solves cells with one checkout: ``python -m benchmarks.snapshot``.

It reads one line of JSON for each solve and answers with one, so that two checkouts can take turns
on the same cell: what disturbs the machine then disturbs both.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.problems.cells import CELLS, GROUP, Cell, arrays
from benchmarks.problems.generated import Arrays

BY_LABEL = {cell.label: cell for cell in CELLS}
#: Iterations of the loop in which every cell must end.
MAX_ITER = 100_000
#: Seconds in which every solve must end, far above what any takes.
MAX_SECONDS = 60.0
#: CPU seconds after which a solve is not repeated: short ones are, since the clock is coarse.
ENOUGH_SECONDS = 0.1
#: Solves in one turn at most.
MOST_SOLVES = 15
ROOT = Path(__file__).resolve().parents[1]


class Checkout:
    """A process with its own ``PYTHONPATH``."""

    def __init__(self, source: str | None = None) -> None:
        paths = [p for p in (source, str(ROOT), os.environ.get("PYTHONPATH")) if p]
        single = {f"{who}_NUM_THREADS": "1" for who in ("OMP", "OPENBLAS", "NUMBA")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.snapshot"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | single | {"PYTHONPATH": os.pathsep.join(paths)},
            text=True,
        )

    def solve(self, cell: Cell) -> dict[str, object]:
        """One solve: value, gap, coefficients, seconds; or ``error``."""
        self._process.stdin.write(cell.label + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"The process ended while it solved {cell.label}.")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()


def penalty_of(cell: Cell, columns: int) -> object:
    """The penalty object; groups are runs of `GROUP` columns."""
    from auctor import penalties

    kind = getattr(penalties, cell.penalty)
    if cell.penalty != "GroupL2":
        return kind(cell.strength)
    starts = range(0, columns, GROUP)
    return kind(cell.strength, [list(range(j, min(j + GROUP, columns))) for j in starts])


def solution_of(cell: Cell, X: object, y: np.ndarray) -> object:
    """What users write: data, problem, default solver, solve."""
    from auctor import losses
    from auctor.data import as_data
    from auctor.minimise import minimise
    from auctor.problem import Problem
    from auctor.solvers import choose

    loss = getattr(losses, cell.loss)(**dict(cell.options))
    data = as_data(X, y, n_threads=1)
    penalty = penalty_of(cell, data.n_columns)
    problem = Problem(loss, penalty, data, fit_intercept=cell.intercept)
    limits = {"max_iter": MAX_ITER, "max_seconds": MAX_SECONDS}
    return minimise(problem, choose(problem), tol=cell.tol, rng=0, **limits)


def answer(cell: Cell, X: object, y: np.ndarray) -> dict[str, object]:
    """Solve on the clock, several times where one is short; the last solution."""
    seconds: list[float] = []
    gc.collect()
    while len(seconds) < MOST_SOLVES and sum(seconds) < ENOUGH_SECONDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a solve that did not converge says so in its status
            start = time.process_time()
            found = solution_of(cell, X, y)
            seconds.append(time.process_time() - start)
    return {
        "solver": str(found.solver),
        "status": found.status.name,
        "value": float(found.value),
        "gap": float(found.gap),
        "certified": bool(found.certified),
        "iterations": int(found.n_iter),
        "passes": float(found.passes),
        "seconds": statistics.median(seconds),
        "coef": [*np.asarray(found.coef).tolist(), float(found.intercept)],
    }


@lru_cache(maxsize=2)
def _arrays(name: str) -> Arrays:
    return arrays(name)


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        cell = BY_LABEL[line.strip()]
        try:
            reply = answer(cell, *_arrays(cell.data))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
