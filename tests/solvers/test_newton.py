"""Newton against scikit-learn, scipy and the exact solver."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from auctor.data import Sharded, as_data
from auctor.data.workers import MemoryWorkers
from auctor.losses import (
    FBeta,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    PairwiseSquaredHinge,
    Poisson,
    Prbep,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.problem.hessian import RowSampling
from auctor.solvers import Exact, Lbfgs, LbfgsThenNewton, Newton, choose
from auctor.solvers.smooth.conjugate import conjugate_gradient

RNG = np.random.default_rng(4)
X = RNG.normal(size=(150, 6)) * [1.0, 4.0, 0.3, 1.0, 1.0, 2.0]
Y = np.where(X[:, 0] - 0.2 * X[:, 1] + RNG.normal(size=150) > 0.4, 1.0, -1.0)
COUNT = RNG.poisson(np.exp(0.3 * X[:, 0] + 1.0)).astype(float)
WEIGHT = RNG.uniform(0.2, 2.0, size=150)


def solve(problem, solver=None):
    """To the last digit: until no step improves the objective."""
    solver = Newton() if solver is None else solver
    return minimise(problem, solver, tol=0.0, max_iter=60, on_failure="ignore")


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])
def test_logistic_equals_scikit_learn(fit_intercept, weight):
    strength = 0.01
    total = 150.0 if weight is None else weight.sum()
    model = LogisticRegression(
        C=1 / (total * strength),
        fit_intercept=fit_intercept,
        solver="newton-cholesky",
        tol=1e-12,
        max_iter=200,
    ).fit(X, Y, sample_weight=weight)
    problem = Problem(
        Logistic(), L2(strength), as_data(X, Y, weight=weight), fit_intercept=fit_intercept
    )
    found = solve(problem)
    # A gap that rounds to zero leaves the weights the root of a rounding error.
    np.testing.assert_allclose(found.coef, model.coef_[0], rtol=0, atol=5e-8)
    assert found.intercept == pytest.approx(float(np.ravel(model.intercept_)[0]), abs=5e-8)


def test_poisson_equals_scikit_learn():
    model = PoissonRegressor(alpha=0.05, tol=1e-12, solver="newton-cholesky").fit(X, COUNT)
    found = solve(Problem(Poisson(), L2(0.05), as_data(X, COUNT)))
    np.testing.assert_allclose(found.coef, model.coef_, atol=1e-8)
    assert found.intercept == pytest.approx(model.intercept_, abs=1e-8)


@pytest.mark.parametrize("mean", [1e4, 1e8])
def test_large_counts_are_fitted(mean):
    y = np.round(mean * np.exp(0.3 * X[:, 0] - 0.1 * X[:, 3]))
    found = minimise(Problem(Poisson(), L2(1e-6), as_data(X, y)), Newton(), tol=1e-5)
    assert found.converged
    np.testing.assert_allclose(found.coef, [0.3, 0, 0, -0.1, 0, 0], atol=1e-3)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])
def test_low_rank_curvature_gives_the_exact_solution(weight):
    problem = Problem(PairwiseSquare(), L2(0.05), as_data(X, Y, weight=weight))
    found, wanted = solve(problem), solve(problem, Exact())
    np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-9)
    assert found.n_iter <= 3


@pytest.mark.parametrize(
    "loss", [PairwiseHinge(0.5), PairwiseHinge(0.01), SquaredHinge()], ids=repr
)
def test_kinked_curvature_still_converges(loss):
    problem = Problem(loss, L2(0.02), as_data(X, Y))
    found = minimise(problem, Newton(), tol=1e-10, max_iter=200)

    def objective(w):
        point = problem.evaluate(w)
        return point.value, problem.total_gradient(point)

    wanted = minimize(
        objective,
        np.zeros(problem.n_params),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-11, "ftol": 0.0, "maxiter": 5000},
    )
    assert found.converged
    assert found.value <= wanted.fun + 1e-9


@pytest.mark.parametrize("loss", [Logistic(), PairwiseSquare()], ids=["logistic", "pairs"])
def test_many_sparse_columns_by_conjugate_gradients(loss):
    """More parameters than are factorised: the diagonal preconditions instead."""
    wide = sparse.random_array((300, 900), density=0.03, rng=np.random.default_rng(1), format="csr")
    y = np.where(np.asarray(wide[:, :30].sum(axis=1)).ravel() > 0.45, 1.0, -1.0)
    problem = Problem(loss, L2(0.01), as_data(wide, y))
    found = minimise(problem, Newton(), tol=1e-9, max_iter=100)
    assert found.converged
    assert found.certified

    def objective(w):
        point = problem.evaluate(w)
        return point.value, problem.total_gradient(point)

    wanted = minimize(
        objective,
        np.zeros(problem.n_params),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-10, "ftol": 0.0, "maxiter": 3000},
    )
    assert found.value <= wanted.fun + 1e-9


def test_separable_data_without_much_penalty():
    """One column and no intercept: the optimum is found by a search over the one weight."""
    z = np.linspace(-3, 3, 40)
    data = as_data(z[:, None], np.sign(z))
    problem = Problem(Logistic(), L2(1e-10), data, fit_intercept=False)
    found = minimise(problem, Newton(), tol=1e-12)
    assert found.converged

    def objective(w):
        return np.logaddexp(0.0, -np.abs(z) * w).mean() + 0.5e-10 * w * w

    best = minimize_scalar(objective, bounds=(0.0, 1e4), method="bounded")
    assert found.coef[0] == pytest.approx(best.x, rel=1e-2)
    assert found.value <= best.fun * (1.0 + 1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_columns_of_any_scale(scale):
    """Rescaling the columns of a nearly unpenalised problem rescales the solution."""
    plain = minimise(
        Problem(Logistic(), L2(1e-14), as_data(X, Y)), Newton(), tol=1e-9, on_failure="ignore"
    )
    scaled = minimise(
        Problem(Logistic(), L2(1e-14 * scale**2), as_data(scale * X, Y)),
        Newton(),
        tol=1e-9,
        on_failure="ignore",
    )
    np.testing.assert_allclose(scaled.coef * scale, plain.coef, rtol=1e-4, atol=1e-6)


def rare_columns(n_rows, n_columns, seed=3):
    """Standardised columns of ones, the rarest with a handful of rows, and labels from them."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((n_rows, n_columns)) < np.geomspace(0.3, 10 / n_rows, n_columns)) * 1.0
    dense = (dense - dense.mean(axis=0)) / dense.std(axis=0)
    score = dense @ rng.normal(size=n_columns)
    score += 0.7 * score.std() * rng.normal(size=n_rows)
    return dense, np.where(score > np.quantile(score, 0.8), 1.0, -1.0)


RARE, RARE_Y = rare_columns(12_000, 120)


@pytest.mark.parametrize("loss", [Logistic(), PairwiseSquaredHinge()], ids=["rows", "pairs"])
def test_sampled_matrices_know_rare_columns(loss):
    """The sampled Hessian is like the exact one, also for columns of a few rows."""
    problem = Problem(loss, L2(1e-6), as_data(RARE, RARE_Y))
    point = problem.evaluate(0.05 * np.random.default_rng(0).normal(size=problem.n_params))
    solve_sampled, exact = problem.hessian(point).preconditioner()
    assert not exact
    whole = problem.hessian(point).matrix()
    alike = np.linalg.eigvals(np.array([solve_sampled(column) for column in whole.T])).real
    assert alike.min() > 0.3
    assert alike.max() < 5.0


def test_odds_of_rows_are_kept_while_the_curvature_stays():
    problem = Problem(Logistic(), L2(1e-6), as_data(RARE, RARE_Y))
    direction = 0.05 * np.random.default_rng(0).normal(size=problem.n_params)
    kept = RowSampling()
    totals, passes = [], []
    for length in (0.0, 0.2, 10.0):
        hessian = problem.hessian(problem.evaluate(length * direction), kept)
        before = problem.counts.passes
        hessian.preconditioner()
        passes.append(problem.counts.passes - before)
        totals.append(float(hessian.row_curvature.sum()))
        assert kept.total == totals[-1 if length != 0.2 else 0]
    assert totals[1] > 0.5 * totals[0] > totals[2]
    assert passes[1] == pytest.approx(passes[0] - 2, abs=0.5)
    assert passes[2] == pytest.approx(passes[0], abs=0.5)


@pytest.mark.parametrize(
    ("loss", "most"),
    [(Logistic(), 12), (SquaredHinge(), 16), (PairwiseSquaredHinge(), 16), (Prbep(), 60)],
    ids=["logistic", "squared hinge", "pairs", "break-even"],
)
def test_rare_columns_take_few_steps(loss, most):
    problem = Problem(loss, L2(1.0 / (100 * len(RARE_Y))), as_data(RARE, RARE_Y))
    found = minimise(problem, choose(problem), max_iter=most)
    assert found.converged


def test_spread_is_the_variance_of_the_columns():
    weighted = as_data(X, Y, weight=WEIGHT)
    share = WEIGHT / WEIGHT.sum()
    centre = share @ X
    with_intercept = Problem(Logistic(), L2(1.0), weighted)
    wanted = share @ (X - centre) ** 2
    np.testing.assert_allclose(with_intercept.spread, np.append(wanted, 1.0), rtol=1e-12)
    without = Problem(Logistic(), L2(1.0), weighted, fit_intercept=False)
    np.testing.assert_allclose(without.spread, share @ X**2, rtol=1e-12)
    pairs = Problem(PairwiseHinge(), L2(1.0), as_data(X, Y))
    even = np.where(Y > 0, 0.5 / (Y > 0).sum(), 0.5 / (Y < 0).sum())
    np.testing.assert_allclose(pairs.spread, even @ (X - even @ X) ** 2, rtol=1e-12)
    assert pairs.with_loss(PairwiseSquare()).columns is pairs.columns


def test_a_warm_up_is_l_bfgs():
    problem = Problem(Logistic(), L2(1e-3), as_data(X, Y))
    warm = minimise(problem, LbfgsThenNewton(4), tol=0.0, max_iter=4, on_failure="ignore")
    quasi = minimise(problem, Lbfgs(), tol=0.0, max_iter=4, on_failure="ignore")
    np.testing.assert_array_equal(warm.coef, quasi.coef)
    found = minimise(problem, LbfgsThenNewton(4), tol=1e-12)
    assert found.n_iter <= 9
    assert found.converged


def test_reorthogonalised_residuals_do_not_amplify_rounding_errors():
    """Components along large isolated eigenvalues return and grow, unless they are removed."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(200, 200)))[0]
    values = np.concatenate((np.geomspace(1e4, 1e3, 3), np.geomspace(10.0, 0.01, 197)))
    A, b = (basis * values) @ basis.T, rng.normal(size=200)

    def solved(keep, noise):
        last = np.random.default_rng(1)
        return conjugate_gradient(
            lambda v: (A @ v) * (1.0 + noise * last.normal(size=200)),
            b,
            rtol=1e-3,
            reorthogonalise=keep,
        )

    apart = {}
    for keep in (0, 200):
        exact, noisy = solved(keep, 0.0), solved(keep, 1e-15)
        apart[keep] = np.linalg.norm(exact.x - noisy.x) / np.linalg.norm(exact.x)
        np.testing.assert_allclose(exact.residual, b - A @ exact.x, atol=1e-9)
    assert apart[200] < 1e-10 < apart[0]
    assert solved(200, 0.0).n_iter < 0.6 * solved(0, 0.0).n_iter


def test_the_order_of_sums_over_shards_does_not_change_the_solution():
    """The smoothed F-beta loss has large isolated eigenvalues; one shard sums in another order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 60))
    y = np.where(X[:, :5].sum(axis=1) + 2.0 * rng.normal(size=1200) > 2.5, 1.0, -1.0)
    found = []
    for parts in (1, 6):
        rows = np.array_split(np.arange(1200), parts)
        data = Sharded(MemoryWorkers([as_data(X[one], y[one], n_threads=1) for one in rows]))
        problem = Problem(FBeta(width=0.02), L2(1e-3), data)
        found.append(minimise(problem, Newton(), tol=1e-5, max_iter=60, on_failure="ignore"))
    assert found[0].passes == found[1].passes
    np.testing.assert_allclose(found[0].coef, found[1].coef, rtol=1e-9, atol=1e-11)
