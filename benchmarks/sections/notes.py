"""The numbers of the lecture notes beside ours: every worked example that has any."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from auctor.data import as_data
from auctor.lab.least_squares import (
    GaussNewton,
    LevenbergMarquardt,
    PoissonNetwork,
    SteepestDescent,
    solve,
)
from auctor.lab.maps import CallableMap, MapProblem
from auctor.lab.qp import QpStatus, QuadraticProgram, find_feasible, soft_margin
from auctor.lab.qp import solve as solve_program
from auctor.lab.solvers import Bfgs, GradientDescent, Sgd
from auctor.lab.solvers.stochastic import Batches, Iterate
from auctor.losses import Squared
from auctor.minimise import minimise
from auctor.penalties import NoPenalty
from auctor.problem import Problem
from auctor.solvers import Lbfgs, Newton, conjugate_gradient
from benchmarks.run import Settings, bar, table

name = "notes"
#: Gradient at which the notes stop.
TIGHT = 1e-10
#: The two quadratics of the notes, the zig-zag one, their linear term and start.
A1, A2 = np.array([[1.0, 0.1], [0.1, 2.0]]), np.array([[1.0, 1.0], [1.0, 10.0]])
A9 = np.array([[1.0, 4.0], [4.0, 40.0]])
RIGHT, START = np.array([0.1, 0.2]), np.array([-10.0, 2.0])
#: What the notes print, or a derivation gives exactly; rows say which of the two.
PRINTED, EXACT = "printed", "exact"
#: Ratios of exact numbers may differ from one by this share.
DIGITS = 1e-5

Row = list[object]


def run(settings: Settings) -> dict[str, object]:
    """All examples; each gives lines of identifier, what, source, notes, ours, ratio."""
    lines: list[Row] = []
    for part in (margins, hexagon, stochastic, quadratics, rosenbrock, poisson, swiss_roll):
        lines += [[*row, row[-1] / row[-2]] for row in part(settings)]
        print(f"   {part.__name__}", flush=True)
    exact = [abs(row[-1] - 1.0) for row in lines if row[2] == EXACT]
    return {
        "title": "The worked examples of the lecture notes: notes / ours / ratio",
        "bars": [bar("largest deviation of the exact numbers", max(exact), DIGITS, at_least=False)],
        "tables": [table("Notes, ours, ratio",
                         ["example", "what", "number", "notes", "ours", "ratio"], lines)],
        "notes": [
            "Printed: a count or an error of the notes' own run, which rounding, the line search "
            "or a better method changes; a ratio below one is fewer steps or a smaller error. "
            "Exact: a number that does not depend on the run. Means of 100 runs of `Sgd` have a "
            "standard error of about 14 %.",
            "The Poisson runs of Gauss-Newton and Levenberg-Marquardt start at all ones, where "
            "their digits depend on rounding; from random starts see the section least_squares.",
        ],
        "cells": {"lines": lines},
    }  # fmt: skip


def margins(settings: Settings) -> list[Row]:
    """The soft margin of two overlapping clouds."""
    rng = np.random.default_rng(2)
    clouds = [rng.normal(centre, 1.0, size=(20, 2)) for centre in (0.5, 1.5)]
    X, y = np.vstack(clouds), np.repeat([-1.0, 1.0], 20)
    return [
        ["X3", f"soft margin, C = {C:g}: objective", EXACT, wanted, soft_margin(X, y, C=C).value]
        for C, wanted in ((1e3, 20014.2097), (1.0, 20.735327))
    ]


def hexagon(settings: Settings) -> list[Row]:
    """Rosenbrock's function over a hexagon by quadratic programs."""
    angle = 0.1 + np.arange(6) * np.pi / 3
    corners = 0.1 + np.column_stack((np.cos(angle), np.sin(angle)))
    edges = np.roll(corners, -1, axis=0) - corners
    A = np.column_stack((-edges[:, 1], edges[:, 0]))
    b = np.einsum("ij,ij->i", A, corners)

    def f(x: np.ndarray) -> float:
        return float((1.0 - x[0]) ** 2 + 5.0 * (x[1] - x[0] ** 2) ** 2)

    x, steps, multiplier = np.array([-0.5, 0.5]), 0, 0.0
    for _ in range(30):
        a, c = 1.0 - x[0], x[1] - x[0] ** 2
        g = np.array([-2.0 * a - 20.0 * x[0] * c, 10.0 * c])
        H = np.array([[2.0 - 20.0 * c + 40.0 * x[0] ** 2, -20.0 * x[0]], [-20.0 * x[0], 10.0]])
        low = np.linalg.eigvalsh(H)[0]
        if low < TIGHT:
            H = H + (1.0 - low) * np.eye(2)
        found = solve_program(QuadraticProgram(H, g, A, b - A @ x), start=np.zeros(2))
        multiplier = float(found.multipliers[0])
        if np.abs(found.x).max() < 1e-12:
            break
        size = 1.0
        while f(x + size * found.x) > f(x) + 1e-4 * size * float(g @ found.x):
            size *= 0.5
        x, steps = x + size * found.x, steps + 1
    return [
        ["X4", "hexagon: minimum", EXACT, 0.0431626243, f(x)],
        ["X4", "hexagon: multiplier", EXACT, 0.23618848, multiplier],
        ["X4", "hexagon: steps", PRINTED, 9, steps],
    ]


def stochastic(settings: Settings) -> list[Row]:
    """Single rows of ten integers: the floor of a constant step, and the halving schedule."""
    rows = as_data(np.ones((10, 1)), np.arange(1.0, 11.0))
    problem = Problem(Squared(), NoPenalty(), rows, fit_intercept=False)
    solver, rng = Sgd(step_size=0.3, batch=1, schedule="constant"), np.random.default_rng(0)

    def gaps_of(steps: np.ndarray) -> np.ndarray:
        """Half the squared error after every step; the rows are drawn independently."""
        iterate, gaps = Iterate.at(np.array([-5.0])), np.empty(steps.size)
        for k, step in enumerate(steps):
            solver.advance(Batches(problem, rng), iterate, 1, step)
            gaps[k] = 0.5 * (iterate.w[0] - 5.5) ** 2
        return gaps

    runs = 10 if settings.quick else 100
    floor = gaps_of(np.full(200 * runs, 0.3))[100:].mean()
    lines: list[Row] = [["X6", "constant step 0.3: gap", "mean of steps", 0.727941, floor]]
    stages = (0.3376, 0.1624, 0.08275, 0.04355, 0.02338, 0.01273, 0.007012, 0.003909, 0.002201,
              0.0012534)  # fmt: skip
    lengths = [int(np.ceil(15 * 2**stage / stage)) for stage in range(1, 11)]
    schedule, ends = np.repeat(0.3 / 2.0 ** np.arange(1, 11), lengths), np.cumsum(lengths) - 1
    means = np.mean([gaps_of(schedule)[ends] for _ in range(runs)], axis=0)
    for stage, (wanted, gap) in enumerate(zip(stages, means, strict=True), 1):
        what = f"halving steps: gap after stage {stage}"
        lines.append(["X7", what, f"mean of {runs} runs", wanted, gap])
    return lines


def quadratics(settings: Settings) -> list[Row]:
    """Zig-zag of steepest descent, and its cures."""
    lines: list[Row] = []
    for A, key, steps in ((A1, "X8", 14), (A2, "X8", 144), (A9, "X9", 95)):
        root = np.sqrt(2.0) * np.linalg.cholesky(A).T
        data = as_data(root, -2.0 * np.linalg.solve(root.T, RIGHT))
        problem = Problem(Squared(), NoPenalty(), data, fit_intercept=False)
        what = f"condition {np.linalg.cond(A):.1f}"

        def flat(step: object, A: np.ndarray = A) -> bool:
            return bool(np.linalg.norm(A @ step.w + RIGHT) < TIGHT)

        for label, solver, wanted in (
            ("steepest descent", GradientDescent(exact=True), steps),
            ("Newton", Newton(), 1),
        ):
            found = minimise(problem, solver, w0=START, tol=0.0, max_iter=1000, on_step=flat,
                             on_failure="ignore")  # fmt: skip
            lines.append([key, f"{what}, {label}: steps", PRINTED, wanted, found.n_iter])
        cg = conjugate_gradient(lambda v, A=A: A @ v, -RIGHT, x0=START, rtol=TIGHT)
        lines.append([key, f"{what}, conjugate gradients: steps", PRINTED, 2, cg.n_iter])
    return lines


def rosenbrock(settings: Settings) -> list[Row]:
    """Steps of four methods on Rosenbrock's function."""
    root = 2.0 * np.sqrt(5.0)  # twice the residuals, so that the mean of r^2/2 is the function
    curve = CallableMap(
        lambda x: np.array([2.0 - 2.0 * x[0], root * (x[1] - x[0] ** 2)]),
        lambda x: np.array([[-2.0, 0.0], [-2.0 * root * x[0], root]]),
        y=[0.0, 0.0], start=[-1.3, 1.5],
    )  # fmt: skip

    def flat(step: object) -> bool:
        a, c = 1.0 - step.w[0], step.w[1] - step.w[0] ** 2
        return bool(np.hypot(-2.0 * a - 20.0 * step.w[0] * c, 10.0 * c) < TIGHT)

    lines: list[Row] = []
    for key, label, solver, steps in (
        ("X10", "Newton", Newton(), 10),
        ("X10", "BFGS", Bfgs(), 18),
        ("X10", "steepest descent", GradientDescent(beta=0.9, armijo=0.5), 270),
        ("X11", "L-BFGS", Lbfgs(), 20),
    ):
        problem = MapProblem(Squared(), NoPenalty(), curve, fit_intercept=False)
        found = minimise(problem, solver, tol=0.0, max_iter=5000, on_step=flat, on_failure="ignore")
        lines.append([key, f"Rosenbrock, {label}: steps", PRINTED, steps, found.n_iter])
    return lines


def poisson(settings: Settings) -> list[Row]:
    """The network for Poisson's equation from all ones: largest errors and steps."""
    methods: dict[str, Callable[[], object]] = {
        "gradient descent": SteepestDescent,
        "Gauss-Newton": GaussNewton,
        "Levenberg-Marquardt": lambda: LevenbergMarquardt(10.0, 4.0, scale_columns=False),
    }
    printed = {
        ("tanh", "gradient descent"): ("X12", 4.205708e-03, 120, 0.17110610126100),
        ("tanh", "Gauss-Newton"): ("X13", 1.442690e-07, 114, None),
        ("tanh", "Levenberg-Marquardt"): ("X14", 1.301953e-06, 109, None),
        ("sigmoid", "gradient descent"): ("X15", 4.200602e-03, 120, 0.16857469843620),
        ("sigmoid", "Gauss-Newton"): ("X16", 1.589962e-04, 15, None),
        ("sigmoid", "Levenberg-Marquardt"): ("X17", 1.869000e-05, 44, None),
    }
    lines: list[Row] = []
    for (activation, method), (key, error, steps, value) in printed.items():
        equation = PoissonNetwork(activation=activation)
        found = solve(equation.residuals, np.ones(equation.size), equation.jacobian,
                      method=methods[method](), slope=1e-4, max_iter=120)  # fmt: skip
        what = f"Poisson, {activation}, {method}"
        if value is not None:
            lines.append([key, f"{what}: f", EXACT, value, found.value])
        worst = equation.largest_error(found.x)
        lines.append([key, f"{what}: largest error", PRINTED, error, worst])
        lines.append([key, f"{what}: steps", PRINTED, steps, found.n_iter])
    return lines


def swiss_roll(settings: Settings) -> list[Row]:
    """How many of ten Swiss rolls angles separate at twist 0.5, and do not at twist 1: all ten."""
    lines: list[Row] = []
    for key, twist, columns, possible in (("X19", 0.5, 2, True), ("X20", 1.0, 3, False)):
        count = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            k = np.repeat(np.arange(6), 100)
            r = rng.uniform(size=600)
            angle = k * np.pi / 3 + twist * r
            X = r[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
            X = X + 0.1 * r[:, None] * rng.normal(size=X.shape)
            around = 3.0 * np.arctan2(X[:, 1], X[:, 0])
            Z = np.column_stack((np.sin(around), np.cos(around), np.hypot(*X.T)))[:, :columns]
            rows = (-1.0) ** k[:, None] * np.column_stack((Z, np.ones(600)))
            size = columns + 1
            program = QuadraticProgram(np.zeros((size, size)), np.zeros(size), rows, np.ones(600))
            count += (find_feasible(program).status is not QpStatus.INFEASIBLE) == possible
        what = "separable" if possible else "not separable"
        lines.append([key, f"Swiss roll, twist {twist:g}: {what} of 10", EXACT, 10, count])
    return lines
