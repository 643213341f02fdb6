"""What a step costs: Tang A3 (coordinate step), A4 (tree prox), A5 (ring), A13 (table 2.1).

CPU seconds of single-threaded calls, the least of several: indicative on a shared machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from auctor.data import as_data
from auctor.kernels.descent import lowrank
from auctor.lab.solvers import InteriorPoint, StochasticCoordinateDescent
from auctor.losses import Logistic
from auctor.penalties import L1, TreeL2
from auctor.problem import Problem
from auctor.solvers import ProximalNewton
from auctor.solvers.sparse import proximal_newton
from auctor.solvers.sparse.matrices import LbfgsMatrix
from benchmarks.run import Settings, bar, table

name = "cost"
TITLE = "cost of a coordinate step, a tree prox, a pair, a Newton step and a sweep, 1 thread"
REPEATS = 5


def run(settings: Settings) -> dict[str, object]:
    """The four tables."""
    bars, tables = [], []
    with threadpool_limits(1):
        for part in (_coordinate, _tree, _ring, _steps):
            print(f"   {part.__name__.strip('_')}", flush=True)
            more, found = part(settings.quick)
            bars += more
            tables.append(found)
    notes = [
        "Ratios of seconds on a shared machine; nothing else depends on them.",
        "A3 expects a factor of 2 to 5 from m = 5 to 20; loops over 2 m numbers are vectorised, so "
        "a step is mostly its fixed part and grows by less.",
        "A13: the spec's own prototype measured 3.3 to 4.3; small systems also hold O(n p) work. "
        "Short sweeps hold fixed costs, so they grow by less than 2.",
    ]
    return {"title": TITLE, "bars": bars, "tables": tables, "notes": notes}


def _least(call: Callable[[], object]) -> float:
    """Least CPU seconds of a call, after one to warm up."""
    call()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def _coordinate(quick: bool) -> tuple[list, dict]:
    """A3: seconds per coordinate step against the size of the model and the memory."""

    def seconds(p: int, m: int) -> float:
        rng = np.random.default_rng(0)
        w, gradient, base = np.zeros(p), rng.normal(size=p), np.full(p, 4.0)
        rows = rng.normal(size=(p, 2 * m)) / np.sqrt(8.0 * m * p)
        levels = (np.full(p, 0.1), np.zeros(p), np.full(p, -np.inf), np.full(p, np.inf))
        state = np.array([1], dtype=np.uint64)
        passes = 1_000_000 // p

        def sweep() -> int:
            u, project = np.zeros(p), np.zeros(2 * m)
            return lowrank.sweeps(
                w, gradient, base, base, rows, rows, *levels, 1.0, 0.0,
                lowrank.CYCLIC, passes, 0.0, state, u, project,
            )  # fmt: skip

        return _least(sweep) / sweep()

    sizes = {p: seconds(p, 10) for p in (1_000, 10_000, 100_000)}
    memories = {m: seconds(1_000, m) for m in (5, 10, 20)}
    rows = [[p, 10, 1e9 * t] for p, t in sizes.items()]
    rows += [[1_000, m, 1e9 * t] for m, t in memories.items()]
    bars = [
        bar("A3: seconds per coordinate step, p = 100,000 / p = 1,000",
            sizes[100_000] / sizes[1_000], 1.5, at_least=False),
        bar("A3: the same, m = 20 / m = 5, at least", memories[20] / memories[5], 2.0),
        bar("A3: the same, m = 20 / m = 5, at most", memories[20] / memories[5], 5.0,
            at_least=False),
    ]  # fmt: skip
    title = "A3: a coordinate step of the low-rank model; it never sees the rows of the data"
    return bars, table(title, ["p", "m", "ns per step"], rows)


def _tree(quick: bool) -> tuple[list, dict]:
    """A4: the prox of a chain."""
    times = {}
    for d in (10_000, 20_000, 40_000, 80_000):
        penalty, v = TreeL2(1e-3, np.arange(-1, d - 1)), np.random.default_rng(6).normal(size=d)
        times[d] = _least(lambda penalty=penalty, v=v: [penalty.prox(v, 1.0) for _ in range(50)])
    ratios = [times[2 * d] / times[d] for d in list(times)[:-1]]
    rows = [[d, 1e9 * t / (50 * d)] for d, t in times.items()]
    return (
        [bar("A4: tree prox, seconds when the chain doubles, most", max(ratios), 2.3,
             at_least=False)],
        table("A4: the prox of a chain", ["columns", "ns per column"], rows),
    )  # fmt: skip


def _ring(quick: bool) -> tuple[list, dict]:
    """A5: storing a pair in the ring against rebuilding the matrix of pairs."""
    n, m = 200_000, 10
    rng = np.random.default_rng(0)
    s = rng.normal(size=n)
    ring, kept = LbfgsMatrix(m, n, 1.0), [rng.normal(size=n) for _ in range(m)]
    for _ in range(m):
        ring.add(s, 2.0 * s)
    S, slot = np.zeros((m, n)), 0

    def append() -> None:
        nonlocal slot
        S[slot] = s
        slot = (slot + 1) % m

    def rebuild() -> np.ndarray:
        kept.pop(0)
        kept.append(s)
        return np.column_stack(kept)

    row, stack, whole = _least(append), _least(rebuild), _least(lambda: ring.add(s, 2.0 * s))
    rows = [["append in place", 1e3 * row], ["column_stack", 1e3 * stack],
            ["LbfgsMatrix.add: two vectors and all inner products", 1e3 * whole]]  # fmt: skip
    return (
        [bar("A5: column_stack / append in place, n = 200,000, m = 10", stack / row, 5.0)],
        table("A5: a new pair", ["what", "ms"], rows),
    )


def _problem(n: int, p: int, strength: float) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0)
    return Problem(Logistic(), L1(strength), as_data(X, y, n_threads=1), fit_intercept=False)


def _steps(quick: bool) -> tuple[list, dict]:
    """A13: table 2.1, seconds per Newton step and per sweep, where every coordinate moves."""
    rows, newton = [], []
    for n in (100, 200, 400) if quick else (100, 200, 400, 800):
        newton.append(_per_step(InteriorPoint(), _problem(n, 4000, 0.02), 4))
        rows.append(["InteriorPoint, Newton step", n, 4000, 1e3 * newton[-1]])
    sweeps: dict[str, list[float]] = {"SCD": [], "newGLMNET": []}
    for n, p in ((500, 500), (1000, 500), (2000, 500), (500, 1000), (500, 2000)):
        sweeps["SCD"].append(_per_step(StochasticCoordinateDescent(), _problem(n, p, 1e-6), 6))
        with mock.patch.object(proximal_newton, "FACTOR_PARAMS", 0):
            one = ProximalNewton(max_sweeps=1)
            sweeps["newGLMNET"].append(_per_step(one, _problem(n, p, 1e-6), 6))
        rows += [[f"{k}, sweep", n, p, 1e3 * v[-1]] for k, v in sweeps.items()]
    growth = (newton[-1] / newton[0]) ** (1.0 / (len(newton) - 1))
    bars = [
        bar("A13: Newton step when n doubles, p = 4000, mean, at least", growth, 3.5),
        bar("A13: Newton step when n doubles, p = 4000, mean, at most", growth, 4.5,
            at_least=False),
    ]  # fmt: skip
    for solver, seconds in sweeps.items():
        for word, ratio in (("n", seconds[2] / seconds[0]), ("p", seconds[4] / seconds[0])):
            text = f"A13: {solver}'s sweep when {word} doubles, mean"
            bars.append(bar(f"{text}, at least", ratio**0.5, 1.8))
            bars.append(bar(f"{text}, at most", ratio**0.5, 2.3, at_least=False))
    title = "A13 (table 2.1): O(n^2 p) against O(n p)"
    return bars, table(title, ["what", "n", "p", "ms"], rows)


def _per_step(solver: object, problem: Problem, steps: int) -> float:
    """Least CPU seconds of one of the first steps."""
    times = []
    for _ in range(2):
        state = solver.init(problem, problem.start(), np.random.default_rng(0))
        for _ in range(steps):
            start = time.process_time()
            state = solver.step(problem, state)
            times.append(time.process_time() - start)
    return min(times)
