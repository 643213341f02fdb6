"""``auctor train table.csv --metric M``, nothing else set, against tuned logistic regression."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems import datasets, tables
from benchmarks.run import Settings, bar, geometric_mean, table
from benchmarks.sections.defaults_reference import METRICS, Measure, Reference
from benchmarks.sections.defaults_worker import TINY, Worker

name = "defaults"
#: CPU seconds that a run may take; after them there is no model. About ten times what the bar
#: allows on the larger tables.
CAP = 20.0
#: Draws of the bootstrap over the test rows.
DRAWS = 100
#: The bar: times the CPU seconds of reading and a single logistic fit, beside the start-up.
TIMES = 10.0


def run(settings: Settings) -> dict[str, object]:
    """Every table, every metric."""
    wanted = [t for t in tables.TABLES if settings.wants(t)][: 2 if settings.quick else None]
    cells: dict[str, dict[str, Any]] = dict(settings.known)
    notes: list[str] = []
    worker = Worker()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            for stem in wanted:
                if stem in cells:
                    continue
                if settings.over():
                    notes.append(f"not run, the time budget ended: {stem}")
                    continue
                try:
                    cells[stem] = _one_table(tables.make(stem), worker, folder)
                except datasets.MissingDataSet as error:
                    notes.append(str(error))
        finally:
            worker.close()
    return {
        "title": f"{len(cells)} raw CSV files, defaults only, {CAP:g} CPU seconds at most a run",
        "bars": _bars(cells),
        "tables": [_summary(cells), *(_values(metric, cells) for metric in METRICS)],
        "cells": cells,
        "left": len([t for t in wanted if t not in cells]),
        "notes": [*notes, *_dates(cells), *NOTES],
    }


NOTES = (
    "ours: `auctor train train.csv --test test.csv --label L --metric M`; reference: "
    "scikit-learn's LogisticRegression on median-imputed, scaled numbers and one-hot text, C of 8 "
    "chosen by the metric on 5 inner folds, the cut for f1 and cost on out-of-fold scores",
    f"tables of at most {tables.ROWS:,} rows, {tables.TEST:.0%} of them tested on; the rarer class "
    "is the positive one of every value here, whatever the model took",
    "a run without a model (refused, or out of time) counts as below, and as a score of the worst "
    "constant: chance by the metric",
    f"standard error: of the reference's value, over {DRAWS} bootstrap draws of the test rows; "
    "'paired' beside it is that of the difference, which is smaller and by which some tables fall "
    "below by chance",
    "CPU: of a run in a process that has trained before, less that of a table of "
    f"{TINY} rows there, over reading and one logistic fit by scikit-learn; start-up: what the "
    "first run of such a table takes, imports and loading of compiled code included; what the tiny "
    "table costs is measured once a metric, so that on a busy machine a run may cost less than it: "
    "that counts as 0, in the geometric mean as 0.01, and such means are too small",
)


# --- measuring ------------------------------------------------------------------------------------


def _one_table(made: tables.Table, worker: Worker, folder: Path) -> dict[str, Any]:
    print(f"   {made.name}", flush=True)
    train, test = folder / "train.csv", folder / "test.csv"
    fit, held = made.split()
    made.write(train, fit)
    made.write(test, held)
    reference = Reference(train, test, made.label, made.rare)
    found: dict[str, Any] = {
        "measured": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "rows": len(made.rows),
        "columns": len(made.columns),
        "positives": int((made.labels == made.rare).sum()),
        "single": reference.single,
        "reference_cpu": reference.tuning,
        "metrics": {},
    }
    for metric, spec in METRICS.items():
        asked = {"train": str(train), "test": str(test), "label": made.label, "rare": made.rare,
                 "metric": metric, "folder": str(folder), "cap": CAP}  # fmt: skip
        first, again = worker.start_up(metric, folder)
        answer = worker.ask(asked) or {"error": f"no model in {CAP:g} CPU seconds", "cpu": CAP}
        base = reference.scores(spec)
        ended = answer["cpu"] >= CAP
        cell = {"start_up": first, "cpu": CAP if ended else max(0.0, answer["cpu"] - again)} | {
            key: answer.get(key)
            for key in ("error", "rare_is_positive", "strength", "on_edge", "edge_told")
        }
        scores = answer.get("scores")
        ours = np.array(scores) if scores is not None else np.zeros(len(held))
        cell |= _judged(spec.measure, reference.truth, ours, base)
        found["metrics"][metric] = cell
        print(f"      {metric}: {cell['ours']:.4f} against {cell['reference']:.4f}, "
              f"{cell['cpu']:.2f} s ({cell['cpu'] / found['single']:.1f} fits) "
              f"{cell['error'] or ''}", flush=True)  # fmt: skip
    return found


def _judged(
    measure: Measure, truth: np.ndarray, ours: np.ndarray, base: np.ndarray
) -> dict[str, float]:
    """Both values with the standard errors of the reference's and of the difference."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(truth), np.flatnonzero(~truth)]
    draws = []
    for _ in range(DRAWS):
        keep = np.concatenate([rng.choice(of, of.size) for of in classes])
        draws.append([measure(truth[keep], scores[keep]) for scores in (ours, base)])
    mine, theirs = np.array(draws).T
    return {
        "ours": measure(truth, ours),
        "reference": measure(truth, base),
        "error_of_value": float(theirs.std(ddof=1)),
        "error_of_difference": float((mine - theirs).std(ddof=1)),
    }


def _dates(cells: dict[str, dict[str, Any]]) -> list[str]:
    """When each table was measured: parts of a run may be of different versions."""
    return [f"{stem}: measured {cell['measured']}" for stem, cell in cells.items()]


# --- report ---------------------------------------------------------------------------------------


def _below(cell: dict[str, Any], by: str) -> bool:
    return bool(cell["ours"] < cell["reference"] - cell[by] or cell["error"])


def _of(metric: str, cells: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {stem: cell["metrics"][metric] for stem, cell in cells.items()}


def _fits(cells: dict[str, dict[str, Any]], metric: str) -> list[float]:
    """CPU seconds of every table over those of its single logistic fit."""
    return [cell["metrics"][metric]["cpu"] / cell["single"] for cell in cells.values()]


def _summary(cells: dict[str, dict[str, Any]]) -> dict[str, object]:
    head = ["metric", "mean, ours", "mean, reference", "tables below by a standard error",
            "below by a paired one", "CPU / single fit, geometric mean", "worst", "start-up s",
            "rare class positive", "on a grid's edge", "of these told", "no model"]  # fmt: skip
    rows: list[list[object]] = []
    for metric in METRICS if cells else ():
        found = list(_of(metric, cells).values())
        fits = _fits(cells, metric)
        rows.append([
            metric,
            f"{np.mean([c['ours'] for c in found]):.4f}",
            f"{np.mean([c['reference'] for c in found]):.4f}",
            sum(_below(c, "error_of_value") for c in found),
            sum(_below(c, "error_of_difference") for c in found),
            geometric_mean([max(f, 0.01) for f in fits]),
            max(fits),
            max(c["start_up"] for c in found),
            f"{sum(bool(c['rare_is_positive']) for c in found)} of "
            f"{sum(c['rare_is_positive'] is not None for c in found)}",
            sum(bool(c["on_edge"]) for c in found),
            sum(bool(c["on_edge"] and c["edge_told"]) for c in found),
            sum(bool(c["error"]) for c in found),
        ])  # fmt: skip
    return table(f"Over {len(cells)} tables", head, rows)


def _bars(cells: dict[str, dict[str, Any]]) -> list[dict[str, object]]:
    bars = []
    for metric in METRICS if cells else ():
        found = list(_of(metric, cells).values())
        gain = float(np.mean([c["ours"] - c["reference"] for c in found]))
        bars.append(bar(f"{metric}: mean over tables, ours minus reference", gain, 0.0))
        below = sum(_below(c, "error_of_value") for c in found)
        text = f"{metric}: tables more than one standard error below"
        bars.append(bar(text, below, 0, at_least=False))
        worst = max(_fits(cells, metric))
        text = f"{metric}: CPU beside start-up over a single logistic fit, worst table"
        bars.append(bar(text, worst, TIMES, at_least=False))
    every = [c for metric in METRICS for c in _of(metric, cells).values()] if cells else []
    wrong = sum(c["rare_is_positive"] is False for c in every)
    bars.append(bar("runs in which the rare class is not positive", wrong, 0, at_least=False))
    silent = sum(bool(c["on_edge"] and not c["edge_told"]) for c in every)
    bars.append(bar("runs that end on a grid's edge and do not say so", silent, 0, at_least=False))
    return bars


def _values(metric: str, cells: dict[str, dict[str, Any]]) -> dict[str, object]:
    head = ["table (positives/rows)", "ours", "reference", "standard error", "below", "CPU s",
            "single fit s", "rare positive", "edge", "no model because"]  # fmt: skip
    rows: list[list[object]] = [
        [
            f"{stem} ({cells[stem]['positives']}/{cells[stem]['rows']})",
            f"{c['ours']:.4f}",
            f"{c['reference']:.4f}",
            f"{c['error_of_value']:.4f}",
            "yes" if _below(c, "error_of_value") else "",
            c["cpu"],
            cells[stem]["single"],
            c["rare_is_positive"],
            "" if not c["on_edge"] else "told" if c["edge_told"] else "silent",
            c["error"] or "",
        ]
        for stem, c in _of(metric, cells).items()
    ]
    return table(metric, head, rows)
