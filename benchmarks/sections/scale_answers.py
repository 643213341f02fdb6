"""The same solver on shards and in memory: coefficients, values, passes."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from auctor import losses
from auctor.data import Sharded, as_data, open_shards
from auctor.data.workers import MemoryWorkers
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import choose
from benchmarks.problems import shards
from benchmarks.run import Settings, bar, table

name = "scale_answers"
LOSSES = (
    losses.Logistic(),
    losses.SquaredHinge(),
    losses.SmoothedHinge(),
    losses.Hinge(),
    losses.PairwiseHinge(),
    losses.PairwiseSquaredHinge(),
    losses.PairwiseLogistic(),
    losses.PairwiseSquare(),
    losses.Prbep(),
    losses.FBeta(),
)
PENALTIES = (L2(1e-3), L1(1e-3))
#: Iterations after which both runs end where the tolerance is out of reach.
STEPS = 300


def run(settings: Settings) -> dict[str, object]:
    """Every loss with l2 and l1, 4,000 rows of 20 entries in 200 columns, at least 8 shards."""
    X, y = shards.rows(4000, 20, 200)
    found = []
    with tempfile.TemporaryDirectory() as room:
        shards.write(Path(room, "rows.shards"), X, y, 80_000)
        stored, memory = open_shards(Path(room, "rows.shards")), as_data(X, y)
        block = Sharded(MemoryWorkers([memory]))
        for loss in LOSSES:
            for penalty in PENALTIES:
                if settings.wants(f"{type(loss).__name__} {type(penalty).__name__}"):
                    found.append(_case(loss, penalty, stored, block, memory))
    worst = max((case["dw"] for case in found), default=None)
    value = max((case["dvalue"] for case in found), default=None)
    return {
        "title": "The same solver, on shards and in memory",
        "bars": [
            bar("largest |dw| / |w|", worst, 1e-10, at_least=False),
            bar("largest difference of values, relative", value, 1e-12, at_least=False),
        ],
        "tables": [
            table(
                "Tolerance 1e-4, solver as chosen for shards",
                [
                    "loss",
                    "penalty",
                    "solver",
                    "passes",
                    "converged",
                    "|dw|/|w|",
                    "dvalue",
                    "against all access",
                ],
                [list(case.values()) for case in found],
            )
        ],
        "notes": [
            f"{STEPS} iterations at most; sums over shards round otherwise than one sum.",
            "The reference holds the same rows in one block in memory and offers what shards "
            "do, so that solvers made of others take the same ones. The last column is against "
            "rows in memory that offer everything: there Newton, Continuation, SmoothFirst and "
            "ProximalPoint work with columns or chosen rows, and both agree within the gap only.",
        ],
    }


def _case(
    loss: object, penalty: object, stored: object, block: object, memory: object
) -> dict[str, object]:
    problems = [Problem(loss, penalty, data) for data in (stored, block, memory)]
    solver = choose(problems[0])
    given = {"tol": 1e-4, "max_iter": STEPS, "rng": 0, "on_failure": "ignore"}
    ours, wanted, plain = (minimise(problem, solver, **given) for problem in problems)
    return {
        "loss": type(loss).__name__,
        "penalty": type(penalty).__name__,
        "solver": ours.solver,
        "passes": ours.passes,
        "converged": ours.converged,
        "dw": _apart(ours.coef, wanted.coef),
        "dvalue": abs(ours.value - wanted.value) / abs(wanted.value),
        "plain": _apart(ours.coef, plain.coef),
    }


def _apart(ours: np.ndarray, wanted: np.ndarray) -> float:
    size = max(float(np.linalg.norm(wanted)), 1e-300)
    return float(np.linalg.norm(ours - wanted)) / size
