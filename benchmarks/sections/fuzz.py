"""Broken files against the readers and the model loader: an hour of CPU, both at the same time."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import fuzz
from benchmarks.run import Settings, bar, table

name = "fuzz"
TITLE = "mutated and generated files: refused, or read right"
#: Seconds of CPU for each target, in parts, so that a time budget can end it.
SECONDS, QUICK_SECONDS, PART = 1800.0, 10.0, 60.0


def run(settings: Settings) -> dict[str, object]:
    """Fuzz every target; counts of cases and failures."""
    targets = fuzz.target_names()
    with ThreadPoolExecutor(len(targets)) as pool:
        found = list(pool.map(lambda target: _target(target, settings), targets))
    rows = [
        [total["target"], kind, *(counts[what] for what in ("accepted", "refused", "failed"))]
        for total in found
        for kind, counts in sorted(total["kinds"].items())
    ]
    cpu = sum(total["cpu"] for total in found)
    failures = sum(len(total["failures"]) for total in found)
    sums = [[t["target"], t["cases"], t["cpu"] / 60.0, len(t["failures"])] for t in found]
    return {
        "title": TITLE,
        "bars": [
            bar("minutes of CPU", cpu / 60.0, 60.0),
            bar("crashes, hangs, wrong accepts", float(failures), 0.0, at_least=False),
        ],
        "tables": [
            table("Targets", ["target", "cases", "CPU minutes", "failures"], sums),
            table("Cases", ["target", "kind", "accepted", "refused", "failed"], rows),
        ],
        "notes": [f["error"].strip().splitlines()[-1] for t in found for f in t["failures"]],
        "cells": {total["target"]: total for total in found},
    }


def _target(target: str, settings: Settings) -> dict:
    seconds = QUICK_SECONDS if settings.quick else SECONDS
    total = fuzz.empty(target, seed=0)
    with tempfile.TemporaryDirectory() as keep:
        while total["cpu"] < seconds and not settings.over():
            part = min(PART, seconds - total["cpu"])
            fuzz.add(total, fuzz.run(target, part, seed=total["children"], keep=Path(keep)))
    return total
