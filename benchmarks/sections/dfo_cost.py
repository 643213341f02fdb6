"""Own CPU of the engine per evaluation, by dimension."""

from __future__ import annotations

import time

import numpy as np

from auctor.tune import DfoTr
from benchmarks.run import Settings, bar, table

name = "cost"
#: Dimensions, evaluations, and the bar in ms.
SIZES = {2: (200, 1.0), 5: (200, 1.0), 10: (300, 1.0), 30: (300, None), 100: (450, 20.0),
         300: (600, None)}  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Ask and tell on a function that costs nothing."""
    rows, bars = [], []
    for dims, (budget, limit) in SIZES.items():
        engine = DfoTr(dims, radius=0.25, seed=0)
        weights = np.linspace(1.0, 10.0, dims)
        begin = time.process_time()
        for _ in range(budget):
            point = engine.ask()
            value = float(weights @ (point[0] - 0.3) ** 2 + 0.1 * np.sin(20.0 * point[0]).sum())
            engine.tell(point, [value])
        cost = 1e3 * (time.process_time() - begin) / budget
        rows.append([dims, budget, cost, "linear" if dims > 120 else "quadratic"])
        if limit is not None:
            bars.append(bar(f"d = {dims}: own CPU ms per evaluation", cost, limit, at_least=False))
    return {
        "title": "own CPU per evaluation",
        "bars": bars,
        "tables": [table("Cost", ["dimensions", "evaluations", "CPU ms per evaluation", "model"],
                         rows)],
        "cells": {},
        "notes": ["One thread. The other optimisers' cost is in the tables of `profiles`."],
    }  # fmt: skip
