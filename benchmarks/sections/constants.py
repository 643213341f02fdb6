"""Every numeric constant of the solvers at a smaller and a larger value, on a panel of problems."""

from __future__ import annotations

import time
from functools import partial

from benchmarks.constants.found import Constant, Line, constants
from benchmarks.constants.panel import MOST_ROWS, POINTS, Case, panel, solve
from benchmarks.constants.trial import SLOW, TURNS, forked, lines_run, same, tried
from benchmarks.constants.values import others
from benchmarks.run import Settings, bar, geometric_mean, number, table

name = "constants"
title = "one constant changed at a time"
#: Seconds of one solve with the usual constants, far above what any takes.
MAX_SECONDS = 60.0
#: Constants that some case of the panel must read.
LEAST_READ = 120
#: Ratio of passes or seconds below which another value is worth a look, on as many data sets.
BETTER = 1.0 / 1.1
LEAST_SETS = 3
COLUMNS = [
    "constant", "value", "tried", "cases that read it", "cases changed", "passes, mean ratio",
    "passes, worst ratio", "CPU, mean ratio", "failures",
]  # fmt: skip


def prepare(
    files: set[str], cases: list[Case] | None = None
) -> tuple[list[tuple[Case, dict, set[Line]]], list[str]]:
    """Solve cases with the constants as they are: answers, lines run, and what was left out."""
    ready, notes = [], []
    for case in panel() if cases is None else cases:
        solve(case, MAX_SECONDS)  # compiles
        first, again = solve(case, MAX_SECONDS), solve(case, MAX_SECONDS)
        if same(first, again):
            run = lines_run(partial(solve, case, MAX_SECONDS), files)
            ready.append((case, first | {"seconds": min(first["seconds"], again["seconds"])}, run))
        else:
            notes.append(f"left out: {case.label}, whose steps differ from run to run")
    return ready, notes


def measure(constant: Constant, ready: list[tuple[Case, dict, set[Line]]]) -> list[dict]:
    """One summary for every other value."""
    cases = [(case, base) for case, base, run in ready if constant.read_by(run)]
    summaries = []
    for value in others(constant.value) if cases else ():
        found = forked(partial(tried, constant, value, cases))
        summaries.append({"value": value, "read": len(cases), **summary(found)})
    return summaries


def summary(found: dict[str, dict]) -> dict[str, object]:
    """Means over the cases whose steps changed."""
    changed = {label: one for label, one in found.items() if one["changed"]}
    fine = {label: one for label, one in changed.items() if not one["failure"]}
    passes = [one["passes"] for one in fine.values()]
    return {
        "changed": len(changed),
        "sets": len({one["data"] for one in fine.values()}),
        "passes": geometric_mean(passes) if passes else None,
        "worst": max(passes, default=None),
        "seconds": geometric_mean(one["seconds"] for one in fine.values()) if fine else None,
        "failures": {label: one["failure"] for label, one in found.items() if one["failure"]},
        "cases": {k: f"{one['passes']:.4g} {one['seconds']:.3g}" for k, one in fine.items()},
    }


def rows(label: str, value: float, summaries: list[dict]) -> list[list[object]]:
    """Lines of the table for one constant."""
    return [
        [label, value, s["value"], s["read"], s["changed"], s["passes"], s["worst"], s["seconds"],
         words(s["failures"])]
        for s in summaries
    ]  # fmt: skip


def words(failures: dict[str, str]) -> str:
    """How many failures of each kind."""
    kinds = [kind.split(":")[0] for kind in failures.values()]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "none"


def promising(s: dict) -> bool:
    """Whether a value did better than the one that is used, on several data sets."""
    if s["failures"] or s["sets"] < LEAST_SETS:
        return False
    return s["passes"] < BETTER or s["seconds"] < BETTER


def run(settings: Settings) -> dict[str, object]:
    """Measure every constant that functions of Python read."""
    every = constants()
    wanted = {k: c for k, c in every.items() if settings.wants(k) and not (c.compiled or c.bound)}
    files = {path for constant in wanted.values() for path, _ in constant.lines}
    files |= {module_file for c in wanted.values() for module_file in c.default_files}
    ready, notes = prepare(files)
    usual = sum(base["seconds"] for _, base, _ in ready)
    cells, left = dict(settings.known), []
    for label, constant in wanted.items():
        known = cells.get(label)
        if known is not None and known["value"] == constant.value:
            continue
        if settings.over():
            left.append(label)
            continue
        start = time.perf_counter()
        cells[label] = {"value": constant.value, "tried": measure(constant, ready)}
        for row in rows(label, constant.value, cells[label]["tried"]):
            print("   " + " | ".join(map(number, row)), flush=True)
        print(f"   {label}: {time.perf_counter() - start:.1f} s", flush=True)
    cells = {label: cells[label] for label in wanted if label in cells}
    lines = [row for k, c in cells.items() for row in rows(k, c["value"], c["tried"])]
    better = [
        row
        for k, c in cells.items()
        for row, s in zip(rows(k, c["value"], c["tried"]), c["tried"], strict=True)
        if promising(s)
    ]
    unread = [label for label, cell in cells.items() if not cell["tried"]]
    beyond = [k for k, c in every.items() if settings.wants(k) and c.bound]
    return {
        "title": title,
        "bars": [bar("constants that some case reads", len(cells) - len(unread), LEAST_READ)],
        "tables": [
            table("Other values that took less, on at least three data sets", COLUMNS, better),
            table("All constants", COLUMNS, lines),
        ],
        "notes": [
            f"The panel: {len(ready)} cases, {usual:.1f} CPU seconds. The cells of `quick` and, "
            f"where the loss is smooth, the same at a tolerance of 1e-8; solvers by name; paths of "
            f"{POINTS} strengths; data that offers its two products alone. At most {MOST_ROWS} "
            "rows of a set.",
            "Tried: whole numbers at half and double; shares and factors at a quarter and four "
            "times, within their range; tolerances and huge numbers at 1/100 and 100 times.",
            "A case reads a constant if it runs a line that names it. It changed if passes, "
            "iterations or any bit of the coefficients differ; ratios are to the value that is "
            "used, geometric means over the changed cases without a failure.",
            f"CPU: from arrays to the solution, the fastest of {TURNS} turns, which alternate with "
            "the usual value.",
            "Failures: the gap was not reached, the objective is not within the gaps, an error, or "
            f"more than {SLOW:g} times the CPU seconds.",
            *notes,
            f"Read by no case: {', '.join(unread) or 'none'}.",
            f"Not tried, since values made on import keep them: {', '.join(beyond) or 'none'}. "
            "`compiled` has the constants of compiled loops.",
            *([f"Not run, the time budget ended: {', '.join(left)}."] if left else []),
        ],
        "cells": cells,
        "left": left,
    }
