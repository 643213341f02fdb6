"""Quadratic programs against quadprog, PIQP and libsvm."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType

import numpy as np

from auctor.lab.qp import QuadraticProgram, soft_margin, solve, svm_dual
from benchmarks.run import Settings, bar, interleave, table

name = "quadratic_programs"
#: Runs of a program of less than a millisecond for each timing.
SHORT = 50
KINDS = ("definite", "semidefinite", "degenerate", "linear")


def run(settings: Settings) -> dict[str, object]:
    """Residuals on random programs, then times side by side."""
    residuals = {kind: _worst(kind, 10 if settings.quick else 50) for kind in KINDS}
    notes, rows, bars = [], [], []
    limits = {
        "d = 20, m = 40, definite": ("quadprog", 5.0),
        "soft-margin primal, 40 rows": ("piqp", 5.0),
        "SVM dual, n = 300": ("piqp", 2.0),
        "SVM dual, n = 1,000": ("piqp", 0.2),
    }
    cells: dict[str, object] = {"residuals": residuals}
    bars.append(
        bar("largest KKT residual of 200 programs", max(residuals.values()), 1e-9, at_least=False)
    )
    for label, calls in _cases(notes).items():
        if not settings.wants(label):
            continue
        short = "n = " not in label  # programs of less than a millisecond
        clocks = interleave(calls, 3 if settings.quick else 9, SHORT if short else 1)
        cell = {who: clock.summary() for who, clock in clocks.items()}
        cells[label] = cell
        other, limit = limits[label]
        ratio = cell["auctor"]["cpu"] / cell[other]["cpu"] if other in cell else None
        bars.append(bar(f"{label}: CPU time, auctor / {other}", ratio, limit, at_least=False))
        rows += [[label, who, 1e3 * c["cpu"], 1e3 * c["wall"]] for who, c in cell.items()]
    return {
        "title": "Convex quadratic programs by an active set, side by side in one process",
        "bars": bars,
        "tables": [
            table("Largest KKT residual of 50 random programs", ["kind", "residual"],
                  [[k, v] for k, v in residuals.items()]),
            table("Milliseconds, median", ["program", "solver", "CPU ms", "wall ms"], rows),
        ],
        "notes": notes,
        "cells": cells,
    }  # fmt: skip


def random_program(seed: int, kind: str, d: int = 20, m: int = 40) -> QuadraticProgram:
    """A bounded feasible program; ``kind`` says what G and the constraints are like."""
    rng = np.random.default_rng(seed)
    rank = {"definite": d, "semidefinite": d // 2, "linear": 0}.get(kind, d // 3)
    B = rng.normal(size=(d, rank))
    G = B @ B.T + (0.1 * np.eye(d) if kind == "definite" else 0.0)
    A = rng.normal(size=(m, d))
    inside = rng.normal(size=d)
    b = A @ inside - np.where(rng.random(m) < 0.5, rng.random(m), 0.0)
    if kind == "degenerate":  # many rows through one point, some of them twice
        A[m // 2 :] = A[: m - m // 2]
        b = A @ inside
    # A gradient that is a positive mixture of rows at some point keeps the objective bounded.
    c = G @ rng.normal(size=d) + A.T @ rng.random(m)
    return QuadraticProgram(G, c, A, b)


def _worst(kind: str, count: int) -> float:
    return max(solve(random_program(seed, kind)).residual.largest for seed in range(count))


def _optional(module: str, notes: list[str]) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except ImportError:
        notes.append(f"{module} is not installed; its times are missing.")
        return None


def _cases(notes: list[str]) -> dict[str, dict[str, Callable[[], object]]]:
    quadprog, piqp = _optional("quadprog", notes), _optional("piqp", notes)
    return {
        "d = 20, m = 40, definite": _random_case(quadprog, piqp),
        "soft-margin primal, 40 rows": _primal_case(piqp),
        "SVM dual, n = 300": _dual_case(piqp, 300),
        "SVM dual, n = 1,000": _dual_case(piqp, 1000),
    }


def _random_case(
    quadprog: ModuleType | None, piqp: ModuleType | None
) -> dict[str, Callable[[], object]]:
    p = random_program(0, "definite")
    calls: dict[str, Callable[[], object]] = {
        "auctor": lambda: solve(QuadraticProgram(p.G, p.c, p.A, p.b))
    }
    if quadprog is not None:
        calls["quadprog"] = lambda: quadprog.solve_qp(p.G, -p.c, p.A.T, p.b)
    if piqp is not None:
        calls["piqp"] = lambda: _by_piqp(piqp, p)
    return calls


def _primal_case(piqp: ModuleType | None) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(2)
    X = np.vstack((rng.normal(0.5, 1.0, (20, 2)), rng.normal(1.5, 1.0, (20, 2))))
    y = np.repeat([-1.0, 1.0], 20)
    n, d = X.shape
    signed = y[:, None] * np.column_stack((X, np.ones(n)))
    G = np.diag(np.r_[np.ones(d), np.zeros(n + 1)])
    A = np.block([[signed, np.eye(n)], [np.zeros((n, d + 1)), np.eye(n)]])
    program = QuadraticProgram(
        G, np.r_[np.zeros(d + 1), np.ones(n)], A, np.r_[np.ones(n), np.zeros(n)]
    )
    calls: dict[str, Callable[[], object]] = {"auctor": lambda: soft_margin(X, y, C=1.0)}
    if piqp is not None:
        calls["piqp"] = lambda: _by_piqp(piqp, program)
    return calls


def _dual_case(piqp: ModuleType | None, n: int) -> dict[str, Callable[[], object]]:
    from sklearn.svm import SVC

    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 1.0, 1.0, -1.0)
    K = np.exp(-0.2 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    program = QuadraticProgram(
        K * y * y[:, None], -np.ones(n), E=y[None, :], e=[0.0], lower=0.0, upper=1.0
    )
    calls: dict[str, Callable[[], object]] = {
        "auctor": lambda: svm_dual(K, y, C=1.0),
        "libsvm": lambda: SVC(kernel="precomputed", tol=1e-8).fit(K, y),
    }
    if piqp is not None:
        calls["piqp"] = lambda: _by_piqp(piqp, program)
    return calls


def _by_piqp(piqp: ModuleType, program: QuadraticProgram) -> object:
    solver = piqp.DenseSolver()
    E, e = (program.E, program.e) if program.n_equal else (None, None)
    A, b = (program.A, program.b) if program.b.size else (None, None)
    low = program.lower if np.isfinite(program.lower).any() else None
    high = program.upper if np.isfinite(program.upper).any() else None
    solver.setup(program.G, program.c, E, e, A, b, None, low, high)
    solver.solve()
    return solver.result.x
