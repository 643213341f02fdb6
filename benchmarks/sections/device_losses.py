"""Losses on a GPU: value and gradient in one sort, small batches, and a training step."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.run import Settings, bar, table
from benchmarks.sections.device_clock import device_name, milliseconds

name = "device_losses"
TITLE = "losses on a GPU"
#: Most milliseconds for value and gradient in float32, by the number of rows.
LIMITS = {1_000_000: 0.4, 10_000_000: 2.5, 100_000_000: 27.0}


def _rows(n: int, dtype: object) -> tuple[object, object]:
    import torch

    y = torch.rand(n, device="cuda") < 0.2
    scores = torch.randn(n, device="cuda", dtype=dtype) + 0.5 * y
    return scores.requires_grad_(), y.float()


def _step(loss: object, scores: object, y: object) -> None:
    scores.grad = None
    loss(scores, y).backward()


def _errors(bars: list) -> None:
    import torch

    import auctor.torch as at
    from auctor.core.types import Target
    from auctor.losses import PairwiseSquaredHinge

    for dtype, limit in ((torch.float32, 1e-7), (torch.float64, 1e-12)):
        scores, y = _rows(1_000_000, dtype)
        _step(at.AUCLoss(), scores, y)
        target = Target(np.where(y.cpu().numpy() > 0, 1.0, -1.0))
        given = scores.detach().double().cpu().numpy()
        wanted = PairwiseSquaredHinge().value_grad(given, target)[1]
        off = np.linalg.norm(scores.grad.double().cpu().numpy() - wanted) / np.linalg.norm(wanted)
        text = f"gradient of {dtype} against the compiled float64"
        bars.append(bar(text, float(off), limit, at_least=False))


def _small(bars: list, rows: list) -> None:
    import torch

    import auctor.torch as at

    for n in (512, 4096, 65_536):
        scores, y = _rows(n, torch.float32)
        loss = at.AUCLoss().cuda()
        plain = torch.nn.BCEWithLogitsLoss()
        torch.cuda.set_sync_debug_mode("error")
        try:
            _step(loss, scores, y)
            waits = False
        except RuntimeError:
            waits = True
        torch.cuda.set_sync_debug_mode("default")
        eager = milliseconds(lambda m=loss, s=scores, y=y: _step(m, s, y))
        bce = milliseconds(lambda s=scores, y=y, m=plain: _step(m, s, y))
        graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            _step(loss, scores, y)
        torch.cuda.current_stream().wait_stream(stream)
        scores.grad = None
        with torch.cuda.graph(graph):
            loss(scores, y).backward()
        replay = milliseconds(graph.replay)
        rows.append([n, eager, replay, bce, "yes" if waits else "no"])
        bars.append(bar(f"{n} rows, eager: ms", eager, 0.45, at_least=False))
        bars.append(bar(f"{n} rows, CUDA graph: ms", replay, 0.15, at_least=False))
        bars.append(bar(f"{n} rows: waits for the device", float(waits), 0.0, at_least=False))


def _train(net: object, optimiser: object, loss: object, X: object, y: object) -> None:
    optimiser.zero_grad()
    loss(net(X).squeeze(-1), y).backward()
    optimiser.step()


def _training(rows: list, bars: list) -> None:
    import torch

    import auctor.torch as at

    X = torch.randn(512, 100, device="cuda")
    y = (torch.rand(512, device="cuda") < 0.3).float()
    times = {}
    for label, loss in (
        ("BCE", torch.nn.BCEWithLogitsLoss()),
        ("AUCLoss", at.AUCLoss().cuda()),
        ("AUCLoss, queue of 4096", at.AUCLoss(queue=4096).cuda()),
    ):
        net = torch.nn.Sequential(
            torch.nn.Linear(100, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64),
            torch.nn.ReLU(), torch.nn.Linear(64, 1),
        ).cuda()  # fmt: skip
        optimiser = torch.optim.Adam(net.parameters(), 1e-3)

        times[label] = milliseconds(partial(_train, net, optimiser, loss, X, y), 100)
        rows.append([label, times[label], times[label] / times["BCE"]])
    ratio = times["AUCLoss"] / times["BCE"]
    bars.append(bar("step of an MLP, 512 rows: AUCLoss over BCE", ratio, 1.5, at_least=False))


def run(settings: Settings) -> dict[str, object]:
    """Large and small batches, and a step of a small network."""
    import torch

    import auctor.torch as at

    bars, large, small, steps = [], [], [], []
    kinds = {
        "squared hinge": at.AUCLoss(),
        "hinge": at.AUCLoss("hinge"),
        "hinge, width 0.5": at.AUCLoss("hinge", width=0.5),
        "logistic": at.AUCLoss("logistic"),
        "partial AUC 0.1": at.PartialAUCLoss(0.1),
        "precision at 1 %": at.PrecisionAtKLoss(0.01),
        "F1, width 0.5": at.FBetaLoss(width=0.5),
    }
    for n, limit in LIMITS.items():
        if settings.quick and n > 1_000_000:
            continue
        scores, y = _rows(n, torch.float32)
        for label, loss in kinds.items():
            if n > 10_000_000 and label not in ("squared hinge", "hinge"):
                continue
            loss = loss.cuda()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            _step(loss, scores, y)
            memory = (torch.cuda.max_memory_allocated() - before) / n
            took = milliseconds(lambda m=loss, s=scores, y=y: _step(m, s, y))
            large.append([label, f"{n:.0e}", took, memory])
            if label == "squared hinge":
                bars.append(bar(f"{n:.0e} rows: ms", took, limit, at_least=False))
                text = f"{n:.0e} rows: bytes per row beyond scores and labels"
                bars.append(bar(text, memory, 100.0, at_least=False))
        del scores, y
    _errors(bars)
    _small(bars, small)
    _training(steps, bars)
    return {
        "title": TITLE,
        "bars": bars,
        "tables": [
            table("value and gradient, float32", ["loss", "rows", "ms", "bytes per row"], large),
            table(
                "small batches, squared hinge",
                ["rows", "eager ms", "CUDA graph ms", "BCE eager ms", "waits"],
                small,
            ),
            table("a step of an MLP, 512 rows", ["loss", "ms", "over BCE"], steps),
        ],
        "notes": [device_name()],
        "cells": {},
    }
