"""Both solvers of the graphical lasso to a tight gap: the same value, the same graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from auctor.covariance import LhacMatrix, NewtonCd, SparseInverseCovariance
from benchmarks.problems import graphs
from benchmarks.problems.datasets import MissingDataSet
from benchmarks.run import Settings, bar, table

name = "covariance_agreement"
#: Gap to reach, for every variable.
TIGHT = 1e-9
#: Steps after which a solve is given up.
MOST_STEPS = 3000
#: Optimal values that are known, and how many entries of the upper triangle are not zero.
KNOWN = {"estrogen .5": (923.104246, 5653), "estrogen .25": (627.854357, 9864)}
ROWS: dict[str, tuple[Callable[[], np.ndarray], float]] = {
    "estrogen .5": (graphs.estrogen, 0.5),
    "estrogen .25": (graphs.estrogen, 0.25),
    "chain 400": (lambda: graphs.sample(graphs.chain(400), 200).S, 0.3),
    "random 400": (lambda: graphs.sample(graphs.random(400), 200).S, 0.15),
    "hub 400": (lambda: graphs.sample(graphs.hub(400), 200).S, 0.15),
}
QUICK = ("chain 400", "random 400")


def run(settings: Settings) -> dict[str, object]:
    """Solve every problem with both, and compare with each other and with what is known."""
    cells: dict[str, dict] = {}
    notes: list[str] = []
    for key, (make, strength) in ROWS.items():
        if not settings.wants(key) or (settings.quick and key not in QUICK):
            continue
        try:
            cells[key] = compare(make(), strength)
        except MissingDataSet as error:
            notes.append(str(error))
            continue
        print(f"   {key}", flush=True)
    bars = []
    for key, (value, entries) in KNOWN.items():
        cell = cells.get(key)
        apart = None if cell is None else abs(cell["value"] - value) / value
        few = None if cell is None else abs(cell["entries"] - entries) / entries
        bars.append(bar(f"F from the known one, relative, {key}", apart, 1e-6, at_least=False))
        bars.append(bar(f"entries from the known number, {key}", few, 0.001, at_least=False))
    apart = max((cell["apart"] for cell in cells.values()), default=None)
    bars.append(bar("F of LHAC from F of NewtonCd, relative", apart, 1e-7, at_least=False))
    common = min((cell["common"] for cell in cells.values()), default=None)
    bars.append(bar("share of the entries of either that both have", common, 0.999))
    columns = [
        "problem", "F", "F apart", "entries", "entries, LHAC", "in both", "gap", "gap, LHAC",
        "steps", "steps, LHAC",
    ]  # fmt: skip
    return {
        "title": f"NewtonCd and LhacMatrix to a certified gap of {TIGHT:g} for every variable",
        "bars": bars,
        "tables": [table("Values and graphs", columns,
                         [[key, *cell.values()] for key, cell in cells.items()])],
        "cells": cells,
        "notes": [*notes, "F is computed again in numpy; gaps are certified, over |F|."],
    }  # fmt: skip


def compare(S: np.ndarray, strength: float) -> dict[str, float]:
    """Values, graphs, gaps and steps of both solvers."""
    models = [
        SparseInverseCovariance(
            strength, penalise_diagonal=True, solver=solver, tol=TIGHT, max_iter=MOST_STEPS,
            n_threads=1,
        ).fit_covariance(S)
        for solver in (NewtonCd(), LhacMatrix())
    ]  # fmt: skip
    values = [graphs.objective(S, strength, model.precision_) for model in models]
    one, other = (np.triu(model.precision_) != 0.0 for model in models)
    size = abs(values[0])
    return {
        "value": values[0], "apart": abs(values[0] - values[1]) / size,
        "entries": int(one.sum()), "entries of lhac": int(other.sum()),
        "common": float((one & other).sum() / (one | other).sum()),
        "gap": models[0].gap_ / size, "gap of lhac": models[1].gap_ / size,
        "steps": models[0].n_iter_, "steps of lhac": models[1].n_iter_,
    }  # fmt: skip
