"""Step functions kept as bytes against the matrix that they stand for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor.core.types import Target
from auctor.data import Binned, Dense
from auctor.data.binned import BinnedMatrix, pack, unpack
from auctor.data.codebook import Codebook
from auctor.losses import Logistic, PairwiseSquaredHinge
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import choose


def matrix_of(n=300, p=11, *, seed=0, uncoded=None):
    """Lines, steps and own weights of several shapes, over random codes."""
    rng = np.random.default_rng(seed)
    books, lines = [], []
    for j in range(p):
        size = int(rng.integers(2, 40)) if j else 256
        line = rng.normal(size=size) if j % 3 != 1 else None
        steps = tuple(np.flatnonzero(rng.random(size) < 0.4)) if j % 2 == 0 else (1,)
        own = (0,) if j % 3 == 0 else tuple(range(size)) if j == 4 else ()
        books.append(Codebook(size, line, steps, own))
        lines.append(rng.integers(0, size, size=n))
    raw = rng.normal(size=(n, 3)).round(1) * (rng.random((n, 3)) < 0.5)
    stores = {None: lambda x: None, "dense": np.ascontiguousarray, "sparse": csr_array}
    return BinnedMatrix(pack(np.array(lines, dtype=np.uint8)), books, stores[uncoded](raw))


def target_of(n, seed=0):
    rng = np.random.default_rng(seed)
    return Target(np.where(rng.random(n) < 0.3, 1.0, -1.0), rng.uniform(0.5, 2.0, n))


@pytest.mark.parametrize("uncoded", [None, "dense", "sparse"])
def test_every_sum_is_that_of_the_expanded_matrix(uncoded):
    matrix = matrix_of(uncoded=uncoded)
    data, X = Binned(matrix, target_of(300)), matrix.to_dense()
    rng = np.random.default_rng(1)
    w, r, h = rng.normal(size=X.shape[1]), rng.normal(size=300), rng.uniform(size=300)
    np.testing.assert_allclose(data.scores(w, 0.5), X @ w + 0.5, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(data.gradient(r), X.T @ r, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(data.square_gradient(h), (X * X).T @ h, rtol=1e-11)
    np.testing.assert_allclose(data.gram(h), (X.T * h) @ X, rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(data.row_lengths(w**2), (X * X) @ w**2, rtol=1e-11)
    assert data.n_entries == 300 * 11 + matrix.n_uncoded


@pytest.mark.parametrize("count", [1, 8])
def test_histograms_of_several_sums_are_those_of_each(count):
    matrix, r = matrix_of(), np.random.default_rng(2).normal(size=(300, count))
    sums = Binned(matrix, target_of(300)).joint_histograms(r)
    for j, codes in enumerate(matrix.codes()):
        for m in range(count):
            np.testing.assert_allclose(sums[j, :, m], np.bincount(codes, r[:, m], 256), atol=1e-12)


def test_the_basis_is_what_the_tables_are_made_of():
    matrix = matrix_of()
    theta = np.random.default_rng(3).normal(size=matrix.shape[1])
    tables, at = matrix.arrays.tables(theta), 0
    for j, book in enumerate(matrix.books):
        part = theta[at : at + book.n_params]
        np.testing.assert_allclose(tables[j, : book.size], book.table(part), atol=1e-12)
        at += book.n_params


@pytest.mark.parametrize("uncoded", [None, "dense", "sparse"])
def test_fewer_columns_need_fewer_codes(uncoded):
    matrix = matrix_of(uncoded=uncoded)
    X, rng = matrix.to_dense(), np.random.default_rng(2)
    for size in (1, 5, 40, X.shape[1]):
        index = rng.permutation(X.shape[1])[:size]
        part = matrix.only(index)
        np.testing.assert_array_equal(part.to_dense(), X[:, index])
        assert all(book.n_params for book in part.books)
        twice = part.only(np.arange(size)[::-1])
        np.testing.assert_array_equal(twice.to_dense(), X[:, index[::-1]])
    steps = BinnedMatrix(matrix.words, [Codebook(256, steps=tuple(range(1, 256)))])
    assert steps.only(np.array([9, 99])).books[0].size == 3


def test_rows_by_number_and_by_mask():
    matrix = matrix_of(uncoded="sparse")
    X, index = matrix.to_dense(), np.array([5, 0, 5, 299])
    np.testing.assert_array_equal(matrix[index].to_dense(), X[index])
    mask = np.arange(300) % 7 == 0
    np.testing.assert_array_equal(matrix[mask].to_dense(), X[mask])


def test_threads_change_nothing():
    matrix = matrix_of(20_000, 19, uncoded="sparse")
    w = np.random.default_rng(1).normal(size=matrix.shape[1])
    h = np.random.default_rng(2).uniform(size=20_000)
    one, three = (Binned(matrix, target_of(20_000), n_threads=k) for k in (1, 3))
    for name, argument in (("scores", w), ("gradient", h), ("square_gradient", h), ("gram", h)):
        found = [getattr(data, name)(argument) for data in (one, three)]
        np.testing.assert_array_equal(*found, err_msg=name)


def test_codes_survive_packing():
    codes = np.random.default_rng(0).integers(0, 256, size=(13, 50)).astype(np.uint8)
    np.testing.assert_array_equal(unpack(pack(codes), 13), codes)
    assert pack(codes).nbytes == 16 * 50


@pytest.mark.parametrize("loss", [Logistic(), PairwiseSquaredHinge()])
@pytest.mark.parametrize("penalty", [L1(0.01), L2(0.01)])
def test_solvers_find_the_minimum_of_the_expanded_matrix(loss, penalty):
    matrix, target = matrix_of(200, 4), target_of(200)
    values = []
    for data in (Binned(matrix, target), Dense(matrix.to_dense(), target)):
        problem = Problem(loss, penalty, data)
        found = minimise(problem, choose(problem), tol=1e-7)
        assert found.converged
        values.append(found.value)
    assert values[0] == pytest.approx(values[1], rel=1e-6)
