"""Keys of the rows of a matrix, by which equal rows are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.types import Array
from auctor.data.matrices import compressed_rows, is_sparse

# The finaliser of splitmix64 (Steele, Lea and Flood 2014).
_ADD, _ONE, _TWO = (
    np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def row_keys(matrix: Any) -> Array:
    """A number of 64 bits for each row: the same for equal rows, also with NaN in them.

    Different rows of a table of a million rows have the same key with probability 3e-8.

    Examples
    --------
    >>> keys = row_keys(np.array([[0.0, np.nan], [1.0, 0.0], [-0.0, np.nan]]))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    keys = np.zeros(matrix.shape[0], dtype=np.uint64)
    if is_sparse(matrix):
        rows = compressed_rows(matrix)
        mixed = _mixed(rows.data, rows.indices)
        owner = np.repeat(np.arange(keys.size), np.diff(rows.indptr))
        np.add.at(keys, owner, mixed)
        return keys
    for j in range(matrix.shape[1]):
        keys += _mixed(np.asarray(matrix[:, j]), np.array([j]))
    return keys


def _mixed(values: Array, columns: Array) -> Array:
    """Random bits that depend on a value and its column; 0 for the value 0."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # -0 becomes 0
    mixed = bits + _ADD * (columns.astype(np.uint64) + np.uint64(1))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _ONE
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _TWO
    mixed ^= mixed >> np.uint64(31)
    return np.where(values == 0.0, np.uint64(0), mixed)
