"""The cells of `benchmarks.problems.cells`, solved by the default solver of one checkout."""

from __future__ import annotations

import hashlib
import statistics
from pathlib import Path

import numpy as np

from benchmarks.problems import datasets
from benchmarks.problems.cells import CELLS, GENERATED, Cell
from benchmarks.run import Settings, table
from benchmarks.snapshot import Checkout

name = "cells"
title = "about forty small problems by the default solver, one thread"
#: Turns of every checkout on a cell, after one that compiles and is not counted.
TURNS = 3
#: Coefficients, too long for a results file; the folder is not in the repository.
COEFFICIENTS = Path(__file__).resolve().parents[2] / "build" / "benchmarks"
COLUMNS = ["cell", "solver", "J", "gap", "certified", "iterations", "passes", "CPU ms"]


def wanted(settings: Settings) -> tuple[list[Cell], list[str]]:
    """The cells whose data is here, and a note for each of the others."""
    cells, notes = [], []
    for cell in CELLS:
        if not settings.wants(cell.label):
            continue
        if cell.data in GENERATED or datasets.present(cell.data):
            cells.append(cell)
        else:
            notes.append(f"skipped {cell.label}: its data is not here; set AUCTOR_DATA")
    return cells, notes


def measure(cells: list[Cell], checkouts: list[Checkout]) -> dict[str, list[dict]]:
    """Let the checkouts take turns on every cell; answers with the median of their seconds."""
    answers: dict[str, list[dict]] = {}
    for cell in cells:
        found = [checkout.solve(cell) for checkout in checkouts]
        seconds: list[list[float]] = [[] for _ in checkouts]
        for turn in range(TURNS if all("error" not in a for a in found) else 0):
            order = range(len(checkouts)) if turn % 2 == 0 else reversed(range(len(checkouts)))
            for k in order:
                seconds[k].append(checkouts[k].solve(cell)["seconds"])
        for answer, own in zip(found, seconds, strict=True):
            answer["seconds_all"] = own
            answer["seconds"] = statistics.median(own) if own else None
        answers[cell.label] = found
        words = [_words(answer) for answer in found]
        print(f"   {cell.label}: {' | '.join(words)}", flush=True)
    return answers


def _words(answer: dict) -> str:
    if "error" in answer:
        return str(answer["error"])
    return f"{answer['solver']} {1e3 * answer['seconds']:.1f} ms"


def keep(answers: dict[str, dict], stem: str) -> dict[str, dict]:
    """Write the coefficients to a file of their own; what is left has their fingerprint."""
    arrays = {label: np.array(a["coef"]) for label, a in answers.items() if "coef" in a}
    COEFFICIENTS.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(COEFFICIENTS / f"{stem}.npz", **arrays)
    cells = {}
    for label, answer in answers.items():
        cells[label] = {key: value for key, value in answer.items() if key != "coef"}
        if label in arrays:
            cells[label] |= fingerprint(arrays[label])
    return cells


def fingerprint(coef: np.ndarray) -> dict[str, object]:
    """Length, non-zeros, norm, and a hash of the digits that another run must give again."""
    digits = ",".join(f"{value:.6e}" for value in coef)
    return {
        "norm": float(np.linalg.norm(coef)),
        "non_zeros": int(np.count_nonzero(coef)),
        "digest": hashlib.sha256(digits.encode()).hexdigest()[:16],
    }


def rows(cells: dict[str, dict]) -> list[list[object]]:
    """Lines of the table."""
    lines: list[list[object]] = []
    for label, a in cells.items():
        if "error" in a:
            lines.append([label, a["error"], *[None] * (len(COLUMNS) - 2)])
        else:
            facts = [a["value"], a["gap"], a["certified"], a["iterations"], round(a["passes"], 1)]
            lines.append([label, a["solver"], f"{facts[0]:.9g}", *facts[1:], 1e3 * a["seconds"]])
    return lines


def run(settings: Settings, stem: str = name) -> dict[str, object]:
    """Measure the code that ``PYTHONPATH`` gives."""
    cells, notes = wanted(settings)
    checkout = Checkout()
    try:
        answers = {k: found[0] for k, found in measure(cells, [checkout]).items()}
    finally:
        checkout.close()
    kept = keep(answers, stem)
    return {
        "title": title,
        "bars": [],
        "tables": [table("Default solver of every cell", COLUMNS, rows(kept))],
        "notes": [
            *notes,
            f"CPU seconds from arrays to the solution (data, problem and solver are made on the "
            f"clock), median of {TURNS} turns, each the median of several solves where one is "
            "short; a first solve compiles and is not counted.",
            f"Coefficients and intercepts are in {stem}.npz of the build folder.",
        ],
        "cells": kept,
    }
