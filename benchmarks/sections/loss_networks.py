"""Small networks trained by AUC losses beside BCE, at equal epochs, tuned alike."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.problems.datasets import present
from benchmarks.run import Settings, bar, table
from benchmarks.sections.loss_boosters import MEASURES, Split, split, values

name = "loss_networks"
SETS = ("caravan", "campaign", "w8a", "ijcnn1", "a9a")
SEEDS = 5
EPOCHS, BATCH = 20, 512
#: Rates of Adam, the same for everybody; validation AUC picks the rate and the epoch.
RATES = (1e-3, 3e-3)


def network(columns: int) -> Any:
    """Two hidden layers."""
    from torch import nn

    return nn.Sequential(
        nn.Linear(columns, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)
    )


def losses(y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The losses by name."""
    import torch

    import auctor.torch as at

    odds = torch.tensor((y == 0).sum() / (y == 1).sum(), dtype=torch.float32)
    return {
        "BCE": torch.nn.BCEWithLogitsLoss,
        "BCE, pos_weight": lambda: torch.nn.BCEWithLogitsLoss(pos_weight=odds),
        "AUC, squared hinge": at.AUCLoss,
        "AUC, squared hinge, queue": lambda: at.AUCLoss(queue=2048),
        "AUC, logistic": lambda: at.AUCLoss("logistic"),
    }


def _trained(
    make: Callable[[], Any], rows: Split, seed: int, rate: float
) -> list[tuple[np.ndarray, np.ndarray]]:
    import torch

    torch.manual_seed(seed)
    mean, size = rows.X[0].mean(0), rows.X[0].std(0) + 1e-9
    X, valid, test = (torch.from_numpy((one - mean) / size).float() for one in rows.X)
    y = torch.from_numpy(rows.y[0]).float()
    net, loss = network(X.shape[1]), make()
    optimiser = torch.optim.Adam(net.parameters(), rate)
    history = []
    for _ in range(EPOCHS):
        for batch in torch.randperm(y.shape[0]).split(BATCH):
            optimiser.zero_grad()
            loss(net(X[batch]).squeeze(-1), y[batch]).backward()
            optimiser.step()
        with torch.no_grad():
            history.append(tuple(net(one).squeeze(-1).double().numpy() for one in (valid, test)))
    return history


def _best(make: Callable[[], Any], rows: Split, seed: int) -> list[float]:
    """Test values of the rate and, for each metric, the epoch that validation rows pick."""
    runs = [_trained(make, rows, seed, rate) for rate in RATES]
    tops = [max(MEASURES["AUC"](rows.y[1], valid) for valid, _ in one) for one in runs]
    return values(runs[int(np.argmax(tops))], rows)


def run(settings: Settings) -> dict[str, object]:
    """All sets seed by seed, until the time is spent."""
    if find_spec("torch") is None:
        return {"title": "networks", "bars": [], "tables": [], "notes": ["no torch"], "cells": {}}
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found: dict[str, dict[str, list[list[float]]]] = {}
    for seed in range(2 if settings.quick else SEEDS):
        for label in SETS:
            if settings.over() or not present(label) or not settings.wants(label):
                continue
            rows = split(label, seed)
            for method, make in losses(rows.y[0]).items():
                some = found.setdefault(method, {}).setdefault(label, [])
                some.append(_best(make, rows, seed))
    torch.set_num_threads(threads)
    return summary(found)


def summary(found: dict[str, dict[str, list[list[float]]]]) -> dict[str, object]:
    """Absolute values of BCE, and paired differences to it, by set and metric."""
    tables, bars = [], []
    base = found["BCE"]
    for k, metric in enumerate(MEASURES):
        rows = []
        for method, by_set in found.items():
            cells, means = [], []
            for label, some in by_set.items():
                own = np.array(some)[:, k]
                off = own - np.array(base[label])[:, k]
                means.append(own.mean() if method == "BCE" else off.mean())
                error = 2.0 * off.std(ddof=1) / np.sqrt(off.size) if off.size > 1 else np.nan
                told = f"{own.mean():.4f}", f"{off.mean():+.4f} ± {error:.4f}"
                cells.append(told[method != "BCE"])
                if k == 0 and method.startswith("AUC"):
                    text = f"{method}, {label}: AUC minus that of BCE"
                    bars.append(bar(text, float(off.mean()), -0.005))
            mean = f"{np.mean(means):.4f}" if method == "BCE" else f"{np.mean(means):+.4f}"
            rows.append([method, *cells, mean])
        title = f"{metric}: BCE, and differences to it ± two standard errors"
        tables.append(table(title, ["loss", *base, "mean"], rows))
    counts = [len(some) for some in base.values()]
    return {
        "title": "networks: AUC losses beside BCE at equal epochs",
        "bars": bars,
        "tables": tables,
        "notes": [
            f"Hidden layers of 128 and 64, Adam at rates {RATES}, {EPOCHS} epochs, batches of "
            f"{BATCH}; at most 3,000 rows to train on. Validation AUC picks the rate for "
            f"everybody, each metric its epoch. Seeds of a set: {min(counts)} to {max(counts)}."
        ],
        "cells": found,
    }
