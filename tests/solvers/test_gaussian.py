"""GaussianDiscriminant against closed forms, descent, linear discriminants and Monte Carlo."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from auctor.core.errors import DataError, IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.lab.solvers import GradientDescent
from auctor.losses import ExpectedAuc, ExpectedError, GaussianAuc, Logistic
from auctor.metrics import error_rate
from auctor.minimise import minimise
from auctor.penalties import L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Exact, GaussianDiscriminant, Lbfgs, choose, resolve
from auctor.solvers.gaussian import moments
from auctor.solvers.gaussian.shrinkage import shrinkage
from tests.solvers.gaussians import BOTH, cosine, covariances, generate, solve


def test_expected_auc_has_the_closed_form():
    X, y = generate()
    contrast = X[y > 0].mean(0) - X[y < 0].mean(0)
    for strength in (0.0, 0.5):
        total = sum(covariances(X, y)) + strength * np.eye(6)
        found = solve(ExpectedAuc(), X, y, L2(strength))
        best = np.linalg.solve(total, contrast)
        assert cosine(found.coef, best) == pytest.approx(1.0, abs=1e-13)
        assert found.value == pytest.approx(norm.cdf(-np.sqrt(contrast @ best)), rel=1e-12)
        assert found.gap < 1e-12
        assert not found.certified
        convex = minimise(Problem(GaussianAuc(), L2(strength), as_data(X, y)), Exact(), tol=1e-10)
        assert cosine(found.coef, convex.coef) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "penalty", [NoPenalty(), L2(0.3), L2(0.2, weights=np.arange(6.0))], ids=repr
)
@pytest.mark.parametrize("solver", [Lbfgs(), GradientDescent()], ids=repr)
@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_descent_reaches_the_same_optimum(loss, solver, penalty):
    X, y = generate()
    best = solve(loss, X, y, penalty)
    found = solve(loss, X, y, penalty, solver, tol=1e-6)
    assert best.value <= found.value <= best.value + 1e-9
    assert cosine(found.coef, best.coef) == pytest.approx(1.0, abs=1e-6)


def test_gradient_descent_as_published_comes_close_in_250_iterations():
    X, y = generate(n=1000, d=20)
    best = solve(ExpectedAuc(), X, y)
    problem = Problem(ExpectedAuc(), NoPenalty(), as_data(X, y))
    found = minimise(problem, GradientDescent(), tol=0.0, max_iter=250, on_failure="ignore")
    assert found.value - best.value <= 1e-3


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_search_is_as_good_as_many_restarts(seed, fit_intercept):
    X, y = generate(n=80, d=4, seed=seed, prior=0.2 + 0.08 * seed)
    best = solve(ExpectedError(), X, y, fit_intercept=fit_intercept)
    problem = Problem(ExpectedError(), NoPenalty(), as_data(X, y), fit_intercept=fit_intercept)
    rng = np.random.default_rng(seed)
    values = [
        minimise(
            problem, Lbfgs(), w0=rng.normal(size=4 + fit_intercept), tol=1e-7, on_failure="ignore"
        ).value
        for _ in range(20)
    ]
    assert best.converged
    assert best.value <= min(values) + 1e-6


@pytest.mark.parametrize(("seed", "d", "prior"), [(0, 5, 0.2), (8, 2, 0.05), (9, 3, 0.5)])
def test_the_search_goes_beyond_mixtures_of_the_covariances(seed, d, prior):
    """A class whose mean is on the wrong side gains by its variance."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d))
    X, positive = rng.normal(size=(400, d)) @ mix, rng.random(400) < prior
    X[positive] = X[positive] * rng.uniform(0.3, 2, d) + 0.8 * rng.normal(size=d)
    y = np.where(positive, 1.0, -1.0)
    best = solve(ExpectedError(), X, y)
    problem = Problem(ExpectedError(), NoPenalty(), as_data(X, y))
    rng = np.random.default_rng(1000 + seed)
    values = []
    for _ in range(12):
        w = rng.normal(size=d) / X.std(axis=0)
        start = np.append(w, rng.normal() - X.mean(axis=0) @ w)
        values.append(minimise(problem, Lbfgs(), w0=start, tol=1e-8, on_failure="ignore").value)
    assert best.value <= min(values) + 1e-6
    assert best.value < 0.999 * min(positive.mean(), 1.0 - positive.mean())


def test_equal_covariances_are_linear_discriminant_analysis():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(150, 5)) @ rng.normal(size=(5, 5))
    apart = np.array([1.0, 0.5, 0.0, -0.5, 1.0])
    X, y = np.vstack((half + apart, half)), np.repeat([1.0, -1.0], 150)
    wanted = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    found = solve(ExpectedError(), X, y)
    np.testing.assert_allclose(found.coef, wanted.coef_[0], rtol=1e-6)
    assert found.intercept == pytest.approx(wanted.intercept_[0], rel=1e-6)
    assert solve(ExpectedAuc(), X, y).coef == pytest.approx(wanted.coef_[0], rel=1e-8)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
@pytest.mark.parametrize("penalty", [NoPenalty(), L2(0.4)], ids=repr)
def test_the_gap_is_the_slope_of_the_objective(loss, penalty):
    """Finite differences of J, ridge included, at a point that is not optimal."""
    X, y = generate()
    problem = Problem(loss, penalty, as_data(X, y))
    w = np.random.default_rng(1).normal(size=problem.n_params)
    gradient = problem.total_gradient(problem.evaluate(w))
    for j, unit in enumerate(np.eye(w.size)):
        ahead, behind = (problem.evaluate(w + h * unit).value for h in (1e-5, -1e-5))
        assert gradient[j] == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-9)
    assert w @ gradient == pytest.approx(0.0, abs=1e-12)
    assert problem.certificate(problem.evaluate(w)).gap > 1e-3
    scaled = problem.certificate(problem.evaluate(9.0 * w)).gap
    assert scaled == pytest.approx(problem.certificate(problem.evaluate(w)).gap, rel=1e-9)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.2}, {"covariance": "diagonal"}], ids=repr)
def test_weights_are_repetition(loss, options):
    X, y = generate(n=120)
    count = np.random.default_rng(2).integers(1, 4, size=y.size)
    rows = np.repeat(np.arange(y.size), count)
    solver = GaussianDiscriminant(**options)
    wanted = solve(loss, X[rows], y[rows], solver=solver)
    for factor in (1.0, 1e-6):
        found = solve(loss, X, y, solver=solver, weight=factor * count)
        np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-8, atol=1e-8)
        assert found.intercept == pytest.approx(wanted.intercept, rel=1e-8)
        assert found.value == pytest.approx(wanted.value, rel=1e-10)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_the_order_of_rows_and_the_storage_do_not_matter(loss):
    X, y = generate(n=150)
    order = np.random.default_rng(3).permutation(y.size)
    wanted = solve(loss, X, y, L2(0.1))
    for data, label in ((X[order], y[order]), (csr_array(X), y), (np.asfortranarray(X), y)):
        found = solve(loss, data, label, L2(0.1))
        np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-7)


@pytest.mark.parametrize("loss", BOTH, ids=repr)
@pytest.mark.parametrize("scale", [1e-8, 1e8, 10.0 ** np.linspace(-5, 5, 6)], ids=str)
def test_columns_of_any_scale(loss, scale):
    X, y = generate()
    wanted, found = solve(loss, X, y), solve(loss, X * scale, y)
    np.testing.assert_allclose(found.coef * scale, wanted.coef, rtol=1e-6)


@pytest.mark.parametrize("build", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_means_far_from_zero_keep_their_digits(build):
    X, y = generate()
    far = X + 1e5
    found = moments.class_moments(as_data(build(far), y))
    for k, label in enumerate((1, -1)):
        own = far[y == label] - 1e5
        np.testing.assert_allclose(found.covariance[k], np.cov(own.T, bias=True), atol=1e-9)
    for loss in BOTH:
        wanted = solve(loss, X, y)
        np.testing.assert_allclose(
            solve(loss, build(far), y, tol=1e-4).coef, wanted.coef, rtol=1e-6
        )


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_trials_cost_no_passes(loss):
    """Whatever the number of rows, the same few passes and evaluations: moments are enough."""
    work = set()
    for n in (100, 1000, 5000):
        X, y = generate(n=n)
        found = solve(loss, X, y)
        work.add((found.passes, found.n_iter))
        assert found.evaluations <= 6
    assert len(work) == 1


def test_dense_and_diagonal_moments_agree_with_two_passes():
    X, y = generate()
    full, alone = (moments.class_moments(as_data(X, y), c) for c in ("full", "diagonal"))
    for k, matrix in enumerate(covariances(X, y)):
        np.testing.assert_allclose(full.covariance[k], matrix, atol=1e-12)
        np.testing.assert_allclose(alone.covariance[k], np.diag(matrix), atol=1e-12)
    np.testing.assert_allclose(full.mean[0], X[y > 0].mean(0), atol=1e-13)


# --- real tasks ------------------------------------------------------------------------------


def test_rare_classes_do_not_collapse_to_the_majority():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(6000) < 0.04, 1.0, -1.0)
    X = rng.normal(size=(6000, 8)) + 1.6 * (y[:, None] > 0) * np.r_[1, 1, np.zeros(6)]
    found = solve(ExpectedError(), X, y)
    assert error_rate(y, X @ found.coef + found.intercept, threshold=0.0) < np.mean(y > 0) - 0.003


def test_the_majority_is_predicted_where_nothing_is_better():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(1000) % 50 == 0, 1.0, -1.0)
    X = rng.normal(size=(1000, 2))
    found = solve(ExpectedError(), X, y)
    assert found.value == pytest.approx(0.02)
    assert (X @ found.coef + found.intercept < 0).all()


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_columns_that_say_nothing(loss):
    found = solve(loss, np.full((20, 2), 0.1), np.where(np.arange(20) % 5 == 0, 1.0, -1.0))
    assert found.converged
    assert not found.coef.any()
    assert found.value == (0.5 if loss.shift_invariant else 0.2)


# --- choices and refusals --------------------------------------------------------------------


@pytest.mark.parametrize("loss", BOTH, ids=repr)
def test_it_is_the_default_unless_matrices_are_too_large(loss, monkeypatch):
    X, y = generate()
    problem = Problem(loss, L2(0.1), as_data(X, y))
    assert choose(problem) == GaussianDiscriminant()
    monkeypatch.setattr(moments, "LARGEST_SIZE", 5)
    assert choose(problem) == Lbfgs()
    for data in (X, X[:6].repeat(2, axis=1)):
        with pytest.raises(IncompatibleError, match="solver='lbfgs'"):
            solve(loss, data, y[: data.shape[0]], L2(0.1))


def test_other_losses_are_refused():
    X, y = generate()
    with pytest.raises(IncompatibleError, match="GaussianDiscriminant needs a loss of Gaussian"):
        resolve("gaussian_discriminant", Problem(Logistic(), L2(0.1), as_data(X, y)))


@pytest.mark.parametrize(
    "options",
    [
        {"shrinkage": "some"},
        {"shrinkage": 1.5},
        {"shrinkage": -0.1},
        {"shrinkage": float("nan")},
        {"covariance": "banded"},
        {"covariance": -1},
        {"covariance": ()},
        {"covariance": ((0.5,),)},
        {"covariance": None},
        {"covariance": "diagonal", "shrinkage": "auto"},
    ],
    ids=repr,
)
def test_bad_options_are_refused(options):
    with pytest.raises(ParameterError, match="GaussianDiscriminant needs"):
        GaussianDiscriminant(**options)


def test_blocks_outside_the_columns_are_refused():
    X, y = generate()
    for block in ((0, 6), (-1, 2)):
        with pytest.raises(DataError, match="below 6"):
            solve(ExpectedAuc(), X, y, solver=GaussianDiscriminant(covariance=(block,)))
    with pytest.raises(DataError, match="both classes"):
        shrinkage(as_data(X, np.ones(y.size)))


@pytest.mark.parametrize("kind", [2, ((0, 1), (2, 3))], ids=["band", "blocks"])
def test_numpy_integers_are_integers(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), np.where(rng.random(80) < 0.4, 1.0, -1.0)
    given = np.int64(2) if kind == 2 else tuple(tuple(np.array(block)) for block in kind)
    ours, same = (
        solve(ExpectedError(), X, y, solver=GaussianDiscriminant(covariance=covariance)).coef
        for covariance in (given, kind)
    )
    assert np.array_equal(ours, same)
