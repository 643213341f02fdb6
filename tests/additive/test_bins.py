"""Bins of columns: quantiles, weights, missing values and values never seen."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor.additive.bins import Bins
from auctor.additive.columns import MAX_VALUE_CODES, bin_column, bin_levels, groups_of
from auctor.additive.parameters import curve_penalty


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


def test_heavy_values_stand_alone_and_the_rest_is_cut_by_weight():
    rng = np.random.default_rng(0)
    spike = np.concatenate([np.full(300, 0.5), np.full(120, 7.0), rng.uniform(0, 9, size=4000)])
    bins = bin_column(spike, None, 64)
    inside = np.digitize(spike, bins.edges, right=True)
    for value in (0.5, 7.0):
        (group,) = np.unique(inside[spike == value])
        assert (spike[inside == group] == value).all()
    sizes = np.bincount(inside)
    assert np.quantile(sizes, 0.1) / np.quantile(sizes, 0.7) > 0.4


@pytest.mark.parametrize("most", [2, 16, 64, 254])
def test_groups_are_never_more_than_a_byte_holds(most):
    rng = np.random.default_rng(most)
    for _ in range(20):
        amount = rng.pareto(0.5, size=int(rng.integers(3, 2000))) + 1e-9
        group = groups_of(amount, most)
        assert group[0] == 0
        assert set(np.diff(group)) <= {0, 1}
        assert group[-1] < 254
        heavy = np.flatnonzero(amount >= amount.sum() / 4)
        assert all((group == group[k]).sum() == 1 for k in heavy if most >= 16)


def test_levels_of_categories_are_codes_and_rare_ones_share_one():
    values = np.repeat([3.0, 5.0, 8.0, 9.0, np.nan], [10, 7, 2, 1, 4])
    bins = bin_levels(values, None)
    np.testing.assert_array_equal(bins.values, [3.0, 5.0])
    np.testing.assert_array_equal(
        bins.codes(np.array([3.0, 5.0, 8.0, 9.0, 77.0, -1.0, np.nan])), [1, 2, 3, 3, 3, 3, 0]
    )
    np.testing.assert_allclose(bins.share * 24, [4, 10, 7, 3])


def test_more_levels_than_codes_are_pooled_by_frequency():
    values = np.repeat(np.arange(400.0), np.arange(400) % 20 + 5)
    bins = bin_levels(values, None)
    assert bins.values.size == 254
    assert bins.size == 256
    kept = np.isin(np.arange(400), bins.values)
    assert (np.arange(400) % 20)[kept].min() >= (np.arange(400) % 20)[~kept].max()


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
    spec = curve_penalty("fused", bins, np.array([1, -1])).separable(10)
    np.testing.assert_array_equal(spec.lower[:5], [0.0, 0.0, 0.0, 0.0, -np.inf])
    np.testing.assert_array_equal(spec.upper[5:], [0.0, 0.0, 0.0, 0.0, np.inf])
    assert (spec.l1 > 0.0).all()
