"""Rates and cost of communication of the proximal quasi-Newton family, as the theses state them."""

import math
import tracemalloc

import numpy as np
import pytest

from auctor.data import as_data
from auctor.losses import Logistic
from auctor.losses.base import BaseLoss
from auctor.penalties import L1
from auctor.problem import Problem
from auctor.solvers import Lhac, ProximalQuasiNewton
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.matrices import Diagonal, LbfgsMatrix
from auctor.solvers.sparse.models.lowrank import Inner, ModelStep, Subproblem, descend, survey

# --- inexact steps, as inexact as allowed ---------------------------------------------------


class Sloppy:
    """A model whose answer is worse than its minimum by just the error allowed, if it can be."""

    def __init__(self, problem, model, error):
        self.problem, self.model, self.error = problem, model, error
        self.matrix = None

    def solve(self, inner, *, scale, extra, passes):
        best = self.model.solve(inner, scale=scale, extra=extra, passes=passes)
        restricted, w = self.model.model, self.model.origin
        self.matrix = scale * restricted.matrix() + extra * np.diag(restricted.base)
        d = best.w - w
        slope, curve = self.model.gradient @ d, d @ self.matrix @ d
        penalty = self.problem.penalty.value

        def value(t):
            return t * slope + 0.5 * t * t * curve + penalty(w + t * d)

        low, high = 0.0, 1.0
        while high - low > 1e-12:  # the least t whose error is allowed; the model is convex in t
            t = 0.5 * (low + high)
            low, high = (low, t) if value(t) <= value(1.0) + self.error else (t, high)
        t = 0.0 if value(0.0) <= value(1.0) + self.error else high
        return ModelStep(w + t * d, t * slope + 0.5 * t * t * curve, best.steps)


def sloppy_run(case, errors, matrix, *, rho):
    """Steps of the inexact method: (point, next point, H, error allowed)."""
    problem = case.problem
    point = problem.evaluate(np.zeros(problem.n_params))
    everything, spec = np.arange(problem.n_columns), spec_of(problem)
    inner = Inner.seeded(np.random.default_rng(0), "cyclic", exact=True)
    for error in errors:
        model = Sloppy(problem, Subproblem.at(point, matrix, spec, everything), error)
        done = descend(
            problem, point, model, inner, passes=5000, rho=rho,
            harder=lambda scale, extra: (scale, 2.0 * (1.0 + extra) - 1.0),
        )  # fmt: skip
        new = point if done is None else done.point
        yield point, new, model.matrix, error
        if isinstance(matrix, LbfgsMatrix):
            matrix.add(new.w - point.w, new.gradient - point.gradient)
        point = new


def matrix_of(case, kind):
    n = case.problem.n_columns
    return Diagonal(np.full(n, case.high)) if kind == "identity" else LbfgsMatrix(5, n, case.high)


FLAT = np.concatenate((np.full(5, 1e-7), np.geomspace(0.05, 1.0, 7)))


@pytest.mark.parametrize("kind", ["identity", "lbfgs"])
def test_sublinear_bound_with_errors_of_order_one_over_k_squared(quadratic, kind):
    """Tang A27, theorem 15 with its constants put right; errors are as large as allowed."""
    rho, count = 0.5, 60
    case = quadratic(FLAT, l1=1e-3)
    slope = 1e-3 * math.sqrt(case.problem.n_columns)
    last = []
    for size in (0.0, 0.1, 1.0):
        errors = [(size / k) ** 2 for k in range(1, count + 1)]
        steps = list(sloppy_run(case, errors, matrix_of(case, kind), rho=rho))
        eigen = np.array([np.linalg.eigvalsh(H)[[0, -1]] for _, _, H, _ in steps])
        low, high = eigen[:, 0].min(), eigen[:, 1].max()
        radius = max(np.linalg.norm(old.w - case.w) for old, *_ in steps)
        bound = theorem_15(low, high, radius, slope, rho, size)
        assert math.isfinite(bound)
        gaps = np.array([case.excess(new) for _, new, _, _ in steps])
        k = np.arange(1, count + 1)
        assert (gaps[1:] <= bound / k[:-1]).all()
        # In fact k (F_k - F*) stays far below that bound.
        assert (k * gaps).max() <= high * radius**2 + 2.0 * size
        last.append(gaps[-1])
    assert last == sorted(last)  # larger errors, later


def theorem_15(low, high, radius, slope, rho, a):
    """``max(b a, 1/c)`` for the best theta."""
    best = math.inf
    for theta in np.geomspace(5.0, 1e14, 300):
        q = 1.0 / theta
        top = (low / high) ** 2 * (1.0 - q) ** 2 - (2.0 * q + 3.0 * q * q)
        if top <= 0.0:
            continue
        root = math.sqrt(low) * radius + 2.0 * slope * (1.0 + q) / math.sqrt(low) + math.sqrt(2) * q
        c = rho * top / (2.0 * root**2)
        b = theta * radius * math.sqrt(2.0 * high) + 2.0
        b += 2.0 * (1.0 + theta) * slope / low * math.sqrt(2.0 * high)
        best = min(best, max(b * a, 1.0 / c))
    return best


@pytest.mark.parametrize("kind", ["identity", "lbfgs"])
def test_linear_bound_with_errors_that_fall_faster(quadratic, kind):
    """Ghanbari A.9, theorem 5: errors of ``C r^(2k)`` keep the rate r."""
    rho = 0.5
    case = quadratic(np.geomspace(0.2, 1.0, 12), l1=0.05)
    rate = 1.0 - rho * case.low / (case.low + 2.0 * case.high)
    errors = [0.05 * rate ** (2 * k) for k in range(150)]
    gap = case.excess(case.problem.evaluate(np.zeros(12)))
    allowed = gap
    for old, new, H, error in sloppy_run(case, errors, matrix_of(case, kind), rho=rho):
        step = 1.0 - rho * case.low / (case.low + np.linalg.eigvalsh(H)[-1])
        assert case.excess(new) <= step * case.excess(old) + rho * error + 1e-14
        allowed = step * allowed + rho * error
        assert case.excess(new) <= allowed + 1e-14
    assert case.excess(new) <= 1e-3 * gap


def test_random_coordinate_descent_inside_keeps_the_sublinear_rate(quadratic):
    """Tang A27, theorem 18: the mean over seeds of ``k (F_k - F*)`` stays bounded."""
    case = quadratic(FLAT, l1=1e-3)
    for hessian in ("diagonal", "lbfgs"):
        solver = ProximalQuasiNewton(hessian, order="iid", rho=0.5, scaling=0.0)
        total = np.zeros(60)
        for seed in range(4):
            state = solver.init(case.problem, np.zeros(FLAT.size), np.random.default_rng(seed))
            for k in range(60):
                state = solver.step(case.problem, state)
                total[k] += 0.25 * (k + 1) * case.excess(state.point)
        assert total.max() <= 2.0 * case.high * float(case.w @ case.w)
        assert total[-1] <= 0.5 * total.max()


# --- communication and memory ---------------------------------------------------------------


class Wire:
    """Counts all-reduces and the numbers they carry."""

    def __init__(self):
        self.rounds, self.floats = 0, 0

    def reduce(self, parts):
        self.rounds += 1
        self.floats += np.size(parts[0])
        return sum(parts[1:], start=parts[0])


class Split:
    """Rows split over two workers: scores stay where they are, sums travel."""

    def __init__(self, data, parts, wire):
        self.target, self.parts, self.wire = data.target, parts, wire
        self.n_rows, self.n_columns = data.n_rows, data.n_columns
        self.cut = parts[0].n_rows

    def scores(self, w, offset=0.0):
        return np.concatenate([part.scores(w, offset) for part in self.parts])

    def gradient(self, dscores):
        pieces = np.split(dscores, [self.cut])
        return self.wire.reduce([p.gradient(d) for p, d in zip(self.parts, pieces, strict=True)])


class SplitLogistic(BaseLoss):
    """The logistic loss with its value added up over the workers."""

    def __init__(self, data):
        self.data = data

    def value_grad(self, scores, target):
        values, slopes = [], []
        for part, own in zip(self.data.parts, np.split(scores, [self.data.cut]), strict=True):
            value, slope = Logistic().value_grad(own, part.target)
            share = part.n_rows / self.data.n_rows
            values.append(share * value)
            slopes.append(share * slope)
        return self.data.wire.reduce(values), np.concatenate(slopes)


def test_rows_split_over_two_workers(classification):
    """Tang A26: the same iterates, one round per value and per gradient, p + |I| numbers."""
    data, top = classification("chain", n=300, p=60)
    wire, halves = Wire(), np.split(np.arange(300), [140])
    split = Split(data, [data.rows(half) for half in halves], wire)
    penalty, solver = L1(0.05 * top), Lhac(scaling=0.0)
    serial = Problem(Logistic(), penalty, data, fit_intercept=False)
    spread = Problem(SplitLogistic(split), penalty, split, fit_intercept=False)
    states = [
        solver.init(problem, np.zeros(60), np.random.default_rng(0)) for problem in (serial, spread)
    ]
    for _ in range(25):
        before = wire.rounds, wire.floats, states[1].backtracks
        states = [
            solver.step(problem, state)
            for problem, state in zip((serial, spread), states, strict=True)
        ]
        trials = 1 + states[1].backtracks - before[2]
        assert wire.rounds - before[0] == trials + 1
        sent = states[1].free  # the coordinates that moved, to the workers, per trial
        assert wire.floats - before[1] + trials * sent <= 60 + trials * (sent + 1)
        np.testing.assert_allclose(states[1].point.w, states[0].point.w, rtol=0, atol=1e-12)
    rounds = wire.rounds
    best = states[0].point.value
    wire.rounds = 0
    outer = newton_rounds(split, penalty.separable(60).l1, best)
    assert all(spent >= visits for spent, visits in outer)
    assert wire.rounds > 5 * rounds


def newton_rounds(split, l1, goal):
    """newGLMNET over the same wire until ``goal``: (rounds, coordinate visits) per iteration."""
    X = np.vstack([part.to_dense() for part in split.parts])
    y, n, wire = split.target.y, split.n_rows, split.wire
    w, out = np.zeros(X.shape[1]), []

    def total(v):
        parts = np.split(np.logaddexp(0.0, -y * (X @ v)), [split.cut])
        return wire.reduce([p.sum() / n for p in parts]) + l1 @ np.abs(v)

    for k in range(1, 40):
        start, visits = wire.rounds, 0
        chance = np.exp(-np.logaddexp(0.0, y * (X @ w)))
        gradient = split.gradient(-y * chance / n)
        h = chance * (1.0 - chance) / n
        free = np.flatnonzero((w != 0.0) | (np.abs(gradient) > l1))
        diagonal = np.array([h @ X[:, j] ** 2 for j in free])
        d, v = np.zeros_like(w), np.zeros(n)
        for _ in range(k):
            for j, a in zip(free, diagonal, strict=True):
                pieces = np.split(h * v * X[:, j], [split.cut])
                b = gradient[j] + wire.reduce([piece.sum() for piece in pieces])
                point = w[j] + d[j] - b / a
                z = math.copysign(max(abs(point) - l1[j] / a, 0.0), point) - w[j] - d[j]
                d[j] += z
                v += z * X[:, j]
                visits += 1
        length, old = 1.0, total(w)
        while total(w + length * d) > old and length > 1e-6:
            length *= 0.5
        w = w + length * d
        out.append((wire.rounds - start, visits))
        if total(w) <= goal:
            return out
    raise AssertionError("newGLMNET did not get there")


def test_memory_of_lhac():
    """Tang A24: at most (4 m + 6) p numbers beside the problem, free sets being small."""
    p, m = 40_000, 10
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, p))
    problem = Problem(Logistic(), L1(0.3), as_data(X, np.sign(X[:, 0])), fit_intercept=False)
    solver = Lhac(memory=m)
    state = solver.init(problem, np.zeros(p), rng)
    state = solver.step(problem, state)  # compiled
    tracemalloc.start()
    state = solver.init(problem, np.zeros(p), rng)
    for _ in range(m + 2):
        state = solver.step(problem, state)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert state.free < p / 4
    assert peak <= 8 * (4 * m + 6) * p


def test_unmoved_coordinates_may_be_frozen(classification):
    """Tang lemma 21: the model on the standard set is the full one with any t > 0 on the rest."""
    data, top = classification("factors")
    problem = Problem(Logistic(), L1(0.3 * top), data, fit_intercept=False)
    point = problem.evaluate(np.zeros(60))
    spec, inner = spec_of(problem), Inner.seeded(np.random.default_rng(0), "cyclic", exact=True)
    index = survey(point, spec).movable()
    assert 0 < index.size < 60
    part = Subproblem.at(point, Diagonal(np.full(60, 2.0)), spec, index)
    free = part.solve(inner, scale=1.0, extra=0.0, passes=5000)
    for t in (0.01, 100.0):
        base = np.full(60, t)
        base[index] = 2.0
        whole = Subproblem.at(point, Diagonal(base), spec, np.arange(60))
        found = whole.solve(inner, scale=1.0, extra=0.0, passes=5000)
        np.testing.assert_allclose(found.w, free.w, atol=1e-14)
