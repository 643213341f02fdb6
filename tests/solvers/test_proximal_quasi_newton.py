"""Inexact proximal quasi-Newton: its rates on constructed problems, and its parts."""

import numpy as np
import pytest

from auctor.core.errors import ParameterError
from auctor.data import as_data
from auctor.losses import Huber, Logistic, PairwiseHinge
from auctor.losses.base import BaseLoss
from auctor.minimise import minimise
from auctor.penalties import L1
from auctor.problem import Problem
from auctor.solvers import ProximalQuasiNewton
from auctor.solvers.sparse.matrices import Diagonal
from auctor.solvers.sparse.quasi_newton import EXACT_PASSES, loss_diagonal, theoretical_steps

EIGENVALUES = np.geomspace(0.05, 2.0, 30)


def run(problem, solver, steps, *, w0=None):
    """States and, for each step, the dense matrix its model began with."""
    w0 = np.zeros(problem.n_params) if w0 is None else w0
    state = solver.init(problem, w0, np.random.default_rng(0))
    everything = np.arange(problem.n_columns)
    for _ in range(steps):
        model = state.pairs.restrict(everything)
        if solver.hessian == "diagonal":
            model = Diagonal(loss_diagonal(problem, state.point, state.pairs)).restrict(everything)
        new = solver.step(problem, state)
        yield state, new, new.scale * model.matrix() + new.extra * np.diag(model.base)
        if new.stalled:
            return
        state = new


@pytest.mark.slow  # exact subproblems; the rate itself is tested by `test_linear_rate`
@pytest.mark.parametrize("hessian", ["lbfgs", "diagonal", "fixed"])
@pytest.mark.parametrize("rho", [1.0, 0.1])
def test_exact_steps_contract_as_promised(quadratic, hessian, rho):
    """Ghanbari theorem 5: ``D_{k+1} <= (1 - rho g/(g + M)) D_k``, M the top of that step's H."""
    case = quadratic(EIGENVALUES)
    solver = ProximalQuasiNewton(hessian, exact=True, rho=rho)
    ratios = []
    for old, new, H in run(case.problem, solver, 60):
        bound = 1.0 - rho * case.low / (case.low + np.linalg.eigvalsh(H)[-1])
        before, after = case.excess(old.point), case.excess(new.point)
        assert after <= bound * before + 1e-14
        ratios.append(after / before if before > 1e-11 else 0.0)
    assert case.excess(new.point) < 1e-6
    assert max(ratios) <= 1.0


def test_inexact_steps_contract_up_to_their_error(quadratic):
    """``D_{k+1} <= r D_k + rho e_k``, e_k how far the model is from its minimum."""
    case = quadratic(EIGENVALUES)
    problem, errors = case.problem, []
    for old, new, H in run(problem, ProximalQuasiNewton(rho=0.5), 40):
        least = model_minimum(problem, old.point, H)
        d = new.point.w - old.point.w
        reached = old.point.gradient @ d + 0.5 * d @ H @ d + new.point.penalty
        error = max(reached - least, 0.0)
        bound = 1.0 - 0.5 * case.low / (case.low + np.linalg.eigvalsh(H)[-1])
        before, after = case.excess(old.point), case.excess(new.point)
        assert after <= bound * before + 0.5 * error + 1e-14
        errors.append(error)
    assert max(errors[:5]) > 1e-8  # it is inexact,
    assert max(errors[-5:]) < 1e-6 * max(errors)  # less and less


def model_minimum(problem, point, H):
    """Minimum of the model over all coordinates, by proximal gradient on the dense matrix."""
    u, L = point.w.copy(), np.linalg.eigvalsh(H)[-1]
    for _ in range(2000):
        u = problem.prox(u - (point.gradient + H @ (u - point.w)) / L, 1.0 / L)
    d = u - point.w
    return point.gradient @ d + 0.5 * d @ H @ d + problem.penalty.value(u)


@pytest.mark.slow  # test_contracts.py finds the known optima with the same solver
def test_linear_rate(quadratic):
    """Strong convexity: the logarithm of the error falls along a line."""
    case = quadratic(EIGENVALUES)
    for solver in (ProximalQuasiNewton(), ProximalQuasiNewton("diagonal", exact=True)):
        errors = [case.excess(new.point) for _, new, _ in run(case.problem, solver, 200)]
        logs = np.log(np.array([e for e in errors if e > 1e-12]))
        half = len(logs) // 2
        assert errors[-1] < 1e-11
        # The second half falls at least half as fast as the first: no slower law than a line.
        assert logs[half] - logs[-1] >= 0.5 * (logs[0] - logs[half]) * (len(logs) - half) / half


@pytest.mark.parametrize("exact", [True, False])
def test_sublinear_rate_without_strong_convexity(quadratic, exact):
    """``k (F_k - F*)`` stays bounded though half of the eigenvalues are tiny."""
    case = quadratic(np.concatenate((np.full(15, 1e-7), np.geomspace(0.01, 1.0, 15))), l1=1e-3)
    solver = ProximalQuasiNewton("diagonal", exact=exact, rho=1.0)
    errors = [case.excess(new.point) for _, new, _ in run(case.problem, solver, 300)]
    scaled = np.arange(1, len(errors) + 1) * np.array(errors)
    distance = float(case.w @ case.w)
    assert scaled.max() <= 2.0 * case.high * distance
    assert errors[-1] < 0.01 * errors[0]


@pytest.mark.slow  # exact subproblems
def test_exact_subproblems_save_iterations_if_anything(classification):
    data, top = classification("chain", rng=1)
    problem = Problem(Logistic(), L1(0.05 * top), data)
    few, many = (
        minimise(problem, ProximalQuasiNewton(exact=exact), tol=1e-8, rng=0)
        for exact in (False, True)
    )
    assert few.value == pytest.approx(many.value, abs=1e-8)
    assert few.n_iter >= 0.9 * many.n_iter


def test_theoretical_rule():
    assert theoretical_steps(1, 100, 0.1) == 0.0
    assert theoretical_steps(10, 100, 0.1) == pytest.approx(92092, abs=1)
    solver = ProximalQuasiNewton(inner="theoretical", conditioning=0.1)
    assert solver.passes(10, 100) == 921
    assert solver.passes(1, 100) == 1
    assert ProximalQuasiNewton().passes(30, 100) == 11
    assert ProximalQuasiNewton(exact=True).passes(1, 100) == EXACT_PASSES


def test_theoretical_rule_needs_no_more_iterations(classification):
    data, top = classification("factors", p=20)
    counts = {}
    for inner in ("practical", "theoretical"):
        problem = Problem(Logistic(), L1(0.05 * top), data)
        solver = ProximalQuasiNewton(inner=inner, conditioning=1.0)
        counts[inner] = minimise(problem, solver, tol=1e-8, rng=0).n_iter
    assert counts["theoretical"] <= 1.2 * counts["practical"]


def test_relaxed_test_backtracks_less(classification):
    data, top = classification("factors", rng=2)
    problem = Problem(Logistic(), L1(0.02 * top), data)
    count = {}
    for rho in (1.0, 0.01):
        *_, (_, last, _) = run(problem, ProximalQuasiNewton(rho=rho, memory=4), 60)
        count[rho] = last.backtracks
    assert count[0.01] < count[1.0]


def test_fixed_matrix_stays(classification):
    data, top = classification("chain")
    problem = Problem(Logistic(), L1(0.05 * top), data)
    solver = ProximalQuasiNewton("fixed", warmup=5)
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    for _ in range(5):
        state = solver.step(problem, state)
    before = state.pairs.steps.copy()
    for _ in range(10):
        state = solver.step(problem, state)
    assert np.array_equal(state.pairs.steps, before)
    assert state.pairs.count == 5


class OnlyGradient(BaseLoss):
    """A smooth loss of order 1."""

    targets = "real"

    def value_grad(self, scores, target):
        return Huber(0.5).value_grad(scores, target)


@pytest.mark.parametrize("hessian", ["lbfgs", "diagonal", "fixed"])
def test_a_gradient_is_all_it_needs(hessian):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    data = as_data(X, X[:, 0] + rng.normal(size=60))
    found, wanted = (
        minimise(Problem(loss, L1(0.05), data), ProximalQuasiNewton(hessian), tol=1e-8)
        for loss in (OnlyGradient(), Huber(0.5))
    )
    assert found.value == pytest.approx(wanted.value, abs=1e-9)


def test_diagonal_where_the_loss_is_flat():
    """No pair is inside its window at the start, so the diagonal is 0 there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    data = as_data(X, np.where(X[:, 0] > 0, 1.0, -1.0))
    problem = Problem(PairwiseHinge(0.5), L1(0.05), data)
    assert minimise(problem, ProximalQuasiNewton("diagonal"), tol=1e-6, max_iter=5000).converged


def test_model_only_holds_what_may_move(classification):
    data, top = classification("chain")
    problem = Problem(Logistic(), L1(0.9 * top), data)
    *_, (_, last, _) = run(problem, ProximalQuasiNewton(), 8, w0=problem.start())
    assert 1 <= last.free <= 10
    *_, (_, last, _) = run(problem, ProximalQuasiNewton(exact=True), 2, w0=problem.start())
    assert last.free == problem.n_columns


@pytest.mark.parametrize(
    "setting",
    [
        {"hessian": "full"},
        {"memory": 0},
        {"rho": 0.0},
        {"rho": 1.5},
        {"inner": "never"},
        {"conditioning": 0.0},
        {"order": "random"},
        {"prox": -1.0},
        {"growth": 1.0},
        {"relax": 0.9},
        {"warmup": 0},
    ],
)
def test_bad_settings(setting):
    with pytest.raises(ParameterError, match=f"ProximalQuasiNewton needs {next(iter(setting))}"):
        ProximalQuasiNewton(**setting)
