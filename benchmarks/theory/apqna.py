"""Ghanbari's chapter 2 on a9a: strength 1e-3, no intercept, from 0, her stopping rule.

The published methods are the library's with ``scaling=0`` and, for the accelerated ones, without
restarts; what the library ships by default is shown beside them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from auctor.lab.solvers import (
    AcceleratedProximalQuasiNewton,
    InteriorPoint,
    OrthantWise,
    ProximalGradient,
    StochasticCoordinateDescent,
)
from auctor.lab.solvers.accelerated import AcceleratedState
from auctor.problem import Point, Problem
from auctor.solvers import Fista, Lhac, ProximalNewton, ProximalQuasiNewton
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table
from benchmarks.theory import problems
from benchmarks.theory.drive import Run, drive, steepest

name = "apqna"
TITLE = "Ghanbari, chapter 2: accelerated and plain proximal quasi-Newton on a9a, strength 1e-3"
STRENGTH, TOL, BEST = 1e-3, 1e-5, 0.3470351
WARMUPS, MEMORIES = (4, 6, 8, 10), (4, 6, 8, 10)
Accelerated, Plain = AcceleratedProximalQuasiNewton, ProximalQuasiNewton


@dataclass(frozen=True)
class WithoutMomentum(AcceleratedProximalQuasiNewton):
    """The fixed-matrix method with the very same matrix and scales, less the extrapolation."""

    def step(self, problem: Problem, state: AcceleratedState) -> AcceleratedState:
        new = super().step(problem, state)
        return replace(new, t=1.0) if not self._warming(state) and new.t else new


def run(settings: Settings) -> dict[str, object]:
    """Every solver to the same stopping rule."""
    try:
        problem = problems.a9a(STRENGTH)
    except datasets.MissingDataSet as error:
        return {"title": TITLE, "bars": [], "tables": [], "notes": [f"not run: {error}"]}
    first = problem.evaluate(np.zeros(problem.n_params))
    unit = steepest(problem, first)

    def go(solver: object, most: int = 20_000) -> Run:
        def done(point: Point) -> bool:
            return steepest(problem, point) <= TOL * unit

        return drive(problem, solver, done, most=most)

    bars, tables = [], [_matrices(problem)]
    for part in (_everybody, _fixed, _latest):
        print(f"   {part.__name__.strip('_')}", flush=True)
        more, found = part(go)
        bars += more
        tables.append(found)
    bars = [
        bar("A.1: F(0) - log 2", abs(first.value - math.log(2.0)), 1e-12, at_least=False),
        bar("A.1: first subgradient - 0.26805", abs(unit - 0.26805), 5e-6, at_least=False),
        *bars,
    ]
    notes = [
        "Counts are exact and repeat; seconds are CPU seconds of one run on a shared machine.",
        *WHY,
    ]
    return {"title": TITLE, "bars": bars, "tables": tables, "notes": notes}


WHY = (
    "A.4 does not hold as stated, for k = 8 and 10. The spec's prototype needed 292, 238, 235, 226 "
    "iterations without momentum and 161, 135, 132, 134 with it; here both need fewer on one and "
    "the same matrix ('same matrix'), and the plain method gains more, probably (not tested) "
    "because its count goes with the conditioning of the Hessian in the frozen matrix and that of "
    "the accelerated one with the root: the better the matrix, the less is left for momentum. The "
    "ratio falls with k.",
    "Against ProximalQuasiNewton('fixed'), whose warm-up takes L-BFGS steps and so freezes a "
    "matrix still closer to the Hessian (last columns of the first table), momentum is worth "
    "little. With restarts, as shipped, the accelerated method needs about half of either.",
    "A.4's evaluations: an accelerated iteration evaluates twice, so fewer iterations by less than "
    "2 are more evaluations (erratum E23 of the spec says as much).",
)


def _matrices(problem: Problem) -> dict:
    """How far the frozen matrices are from the Hessian at the optimum, on its support."""
    best = drive(problem, ProximalNewton(), lambda point: steepest(problem, point) <= 1e-12).point
    support = np.flatnonzero(best.w)
    share = best.problem.data.target.share
    X = problem.data.to_dense()[:, support]
    chance = np.exp(-np.logaddexp(0.0, -best.scores))
    exact = X.T @ ((share * chance * (1.0 - chance))[:, None] * X)
    exact += 1e-12 * np.trace(exact) * np.eye(len(support))
    root = np.linalg.inv(np.linalg.cholesky(exact))
    rows = []
    for warmup in WARMUPS:
        for label, solver in (
            ("APQNA-FH", _published(warmup)),
            ("PQNA-FH, own warm-up", Plain("fixed", rho=1.0, warmup=warmup, scaling=0.0)),
        ):
            state = solver.init(problem, problem.start(), np.random.default_rng(0))
            for _ in range(warmup):
                state = solver.step(problem, state)
            matrix = state.pairs.restrict(support).matrix()
            values = np.linalg.eigvalsh(root @ matrix @ root.T)
            factor = float(np.exp(np.abs(np.log(values)).mean()))
            rows.append([warmup, label, state.pairs.count, float(1.0 / values[0]), factor])
    head = ["k", "solver", "pairs", "largest H/B", "mean factor between B and H"]
    return table("Frozen matrix B against the Hessian H at the optimum, on its support", head, rows)


HEAD = ["iterations", "evaluations", "passes", "CPU s", "value", "nonzero"]


def _row(label: list[object], run: Run) -> list[object]:
    count = run.iterations if run.reached else None
    return [*label, count, run.evaluations, run.passes, run.seconds,
            f"{run.values[-1]:.9f}", int(np.count_nonzero(run.point.w))]  # fmt: skip


def _published(warmup: int = 8) -> AcceleratedProximalQuasiNewton:
    return Accelerated(warmup=warmup, scaling=0.0, restart=False)


def _everybody(go: object) -> tuple[list, dict]:
    """A.1, A.2, A.3 and A.6."""
    solvers = {
        "APQNA-FH, k = 8": _published(),
        "APGA, steps never grow": Fista(growth=1.0, restart=False),
        "APGA, growing steps": Fista(growth=1.015, restart=False),
        "PQNA-LBFGS9, eta 0.01": Plain(memory=9, scaling=0.0),
        "PQNA-LBFGS9, eta 1": Plain(memory=9, scaling=0.0, rho=1.0),
        "APQNA-LBFGS9": Accelerated("lbfgs", memory=9, scaling=0.0, restart=False),
        "Fista as shipped": Fista(),
        "ProximalGradient as shipped": ProximalGradient(),
        "AcceleratedProximalQuasiNewton as shipped": Accelerated(),
        "ProximalQuasiNewton as shipped": Plain(),
        "Lhac as shipped": Lhac(),
        "OrthantWise": OrthantWise(),
        "ProximalNewton": ProximalNewton(),
        "InteriorPoint": InteriorPoint(),
        "StochasticCoordinateDescent": StochasticCoordinateDescent(),
    }
    runs = {label: go(solver) for label, solver in solvers.items()}
    off = max(abs(run.values[-1] - BEST) for run in runs.values())
    support = max(abs(int(np.count_nonzero(run.point.w)) - 39) for run in runs.values())
    fixed, apga = runs["APQNA-FH, k = 8"], runs["APGA, steps never grow"]
    relaxed, strict = runs["PQNA-LBFGS9, eta 0.01"], runs["PQNA-LBFGS9, eta 1"]
    others = ("APQNA-FH, k = 8", "APGA, steps never grow", "APGA, growing steps", "APQNA-LBFGS9")
    least = min(runs[label].passes for label in others)
    bars = [
        bar("A.1: furthest final value from 0.3470351", off, 1e-7, at_least=False),
        bar("A.1: furthest support from 39", support, 0, at_least=False),
        bar("A.2: iterations of APQNA-FH, k = 8", fixed.iterations, 180, at_least=False),
        bar("A.2: its value after 40", fixed.values[40], 0.34710, at_least=False),
        bar("A.3: iterations, APGA / APQNA-FH", apga.iterations / fixed.iterations, 4.0),
        bar("A.3: CPU seconds, APGA / APQNA-FH", apga.seconds / fixed.seconds, 1.5),
        bar("A.5: iterations of PQNA-LBFGS9, eta 0.01", relaxed.iterations, 90, at_least=False),
        bar("A.6: passes, PQNA-LBFGS9, eta 0.01 / best other published method",
            relaxed.passes / least, 1.0, at_least=False),
        bar("A.6: passes, PQNA-LBFGS9, eta 0.01 / eta 1", relaxed.passes / strict.passes, 1.0,
            at_least=False),
    ]  # fmt: skip
    rows = [_row([label], run) for label, run in runs.items()]
    return bars, table(
        "A.1, A.2, A.3, A.6: every solver, one stopping rule", ["solver", *HEAD], rows
    )


def _fixed(go: object) -> tuple[list, dict]:
    """A.4: does momentum help with a fixed matrix?"""
    rows, shipped, same, work = [], [], [], []
    for warmup in WARMUPS:
        accelerated = go(_published(warmup))
        plain = go(Plain("fixed", rho=1.0, warmup=warmup, scaling=0.0))
        twin = go(WithoutMomentum(warmup=warmup, scaling=0.0, restart=False))
        restarted = go(Accelerated(warmup=warmup, scaling=0.0))
        for label, run in (
            ("APQNA-FH", accelerated), ("PQNA-FH, same matrix", twin),
            ("PQNA-FH, own warm-up", plain), ("APQNA-FH with restarts", restarted),
        ):  # fmt: skip
            rows.append(_row([warmup, label], run))
        shipped.append(plain.iterations / accelerated.iterations)
        same.append(twin.iterations / accelerated.iterations)
        work.append(accelerated.evaluations / twin.evaluations)
    bars = [
        bar("A.4: iterations, PQNA-FH / APQNA-FH, same matrix, least over k", min(same), 1.4),
        bar("A.4: iterations, PQNA-FH with its own warm-up / APQNA-FH, least over k", min(shipped),
            1.4),
        bar("A.4: evaluations, APQNA-FH / PQNA-FH, same matrix, most over k", max(work), 1.25,
            at_least=False),
    ]  # fmt: skip
    title = "A.4 (figures 2.1, 2.2): a fixed matrix after k iterations, with and without momentum"
    return bars, table(title, ["k", "solver", *HEAD], rows)


def _latest(go: object) -> tuple[list, dict]:
    """A.5: does momentum help with the latest matrix?"""
    rows, counts, work = [], [], []
    for memory in MEMORIES:
        accelerated = go(Accelerated("lbfgs", memory=memory, scaling=0.0, restart=False))
        plain = go(Plain(memory=memory, scaling=0.0, rho=1.0))
        relaxed = go(Plain(memory=memory, scaling=0.0))
        for label, run in (
            ("APQNA-LBFGS", accelerated), ("PQNA-LBFGS, eta 1", plain),
            ("PQNA-LBFGS, eta 0.01", relaxed),
        ):  # fmt: skip
            rows.append(_row([memory, label], run))
        counts.append(accelerated.iterations / min(plain.iterations, relaxed.iterations))
        work.append(accelerated.evaluations / max(plain.evaluations, relaxed.evaluations))
    bars = [
        bar("A.5: iterations, APQNA-LBFGS / PQNA-LBFGS, least over memories", min(counts), 1.0),
        bar("A.5: evaluations, APQNA-LBFGS / PQNA-LBFGS, least over memories", min(work), 1.5),
    ]
    title = "A.5 (figures 2.3, 2.4): the latest L-BFGS matrix, with and without momentum"
    return bars, table(title, ["memory", "solver", *HEAD], rows)
