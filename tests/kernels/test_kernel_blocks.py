"""The compiled parts of kernel machines against plain numpy."""

import numpy as np
import pytest
from scipy.sparse import random_array

from auctor.data.sparse import unsigned
from auctor.kernels.descent.pairs import gather, polish, solve_pairs, subtract_rows
from auctor.kernels.linalg.blocks import products_with_block


@pytest.mark.parametrize(("start", "stop"), [(0, 53), (5, 22), (7, 7)])
def test_products_of_compressed_rows(start, stop):
    rng = np.random.default_rng(0)
    X = random_array((53, 30), density=0.2, rng=rng, format="csr")
    block, offset, own = rng.normal(size=(30, 9)), rng.normal(size=53), rng.normal(size=9)
    out = np.full((9, stop - start), np.nan)
    products_with_block(*unsigned(X), offset, block, own, start, stop, out)
    wanted = (X.toarray() @ block + offset[:, None] + own).T[:, start:stop]
    np.testing.assert_allclose(out, wanted, atol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 4, 7])
def test_rows_are_subtracted_in_float64(count):
    rng = np.random.default_rng(count)
    pool, slope = rng.normal(size=(10, 33)).astype(np.float32), rng.normal(size=33)
    slots, change = rng.permutation(10)[:count].astype(np.uint64), rng.normal(size=count)
    wanted = slope.copy()
    wanted[3:30] -= change @ pool[slots][:, 3:30].astype(np.float64)
    subtract_rows(pool, slots, change, 3, 30, slope)
    np.testing.assert_allclose(slope, wanted, rtol=1e-13, atol=1e-13)


def test_a_block_is_gathered_around_a_known_corner():
    rng = np.random.default_rng(0)
    K = rng.normal(size=(20, 20))
    K += K.T
    order = rng.permutation(20)
    columns = rng.permutation(20)[:8].astype(np.uint64)
    slots = np.argsort(order)[columns].astype(np.uint64)
    for known in (0, 3, 8):
        out = np.full((8, 8), np.nan)
        out[:known, :known] = K[np.ix_(columns[:known], columns[:known])]
        gather(K[order], slots, columns, known, out)
        np.testing.assert_array_equal(out, K[np.ix_(columns, columns)])


def test_pairs_climb_and_the_exact_step_ends_it():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(12, 4))
    K, target = B @ B.T + 0.1 * np.eye(12), rng.normal(size=12)
    low, high = np.full(12, -0.7), np.full(12, 0.7)
    beta, slope = np.zeros(12), target.copy()
    values = []
    for _ in range(40):
        solve_pairs(K, low, high, beta, slope, 1e-12, 1)
        values.append(target @ beta - 0.5 * beta @ K @ beta)
        assert beta.sum() == pytest.approx(0.0, abs=1e-12)
        assert (np.abs(beta) <= 0.7).all()
    assert (np.diff(values) >= -1e-12).all()
    np.testing.assert_allclose(slope, target - K @ beta, atol=1e-10)
    assert solve_pairs(K, low, high, beta, slope, 1e-6, 10_000) < 10_000
    assert polish(K, target, low, high, beta, slope, 1e-10)
    free = np.abs(beta) < 0.7
    assert np.ptp(slope[free]) < 1e-10


def test_a_flat_pair_moves_to_its_bound():
    K, target = np.ones((2, 2)), np.array([1.0, -1.0])
    beta, slope = np.zeros(2), target.copy()
    assert solve_pairs(K, np.full(2, -2.0), np.full(2, 2.0), beta, slope, 1e-6, 100) == 1
    assert beta.tolist() == [2.0, -2.0]
