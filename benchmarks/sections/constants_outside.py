"""Values that looked better on the panel, on data sets that the panel does not have."""

from __future__ import annotations

from functools import partial

from benchmarks.constants.found import constants
from benchmarks.constants.panel import Case
from benchmarks.constants.trial import forked, tried
from benchmarks.problems import datasets
from benchmarks.problems.cells import Cell
from benchmarks.run import Settings, number, table
from benchmarks.sections.constants import COLUMNS, prepare, rows, summary

name = "outside"
title = "other values on data sets outside the panel"
#: Sets of all shapes, none of them in the panel with these losses.
SETS = (
    "covtype-20k", "madelon", "letter-A", "hiva", "ijcnn1", "campaign", "satimage", "internetads",
    "segment", "lasvm-reuters", "kdd99", "diabetes",
)  # fmt: skip


def _on(sets: tuple[str, ...], loss: str, penalty: str, strength: float, tol: float) -> list[Case]:
    return [Case(Cell(loss, penalty, name, strength, tol=tol)) for name in sets]


#: For each constant the values tried, and the problems.
TRIALS: dict[str, tuple[tuple[float, ...], list[Case]]] = {
    "solvers.kinked.smoothing.CENTRE_SOLVED": (
        (0.6, 0.85),
        [
            *_on(SETS, "Hinge", "L2", 1e-3, 1e-5),
            *_on(SETS, "Hinge", "L1", 1e-2, 1e-4),
            *_on(("covtype-20k", "madelon", "diabetes"), "Prbep", "L2", 1e-2, 1e-4),
        ],
    ),
    "solvers.sparse.models.blocks.PLAIN_SWEEPS": (
        (4, 5),
        _on(SETS, "Logistic", "GroupL2", 1e-3, 1e-6) + _on(SETS, "Logistic", "GroupL2", 1e-2, 1e-6),
    ),
    "solvers.sparse.proximal_newton.SPARSE_SHARE": (
        (0.5, 0.8),
        _on(SETS, "Logistic", "L1", 1e-3, 1e-6) + _on(SETS, "SquaredHinge", "L1", 1e-3, 1e-6),
    ),
    "solvers.sparse.proximal_newton.DENSE_SHARE": (
        (0.7, 0.875),
        _on(SETS, "Logistic", "L1", 1e-3, 1e-6) + _on(SETS, "SquaredHinge", "L1", 1e-3, 1e-6),
    ),
    "problem.hessian.DENSE_ENTRIES": (
        (1 << 16, 1 << 17, 1 << 20),
        [
            case
            for loss in ("PairwiseSquaredHinge", "PairwiseLogistic")
            for strength, tol in ((1e-3, 1e-6), (1e-4, 1e-9))
            for case in _on(
                ("covtype-20k", "campaign", "kdd99", "letter-A", "satimage", "waveform"),
                loss, "L2", strength, tol,
            )
        ],
    ),
}  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Every value of every constant on its problems."""
    every, cells, left = constants(), dict(settings.known), []
    for label, (values, cases) in TRIALS.items():
        if not settings.wants(label) or (
            label in cells and cells[label]["value"] == every[label].value
        ):
            continue
        if settings.over():
            left.append(label)
            continue
        ready, _ = prepare(set(), [case for case in cases if datasets.present(case.cell.data)])
        pairs = [(case, base) for case, base, _ in ready]
        summaries = []
        for value in values:
            found = forked(partial(tried, every[label], value, pairs))
            summaries.append({"value": value, "read": len(pairs), **summary(found)})
        cells[label] = {"value": every[label].value, "tried": summaries}
        for row in rows(label, every[label].value, summaries):
            print("   " + " | ".join(map(number, row)), flush=True)
    cells = {label: cells[label] for label in TRIALS if label in cells}
    lines = [row for k, c in cells.items() for row in rows(k, c["value"], c["tried"])]
    return {
        "title": title,
        "bars": [],
        "tables": [table("Outside the panel", COLUMNS, lines)],
        "notes": [
            "Columns as in `constants`; here all cases are tried, whether they read it or not.",
            "A value was changed only if the new one is better here too: `DENSE_ENTRIES` was "
            "1 << 20 when the other constants were measured in November 2026.",
        ],
        "cells": cells,
        "left": left,
    }
