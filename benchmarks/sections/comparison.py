"""The cells of ``quick`` with two checkouts that take turns: same answers, how many seconds."""

from __future__ import annotations

import numpy as np

from benchmarks.run import Settings, bar, geometric_mean, table
from benchmarks.sections.cells import TURNS, keep, measure, wanted
from benchmarks.snapshot import Checkout

name = "comparison"
title = "the code before the redesign and the code as it is, in turns on every cell"
#: Largest difference of two coefficient vectors, relative to the longer, that counts as none.
SAME = 1e-8
#: Largest relative difference of two objectives where no gap is certified.
VALUE = 1e-6
#: Bars on the seconds after over the seconds before: geometric mean, and any cell.
MEAN_RATIO = 1.1
WORST_RATIO = 1.5
#: Cells whose heuristic was deleted, with the reason: they may take longer than the last bar, and
#: are counted apart.
REASONS = {
    "PairwiseSquaredHinge+ElasticNet:text:0.001": (
        "the condition of `wide_pairs` on a ridge was deleted, which chose Lhac for elastic nets: "
        "it is faster than SubspaceNewton on this set and slower on others, 1.05 in the geometric "
        "mean over seven sets"
    ),
    "Logistic+L1:leukemia:0.01": (
        "the line_model of ProximalNewton, which solved small problems in one compiled call, was "
        "deleted on purpose. It took 223 lines and gained a factor of 1.14 in the geometric mean "
        "over five sets. Nearly all of that was on colon-cancer, which like leukemia has few rows "
        "and thousands of columns, and is solved in milliseconds either way"
    ),
}
COLUMNS = [
    "cell", "solver before", "solver after", "J before", "J after", "gap before", "gap after",
    "coefficients differ by", "same answer", "CPU ms before", "CPU ms after", "ratio",
]  # fmt: skip


def difference(before: dict, after: dict) -> float:
    """Distance of the coefficients, relative to their length."""
    one, two = (np.array(answer["coef"]) for answer in (before, after))
    scale = max(np.linalg.norm(one), np.linalg.norm(two), 1e-300)
    return float(np.linalg.norm(one - two) / scale)


def agree(before: dict, after: dict) -> bool:
    """Whether the coefficients are equal, or the objectives within what the gaps allow."""
    if difference(before, after) <= SAME:
        return True
    apart = abs(before["value"] - after["value"])
    if before["certified"] and after["certified"]:
        # Each lies above the same minimum by at most its gap.
        rounding = 1e-12 * max(1.0, abs(before["value"]))
        return apart <= max(before["gap"], after["gap"]) + rounding
    return apart <= VALUE * max(abs(before["value"]), abs(after["value"]))


def line(label: str, before: dict, after: dict) -> list[object]:
    """One line of the table; an error is said in place of the solver."""
    if "error" in before or "error" in after:
        words = [answer.get("error", answer.get("solver")) for answer in (before, after)]
        return [label, *words, *[None] * 5, False, None, None, None]
    ratio = after["seconds"] / before["seconds"]
    return [
        label, before["solver"], after["solver"],
        f"{before['value']:.9g}", f"{after['value']:.9g}", before["gap"], after["gap"],
        difference(before, after), agree(before, after),
        1e3 * before["seconds"], 1e3 * after["seconds"], ratio,
    ]  # fmt: skip


def worst(lines: list[list[object]]) -> dict[str, object]:
    """The last bar: the slowest cell; those of deleted heuristics are shown apart."""
    ratios = {row[0]: row[-1] for row in lines if row[-1] is not None}
    apart = [f"{ratio:.2f}" for label, ratio in ratios.items() if label in REASONS]
    text = "seconds after / before, worst cell"
    if apart:
        text += f" (apart, their heuristic was deleted with its reason below: {', '.join(apart)})"
    counted = [ratio for label, ratio in ratios.items() if label not in REASONS]
    return bar(text, max(counted, default=None), WORST_RATIO, at_least=False)


def slower(lines: list[list[object]]) -> list[str]:
    """A note for every cell beyond the last bar: the reason, if one is known."""
    found = {row[0]: row[-1] for row in lines if row[-1] is not None and row[-1] > WORST_RATIO}
    return [
        f"{label} takes {ratio:.2f} times as long: {REASONS.get(label, 'no reason is known')}."
        for label, ratio in found.items()
    ]


def run(settings: Settings) -> dict[str, object]:
    """Solve every cell in turns."""
    if settings.before is None:
        raise SystemExit("comparison needs another checkout; pass --before PATH-OF-ITS-src.")
    cells, notes = wanted(settings)
    checkouts = [Checkout(settings.before), Checkout()]
    try:
        answers = measure(cells, checkouts)
    finally:
        for checkout in checkouts:
            checkout.close()
    lines = [line(label, *pair) for label, pair in answers.items()]
    ratios = [row[-1] for row in lines if row[-1] is not None]
    kept = [keep({k: a[i] for k, a in answers.items()}, s) for i, s in enumerate(SIDES)]
    return {
        "title": title,
        "bars": [
            bar("cells with the same answer, share", _share(lines), 1.0),
            bar("seconds after / before, geometric mean", geometric_mean(ratios), MEAN_RATIO,
                at_least=False),
            worst(lines),
        ],
        "tables": [table("Before and after", COLUMNS, lines)],
        "notes": [
            *notes,
            f"Same answer: coefficients and intercept within {SAME:g} relative, or objectives "
            f"apart by no more than the larger certified gap (by {VALUE:g} relative where none is "
            "certified).",
            f"One process for each checkout; they take turns, {TURNS} each, after one to compile.",
            *slower(lines),
        ],
        "cells": {label: {s: kept[i][label] for i, s in enumerate(SIDES)} for label in answers},
    }  # fmt: skip


SIDES = ("before", "after")


def _share(lines: list[list[object]]) -> float | None:
    same = [row[COLUMNS.index("same answer")] for row in lines]
    return sum(map(bool, same)) / len(same) if same else None
