"""The quadratic program over the simplex: optimality conditions, dependence, warm starts."""

import itertools

import numpy as np
import pytest

from auctor.kernels.descent.simplex import factorise, maximise


def solve(G, b, tol=1e-13):
    n = b.size
    a, active, L = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros((n, n))
    shift = float(np.diag(G).max()) or 1.0
    size = maximise(G, b, n, shift, tol, a, active, 0, L)
    return a, active[:size], L[:size, :size], shift


def value(G, b, a):
    return b @ a - 0.5 * a @ G @ a


def by_faces(G, b):
    """The best stationary point of all faces."""
    best = -np.inf
    for k in range(1, b.size + 1):
        for face in itertools.combinations(range(b.size), k):
            K = np.ones((k + 1, k + 1))
            K[:k, :k], K[k, k] = G[np.ix_(face, face)], 0.0
            x = np.linalg.lstsq(K, np.append(b[list(face)], 1.0), rcond=None)[0][:k]
            if (x >= -1e-12).all() and abs(x.sum() - 1.0) < 1e-9:
                a = np.zeros(b.size)
                a[list(face)] = x
                best = max(best, value(G, b, a))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_best_of_all_faces(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(7, 4))
    G, b = A @ A.T, rng.normal(size=7)
    assert value(G, b, solve(G, b)[0]) == pytest.approx(by_faces(G, b), abs=1e-12)


def test_an_active_weight_of_zero_is_not_taken_in_twice():
    """Many copies of few vectors, of very different lengths, from where the last solve ended."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(6, 3)) * np.geomspace(1e-6, 1e6, 3)
        A = A[rng.integers(0, 6, 60)]
        G, b = A @ A.T, np.abs(rng.normal(size=60))
        b = b[rng.integers(0, 3, 60)]
        a, active, L = np.zeros(60), np.zeros(60, dtype=np.int64), np.zeros((60, 60))
        shift, size = float(np.diag(G).max()), 0
        for n in range(2, 61):
            size = maximise(G, b, n, shift, 1e-13, a, active, size, L)
            assert np.unique(active[:size]).size == size


@pytest.mark.parametrize("strength", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("kind", ["generic", "repeated", "rounded", "few columns", "zero cut"])
def test_no_entry_is_better_than_the_mean(kind, strength):
    """Slopes bound the distance to the maximum, also with dependent vectors."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(2, 60)), int(rng.integers(2, 20))
        A = rng.normal(size=(n, 1 if kind == "few columns" else p))
        if kind == "repeated":
            A[n // 2 :] = A[: n - n // 2]
        if kind == "rounded":
            A = np.round(A)
        if kind == "zero cut":
            A[0] = 0.0
        G, b = A @ A.T / strength, np.abs(rng.normal(size=n))
        a, active, *_ = solve(G, b)
        slope = b - G @ a
        assert (a >= 0).all()
        assert set(np.flatnonzero(a)) == set(active)
        assert a.sum() == pytest.approx(1.0, abs=1e-14)
        assert slope.max() - a @ slope <= 1e-12 + 1e-15 * np.abs(G).max()


def test_the_factor_belongs_to_the_active_entries():
    """After all the additions and removals, it is what a fresh one would be."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(80, 10))
    G, b = A @ A.T, rng.normal(size=80)
    _, active, L, shift = solve(G, b)
    fresh = np.zeros_like(L)
    factorise(G, shift, active.copy(), active.size, fresh)
    np.testing.assert_allclose(np.tril(L), fresh, atol=1e-10)
    np.testing.assert_allclose(fresh @ fresh.T, G[np.ix_(active, active)] + shift, atol=1e-10)


def test_one_more_entry_from_the_old_solution():
    """A warm start gives the cold answer; what is not active stays at zero."""
    rng = np.random.default_rng(1)
    n = 60
    A = rng.normal(size=(n, 6))
    G, b = A @ A.T / 0.01, np.abs(rng.normal(size=n))
    shift = float(np.diag(G).max())
    a, active, L = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros((n, n))
    size, before = 0, -np.inf
    for k in range(1, n + 1):
        size = maximise(G, b, k, shift, 1e-13, a, active, size, L)
        cold = solve(np.ascontiguousarray(G[:k, :k]), b[:k])[0]
        warm = value(G[:k, :k], b[:k], a[:k])
        assert warm == pytest.approx(value(G[:k, :k], b[:k], cold), abs=1e-10)
        assert warm >= before - 1e-10
        assert not a[k:].any()
        before = warm


def test_a_single_entry():
    a, active, *_ = solve(np.zeros((1, 1)), np.array([3.0]))
    assert a.tolist() == [1.0]
    assert active.tolist() == [0]
