"""From a table to what is trained on and what is held out, without needless copies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data import wrap

if TYPE_CHECKING:
    from auctor.estimators import MetricClassifier

#: Entries that are scaled at a time.
STRIP = 1 << 20
#: Numbers per column that training needs at least.
VECTORS = 10


def tidy_labels(labels: Array, *, who: str) -> Array:
    """Labels as they are shown: whole numbers as integers; refuses numbers mixed with text.

    Examples
    --------
    >>> tidy_labels(np.array([1.0, -1.0]), who="auctor train")
    array([ 1, -1])
    >>> tidy_labels(np.array(["1", "no"]), who="auctor train")
    Traceback (most recent call last):
        ...
    auctor.core.errors.DataError: auctor train needs labels of one kind; got numbers and text: '1' and 'no'. Correct the label column.
    """  # noqa: E501
    if labels.dtype.kind == "f":
        whole = np.isfinite(labels).all() and (labels == np.rint(labels)).all()
        return labels.astype(np.int64) if whole and np.abs(labels).max() < 2**53 else labels
    if labels.dtype.kind in "OU":
        kinds = {_is_number(label): label for label in np.unique(labels.astype(str)).tolist()}
        if len(kinds) == 2:
            raise DataError(
                who,
                needs="labels of one kind",
                got=f"numbers and text: {kinds[True]!r} and {kinds[False]!r}",
                todo="Correct the label column.",
            )
        return labels.astype(str)
    return labels


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_whole(labels: Array, source: str, *, who: str) -> None:
    """Refuse labels that are numbers with a fraction.

    Examples
    --------
    >>> check_whole(np.array([0.5, 1.0]), "rows.csv", who="auctor train")
    Traceback (most recent call last):
        ...
    auctor.core.errors.DataError: auctor train needs whole numbers or text as labels; got 0.5 in rows.csv. Check that --label names the right column.
    """  # noqa: E501
    wrong = labels[labels != np.rint(labels)] if labels.dtype.kind == "f" else labels[:0]
    if wrong.size:
        raise DataError(
            who,
            needs="whole numbers or text as labels",
            got=f"{wrong[0]:g} in {source}",
            todo="Check that --label names the right column.",
        )


def check_width(n_columns: int, first_index: int | None, *, who: str) -> None:
    """Refuse so many columns that the vectors of a solver do not fit the memory."""
    most = memory() // (VECTORS * 8)
    if n_columns > most:
        last = n_columns - 1 + (first_index or 0)
        raise DataError(
            who,
            needs=f"at most {most:,} columns to fit the memory",
            got=f"{n_columns:,}, the largest index is {last}",
            todo="Number the columns without gaps.",
        )


def memory() -> int:
    """Bytes that this process may use: what the machine has, or its container."""
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on this system
        return sys.maxsize
    try:
        return min(size, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):
        return size


def codes_of(labels: Array, classes: Array, *, who: str) -> IntArray:
    """Positions of labels among the classes of a model; refuses others.

    Examples
    --------
    >>> codes_of(np.array([1.0, -1.0, 1.0]), np.array([-1, 1]), who="auctor evaluate")
    array([1, 0, 1])
    """
    numbers = classes.dtype.kind in "iufb"
    table = classes if numbers else classes.astype(str)
    found = tidy_labels(labels, who=who)
    if found.dtype.kind == "f" and (missing := int(np.isnan(found).sum())):
        raise DataError(
            who,
            needs="a label in every row",
            got=f"{missing} missing of {found.size}",
            todo="Drop such rows, or pass --label with another column.",
        )
    if numbers and found.dtype.kind not in "iufb":
        text = np.unique(found)
        if not all(map(_is_number, text.tolist())):
            raise _unknown(classes, text, who)
        found = found.astype(np.float64)
    elif not numbers:
        found = found.astype(str)
    order = np.argsort(table, kind="stable")
    place = np.searchsorted(table, found, sorter=order).clip(max=table.size - 1)
    codes: IntArray = order[place]
    wrong = table[codes] != found
    if wrong.any():
        raise _unknown(classes, np.unique(found[wrong]), who)
    return codes


def _unknown(classes: Array, found: Array, who: str) -> DataError:
    return DataError(
        who,
        needs=f"labels that the model knows ({_listed(classes)})",
        got=f"{_listed(found)}",
        todo="Drop those rows, or train with them.",
    )


def _listed(values: Array) -> str:
    shown = ", ".join(repr(value) for value in values[:5].tolist())
    return f"{shown}, ..." if values.size > 5 else shown


def hold_out(labels: Array, share: float, seed: int, *, who: str) -> tuple[IntArray, IntArray]:
    """Rows to train on and rows to hold out, the same share of every class, in their order.

    Examples
    --------
    >>> train, test = hold_out(np.array([0, 0, 0, 0, 1, 1]), 0.25, 0, who="auctor train")
    >>> train.size, test.size
    (4, 2)
    """
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(labels, return_inverse=True)
    held = np.zeros(labels.size, dtype=bool)
    for position, name in enumerate(classes.tolist()):
        rows = np.flatnonzero(codes == position)
        if rows.size < 2:
            raise DataError(
                who,
                needs="two rows of every class to hold some out",
                got=f"one of {name!r}",
                todo="Drop that class, or set --test-size 0.",
            )
        count = min(max(1, round(share * rows.size)), rows.size - 1)
        held[rng.choice(rows, size=count, replace=False)] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def split(matrix: Any, held: IntArray) -> tuple[Any, Any]:
    """The rows that are not ``held`` and those that are; uses up the matrix to save memory.

    Only the held rows are copied. Where the arrays can be written, the others move together inside
    them, a strip at a time, and the rest is given back.
    """
    rest = matrix[held]
    stays = np.ones(matrix.shape[0], dtype=bool)
    stays[held] = False
    if isinstance(matrix, np.ndarray):
        return _rows_together(matrix, stays), rest
    parts = [_owner(array) for array in (matrix.data, matrix.indices)]
    if matrix.format != "csr" or any(array is None for array in parts):
        return matrix[stays], rest
    indptr, shape = matrix.indptr, (int(stays.sum()), matrix.shape[1])
    canonical = matrix.has_canonical_format
    matrix.data, matrix.indices = np.empty(0), np.empty(0, dtype=np.intp)  # nothing points there
    lengths = np.diff(indptr)
    size = 0
    for low, high in _strips(indptr):
        moved = np.repeat(stays[low:high], lengths[low:high])
        count = int(moved.sum())
        for array in parts:
            array[size : size + count] = array[indptr[low] : indptr[high]][moved]
        size += count
    for array in parts:
        array.resize(size, refcheck=False)
    ends = np.concatenate(([0], np.cumsum(lengths[stays]))).astype(indptr.dtype)
    kept = sparse.csr_array((*parts, ends), shape=shape)
    kept.has_canonical_format = canonical
    return kept, rest


def _owner(array: Array) -> Any:
    """The memory of an array as an array of its own, if nobody else holds a part of it."""
    whole = array if array.base is None else array.base
    alone = (
        isinstance(whole, np.ndarray)
        and whole.flags.owndata
        and whole.flags.writeable
        and whole.dtype == array.dtype
        and whole.shape == array.shape
    )
    return whole if alone else None


def _strips(indptr: Array) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about `STRIP` entries each."""
    n = indptr.shape[0] - 1
    low = 0
    while low < n:
        high = int(np.searchsorted(indptr, indptr[low] + STRIP, side="right"))
        high = min(max(high, low + 1), n)
        yield low, high
        low = high


def _rows_together(matrix: FloatArray, stays: Array) -> FloatArray:
    """Some rows of an array, in their order and in its first rows if it can be written."""
    if not (matrix.flags.c_contiguous and matrix.flags.writeable):
        return matrix[stays]
    n, d = matrix.shape
    step = max(1, STRIP // d)
    size = 0
    for low in range(0, n, step):
        part = matrix[low : low + step][stays[low : low + step]]
        matrix[size : size + part.shape[0]] = part
        size += part.shape[0]
    return matrix[:size]


def check_finite(matrix: Any, names: tuple[str, ...] | None, *, who: str) -> None:
    """Refuse values that no column can be scaled by, with the names of their columns."""
    with np.errstate(invalid="ignore", over="ignore"):
        bad = np.flatnonzero(~np.isfinite(matrix.sum(axis=0)))
    if bad.size:
        found = bad if names is None else np.array(names, dtype=object)[bad]
        raise DataError(
            who,
            needs="finite values",
            got=f"infinity, NaN or a sum beyond all numbers in column {_listed(found)}",
            todo="Correct these values, or drop the column.",
        )


class Scaling(NamedTuple):
    """Columns were replaced by ``(x - mean) * factor``; sparse ones keep their zeros, mean 0."""

    mean: FloatArray
    factor: FloatArray


def standardise(matrix: Any, *, centre: bool) -> Scaling:
    """Give the columns of a matrix deviation one and, if dense, mean zero; in place.

    Columns that do not vary are left as they are.
    """
    if isinstance(matrix, np.ndarray):
        return _standardise_dense(matrix, centre)
    n, d = matrix.shape
    data = wrap(matrix, Target(np.empty(0)))
    ones = np.ones(n)
    mean, square = data.gradient(ones) / n, data.square_gradient(ones) / n
    factor = _inverse(square - mean**2, 1e-12 * square)
    for low in range(0, matrix.data.size, STRIP):
        part = slice(low, low + STRIP)
        matrix.data[part] *= factor[matrix.indices[part]]
    return Scaling(np.zeros(d), factor)


def _standardise_dense(matrix: FloatArray, centre: bool) -> Scaling:
    n, d = matrix.shape
    mean = matrix.mean(axis=0, dtype=np.float64)
    size = max(1, STRIP // d)
    variance = np.zeros(d)
    for low in range(0, n, size):
        variance += ((matrix[low : low + size] - mean) ** 2).sum(axis=0, dtype=np.float64) / n
    factor = _inverse(variance, 1e-26 * mean**2)
    shift = mean if centre else np.zeros(d)
    for low in range(0, n, size):
        matrix[low : low + size] = (matrix[low : low + size] - shift) * factor
    return Scaling(shift, factor)


def _inverse(variance: FloatArray, rounding: FloatArray) -> FloatArray:
    """One over deviations; one where a column does not vary beyond rounding."""
    varies = variance > rounding
    return np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 1.0)


def unscale(model: MetricClassifier, scaling: Scaling) -> None:
    """Make a model of scaled columns one of the columns as they were."""
    mean, factor = scaling
    model.coef_ = model.coef_ * factor
    model.intercept_ = model.intercept_ - model.coef_ @ mean
    solutions = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
    back = []
    for solution in solutions:
        coef = solution.coef * factor
        back.append(replace(solution, coef=coef, intercept=solution.intercept - float(coef @ mean)))
    model.solution_ = back if isinstance(model.solution_, list) else back[0]
