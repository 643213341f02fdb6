"""The smoothing paper's side questions: cost against a subgradient, width, best strength."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import cycle

import numpy as np

from benchmarks.run import Settings, bar, interleave, table

name = "smoothing"
LOSSES = {"AUC": "PairwiseHinge", "PRBEP": "Prbep"}
SHAPES = ((100_000, 100), (1_000_000, 50))
#: Smoothing constants; the paper's width in score units is twice (AUC) or once (PRBEP) c epsilon.
CONSTANTS, EPSILON = (1000, 100, 10), 1e-3
STRENGTHS = (1e-2, 1e-4, 1e-6)


def run(settings: Settings) -> dict[str, object]:
    """All three."""
    cost = _cost(SHAPES[:1] if settings.quick else SHAPES)
    width_rows, worst = _widths()
    best_rows, apart = _strengths(5_000 if settings.quick else 30_000)
    return {
        "title": "smoothed against subgradient, smoothing constant, strength",
        "bars": [
            bar(
                "C9: AUC, whole evaluation smoothed / subgradient, largest",
                cost[1],
                2.0,
                at_least=False,
            ),
            bar("C9: PRBEP, the same", cost[2], 1.0, at_least=False),
            bar("C15: true gap / epsilon at c = 10, largest", worst, 1.0, at_least=False),
            bar(
                "C18: default against cutting planes, test scores apart",
                apart,
                0.005,
                at_least=False,
            ),
        ],
        "tables": [
            table(
                "C9: whole evaluations",
                ["loss", "rows", "columns", "smoothed / subgradient"],
                cost[0],
            ),
            table(
                "C15: gap of the exact objective, evaluations, at the smoothed minimum",
                ["loss", "strength", *(f"c = {c}" for c in CONSTANTS)],
                width_rows,
            ),
            table("C18: test scores by strength", ["loss", *map(str, STRENGTHS)], best_rows),
        ],
        "notes": ["Generated data: Gaussian rows of unit length, noisy linear labels."],
    }


def make_data(n: int, d: int, positive: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows of unit length; the top share of noisy linear scores is positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    score = X @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n)
    return X, np.where(score > np.quantile(score, 1.0 - positive), 1.0, -1.0)


def _problem(X: np.ndarray, y: np.ndarray, loss: object, strength: float) -> object:
    from auctor.data import as_data
    from auctor.penalties import L2
    from auctor.problem import Problem

    return Problem(loss, L2(strength), as_data(X, y))


def _loss(measure: str) -> object:
    from auctor import losses

    return getattr(losses, LOSSES[measure])()


def _fresh(problem: object, w: np.ndarray) -> Callable[[], object]:
    """An evaluation at another point every time: a target remembers how it sorted the last."""
    turns = cycle((w, -w))
    return lambda: problem.evaluate(next(turns)).gradient


def _cost(shapes: tuple) -> tuple[list, float, float]:
    rows, worst = [], {}
    for n, d in shapes:
        X, y = make_data(n, d, 0.1, 0)
        w = np.random.default_rng(1).standard_normal(d)
        for measure in LOSSES:
            exact = _problem(X, y, _loss(measure), 1e-4)
            smooth = exact.with_loss(_loss(measure).smoothed(0.02))
            clocks = interleave(
                {"smooth": _fresh(smooth, w), "exact": _fresh(exact, w)}, repeats=15
            )
            ratio = clocks["smooth"].summary()["wall"] / clocks["exact"].summary()["wall"]
            rows.append([measure, n, d, ratio])
            worst[measure] = max(ratio, worst.get(measure, 0.0))
    return rows, worst["AUC"], worst["PRBEP"]


def _widths() -> tuple[list, float]:
    from auctor.minimise import minimise
    from auctor.solvers import Lbfgs, choose

    rows, worst = [], 0.0
    X, y = make_data(4_000, 50, 0.2, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for measure, factor in (("AUC", 2.0), ("PRBEP", 1.0)):
            for strength in STRENGTHS[1:]:
                exact = _problem(X, y, _loss(measure), strength)
                least = minimise(exact, choose(exact), tol=1e-6, on_failure="ignore").value
                row: list[object] = [measure, strength]
                for c in CONSTANTS:
                    smooth = exact.with_loss(_loss(measure).smoothed(factor * c * EPSILON))
                    found = minimise(smooth, Lbfgs(), tol=1e-7, max_iter=3000, on_failure="ignore")
                    gap = exact.evaluate(found.coef).value - least
                    row.append(f"{gap:.1e}, {found.evaluations}")
                    if c == CONSTANTS[-1]:
                        worst = max(worst, gap / EPSILON)
                rows.append(row)
    return rows, worst


def _strengths(n: int) -> tuple[list, float]:
    from auctor import metrics
    from auctor.minimise import minimise
    from auctor.solvers import Bmrm, choose

    X, y = make_data(n, 100, 0.2, 0)
    train = np.random.default_rng(0).random(n) < 0.8
    judge = {"AUC": metrics.auc, "PRBEP": metrics.prbep}
    rows, apart = [], 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for measure in LOSSES:
            row: list[object] = [measure]
            for strength in STRENGTHS:
                problem = _problem(X[train], y[train], _loss(measure), strength)
                values = []
                for solver in (choose(problem), Bmrm()):
                    found = minimise(
                        problem, solver, tol=1e-4, max_iter=5000, max_seconds=20.0,
                        on_failure="ignore",
                    )  # fmt: skip
                    values.append(float(judge[measure](y[~train], X[~train] @ found.coef)))
                apart = max(apart, abs(values[0] - values[1]))
                row.append(values[0])
            rows.append(row)
    return rows, apart
