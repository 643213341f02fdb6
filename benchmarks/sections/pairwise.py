"""Exact pairwise-square solution against 15 passes of a stochastic method in the same kernels."""

from __future__ import annotations

import os

import numpy as np

from benchmarks.competitors import Fit, auctor
from benchmarks.competitors.ranking import spam
from benchmarks.problems import datasets
from benchmarks.problems.forms import Form
from benchmarks.problems.objectives import l2_pairwise_square
from benchmarks.run import Settings, bar, interleave, number, table

name = "pairwise"
STRENGTH = 1e-4
PASSES = 15
#: Step 1 / (beta t + safety M^2); the best of these is what the stochastic method reports.
SAFETIES = (4.0, 16.0, 64.0, 128.0)
TOL = 1e-8


def run(settings: Settings) -> dict[str, object]:
    """Time the exact solve and SPAM-L2 side by side on a9a."""
    title = f"pairwise square loss on a9a, strength {STRENGTH:g}: exact against {PASSES} passes"
    try:
        data = datasets.load("a9a")
    except datasets.MissingDataSet as error:
        return {"title": title, "bars": _bars(None, None), "tables": [], "notes": [str(error)]}
    notes = []
    calls = {"normal equations, numpy": lambda: _normal_equations(data)}
    reason = spam.available()
    if reason is None:
        best = min(SAFETIES, key=lambda s: _value(data, _spam(data, s)))
        calls[f"spam-l2, safety {best:g}"] = lambda: _spam(data, best)
    else:
        notes.append(f"spam-l2 skipped: {reason}")
    reason = auctor.available()
    if reason is None:
        calls["auctor"] = lambda: _exact(data)
    else:
        notes.append(f"auctor skipped: {reason}")
    return {"title": title, **_measured(data, calls, settings), "notes": notes}


def _measured(data: datasets.DataSet, calls: dict, settings: Settings) -> dict[str, object]:
    answers = {label: call() for label, call in calls.items()}
    clocks = interleave(calls, 5 if settings.quick else 21)
    values = {label: _value(data, answer) for label, answer in answers.items()}
    least = min(values.values())
    rows, cells = [], {}
    for label, clock in clocks.items():
        times = clock.summary()
        work = ", ".join(f"{k} {number(v)}" for k, v in answers[label].work.items())
        rows.append(
            [
                label,
                times["wall"],
                times["cpu"],
                f"{values[label]:.12g}",
                values[label] - least,
                work,
            ]
        )
        cells[label] = {"objective": values[label], **times}
    head = ["method", "wall s", "CPU s", "objective", "above the least", "work"]
    us = cells.get("auctor")
    them = next((v for k, v in cells.items() if k.startswith("spam")), None)
    return {
        "bars": _bars(us, them),
        "tables": [table("Seconds and objectives", head, rows)],
        "cells": cells,
    }


def _bars(us: dict | None, them: dict | None) -> list[dict[str, object]]:
    both = us is not None and them is not None
    text = f"time of {PASSES} SPAM passes / time of the exact solve"
    lower = "objective of SPAM minus objective of the exact solve"
    return [
        bar(text, them["wall"] / us["wall"] if both else None, 20.0),
        bar(lower, them["objective"] - us["objective"] if both else None, 0.0),
    ]


def _value(data: datasets.DataSet, answer: Fit) -> float:
    with np.errstate(over="ignore", invalid="ignore"):  # too long a step diverges
        value = l2_pairwise_square(data.X, data.y, answer.coef, STRENGTH)
    return value if np.isfinite(value) else np.inf


def _spam(data: datasets.DataSet, safety: float) -> Fit:
    return spam.fit(data.X, data.y, STRENGTH, passes=PASSES, safety=safety)


def _exact(data: datasets.DataSet) -> Fit:
    form = Form("pairwise_square", "l2", STRENGTH)
    return auctor.fit(data.X, data.y, form, TOL, "auto", len(os.sched_getaffinity(0)))


def _normal_equations(data: datasets.DataSet) -> Fit:
    """(S+ + S- + d d' + strength/2 I) w = d with scipy's products: the independent answer."""
    d = data.n_columns
    matrix, shift = 0.5 * STRENGTH * np.eye(d), np.zeros(d)
    for sign in (1.0, -1.0):
        part = data.X[data.y == sign]
        mean = np.asarray(part.sum(axis=0)).ravel() / part.shape[0]
        matrix += (part.T @ part).toarray() / part.shape[0] - np.outer(mean, mean)
        shift += sign * mean
    return Fit(np.linalg.solve(matrix + np.outer(shift, shift), shift), 0.0, {})
