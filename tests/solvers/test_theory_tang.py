"""Tang's theorems on inexact proximal quasi-Newton methods, on the code of the library."""

import math
from functools import partial

import numpy as np
import pytest

from auctor.data import as_data
from auctor.losses import Squared
from auctor.minimise import minimise
from auctor.penalties import L1
from auctor.problem import Problem
from auctor.solvers import Fista
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.matrices import LbfgsMatrix
from auctor.solvers.sparse.models.lowrank import Inner, ModelStep, Subproblem, descend
from tests.solvers.test_theory import FLAT, matrix_of, sloppy_run, theorem_15


class Fixed:
    """A model that an inner method leaves after some work; `error` is what is left of its gap."""

    def __init__(self, model, work):
        self.model, self.work = model, work
        self.matrix = self.error = None

    def gap_of(self, u, best):
        """Q(u) - Q(best), for the matrix of the last solve."""
        model, w = self.model, self.model.origin
        values = [
            model.gradient @ (v - w) + 0.5 * (v - w) @ self.matrix @ (v - w)
            + model.spec.l1 @ np.abs(v) for v in (u, best)
        ]  # fmt: skip
        return max(values[0] - values[1], 0.0)

    def solve(self, inner, *, scale, extra, passes):
        exact = inner._replace(tiny=1e-30)
        best = self.model.solve(exact, scale=scale, extra=extra, passes=passes).w
        restricted = self.model.model
        self.matrix = scale * restricted.matrix() + extra * np.diag(restricted.base)
        u = self.work(self.model, self.matrix, best, scale, extra)
        self.error, d = self.gap_of(u, best), u - self.model.origin
        return ModelStep(u, self.model.gradient @ d + 0.5 * d @ self.matrix @ d, 1)


def inexact_run(case, work, count, *, rho, memory=5):
    """Steps of the inexact method with an inner method: (point, next point, H, error)."""
    problem = case.problem
    point = problem.evaluate(np.zeros(problem.n_params))
    everything, spec = np.arange(problem.n_columns), spec_of(problem)
    matrix = LbfgsMatrix(memory, problem.n_columns, case.high)
    inner = Inner.seeded(np.random.default_rng(0), "cyclic", exact=True)
    for k in range(1, count + 1):
        model = Fixed(Subproblem.at(point, matrix, spec, everything), partial(work, k))
        done = descend(
            problem, point, model, inner, passes=5000, rho=rho,
            harder=lambda scale, extra: (scale, 2.0 * (1.0 + extra) - 1.0),
        )  # fmt: skip
        new = point if done is None else done.point
        yield point, new, model.matrix, model.error
        matrix.add(new.w - point.w, new.gradient - point.gradient)
        point = new


@pytest.mark.parametrize("kind", ["identity", "lbfgs"])
@pytest.mark.parametrize("size", [0.0, 0.3])
def test_the_bound_with_the_change_of_the_matrices(quadratic, kind, size):
    """Tang, theorem 5, with M_H of assumption 2 from the run itself."""
    rho, case = 0.5, quadratic(FLAT, l1=1e-3)
    errors = [(size / k) ** 2 for k in range(1, 61)]
    steps = list(sloppy_run(case, errors, matrix_of(case, kind), rho=rho))
    eigen = np.array([np.linalg.eigvalsh(H)[[0, -1]] for _, _, H, _ in steps])
    low, high = eigen[:, 0].min(), eigen[:, 1]
    start, radius = steps[0][0], max(np.linalg.norm(old.w - case.w) for old, *_ in steps)
    unit = [H / top for (_, _, H, _), top in zip(steps, high, strict=True)]
    change = [0.0]
    for i, (_, new, _, _) in enumerate(steps[:-1]):
        off = new.w - case.w
        change.append(change[-1] + off @ (unit[i + 1] - unit[i]) @ off)
    first = start.w - case.w
    fixed = 0.5 * first @ unit[0] @ first + (1.0 - rho) * case.excess(start) / (rho * low)
    share = np.array(errors) / high
    for k in range(1, 61):
        spent = share[:k].sum() + radius * np.sqrt(2.0 * share[:k]).sum()
        bound = (fixed + 0.5 * max(change[:k]) + spent) / (1.0 / high[:k]).sum()
        assert case.excess(steps[k - 1][1]) <= bound


def bound_of_run(case, steps, a, rho):
    """``max(b a, 1/c)`` of theorem 15 for the matrices and distances of a run."""
    eigen = np.array([np.linalg.eigvalsh(H)[[0, -1]] for _, _, H, _ in steps])
    radius = max(np.linalg.norm(old.w - case.w) for old, *_ in steps)
    slope = 1e-3 * math.sqrt(case.problem.n_columns)
    return theorem_15(eigen[:, 0].min(), eigen[:, 1].max(), radius, slope, rho, a)


def test_inner_steps_with_accelerated_gradient(quadratic):
    """Tang, theorem 16: ``alpha k + beta`` steps of FISTA leave ``(a / k)^2``, so K steps do."""
    rho, alpha, beta, case = 0.5, 3, 2, quadratic(FLAT, l1=1e-3)
    n, allowed = FLAT.size, []

    def fista(k, model, H, best, scale, extra):
        """The model as least squares, and the solver of the library on it."""
        root = np.linalg.cholesky(H).T
        right = np.linalg.solve(root.T, H @ model.origin - model.gradient)
        data = as_data(math.sqrt(n) * root, math.sqrt(n) * right)
        problem = Problem(Squared(), L1(1e-3), data, fit_intercept=False)
        top = float(np.linalg.eigvalsh(H)[-1])
        # FISTA's own bound: 2 M |u_0 - u*|^2 / (l + 1)^2, twice that with steps of half its size.
        allowed.append(4.0 * top * float(((best - model.origin) ** 2).sum()))
        return minimise(problem, Fista(restart=False), w0=model.origin, tol=0.0,
                        max_iter=alpha * k + beta, on_failure="ignore").coef  # fmt: skip

    steps = list(inexact_run(case, fista, 40, rho=rho))
    k = np.arange(1, 41)
    errors = np.array([error for *_, error in steps])
    a = math.sqrt(max(allowed)) / alpha
    assert a <= 1.0
    assert (errors <= (a * alpha / (alpha * k + beta)) ** 2 + 1e-15).all()
    gaps = np.array([case.excess(new) for _, new, _, _ in steps])
    top = bound_of_run(case, steps, a, rho)
    assert (gaps[1:] <= top / k[:-1]).all()
    # Steps so far, K, are enough for the accuracy that the theorem gives for them.
    for t in (2, 10, 40):
        spent = beta * t + alpha * (t - 1) * t // 2
        assert spent == sum(alpha * i + beta for i in range(t))
        assert gaps[t - 1] <= top / (t - 1)


def test_inner_steps_with_a_linear_rate(quadratic):
    """Tang, theorem 17: ``2 log k`` steps, to the base of the inner rate, are enough."""
    rho, rate, spent, case = 0.5, 0.5, [], quadratic(FLAT, l1=1e-3)
    inner = Inner.seeded(np.random.default_rng(0), "cyclic", exact=True)

    def passes(k, model, H, best, scale, extra):
        count = math.ceil(2.0 * math.log(k) / math.log(1.0 / rate))
        spent.append(count)
        start = model.origin.copy()
        if not count:
            return start
        return model.solve(inner, scale=scale, extra=extra, passes=count).w

    steps = list(inexact_run(case, passes, 60, rho=rho))
    k = np.arange(1, 61)
    # M_Q bounds the decrease of a model, and the rate of a pass is checked, not assumed.
    most = max(case.excess(old) for old, *_ in steps) / rho
    errors = np.array([error for *_, error in steps])
    assert (errors <= most / k**2 + 1e-15).all()
    gaps = np.array([case.excess(new) for _, new, _, _ in steps])
    assert (gaps[1:] <= bound_of_run(case, steps, math.sqrt(most), rho) / k[:-1]).all()
    assert sum(spent) <= 2 * 60 * math.log(60) / math.log(1.0 / rate) + 60


def test_probability_of_random_coordinate_descent(quadratic):
    """Tang, lemma 19: after that many random coordinate steps the error is rarely large."""
    case = quadratic(np.geomspace(0.2, 1.0, 8), l1=0.05)
    point, n = case.problem.evaluate(np.zeros(8)), 8
    matrix, spec = LbfgsMatrix(3, n, 1.0), spec_of(case.problem)
    rng = np.random.default_rng(1)
    for _ in range(3):
        s = rng.normal(size=n)
        matrix.add(s, case.A @ s)
    model = Subproblem.at(point, matrix, spec, np.arange(n))
    H = model.model.matrix()
    eigen = np.linalg.eigvalsh(H)
    exact = Inner.seeded(rng, "cyclic", exact=True)
    best = model.solve(exact, scale=1.0, extra=0.0, passes=5000)

    def value(found):
        return found.rise + spec.l1 @ np.abs(found.w)

    start = -value(best)
    for phi, p in ((1e-3 * start, 0.5), (1e-3 * start, 0.1), (1e-6 * start, 0.2)):
        steps = n * (1.0 + eigen[-1] / eigen[0]) * math.log(start / (phi * p))

        def failures(passes, phi=phi):
            runs = [
                model.solve(Inner.seeded(np.random.default_rng(seed), "iid", exact=True),
                            scale=1.0, extra=0.0, passes=passes)
                for seed in range(200)
            ]  # fmt: skip
            return np.mean([value(run) - value(best) >= phi for run in runs])

        assert failures(math.ceil(steps / n)) <= p
        assert failures(1) > p  # one pass is not enough
