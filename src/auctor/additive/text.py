"""Columns of text and of categories of a table, as numbers that stand for their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import LevelBins
from auctor.additive.means import MeanBins
from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray

#: Number of a label that training rows did not have.
UNKNOWN = -1.0


def table_columns(X: Any) -> list[Any] | None:
    """The columns of a pandas or polars table; ``None`` for anything else."""
    if not hasattr(X, "columns"):
        return None
    if hasattr(X, "get_columns"):  # polars
        return list(X.get_columns())
    if not hasattr(X, "iloc") or not hasattr(X, "dtypes"):
        return None
    return [X.iloc[:, j] for j in range(X.shape[1])]


def text_columns(X: Any) -> list[int]:
    """Numbers of the columns of a table that hold text or categories."""
    columns = table_columns(X) or ()
    return [j for j, column in enumerate(columns) if _is_text(column.dtype)]


def _is_text(dtype: Any) -> bool:
    """Whether the type of a column is one of text or categories."""
    if hasattr(dtype, "kind"):  # pandas
        return dtype.kind in "OUS"
    return str(dtype).startswith(("String", "Categorical", "Enum", "Object"))


def with_labels(X: Any) -> tuple[Any, dict[int, list[str]]]:
    """A table with numbers for labels, and the labels of its columns of text, in order."""
    labels: dict[int, list[str]] = {}
    columns = table_columns(X) or []
    for j in text_columns(X):
        labels[j] = sorted({text for text in _texts(columns[j]) if text is not None})
    if not labels:
        return X, labels
    numbers = {j: {text: float(k) for k, text in enumerate(texts)} for j, texts in labels.items()}
    return _coded(X, numbers), labels


def coded(X: Any, bins: Bins) -> Any:
    """A table with the numbers of a fitted model for labels."""
    labels: dict[int, Mapping[str, float]] = {}
    for j in text_columns(X):
        column = bins.columns[j] if j < len(bins.columns) else None
        if isinstance(column, LevelBins | MeanBins) and column.labels is not None:
            labels[j] = dict(zip(map(str, column.labels), column.values.tolist(), strict=True))
    return _coded(X, labels) if labels else X


def _coded(X: Any, labels: Mapping[int, Mapping[str, float]]) -> FloatArray:
    """The table as numbers, by the numbers of the labels."""
    columns = []
    for j, column in enumerate(table_columns(X) or ()):
        if j in labels:
            known = labels[j]
            values = [np.nan if t is None else known.get(t, UNKNOWN) for t in _texts(column)]
            columns.append(np.array(values, dtype=np.float64))
        else:
            columns.append(_values(column))
    return np.column_stack(columns)


def _values(column: Any) -> FloatArray:
    """The numbers of a column of a table."""
    try:
        if hasattr(column, "iloc"):
            return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(column.to_numpy().astype(np.float64))
    except (TypeError, ValueError):
        raise DataError(
            f"numbers in the column {column.name!r}, as in fit",
            got=f"values such as {next(text for text in _texts(column) if text is not None)!r}",
            todo="Pass numbers, or fit with text in that column.",
        ) from None


def _texts(column: Any) -> list[str | None]:
    """The values of a column as text, ``None`` where missing."""
    if not hasattr(column, "iloc"):
        return [None if value is None else str(value) for value in column.to_list()]
    missing: Array = column.isna().to_numpy()
    values = column.astype(object).to_numpy()
    return [None if gone else str(value) for value, gone in zip(values, missing, strict=True)]
