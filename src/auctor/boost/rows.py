"""What boosting libraries pass to an objective or a metric: scores, and a set of rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from auctor.core.errors import DataError, DataTypeError
from auctor.core.types import FloatArray


class RowSet(Protocol):
    """A Dataset of LightGBM or a DMatrix of XGBoost."""

    def get_label(self) -> Any:
        """The labels."""

    def get_weight(self) -> Any:
        """The weights; None, or an empty array, without them."""


def signed(labels: Any) -> FloatArray:
    """Labels -1 and +1 from these, from 0 and 1, or from False and True.

    Examples
    --------
    >>> signed([0, 1, 1])
    array([-1.,  1.,  1.])
    """
    values = np.asarray(labels, dtype=np.float64)
    positive = values == 1.0
    rest = values[~positive]
    if values.ndim != 1 or not ((rest == 0.0).all() or (rest == -1.0).all()):
        raise DataError(
            "one label per row, 0 and 1 or -1 and +1",
            got=f"{np.unique(values)[:4].tolist()} of shape {values.shape}",
            todo="Encode the labels first.",
        )
    return np.where(positive, 1.0, -1.0)


def labels_of(rows: RowSet) -> FloatArray:
    """The labels of a set of rows as -1 and +1."""
    labels = rows.get_label()
    if labels is None:
        raise DataError(
            "rows with labels", got="none", todo="Pass `label=` to the Dataset or the DMatrix."
        )
    return signed(labels)


def weights_of(rows: RowSet) -> FloatArray | None:
    """The weights of a set of rows."""
    weight = rows.get_weight()
    found = None if weight is None else np.asarray(weight, dtype=np.float64)
    return None if found is None or not found.size else found


def one_score_per_row(scores: Any, n: int) -> FloatArray:
    """The scores as float64; refuses several for each row."""
    if not isinstance(scores, np.ndarray):
        raise DataTypeError(
            "scores as an array of NumPy, in the memory of the processor",
            got=type(scores).__name__,
            todo="Train with the objective on the processor.",
        )
    if scores.size != n:
        raise DataError(
            f"one score for each of {n} rows, of two classes",
            got=f"{scores.size}",
            todo="Drop `num_class`: train each class against the rest, with a model for each.",
        )
    return scores.reshape(-1).astype(np.float64)
