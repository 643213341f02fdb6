"""Columns of text and of categories of a table, as numbers that stand for their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import LevelBins
from auctor.core.types import Array, FloatArray

#: Number of a label that training rows did not have.
UNKNOWN = -1.0


def text_columns(X: Any) -> list[int]:
    """Numbers of the columns of a pandas table that hold text or categories."""
    if not hasattr(X, "dtypes") or not hasattr(X, "iloc") or not hasattr(X, "columns"):
        return []
    kinds = [getattr(kind, "kind", "O") for kind in X.dtypes]
    return [j for j, kind in enumerate(kinds) if kind in "OUS"]


def with_labels(X: Any) -> tuple[Any, dict[int, list[str]]]:
    """A table with numbers for labels, and the labels of its columns of text, in order."""
    labels: dict[int, list[str]] = {}
    for j in text_columns(X):
        texts = _texts(X, j)
        labels[j] = sorted({text for text in texts if text is not None})
    return (_numbers(X, labels), labels) if labels else (X, labels)


def coded(X: Any, bins: Bins) -> Any:
    """A table with the numbers of a fitted model for labels."""
    labels: dict[int, Mapping[str, float]] = {}
    for j in text_columns(X):
        column = bins.columns[j] if j < len(bins.columns) else None
        if isinstance(column, LevelBins) and column.labels is not None:
            labels[j] = dict(zip(map(str, column.labels), column.values.tolist(), strict=True))
    return _coded(X, labels) if labels else X


def _numbers(X: Any, labels: Mapping[int, list[str]]) -> FloatArray:
    """The table as numbers, by the positions of the labels."""
    return _coded(
        X, {j: {text: float(k) for k, text in enumerate(names)} for j, names in labels.items()}
    )


def _coded(X: Any, labels: Mapping[int, Mapping[str, float]]) -> FloatArray:
    """The table as numbers, by the numbers of the labels."""
    columns = []
    for j in range(X.shape[1]):
        if j in labels:
            known = labels[j]
            values = [np.nan if t is None else known.get(t, UNKNOWN) for t in _texts(X, j)]
            columns.append(np.array(values, dtype=np.float64))
        else:
            columns.append(X.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan))
    return np.column_stack(columns)


def _texts(X: Any, j: int) -> list[str | None]:
    """The values of a column as text, ``None`` where missing."""
    column = X.iloc[:, j]
    missing: Array = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    return [None if gone else str(value) for value, gone in zip(values, missing, strict=True)]
