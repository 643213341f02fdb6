"""CSR products on one and two threads against scipy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, interleave, table

name = "products"
TITLE = "CSR X @ w and X.T @ r on the rcv1-like set"
THREADS = (1, 2)


def run(settings: Settings) -> dict[str, object]:
    """Median seconds of both products, everyone interleaved."""
    data = datasets.load("rcv1-like")
    rng = np.random.default_rng(0)
    w, r = rng.standard_normal(data.n_columns), rng.standard_normal(data.n_rows)
    transposed = data.X.T
    calls: dict[str, Callable[[], object]] = {
        "X @ w, scipy": lambda: data.X @ w,
        "X.T @ r, scipy": lambda: transposed @ r,
    }
    notes = []
    try:
        calls |= _ours(data, w, r)
    except ImportError as error:
        notes.append(f"auctor skipped: {error}")
    worst = _disagreement(calls)
    repeats = 7 if settings.quick else 31
    clocks = interleave(calls, repeats, inner=20)
    cells = {label: clock.summary() for label, clock in clocks.items()}
    rows = [_row(label, cells, data.X.nnz) for label in calls]
    notes.append(f"Largest relative difference from scipy: {worst:.1e}.")
    return {
        "title": TITLE,
        "bars": [_bar(op, cells) for op in ("X @ w", "X.T @ r")],
        "tables": [table("Products", ["product", "wall s", "CPU s", "ns/nnz", "x scipy"], rows)],
        "notes": notes,
        "cells": cells,
    }


def _ours(data: datasets.DataSet, w: np.ndarray, r: np.ndarray) -> dict[str, Callable[[], object]]:
    from auctor.data import as_data

    calls: dict[str, Callable[[], object]] = {}
    for threads in THREADS:
        design = as_data(data.X, data.y, n_threads=threads)
        calls[f"X @ w, auctor {threads}"] = lambda d=design: d.scores(w)
        calls[f"X.T @ r, auctor {threads}"] = lambda d=design: d.gradient(r)
    return calls


def _disagreement(calls: dict[str, Callable[[], object]]) -> float:
    """Also the warm-up."""
    worst = 0.0
    for label, call in calls.items():
        exact = calls[label.split(",")[0] + ", scipy"]()
        worst = max(worst, float(np.abs(call() - exact).max() / np.abs(exact).max()))
    return worst


def _row(label: str, cells: dict[str, dict], nnz: int) -> list[object]:
    cell, base = cells[label], cells[label.split(",")[0] + ", scipy"]
    return [label, cell["wall"], cell["cpu"], 1e9 * cell["wall"] / nnz, base["wall"] / cell["wall"]]


def _bar(op: str, cells: dict[str, dict]) -> dict[str, object]:
    ours = cells.get(f"{op}, auctor 2")
    ratio = cells[f"{op}, scipy"]["wall"] / ours["wall"] if ours else None
    return bar(f"{op}: scipy / auctor on two threads", ratio, 1.6)
