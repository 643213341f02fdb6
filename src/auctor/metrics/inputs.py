"""Conversion and checks of labels, scores and weights, for all metrics."""

from __future__ import annotations

from enum import Flag
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_real, check_vector
from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray

BoolArray: TypeAlias = npt.NDArray[np.bool_]

#: Integers up to this size are exact as doubles.
_EXACT = 2.0**53
#: Range of the sum of weights: products of two such sums neither overflow nor underflow.
_WEIGHT_RANGE = (1e-100, 1e100)


class Classes(Flag):
    """The classes that must be present for a metric to be defined."""

    ANY = 0
    POSITIVE = 1
    NEGATIVE = 2
    BOTH = 3


class Inputs(NamedTuple):
    """Rows of positive weight: class, score, weight (``None`` when all are one)."""

    positive: BoolArray
    scores: FloatArray
    weight: FloatArray | None


def validate(y: object, scores: object, weight: object, needs: Classes = Classes.BOTH) -> Inputs:
    """Check and encode the arguments of a metric; rows of weight zero are left out.

    Labels have two values, the greater one positive. A single value is accepted if it is -1, 0 or
    1. O(n).
    """
    labels, values, kept, kept_weight = _rows(y, scores, "scores", weight)
    positive = _positive(labels, kept, needs)
    return Inputs(positive, _as_scores("scores", values[kept]), kept_weight)


def validate_predicted(
    y: object,
    predicted: object,
    threshold: float | None,
    weight: object,
    needs: Classes = Classes.ANY,
) -> tuple[BoolArray, BoolArray, FloatArray | None]:
    """Classes, predicted classes and weights; `confusion` describes the forms of ``predicted``."""
    labels, values, kept, kept_weight = _rows(y, predicted, "predicted", weight)
    positive = _positive(labels, kept, needs)
    values = values[kept]
    # Booleans are predictions already.
    if threshold is None and values.dtype.kind == "b":
        return positive, np.ascontiguousarray(values), kept_weight
    # Predictions in the values of y are labels; any other numbers are scores.
    if threshold is None:
        low, high = _labels(labels, kept)
        hard: BoolArray = np.ascontiguousarray(values == high)
        if np.all(hard | (values == low)):
            return positive, hard, kept_weight
    scores = _as_scores("predicted", values)
    cut = check_real("threshold", 0.0 if threshold is None else threshold)
    return positive, scores > cut, kept_weight


def _rows(
    y: object, values: object, name: str, weight: object
) -> tuple[Array, Array, Any, FloatArray | None]:
    """Arrays of one length, the rows of positive weight (a slice or a mask) and their weights."""
    y, values = np.asarray(y), np.asarray(values)
    if y.ndim != 1 or values.ndim != 1 or y.shape != values.shape:
        raise DataError(
            f"y and {name} with one dimension and the same length; got shapes {y.shape} and "
            f"{values.shape}. Pass one value per row in each."
        )
    if y.shape[0] == 0:
        raise DataError("at least one row; got none. Pass non-empty arrays.")
    if weight is None:
        return y, values, slice(None), None
    # Weights: finite, not negative, at least one positive, and a sum whose square is finite.
    checked = check_vector("weight", weight, size=y.shape[0])
    if checked.min() < 0.0:
        raise DataError(
            f"`weight` of at least zero; got {checked.min():g}. Remove the rows of negative weight."
        )
    kept = checked > 0.0
    if not kept.any():
        raise DataError("a weight above zero; got only zeros. Pass `weight=None`.")
    with np.errstate(over="ignore"):
        total = checked.sum()
    if not _WEIGHT_RANGE[0] <= total <= _WEIGHT_RANGE[1]:
        raise DataError(
            f"`weight` with a sum in [1e-100, 1e100]; got {total:g}. Divide them by their mean."
        )
    # A slice instead of a mask avoids copies where all rows are kept.
    if kept.all():
        return y, values, slice(None), checked
    return y, values, kept, checked[kept]


def _as_scores(name: str, values: Array) -> FloatArray:
    """Finite 64-bit floats; refuses large integers if different ones would become equal."""
    scores = check_vector(name, values)
    large = values.dtype.kind in "iuO" and bool(scores.size) and np.abs(scores).max() >= _EXACT
    # Only order and ties matter, so rounding that keeps them is allowed.
    if large and np.unique(values).shape[0] != np.unique(scores).shape[0]:
        raise DataError(
            f"{name} that differ as 64-bit floats; got different integers beyond 2^53 that become "
            "equal. Subtract the smallest one from all, or pass their ranks."
        )
    return scores


def _positive(y: Array, kept: Any, needs: Classes) -> BoolArray:
    """Mask of the positive rows among ``kept``; raises if a needed class is missing."""
    _, high = _labels(y, kept)
    positive: BoolArray = np.ascontiguousarray(y[kept] == high)
    missing = [
        name
        for flag, name, absent in (
            (Classes.POSITIVE, "positive", not positive.any()),
            (Classes.NEGATIVE, "negative", bool(positive.all())),
        )
        if flag in needs and absent
    ]
    if missing:
        raise DataError(
            f"at least one {missing[0]} row of positive weight; got none in {positive.shape[0]}. "
            "Pass rows of both classes."
        )
    return positive


def _labels(y: Array, kept: Any) -> tuple[Any, Any]:
    """Lower and greater label; rows of weight zero count only if the others have one label."""
    low, high = _extremes(y[kept])
    if low == high:
        low, high = _extremes(y)
    if low != high:
        return low, high
    # One label only: -1/+1 or 0/1 is assumed if it belongs to them.
    for pair in ((-1, 1), (0, 1)):
        if high in pair:
            return pair
    raise DataError(
        f"two label values, the greater one positive; got only {high!r}. Encode the labels as -1 "
        "and +1."
    )


def _extremes(y: Array) -> tuple[Any, Any]:
    """Lowest and greatest label; raises if there is a third one."""
    if y.dtype.kind == "b":
        return False, True
    if y.dtype.kind in "iuf":
        low, high = y.min(), y.max()
        if not np.isfinite(low) or not np.isfinite(high):
            raise DataError("finite labels; got NaN or infinity. Remove the rows without a label.")
        # Numbers: two counts are faster than sorting, and sufficient if there are two values.
        if np.count_nonzero(y == low) + np.count_nonzero(y == high) >= y.shape[0]:
            return low.item(), high.item()
    # Strings and objects, or more than two numbers.
    try:
        values = np.unique(y)
    except TypeError as error:
        raise DataError(
            "labels that can be ordered; got mixed types. Encode the labels as -1 and +1."
        ) from error
    if values.shape[0] > 2:
        fractions = y.dtype.kind == "f" and (values != np.rint(values)).any()
        raise DataError(
            f"two label values; got {values.shape[0]}. "
            + (
                "Labels come first, then scores: auc(y, scores)."
                if fractions
                else "Compare one class with the rest, one at a time."
            )
        )
    return values[0], values[-1]
