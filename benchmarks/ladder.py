"""Seconds to a relative suboptimality, by a ladder of tolerances.

Every solver is run from loose to tight until ``(J - J*) / J* <= eps`` by the independent objective.
The loosest tolerance that gets there is then timed in interleaved repeats. J* is the least value
seen anywhere, a very tight reference run included, and comes with a bound on its own error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from benchmarks.competitors import Competitor, Fit
from benchmarks.problems.datasets import DataSet
from benchmarks.problems.generated import Matrix
from benchmarks.run import Clock, interleave

#: A dense copy of a sparse set is offered to the solvers below this size and above this density
#: (at 11 percent, a9a, scikit-learn's lbfgs, newton-cg and newton-cholesky took 1.6 to 8 times as
#: long on the dense copy; liblinear always gets CSR).
DENSE_BYTES, DENSE_SHARE = 256e6, 0.25


def tolerances(per_decade: int = 2, lowest: int = -12) -> list[float]:
    """1, ..., 10^lowest, geometric."""
    return [10.0 ** (-k / per_decade) for k in range(-lowest * per_decade + 1)]


@dataclass
class Task:
    """One problem: data in every layout, strength, and the judge."""

    data: DataSet
    strength: float
    objective: Callable[[np.ndarray], float]
    layouts: dict[str, Matrix] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layouts = layouts_of(self.data)


@dataclass
class Entry:
    """One solver on one layout: its ladder, then its times."""

    solver: Competitor
    layout: str
    values: dict[float, float] = field(default_factory=dict)
    seconds: dict[float, float] = field(default_factory=dict)
    work: dict[float, dict[str, object]] = field(default_factory=dict)
    reached: float | None = None
    clock: Clock | None = None
    failure: str | None = None

    @property
    def label(self) -> str:
        return f"{self.solver.name} [{self.layout}]"

    def record(self, best: float) -> dict[str, object]:
        """Everything measured, for the results file."""
        rungs = [
            {"tol": t, "suboptimality": (v - best) / best, "wall_once": self.seconds[t]}
            for t, v in self.values.items()
        ]
        times = self.clock.summary() if self.clock else {"wall": None, "cpu": None}
        work = self.work.get(self.reached) if self.reached else None
        return {
            "solver": self.solver.name,
            "layout": self.layout,
            "tol": self.reached,
            "work": work,
            "failure": self.failure,
            **times,
            "ladder": rungs,
        }


def layouts_of(data: DataSet) -> dict[str, Matrix]:
    """CSR and dense C-order forms, where each is sensible. Making them is on nobody's clock."""
    if not sp.issparse(data.X):
        return {"dense": np.ascontiguousarray(data.X), "csr": sp.csr_array(data.X)}
    forms: dict[str, Matrix] = {"csr": data.X}
    if 8 * data.n_rows * data.n_columns <= DENSE_BYTES and data.density >= DENSE_SHARE:
        forms["dense"] = data.X.toarray()
    return forms


def entries_of(task: Task, solvers: list[Competitor]) -> tuple[list[Entry], dict[str, str]]:
    """Who runs on which layout, and the reasons of those who do not."""
    entries, skipped = [], {}
    for solver in solvers:
        reason = solver.available() or solver.refuses(task.data.n_rows, task.data.n_columns)
        if reason:
            skipped[solver.name] = reason
            continue
        entries += [Entry(solver, form) for form in _worthwhile(task, solver)]
    return entries, skipped


def _worthwhile(task: Task, solver: Competitor) -> list[str]:
    """Dense data is given as CSR only to those who want nothing else."""
    forms = [form for form in task.layouts if form in solver.layouts]
    return ["dense"] if not sp.issparse(task.data.X) and "dense" in forms else forms


def climb(task: Task, entry: Entry, ladder: list[float], goal: float, budget: float) -> None:
    """Run from loose to tight until the objective is at most ``goal`` or the budget is gone."""
    spent = 0.0
    for tol in ladder:
        start = time.perf_counter()
        answer = _fit(task, entry, tol)
        entry.seconds[tol] = time.perf_counter() - start
        entry.values[tol] = task.objective(answer.coef)
        entry.work[tol] = answer.work
        spent += entry.seconds[tol]
        if entry.values[tol] <= goal:
            entry.reached = tol
            return
        if spent > budget:
            return


def _fit(task: Task, entry: Entry, tol: float) -> Fit:
    X = task.layouts[entry.layout]
    return entry.solver.fit(X, task.data.y, task.strength, tol, False)


def race(
    task: Task,
    entries: list[Entry],
    reference: float,
    *,
    eps: float = 1e-6,
    ladder: list[float],
    repeats: int,
    budget: float = 60.0,
) -> float:
    """Fill the entries with their tolerances and times; returns J*."""
    found: dict[str, float] = {}
    for entry in entries:
        if not _warm(task, entry, ladder[0]):
            continue
        rungs = _from(ladder, found.get(entry.solver.name))
        climb(task, entry, rungs, reference * (1 + eps), budget)
        if entry.reached is not None:
            found.setdefault(entry.solver.name, entry.reached)
    best = min([reference, *(v for e in entries for v in e.values.values())])
    for entry in entries:
        reached = [t for t in ladder if entry.values.get(t, np.inf) <= best * (1 + eps)]
        entry.reached = reached[0] if reached else None
    runners = {e.label: e for e in entries if _competes(e, entries)}
    calls = {label: (lambda e=e: _fit(task, e, e.reached)) for label, e in runners.items()}
    for label, clock in interleave(calls, repeats).items() if calls else ():
        runners[label].clock = clock
    return best


def _from(ladder: list[float], found: float | None) -> list[float]:
    """A second layout of the same solver starts two rungs above where the first one ended."""
    return ladder if found is None else ladder[max(0, ladder.index(found) - 2) :]


def _competes(entry: Entry, entries: list[Entry]) -> bool:
    """Whether this layout got there and may be the solver's faster one."""
    if entry.reached is None:
        return False
    same = [e for e in entries if e.solver is entry.solver and e.reached is not None]
    return entry.seconds[entry.reached] <= 1.6 * min(e.seconds[e.reached] for e in same)


def _warm(task: Task, entry: Entry, tol: float) -> bool:
    """Load code and caches before the first clock starts; False, with the reason kept, on error."""
    try:
        _fit(task, entry, tol)
    except Exception as error:
        entry.failure = f"{type(error).__name__}: {error}"
        return False
    return True
