"""Generated data sets with fixed seeds."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

Matrix = sp.csr_array | np.ndarray
Arrays = tuple[Matrix, np.ndarray]


def _distinct(draws: np.ndarray, keep: int) -> np.ndarray:
    """First ``keep`` distinct values, sorted."""
    values, first = np.unique(draws, return_index=True)
    return np.sort(values[np.argsort(first)[:keep]])


def _text_columns(rng: np.random.Generator, n: int, d: int, per_row: int) -> sp.csr_array:
    """Pattern of a document-term matrix: power-law columns in random order, ``per_row`` a row."""
    weight = 1.0 / (np.arange(d) + 10.0)
    cdf = np.cumsum(weight / weight.sum())
    shuffle = rng.permutation(d)
    rows = []
    for _ in range(n):
        draws = np.minimum(np.searchsorted(cdf, rng.random(2 * per_row)), d - 1)
        rows.append(_distinct(shuffle[draws], per_row))
    indptr = np.concatenate([[0], np.cumsum([len(r) for r in rows])]).astype(np.int32)
    indices = np.concatenate(rows).astype(np.int32)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(n, d))


def rcv1_like(n: int = 20_000, d: int = 47_000, per_row: int = 75, seed: int = 0) -> Arrays:
    """Tf-idf rows of unit norm; labels from a sparse direction with noise, about half positive."""
    rng = np.random.default_rng(seed)
    X = _text_columns(rng, n, d, per_row)
    frequency = np.bincount(X.indices, minlength=d)
    idf = np.log(n / np.maximum(frequency, 1))
    X.data = (1.0 + np.log(rng.geometric(0.6, X.nnz))) * idf[X.indices]
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    X.data /= np.sqrt(np.bincount(row, X.data**2, minlength=n))[row]
    direction = np.zeros(d)
    common = min(2000, d)
    chosen = np.argsort(-frequency)[:common][rng.permutation(common)[:500]]
    direction[chosen] = rng.standard_normal(len(chosen))
    scores = X @ direction
    scores = (scores - np.median(scores)) / scores.std()
    return X, np.where(scores + 0.4 * rng.standard_normal(n) > 0, 1.0, -1.0)


def correlated_dense(n: int = 100_000, d: int = 100, rho: float = 0.7, seed: int = 0) -> Arrays:
    """Gaussian rows with autoregressive correlation ``rho``; logistic labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    direction = rng.standard_normal(d) * (rng.random(d) < 0.5)
    scores = X @ direction
    scores *= 2.0 / scores.std()
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-scores)), 1.0, -1.0)
    return X, y
