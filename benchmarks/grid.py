"""A section made of raced cells: order, budget, resuming, tables, bars, notes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks import verdicts
from benchmarks.lanes import Memory, Task, lanes_of
from benchmarks.problems import datasets
from benchmarks.problems.forms import Form
from benchmarks.race import accuracy_name, ladder_record, race, reference, summary
from benchmarks.run import Neighbours, Settings, number
from benchmarks.verdicts import Cell


@dataclass(frozen=True)
class Spec:
    """One cell: a data set, a form, and how its strength follows from the data."""

    label: str
    data: str
    form: Form
    #: strength = strength_max / divide, or 1 / (n C).
    divide: float | None = None
    C: float | None = None
    #: Geometric path of this many strengths from the top to top / divide.
    points: int | None = None
    #: Rank in a first pass over everything; 0 comes first.
    rank: int = 0
    quick: bool = False

    def task(self, data: datasets.DataSet) -> Task:
        """The problem itself."""
        if self.C is not None:
            return Task(data, self.form.at(1.0 / (data.n_rows * self.C)))
        top = self.form.strength_max(data.X, data.y)
        if self.points is None:
            return Task(data, self.form.at(top / self.divide))
        strengths = np.geomspace(top, top / self.divide, self.points)
        return Task(data, self.form.at(strengths[-1]), [float(s) for s in strengths])


@dataclass(frozen=True)
class Grid:
    """What a section races and asks for."""

    title: str
    specs: list[Spec]
    accuracies: tuple[float, ...] = (1e-4, 1e-6)
    limit: float = 1 / 1.1
    mean_limit: float | None = 1.5
    stems: tuple[str, ...] | None = None
    repeats: int = 3


def run_grid(grid: Grid, settings: Settings) -> dict[str, object]:
    """Race the wanted cells that are not known yet, until the deadline."""
    specs = [s for s in grid.specs if settings.wants(s.label) and (s.quick or not settings.quick)]
    if settings.budget:
        specs = sorted(specs, key=lambda s: s.rank)
    cells: dict[str, Cell] = {k: c for k, c in settings.known.items() if "results" in c}
    memory, notes, left = Memory(), [], []
    for spec in specs:
        if spec.label in cells:
            continue
        if settings.over():
            left.append(spec.label)
            continue
        try:
            data = datasets.load(spec.data)
        except datasets.MissingDataSet as error:
            notes.append(f"skipped {spec.label}: {error}")
            continue
        cells[spec.label] = run_cell(spec.task(data), grid, settings, memory)
        print(f"   {spec.label}: {_line(cells[spec.label])}", flush=True)
    order = {s.label: k for k, s in enumerate(grid.specs)}
    cells = dict(sorted(cells.items(), key=lambda pair: order.get(pair[0], len(order))))
    if left:
        notes.append(f"not run, the time budget ended: {', '.join(left)}")
    return {**report(grid, cells), "notes": [*notes, *_notes(cells)], "cells": cells, "left": left}


def run_cell(task: Task, grid: Grid, settings: Settings, memory: Memory) -> Cell:
    """Reference, climbs, repeats."""
    others, start = Neighbours(), time.perf_counter()
    lanes, skipped = lanes_of(task, grid.stems)
    best, bound = reference(task, lanes, min(grid.accuracies))
    first = best.copy()
    best = race(
        task, lanes, list(grid.accuracies), best, memory=memory, repeats=grid.repeats,
        refine=not settings.quick,
    )  # fmt: skip
    return {
        "data": task.data.facts(),
        "strength": task.form.strength,
        "best": [float(b) for b in best] if task.strengths else float(best[0]),
        "best_relative_error_at_most": bound + float((first / best - 1.0).max()),
        "cores_used_by_others": others.cores(),
        "seconds": round(time.perf_counter() - start, 1),
        "results": {accuracy_name(eps): summary(lanes, eps) for eps in grid.accuracies},
        "ladders": [ladder_record(lane, best) for lane in lanes],
        "skipped": skipped,
    }


def report(grid: Grid, cells: dict[str, Cell]) -> dict[str, object]:
    """Title, bars and tables."""
    names = [accuracy_name(eps) for eps in grid.accuracies]
    tables = []
    for eps in names:
        tables.append(verdicts.ratio_table(cells, eps, grid.limit))
        tables.append(verdicts.mean_table(cells, eps))
        tables += [verdicts.seconds_table(cells, eps, m) for m in verdicts.MEASURES]
    tables += [verdicts.work_table(cells, eps) for eps in names]
    bars = verdicts.bars(cells, names, grid.limit, grid.mean_limit)
    return {"title": grid.title, "bars": bars, "tables": tables}


def _line(cell: Cell) -> str:
    parts = []
    for eps, results in cell["results"].items():
        times = sorted((r["wall"], g) for g, r in results.items() if "wall" in r)
        ours = [f"{g} {number(t)}" for t, g in times if g.startswith(verdicts.US)]
        rivals = [f"{g} {number(t)}" for t, g in times if not g.startswith(verdicts.US)]
        parts.append(f"{eps}: {', '.join(ours) or 'auctor did not get there'} | "
                     f"{', '.join(rivals[:3])}")  # fmt: skip
    return "; ".join(parts)


def _notes(cells: dict[str, Cell]) -> list[str]:
    notes = [
        "Seconds at the loosest tolerance of a half-decade ladder that reaches the accuracy by the "
        "independent objective (decades with --quick). Every competitor has a process of its own "
        "with its threads limited; the close ones and auctor are timed in interleaved repeats "
        "(median), the others once and at a tolerance that may be a decade too tight. Conversion "
        "to a layout is on nobody's clock, auctor's own data object on auctor's.",
        "Wall with 2 threads: auctor with two against the best of one or two. '> t': over its cap "
        "of t seconds (5 times the best so far, from 0.5 to 8 s); 'too slow': already so at an "
        "easier strength of the same set; 'failed': see the reasons below.",
    ]
    errors = {k: c["best_relative_error_at_most"] for k, c in cells.items()}
    if errors:
        worst = max(errors, key=errors.get)
        notes.append(f"J* is certified to relative {errors[worst]:.1e} or better ({worst} worst).")
        open_ = [f"{k} ({e:.0e})" for k, e in errors.items() if e > 1e-6]
        if open_:
            notes.append(f"J* known to worse than 1e-6, least value seen used: {', '.join(open_)}")
    reasons = {(s, r) for c in cells.values() for s, r in c["skipped"].items()}
    for cell in cells.values():
        for results in cell["results"].values():
            reasons |= {(g, r["failure"]) for g, r in results.items() if "failure" in r}
    notes += [f"{who} skipped somewhere: {why}" for who, why in sorted(reasons)]
    return notes
