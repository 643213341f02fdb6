"""LHAC: the right answers with every loss and penalty, its traps, its active sets and budgets."""

import numpy as np
import pytest

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.kernels.descent import lowrank as kernels
from auctor.lab.solvers import AcceleratedProximalQuasiNewton, OrthantWise
from auctor.losses import Hinge, Logistic, PairwiseHinge, PairwiseSquare, SquaredHinge
from auctor.losses.base import BaseLoss
from auctor.minimise import minimise
from auctor.penalties import L1, Box, ElasticNet, Sum
from auctor.problem import Problem
from auctor.solvers import Continuation, Fista, Lhac, ProximalQuasiNewton
from auctor.solvers.base import spec_of
from auctor.solvers.sparse.lhac import ACCEPTED_STEPS, FEW, SCALE_DECREASE, SHARE, greedy_set
from auctor.solvers.sparse.models.lowrank import Survey, survey

FAMILY = [
    Lhac(),
    Lhac(active_set="standard", order="cyclic"),
    Lhac(inner="log", inner_rate=1.0, order="iid", theta_shrink=1.0),
    ProximalQuasiNewton(),
    ProximalQuasiNewton("fixed"),
    AcceleratedProximalQuasiNewton(),
    AcceleratedProximalQuasiNewton("lbfgs"),
    OrthantWise(),
]


def run(problem, solver, best, *, rel=1e-8, w0=None, most=2000):
    """States up to relative accuracy ``rel``."""
    state = solver.init(problem, problem.start(w0), np.random.default_rng(0))
    states = [state]
    while state.point.value - best > rel * abs(best) and len(states) < most:
        state = solver.step(problem, state)
        states.append(state)
    return states


def optimum(problem):
    return minimise(problem, Fista(), tol=1e-12, max_iter=20_000, on_failure="ignore").value


# --- answers --------------------------------------------------------------------------------


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["factors", "chain", "binary"])
@pytest.mark.parametrize("fraction", [0.1, 0.02])
def test_the_family_agrees_with_fista(classification, kind, fraction):
    """Tang A6: values to 1e-7 relative, equal supports, gaps that bound the error."""
    data, top = classification(kind)
    problem = Problem(Logistic(), L1(fraction * top), data)
    wanted = minimise(problem, Fista(), tol=1e-11, max_iter=20_000, on_failure="ignore")
    for solver in FAMILY:
        steps = []
        found = minimise(problem, solver, tol=3e-9, max_iter=5000, rng=0, on_step=steps.append)
        assert abs(found.value - wanted.value) <= 1e-7 * wanted.value
        assert np.array_equal(np.flatnonzero(found.coef), np.flatnonzero(wanted.coef)), solver
        certified = [s for s in steps if s.certified]
        assert all(s.gap >= s.value - wanted.value - 1e-12 for s in certified)


@pytest.mark.parametrize("loss", [PairwiseHinge(0.5), PairwiseSquare(), SquaredHinge()])
@pytest.mark.parametrize("kind", ["factors", "binary"])
def test_sparse_models_of_other_losses(classification, loss, kind):
    """Sparse AUC: losses over all pairs with l1, at the optimum that Fista finds."""
    data, top = classification(kind)
    for penalty in (L1(0.2 * top), ElasticNet(0.2 * top, 0.8)):
        problem = Problem(loss, penalty, data)
        found = minimise(problem, Lhac(), tol=1e-9, rng=0)
        wanted = minimise(problem, Fista(), tol=1e-10, max_iter=20_000)
        assert found.value == pytest.approx(wanted.value, rel=1e-8)
        assert np.array_equal(found.coef != 0.0, wanted.coef != 0.0)
        assert 0 < (found.coef != 0.0).sum() < data.n_columns
        assert found.passes < wanted.passes


@pytest.mark.parametrize("loss", [Hinge(), PairwiseHinge()])
def test_non_smooth_losses_through_continuation(classification, loss):
    data, top = classification("chain", n=80, p=20)
    problem = Problem(loss, L1(0.2 * top), data)
    found = minimise(problem, Continuation(solver=Lhac()), tol=1e-4, max_iter=5000)
    wanted = minimise(problem, Continuation(solver=Fista()), tol=1e-4, max_iter=20_000)
    assert found.converged
    assert found.certified
    assert abs(found.value - wanted.value) <= max(found.gap, wanted.gap)


def test_bounds_and_weights(classification):
    data, top = classification("factors", p=30)
    weights = np.linspace(0.0, 2.0, 30)
    problem = Problem(Logistic(), Sum(L1(0.05 * top, weights=weights), Box(-0.1, 0.2)), data)
    found = minimise(problem, Lhac(), tol=1e-9)
    wanted = minimise(problem, Fista(), tol=1e-9, max_iter=20_000)
    np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-4)
    assert found.coef.min() == -0.1
    assert found.coef.max() == 0.2


def test_intercept_is_exact_after_every_step(classification):
    data, top = classification("binary")
    problem = Problem(Logistic(), L1(0.1 * top), data)
    for state in run(problem, Lhac(), optimum(problem))[1:]:
        assert abs(state.point.dscores.sum()) <= 1e-11


def test_two_passes_per_iteration(classification):
    data, top = classification("factors")
    problem = Problem(Logistic(), L1(0.1 * top), data)
    best = optimum(problem)
    before = problem.counts.passes
    states = run(problem, Lhac(), best)
    spent = problem.counts.passes - before
    # Scores, gradient, moments, curvature at the start; then one gradient and the trials' scores.
    assert spent <= 4 + 2 * (len(states) - 1) + states[-1].backtracks


def test_refuses_losses_without_a_gradient(classification):
    data, _ = classification("chain", p=10)
    with pytest.raises(IncompatibleError, match="Lhac needs a differentiable loss"):
        minimise(Problem(Hinge(), L1(0.1), data), Lhac())


# --- traps of the published listing ---------------------------------------------------------


@pytest.mark.parametrize("active_set", ["greedy", "standard"])
def test_leaves_zero(classification, active_set):
    data, top = classification("chain")
    problem = Problem(Logistic(), L1(0.1 * top), data, fit_intercept=False)
    solver = Lhac(active_set=active_set)
    state = solver.init(problem, np.zeros(problem.n_params), np.random.default_rng(0))
    first = solver.step(problem, state)
    assert first.point.value < state.point.value
    assert first.coordinate_steps >= first.free > 0


class Scaled(BaseLoss):
    """Another loss in other units."""

    def __init__(self, loss, factor):
        self.loss, self.factor = loss, factor

    def value_grad(self, scores, target):
        value, grad = self.loss.value_grad(scores, target)
        return self.factor * value, self.factor * grad


@pytest.mark.parametrize("factor", [1024.0, 1e-3, 400.0])
def test_units_of_the_loss_do_not_matter(classification, factor):
    """The mean, the sum, or any multiple of them: the same iterates."""
    data, top = classification("factors")
    counts = []
    for c in (1.0, factor):
        problem = Problem(Scaled(Logistic(), c), L1(c * 0.05 * top), data)
        counts.append(minimise(problem, Lhac(), tol=1e-8, rng=0).n_iter)
    assert max(counts) < 1.5 * min(counts)
    if factor == 1024.0:
        assert counts[0] == counts[1]


def test_units_of_the_columns_in_common_do_not_matter(classification):
    data, top = classification("factors")
    dense = np.column_stack([data.scores(e) for e in np.eye(60)])
    counts = [
        minimise(
            Problem(Logistic(), L1(c * 0.05 * top), as_data(c * dense, data.target.y)),
            Lhac(),
            tol=1e-8,
            rng=0,
        ).n_iter
        for c in (1.0, 1e-4, 1e4)
    ]
    assert max(counts) < 1.5 * min(counts)


def test_saturated_data_does_not_kill_the_scale():
    """Separable rows and hardly any penalty: curvature falls by many orders on the way."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    problem = Problem(Logistic(), L1(1e-6), as_data(X, np.where(X[:, 0] > 0, 1.0, -1.0)))
    found = minimise(problem, Lhac(), tol=1e-6, max_iter=2000)
    assert found.converged


def test_greedy_set_is_safeguarded():
    kind = np.full(1000, kernels.PINNED, dtype=np.uint8)
    kind[:400] = kernels.GROWING
    steepest = np.linspace(1.0, 2.0, 1000)
    others = np.zeros(1000), np.ones(1000)  # weights and l1, which this rule does not use
    few = Survey(steepest, kind.copy())
    assert greedy_set(few, *others)[1] is False  # nothing shrinks: take all
    kind[400 : 400 + FEW] = kernels.SHRINKING
    index, partial = greedy_set(Survey(steepest, kind), *others)
    assert partial
    assert index.size == SHARE * 400 + FEW  # the floor on the share
    assert set(range(400, 400 + FEW)) < set(index.tolist())
    assert 399 in index
    assert 0 not in index  # the least violated
    kind[410:700] = kernels.SHRINKING
    assert greedy_set(Survey(steepest, kind), *others)[0].size == 700


def test_a_full_iteration_comes_at_least_every_sixth(classification):
    data, top = classification("factors", n=300, p=200)
    problem = Problem(Logistic(), L1(0.02 * top), data)
    start = np.random.default_rng(1).normal(size=problem.n_params)
    states = run(problem, Lhac(), optimum(problem), w0=start)
    streaks = [s.streak for s in states]
    assert 1 <= max(streaks) <= 5


def test_the_scale_gets_bolder_where_every_step_passes(monkeypatch):
    """Few rows, many columns: the matrix is far too large in directions no pair has seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 30)) @ rng.normal(size=(30, 1500)) + rng.normal(size=(40, 1500))
    data = as_data(X, np.where(X[:, :3].sum(axis=1) > 0, 1.0, -1.0))
    top = np.abs(X.T @ data.target.y).max() / 80
    problem = Problem(Logistic(), L1(0.02 * top), data, fit_intercept=False)
    best = optimum(problem)
    bold = run(problem, Lhac(), best)
    assert bold[-1].shrink < 0.3 * Lhac().theta_shrink
    monkeypatch.setattr("auctor.solvers.sparse.lhac.ACCEPTED_STEPS", 10**9)
    plain = run(problem, Lhac(), best)
    assert plain[-1].shrink == Lhac().theta_shrink
    assert len(bold) < 0.7 * len(plain)


def test_the_scale_recovers_after_backtracks():
    solver = Lhac(theta_shrink=0.4)
    assert solver._shrink(0.1, 0) == 0.2
    assert solver._shrink(0.3, 0) == 0.4
    assert solver._shrink(0.3, ACCEPTED_STEPS - 1) == 0.3
    assert solver._shrink(0.3, ACCEPTED_STEPS) == pytest.approx(SCALE_DECREASE * 0.3)
    assert solver._shrink(0.0, ACCEPTED_STEPS) == pytest.approx(0.4 / 30)


# --- active sets and budgets, by counts -----------------------------------------------------


@pytest.fixture
def medium(classification):
    data, top = classification("chain", n=300, p=200)
    problem = Problem(Logistic(), L1(0.02 * top), data)
    return problem, optimum(problem)


def test_active_sets_on_the_way_down(medium):
    """Tang A21: no coordinate at 0 wants to leave at the end; the others go either way."""
    problem, best = medium
    start = 0.3 * np.random.default_rng(5).normal(size=problem.n_params)
    total = {}
    for active_set in ("greedy", "standard"):
        states = run(problem, Lhac(active_set=active_set), best, w0=start)
        total[active_set] = sum(s.free for s in states)
        end = states[-1]
        support = np.count_nonzero(problem.coef(end.point.w))
        kind = survey(end.point, spec_of(problem)).kind
        growing, shrinking = (kind == kernels.GROWING).sum(), (kind == kernels.SHRINKING).sum()
        assert growing + shrinking == support
        assert 0.25 <= shrinking / (growing + shrinking) <= 0.75
        assert states[2].free > 2 * end.free
    assert total["greedy"] <= 0.97 * total["standard"]


def test_inner_budgets(medium):
    """Tang A18: a growing budget needs about as many iterations as 200 passes, far fewer steps."""
    problem, best = medium
    runs = {
        (inner, rate): run(problem, Lhac(inner=inner, inner_rate=rate), best)
        for inner, rate in (("linear", 0.2), ("log", 1.0), ("constant", 1.0), ("constant", 200.0))
    }
    outer = {key: len(states) - 1 for key, states in runs.items()}
    steps = {key: states[-1].coordinate_steps for key, states in runs.items()}
    exact = ("constant", 200.0)
    assert outer["linear", 0.2] <= 1.25 * outer[exact]
    assert steps["linear", 0.2] <= 0.25 * steps[exact]
    assert outer["log", 1.0] >= 0.8 * outer[exact]
    assert outer["constant", 1.0] >= 1.3 * outer[exact]  # one pass: slower, yet it converges
    assert runs["constant", 1.0][-1].point.value - best <= 1e-8 * best


def test_orders_are_alike(medium):
    """Tang A23: shuffled, cyclic and random visits within 1.4 of each other."""
    problem, best = medium
    counts = [len(run(problem, Lhac(order=order), best)) for order in ("shuffled", "cyclic", "iid")]
    assert max(counts) <= 1.4 * min(counts)


def test_asking_for_the_whole_prediction_costs(classification):
    """Tang A22: rho = 1 backtracks at least twice as often as rho = 0.01, and iterates more."""
    data, top = classification("binary", n=300, p=200)
    problem = Problem(Logistic(), L1(0.02 * top), data)
    best = optimum(problem)
    loose, strict = (run(problem, Lhac(rho=rho), best) for rho in (0.01, 1.0))
    assert strict[-1].backtracks >= 2 * loose[-1].backtracks
    assert len(strict) >= 1.1 * len(loose)


def test_fewer_passes_than_first_order(medium):
    problem, _ = medium
    lhac, fista = (minimise(problem, s, tol=1e-8, max_iter=20_000) for s in (Lhac(), Fista()))
    assert lhac.passes < 0.7 * fista.passes


def test_runs_repeat(medium):
    problem, _ = medium
    settings = {"max_iter": 15, "tol": 0.0, "on_failure": "ignore"}
    one, two, other = (minimise(problem, Lhac(), rng=r, **settings) for r in (3, 3, 4))
    assert np.array_equal(one.coef, two.coef)
    assert not np.array_equal(one.coef, other.coef)


def test_stalls_instead_of_spinning():
    """At tol 0 it stops by itself once nothing improves."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5))
    problem = Problem(Logistic(), L1(0.02), as_data(X, np.where(X[:, 0] > 0, 1.0, -1.0)))
    for seed in range(10):
        settings = {"tol": 0.0, "max_iter": 2000, "on_failure": "ignore", "rng": seed}
        assert minimise(problem, Lhac(), **settings).n_iter < 300


def test_weighted_target_is_repeated_rows():
    rng = np.random.default_rng(1)
    X, times = rng.normal(size=(40, 6)), rng.integers(1, 4, size=40)
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    one = Problem(Logistic(), L1(0.03), as_data(X, y, weight=times))
    two = Problem(Logistic(), L1(0.03), as_data(np.repeat(X, times, 0), np.repeat(y, times)))
    coefs = [minimise(p, Lhac(), tol=1e-11).coef for p in (one, two)]
    np.testing.assert_allclose(coefs[0], coefs[1], atol=1e-5)


@pytest.mark.parametrize(
    "setting",
    [
        {"memory": 0},
        {"rho": 0.0},
        {"active_set": "all"},
        {"inner": "quadratic"},
        {"inner_rate": 0.0},
        {"order": "random"},
        {"theta_shrink": 0.0},
        {"theta_shrink": 1.5},
        {"prox": -0.1},
        {"growth": 1.0},
    ],
)
def test_bad_settings(setting):
    with pytest.raises(ParameterError, match=f"Lhac needs {next(iter(setting))}"):
        Lhac(**setting)
