"""Where a rule of the decision table pays: `AsRows` against `CutsFirst` on generated data.

``python -m benchmarks.gates`` writes ``benchmarks/results/as_rows.md``. The reach of the
rows is their mean squared length over the strength of the penalty.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from auctor.data import as_data
from auctor.losses import Prbep
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import AsRows, CutsFirst

RESULTS = Path(__file__).parent / "results"
#: CPU seconds after which a solve is ended; its gap is reported instead.
MOST_SECONDS = 1.5
#: Mean squared length of a row over the strength.
REACHES = (3e3, 1e5, 1e7)
#: Standard deviation of the noise in the labels, in that of the signal.
NOISES = (0.3, 1e3)


def matrices() -> dict[str, Any]:
    """Generated data: tall and wide, sparse and dense."""
    rng = np.random.default_rng(0)

    make: Any = sp.random_array

    def sparse(n: int, d: int, density: float) -> Any:
        normal = rng.normal
        values = {"density": density, "data_sampler": lambda size: normal(size=size)}
        return make((n, d), rng=rng, format="csr", **values)

    return {
        "sparse 60,000 x 3,000": sparse(60_000, 3000, 0.005),
        "sparse 10,000 x 3,000": sparse(10_000, 3000, 0.01),
        "dense 9,000 x 650": rng.normal(size=(9000, 650)),
        "dense 1,500 x 3,000": rng.normal(size=(1500, 3000)),
    }


def labels(matrix: Any, noise: float) -> Any:
    """A fifth positive, by a sparse direction and noise."""
    rng = np.random.default_rng(1)
    d = matrix.shape[1]
    signal = matrix @ (rng.normal(size=d) * (rng.random(d) < 0.3))
    noisy = signal / signal.std() + noise * rng.normal(size=matrix.shape[0])
    return np.where(noisy > np.quantile(noisy, 0.8), 1.0, -1.0)


def timed(matrix: Any, y: Any, strength: float, solver: Any) -> dict[str, Any]:
    """CPU seconds to the default tolerance, or the gap that was left."""
    problem = Problem(Prbep(), L2(strength), as_data(matrix, y))
    begin = time.process_time()
    found = minimise(
        problem, solver, rng=0, max_iter=100_000, on_failure="ignore",
        on_step=lambda step: time.process_time() - begin > MOST_SECONDS,
    )  # fmt: skip
    return {
        "seconds": time.process_time() - begin,
        "steps": found.n_iter,
        "gap": found.gap,
        "converged": found.converged,
    }


def main() -> None:
    """Run all cells and write the table."""
    warm = np.random.default_rng(2).normal(size=(200, 650))
    for storage in (warm, sp.csr_array(warm)):
        for solver in (AsRows(), CutsFirst()):
            timed(storage, labels(storage, 1.0), 0.1, solver)  # compiles
    rows, cells = [], []
    for name, matrix in matrices().items():
        length = float((matrix * matrix).sum() / matrix.shape[0])
        for noise in NOISES:
            y = labels(matrix, noise)
            for reach in REACHES:
                ours = timed(matrix, y, length / reach, AsRows())
                cuts = timed(matrix, y, length / reach, CutsFirst())
                rows.append(
                    {"data": name, "noise": noise, "reach": reach, "as_rows": ours, "cuts": cuts}
                )
                shown = (f"{c['seconds']:.2f}" if c["converged"] else f"gap {c['gap']:.1e}"
                         for c in (ours, cuts))  # fmt: skip
                cells.append(f"| {name} | {noise:g} | {reach:g} | {' | '.join(shown)} |")
    text = [
        "# AsRows: CPU seconds to a gap of 1e-4 of the null loss, against CutsFirst",
        "",
        "PRBEP, l2, one thread, generated data, a fifth of the rows positive. The reach is the",
        "mean squared length of a row over the strength. A solve is ended after "
        f"{MOST_SECONDS} CPU s.",
        "",
        "| data | noise | reach | AsRows | CutsFirst |",
        "|---|---|---|---|---|",
        *cells,
    ]
    (RESULTS / "as_rows.md").write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
