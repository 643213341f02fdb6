"""Coordinate kernels against accelerated proximal gradient in plain numpy, and gathers."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.types import SeparableSpec
from auctor.data import as_data
from auctor.kernels.descent import coordinate
from auctor.solvers.sparse.models.columns import descend_on_matrix

N, D, K = 30, 8, 2
INF = np.inf


def penalty(kind):
    """(l1, l2, lower, upper) with one value per column."""
    rng = np.random.default_rng(5)
    free = np.full(D, INF)
    none = np.zeros(D)
    levels = rng.uniform(0.0, 0.2, size=D)
    levels[2] = 0.0
    return {
        "none": (none, none, -free, free),
        "l1": (np.full(D, 0.1), none, -free, free),
        "levels": (levels, rng.uniform(0.0, 0.5, size=D), -free, free),
        "box": (none, none, np.full(D, -0.1), np.full(D, 0.15)),
        "all": (levels, 0.3 * levels, np.linspace(-0.3, 0.1, D), np.linspace(0.1, 0.5, D)),
        "nonnegative": (levels, none, none, free),
    }[kind]


KINDS = ["none", "l1", "levels", "box", "all", "nonnegative"]


def model(seed=0, *, thin=False, low_rank=False):
    """Columns, row curvature, gradient, weights, factors and core of a random model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) + 0.3
    if thin:
        X *= rng.random((N, D)) < 0.4
    h = rng.uniform(0.0, 2.0, size=N) / N
    h[4] = 0.0
    factors = rng.normal(size=(D, K if low_rank else 0))
    core = np.array([[0.2, -0.1], [-0.1, 0.3]])[: factors.shape[1], : factors.shape[1]]
    return X, h, rng.normal(size=D) * 0.3, factors, core


def reference(H, g, w, l1, l2, lower, upper, free=0):
    """Minimiser of ``g.d + d.Hd/2 + penalty(w + d)``; the last ``free`` have no penalty."""
    l1, l2 = (np.append(a, np.zeros(free)) for a in (l1, l2))
    lower, upper = np.append(lower, np.full(free, -INF)), np.append(upper, np.full(free, INF))
    step = 1.0 / np.linalg.eigvalsh(H)[-1]
    x = momentum = np.clip(w, lower, upper)
    t = 1.0
    for _ in range(50000):
        v = momentum - step * (g + H @ (momentum - w))
        new = np.sign(v) * np.maximum(np.abs(v) - step * l1, 0.0) / (1.0 + step * l2)
        new = np.clip(new, lower, upper)
        if (momentum - new) @ (new - x) > 0.0:
            t = 1.0
        ahead = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        done = np.abs(new - momentum).max() <= 1e-15
        momentum, x, t = new + (t - 1.0) / ahead * (new - x), new, ahead
        if done:
            break
    return x - w


def start_of(spec, seed=3):
    w = np.random.default_rng(seed).normal(size=D) * 0.2
    w[::3] = 0.0
    return np.clip(w, spec[2], spec[3])


@pytest.mark.parametrize("kind", KINDS)
def test_descend_matrix(kind):
    X, h, g, _, _ = model()
    H = X.T @ (h[:, None] * X)
    spec = penalty(kind)
    w, change = start_of(spec), np.full(D, np.nan)
    sweeps = coordinate.descend_matrix(H, g, w, *spec, change, 10000, 1e-13)
    assert sweeps < 10000
    np.testing.assert_allclose(change, reference(H, g, w, *spec), atol=1e-11)
    near = np.minimum(np.abs(w + change - spec[2]), np.abs(w + change - spec[3]))
    assert ((near > 1e-12) | (near <= 1e-16)).all()
    assert ((np.abs(w + change) > 1e-12) | (w + change == 0.0)).all()


def test_descend_matrix_extrapolates_what_plain_sweeps_crawl_through():
    rng, d = np.random.default_rng(0), 80
    X = rng.normal(size=(500, 1)) + 0.8 * rng.normal(size=(500, d))
    H, g = X.T @ X, X.T @ rng.normal(size=500)
    l1, free, change = np.full(d, 0.1), np.full(d, INF), np.empty(d)
    spec = (l1, np.zeros(d), -free, free)
    sweeps = coordinate.descend_matrix(H, g, np.zeros(d), *spec, change, 5000, 1e-9)
    assert sweeps < 5000
    plain, x = 0, np.zeros(d)
    while np.abs(x - change).max() > 1e-6 and plain < 3 * sweeps:
        for j in range(d):
            v = x[j] - (g[j] + H[j] @ x) / H[j, j]
            x[j] = np.sign(v) * max(abs(v) - l1[j] / H[j, j], 0.0)
        plain += 1
    assert plain == 3 * sweeps


def test_descend_matrix_leaves_flat_coordinates():
    X, h, g, _, _ = model()
    X[:, 3] = 0.0
    g[3] = 0.0
    H = X.T @ (h[:, None] * X)
    spec, change = penalty("l1"), np.empty(D)
    coordinate.descend_matrix(H, g, np.zeros(D), *spec, change, 5000, 1e-13)
    assert change[3] == 0.0
    rest = np.arange(D) != 3
    part = [level[rest] for level in spec]
    wanted = reference(H[np.ix_(rest, rest)], g[rest], np.zeros(D - 1), *part)
    np.testing.assert_allclose(change[rest], wanted, atol=1e-11)


def test_descend_matrix_counts_and_bounds_its_sweeps():
    X, h, g, _, _ = model()
    H = X.T @ (h[:, None] * X)
    spec, change = penalty("l1"), np.empty(D)
    assert coordinate.descend_matrix(H, g, np.zeros(D), *spec, change, 3, 0.0) == 3
    assert coordinate.descend_matrix(H, g, np.zeros(D), *spec, change, 50, INF) == 1
    assert coordinate.descend_matrix(H, 0.0 * g, np.zeros(D), *spec, change, 50, 0.0) == 1
    assert not change.any()


def descend(X, h, g, w, spec, factors, core, *, chosen=None, max_sweeps=5000, seed=1):
    columns = as_data(X, np.zeros(N)).columns()
    chosen = np.arange(D) if chosen is None else chosen
    curvature, change, r = np.zeros(D), np.zeros(D), np.zeros(N)
    coordinate.column_curvatures(*columns, h, chosen, curvature)
    curvature[chosen] += ((factors[chosen] @ core) * factors[chosen]).sum(axis=1)
    state = np.array([seed], dtype=np.uint64)
    sweeps, work = coordinate.descend_columns(
        *columns, h, g, curvature, w, *spec, factors, core, chosen, change, r,
        max_sweeps, 1e-13, state,
    )  # fmt: skip
    return change, r, sweeps, work


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low_rank", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csc_array, np.float32])
def test_descend_columns(kind, low_rank, storage):
    X, h, g, factors, core = model(thin=storage is sparse.csc_array, low_rank=low_rank)
    if storage is np.float32:
        X = X.astype(np.float32)
    spec = penalty(kind)
    w = start_of(spec)
    stored = sparse.csc_array(X) if storage is sparse.csc_array else X
    change, r, sweeps, work = descend(stored, h, g, w, spec, factors, core)
    assert sweeps < 5000
    assert work > 0
    full = X.astype(np.float64)
    H = full.T @ (h[:, None] * full) + factors @ core @ factors.T
    np.testing.assert_allclose(change, reference(H, g, w, *spec), atol=1e-11)
    np.testing.assert_allclose(r, h * (full @ change), atol=1e-13)


def test_an_eliminated_intercept_is_the_last_coordinate():
    X, h, g, *_ = model()
    spec = SeparableSpec(*penalty("l1"))
    full = np.column_stack([X, np.ones(N)])
    H, slope = full.T @ (h[:, None] * full), np.append(g, 0.3)
    w = np.append(start_of(spec), 0.1)
    change, _ = descend_on_matrix(H, slope, w, spec, max_sweeps=5000, tol=1e-13)
    wanted = reference(H, slope, w, *spec, free=1)
    np.testing.assert_allclose(change, wanted, atol=1e-9)


def test_descend_columns_moves_the_chosen_alone():
    X, h, g, factors, core = model()
    spec, chosen = penalty("l1"), np.array([6, 1, 4])
    w = start_of(spec)
    change, *_ = descend(X, h, g, w, spec, factors, core, chosen=chosen)
    some = X[:, chosen]
    H = some.T @ (h[:, None] * some)
    part = [level[chosen] for level in spec]
    # The others stay, so their score change is zero.
    np.testing.assert_allclose(
        change[chosen], reference(H, g[chosen], w[chosen], *part), atol=1e-11
    )
    assert not np.delete(change, chosen).any()


def test_descend_columns_stops_after_its_sweeps():
    X, h, g, factors, core = model()
    spec = penalty("l1")
    *_, sweeps, work = descend(X, h, g, np.zeros(D), spec, factors, core, max_sweeps=2)
    assert sweeps == 2
    assert work <= 2 * X.size


def test_column_sums():
    X, h, *_ = model(thin=True)
    columns = as_data(sparse.csc_array(X), np.zeros(N)).columns()
    chosen = np.array([5, 0, 3])
    out = np.zeros(D)
    coordinate.column_curvatures(*columns, h, chosen, out)
    wanted = (X**2).T @ h
    np.testing.assert_allclose(out[chosen], wanted[chosen], atol=1e-15)
    assert not np.delete(out, chosen).any()
    change, scores = np.arange(D, dtype=float), np.full(N, 2.0)
    coordinate.combine_columns(*columns, change, chosen, scores)
    np.testing.assert_allclose(scores, 2.0 + X[:, chosen] @ change[chosen], atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_columns_gathered_from_rows(dtype, index):
    X = model(thin=True)[0].astype(dtype)
    csr = sparse.csr_array(X)
    csr.indptr, csr.indices = csr.indptr.astype(index), csr.indices.astype(index)
    rows = as_data(csr, np.zeros(N)).row_lines()
    chosen = np.array([1, 2, 7])
    counts = np.zeros(D, dtype=np.int64)
    coordinate.count_columns(rows.indices, counts)
    np.testing.assert_array_equal(counts, (X != 0).sum(axis=0))
    start = np.concatenate(([0], np.cumsum(counts[chosen])))
    slot = np.full(D, -1, dtype=np.int32)
    slot[chosen] = np.arange(3)
    ends = start[:-1].copy()
    out, values = np.empty(start[-1], dtype=rows.indices.dtype), np.empty(start[-1], dtype=dtype)
    coordinate.extract_columns(*rows, slot, ends, out, values)
    found = sparse.csc_array((values, out.astype(np.int64), start), shape=(N, 3))
    np.testing.assert_array_equal(found.toarray(), X[:, chosen])
    np.testing.assert_array_equal(ends, start[1:])
    assert found.has_sorted_indices


def test_some_columns_of_data():
    X = model(thin=True)[0]
    chosen = np.array([1, 2, 7])
    for stored in (X, np.asfortranarray(X), sparse.csr_array(X)):
        part = as_data(stored, np.zeros(N)).some_columns(chosen, 0.9)
        parts = part.values, *(a.astype(np.int64) for a in (part.indices, part.indptr))
        found = sparse.csc_array(parts, shape=(N, 3))
        np.testing.assert_array_equal(found.toarray(), X[:, chosen])
        assert as_data(stored, np.zeros(N)).some_columns(chosen, 0.1) is None
        empty = as_data(stored, np.zeros(N)).some_columns(np.array([], dtype=np.int64), 0.1)
        assert empty.values.size == 0


def test_shuffles():
    def shuffled(seed, count=100):
        order = np.arange(100)
        coordinate.shuffle(order, count, np.array([seed], dtype=np.uint64))
        return order

    np.testing.assert_array_equal(shuffled(7), shuffled(7))
    assert (shuffled(7) != shuffled(8)).any()
    assert (np.sort(shuffled(7)) == np.arange(100)).all()
    part = shuffled(7, count=10)
    assert (np.sort(part[:10]) == np.arange(10)).all()
    assert (part[10:] == np.arange(10, 100)).all()
    assert (shuffled(7, count=1) == np.arange(100)).all()
    assert (shuffled(7, count=0) == np.arange(100)).all()


def test_shuffles_have_no_favourite_place():
    order, state = np.arange(6), np.array([12345], dtype=np.uint64)
    times = np.zeros((6, 6))
    for _ in range(6000):
        coordinate.shuffle(order, 6, state)
        times[np.arange(6), order] += 1
    assert abs(times - 1000).max() < 150  # 5 standard deviations


def test_gram_of_chosen_columns():
    rng = np.random.default_rng(4)
    X = np.where(rng.random((30, 12)) < 0.4, rng.normal(size=(30, 12)), 0.0)
    h = rng.random(30)
    for chosen in (np.array([7, 2, 11]), np.arange(12), np.array([], dtype=np.int64)):
        slot = np.full(12, -1, dtype=np.int32)
        slot[chosen] = np.arange(chosen.size)
        out = np.zeros((chosen.size, chosen.size))
        rows = as_data(sparse.csr_array(X), np.zeros(30)).row_lines()
        coordinate.gram_chosen(*rows, slot, h, out)
        np.testing.assert_allclose(out, X[:, chosen].T @ (h[:, None] * X[:, chosen]), atol=1e-13)
