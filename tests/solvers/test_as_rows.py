"""Losses with a threshold as row losses: same optimum, certificates, weights, choice."""

import numpy as np
import pytest
from scipy.sparse import random_array
from sklearn.svm import SVC

from auctor.core.errors import IncompatibleError
from auctor.data import as_data
from auctor.losses import FBeta, Prbep, PrecisionAtK, RecallAtK
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import AsRows, Bmrm, CutsFirst, choose, regularisation_path

RNG = np.random.default_rng(5)
WIDE = random_array((300, 4000), density=0.02, rng=RNG, format="csr")
Y = np.where(WIDE[:, :300].sum(axis=1) > 4.0, 1.0, -1.0)
X = RNG.normal(size=(200, 8)) + 1.0


def problem_of(strength=1e-3, *, matrix=WIDE, y=Y, penalty=None, loss=None, weight=None):
    data = as_data(matrix, y, weight=weight)
    return Problem(loss or Prbep(), penalty or L2(strength), data)


def test_the_classes_are_not_equal():
    assert 0.1 < (Y > 0.0).mean() < 0.4


@pytest.mark.parametrize("strength", [1e-1, 1e-3, 1e-5])
def test_the_certified_optimum_is_that_of_a_support_vector_machine(strength):
    problem = problem_of(strength)
    found = minimise(problem, AsRows(), tol=1e-8)
    assert found.converged
    assert found.certified
    n, n_pos = Y.size, int((Y > 0.0).sum())
    svc = SVC(kernel="linear", C=8 * n_pos / (strength * n * n), tol=1e-10).fit(WIDE, Y)
    wanted = problem.evaluate(n / (4 * n_pos) * svc.coef_.toarray()[0]).value
    assert found.value == pytest.approx(wanted, rel=1e-6, abs=3e-8)
    assert found.value - found.gap <= wanted + 1e-12
    assert found.value == pytest.approx(problem.evaluate(found.coef).value, rel=1e-12)


def test_rows_with_weights_and_columns_of_their_own_strength():
    y = np.where(X[:, 0] - X[:, 1] + RNG.normal(size=200) > 1.0, 1.0, -1.0)
    weight = RNG.uniform(0.0, 3.0, size=200) * (RNG.uniform(size=200) > 0.2)
    penalty = L2(1e-2, weights=RNG.uniform(0.5, 4.0, size=8))
    problem = problem_of(matrix=X, y=y, penalty=penalty, weight=weight)
    found = minimise(problem, AsRows(), tol=1e-8)
    other = minimise(problem, Bmrm(), tol=1e-8)
    assert found.value == pytest.approx(other.value, rel=1e-6)
    np.testing.assert_allclose(found.coef, other.coef, atol=1e-3)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])
@pytest.mark.parametrize("k", [1, 10, 0.1, 0.35, 0.8, 300])
def test_the_top_of_the_list(kind, k):
    problem = problem_of(1e-2, loss=kind(k))
    found = minimise(problem, AsRows(), tol=1e-7)
    assert found.converged
    other = minimise(problem, Bmrm(), tol=1e-5)
    assert found.value == pytest.approx(other.value, abs=2e-5)
    assert found.value - found.gap <= other.value
    assert found.value == pytest.approx(problem.evaluate(found.coef).value, rel=1e-12)


def test_a_path_is_followed_by_warm_starts():
    strengths = [1e-1, 1e-2, 1e-3]
    path = regularisation_path(problem_of(), strengths=strengths, solver=AsRows(), tol=1e-7)
    for strength, solution in zip(strengths, path.solutions, strict=True):
        alone = minimise(problem_of(strength), AsRows(), tol=1e-7)
        assert solution.value == pytest.approx(alone.value, abs=2e-7)


@pytest.mark.parametrize("loss", [Prbep(), PrecisionAtK(20)], ids=repr)
def test_another_solver_takes_over_where_one_direction_dominates(loss):
    matrix = RNG.normal(size=(150, 5)) @ RNG.normal(size=(5, 1100))
    signal = matrix[:, :20].sum(axis=1)
    noisy = signal + signal.std() * RNG.normal(size=150)
    problem = problem_of(1e-4, matrix=matrix, y=np.sign(noisy - np.quantile(noisy, 0.8)), loss=loss)
    assert isinstance(choose(problem), AsRows)
    found = minimise(problem, AsRows(), tol=1e-4, max_iter=500)
    assert found.converged
    assert found.value == pytest.approx(minimise(problem, Bmrm(), tol=1e-5).value, abs=2e-4)


def test_the_start_does_not_matter():
    problem = problem_of()
    first = minimise(problem, AsRows(), tol=1e-8)
    start = RNG.normal(size=problem.n_params)
    again = minimise(problem, AsRows(), w0=start, tol=1e-8)
    assert again.value == pytest.approx(first.value, abs=2e-8)


def test_it_is_the_default_for_many_columns_and_penalties_that_are_not_strong():
    assert isinstance(choose(problem_of(1e-4)), AsRows)
    assert isinstance(choose(problem_of(1e3)), CutsFirst)
    assert not isinstance(choose(problem_of(1e-4, matrix=X, y=np.resize(Y, 200))), AsRows)
    assert isinstance(choose(problem_of(1e-4, loss=PrecisionAtK(0.1))), AsRows)
    assert not isinstance(choose(problem_of(1e-4, loss=FBeta())), AsRows)


def test_tall_data_under_a_very_weak_penalty_is_for_cutting_planes():
    rng = np.random.default_rng(0)
    tall = random_array((7000, 650), density=0.02, rng=rng, format="csr")
    y = np.where(rng.random(7000) < 0.2, 1.0, -1.0)
    length = float((tall * tall).sum()) / 7000
    chosen = {reach: choose(problem_of(length / reach, matrix=tall, y=y)) for reach in (1e5, 1e6)}
    assert isinstance(chosen[1e5], AsRows)
    assert isinstance(chosen[1e6], CutsFirst)
    short = problem_of(length / 1e6, matrix=tall[:6000], y=y[:6000])
    assert isinstance(choose(short), AsRows)


@pytest.mark.parametrize(
    "other", [{"loss": FBeta()}, {"loss": Prbep(0.1)}, {"penalty": L1(0.1)}], ids=str
)
def test_refuses_what_it_cannot_do(other):
    with pytest.raises(IncompatibleError, match="AsRows needs"):
        minimise(problem_of(**other), AsRows())
