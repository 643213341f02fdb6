"""Numbers that travel for an evaluation when losses are evaluated where the rows are."""

from __future__ import annotations

import pickle

import numpy as np

from auctor import losses
from auctor.core.types import Target
from auctor.data import Sharded, Sparse
from auctor.data.workers import MemoryWorkers
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Lbfgs
from benchmarks.problems import shards
from benchmarks.run import Settings, bar, table

name = "scale_traffic"
#: Shards, columns, and steps that are counted.
SHARDS, COLUMNS, STEPS = 8, 1000, 20
LOSSES = {
    "row": (losses.Logistic(), losses.SquaredHinge(), losses.SmoothedHinge()),
    "pair": (losses.PairwiseSquaredHinge(), losses.PairwiseHinge(0.5), losses.PairwiseLogistic()),
    "threshold": (losses.Prbep(0.5), losses.PrecisionAtK(0.05, width=0.5)),
    "gather": (losses.FBeta(width=0.5),),
}


class Far(MemoryWorkers):
    """Workers that everything travels to and from, as it does between machines."""

    gather_below = 0.0

    def each(self, method: str, arguments: object) -> list[object]:
        return pickle.loads(
            pickle.dumps(super().each(method, pickle.loads(pickle.dumps(arguments))))
        )


def run(settings: Settings) -> dict[str, object]:
    """L-BFGS with l2 on 100,000 rows, 2 % of them positive (10,000 with --quick)."""
    n = 10_000 if settings.quick else 100_000
    X, y = shards.rows(n, 20, COLUMNS)
    rng = np.random.default_rng(1)
    y[(y > 0.0) & (rng.random(n) > 0.2)] = -1.0
    rare = int(np.count_nonzero(y > 0.0))
    parts = np.array_split(np.arange(n), SHARDS)
    data = Sharded(Far([Sparse(X[some], Target(y[some]), n_threads=1) for some in parts]))
    limits = {"row": SHARDS * (2 * COLUMNS + 16), "pair": SHARDS * (2 * COLUMNS + 3 * rare + 16)}
    found = []
    for kind, chosen in LOSSES.items():
        for loss in chosen:
            found.append([repr(loss), kind, *_counted(loss, data), limits.get(kind), 2 * n])
    worst = {kind: max(row[2] for row in found if row[1] == kind) for kind in limits}
    return {
        "title": "Numbers that travel for an evaluation",
        "bars": [
            bar(f"{kind} losses", worst[kind], limit, at_least=False)
            for kind, limit in limits.items()
        ],
        "tables": [
            table(
                f"{n:,} rows, {rare:,} of the rarer class, {COLUMNS} columns, {SHARDS} shards",
                ["loss", "rule", "numbers", "calls", "bar", "all scores and slopes"],
                found,
            )
        ],
        "notes": [
            f"Steps 2 to {STEPS} of L-BFGS: scores, value, slopes, gradient, line search and "
            "intercept, divided by the evaluations. Labels are sent once, before."
        ],
    }


def _counted(loss: object, data: Sharded) -> tuple[float, float]:
    seen = []

    def note(step: object) -> None:
        seen.append((data.holder.traffic.floats, data.holder.traffic.calls, step.evaluations))

    problem = Problem(loss, L2(1e-4), data)
    minimise(problem, Lbfgs(), tol=0.0, max_iter=STEPS, on_step=note, on_failure="ignore")
    first, last = np.array(seen[1]), np.array(seen[-1])
    floats, calls, evaluations = last - first
    return float(floats / evaluations), float(calls / evaluations)
