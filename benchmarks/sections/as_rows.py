"""Where `AsRows` is faster than `CutsFirst`: on tall and wide data, by the strength of the penalty.

``row length over strength`` is the mean squared length of a row divided by the strength.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sp

from auctor.data import as_data
from auctor.losses import Prbep
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import AsRows, CutsFirst
from benchmarks.run import Settings, number, table

name = "as_rows"
title = "PRBEP, l2, generated data: `AsRows` against `CutsFirst`, CPU seconds, one thread"
#: CPU seconds after which a solve is ended; its gap is reported instead.
MOST_SECONDS = 1.5
#: Mean squared length of a row over the strength.
LENGTHS = (3e3, 1e5, 1e7)
#: Standard deviation of the noise in the labels, in that of the signal.
NOISES = (0.3, 1e3)


def matrices() -> dict[str, Any]:
    """Generated data: tall and wide, sparse and dense."""
    rng = np.random.default_rng(0)
    make: Any = sp.random_array

    def sparse(n: int, d: int, density: float) -> Any:
        values = {"density": density, "data_sampler": lambda size: rng.normal(size=size)}
        return make((n, d), rng=rng, format="csr", **values)

    return {
        "sparse 60,000 x 3,000": sparse(60_000, 3000, 0.005),
        "sparse 10,000 x 3,000": sparse(10_000, 3000, 0.01),
        "dense 9,000 x 650": rng.normal(size=(9000, 650)),
        "dense 1,500 x 3,000": rng.normal(size=(1500, 3000)),
    }


def labels(matrix: Any, noise: float) -> np.ndarray:
    """A fifth positive, by a sparse direction and noise."""
    rng = np.random.default_rng(1)
    d = matrix.shape[1]
    signal = matrix @ (rng.normal(size=d) * (rng.random(d) < 0.3))
    noisy = signal / signal.std() + noise * rng.normal(size=matrix.shape[0])
    return np.where(noisy > np.quantile(noisy, 0.8), 1.0, -1.0)


def timed(problem: Problem, solver: Any) -> dict[str, Any]:
    """CPU seconds to the default tolerance, or the gap that was left."""
    begin = time.process_time()
    found = minimise(
        problem, solver, rng=0, max_iter=100_000, on_failure="ignore",
        on_step=lambda step: time.process_time() - begin > MOST_SECONDS,
    )  # fmt: skip
    seconds = time.process_time() - begin
    return {"seconds": seconds, "gap": found.gap, "converged": found.converged}


def run(settings: Settings) -> dict[str, object]:
    """Both solvers on every data set, at every strength."""
    warm = np.random.default_rng(2).normal(size=(200, 650))
    for storage in (warm, sp.csr_array(warm)):
        for solver in (AsRows(), CutsFirst()):  # compiles
            timed(Problem(Prbep(), L2(0.1), as_data(storage, labels(storage, 1.0))), solver)
    cells: dict[str, Any] = {}
    lines: list[list[object]] = []
    for data, matrix in matrices().items():
        mean_square = float((matrix * matrix).sum() / matrix.shape[0])
        for noise in NOISES:
            y = labels(matrix, noise)
            for length in LENGTHS:
                label = f"{data}, noise {noise:g}, {length:g}"
                if not settings.wants(label) or settings.over():
                    continue
                rows = as_data(matrix, y, n_threads=1)
                problem = Problem(Prbep(), L2(mean_square / length), rows)
                cells[label] = [timed(problem, solver) for solver in (AsRows(), CutsFirst())]
                lines.append([data, noise, length, *map(shown, cells[label])])
                print(f"   {lines[-1]}", flush=True)
    columns = ["data", "noise", "row length over strength", "AsRows", "CutsFirst"]
    return {
        "title": title,
        "bars": [],
        "tables": [table("CPU seconds to a gap of 1e-4 of the null loss", columns, lines)],
        "notes": [
            "A fifth of the rows are positive. Row length over strength is the mean squared length "
            f"of a row divided by the strength. A solve is ended after {MOST_SECONDS} CPU seconds, "
            "and its gap is shown."
        ],
        "cells": cells,
    }


def shown(found: dict[str, Any]) -> str:
    """Seconds, or the gap of a solve that was ended."""
    return number(found["seconds"]) if found["converged"] else f"gap {found['gap']:.1e}"
