"""Cost growth: seconds to a certified gap of 1e-6 of the null loss against n, d and non-zeros.

L1 logistic on the generated document-term problem, strength = max/20, the automatic solver with one
thread. Exponents are slopes of least-squares lines through the logarithms.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np

from benchmarks.competitors import auctor
from benchmarks.problems import generated
from benchmarks.problems.forms import Form
from benchmarks.run import Settings, interleave, table

name = "growth"
TITLE = "seconds to a certified gap of 1e-6 against n, d and non-zeros, l1 logistic, 1 thread"
TOL, DIVIDE = 1e-6, 20.0
#: What grows, by a factor of 64 from first to last; (rows, columns, non-zeros per row).
LADDERS = {
    "n": [(n, 10_000, 30) for n in (1_000, 4_000, 16_000, 64_000)],
    "d": [(8_000, d, 30) for d in (1_000, 4_000, 16_000, 64_000)],
    "nnz per row": [(4_000, 20_000, k) for k in (5, 20, 80, 320)],
}
QUICK = 2


def run(settings: Settings) -> dict[str, object]:
    """Time the three ladders."""
    cells: dict[str, dict] = dict(settings.known)
    left, rows = [], []
    for word, sizes in LADDERS.items():
        for size in sizes[:QUICK] if settings.quick else sizes:
            label = f"{word}={size[{'n': 0, 'd': 1}.get(word, 2)]}"
            if label in cells or not settings.wants(label):
                continue
            if settings.over():
                left.append(label)
                continue
            cells[label] = _cell(size, word) | {"ladder": word}
            print(f"   {label}: {cells[label]['wall']:.4f} s", flush=True)
    fitted = []
    for word in LADDERS:
        part = [c for c in cells.values() if c["ladder"] == word]
        for cell in part:
            rows.append([word, *cell["size"], cell["nnz"], cell["wall"], cell["cpu"],
                         cell["passes"], cell["n_iter"], cell["solver"]])  # fmt: skip
        fitted.append([word, len(part), *(_exponent(part, word, k) for k in ("wall", "passes"))])
    head = ["what grows", "n", "d", "per row", "nnz", "wall s", "CPU s", "passes", "iterations",
            "solver"]  # fmt: skip
    notes = ["The optimum changes with the size, so the exponents hold problem growth and cost "
             "growth together."]  # fmt: skip
    if left:
        notes.append(f"not run, the time budget ended: {', '.join(left)}")
    return {
        "title": TITLE,
        "bars": [],
        "tables": [
            table("Fitted exponents", ["what grows", "sizes", "wall seconds", "passes"], fitted),
            table("Sizes and seconds", head, rows),
            _local(cells),
        ],
        "notes": notes,
        "cells": cells,
        "left": left,
    }


def _cell(size: tuple[int, int, int], word: str) -> dict[str, object]:
    n, d, per_row = size
    X, y = generated.rcv1_like(n=n, d=d, per_row=per_row)
    form = Form("logistic", "l1")
    form = form.at(form.strength_max(X, y) / DIVIDE)

    def call() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return auctor.fit(X, y, form, TOL, "auto", 1)

    answer = call()
    times = interleave({"auctor": call}, 3)["auctor"].summary()
    return {
        "size": size,
        "nnz": int(X.nnz),
        "wall": times["wall"],
        "cpu": times["cpu"],
        "nonzero": int(np.count_nonzero(answer.coef)),
        **{k: answer.work[k] for k in ("passes", "n_iter", "solver", "gap", "status")},
    }


def _axis(cell: dict, word: str) -> float:
    return float({"n": cell["size"][0], "d": cell["size"][1]}.get(word, cell["nnz"]))


def _exponent(cells: list[dict], word: str, key: str = "wall") -> float | None:
    if len(cells) < 2:
        return None
    x = np.log([_axis(c, word) for c in cells])
    return float(np.polyfit(x, np.log([max(c[key], 1e-9) for c in cells]), 1)[0])


def _local(cells: dict[str, dict]) -> dict[str, object]:
    rows = []
    for word in LADDERS:
        part = [c for c in cells.values() if c["ladder"] == word]
        rows += [[word, _axis(a, word), _axis(b, word), _exponent([a, b], word)]
                 for a, b in pairwise(part)]  # fmt: skip
    return table("Local exponents", ["what grows", "from", "to", "exponent"], rows)
