"""Products with several vectors at once, on every storage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

from auctor.core.types import Target
from auctor.data import Dense, Sparse

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 7)) * (RNG.random((40, 7)) < 0.5)
TARGET = Target(np.ones(40))
STORAGES = {
    "rows": lambda: Dense(np.ascontiguousarray(X), TARGET),
    "columns": lambda: Dense(np.asfortranarray(X), TARGET),
    "csr": lambda: Sparse(csr_array(X), TARGET),
    "csc": lambda: Sparse(csc_array(X), TARGET),
}


@pytest.mark.parametrize("storage", STORAGES)
def test_several_products_are_the_single_ones(storage: str) -> None:
    data = STORAGES[storage]()
    vectors, slopes = RNG.normal(size=(3, 7)), RNG.normal(size=(40, 3))
    np.testing.assert_allclose(data.several_scores(vectors), X @ vectors.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(data.several_gradients(slopes), slopes.T @ X, rtol=0, atol=1e-12)
