"""``auctor train table.csv --metric M``, nothing else set, against tuned usual models."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems import datasets, tables
from benchmarks.run import Settings, bar, table
from benchmarks.sections.defaults_reference import METHODS, METRICS, Measure, Reference
from benchmarks.sections.defaults_worker import TINY, Worker

name = "defaults"
#: CPU seconds that a run may take; after them there is no model.
CAP = 60.0
#: Rows of a table, at most, those to test on included.
ROWS = 10_000
#: Rows of a table, at least, whose CPU seconds are judged.
TIMED = 1_000
#: Draws of the bootstrap over the test rows.
DRAWS = 100
#: The metric of the runs that write a report.
REPORTED = "auc"


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
    made = summary(cells)
    left = len([t for t in wanted if t not in cells])
    return made | {"left": left, "notes": [*notes, *made["notes"]]}


NOTES = (
    "ours: `auctor train train.csv --test test.csv --label L --metric M`, for AUC with a report; "
    "logistic: scikit-learn's LogisticRegression on median-imputed, scaled numbers and one-hot "
    "text, C of 8 chosen by the metric on 5 inner folds; trees: LightGBM, categories as "
    "categories, six settings chosen by the metric on 3 inner folds; the cut of both for F1 on "
    "out-of-fold scores",
    f"tables of at most {ROWS:,} rows, {tables.TEST:.0%} of them tested on, one split; the rarer "
    "class is the positive one of every value here, whatever the model took",
    "a run without a model (refused, or out of time) counts as below, and as a score of the worst "
    "constant: chance by the metric",
    f"standard error: of the logistic value, over {DRAWS} bootstrap draws of the test rows",
    "CPU: of a run in a process that has trained before, its report and baselines included; "
    f"start-up: what the first run of a table of {TINY} rows takes, imports and loading of "
    "compiled code included",
)


# --- measuring ------------------------------------------------------------------------------------


def _one_table(made: tables.Table, worker: Worker, folder: Path) -> dict[str, Any]:
    print(f"   {made.name}", flush=True)
    train, test = folder / "train.csv", folder / "test.csv"
    rng, n = np.random.default_rng(0), len(made.rows)
    kept = np.zeros(n, dtype=bool)
    kept[rng.permutation(n)[:ROWS]] = True
    fit, held = (part[kept[part]] for part in made.split())
    made.write(train, fit)
    made.write(test, held)
    paths = (train, test, made.label, made.rare)
    references = {method: Reference(method, *paths) for method in METHODS}
    truth = references["logistic"].truth
    found: dict[str, Any] = {
        "measured": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "rows": int(kept.sum()),
        "columns": len(made.columns),
        "positives": int((made.labels[kept] == made.rare).sum()),
        "metrics": {},
    }
    for metric, spec in METRICS.items():
        asked = {"train": str(train), "test": str(test), "label": made.label, "rare": made.rare,
                 "metric": metric, "folder": str(folder), "cap": CAP,
                 "report": metric == REPORTED}  # fmt: skip
        first, _ = worker.start_up(metric, folder)
        answer = worker.ask(asked) or {"error": f"no model in {CAP:g} CPU seconds", "cpu": CAP}
        cell = {"start_up": first} | {
            key: answer.get(key) for key in ("cpu", "error", "rare_is_positive", "kind")
        }
        scores = np.array(answer.get("scores", [0.0] * len(held)))
        cell["ours"] = spec.measure(truth, scores)
        base = references["logistic"].scores(spec)
        cell["logistic"] = spec.measure(truth, base)
        cell["trees"] = spec.measure(truth, references["trees"].scores(spec))
        cell["error_of_value"] = _error(spec.measure, truth, base)
        found["metrics"][metric] = cell
        print(f"      {metric}: {cell['ours']:.4f}, logistic {cell['logistic']:.4f}, trees "
              f"{cell['trees']:.4f}, {cell['cpu']:.2f} s, {cell['kind']} {cell['error'] or ''}",
              flush=True)  # fmt: skip
    return found


def _error(measure: Measure, truth: np.ndarray, scores: np.ndarray) -> float:
    """The standard error of a value over draws of the test rows, class by class."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(truth), np.flatnonzero(~truth)]
    draws = []
    for _ in range(DRAWS):
        keep = np.concatenate([rng.choice(of, of.size) for of in classes])
        draws.append(measure(truth[keep], scores[keep]))
    return float(np.std(draws, ddof=1))


# --- report ---------------------------------------------------------------------------------------


def summary(cells: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What is shown of the cells, by table."""
    cells = {stem: cells[stem] for stem in tables.TABLES if stem in cells}
    dates = [f"{stem}: measured {cell['measured']}" for stem, cell in cells.items()]
    return {
        "title": f"{len(cells)} raw CSV files, defaults only, {CAP:g} CPU seconds at most a run",
        "bars": _bars(cells),
        "tables": [_overview(cells), *(_values(metric, cells) for metric in METRICS)],
        "cells": cells,
        "notes": [*NOTES, *dates],
    }


def _below(cell: dict[str, Any]) -> bool:
    return bool(cell["ours"] < cell["logistic"] - cell["error_of_value"] or cell["error"])


def _of(metric: str, cells: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {stem: cell["metrics"][metric] for stem, cell in cells.items()}


def _overview(cells: dict[str, dict[str, Any]]) -> dict[str, object]:
    head = ["metric", "mean, ours", "mean, logistic", "mean, trees", "tables below logistic by a "
            "standard error", "CPU s, median", "CPU s, worst", "start-up s", "kinds"]  # fmt: skip
    rows: list[list[object]] = []
    for metric in METRICS if cells else ():
        found = list(_of(metric, cells).values())
        kinds = Counter(str(c["kind"]) for c in found)
        rows.append([
            metric,
            *(f"{np.mean([c[who] for c in found]):.4f}" for who in ("ours", "logistic", "trees")),
            sum(map(_below, found)),
            float(np.median([c["cpu"] for c in found])),
            max(c["cpu"] for c in found),
            max(c["start_up"] for c in found),
            ", ".join(f"{kind} {count}" for kind, count in kinds.most_common()),
        ])  # fmt: skip
    return table(f"Over {len(cells)} tables", head, rows)


def _bars(cells: dict[str, dict[str, Any]]) -> list[dict[str, object]]:
    bars = []
    for metric in METRICS if cells else ():
        found = list(_of(metric, cells).values())
        for other, least in (("logistic", 0.01), ("trees", -0.006)):
            gain = float(np.mean([c["ours"] - c[other] for c in found]))
            bars.append(bar(f"{metric}: mean over tables, ours minus {other}", gain, least))
        text = f"{metric}: tables more than one standard error below logistic"
        bars.append(bar(text, sum(map(_below, found)), 0, at_least=False))
    every = [c for metric in METRICS for c in _of(metric, cells).values()] if cells else []
    wrong = sum(c["rare_is_positive"] is False for c in every)
    bars.append(bar("runs in which the rare class is not positive", wrong, 0, at_least=False))
    timed = [c["metrics"][REPORTED]["cpu"] for c in cells.values() if c["rows"] >= TIMED]
    if timed:
        text = f"CPU seconds with report, {TIMED:,} to {ROWS:,} rows"
        bars.append(bar(f"{text}, median", float(np.median(timed)), 10.0, at_least=False))
        bars.append(bar(f"{text}, worst", max(timed), 30.0, at_least=False))
    return bars


def _values(metric: str, cells: dict[str, dict[str, Any]]) -> dict[str, object]:
    head = ["table (positives/rows)", "ours", "logistic", "trees", "standard error", "below",
            "kind", "CPU s", "rare positive", "no model because"]  # fmt: skip
    rows: list[list[object]] = [
        [
            f"{stem} ({cells[stem]['positives']}/{cells[stem]['rows']})",
            *(f"{c[key]:.4f}" for key in ("ours", "logistic", "trees", "error_of_value")),
            "yes" if _below(c) else "",
            c["kind"],
            c["cpu"],
            c["rare_is_positive"],
            c["error"] or "",
        ]
        for stem, c in _of(metric, cells).items()
    ]
    return table(metric, head, rows)
