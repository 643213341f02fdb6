"""Block coordinate descent: optimality, agreement with FISTA, storages, both inner methods."""

import numpy as np
import pytest
from scipy import sparse

import auctor.solvers.sparse.block as module
from auctor.core.errors import IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.losses import Hinge, Huber, Logistic, PairwiseSquare, Poisson, Squared, SquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L1, GroupL2, TreeL2
from auctor.problem import Problem
from auctor.solvers import BlockCoordinateDescent, Fista, ProximalNewton, SubspaceNewton


def design(n=120, d=60, size=4, seed=0, rho=0.6):
    """Correlated columns of several scales, a few groups that matter, rows of several weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    X += 0.5
    w = np.zeros(d)
    for g in rng.choice(d // size, 3, replace=False):
        w[g * size : (g + 1) * size] = rng.normal(size=size)
    s = (X - 0.5) @ w
    y = s / s.std() + 0.4 * rng.normal(size=n) + 1.0
    return X, y, rng.uniform(0.2, 2.0, size=n)


def target_of(loss, y):
    if isinstance(loss, Poisson):
        return np.round(np.abs(y))
    return y if loss.targets == "real" else np.where(y > 1.0, 1.0, -1.0)


def problem_of(loss, penalty, X=None, fit_intercept=True, **options):
    made, y, weight = design(**options)
    stored = made if X is None else X(made)
    data = as_data(stored, target_of(loss, y), weight=weight)
    return Problem(loss, penalty, data, fit_intercept=fit_intercept)


def strength_max(loss, size=4, **options):
    problem = problem_of(loss, GroupL2(1.0, size), **options)
    gradient = problem.coef(problem.evaluate(problem.start()).gradient)
    return np.linalg.norm(gradient.reshape(-1, size), axis=1).max() / np.sqrt(size)


LOSSES = [Squared(), Logistic(), SquaredHinge(), Huber(0.5), Poisson()]


@pytest.mark.sample(3)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("fraction", [0.3, 0.02])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "plain"])
def test_optimality_and_agreement_with_fista(loss, fraction, fit_intercept):
    strength = fraction * strength_max(loss, fit_intercept=fit_intercept)
    penalty = GroupL2(strength, 4)
    problem = problem_of(loss, penalty, fit_intercept=fit_intercept)
    found = minimise(problem, BlockCoordinateDescent(), tol=1e-9, max_iter=200)
    assert found.certified
    slow = minimise(
        problem_of(loss, penalty, fit_intercept=fit_intercept), Fista(), tol=1e-8, max_iter=20000
    )
    assert found.value - slow.value <= 2e-8 * abs(slow.value)
    point = problem.evaluate(problem.join(found.coef, found.intercept))
    violation = penalty.violation(found.coef, problem.coef(point.gradient))
    assert violation.max() <= 2e-4 * strength
    # Whole groups are zero.
    on = found.coef.reshape(-1, 4) != 0.0
    assert (on.all(axis=1) | ~on.any(axis=1)).all()


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("ratio", [0.0, 0.3], ids=["group", "sparse-group"])
def test_both_inner_methods_agree(loss, ratio, monkeypatch):
    """The matrix of the columns of the working set, and reading the columns."""
    penalty = GroupL2(0.05 * strength_max(loss), 4, l1_ratio=ratio)
    coefs = []
    for matrix in (True, False):
        monkeypatch.setattr(module, "use_matrix", lambda *_, matrix=matrix: matrix)
        solution = minimise(
            problem_of(loss, penalty), BlockCoordinateDescent(), tol=1e-11, max_iter=300
        )
        coefs.append(solution.coef)
    np.testing.assert_allclose(coefs[0], coefs[1], atol=1e-6)
    np.testing.assert_array_equal(coefs[0] != 0.0, coefs[1] != 0.0)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_tall_data_are_read_by_rows(loss, monkeypatch):
    options = {"n": 900, "d": 12}
    penalty = GroupL2(0.02, [[0, 5, 9], [1, 2, 3, 4], [6, 7], [8, 10, 11]])
    wanted = minimise(problem_of(loss, penalty, **options), Fista(), tol=1e-9, max_iter=9999)
    problem = problem_of(loss, penalty, **options)
    monkeypatch.setattr(type(problem.data), "columns", None)
    found = minimise(problem, BlockCoordinateDescent(), tol=1e-9)
    np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-4)
    assert found.value <= wanted.value * (1 + 1e-9)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_the_same_across_storages(loss):
    def thin(X):
        return np.where(np.abs(X) > 1.2, X, 0.0)

    kinds = [
        thin,
        lambda X: np.asfortranarray(thin(X)),
        lambda X: sparse.csr_array(thin(X)),
        lambda X: sparse.csc_array(thin(X)),
    ]
    penalty = GroupL2(0.02, 4)
    found = [
        minimise(problem_of(loss, penalty, X=kind), BlockCoordinateDescent(), tol=1e-12)
        for kind in kinds
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.coef, found[0].coef, atol=1e-6)
        assert other.value == pytest.approx(found[0].value, rel=1e-11)


def test_groups_of_one_are_the_lasso():
    X = design()[0]
    wanted = minimise(problem_of(Logistic(), L1(0.02)), ProximalNewton(), tol=1e-10)
    found = minimise(problem_of(Logistic(), GroupL2(0.02, 1)), BlockCoordinateDescent(), tol=1e-10)
    np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-5)
    np.testing.assert_array_equal(found.coef != 0.0, wanted.coef != 0.0)
    assert X.shape[1] > (found.coef != 0).sum() > 0


def test_groups_larger_than_any_eigenproblem():
    """Uneven groups, one of 80 columns among singletons."""
    options = {"n": 90, "d": 120, "size": 4}
    groups = [list(range(80)), *([j] for j in range(80, 120))]
    penalty = GroupL2(0.03, groups)
    problem = problem_of(Squared(), penalty, **options)
    found = minimise(problem, BlockCoordinateDescent(), tol=1e-7, max_iter=500)
    slow = minimise(problem_of(Squared(), penalty, **options), Fista(), tol=1e-7, max_iter=20000)
    assert abs(found.value - slow.value) <= 2e-7 * slow.value


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_far_fewer_passes_than_fista(loss):
    options = {"n": 150, "d": 1200, "size": 5, "rho": 0.8}
    penalty = GroupL2(0.05 * strength_max(loss, **options), 5)
    fast = minimise(problem_of(loss, penalty, **options), BlockCoordinateDescent(), tol=1e-6)
    slow = minimise(problem_of(loss, penalty, **options), Fista(), tol=1e-6, max_iter=20000)
    assert fast.value <= slow.value + 1e-6 * slow.value
    assert fast.passes < 0.5 * slow.passes
    assert fast.n_iter <= 20


def test_a_strong_penalty_gives_zero_at_once_and_a_start_helps():
    loss = Logistic()
    top = strength_max(loss)
    zero = minimise(problem_of(loss, GroupL2(1.0001 * top, 4)), BlockCoordinateDescent())
    assert zero.n_iter == 0
    assert not zero.coef.any()
    near = minimise(problem_of(loss, GroupL2(0.99 * top, 4)), BlockCoordinateDescent(), tol=1e-8)
    assert (near.coef.reshape(-1, 4).any(axis=1)).sum() == 1
    penalty = GroupL2(0.05 * top, 4)
    cold = minimise(problem_of(loss, penalty), BlockCoordinateDescent(), tol=1e-8)
    warm = minimise(
        problem_of(loss, penalty),
        BlockCoordinateDescent(),
        tol=1e-8,
        w0=np.append(cold.coef, cold.intercept),
    )
    assert warm.n_iter <= 1


def test_no_penalty_on_separable_data_ends_with_a_warning():
    X = np.vstack((np.ones((5, 2)), -np.ones((5, 2)))) + 0.01 * np.arange(20).reshape(10, 2)
    problem = Problem(Logistic(), GroupL2(0.0, 2), as_data(X, [1.0] * 5 + [-1.0] * 5))
    found = minimise(problem, BlockCoordinateDescent(), tol=1e-12, max_iter=30, on_failure="ignore")
    assert np.isfinite(found.coef).all()
    assert found.value < 1e-3


def test_refusals():
    solver = BlockCoordinateDescent()
    for loss, penalty, words in (
        (Logistic(), L1(0.1), "disjoint groups"),
        (Logistic(), TreeL2(0.1, np.arange(-1, 59)), "disjoint groups"),
        (Hinge(), GroupL2(0.1, 4), "differentiable loss"),
        (PairwiseSquare(), GroupL2(0.1, 4), "sum over rows"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            minimise(problem_of(loss, penalty), solver)
    for options in ({"fraction": 0.0}, {"sigma": 1.0}, {"max_sweeps": 0}):
        with pytest.raises(ParameterError):
            BlockCoordinateDescent(**options)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("ratio", [0.0, 0.3], ids=["group", "sparse-group"])
def test_models_without_zeros_take_few_steps(loss, ratio):
    problem = problem_of(loss, GroupL2(0.001, 4, l1_ratio=ratio), n=600, d=60, rho=0.1)
    found = minimise(problem, BlockCoordinateDescent(), tol=1e-9)
    other = minimise(problem, SubspaceNewton(), tol=1e-9)
    assert np.count_nonzero(found.coef) > 50
    assert found.n_iter <= 10
    np.testing.assert_allclose(found.coef, other.coef, atol=1e-4)
    assert found.value == pytest.approx(other.value, rel=1e-9)
