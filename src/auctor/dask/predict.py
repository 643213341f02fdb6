"""Predictions for Dask collections: computed lazily, one block of rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np


def lazily(estimator: Any, method: str, X: Any) -> Any:
    """Apply a method of a fitted estimator to each partition, lazily.

    Arrays give arrays. Frames give series, or frames if the method returns several numbers a row.

    Parameters
    ----------
    estimator : fitted estimator
    method : {"predict", "decision_function", "predict_proba"}
    X : dask array or DataFrame
    """
    answer = getattr(estimator, method)
    if hasattr(X, "map_partitions"):
        return X.map_partitions(_of_frame, answer)
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    example = answer(np.zeros((1, X.shape[1])))
    if example.ndim == 1:
        return X.map_blocks(answer, drop_axis=1, dtype=example.dtype)
    return X.map_blocks(answer, chunks=(X.chunks[0], (example.shape[1],)), dtype=example.dtype)


def _of_frame(rows: Any, answer: Any) -> Any:
    """Apply a method to a pandas table; the result has the index of its rows."""
    from pandas import DataFrame, Series

    found = answer(rows)
    return Series(found, rows.index) if found.ndim == 1 else DataFrame(found, rows.index)
