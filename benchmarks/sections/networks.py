"""Networks as score maps: Adam beside PyTorch's, and AUC losses beside log loss."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from auctor.lab.maps import MapProblem, Mlp
from auctor.lab.solvers import Adam
from auctor.losses import Logistic, PairwiseLogistic
from auctor.metrics import auc
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.solvers import Lbfgs
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "networks"
#: The network and the solver of the lecture notes' Swiss roll: hidden units, step, rows of a batch.
HIDDEN, STEP, BATCH = (64, 64, 64), 3e-3, 64
#: Test accuracy to reach, and passes over the rows after which a run is given up.
ENOUGH, EPOCHS = 0.98, 300
#: Sets with few positives.
RARE = ("w8a", "ijcnn1", "caravan", "hiva", "sylva")
#: Most rows to train on, hidden units, strength of the ridge, steps of L-BFGS.
ROWS, UNITS, STRENGTH, STEPS = 4000, (16,), 1e-3, 60
#: Splits into halves.
SPLITS, QUICK_SPLITS = 3, 1


def run(settings: Settings) -> dict[str, object]:
    """The race to an accuracy, then both losses on halves of every set."""
    seeds = range(1 if settings.quick else 5)
    races = [race(seed) for seed in seeds]
    notes = ["CPU seconds of one thread until a test accuracy of 0.98, measured after every pass "
             "without its time; the same network, step and batch, float32 in PyTorch and float64 "
             "here, log loss. Starts differ: each library's own."]  # fmt: skip
    known = [r for r in races if r["ours"][0] is not None and r["torch"][0] is not None]
    ratio = None
    if known:
        ratio = float(np.median([r["ours"][0] / r["torch"][0] for r in known]))
    elif races[0]["torch"][0] is None:
        notes.append("PyTorch is not installed here.")
    rare, cells = [], {"races": races}
    for label in RARE:
        if not settings.wants(label):
            continue
        try:
            data = datasets.load(label)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        cells[label] = cell = both_losses(data, QUICK_SPLITS if settings.quick else SPLITS)
        rare.append([label, *cell.values()])
        print(f"   {label} {cell}", flush=True)
    wins = sum(row[3] > row[4] for row in rare)
    notes.append(f"Mlp {UNITS}, ridge {STRENGTH:g}, at most {STEPS} steps of L-BFGS, halves of at "
                 f"most {2 * ROWS:,} random rows, means of {SPLITS} splits; the AUC loss has the "
                 f"larger test AUC on {wins} of {len(rare)} sets.")  # fmt: skip
    return {
        "title": "Networks: Adam beside PyTorch's, AUC losses beside log loss",
        "bars": [bar("Swiss roll to .98: CPU of our Adam over PyTorch's, median", ratio, 1.5,
                     at_least=False)],
        "tables": [
            table("Swiss roll at twist 1 to a test accuracy of .98",
                  ["seed", "our CPU s", "our passes", "PyTorch CPU s", "PyTorch passes"],
                  [[k, *r["ours"], *r["torch"]] for k, r in zip(seeds, races, strict=True)]),
            table("Test AUC where positives are rare",
                  ["set", "rows", "positives", "AUC loss", "log loss", "difference"], rare),
        ],
        "notes": notes,
        "cells": cells,
    }  # fmt: skip


def petals(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Six petals with alternating labels, twisted by one radian."""
    rng = np.random.default_rng(seed)
    k = np.repeat(np.arange(6), rows)
    r = rng.uniform(size=k.size)
    angle = k * np.pi / 3 + r
    noise = 0.1 * r[:, None] * rng.normal(size=(k.size, 2))
    return np.stack((r * np.cos(angle), r * np.sin(angle)), axis=1) + noise, (-1.0) ** k


def race(seed: int) -> dict[str, list[float | None]]:
    """CPU seconds and passes to the accuracy, ours and PyTorch's."""
    train, test = petals(seed, 100), petals(seed + 100, 300)
    return {"ours": _ours(seed, train, test), "torch": _torch(seed, train, test)}


def _ours(seed: int, train: tuple, test: tuple) -> list[float | None]:
    network = Mlp(*train, hidden=HIDDEN)
    problem = MapProblem(Logistic(), L2(0.0), network, seed=seed)
    apart = 0.0
    passes: list[int] = []

    def good(step: object) -> bool:
        nonlocal apart
        clock = time.process_time()
        scores = network.scores(problem.coef(step.w), test[0]) + problem.intercept(step.w)
        passes.append(step.iteration)
        done = bool(np.mean(np.sign(scores) == test[1]) >= ENOUGH)
        apart += time.process_time() - clock
        return done

    adam = Adam(step_size=STEP, batch=BATCH, schedule="constant")
    start = time.process_time()
    minimise(problem, adam, rng=seed, tol=0.0, max_iter=EPOCHS, on_step=good, on_failure="ignore")
    cpu = time.process_time() - start - apart
    return [cpu if passes[-1] < EPOCHS else None, passes[-1]]


def _torch(seed: int, train: tuple, test: tuple) -> list[float | None]:
    try:
        import torch
    except ImportError:
        return [None, None]
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    sizes = (2, *HIDDEN)
    layers: list = []
    for m, k in pairwise(sizes):
        layers += [torch.nn.Linear(m, k), torch.nn.Tanh()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 1))
    X, y = (torch.tensor(a, dtype=torch.float32) for a in train)
    X_test = torch.tensor(test[0], dtype=torch.float32)
    adam = torch.optim.Adam(network.parameters(), lr=STEP)
    loss = torch.nn.SoftMarginLoss()
    cpu = 0.0
    for epoch in range(EPOCHS):
        start = time.process_time()
        order = torch.randperm(len(X))
        for first in range(0, len(X) - BATCH + 1, BATCH):
            rows = order[first : first + BATCH]
            adam.zero_grad()
            loss(network(X[rows])[:, 0], y[rows]).backward()
            adam.step()
        cpu += time.process_time() - start
        with torch.no_grad():
            scores = network(X_test)[:, 0].numpy()
        if np.mean(np.sign(scores) == test[1]) >= ENOUGH:
            return [cpu, epoch + 1]
    return [None, EPOCHS]


def both_losses(data: datasets.DataSet, splits: int) -> dict[str, float]:
    """Mean test AUC of the network with either loss."""
    dense = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    found: dict[str, list[float]] = {"AUC loss": [], "log loss": []}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(data.y))[: 2 * ROWS]
        train, test = np.array_split(order, 2)
        scale = dense[train].std(axis=0)
        scale[scale == 0.0] = 1.0
        rows = (dense - dense[train].mean(axis=0)) / scale
        network = Mlp(rows[train], data.y[train], hidden=UNITS)
        for key, loss in (("AUC loss", PairwiseLogistic()), ("log loss", Logistic())):
            problem = MapProblem(loss, L2(STRENGTH), network, seed=seed)
            model = minimise(problem, Lbfgs(), tol=1e-4, max_iter=STEPS, on_failure="ignore")
            scores = network.scores(model.coef, rows[test])
            found[key].append(auc(data.y[test], scores))
    means = {key: float(np.mean(values)) for key, values in found.items()}
    used = order.size
    return {
        "rows": used, "positives": float(np.mean(data.y > 0)), **means,
        "difference": means["AUC loss"] - means["log loss"],
    }  # fmt: skip
