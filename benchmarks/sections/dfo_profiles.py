"""Data profiles on 25 standard problems: smooth, noisy and not smooth."""

from __future__ import annotations

import numpy as np

from benchmarks.dfo.contenders import ABSENT, installed, trace
from benchmarks.dfo.problems import NOISE, PROBLEMS, function
from benchmarks.run import Settings, bar, table

name = "profiles"
ACCURACIES = (1e-1, 1e-3, 1e-5)
#: Evaluations in units of d + 1.
MOST = 40
FORMS = {
    "smooth": ("auctor", "COBYQA", "COBYLA", "Py-BOBYQA", "Nelder-Mead"),
    "noisy": ("auctor noisy", "auctor", "COBYQA", "COBYLA", "Py-BOBYQA", "Nelder-Mead"),
    "nonsmooth": ("auctor", "auctor stepwise", "COBYQA", "COBYLA", "Py-BOBYQA", "Nelder-Mead"),
}
#: Share of the best other's area that ours must reach.
LIMITS = {"smooth": 0.95, "noisy": 1.0}


def area(values: dict[str, np.ndarray], lowest: dict[str, float], first: dict[str, float]) -> list:
    """Mean height of the data profile up to 40 (d + 1) evaluations, for each accuracy."""
    found = []
    for accuracy in ACCURACIES:
        heights = []
        for problem in PROBLEMS:
            goal = lowest[problem.name] + accuracy * (first[problem.name] - lowest[problem.name])
            there = np.flatnonzero(values[problem.name] <= goal)
            budget = MOST * (problem.dims + 1)
            heights.append(1.0 - (there[0] + 1) / budget if there.size else 0.0)
        found.append(float(np.mean(heights)))
    return found


def run(settings: Settings) -> dict[str, object]:
    """The same start, first radius and budget for all; the lowest value of any is the reference."""
    rows, bars, cells, left = [], [], {}, []
    cost: dict[str, list[float]] = {}
    problems = PROBLEMS[:5] if settings.quick else PROBLEMS
    for form, names in FORMS.items():
        if settings.over():
            left.append(form)
            continue
        names = tuple(who for who in names if installed(who))
        values: dict[str, dict[str, np.ndarray]] = {who: {} for who in names}
        judge_form = "nonsmooth" if form == "nonsmooth" else "smooth"
        first = {p.name: function(p, judge_form)(p.start) for p in PROBLEMS}
        for problem in problems:
            budget = MOST * (problem.dims + 1)
            radius = max(1.0, float(np.abs(problem.start).max()))
            for who in names:
                judge = function(problem, judge_form) if form == "noisy" else None
                fun = function(problem, form, seed=0)
                values[who][problem.name], own = trace(
                    who, fun, problem.start, None, budget, radius, 0, judge
                )
                if form == "smooth":
                    cost.setdefault(who, []).append(1e3 * own)
        lowest = {p.name: min(float(v[p.name][-1]) for v in values.values()) for p in problems}
        missing = {p.name: first[p.name] for p in PROBLEMS if p.name not in lowest}
        for each in values.values():
            each.update({k: np.array([v]) for k, v in missing.items()})
        areas = {who: area(values[who], lowest | missing, first) for who in names}
        means = {who: float(np.mean(each)) for who, each in areas.items()}
        for who in names:
            rows.append([form, who, means[who], *areas[who]])
        own_name = names[0]
        best = max(v for k, v in means.items() if not k.startswith("auctor"))
        if form in LIMITS:
            bars.append(bar(f"{form}: area over the best other's", means[own_name] / best,
                            LIMITS[form]))  # fmt: skip
        cells[form] = {
            who: {k: float(v[-1]) for k, v in each.items()} for who, each in values.items()
        }
        print(f"   {form}: {means}", flush=True)
    columns = ["form", "contender", "area, mean", *(f"accuracy {a:g}" for a in ACCURACIES)]
    costs = [[who, float(np.mean(each)), float(np.max(each))] for who, each in cost.items()]
    return {
        "title": f"data profiles on {len(problems)} standard problems of 2 to 20 dimensions",
        "bars": bars,
        "tables": [
            table("Area under the data profile up to 40 (d + 1) evaluations", columns, rows),
            table("Own CPU ms per evaluation, smooth problems",
                  ["contender", "mean", "largest over the problems"], costs),
        ],
        "cells": cells,
        "left": left,
        "notes": [
            f"Noise: the value times 1 + {NOISE:g} normal, one seed; the points are judged without "
            "it. Non-smooth: sums of absolute residuals.",
            "First radius max(1, |x0|) for all. auctor searches x0 +- 1000 of that, the others "
            "without bounds. Accuracy: the share of f(x0) - lowest that is left.",
            ABSENT + ".",
        ],
    }  # fmt: skip
