"""Bins of columns: quantiles, weights, missing values and values never seen."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor.additive.bins import MAX_VALUE_CODES, Bins, bin_column
from auctor.additive.parameters import curve_penalty, screen_pairs


def test_few_distinct_values_keep_a_bin_each():
    bins = bin_column(np.array([3.0, 1.0, 2.0, 1.0, 3.0]), None, 32)
    np.testing.assert_array_equal(bins.cuts, [1.5, 2.5])
    np.testing.assert_array_equal(bins.steps, [2, 3])
    np.testing.assert_allclose(bins.share, [0.0, 0.4, 0.2, 0.4])


def test_bins_hold_about_equal_weight():
    rng = np.random.default_rng(0)
    values, weight = rng.lognormal(size=5000), rng.uniform(size=5000)
    bins = bin_column(values, weight, 10)
    assert bins.size <= MAX_VALUE_CODES + 2
    assert bins.steps.size == 9
    inside = np.digitize(values, bins.edges, right=True)
    shares = np.bincount(inside, weight) / weight.sum()
    np.testing.assert_allclose(shares, 0.1, atol=0.01)


def test_a_weight_is_a_number_of_equal_rows():
    rng = np.random.default_rng(1)
    values, times = rng.normal(size=400).round(2), rng.integers(0, 4, size=400)
    one = bin_column(values, times.astype(float), 8)
    two = bin_column(np.repeat(values, times), None, 8)
    np.testing.assert_array_equal(one.cuts, two.cuts)
    np.testing.assert_array_equal(one.steps, two.steps)
    np.testing.assert_allclose(one.line, two.line, atol=1e-12)


def test_the_line_is_that_of_the_values():
    values = np.random.default_rng(2).normal(size=20_000)
    bins = bin_column(values, None, 32)
    line = bins.line[bins.codes(values)]
    assert np.corrcoef(line, values)[0, 1] > 0.999
    assert line.mean() == pytest.approx(0.0, abs=1e-12)
    assert line.std() == pytest.approx(1.0, abs=1e-9)


def test_values_outside_the_range_are_in_the_end_bins():
    bins = bin_column(np.arange(10.0), None, 4)
    np.testing.assert_array_equal(bins.codes(np.array([-1e9, 1e9])), [1, 10])


@pytest.mark.parametrize("values", [np.full(5, 7.0), np.full(5, np.nan)])
def test_constant_and_empty_columns_have_nothing_to_learn(values):
    bins = bin_column(values, None, 32)
    assert bins.constant
    assert bins.book.n_params == 0
    assert bins.codes(np.array([1.0, np.nan])).max() <= 1


def test_missing_values_have_a_weight_of_their_own():
    bins = Bins.of(np.array([[1.0], [2.0], [np.nan], [3.0]] * 20))
    table = bins.tables(np.arange(1.0, bins.n_params + 1))[0]
    assert table[0] == bins.n_params
    never = Bins.of(np.array([[1.0], [2.0], [3.0]] * 20))
    table = never.tables(np.ones(never.n_params))[0]
    assert table[0] == pytest.approx(table[1:].mean())


def test_sparse_and_dense_tables_get_the_same_codes():
    X = np.random.default_rng(3).normal(size=(200, 4)).round(1)
    X[np.abs(X) < 0.8] = 0.0
    dense, sparse = Bins.of(X), Bins.of(csr_array(X))
    np.testing.assert_array_equal(dense.codes(X), sparse.codes(csr_array(X)))


def test_small_tables_get_few_bins():
    X = np.random.default_rng(4).normal(size=(50, 1))
    assert Bins.of(X).columns[0].steps.size == 4


def test_signs_are_bounds_of_lines_and_jumps_but_not_of_missing_values():
    X = np.random.default_rng(5).normal(size=(300, 2))
    X[::7] = np.nan
    bins = Bins.of(X, n_bins=4)
    spec = curve_penalty("fused", bins, np.array([1, -1])).separable(bins.n_params)
    np.testing.assert_array_equal(spec.lower[:5], [0.0, 0.0, 0.0, 0.0, -np.inf])
    np.testing.assert_array_equal(spec.upper[5:], [0.0, 0.0, 0.0, 0.0, np.inf])
    assert (spec.l1 > 0.0).all()


def test_the_pair_that_matters_is_found():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 5))
    pull = X[:, 1] * X[:, 3] + 0.1 * rng.normal(size=2000)
    bins = Bins.of(X)
    (pair,) = screen_pairs(bins, bins.codes(X), pull[:, None], 1, np.arange(5), None)
    assert (pair.first, pair.second) == (1, 3)
    assert pair.share.sum() == pytest.approx(1.0)
