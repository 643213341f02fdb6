"""Rows that files of several formats hold."""

import numpy as np
import pytest
from scipy import sparse


@pytest.fixture
def rows():
    """300 sparse rows of 40 columns, with values of very different size."""
    rng = np.random.default_rng(0)
    X = sparse.random(300, 40, density=0.15, random_state=1, format="csr")
    X.data = rng.normal(size=X.nnz) * 10.0 ** rng.integers(-8, 8, X.nnz)
    return X, np.where(rng.random(300) < 0.4, 1.0, -1.0)
