"""The hinge on pairs by samples of the rows: same optimum, certificates, paths, choice."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor.core.errors import IncompatibleError
from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.losses import Hinge, PairwiseHinge, PairwiseSquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import (
    Continuation,
    SampledPairs,
    choose,
    regularisation_path,
    sampled_pairs,
)

RNG = np.random.default_rng(3)
X = RNG.normal(size=(26_000, 6)) * [1.0, 1.0, 0.5, 0.3, 2.0, 1.0] + 0.5
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0, 0.2, 0.0] + 2.0 * RNG.normal(size=26_000) > 3.0, 1.0, -1.0)


def problem_of(strength=1e-2, *, rows=slice(None), matrix=X, y=Y, weight=None, loss=None):
    data = as_data(matrix[rows], y[rows], weight=weight)
    return Problem(loss or PairwiseHinge(), L2(strength), data)


@pytest.mark.parametrize("strength", [1.0, 1e-2, 1e-5])
def test_the_optimum_is_that_of_continuation(strength):
    found = minimise(problem_of(strength), SampledPairs(), tol=1e-6)
    other = minimise(problem_of(strength), Continuation(), tol=1e-6)
    assert found.converged
    assert found.certified
    assert found.value == pytest.approx(other.value, rel=2e-6)
    np.testing.assert_allclose(found.coef, other.coef, atol=5e-3 * np.abs(other.coef).max())


def test_few_passes_over_all_rows_are_enough():
    for seed in range(5):
        found = minimise(problem_of(), SampledPairs(), tol=1e-4, rng=seed)
        assert found.n_iter <= 6
        assert found.passes <= 15


def test_rare_positives_are_all_in_the_sample():
    rare = np.sort(np.r_[np.flatnonzero(Y > 0.0)[:40], np.flatnonzero(Y < 0.0)])
    extra = rare[-1] + 1 - rare.size  # as many rows as before, so that a sample pays
    rows = np.r_[rare, np.flatnonzero(Y < 0.0)[:extra]]
    assert rows.size >= 25_000
    found = minimise(problem_of(rows=rows), SampledPairs(), tol=1e-5)
    other = minimise(problem_of(rows=rows), Continuation(), tol=1e-5)
    assert found.converged
    assert found.value == pytest.approx(other.value, rel=2e-5)


def test_weights_and_sparse_rows():
    weight = RNG.uniform(0.0, 2.0, size=Y.size) * (RNG.random(Y.size) < 0.8)
    sparse = csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    found = minimise(problem_of(matrix=sparse, weight=weight), SampledPairs(), tol=1e-5)
    other = minimise(problem_of(matrix=sparse, weight=weight), Continuation(), tol=1e-5)
    assert found.converged
    assert found.value == pytest.approx(other.value, rel=2e-5)


def test_a_sample_that_misses_what_counts_hands_over():
    weight = np.full(Y.size, 1e-6)
    weight[RNG.choice(Y.size, 60, replace=False)] = 1.0  # 6 of them in a sample
    problem, solver = problem_of(1e-4, weight=weight), SampledPairs()
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    for _ in range(10):
        state = solver.step(problem, state)
    assert state.after is not None
    found = minimise(problem, solver, tol=1e-4)
    other = minimise(problem_of(1e-4, weight=weight), Continuation(), tol=1e-4)
    assert found.converged
    assert found.value == pytest.approx(other.value, abs=2e-4)


def test_a_sample_on_which_l_bfgs_does_not_arrive_hands_over(monkeypatch):
    monkeypatch.setattr(sampled_pairs, "STEPS", 1)
    problem, solver = problem_of(), SampledPairs()
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    state = solver.step(problem, state)
    assert state.after is not None
    assert minimise(problem, solver, tol=1e-4).converged


def test_a_warm_start_is_kept():
    first = minimise(problem_of(), SampledPairs(), tol=1e-6)
    again = minimise(problem_of(), SampledPairs(), w0=first.coef, tol=1e-4)
    assert again.n_iter == 0
    assert again.value <= first.value * (1.0 + 1e-9)


def test_a_path_equals_its_points():
    strengths = [1e-2, 2e-3, 4e-4, 1e-6]
    path = regularisation_path(problem_of(), strengths=strengths, tol=1e-6)
    for strength, found in zip(strengths, path.solutions, strict=True):
        alone = minimise(problem_of(strength), Continuation(), tol=1e-6)
        assert found.converged
        assert found.value == pytest.approx(alone.value, rel=3e-6)


def test_a_path_starts_a_little_wider_than_it_ended():
    problem = problem_of()
    unit = sampled_pairs.null_unit(problem)
    problem = problem.keeping()
    solver, rng = SampledPairs(), np.random.default_rng(0)
    sample = solver.init(problem, problem.start(), rng).sample
    for poor in (False, True):
        for ended, begins in ((0.02, 0.05), (0.01, 0.025), (1e-9, 0.008)):
            sample.poor, sample.width = poor, ended * unit
            state = solver.init(problem, np.ones(problem.n_params), rng)
            assert state.sample.width == pytest.approx(begins * unit)
            assert (state.after is not None) == poor
    while not state.stalled and state.after.width == state.sample.width > 1e-3 * unit:
        state = solver.step(problem, state)  # what takes over narrows it for both
    assert state.sample.width <= 1e-3 * unit


def test_a_path_to_all_digits_converges():
    alone = minimise(problem_of(1e-2), Continuation(), tol=1e-9)
    path = regularisation_path(
        problem_of(), strengths=[0.1, 0.01], solver=SampledPairs(), tol=1e-9, max_iter=150
    )
    assert all(found.converged for found in path.solutions)
    assert path.solutions[1].value == pytest.approx(alone.value, abs=3e-9)


def test_a_path_draws_one_sample(monkeypatch):
    drawn, draw = [], sampled_pairs._drawn
    monkeypatch.setattr(sampled_pairs, "_drawn", lambda *args: drawn.append(1) or draw(*args))
    regularisation_path(problem_of(), strengths=[1e-2, 2e-3, 4e-4], tol=1e-4)
    assert len(drawn) == 1


def test_the_same_seed_gives_the_same_answer():
    runs = [minimise(problem_of(), SampledPairs(), tol=1e-4, rng=7).coef for _ in range(2)]
    np.testing.assert_array_equal(*runs)


def test_a_tolerance_of_zero_ends():
    found = minimise(problem_of(), SampledPairs(), tol=0.0, max_iter=300, on_failure="ignore")
    assert found.gap < 1e-7


def test_it_is_chosen_for_many_rows_of_few_columns():
    assert isinstance(choose(problem_of()), SampledPairs)
    assert not isinstance(choose(problem_of(rows=slice(20_000))), SampledPairs)
    assert not isinstance(choose(problem_of(1.0)), SampledPairs)  # a cut or two
    assert not isinstance(choose(problem_of(loss=PairwiseSquaredHinge())), SampledPairs)
    grouped = Dense(X, Target(Y, groups=np.arange(Y.size) // 1000))
    assert not isinstance(choose(Problem(PairwiseHinge(), L2(1e-2), grouped)), SampledPairs)


@pytest.mark.parametrize(("loss", "penalty"), [(Hinge(), L2(1e-2)), (PairwiseHinge(), L1(1e-2))])
def test_it_refuses_what_it_cannot_do(loss, penalty):
    with pytest.raises(IncompatibleError, match="SampledPairs needs"):
        minimise(Problem(loss, penalty, as_data(X, Y)), SampledPairs())
