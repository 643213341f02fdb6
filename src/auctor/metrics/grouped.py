"""Metrics inside groups of rows, such as queries or days."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_vector
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.types import FloatArray, IntArray


@speaks_as("by_group")
def by_group(
    metric: Callable[[Any, FloatArray, Any], float],
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    groups: npt.ArrayLike | None,
    *,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Mean of a metric over groups, weighted by their total weight.

    Parameters
    ----------
    metric : callable
        ``metric(y, scores, weight)``.
    y, scores, weight
        Passed to the metric, group by group.
    groups : (n,) array_like, optional
        A label per row; ``None`` makes all rows one group.

    Returns
    -------
    float
        The mean over the groups in which the metric is defined; those with one class are skipped.

    Examples
    --------
    >>> from auctor.metrics import auc
    >>> y, scores = [0, 1, 0, 1, 0], [1.0, 2.0, 4.0, 3.0, 9.0]
    >>> by_group(lambda y, s, w: auc(y, s, weight=w), y, scores, ["a", "a", "b", "b", "c"])
    0.5
    """
    if groups is None:
        return metric(y, np.asarray(scores), weight)
    y = np.asarray(y)
    scores = check_vector("scores", scores, size=y.shape[0])
    codes = group_codes(groups, y.shape[0])
    heavy = None if weight is None else check_vector("weight", weight, size=y.shape[0])
    order = np.argsort(codes, kind="stable")
    total = size = 0.0
    # Rows sorted by group; a new group starts where the code changes.
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        mine = None if heavy is None else heavy[rows]
        try:
            value = metric(y[rows], scores[rows], mine)
        except (DataError, ParameterError):  # too few rows in the group, or only one class
            continue
        share = float(rows.size if mine is None else mine.sum())
        total, size = total + share * value, size + share
    if size == 0.0:
        raise DataError(
            "a group in which the metric is defined; got none. Pass groups with both classes."
        )
    return total / size


def group_codes(groups: object, n: int) -> IntArray:
    """Groups as integers from 0, one per row."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise DataError(
            f"one group per row; got shape {labels.shape} for {n} rows. Pass a one-dimensional "
            "array of that length."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise DataError("a group for every row; got NaN. Drop or label those rows.")
    try:
        codes = np.unique(labels, return_inverse=True)[1]
    except TypeError as error:
        raise DataError("groups of one type; got a mixture. Convert them to strings.") from error
    return np.ascontiguousarray(codes, dtype=np.int64)
