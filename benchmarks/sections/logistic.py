"""L2 logistic regression without intercept: seconds to relative suboptimality 1e-6."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product

from benchmarks import competitors
from benchmarks.competitors import Competitor, sklearn_newton_cg
from benchmarks.ladder import Entry, Task, entries_of, race, tolerances
from benchmarks.problems import datasets
from benchmarks.problems.objectives import l2_logistic, l2_logistic_bound
from benchmarks.run import Neighbours, Settings, bar, geometric_mean, number, table

name = "logistic"
SETS = ("a9a", "a9a-standardised", "w8a", "ijcnn1", "news20", "rcv1-like", "dense100k")
CS = (1.0, 100.0)
EPS = 1e-6
US = "auctor"

Cell = dict[str, object]


def run(settings: Settings) -> dict[str, object]:
    """Race everyone on every set and strength."""
    solvers = competitors.discover("logistic")
    names = [s.name for s in solvers]
    cells: dict[str, Cell] = {}
    notes = []
    for set_name, C in product(SETS, CS):
        label = f"{set_name}/C={C:g}"
        if not settings.wants(label) or (settings.quick and C != 1.0):
            continue
        try:
            data = datasets.load(set_name)
        except datasets.MissingDataSet as error:
            notes.append(f"skipped {label}: {error}")
            continue
        cells[label] = _cell(data, C, solvers, settings)
        print(f"   {label}: {_line(cells[label])}", flush=True)
    notes += _notes(cells)
    return {
        "title": f"l2 logistic, no intercept, to relative suboptimality {EPS:g}",
        "bars": _bars(cells, names),
        "tables": [
            _seconds(cells, names, "wall"),
            _seconds(cells, names, "cpu"),
            _ratios(cells, names),
            _work(cells),
        ],
        "notes": notes,
        "cells": cells,
    }


def _cell(data: datasets.DataSet, C: float, solvers: list[Competitor], settings: Settings) -> Cell:
    strength = 1.0 / (data.n_rows * C)
    judge = partial(_judge, data, strength)
    task = Task(data, strength, judge)
    form = "dense" if "dense" in task.layouts else "csr"
    tight = sklearn_newton_cg.fit(task.layouts[form], data.y, strength, 1e-11, False)
    reference = judge(tight.coef)
    bound = l2_logistic_bound(data.X, data.y, tight.coef, strength)
    entries, skipped = entries_of(task, solvers)
    others = Neighbours()
    ladder = tolerances(1 if settings.quick else 2)
    repeats = 3 if settings.quick else 7
    best = race(task, entries, reference, eps=EPS, ladder=ladder, repeats=repeats)
    return {
        "data": data.facts(),
        "strength": strength,
        "best": best,
        "cores_used_by_others": others.cores(),
        "best_relative_error_at_most": (bound + reference - best) / best,
        "entries": [entry.record(best) for entry in entries],
        "chosen": _chosen(entries, best),
        "skipped": skipped,
    }


def _judge(data: datasets.DataSet, strength: float, w: object) -> float:
    return l2_logistic(data.X, data.y, w, strength)


def _chosen(entries: list[Entry], best: float) -> dict[str, dict[str, object]]:
    """The faster layout of every solver."""
    chosen: dict[str, dict[str, object]] = {}
    for entry in entries:
        record = entry.record(best)
        known = chosen.get(entry.solver.name)
        if record["wall"] is not None and (known is None or record["wall"] < known["wall"]):
            keep = ("layout", "tol", "wall", "cpu", "work")
            chosen[entry.solver.name] = {key: record[key] for key in keep}
    return chosen


def _line(cell: Cell) -> str:
    parts = [
        f"{k} {v['wall']:.4f} s ({v['layout']}, tol {v['tol']:.0e})"
        for k, v in cell["chosen"].items()
    ]
    return "; ".join(parts)


def _best_other(cell: Cell, key: str) -> tuple[str, float] | None:
    others = [(v[key], k) for k, v in cell["chosen"].items() if k != US]
    return (min(others)[1], min(others)[0]) if others else None


def _ratio(cell: Cell, other: str, key: str = "wall") -> float | None:
    chosen = cell["chosen"]
    return chosen[other][key] / chosen[US][key] if other in chosen and US in chosen else None


def _seconds(cells: dict[str, Cell], names: list[str], key: str) -> dict[str, object]:
    rows = []
    for label, cell in cells.items():
        chosen, skipped = cell["chosen"], cell["skipped"]
        row: list[object] = [label]
        for solver in names:
            if solver in chosen:
                row.append(f"{number(chosen[solver][key])} ({chosen[solver]['layout']})")
            else:
                row.append("skipped" if solver in skipped else "not reached")
        rows.append(row)
    words = {"wall": "Wall", "cpu": "CPU"}[key]
    return table(f"{words} seconds, median, each solver's faster layout", ["set", *names], rows)


def _ratios(cells: dict[str, Cell], names: list[str]) -> dict[str, object]:
    others = [n for n in names if n != US]
    rows = []
    for label, cell in cells.items():
        best = _best_other(cell, "wall")
        cpu = _best_other(cell, "cpu")
        rows.append(
            [
                label,
                cell["cores_used_by_others"],
                best[0] if best else None,
                _ratio(cell, best[0]) if best else None,
                _ratio(cell, cpu[0], "cpu") if cpu else None,
                *(_ratio(cell, n) for n in others),
            ]
        )
    means: list[object] = ["geometric mean", "", ""]
    columns = list(zip(*[row[3:] for row in rows], strict=True)) if rows else []
    means[3:] = [_mean(column) for column in columns]
    title = f"Seconds of the competitor / seconds of {US} (above 1: {US} is faster)"
    head = ["set", "busy neighbours", "best competitor", "best, wall", "best, CPU", *others]
    return table(title, head, [*rows, means] if rows else rows)


def _mean(ratios: Iterable[float | None]) -> float | None:
    known = [r for r in ratios if r]
    return geometric_mean(known) if known else None


def _work(cells: dict[str, Cell]) -> dict[str, object]:
    rows = []
    for label, cell in cells.items():
        for solver, record in cell["chosen"].items():
            work = ", ".join(f"{k} {number(v)}" for k, v in record["work"].items())
            rows.append([label, solver, record["layout"], record["tol"], work])
    return table(
        "Tolerance and work behind the seconds", ["set", "solver", "layout", "tol", "work"], rows
    )


def _bars(cells: dict[str, Cell], names: list[str]) -> list[dict[str, object]]:
    bars = []
    for label, cell in cells.items():
        best = _best_other(cell, "wall")
        ratio = _ratio(cell, best[0]) if best else None
        bars.append(bar(f"best competitor / auctor on {label}", ratio, 1.0))
    for other in (n for n in names if n != US):
        ratios = [_ratio(c, other) for c in cells.values()]
        bars.append(bar(f"geometric mean, {other} / auctor", _mean(ratios), 1.0))
    return bars


def _notes(cells: dict[str, Cell]) -> list[str]:
    notes = [
        "Loosest tolerance of a geometric ladder (half decades; decades with --quick) that "
        "reaches the accuracy by the independent objective; repeats interleaved; "
        "conversion to a layout on nobody's clock, auctor's own data object on auctor's.",
    ]
    errors = [c["best_relative_error_at_most"] for c in cells.values()]
    if errors:
        worst = max(2.2e-16, *errors)
        notes.append(f"J* is certified to relative {worst:.1e} or better on every set.")
    reasons = {(s, r) for c in cells.values() for s, r in c["skipped"].items()}
    reasons |= {
        (e["solver"], e["failure"]) for c in cells.values() for e in c["entries"] if e["failure"]
    }
    notes += [f"{solver} skipped somewhere: {reason}" for solver, reason in sorted(reasons)]
    return notes
