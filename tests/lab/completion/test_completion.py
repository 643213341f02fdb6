"""Matrix completion: the noise is reached, both methods agree, the rank is found."""

from importlib import import_module

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array, random_array

from auctor.core.errors import DataError, ParameterError
from auctor.lab.completion import choose, complete
from auctor.lab.completion.complete import CompletionObjective, balanced


def low_rank(n, m, rank, share, noise, seed=0):
    rng = np.random.default_rng(seed)
    whole = rng.normal(size=(n, rank)) @ rng.normal(size=(m, rank)).T + 3.0
    noisy = whole + noise * rng.normal(size=(n, m))
    seen = rng.random((n, m)) < share
    return whole, noisy, seen


def as_csr(matrix, seen):
    rows, columns = np.nonzero(seen)
    return csr_array((matrix[seen], (rows, columns)), shape=matrix.shape)


@pytest.mark.parametrize("method", ["alternating", "lbfgs"])
def test_held_out_entries_are_predicted_to_the_noise(method):
    _, noisy, seen = low_rank(300, 250, 3, 0.4, 0.5)
    found = complete(as_csr(noisy, seen), 3, strength=0.02, method=method, max_iter=2000)
    error = (found.matrix() - noisy)[~seen]
    parameters = 3 * (300 + 250 - 3)
    predicted = 0.5 * np.sqrt(1.0 + parameters / seen.sum())
    assert found.converged
    assert np.sqrt(np.mean(error**2)) < 1.03 * predicted
    rows, columns = np.nonzero(~seen)
    np.testing.assert_allclose(found.predict(rows, columns), found.matrix()[~seen])


def test_both_methods_reach_the_same_objective():
    _, noisy, seen = low_rank(60, 50, 2, 0.5, 0.1)
    values = [
        complete(as_csr(noisy, seen), 2, method=method, tol=1e-12, max_iter=5000).value
        for method in ("alternating", "lbfgs")
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_the_gradient_is_that_of_the_value():
    rng = np.random.default_rng(0)
    entries = random_array((8, 6), density=0.5, rng=rng, format="csr")
    fit = CompletionObjective(entries, 0.3)

    def split(w):
        return w[:16].reshape(8, 2), w[16:].reshape(6, 2)

    def value(w):
        return fit.value(*split(w), fit.errors(*split(w)))

    def gradient(w):
        parts = fit.gradient(*split(w), fit.errors(*split(w)))
        return np.concatenate([part.ravel() for part in parts])

    assert check_grad(value, gradient, rng.normal(size=28)) < 1e-6


def test_alternating_solves_each_ridge_exactly():
    rng = np.random.default_rng(0)
    entries = random_array((9, 7), density=0.6, rng=rng, format="csr")
    fit = CompletionObjective(entries, 0.3)
    left, right = np.empty((9, 2)), rng.normal(size=(7, 2))
    for threads in (1, 2):
        fit.regress(fit.rows, right, left, threads)
        gradient = fit.gradient(left, right, fit.errors(left, right))[0]
        np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


def test_balanced_factors_keep_the_product_and_lower_the_ridge():
    rng = np.random.default_rng(0)
    left, right = 10.0 * rng.normal(size=(9, 3)), rng.normal(size=(7, 3))
    even = balanced(left, right)
    np.testing.assert_allclose(even[0] @ even[1].T, left @ right.T, atol=1e-10)
    ridges = [(a**2).sum() / 9 + (b**2).sum() / 7 for a, b in ((left, right), even)]
    assert ridges[1] < ridges[0]
    assert (even[0] ** 2).sum() / 9 == pytest.approx((even[1] ** 2).sum() / 7)


def test_rank_and_strength_by_held_out_entries():
    _, noisy, seen = low_rank(150, 120, 3, 0.5, 0.3)
    found = choose(as_csr(noisy, seen), ranks=(1, 2, 3, 6))
    assert found.rank == 3
    assert found.held_out_rmse == min(row[2] for row in found.table)
    assert found.held_out_rmse < 0.36
    assert len(found.table) == 16
    assert found.completion.rank == 3


def test_zeros_are_observed_and_nan_is_not():
    whole = np.outer(np.arange(6.0), np.arange(5.0))
    seen = np.ones((6, 5), dtype=bool)
    seen[3, 3] = False
    dense = complete(np.where(seen, whole, np.nan), 2, strength=1e-9, max_iter=5000)
    stored = complete(as_csr(whole, seen), 2, strength=1e-9, max_iter=5000)
    assert dense.predict([3], [3]) == pytest.approx(9.0, abs=1e-2)
    np.testing.assert_allclose(dense.matrix(), stored.matrix())


def test_rows_without_entries_get_the_mean():
    _, noisy, seen = low_rank(30, 20, 1, 0.5, 0.1)
    seen[4] = False
    found = complete(as_csr(noisy, seen), 1)
    np.testing.assert_allclose(found.matrix()[4], found.offset)


def test_steps_run_out_honestly():
    _, noisy, seen = low_rank(60, 50, 2, 0.5, 0.1)
    for method in ("alternating", "lbfgs"):
        assert not complete(as_csr(noisy, seen), 2, method=method, max_iter=1).converged


def problem(seed):
    """A random problem with 1.5 observed entries or more per parameter."""
    rng = np.random.default_rng(seed)
    while True:
        n, m, rank = (int(rng.integers(low, high)) for low, high in ((10, 40), (10, 40), (1, 5)))
        _, noisy, seen = low_rank(n, m, rank, rng.uniform(0.35, 0.8), 0.05, seed=rng)
        if seen.sum() >= 1.5 * rank * (n + m - rank):
            return as_csr(noisy, seen), rank


@pytest.mark.slow
def test_60_random_problems_reach_the_best_of_many_starts():
    missed = 0
    for seed in range(60):
        entries, rank = problem(seed)
        options = {"strength": 1e-3, "tol": 1e-9, "max_iter": 2000}
        found = complete(entries, rank, **options)
        others = [
            complete(entries, rank, random_state=k, n_starts=12, **options).value for k in (1, 2)
        ]
        assert len(found.values) == 10
        assert found.values[0] == found.value
        assert list(found.values) == sorted(found.values)
        missed += found.value > min(others) * (1.0 + 1e-3)
    assert missed == 0


def test_the_first_start_alone_beats_a_random_one():
    """Without restarts, a start at singular vectors reaches what random ones reach at best."""
    for seed in range(8):
        entries, rank = problem(seed)
        alone = complete(entries, rank, strength=1e-3, n_starts=1)
        best = complete(entries, rank, strength=1e-3, n_starts=12)
        assert len(alone.values) == 1
        assert alone.value <= 1.01 * best.value


@pytest.mark.parametrize("call", [complete, lambda entries, rank: choose(entries, ranks=[rank])])
def test_a_rank_that_no_such_matrix_has_is_refused(call):
    with pytest.raises(ParameterError, match="rank of at most 3 for a matrix of 5 x 3; got 4"):
        call(np.ones((5, 3)), 4)


def test_large_matrices_start_at_the_same_singular_vectors(monkeypatch):
    _, noisy, seen = low_rank(60, 50, 2, 0.5, 0.1)
    dense = complete(as_csr(noisy, seen), 2, n_starts=1)
    monkeypatch.setattr(import_module(CompletionObjective.__module__), "DENSE_ENTRIES", 0)
    sparse = complete(as_csr(noisy, seen), 2, n_starts=1)
    np.testing.assert_allclose(sparse.matrix(), dense.matrix(), atol=1e-6)


def test_ranks_are_tried_as_far_as_the_matrix_has_them():
    _, noisy, seen = low_rank(40, 4, 2, 0.8, 0.1)
    assert {row[0] for row in choose(as_csr(noisy, seen)).table} == {1, 2, 3}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"rank": 0}, ParameterError, "rank"),
        ({"strength": 0.0}, ParameterError, "strength"),
        ({"method": "svd"}, ParameterError, "method"),
        ({"observed": np.full((3, 3), np.nan)}, DataError, "none"),
        ({"observed": np.full((3, 3), np.inf)}, DataError, "infinity"),
    ],
)
def test_bad_input_is_refused_in_words(change, error, words):
    given = {"observed": np.eye(3), "rank": 1, **change}
    with pytest.raises(error, match=words):
        complete(**given)
    with pytest.raises(ParameterError, match="ranks to try"):
        choose(np.eye(3), ranks=())


def test_entries_whose_squares_overflow_are_refused():
    with pytest.raises(DataError, match=r"entries below 1e\+100.*got 3e\+200"):
        complete(np.array([[1.0, np.nan], [3e200, 2.0]]), 1)
