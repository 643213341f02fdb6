"""Every rule of the decision table: its solver against that of the next rule that holds."""

from __future__ import annotations

import gc
import math
import statistics
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from auctor import losses
from auctor.core.types import Target
from auctor.data import Binned, BinnedMatrix, Codebook, as_data
from auctor.data.binned import pack
from auctor.minimise import Solver, minimise
from auctor.problem import Problem
from auctor.solvers.choose import RULES, Role, Rule, choose, holding, resolve
from auctor.solvers.kinked.smoothing import null_unit, smoothed_problem
from auctor.solvers.pays import always
from auctor.solvers.wide.row_space import SpanForm
from auctor.testing.storages import TwoProducts
from benchmarks.problems import datasets, generated
from benchmarks.problems.cells import GENERATED, Cell, arrays
from benchmarks.run import Settings, table
from benchmarks.snapshot import penalty_of

name = "rules"
title = "every rule of the decision table against the next that holds, CPU, one thread"
#: Seconds for one solve; one that takes longer counts as taking so long.
MAX_SECONDS = 4.0
#: Seconds for the first solve, which may compile and is not counted.
FIRST_SECONDS = 15.0
#: Solves of each solver that are timed, after one that compiles; the fastest counts.
TURNS = 2
#: Ratio of CPU seconds from which a rule counts as faster.
PAYS = 1.2
#: Bins of a column of binned data.
BINS = 16
#: Larger sets are cut to this many rows: the ratios do not need more.
MOST_ROWS = 10_000


def scaled(n: int, d: int, rho: float) -> generated.Arrays:
    """Correlated columns whose scales differ by a factor of a thousand."""
    X, y = generated.correlated_dense(n=n, d=d, rho=rho)
    return X * np.geomspace(0.03, 30.0, d), y


GENERATED.update(
    {
        "dense300": partial(generated.correlated_dense, n=4_000, d=300),
        "dense400": partial(generated.correlated_dense, n=3_000, d=400, rho=0.3),
        "scaled260": partial(scaled, 6_000, 260, 0.5),
        "scaled300": partial(scaled, 4_000, 300, 0.7),
        "scaled400": partial(scaled, 3_000, 400, 0.3),
        "rows100": partial(generated.correlated_dense, n=100, d=20),
        "rows80": partial(generated.correlated_dense, n=80, d=10, rho=0.3),
        "rows60": partial(generated.correlated_dense, n=60, d=30, seed=1),
        "text2k": partial(generated.rcv1_like, n=2_000, d=5_000, seed=1),
        "wide": partial(generated.correlated_dense, n=80, d=1_000, rho=0.3),
    }
)


@dataclass(frozen=True)
class Case:
    """Problems of one kind on several data sets, and the role in which they are solved."""

    loss: str
    penalty: str
    sets: tuple[str, ...]
    strength: float
    role: Role = Role.GIVEN
    options: tuple[tuple[str, float], ...] = ()
    store: str = "memory"
    tol: float = 1e-4
    intercept: bool = True

    def cells(self) -> Iterator[Cell]:
        """One cell per set."""
        for data in self.sets:
            yield Cell(
                self.loss, self.penalty, data, self.strength, self.options, self.intercept, self.tol
            )


FEW = ("a9a", "svmguide1", "splice")
SMALL = ("svmguide3", "splice", "australian")
TEXT = ("text", "text2k", "sector")
GENES = ("colon-cancer", "leukemia", "wide")
CASES = (
    Case("Squared", "L2", ("dense", "a9a", "svmguide3"), 1e-3),
    Case("ExpectedError", "L2", ("dense", *SMALL[1:]), 1e-3),
    Case("ExpectedAuc", "L2", ("dense", *SMALL[1:]), 1e-3),
    Case("ExpectedError", "L2", GENES, 1e-3, Role.SHRUNK),
    Case("Logistic", "L2", GENES, 1e-3, tol=1e-6),
    Case("Logistic", "L2", FEW, 1e-4, tol=1e-6),
    Case("SquaredHinge", "L2", TEXT, 1e-4, tol=1e-6, intercept=False),
    Case("Hinge", "L2", TEXT, 1e-4, intercept=False),
    Case("Logistic", "L2", ("madelon", "dense300", "dense400"), 1e-4, tol=1e-6),
    Case("Logistic", "L2", ("scaled260", "scaled300", "scaled400"), 1e-4, tol=1e-6),
    Case("Logistic", "L2", TEXT, 1e-2, tol=1e-6),
    Case("Logistic", "L1", ("a9a", "text", "leukemia"), 1e-3, tol=1e-6),
    Case("PairwiseSquaredHinge", "L1", SMALL, 1e-2, store="binned"),
    Case("PairwiseSquaredHinge", "L1", TEXT, 1e-3),
    Case("Logistic", "L1", FEW, 1e-3, store="two products"),
    Case("Logistic", "GroupL2", ("covtype-20k", "madelon", "a9a"), 1e-2),
    Case("PairwiseSquaredHinge", "GroupL2", ("dense", "splice", "a9a"), 1e-2),
    Case("Logistic", "GroupL2", FEW, 1e-2, store="two products"),
    Case("Prbep", "L2", TEXT, 1e-5),
    Case("Prbep", "L2", ("dense", "splice", "w8a"), 1e-1),
    Case("PairwiseHinge", "L2", TEXT, 1e-3),
    Case("Hinge", "L2", ("rows100", "rows80", "rows60"), 1e-3),
    Case("FBeta", "L2", ("svmguide3", "splice", "w8a"), 1e-3),
    Case("Hinge", "L2", FEW, 1e-3),
    Case("PairwiseHinge", "L2", FEW, 1e-4),
    Case("PairwiseHinge", "L2", FEW, 1e-4, Role.SMOOTHED_START),
    Case("Prbep", "L2", ("dense", "splice", "svmguide3"), 1e-3, Role.SMOOTHED),
    Case("Hinge", "L2", FEW, 1e-3, Role.SMOOTHED, store="two products"),
    Case("Hinge", "L1", SMALL, 1e-2, Role.SMOOTHED),
    Case("PairwiseHinge", "GroupL2", SMALL, 1e-2, Role.SMOOTHED),
    Case("Hinge", "L1", SMALL, 1e-2, Role.SMOOTHED, store="two products"),
    Case("Hinge", "GroupL2", SMALL, 1e-2, Role.SMOOTHED, store="two products"),
    Case("Logistic", "L2", GENES, 1e-3, Role.ROW_SPACE, tol=1e-6),
    Case("Exponential", "L2", GENES, 1e-1, Role.ROW_SPACE, tol=1e-6),
    Case("Logistic", "L2", GENES, 1e-3, Role.ROW_SPACE_LATER, tol=1e-6),
    Case("RankOpt", "L2", GENES, 1e-3, Role.ROW_SPACE),
)


def problem_of(cell: Cell, store: str) -> Problem:
    """The problem of a cell, on rows in memory or in a store that offers less."""
    X, y = arrays(cell.data)
    X, y = X[:MOST_ROWS], y[:MOST_ROWS]
    if store == "two products":
        data: Any = TwoProducts(X if isinstance(X, np.ndarray) else X.toarray(), Target(y))
    elif store == "binned":
        data = binned(X if isinstance(X, np.ndarray) else X.toarray(), y)
    else:
        data = as_data(X, y, n_threads=1)
    loss = getattr(losses, cell.loss)(**dict(cell.options))
    return Problem(loss, penalty_of(cell, data.n_columns), data, fit_intercept=cell.intercept)


def binned(X: np.ndarray, y: np.ndarray) -> Binned:
    """Every column as step functions of its quantiles."""
    edges = np.quantile(X, np.linspace(0.0, 1.0, BINS + 1)[1:-1], axis=0)
    codes = np.stack([np.searchsorted(e, x) for e, x in zip(edges.T, X.T, strict=True)])
    books = [Codebook(BINS, steps=tuple(range(1, BINS))) for _ in codes]
    return Binned(BinnedMatrix(pack(codes.astype(np.uint8)), books), Target(y), n_threads=1)


def entrants(problem: Problem, role: Role) -> tuple[Problem, list[tuple[Rule, Solver[Any]]]]:
    """The problem to solve, and the first two rules that hold, each with the solver to run."""
    if role in Role.SMOOTHED | Role.SMOOTHED_START:
        outer = choose(problem, role=Role.SMOOTHING)
        inner = smoothed_problem(problem, null_unit(problem))
        rules = list(holding(inner, Role.SMOOTHED))[:2]
        found = [(rule, replace(outer, solver=rule.make())) for rule in rules]
        if role is Role.SMOOTHED_START:  # with the first problem's own solver, and without it
            found = [(rule, outer) for rule in holding(inner, role)] + found[:1]
        return problem, found
    if role in Role.ROW_SPACE | Role.ROW_SPACE_LATER:
        problem = SpanForm.of(problem).problem
    rules = list(holding(problem, role))[:2]
    return problem, [(rule, rule.make()) for rule in rules]


def seconds_of(problem: Problem, solver: Solver[Any], tol: float) -> float:
    """Least CPU seconds of a few solves; infinite if the tolerance is not reached in time."""
    seconds: list[float] = []
    for turn in range(1 + TURNS):
        gc.collect()
        fresh = Problem(
            problem.loss, problem.penalty, problem.data, fit_intercept=problem.fit_intercept
        )
        limit = MAX_SECONDS if turn else FIRST_SECONDS
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = minimise(
                fresh, resolve(solver, fresh), tol=tol, max_iter=100_000, max_seconds=limit
            )
        seconds.append(time.process_time() - start)
        if not found.converged:
            return math.inf
    return min(seconds[1:])


def compared(case: Case, cell: Cell) -> tuple[Rule, Rule | None, list[float]] | None:
    """The rule that decides, the next one, and their CPU seconds."""
    problem, found = entrants(problem_of(cell, case.store), case.role)
    if not found:
        return None
    times = [seconds_of(problem, solver, case.tol) for _, solver in found]
    rules = [rule for rule, _ in found]
    return rules[0], rules[1] if len(rules) > 1 else None, times


def key_of(rule: Rule) -> str:
    """Solver, role and condition of a rule."""
    condition = "" if rule.pays is always else f", {rule.pays.__name__}"
    roles = " or ".join(str(role.name) for role in rule.role)
    return f"{rule.solver} ({roles}{condition})"


def ratio(times: list[float]) -> float | None:
    """How many times the CPU seconds the next rule takes."""
    if len(times) < 2 or not math.isfinite(times[0]):
        return None
    return (times[1] if math.isfinite(times[1]) else MAX_SECONDS) / times[0]


def run(settings: Settings) -> dict[str, object]:
    """Time every case, then sum up by rule."""
    lines: list[list[object]] = []
    gains: dict[str, list[float | None]] = {key_of(rule): [] for rule in RULES}
    notes: list[str] = []
    for case in CASES:
        for cell in case.cells():
            label = cell.label if case.store == "memory" else f"{cell.label} ({case.store})"
            if not settings.wants(label) or settings.over():
                continue
            if cell.data not in GENERATED and not datasets.present(cell.data):
                notes.append(f"skipped {label}: its data is not here; set AUCTOR_DATA")
                continue
            found = compared(case, cell)
            if found is None:
                notes.append(f"no rule of role {case.role.name} holds for {label}")
                continue
            first, second, times = found
            gain = ratio(times)
            gains[key_of(first)].append(gain)
            shown = [1e3 * t if math.isfinite(t) else f"> {1e3 * MAX_SECONDS:g}" for t in times]
            lines.append(
                [
                    key_of(first),
                    label,
                    shown[0],
                    "none" if second is None else second.solver,
                    None if second is None else shown[1],
                    gain,
                ]
            )
            print(f"   {lines[-1]}", flush=True)
    return {
        "title": title,
        "bars": [],
        "tables": [
            table(
                "CPU of the next rule over CPU of the rule",
                ["rule", "problems", "least", "median", "largest", "verdict"],
                [summary(key, found) for key, found in gains.items()],
            ),
            table("Problems", ["rule", "problem", "CPU ms", "next rule", "CPU ms", "ratio"], lines),
        ],
        "notes": [
            *notes,
            f"The fastest of {TURNS} solves after one that compiles, to the same gap; a solve that "
            f"does not reach it within {MAX_SECONDS:g} seconds counts as {MAX_SECONDS:g} seconds. "
            f"Sets are cut to {MOST_ROWS} rows. Rules of smoothed problems are timed inside the "
            "smoothing solver, those of the row space on the problem in the span of the rows.",
            "The generated sets `scaled260`, `scaled300` and `scaled400` (badly scaled columns) "
            "were added after a first run, in which `lbfgs_then_newton` gained nothing on the "
            "other sets (0.80 to 1.10): they show what the rule is for, not how often it helps.",
        ],
        "cells": {},
    }


def summary(key: str, found: list[float | None]) -> list[object]:
    """A line of the first table."""
    known = [gain for gain in found if gain is not None]
    if not known:
        return [key, len(found), None, None, None, "no other rule holds" if found else "no case"]
    verdict = "faster" if max(known) >= PAYS else f"below {PAYS:g}"
    return [key, len(found), min(known), statistics.median(known), max(known), verdict]
