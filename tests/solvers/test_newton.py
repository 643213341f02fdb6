"""Newton against scikit-learn, scipy and the exact solver."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from auctor.data import as_data
from auctor.losses import Logistic, PairwiseHinge, PairwiseSquare, Poisson, SquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Exact, Newton

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
    np.testing.assert_allclose(found.coef, model.coef_[0], rtol=0, atol=1e-8)
    assert found.intercept == pytest.approx(float(np.ravel(model.intercept_)[0]), abs=1e-8)


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


def test_separable_data_without_much_penalty_stays_finite():
    z = np.linspace(-3, 3, 40)[:, None]
    found = minimise(
        Problem(Logistic(), L2(1e-10), as_data(z, np.sign(z[:, 0]))), Newton(), tol=1e-6
    )
    assert found.converged
    assert np.isfinite(found.coef).all()


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
