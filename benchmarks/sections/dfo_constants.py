"""Constants of the trust region, each moved to both sides, on starts and noise of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from auctor.tune import minimise_black_box
from auctor.tune.rules import KINDS, RegionRules
from benchmarks.dfo.problems import PROBLEMS, Problem, function
from benchmarks.run import Settings, table
from benchmarks.sections.dfo_profiles import ACCURACIES, MOST
from benchmarks.sections.dfo_wells import NEAR, WELLS

name = "constants"
#: Values on both sides of the one that is used.
VALUES: dict[str, tuple[float, float]] = {
    "points_per_dim": (2, 4),
    "full_up_to": (5, 12),
    "far": (1.2, 4.0),
    "repeat_share": (0.0, 0.2),
    "ridge": (0.01, 1.0),
    "same_end": (0.005, 0.08),
    "settled": (1e-10, 1e-6),
}
#: Seeds of starts and noise that no constant was chosen on: the other sections have 0 to 19.
SEEDS = range(100, 110)
#: Dimensions of the largest standard problem here.
MOST_DIMS = 12
#: Evaluations of the run that sets the reference value, in units of d + 1.
LONG = 120


def held_out(problem: Problem) -> Problem:
    """The problem from a start near its usual one."""
    moved = problem.start + 0.1 * np.random.default_rng(SEEDS[0]).normal(size=problem.dims)
    return problem._replace(start=moved)


def small() -> list[Problem]:
    return [held_out(one) for one in PROBLEMS if one.dims <= MOST_DIMS]


def references() -> dict[str, float]:
    """The lowest value of a long run with the constants as they are."""
    return {
        p.name: minimise_black_box(
            function(p, "smooth"), p.start, budget=LONG * (p.dims + 1), seed=0
        ).fun
        for p in small()
    }


def share_there(rules: RegionRules) -> float:
    """Share of the runs on three functions with several wells that end at the optimum."""
    there = []
    for fun, box, best, budget, _ in WELLS.values():
        low, high = np.array(box).T
        for seed in SEEDS:
            start = low + (high - low) * np.random.default_rng(seed).random(len(low))
            found = minimise_black_box(fun, start, bounds=box, budget=budget, kind=rules, seed=seed)
            there.append(found.fun - best < NEAR)
    return float(np.mean(there))


def area(rules: RegionRules, form: str, lowest: dict[str, float]) -> float:
    """Mean area under the data profile, as in `profiles`, on the smaller problems."""
    heights = []
    for problem in small():
        smooth = function(problem, "smooth")
        budget = MOST * (problem.dims + 1)
        found = minimise_black_box(
            function(problem, form, seed=SEEDS[0]), problem.start, budget=budget, kind=rules, seed=0
        )
        values = np.minimum.accumulate([smooth(x) for x in found.history[0]])
        first, low = smooth(problem.start), lowest[problem.name]
        for accuracy in ACCURACIES:
            there = np.flatnonzero(values <= low + accuracy * (first - low))
            heights.append(1.0 - (there[0] + 1) / budget if there.size else 0.0)
    return float(np.mean(heights))


def run(settings: Settings) -> dict[str, object]:
    """Three families of problems for every value of every constant."""
    cells = dict(settings.known)
    left = []
    if "references" not in cells:
        cells["references"] = references()
    wanted = {"as they are": {}} | {
        f"{key} = {value:g}": {key: value} for key, both in VALUES.items() for value in both
    }
    for label, change in wanted.items():
        if label in cells:
            continue
        if settings.over():
            left.append(label)
            continue
        smooth, noisy = (replace(KINDS[kind], **change) for kind in ("smooth", "noisy"))
        cells[label] = [
            share_there(smooth),
            area(smooth, "smooth", cells["references"]),
            area(noisy, "noisy", cells["references"]),
        ]
        print(f"   {label}: {cells[label]}", flush=True)
    rows = [[label, *cells[label]] for label in wanted if label in cells]
    return {
        "title": "constants of the trust region on held-out starts and noise",
        "bars": [],
        "tables": [
            table("One constant changed at a time",
                  ["constants", "wells: share at the optimum", "smooth: area", "noisy: area"],
                  rows),
        ],
        "cells": cells,
        "left": left,
        "notes": [
            f"Wells: the three functions of `wells` from the starts of seeds {SEEDS[0]} to "
            f"{SEEDS[-1]}. Smooth and noisy: the standard problems of at most {MOST_DIMS} "
            f"dimensions, from starts moved by 0.1 normal, noise of seed {SEEDS[0]}. None of these "
            "were looked at when a constant was chosen.",
            "One run in 30 is 0.033 of a share: differences below it say nothing.",
            *([f"not run, the time budget ended: {', '.join(left)}"] if left else []),
        ],
    }  # fmt: skip
