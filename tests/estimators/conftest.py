"""Small problems shared by the estimator tests."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray  # 0/1
    t: np.ndarray  # real
    weight: np.ndarray  # integers, some zero

    def repeated(self):
        """Row numbers, each as often as its weight says."""
        return np.repeat(np.arange(self.y.size), self.weight)


def make_rows(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    t = X @ rng.normal(size=d) + 2.0 * rng.normal(size=n)
    return Rows(X, (t > 0.7).astype(int), t, rng.integers(0, 4, n))


@pytest.fixture(scope="session")
def rows():
    return make_rows()


@pytest.fixture(scope="session")
def wide_rows():
    return make_rows(d=40)


@pytest.fixture(params=["dense", "csr"])
def store(request):
    """Turns an array into one of the storages."""
    return {"dense": np.asarray, "csr": sparse.csr_array}[request.param]


@pytest.fixture
def table():
    """Makes rows in which one column has a curve, and some values are missing."""
    return curved_table


def curved_table(n=600, *, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    z = 2.0 * np.abs(X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    X[rng.random((n, 4)) < missing] = np.nan
    return pd.DataFrame(X, columns=["age", "in come", 'q"t', "d"]), z > np.quantile(z, 0.7)
