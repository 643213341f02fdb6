"""Four numbers in a register against numpy."""

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from auctor.kernels.runtime.vector import aligned, lane, line, plus, quad, set_line


@njit
def combine(table, indices, x, factors):
    """Sum of the named lines times x, and the table with multiples added to them."""
    total = quad(0.0, 0.0, 0.0, 0.0)
    step = quad(factors[0], factors[1], factors[2], factors[3])
    for k in range(indices.shape[0]):
        total = plus(total, x[k], line(table, indices[k]))
        set_line(table, indices[k], plus(line(table, indices[k]), x[k], step))
    return lane(total, 0), lane(total, 1), lane(total, 2), lane(total, 3)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.int64])
def test_lines_are_read_and_written_as_numpy_does(dtype):
    rng = np.random.default_rng(0)
    table, factors = rng.normal(size=(9, 4)), rng.normal(size=4)
    indices, x = np.array([8, 0, 3, 3], dtype=dtype), rng.normal(size=4)
    wanted, total = table.copy(), np.zeros(4)
    for j, value in zip(indices, x, strict=True):
        total = total + value * wanted[j]
        wanted[j] += value * factors
    np.testing.assert_array_equal(combine(table, indices, x, factors), total)
    np.testing.assert_array_equal(table, wanted)


@pytest.mark.parametrize(
    "table", [np.zeros((4, 4), order="F"), np.zeros(16), np.zeros((4, 4), np.float32)]
)
def test_other_tables_are_refused(table):
    with pytest.raises(TypingError):
        combine(table, np.array([1]), np.ones(1), np.ones(4))


@pytest.mark.parametrize("start", range(5))
def test_tables_are_moved_to_whole_cache_lines(start):
    table = np.arange(45.0)[start : start + 40].reshape(10, 4)
    moved = aligned(table)
    assert moved.ctypes.data % 32 == 0
    assert moved.flags.c_contiguous
    np.testing.assert_array_equal(moved, table)
    assert aligned(moved) is moved
