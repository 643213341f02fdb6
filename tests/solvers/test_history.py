"""Gradients on a path: what is not computed does not matter, and certificates stay."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import ParameterError
from auctor.data import as_data
from auctor.losses import Exponential, Huber, Logistic, PairwiseSquare, Poisson, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, ElasticNet
from auctor.problem import Problem
from auctor.solvers import ProximalNewton, regularisation_path
from auctor.solvers.sparse.history import GradientHistory
from auctor.solvers.sparse.models.columns import Store

WIDE = 700


def problem_of(loss, penalty, *, n=60, d=WIDE, stored=np.asarray, fit_intercept=True, weight=None):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d)) * np.exp(0.3 * rng.normal(size=d)) * (rng.random((n, d)) < 0.7)
    X = X.astype(np.float32).astype(float)
    s = X[:, :6] @ np.array([1.5, -1.0, 1.0, 0.7, -0.7, 0.4]) + 0.3 * rng.normal(size=n)
    y = {"binary": np.where(s > 0.1, 1.0, -1.0), "real": s / s.std()}[loss.targets]
    if isinstance(loss, Poisson):
        y = np.round(np.exp(np.clip(s, -2.0, 2.0)))
    return Problem(loss, penalty, as_data(stored(X), y, weight=weight), fit_intercept=fit_intercept)


LOSSES = [Logistic(), Exponential(), Squared(), Huber(0.5), Poisson(), PairwiseSquare()]
STORED = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array, np.float32]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("stored", STORED)
def test_what_is_estimated_is_at_rest(stored, weighted):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, 60).astype(float) if weighted else None
    problem = problem_of(Logistic(), L1(), stored=stored, weight=weight)
    history, store = GradientHistory(problem), Store(problem.data.columns(), None)
    w, step = problem.start(), np.zeros(problem.n_params)
    w[:5], step[:5] = 0.3 * rng.normal(size=5), 0.01 * rng.normal(size=5)
    estimated = 0
    for k in range(30):
        point = problem.evaluate(w + k * step)
        true = problem.data.gradient(point.dscores)
        at = problem.with_penalty(L1(0.8 * np.abs(true).max()))
        found = history.gradient(at, at.evaluate(point.w), store)
        same = np.isclose(found, true, rtol=1e-12, atol=1e-14)
        resting = (problem.coef(point.w) == 0.0) & (np.abs(true) < at.penalty.strength)
        assert (same | resting).all()
        assert (np.abs(found[~same]) < at.penalty.strength).all()
        estimated += np.count_nonzero(~same)
    assert estimated > 10 * WIDE


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", [L1(), ElasticNet(1.0, 0.7)], ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gaps_of_a_path_are_those_of_whole_gradients(loss, penalty):
    problem = problem_of(loss, penalty)
    path = regularisation_path(problem, n=30, ratio=0.05, tol=1e-5, rng=0)
    assert path.converged
    for strength, found in zip(path.strengths, path.solutions, strict=True):
        at = problem.with_penalty(penalty.with_strength(strength))
        point = at.evaluate(at.join(found.coef, found.intercept))
        gap = at.certify(point)[1].gap
        assert gap == pytest.approx(found.gap, rel=1e-3, abs=1e-12 * abs(point.value))


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", [L1(), ElasticNet(1.0, 0.7)], ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gaps_of_a_path_with_few_columns_are_bounds(loss, penalty):
    problem = problem_of(loss, penalty, n=400, d=30)
    path = regularisation_path(problem, n=60, ratio=0.05, tol=1e-3, rng=0)
    assert path.converged
    for strength, found in zip(path.strengths, path.solutions, strict=True):
        at = problem.with_penalty(penalty.with_strength(strength))
        point = at.evaluate(at.join(found.coef, found.intercept))
        assert found.certified
        assert at.certify(point)[1].gap <= (1.0 + 1e-7) * found.gap + 1e-12


@pytest.mark.sample(4)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("d", [30, WIDE])
def test_storages_have_one_path(d, stored, fit_intercept):
    problem = problem_of(Logistic(), L1(), d=d, stored=stored, fit_intercept=fit_intercept)
    path = regularisation_path(problem, n=20, ratio=0.05, tol=1e-9, rng=0)
    for strength, value in zip(path.strengths, path.value, strict=True):
        at = problem.with_penalty(L1(strength))
        alone = minimise(at, ProximalNewton(), tol=1e-9, rng=0)
        assert value == pytest.approx(alone.value, rel=3e-9)


@pytest.mark.parametrize("d", [30, WIDE])
def test_weights_are_repetitions_on_a_path(d):
    weight = np.random.default_rng(1).integers(0, 4, 60)
    problem = problem_of(Logistic(), L1(), d=d, weight=weight.astype(float))
    data = problem.data
    rows = np.repeat(np.arange(60), weight)
    repeated = as_data(data.to_dense()[rows], data.target.y[rows])
    options = {"n": 15, "ratio": 0.1, "tol": 1e-8, "rng": 0}
    one = regularisation_path(problem, **options)
    two = regularisation_path(Problem(Logistic(), L1(), repeated), **options)
    np.testing.assert_allclose(one.strengths, two.strengths, rtol=1e-12)
    np.testing.assert_allclose(one.value, two.value, rtol=1e-8)


def test_a_path_is_the_same_every_time():
    problem = problem_of(Logistic(), L1())
    one, two = (regularisation_path(problem, n=10, rng=0, tol=1e-3) for _ in range(2))
    np.testing.assert_array_equal(one.coef, two.coef)


@pytest.mark.parametrize(
    "options",
    [{"sigma": 5.0}, {"sigma": 0.0}, {"sigma": np.nan}, {"max_sweeps": 0}, {"max_sweeps": 1.5}],
    ids=repr,
)
def test_bad_parameters_of_proximal_newton(options):
    with pytest.raises(ParameterError, match="ProximalNewton needs"):
        ProximalNewton(**options)
