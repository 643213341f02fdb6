"""Coordinate descent on quadratic losses: both kinds of updates, answers, refusals."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import ElasticNet as TheirNet
from sklearn.linear_model import Lasso

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.core.result import Status
from auctor.data import as_data
from auctor.lab.solvers import CoordinateDescent, ProximalGradient
from auctor.losses import Hinge, Huber, Logistic, PairwiseHinge, PairwiseSquare, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, L2, Box, ElasticNet, GroupL2, NonNegative, NoPenalty, Sum
from auctor.problem import Problem
from auctor.solvers import Fista
from auctor.solvers.choose import resolve

MODES = [True, False]


def sample(n=80, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(0.5 * rng.normal(size=d)) + 0.2
    s = X[:, :4] @ rng.normal(size=4)
    return X, s / s.std() + 0.4 * rng.normal(size=n), rng.uniform(0.2, 2.0, size=n)


def problem_of(penalty, *, loss=None, stored=np.asarray, fit_intercept=True, **options):
    X, y, weight = sample(**options)
    loss = loss or Squared()
    y = y if loss.targets == "real" else np.where(y > 0, 1.0, -1.0)
    return Problem(loss, penalty, as_data(stored(X), y, weight=weight), fit_intercept=fit_intercept)


def solve(problem, gram=None, **options):
    settings = {"tol": 1e-10, "max_iter": 2000, "rng": 0, **options}
    return minimise(problem, CoordinateDescent(gram=gram), **settings)


def their_objective(model, X, y, weight, l1, l2):
    r = y - model.predict(X)
    w = model.coef_
    share = weight / weight.sum()
    return 0.5 * share @ (r * r) + l1 * np.abs(w).sum() + 0.5 * l2 * w @ w


@pytest.mark.parametrize("gram", MODES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("n", "d"), [(80, 20), (40, 120)])
def test_lasso_and_elastic_net_of_scikit_learn(gram, fit_intercept, n, d):
    X, y, weight = sample(n, d)
    options = {"fit_intercept": fit_intercept, "tol": 1e-15, "max_iter": 200000}
    for theirs, penalty in (
        (Lasso(alpha=0.05, **options), L1(0.05)),
        (TheirNet(alpha=0.1, l1_ratio=0.3, **options), ElasticNet(0.1, 0.3)),
    ):
        theirs.fit(X, y, sample_weight=weight)
        problem = problem_of(penalty, fit_intercept=fit_intercept, n=n, d=d)
        found = solve(problem, gram)
        l1, l2 = penalty.separable(d).l1[0], penalty.separable(d).l2[0]
        wanted = their_objective(theirs, X, y, weight, l1, l2)
        assert found.value == pytest.approx(wanted, rel=1e-9)
        assert found.value <= wanted + found.gap + 1e-15
        np.testing.assert_allclose(found.coef, theirs.coef_, atol=1e-4)
        assert found.intercept == pytest.approx(theirs.intercept_, abs=1e-4)


PENALTIES = [
    L1(0.02),
    L1(0.05, weights=np.linspace(0.0, 2.0, 20)),
    ElasticNet(0.1, 0.5),
    L2(0.1),
    NonNegative(),
    Box(-0.1, 0.15),
    Box(0.03, 0.07),
    Sum(ElasticNet(0.05, 0.5), Box(-0.2, np.inf)),
    NoPenalty(),
]


@pytest.mark.parametrize("loss", [Squared(), PairwiseSquare()], ids=repr)
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_both_updates_and_fista_agree(loss, penalty):
    problem = problem_of(penalty, loss=loss)
    by_gram, by_rows = (solve(problem, gram, tol=1e-12) for gram in (True, False))
    assert by_gram.converged
    assert by_rows.converged
    first_order = Fista() if problem.certifiable else ProximalGradient()
    wanted = minimise(
        problem, first_order, tol=1e-10 if problem.certifiable else 1e-8, max_iter=50000
    )
    for found in (by_gram, by_rows):
        assert found.value == pytest.approx(wanted.value, rel=1e-9)
        np.testing.assert_allclose(found.coef, by_gram.coef, atol=1e-6)


@pytest.mark.parametrize("gram", MODES)
def test_bounds_are_met(gram):
    """``w + (bound - w)`` may miss the bound by a rounding, and outside the penalty is infinite."""
    for seed in range(25):
        low, high = -np.random.default_rng(seed).uniform(0.01, 0.1, size=2) * (1, -1)
        problem = problem_of(Box(low, high), seed=seed, n=30, d=12)
        w0 = problem.join(np.random.default_rng(seed).uniform(low, high, size=12), 0.0)
        found = solve(problem, gram, w0=w0, max_iter=200)
        assert found.converged
        near = np.minimum(np.abs(found.coef - low), np.abs(found.coef - high))
        assert ((near > 1e-9) | (near <= 1e-16)).all()


@pytest.mark.parametrize("gram", MODES)
@pytest.mark.parametrize("tol", [1e-12, 1e-13])
def test_tight_tolerances_are_met(gram, tol):
    for d in (20, 120):
        assert solve(problem_of(L1(0.02), d=d), gram, tol=tol).converged


@pytest.mark.parametrize("gram", MODES)
def test_zeros_are_zeros(gram):
    found = solve(problem_of(L1(0.05)), gram)
    assert ((np.abs(found.coef) > 1e-8) | (found.coef == 0.0)).all()
    assert 0 < np.count_nonzero(found.coef) < 20


@pytest.mark.parametrize("gram", MODES)
def test_every_step_descends_and_gaps_are_honest(gram):
    problem = problem_of(L1(0.05), n=40, d=120)
    best = solve(problem, gram).value
    steps = []
    solver = CoordinateDescent(gram=gram, sweeps=1)
    minimise(problem, solver, tol=1e-8, max_iter=3000, rng=0, on_step=steps.append)
    values = [step.value for step in steps]
    assert (np.diff(values) <= 1e-15).all()
    assert all(step.value - best <= step.gap + 1e-13 for step in steps)


def test_a_gram_matrix_is_the_default_for_few_columns():
    rng = np.random.default_rng(0)

    def state(d):
        problem = problem_of(L1(0.1), d=d, n=10)
        return CoordinateDescent().init(problem, problem.start(), rng)

    assert state(20).gram is not None
    assert state(700).gram is None


@pytest.mark.parametrize("gram", MODES)
def test_storages_agree(gram):
    def thin(X):
        return np.where(np.abs(X) > 0.5, X, 0.0)

    wanted = solve(problem_of(L1(0.02), stored=thin), gram)
    for kind in (np.asfortranarray, sparse.csr_array, sparse.csc_array):
        found = solve(problem_of(L1(0.02), stored=lambda X, kind=kind: kind(thin(X))), gram)
        np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-9)
    half = solve(problem_of(L1(0.02), stored=lambda X: thin(X).astype(np.float32)), gram)
    np.testing.assert_allclose(half.coef, wanted.coef, atol=1e-5)


@pytest.mark.parametrize("gram", MODES)
def test_starts(gram):
    problem = problem_of(L1(0.02))
    cold = solve(problem, gram)
    w0 = problem.join(cold.coef, cold.intercept)
    assert solve(problem, gram, w0=w0, tol=1e-8).n_iter == 0
    wrong = solve(problem, gram, w0=np.linspace(-3.0, 3.0, 21))
    assert wrong.value == pytest.approx(cold.value, rel=1e-10)
    high = solve(problem_of(L1(10.0)), gram)
    assert high.n_iter == 0
    assert not high.coef.any()


def test_a_column_of_zeros_and_copies_of_a_column():
    X, y, _ = sample()
    X[:, 3] = 0.0
    X[:, 5] = X[:, 4]
    problem = Problem(Squared(), L1(0.02), as_data(X, y))
    for gram in MODES:
        found = solve(problem, gram)
        assert found.converged
        assert found.coef[3] == 0.0


def test_no_tolerance_ends_as_a_stall():
    for gram in MODES:
        found = solve(problem_of(L1(0.02)), gram, tol=0.0, on_failure="ignore")
        assert found.status in (Status.STALLED, Status.CONVERGED)
        assert found.gap < 1e-13
        assert found.n_iter < 50


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (Logistic(), L1(0.1)),
        (Huber(1.0), L1(0.1)),
        (Hinge(), L1(0.1)),
        (PairwiseHinge(0.5), L1(0.1)),
        (Squared(), GroupL2(0.1, groups=[list(range(10)), list(range(10, 20))])),
    ],
)
def test_refusals_name_alternatives(loss, penalty):
    problem = problem_of(penalty, loss=loss)
    with pytest.raises(IncompatibleError, match=r"CoordinateDescent needs .* Solvers that can: \w"):
        resolve(CoordinateDescent(), problem)
    with pytest.raises(IncompatibleError):
        minimise(problem, CoordinateDescent())
    assert problem.counts.passes == 0


def test_bad_parameters():
    with pytest.raises(ParameterError, match="CoordinateDescent needs sweeps"):
        CoordinateDescent(sweeps=0)
