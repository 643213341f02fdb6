"""Rows that a limited capacity reaches: the top k, of all rows or of each group."""

from __future__ import annotations

from numbers import Integral

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_real, check_vector
from auctor.core.errors import DataError, Option, ParameterError, speaks_as
from auctor.core.types import FloatArray, IntArray
from auctor.metrics.grouped import group_codes
from auctor.metrics.inputs import Classes, validate


@speaks_as("top_rows")
def top_rows(
    scores: npt.ArrayLike, k: float, *, groups: npt.ArrayLike | None = None
) -> npt.NDArray[np.bool_]:
    """Which rows are the k with the highest scores, of all rows or of each group.

    Parameters
    ----------
    scores : (n,) array_like
    k : int or float
        A number of rows, or a float in (0, 1]: that fraction of the rows, rounded down but at
        least one row. A group with fewer rows has all of them.
    groups : (n,) array_like, optional
        A label per row, such as a day.

    Returns
    -------
    (n,) bool array
        Of rows with equal scores, the one that comes first is taken first.

    Examples
    --------
    >>> top_rows([1.0, 3.0, 3.0, 2.0], 1, groups=["mon", "mon", "mon", "tue"])
    array([False,  True, False,  True])
    """
    values = check_vector("scores", scores)
    codes = np.zeros(values.size, dtype=np.int64)
    if groups is not None:
        codes = group_codes(groups, values.size)
    order = np.lexsort((-values, codes))  # stable: equal scores stay in the order of the rows
    size = np.bincount(codes)
    start = np.cumsum(size) - size
    rank = np.arange(values.size) - start[codes[order]]
    most = depths(k, size.astype(np.float64))
    top = np.zeros(values.size, dtype=np.bool_)
    top[order] = rank < np.maximum(np.floor(most * (1.0 + 1e-12)), 1.0)[codes[order]]
    return top


def depths(k: float, size: FloatArray) -> FloatArray:
    """How much of each group k takes; raises for a k that is neither a count nor a fraction."""
    counted = isinstance(k, Integral) and not isinstance(k, bool)
    if not counted:
        return check_real("k", k, low=0.0, high=1.0, open_low=True, of=Option("k", k)) * size
    if k < 1:
        raise ParameterError(
            f"`k` of at least 1, or a float in (0, 1]; got {k!r}. Pass rows or a fraction."
        )
    return np.minimum(float(k), size)


def at_k_of_groups(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    k: float,
    groups: object,
    weight: npt.ArrayLike | None,
    *,
    precision: bool,
) -> float:
    """Precision, or recall, of the top k rows of all groups together.

    Ties at a boundary give the expectation over random orders of the tied rows.
    """
    every = group_codes(groups, np.shape(np.asarray(scores))[0])
    kept = every if weight is None else every[np.asarray(weight, dtype=np.float64) > 0.0]
    rows = validate(y, scores, weight, Classes.ANY if precision else Classes.POSITIVE)
    mass = np.ones(kept.size) if rows.weight is None else rows.weight
    order = np.lexsort((-rows.scores, kept))
    code, value = kept[order], rows.scores[order]
    size = np.bincount(code, mass[order]).astype(np.float64)
    if isinstance(k, Integral) and not isinstance(k, bool) and k > size.max() * (1.0 + 1e-12):
        raise DataError(
            f"a group with at least {k} rows; got at most {size.max():g} by weight. Lower k."
        )
    # Blocks of tied rows of a group, in the order of descending score.
    first = np.append(True, (np.diff(code) != 0) | (np.diff(value) != 0.0))
    block = np.cumsum(first) - 1
    total = np.bincount(block, mass[order])
    hits = np.bincount(block, mass[order] * rows.positive[order])
    own = code[first]
    before = np.cumsum(total) - total
    before -= (np.cumsum(size) - size)[own]
    share = np.clip((depths(k, size)[own] - before) / total, 0.0, 1.0)
    whole = float(share @ total) if precision else float(hits.sum())
    return float(share @ hits) / whole


def capacity(k: float, groups: IntArray, weight: FloatArray | None) -> float:
    """Weight of the rows that k of each group takes.

    Examples
    --------
    >>> capacity(2, np.array([0, 0, 0, 1]), None)
    3.0
    """
    return float(depths(k, np.bincount(groups, weight).astype(np.float64)).sum())
