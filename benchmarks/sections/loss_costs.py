"""What losses of metrics cost on a processor: a training step, and a round of boosting."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.run import Settings, bar, table
from benchmarks.sections.loss_networks import BATCH, network

name = "loss_costs"
ROWS = 1_000_000
OBJECTIVES = (
    ("auc", "hinge"),
    ("auc", "squared_hinge"),
    ("auc", "logistic"),
    ("auc@0.1", "auto"),
    ("precision@0.05", "auto"),
    ("prbep", "auto"),
    ("f1", "auto"),
)


class _Rows:
    """What a boosting library passes besides scores."""

    def __init__(self, y: np.ndarray) -> None:
        self.y = y

    def get_label(self) -> np.ndarray:
        return self.y

    def get_weight(self) -> None:
        return None


def _cpu(call: Callable[[], object], repeats: int) -> float:
    """Median CPU seconds of a call."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return float(np.median(times))


def _objectives(bars: list, n: int) -> list[list[object]]:
    import auctor.boost as ab

    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.1).astype(np.float32)
    scores, rows, found = rng.normal(size=n) + 0.5 * y, _Rows(y), []
    for metric, surrogate in OBJECTIVES:
        objective = ab.lightgbm(metric, y=y, surrogate=surrogate)
        objective(scores, rows)
        seconds = _cpu(lambda o=objective: o(scores, rows), 7)
        found.append([metric, surrogate, seconds])
        text = f"objective of {metric}, {surrogate}, {n:.0e} rows: CPU s a round"
        bars.append(bar(text, seconds, 0.15, at_least=False))
    return found


def _step(net: Any, optimiser: Any, loss: Any, X: Any, y: Any) -> None:
    optimiser.zero_grad()
    loss(net(X).squeeze(-1), y).backward()
    optimiser.step()


def _steps(bars: list) -> list[list[object]]:
    import torch

    import auctor.torch as at

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    X, y = torch.randn(BATCH, 100), (torch.rand(BATCH) < 0.3).float()
    calls = {}
    for label, loss in (
        ("BCE", torch.nn.BCEWithLogitsLoss()),
        ("AUCLoss, squared hinge", at.AUCLoss()),
        ("AUCLoss, hinge", at.AUCLoss("hinge")),
        ("AUCLoss, logistic", at.AUCLoss("logistic")),
        ("AUCLoss, squared hinge, queue of 2048", at.AUCLoss(queue=2048)),
        ("PartialAUCLoss(0.1)", at.PartialAUCLoss(0.1)),
        ("PrecisionAtKLoss(0.1)", at.PrecisionAtKLoss(0.1)),
        ("FBetaLoss(width=0.5)", at.FBetaLoss(width=0.5)),
        ("GaussianAUCLoss", at.GaussianAUCLoss()),
    ):
        net = network(100)
        optimiser = torch.optim.Adam(net.parameters(), 1e-3)

        calls[label] = partial(_step, net, optimiser, loss, X, y)
    times: dict[str, list[float]] = {label: [] for label in calls}
    for _ in range(15):  # in turns, so that everybody has the same neighbours
        for label, call in calls.items():
            times[label].append(_cpu(call, 10))
    torch.set_num_threads(threads)
    medians = {label: float(np.median(some)) for label, some in times.items()}
    ratio = medians["AUCLoss, squared hinge"] / medians["BCE"]
    text = f"step of an MLP, {BATCH} rows, AUCLoss over BCE"
    bars.append(bar(text, ratio, 1.5, at_least=False))
    return [[label, 1e3 * t, t / medians["BCE"]] for label, t in medians.items()]


def run(settings: Settings) -> dict[str, object]:
    """CPU times of objectives and of steps."""
    bars: list[dict[str, object]] = []
    n = ROWS // 10 if settings.quick else ROWS
    tables = [
        table(f"CPU s of an objective, {n:.0e} rows", ["metric", "surrogate", "s"],
              _objectives(bars, n))
    ]  # fmt: skip
    if find_spec("torch") is not None:
        columns = ["loss", "CPU ms", "over BCE"]
        tables.append(
            table(f"A step of an MLP on a processor, {BATCH} rows", columns, _steps(bars))
        )
    return {
        "title": "cost on a processor",
        "bars": bars,
        "tables": tables,
        "notes": ["Medians; the network has 100 columns and layers of 128 and 64, with Adam."],
        "cells": {},
    }
