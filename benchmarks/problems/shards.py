"""Generated rows as folders of shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from auctor.data.shard_writer import cut_rows, write_manifest, write_shard
from auctor.data.shards import shard_path


def rows(
    n: int, entries: int, d: int, seed: int = 0, truth: int | None = None
) -> tuple[csr_array, np.ndarray]:
    """Rows of float32 entries in random columns, with a noisy linear label, 10 % positive.

    ``truth`` is a seed of the weights behind the label, for parts of one set.
    """
    rng = np.random.default_rng(seed)
    # One column of every stretch of d / entries: sorted, and none twice.
    stretch = d // entries
    indices = np.arange(entries) * stretch + rng.integers(0, stretch, size=(n, entries))
    values = rng.normal(size=(n, entries)).astype(np.float32)
    indptr = np.arange(0, n * entries + 1, entries)
    X = csr_array((values.ravel(), indices.ravel().astype(np.int32), indptr), shape=(n, d))
    source = rng if truth is None else np.random.default_rng(truth)
    w = source.normal(size=d) * (source.random(d) < 0.1)
    scores = X @ w
    scores = scores + 0.5 * scores.std() * rng.normal(size=n)
    return X, np.where(scores > np.quantile(scores, 0.9), 1.0, -1.0)


def write(folder: Path, X: csr_array, y: np.ndarray, n_bytes: int) -> None:
    """Cut rows into shards of about ``n_bytes`` bytes."""
    folder.mkdir()
    shards = [
        write_shard(shard_path(folder, number), X[some], y[some])
        for number, some in enumerate(cut_rows(X, n_bytes))
    ]
    write_manifest(folder, X.shape[1], shards, sparse=True)
