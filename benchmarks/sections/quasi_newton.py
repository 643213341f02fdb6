"""The proximal first-order and quasi-Newton family of auctor on l1 logistic problems.

One run of each solver to a tight accuracy; its trace tells evaluations, passes and seconds to 1e-4,
1e-6 and 1e-8 relative suboptimality. One thread.
"""

from __future__ import annotations

import warnings

from benchmarks.competitors import auctor
from benchmarks.problems import datasets
from benchmarks.problems.forms import Form
from benchmarks.race import accuracy_name
from benchmarks.run import Settings, geometric_mean, table

name = "quasi_newton"
TITLE = "Lhac against Fista, ProximalGradient, APQNA and orthant-wise L-BFGS, l1 logistic, 1 thread"
SETS = ("a9a", "madelon", "leukemia", "rcv1-like")
DIVIDE = (10.0, 100.0)
SOLVERS = (
    "Lhac", "ProximalQuasiNewton", "AcceleratedProximalQuasiNewton", "OrthantWise", "Fista",
    "ProximalGradient",
)  # fmt: skip
ACCURACIES = (1e-4, 1e-6, 1e-8)
SECONDS, QUICK_SECONDS = 3.0, 1.0
US = "Lhac"

Cell = dict[str, object]


def run(settings: Settings) -> dict[str, object]:
    """Trace every solver that exists on every problem."""
    cells: dict[str, Cell] = dict(settings.known)
    notes: list[str] = []
    left = []
    for data_name in SETS:
        for divide in DIVIDE:
            label = f"{data_name}/max:{divide:g}"
            skip = settings.quick and (data_name != "leukemia" or divide != 10.0)
            if not settings.wants(label) or skip or label in cells:
                continue
            if settings.over():
                left.append(label)
                continue
            try:
                data = datasets.load(data_name)
            except datasets.MissingDataSet as error:
                notes.append(f"skipped {label}: {error}")
                continue
            seconds = QUICK_SECONDS if settings.quick else SECONDS
            cells[label] = _cell(data, divide, seconds)
            print(f"   {label}", flush=True)
    notes += sorted({f"{k}: {v}" for c in cells.values() for k, v in c["skipped"].items()})
    if left:
        notes.append(f"not run, the time budget ended: {', '.join(left)}")
    notes.append(
        f"Each solver ran for at most {QUICK_SECONDS if settings.quick else SECONDS:g} s; '-': not "
        "reached in that time. J* is the least value seen, a tight automatic solve included."
    )
    return {
        "title": TITLE,
        "bars": [],
        "tables": [_ratios(cells), *(_table(cells, eps) for eps in ACCURACIES)],
        "notes": notes,
        "cells": cells,
        "left": left,
    }


def solver_of(kind: str) -> object:
    """A solver of that name with default parameters; ImportError when it is not written yet."""
    from auctor import solvers

    if not hasattr(solvers, kind):
        raise ImportError(f"auctor.solvers has no {kind} yet")
    return getattr(solvers, kind)()


def _cell(data: datasets.DataSet, divide: float, seconds: float) -> Cell:
    from auctor.minimise import minimise
    from auctor.solvers import choose

    form = Form("logistic", "l1")
    form = form.at(form.strength_max(data.X, data.y) / divide)
    problem = auctor.problem_of(data.X, data.y, form, 1)
    traces, skipped = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # running out of time is expected
        tight = minimise(problem, choose(problem), tol=1e-10, max_iter=10**6, max_seconds=15.0)
        best = form.value(data.X, data.y, tight.coef)
        for kind in SOLVERS:
            try:
                solver = solver_of(kind)
                minimise(problem, solver, tol=1e-3, max_iter=3)  # compiled code is there
                answer = minimise(
                    problem, solver, tol=1e-11, max_iter=10**6, max_seconds=seconds, rng=0
                )
            except Exception as error:
                skipped[kind] = f"{type(error).__name__}: {error}"
                continue
            best = min(best, form.value(data.X, data.y, answer.coef))
            traces[kind] = answer.trace
    results = {
        kind: {accuracy_name(eps): _when(trace, best * (1 + eps)) for eps in ACCURACIES}
        for kind, trace in traces.items()
    }
    return {"best": best, "gap": float(tight.gap), "results": results, "skipped": skipped}


def _when(trace: object, goal: float) -> dict[str, float] | None:
    """Work until the objective is at most ``goal``."""
    for k, value in enumerate(trace.value):
        if value <= goal:
            return {
                "iterations": int(trace.iteration[k]),
                "evaluations": int(trace.evaluations[k]),
                "passes": float(trace.passes[k]),
                "seconds": float(trace.seconds[k]),
            }
    return None


def _table(cells: dict[str, Cell], eps: float) -> dict[str, object]:
    rows = []
    for label, cell in cells.items():
        for kind, found in cell["results"].items():
            work = found[accuracy_name(eps)] or {}
            keys = ("seconds", "iterations", "evaluations", "passes")
            rows.append([label, kind, *(work.get(key) for key in keys)])
    head = ["problem", "solver", "seconds", "iterations", "evaluations", "passes"]
    return table(f"To relative suboptimality {accuracy_name(eps)}", head, rows)


def _ratios(cells: dict[str, Cell]) -> dict[str, object]:
    """Geometric means of other / Lhac where both got to 1e-6."""
    rows = []
    for other in (k for k in SOLVERS if k != US):
        row: list[object] = [other]
        count = 0
        for key in ("seconds", "evaluations", "passes"):
            pairs = [_pair(cell, other, key) for cell in cells.values()]
            ratios = [them / us for us, them in pairs if us and them]
            row.append(geometric_mean(ratios) if ratios else None)
            count = len(ratios)
        rows.append([*row, count])
    head = ["solver", "seconds", "evaluations", "passes", "problems"]
    return table(f"Other / {US} to 1e-6, geometric mean (above 1: {US} needs less)", head, rows)


def _pair(cell: Cell, other: str, key: str) -> tuple[float | None, float | None]:
    found = [(cell["results"].get(k) or {}).get("1e-6") or {} for k in (US, other)]
    return found[0].get(key), found[1].get(key)
