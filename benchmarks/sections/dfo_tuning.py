"""Ten tuning problems: evaluations until random search of 200 is reached."""

from __future__ import annotations

import time

import numpy as np

from auctor.core.errors import MissingExtraError
from benchmarks.competitors.search.optimisers import absent
from benchmarks.dfo.tuning import FOLDS, POOL, PROBLEMS, ROWS, Tuning, first_below
from benchmarks.run import Settings, bar, table

name = "tuning"
BUDGET = 60
#: Distance below the level that the second bar asks for, in AUC.
CLOSE = 0.001
#: Seeds of each method; the issue asks for ten, which two shared cores allow for ours only.
SEEDS = {"dfo-tr": 10, "dfo-tr random start": 3, "tpe": 3, "gp": 1, "nelder-mead": 3}


def run(settings: Settings) -> dict[str, object]:
    """All methods on the same folds, from the middle of the box or from random starts."""
    from auctor.tune.methods import METHODS

    cells = dict(settings.known)
    left = []
    for problem in PROBLEMS:
        if problem in cells or not settings.wants(problem):
            continue
        if settings.over():
            left.append(problem)
            continue
        tuning = Tuning(problem)
        begin = time.process_time()
        level = tuning.level()
        seconds = (time.process_time() - begin) / POOL
        found = {"level": -level, "dims": tuning.space.dims, "cpu_seconds": seconds, "runs": {}}
        for who, seeds in SEEDS.items():
            runs = []
            for seed in range(1 if settings.quick else seeds):
                start = np.full(tuning.space.dims, 0.5)
                if who != "dfo-tr":
                    start = np.random.default_rng(seed).random(tuning.space.dims)
                method = METHODS[who.removesuffix(" random start")]
                try:
                    values = tuning.trace(method, BUDGET, seed, start)
                except MissingExtraError:
                    break
                runs.append([first_below(values, level), first_below(values, level + CLOSE)])
            found["runs"][who] = [[None if np.isinf(x) else x for x in each] for each in runs]
        cells[problem] = found
        print(f"   {problem}: {found['runs']}", flush=True)
    return _report(cells, left)


def _numbers(cells: dict, who: str, column: int) -> np.ndarray:
    return np.array([
        np.inf if each[column] is None else each[column]
        for cell in cells.values() for each in cell["runs"][who]
    ])  # fmt: skip


def _middle(values: np.ndarray) -> float | str:
    """The median; nothing where a method is not installed."""
    return float(np.median(values)) if values.size else ""


def _report(cells: dict, left: list[str]) -> dict[str, object]:
    summary, stats = [], {}
    for who in SEEDS:
        level, close = (_numbers(cells, who, k) for k in (0, 1))
        stats[who] = (
            _middle(level), _middle(close), float(np.isfinite(level).mean()),
            float(np.isfinite(close).mean()),
        )  # fmt: skip
        summary.append([who, SEEDS[who], *stats[who]])
    each = [
        [problem, cell["dims"], cell["level"], 1e3 * cell["cpu_seconds"],
         *(_middle(_numbers({problem: cell}, who, 0)) for who in SEEDS)]
        for problem, cell in cells.items()
    ]  # fmt: skip
    ours = stats["dfo-tr"]
    return {
        "title": "ten tuning problems of 2 to 4 parameters, cross-validated AUC",
        "bars": [
            bar("median evaluations to the level", ours[0], 25, at_least=False),
            bar("median evaluations to .001 below it", ours[1], 15, at_least=False),
            bar("share of runs at the level within 60", ours[2], 0.95),
        ],
        "tables": [
            table("All problems", ["method", "seeds", "median to the level", "median to .001 below",
                                   "share at the level", "share at .001 below"], summary),
            table("Median evaluations to the level", ["problem", "parameters", "level (AUC)",
                                                      "CPU ms per evaluation", *SEEDS], each),
        ],
        "cells": cells,
        "left": left,
        "notes": [
            f"Reduced to end in minutes on two shared cores: {ROWS} rows of each set, {FOLDS} "
            f"folds, a pool of {POOL} random points for the level (the median over 2,000 resamples "
            "of the best of 200), and fewer seeds than the issue's ten for the other methods.",
            "Tried against the runs that stay below the level, and left out: a starting design of "
            "2d points (slower to the level, the same share), restarts near the best points seen "
            "(helps weighted svm svmguide3, loses elastic net australian), and ending runs whose "
            "values stay farther behind the best than they vary (loses Hartmann-6).",
            "dfo-tr starts in the middle of the box, so that its seeds differ only after the "
            "first restart; 'random start' begins anywhere. Every evaluation has all folds.",
            "An empty cell: the method was not installed (the Gaussian process needs torch).",
            *([f"not run, the time budget ended: {', '.join(left)}"] if left else []),
            absent(),
        ],
    }  # fmt: skip
