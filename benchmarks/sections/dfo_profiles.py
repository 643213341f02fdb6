"""Data profiles on 25 standard problems: smooth, noisy and not smooth."""

from __future__ import annotations

import numpy as np

from benchmarks.competitors.search.optimisers import absent, installed, trace
from benchmarks.dfo.problems import NOISE, PROBLEMS, Problem, function
from benchmarks.run import Settings, bar, table

name = "profiles"
ACCURACIES = (1e-1, 1e-3, 1e-5)
#: Evaluations in units of d + 1.
MOST = 40
OTHERS = ("COBYQA", "COBYLA", "Py-BOBYQA", "NLopt BOBYQA", "CMA-ES", "Nelder-Mead")
FORMS = {
    "smooth": ("auctor", *OTHERS),
    "noisy": ("auctor noisy", "auctor", *OTHERS),
    "nonsmooth": ("auctor", "auctor stepwise", *OTHERS),
}
#: Share of the best other's area that ours must reach.
LIMITS = {"smooth": 0.95, "noisy": 1.0}


def measure(form: str, problem: Problem) -> dict[str, dict[str, object]]:
    """Evaluations to each accuracy, last value and own CPU of every contender on one problem."""
    names = tuple(who for who in FORMS[form] if installed(who))
    budget = MOST * (problem.dims + 1)
    radius = max(1.0, float(np.abs(problem.start).max()))
    judged = function(problem, "nonsmooth" if form == "nonsmooth" else "smooth")
    values, cost = {}, {}
    for who in names:
        judge = judged if form == "noisy" else None
        fun = function(problem, form, seed=0)
        values[who], cost[who] = trace(who, fun, problem.start, None, budget, radius, 0, judge)
    lowest = min(float(each[-1]) for each in values.values())
    first = judged(problem.start)
    found = {}
    for who, each in values.items():
        there = [np.flatnonzero(each <= lowest + a * (first - lowest)) for a in ACCURACIES]
        found[who] = {
            "evaluations": [int(k[0]) + 1 if k.size else None for k in there],
            "last": float(each[-1]),
            "own_ms": 1e3 * cost[who],
        }
    return found


def area(cells: dict, form: str, who: str) -> list[float]:
    """Mean height of the data profile up to 40 (d + 1) evaluations, for each accuracy."""
    heights = []
    for problem in PROBLEMS:
        cell = cells.get(f"{form}/{problem.name}")
        if cell is not None:
            counts = cell[who]["evaluations"]
            budget = MOST * (problem.dims + 1)
            heights.append([0.0 if k is None else 1.0 - k / budget for k in counts])
    return np.mean(heights, axis=0).tolist()


def run(settings: Settings) -> dict[str, object]:
    """The same start, first radius and budget for all; the lowest value of any is the reference."""
    cells = dict(settings.known)
    left = []
    problems = PROBLEMS[:5] if settings.quick else PROBLEMS
    for form in FORMS:
        for problem in problems:
            key = f"{form}/{problem.name}"
            if key in cells:
                continue
            if settings.over():
                left.append(key)
                continue
            cells[key] = measure(form, problem)
            print(f"   {key}", flush=True)
    rows, bars, costs = [], [], []
    for form, names in FORMS.items():
        done = [cell for key, cell in cells.items() if key.startswith(f"{form}/")]
        if not done:
            continue
        means = {}
        for who in (who for who in names if installed(who)):
            each = area(cells, form, who)
            means[who] = float(np.mean(each))
            own = [cell[who]["own_ms"] for cell in done]
            rows.append([form, who, len(done), means[who], *each])
            costs.append([form, who, float(np.mean(own)), float(np.max(own))])
        best = max(v for k, v in means.items() if not k.startswith("auctor"))
        if form in LIMITS:
            bars.append(
                bar(f"{form}: area over the best other's", means[names[0]] / best, LIMITS[form])
            )
    columns = ["form", "contender", "problems", "area, mean",
               *(f"accuracy {a:g}" for a in ACCURACIES)]  # fmt: skip
    return {
        "title": f"data profiles on {len(problems)} standard problems of 2 to 20 dimensions",
        "bars": bars,
        "tables": [
            table("Area under the data profile up to 40 (d + 1) evaluations", columns, rows),
            table("Own CPU ms per evaluation",
                  ["form", "contender", "mean", "largest over the problems"], costs),
        ],
        "cells": cells,
        "left": left,
        "notes": [
            f"Noise: the value times 1 + {NOISE:g} normal, one seed; the points are judged without "
            "it. Non-smooth: sums of absolute residuals.",
            "First radius max(1, |x0|) for all. auctor searches x0 +- 1000 of that, the others "
            "without bounds. Accuracy: the share of f(x0) - lowest that is left.",
            *([f"not run, the time budget ended: {', '.join(left)}"] if left else []),
            absent(),
        ],
    }  # fmt: skip
