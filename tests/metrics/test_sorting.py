import numpy as np
import pytest

from auctor.kernels.linalg import sorting


def arrays():
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, sorting.RADIX_WITH_ROWS_FROM, sorting.RADIX_FROM, 2 * sorting.RADIX_FROM):
        yield rng.standard_normal(n)
        yield np.round(rng.standard_normal(n))
        yield rng.standard_normal(n) * 10.0 ** rng.integers(-300, 300, n)
        yield np.full(n, -2.5)
        yield rng.choice([0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308], n)


@pytest.mark.parametrize("values", list(arrays()), ids=lambda v: f"n{v.shape[0]}")
def test_sorts_agree_with_numpy(values):
    before = values.copy()
    order = np.argsort(values, kind="stable")
    np.testing.assert_array_equal(sorting.ascending(values), np.sort(values))
    np.testing.assert_array_equal(sorting.ascending_order(values), order)
    companion = np.arange(values.shape[0], dtype=float)
    moved = sorting.ascending_with(values, companion)
    np.testing.assert_array_equal(moved[0], values[order])
    np.testing.assert_array_equal(moved[1], order)
    np.testing.assert_array_equal(values, before)
    np.testing.assert_array_equal(companion, np.arange(values.shape[0]))
    np.testing.assert_array_equal(sorting.ascending(values.copy(), spare=True), np.sort(values))


def test_split_keeps_order():
    rng = np.random.default_rng(1)
    for share in (0.0, 0.3, 1.0):
        mask, values = rng.random(100) < share, rng.standard_normal(100)
        inside, outside = sorting.split(mask, values)
        np.testing.assert_array_equal(inside, values[mask])
        np.testing.assert_array_equal(outside, values[~mask])
