"""Fits on a GPU, to a certified gap, beside the same fit on the processor of that machine."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.run import Settings, bar, table
from benchmarks.sections.device_clock import device_name

name = "device_fits"
TITLE = "certified fits on a GPU"
STRENGTH = 1e-4
TOL = 1e-4


def _problem(n: int, d: int) -> tuple[object, object, object]:
    import torch

    from auctor.core.types import Target
    from auctor.gpu import OnDevice
    from auctor.losses import PairwiseSquaredHinge
    from auctor.penalties import L2
    from auctor.problem import Problem

    X = torch.randn(n, d, device="cuda")
    w = torch.randn(d, device="cuda") / d**0.5
    noisy = X @ w + torch.randn(n, device="cuda")
    y = torch.where(noisy > 1.0, 1, -1).to(torch.int8).cpu().numpy()
    data = OnDevice(X, Target(y))
    return Problem(PairwiseSquaredHinge(), L2(STRENGTH), data), data, (X, y)


def _fit(problem: object) -> tuple[object, float]:
    import torch

    from auctor.minimise import minimise
    from auctor.solvers import resolve

    torch.cuda.synchronize()
    begin = time.perf_counter()
    solution = minimise(problem, resolve("auto", problem), tol=TOL)
    return solution, time.perf_counter() - begin


def _linear(n: int, d: int, limit: float, bars: list, rows: list) -> None:
    problem, data, kept = _problem(n, d)
    _fit(problem)  # compiles the kernels
    seconds, vectors = [], []
    for _ in range(3):
        fresh = type(problem)(problem.loss.inner, problem.penalty, data)
        before = data.holder.traffic.floats
        solution, took = _fit(fresh)
        seconds.append(took)
        # The labels go to the device once for each problem.
        vectors.append((data.holder.traffic.floats - before - n) / n)
    took = float(np.median(seconds))
    rows.append([f"{n:.0e} x {d}", "squared hinge, l2", took, solution.n_iter, solution.gap,
                 "yes" if solution.certified else "no", max(vectors)])  # fmt: skip
    bars.append(bar(f"fit of {n:.0e} x {d}: s", took, limit, at_least=False))
    text = f"fit of {n:.0e} x {d}: vectors of scores to or from the device"
    bars.append(bar(text, float(int(max(vectors))), 0.0, at_least=False))
    del problem, data, kept


def _beside_the_processor(n: int, d: int, bars: list, rows: list) -> None:
    from auctor.data import as_data
    from auctor.losses import PairwiseSquaredHinge
    from auctor.penalties import L2
    from auctor.problem import Problem

    problem, data, (X, y) = _problem(n, d)
    _fit(problem)
    _, there = _fit(type(problem)(problem.loss.inner, problem.penalty, data))
    host = as_data(X.cpu().numpy(), y.astype(np.float64))
    for _ in range(2):  # the first one compiles
        begin = time.process_time(), time.perf_counter()
        plain = Problem(PairwiseSquaredHinge(), L2(STRENGTH), host)
        solution, _ = _fit(plain)
        cpu, wall = time.process_time() - begin[0], time.perf_counter() - begin[1]
    rows.append([f"{n:.0e} x {d}", "the same on the processor", wall, solution.n_iter,
                 solution.gap, "yes" if solution.certified else "no", None])  # fmt: skip
    text = f"{n:.0e} x {d}: CPU seconds there over seconds on the GPU"
    bars.append(bar(text, cpu / there, 50.0))


def _curves(n: int, d: int, bars: list, rows: list) -> None:
    import torch

    from auctor.core.types import Target
    from auctor.data.binned import BinnedMatrix, pack
    from auctor.data.codebook import Codebook
    from auctor.gpu import OnDevice
    from auctor.losses import Logistic
    from auctor.minimise import minimise
    from auctor.penalties import L1
    from auctor.problem import Problem
    from auctor.solvers import resolve

    rng, bins = np.random.default_rng(0), 32
    codes = rng.integers(0, bins, (d, n), dtype=np.uint8)
    books = [Codebook(bins, steps=tuple(range(1, bins)))] * d
    score = sum(np.sin(codes[j] / 5.0) for j in range(5)) - 1.0
    y = np.where(score + rng.normal(size=n) > 1.0, 1, -1).astype(np.int8)
    matrix = BinnedMatrix(pack(codes), books)
    data = OnDevice(matrix, Target(y))
    penalty = L1(1e-3)
    for _ in range(2):
        problem = Problem(Logistic(), penalty, data)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        solution = minimise(problem, resolve("auto", problem), tol=TOL, max_seconds=60)
        took = time.perf_counter() - begin
    rows.append([f"{n:.0e} x {d} of bytes", "logistic, l1 on the steps", took, solution.n_iter,
                 solution.gap, "yes" if solution.certified else "no", None])  # fmt: skip
    bars.append(bar(f"curves of {n:.0e} x {d} at one strength: s", took, 1.5, at_least=False))


def run(settings: Settings) -> dict[str, object]:
    """Linear fits, and curves on bytes."""
    bars, rows = [], []
    sizes = [(1_000_000, 100, 0.15)] if settings.quick else [
        (10_000_000, 100, 0.15), (100_000_000, 50, 1.0)
    ]  # fmt: skip
    for n, d, limit in sizes:
        _linear(n, d, limit, bars, rows)
    _beside_the_processor(100_000 if settings.quick else 1_000_000, 100, bars, rows)
    _curves(100_000 if settings.quick else 10_000_000, 100, bars, rows)
    columns = ["rows x columns", "problem", "s", "iterations", "gap", "certified", "vectors moved"]
    return {
        "title": TITLE,
        "bars": bars,
        "tables": [table(f"to a gap of {TOL:g}, relative", columns, rows)],
        "notes": [device_name(), "Seconds of the solve; rows are on the device, labels are sent."],
        "cells": {},
    }
