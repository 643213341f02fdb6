"""Matrix completion on generated matrices of known rank and noise."""

from __future__ import annotations

import time

import numpy as np
from scipy.sparse import csr_array

from auctor.lab.completion import complete
from benchmarks.run import Settings, bar, table

name = "matrix_completion"
#: Noise of every entry, in units of the factors' entries.
NOISE = 1.0
RANK = 5


def run(settings: Settings) -> dict[str, object]:
    """Held-out error against the noise, both methods."""
    size = 400 if settings.quick else 2000
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(size, RANK)) @ rng.normal(size=(RANK, size))
    noisy = whole + NOISE * rng.normal(size=whole.shape)
    seen = rng.random(whole.shape) < 0.2
    rows, columns = np.nonzero(seen)
    observed = csr_array((noisy[seen], (rows, columns)), shape=whole.shape)
    predicted = np.sqrt(1.0 + RANK * (2 * size - RANK) / seen.sum()) - 1.0
    complete(observed[:50], 2, max_iter=2)  # compiles
    lines, cells = [], {}
    for method in ("alternating", "lbfgs"):
        cpu = time.process_time()
        found = complete(observed, RANK, strength=2e-3, method=method, n_threads=1)
        cpu = time.process_time() - cpu
        error = float(np.sqrt(np.mean((found.matrix() - noisy)[~seen] ** 2)))
        lines.append([method, error, error / NOISE - 1.0, found.n_iter, cpu])
        cells[method] = {"rmse": error, "cpu": cpu, "iterations": found.n_iter}
    excess = min(line[2] for line in lines)
    return {
        "title": f"{size:,} x {size:,} of rank {RANK}, 20 % observed",
        "bars": [bar("held-out RMSE above the noise", excess, 0.02, at_least=False)],
        "tables": [
            table(
                "Held-out entries", ["method", "RMSE", "above noise", "iterations", "CPU s"], lines
            )
        ],
        "notes": [
            f"Counting parameters predicts {predicted:.2%} above the noise. "
            "The objective is not convex in both factors: convergence is local."
        ],
        "cells": cells,
    }
