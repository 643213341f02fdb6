"""Whether a model moves in the directions of its columns, by scores of rows that differ in one."""

from __future__ import annotations

import numpy as np


def steps_back(model, X, column, sign, seed=0):
    """Number of pairs of rows, equal but for one column, whose scores go against its direction.

    Other columns have values of the training rows, missing ones included, and some beyond them.
    """
    X = np.asarray(X, dtype=np.float64)
    rng = np.random.default_rng(seed)
    known = X[~np.isnan(X[:, column]), column]
    grid = np.unique(np.concatenate([known, 0.5 * (known[1:] + known[:-1]), [-1e9, 1e9]]))
    others = X[rng.integers(X.shape[0], size=30)]
    others[:5, rng.permutation(X.shape[1])[0]] = np.nan  # also where training had none
    others[5] = rng.normal(size=X.shape[1]) * 100.0
    rows = np.repeat(others, grid.size, axis=0)
    rows[:, column] = np.tile(grid, len(others))
    scores = model.decision_function(rows) if hasattr(model, "classes_") else model.predict(rows)
    return int((sign * np.diff(scores.reshape(len(others), -1), axis=1) < 0.0).sum())
