"""Accelerated proximal quasi-Newton: its bounds at every iteration, and its parts."""

import math

import numpy as np
import pytest

from auctor.core.errors import ParameterError
from auctor.data import as_data
from auctor.lab.solvers import AcceleratedProximalQuasiNewton
from auctor.lab.solvers.accelerated import admissible
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import L1, Box
from auctor.problem import Problem
from auctor.solvers import Fista, ProximalQuasiNewton

EIGENVALUES = np.geomspace(1e-3, 2.0, 30)


def begun(problem, solver):
    """The state when the warm-up is over."""
    state = solver.init(problem, np.zeros(problem.n_params), np.random.default_rng(0))
    while solver.variant == "fixed" and state.iteration < solver.warmup:
        state = solver.step(problem, state)
    return state


def dense(state):
    everything = np.arange(state.point.w.size)
    matrix = state.pairs if state.diagonal is None else state.diagonal
    return matrix.restrict(everything).matrix()


@pytest.mark.sample(3)
@pytest.mark.parametrize("warmup", [1, 4, 10])
def test_fixed_matrix_meets_its_bound_at_every_iteration(quadratic, warmup):
    """Lemma 9, theorem 10 and lemma 10, with exact subproblems."""
    case = quadratic(EIGENVALUES, l1=0.01)
    solver = AcceleratedProximalQuasiNewton(exact=True, restart=False, warmup=warmup)
    state = begun(case.problem, solver)
    H, away = dense(state), state.point.w - case.w
    low = np.linalg.eigvalsh(H)[0]
    distance, roots = away @ H @ away, 0.0
    errors = []
    for k in range(1, 121):
        state = solver.step(case.problem, state)
        roots += math.sqrt(state.sigma)
        weight = state.sigma * state.t**2
        assert weight >= 0.25 * roots**2 * (1.0 - 1e-12)
        error = case.excess(state.point)
        assert error <= distance / (2.0 * weight) + 1e-14
        assert state.sigma >= solver.shrink * min(1.0, low / case.high)
        least = solver.shrink * min(1.0, low / case.high)
        assert error <= 2.0 * distance / (least * k * k) + 1e-14
        errors.append(error)
    np.testing.assert_array_equal(dense(state), H)
    assert errors[-1] < 1e-3 * errors[0]


def test_diagonal_matrices_keep_the_condition_on_sigma(quadratic):
    """Theorem 10 with a matrix of its own in every iteration: sigma_k H_k never grows."""
    case = quadratic(EIGENVALUES, l1=0.01)
    data = as_data(10.0 * case.A, np.sign(case.problem.data.target.y))
    problem = Problem(Logistic(), L1(0.001), data, fit_intercept=False)
    best = minimise(problem, ProximalQuasiNewton(), tol=1e-14, max_iter=3000, on_failure="ignore")
    solver = AcceleratedProximalQuasiNewton("diagonal", exact=True, restart=False)
    state = begun(problem, solver)
    away, ceiling, distance = state.point.w - best.coef, None, 0.0
    for _ in range(60):
        state = solver.step(problem, state)
        held = state.sigma * state.scale * state.diagonal.base
        if ceiling is None:
            distance = away @ (held * away)
        else:
            assert (held <= ceiling * (1.0 + 1e-12)).all()
        ceiling = held
        error = state.point.value - best.value
        assert error <= distance / (2.0 * state.sigma * state.t**2) + 1e-12


def test_alternating_matrices_leave_no_rate():
    """diag(10, 1), diag(1, 10), ...: sigma must shrink tenfold every time."""
    one, other = np.array([10.0, 1.0]), np.array([1.0, 10.0])
    assert admissible(one, other) == admissible(other, one) == 0.1
    assert admissible(one, one) == 1.0
    sigma, t = 1.0, 1.0
    for _ in range(12):
        t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t / 0.1))
        sigma *= 0.1
    assert sigma * t * t < 2.0  # the bound 1/(sigma t^2) has gone nowhere


def test_first_step_has_no_momentum(quadratic):
    case = quadratic(EIGENVALUES)
    solver = AcceleratedProximalQuasiNewton(warmup=4)
    state = begun(case.problem, solver)
    assert state.iteration == 4
    assert state.pairs.count == 3
    assert (state.t, state.sigma) == (0.0, 1.0)
    new = solver.step(case.problem, state)
    assert new.t == 1.0
    assert new.dual is state.point


def test_backtracking_moves_the_extrapolated_point(quadratic):
    """t depends on sigma, so a failed test costs a new gradient as well."""
    case = quadratic(EIGENVALUES, l1=0.01)
    solver = AcceleratedProximalQuasiNewton(growth=1.6, restart=False)
    state = begun(case.problem, solver)
    for _ in range(2):  # no momentum yet
        state = solver.step(case.problem, state)
    for _ in range(30):
        before = (state.backtracks, case.problem.counts.passes)
        state = solver.step(case.problem, state)
        failures = state.backtracks - before[0]
        assert case.problem.counts.passes - before[1] == 2 * (failures + 1)
    assert state.backtracks > 5


@pytest.mark.slow  # test_fixed_matrix_meets_its_bound_at_every_iteration checks the rate
def test_quadratic_law_beats_the_plain_method(quadratic):
    case = quadratic(np.geomspace(1e-3, 1.0, 40), l1=1e-3)
    plain = ProximalQuasiNewton("fixed", rho=1.0, warmup=3, memory=3)
    fast = AcceleratedProximalQuasiNewton(warmup=3, memory=3)
    counts = [
        minimise(case.problem, s, tol=1e-6, max_iter=20_000, on_failure="ignore").n_iter
        for s in (plain, fast)
    ]
    assert counts[0] > 1.4 * counts[1]


@pytest.mark.parametrize("variant", ["fixed", "lbfgs", "diagonal"])
def test_agrees_with_fista(classification, variant):
    data, top = classification("factors")
    problem = Problem(Logistic(), L1(0.05 * top), data)
    found, wanted = (
        minimise(problem, solver, tol=1e-10, max_iter=20_000)
        for solver in (AcceleratedProximalQuasiNewton(variant), Fista())
    )
    assert found.value == pytest.approx(wanted.value, rel=1e-9)


def test_extrapolated_points_outside_the_box(classification):
    data, _ = classification("chain", p=10)
    problem = Problem(Logistic(), Box(-0.2, 0.3), data)
    for variant in ("fixed", "lbfgs", "diagonal"):
        solver = AcceleratedProximalQuasiNewton(variant)
        found = minimise(problem, solver, tol=1e-8, max_iter=5000)
        assert found.converged
        assert found.coef.min() >= -0.2
        assert found.coef.max() <= 0.3


@pytest.mark.parametrize(
    "setting",
    [
        {"variant": "full"},
        {"memory": 0},
        {"warmup": 0},
        {"growth": 0.9},
        {"shrink": 1.0},
        {"order": "random"},
    ],
)
def test_bad_settings(setting):
    name = next(iter(setting))
    with pytest.raises(ParameterError, match=f"AcceleratedProximalQuasiNewton needs {name}"):
        AcceleratedProximalQuasiNewton(**setting)
