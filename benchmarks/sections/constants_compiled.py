"""The constants that compiled functions keep, compiled again with other values."""

from __future__ import annotations

from benchmarks.constants.compiled import measured
from benchmarks.constants.found import constants
from benchmarks.constants.trial import TURNS
from benchmarks.run import Settings, number, table
from benchmarks.sections.constants import COLUMNS, rows

name = "compiled"
title = "one constant of the compiled loops changed at a time"


def run(settings: Settings) -> dict[str, object]:
    """Measure every constant of the compiled loops on the panel of `constants`."""
    every = {k: c for k, c in constants().items() if c.compiled and settings.wants(k)}
    cells = dict(settings.known)
    todo = [k for k, c in every.items() if k not in cells or cells[k]["value"] != c.value]
    for answer in measured(todo) if todo else ():
        cells[answer.pop("label")] = answer
        for row in rows(list(cells)[-1], answer["value"], answer["tried"]):
            print("   " + " | ".join(map(number, row)), flush=True)
        if settings.over():
            break
    cells = {label: cells[label] for label in every if label in cells}
    lines = [row for k, c in cells.items() for row in rows(k, c["value"], c["tried"])]
    unread = [label for label, cell in cells.items() if not cell["tried"]]
    left = [label for label in every if label not in cells]
    return {
        "title": title,
        "bars": [],
        "tables": [table("All constants of compiled loops", COLUMNS, lines)],
        "notes": [
            "The panel, the values tried and the columns are those of `constants`. The functions "
            "that read the constant, and those that call them, are compiled again with the other "
            f"value. CPU: the fastest of {TURNS} turns with the usual value, then of as many with "
            "the other; they do not alternate, so that other work on the machine may change the "
            "ratio by a quarter.",
            f"Read by no case: {', '.join(unread) or 'none'}.",
            *([f"Not run, the time budget ended: {', '.join(left)}."] if left else []),
        ],
        "cells": cells,
        "left": left,
    }
