"""Stochastic solvers against their theory: T-11 to T-14, T-16 and T-17 of the notes."""

from __future__ import annotations

import numpy as np
import pytest

from auctor.core.errors import ConvergenceWarning, IncompatibleError, ParameterError
from auctor.core.result import Counts, Status
from auctor.data import as_data
from auctor.lab.solvers import Adam, Sgd, StochasticLbfgs, SubsampledNewton
from auctor.lab.solvers.stochastic import Batches, Iterate
from auctor.losses import Logistic, PairwiseSquare, Squared
from auctor.minimise import minimise
from auctor.penalties import L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Lbfgs, Newton


def integers():
    """X5: ``(1/20) sum (x - i)^2`` over i = 1..10, with gradients x - i."""
    data = as_data(np.ones((10, 1)), np.arange(1.0, 11.0))
    return Problem(Squared(), NoPenalty(), data, fit_intercept=False)


def logistic(
    n: int,
    d: int = 20,
    seed: int = 0,
    scales: bool = False,
    strength: float = 1e-2,
    noise: float = 1.0,
):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=d) / np.sqrt(d)
    X = rng.normal(size=(n, d))
    y = np.where(X @ truth + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    if scales:
        X = X * 10.0 ** np.linspace(-1.5, 1.5, d)
    return Problem(Logistic(), L2(strength), as_data(X, y), fit_intercept=False)


def quiet(problem, solver, **options):
    return minimise(problem, solver, rng=0, on_failure="ignore", **options)


def test_gradients_of_the_ten_integers():
    """X5: the mean of the rows' slopes is the slope, and their variance is 8.25."""
    problem = integers()
    parts = [problem.on_rows(np.array([k]), Counts()) for k in range(10)]
    for x in (-5.0, 2.0):
        w = np.array([x])
        slopes = np.array([part.total_gradient(part.evaluate(w))[0] for part in parts])
        np.testing.assert_allclose(slopes, x - np.arange(1.0, 11.0))
        assert problem.total_gradient(problem.evaluate(w))[0] == pytest.approx(slopes.mean())
        assert slopes.var() == pytest.approx(8.25)


class Noted(Batches):
    """Batches that note the rows which were drawn."""

    def draw(self, size):
        rows = super().draw(size)
        self.seen = [*getattr(self, "seen", []), rows.data.target.y.mean()]
        return rows


def test_sgd_takes_the_halving_steps_of_the_notes():
    """X7: ceil(15 2^i / i) steps of 0.3 / 2^i, each ``x - a (x - row)``; the end is near 5.5."""
    lengths = [int(np.ceil(15 * 2**i / i)) for i in range(1, 11)]
    assert lengths == [30, 30, 40, 60, 96, 160, 275, 480, 854, 1536]
    batches, iterate = Noted(integers(), np.random.default_rng(0)), Iterate.at(np.array([-5.0]))
    solver, x = Sgd(step_size=0.3, batch=1, schedule="constant"), -5.0
    for step in np.repeat(0.3 / 2.0 ** np.arange(1, 11), lengths):
        solver.advance(batches, iterate, 1, step)
        x = x - step * (x - batches.seen[-1])
        assert iterate.w[0] == pytest.approx(x, rel=1e-12)
    assert np.ptp(np.unique(batches.seen, return_counts=True)[1]) <= 1  # every row once per epoch
    assert 0.5 * (x - 5.5) ** 2 < 10.0 / sum(lengths)


@pytest.mark.slow  # test_contracts.py finds the known optima with the same solver
def test_a_constant_step_ends_at_a_floor_that_halving_leaves():
    problem = logistic(2000)
    best = minimise(problem, Newton(), tol=1e-10).value
    gaps = [
        quiet(problem, Sgd(step_size=a, batch=1, schedule="constant"), max_iter=4).trace.value[-1]
        - best
        for a in (0.2, 0.1, 0.05)
    ]
    assert gaps[0] > 1.4 * gaps[1] > 1.9 * gaps[2]
    halving = quiet(problem, Sgd(step_size=0.1, batch=8), max_iter=200, tol=1e-6)
    assert halving.converged
    harmonic = Sgd(step_size=0.2, batch=1, schedule="harmonic", decay=200.0)
    assert quiet(problem, harmonic, max_iter=4).trace.value[-1] - best < 0.5 * gaps[0]


def test_divergence_is_a_status():
    for solver in (
        Sgd(step_size=1e3, schedule="constant", batch=8),
        StochasticLbfgs(step_size=50.0, schedule="constant"),
    ):
        found = quiet(logistic(500, scales=True), solver, max_iter=2000)
        assert np.isfinite(found.coef).all()
        assert np.isfinite(found.value)
        assert not found.converged
    squares = quiet(integers(), Sgd(step_size=5.0, schedule="constant", batch=2), max_iter=2000)
    assert squares.status is Status.DIVERGED
    assert np.isfinite(squares.coef).all()


def test_an_objective_that_grows_and_stays_finite_has_diverged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5)) * [1.0, 1.0, 1.0, 1.0, 30.0]
    problem = Problem(Squared(), L2(1e-3), as_data(X, X @ rng.normal(size=5)))
    solver = StochasticLbfgs(step_size=3.0, schedule="constant")
    with pytest.warns(ConvergenceWarning, match="take smaller steps"):
        found = minimise(problem, solver, max_iter=5, rng=0)
    assert found.status is Status.DIVERGED
    assert found.value <= found.trace.value[0]


@pytest.mark.slow  # the other tests of this file use the same sampling of rows
def test_cost_does_not_grow_with_the_rows():
    """T-13: to one per cent of the first gap, flat for stochastic gradients."""
    costs, ratios = [], []
    for n in (2000, 8000, 32000):
        problem = logistic(n, d=30)
        best = minimise(problem, Newton(), tol=1e-8).value
        first = problem.evaluate(np.zeros(30)).value - best
        rng = np.random.default_rng(0)
        solver = Sgd(step_size=0.2, batch=10, schedule="harmonic")
        batches, iterate = Batches(problem, rng), Iterate.at(np.zeros(30))
        gap, used = first, 0
        while gap > 0.01 * first and iterate.k < 20000:
            for _ in range(10):
                iterate.k += 1
                solver.advance(batches, iterate, 10, 0.5 / (1.0 + iterate.k / 200.0))
                used += 10
            gap = problem.evaluate(iterate.w).value - best
        assert gap <= 0.01 * first
        costs.append(used)
        full = quiet(
            problem, Lbfgs(), tol=0.0, on_step=lambda s, v=best + 0.01 * first: s.value < v
        )
        ratios.append(full.passes * n / 2 / used)
    assert max(costs) <= 2.5 * min(costs)
    assert ratios[-1] > 5 * ratios[0]


@pytest.mark.sample(2)
@pytest.mark.parametrize("form", ["momentum", "sequence"])
def test_nesterov_keeps_his_bound_and_beats_gradients(form):
    """T-11 on a tridiagonal quadratic with full batches."""
    d = 200
    A = 2.0 * np.eye(d) - np.eye(d, k=1) - np.eye(d, k=-1)
    root = np.sqrt(d) * np.linalg.cholesky(A).T
    y = np.linalg.solve(root.T, d * np.eye(d)[0])
    problem = Problem(Squared(), NoPenalty(), as_data(root, y), fit_intercept=False)
    star = np.linalg.solve(A, np.eye(d)[0])
    best, gaps = problem.evaluate(star).value, {}
    for name in ("no", form):
        solver = Sgd(step_size=0.25, batch=d, schedule="constant", nesterov=name)
        trace = np.array(quiet(problem, solver, tol=0.0, max_iter=300).trace.value) - best
        k = np.arange(1, 301)
        square = float(star @ star)
        bound = square / (2 * 0.25 * k) if name == "no" else 2 * 4.0 * square / k**2
        if name != "momentum":  # the theorem is of the other form
            assert (trace[1:] <= bound * (1 + 1e-9)).all()
        gaps[name] = trace[-1]
    assert gaps["no"] >= 10 * gaps[form]


def test_first_step_of_adam_is_its_step_size():
    """T-14: bias correction, and no effect of the scale of a column."""
    problem = logistic(50, d=4)
    for scale in (1.0, 1e3):
        X = problem.data.to_dense() * np.array([scale, 1.0, 1.0, 1.0])
        other = Problem(
            Logistic(), NoPenalty(), as_data(X, problem.data.target.y), fit_intercept=False
        )
        solver, iterate = Adam(epsilon=0.0), Iterate.at(np.zeros(4))
        solver.advance(Batches(other, np.random.default_rng(0)), iterate, 50, 0.01)
        np.testing.assert_allclose(np.abs(iterate.w), 0.01, rtol=1e-12)


@pytest.mark.slow
def test_curvature_helps_where_scales_differ():
    """T-16 and T-17: ahead of plain stochastic gradients with the best of three steps."""
    problem = logistic(1000, scales=True, strength=1e-4, noise=0.3)
    best = minimise(problem, Newton(), tol=1e-8).value
    top = 0.25 * np.linalg.eigvalsh(np.cov(problem.data.to_dense().T, bias=True))[-1]

    def gap(solver, epochs):
        return quiet(problem, solver, tol=0.0, max_iter=epochs).trace.value[-1] - best

    plain = min(
        gap(Sgd(step_size=a / top, batch=64, schedule="constant"), 400) for a in (0.5, 1.0, 2.0)
    )
    newton = SubsampledNewton(schedule="constant", curvature_batch=64)
    assert gap(newton, 20) < plain
    often, rarely = (StochasticLbfgs(schedule="harmonic", every=k) for k in (1, 20))
    assert gap(rarely, 200) < plain
    assert gap(often, 200) > plain  # pairs of single steps are noise


def test_batches_hand_out_every_row_once_in_a_pass():
    batches = Batches(integers(), np.random.default_rng(0))
    seen = np.concatenate([batches.draw(2).data.target.y for _ in range(5)])
    assert sorted(seen) == list(range(1, 11))


def test_losses_of_pairs_and_bad_parameters_are_refused():
    data = as_data(np.eye(2), [1, -1])
    with pytest.raises(IncompatibleError):
        minimise(Problem(PairwiseSquare(), L2(0.1), data), Sgd())
    for bad in ({"step_size": 0.0}, {"batch": 0}, {"schedule": "never"}, {"momentum": 1.0}):
        with pytest.raises(ParameterError):
            Sgd(**bad)
