"""Labels of a stream: missing labels, the two classes, and labels as -1 and +1."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray
from auctor.data.coerce import refuse_masked

#: Negative labels that are assumed possible while 1 is the only label seen.
USUAL_NEGATIVES = (-1, 0)


def missing_labels(labels: Array) -> Array:
    """Boolean mask of the labels for which `is_missing` holds."""
    if labels.dtype.kind == "f":
        return ~np.isfinite(labels)
    if labels.dtype.kind == "O":
        return np.array([is_missing(label) for label in labels.tolist()], dtype=bool)
    return np.asarray(labels != labels)


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN, infinite or does not equal itself."""
    try:
        return label is None or bool(label != label) or label in (np.inf, -np.inf)
    except TypeError:  # pandas.NA is neither equal nor different
        return True


def refuse_missing(missing: Array) -> None:
    """Raise an error if any label is missing."""
    if missing.any():
        raise DataError(
            f"a label in every row; got None, nan or infinity in {int(missing.sum())} of "
            f"{missing.size} (Input y contains NaN). Drop those rows."
        )


def flat_labels(y: Any) -> Array:
    """One label per row."""
    if y is None:
        raise DataError(
            "labels; got None (it requires y to be passed, but the target y is None). Pass y."
        )
    refuse_masked(y, "y")
    try:
        flat: Array = column_or_1d(y, warn=True)
    except ValueError as error:
        raise DataError(
            "one label per row", got=" ".join(str(error).split()), todo="Pass a one-dimensional y."
        ) from error
    return flat


def plain_labels(labels: Array) -> Array:
    """Labels with an object array of numbers converted to a numeric array."""
    if labels.dtype.kind != "O":
        return labels
    values = labels.tolist()
    return np.array(values) if all(isinstance(v, Real | np.bool_) for v in values) else labels


def distinct_labels(labels: Array) -> Array:
    """The distinct labels in increasing order."""
    try:
        return np.unique(plain_labels(labels))
    except TypeError as error:
        raise DataError("labels of one type; got a mixture. Convert them to strings.") from error


def signs(labels: Array, classes: Array, when: str = "") -> FloatArray:
    """Labels as -1 and +1; raises for labels that are not among the classes."""
    positive, negative = labels == classes[-1], labels == classes[0]
    if not np.all(positive | negative):
        wrong = labels[~(positive | negative)][:1].tolist()
        raise DataError(
            f"labels among {classes.tolist()}; got {wrong}{when}. Encode all labels alike."
        )
    return np.where(positive, 1.0, -1.0)


def find_classes(known: Array | None, labels: Array, stated: Any, rows: int) -> Array:
    """Both classes, or [1] while that is the only label.

    ``known`` are the classes of earlier calls, if any, ``rows`` their number of rows. ``labels``
    are the labels of this call, ``stated`` the classes passed to it.
    """
    if known is not None and known.size == 2 and stated is None:
        return known
    classes = distinct_labels(labels if stated is None else np.asarray(stated))
    if known is None:
        return _first_classes(classes, stated=stated is not None)
    if known.size == 1:
        known = _second_class(known, classes, rows)
    if stated is not None and not np.array_equal(classes, known):
        raise DataError(
            f"the classes of the first call, {known.tolist()}; got {classes.tolist()}. Start a new "
            "learner for other classes."
        )
    return known


def _second_class(lone: Array, labels: Array, rows: int) -> Array:
    """The classes after a call with labels ``labels``, if the only label before was 1."""
    both = distinct_labels(np.concatenate([lone, labels]))
    if both.size == 1:
        return lone
    if both.size > 2 or both[0] not in USUAL_NEGATIVES:
        raise DataError(
            f"labels among [1] and either -1 or 0; got {labels[:3].tolist()} after {rows} rows. "
            "Pass both labels as `classes` in the first call."
        )
    return both


def _first_classes(labels: Array, stated: bool) -> Array:
    """Two classes, or [1], from the labels of the first call."""
    if labels.size == 1 and not stated:
        if labels.dtype.kind == "b":
            return np.array([False, True])
        if labels[0] in USUAL_NEGATIVES:
            return np.array([labels[0], 1], dtype=labels.dtype)
        if labels[0] == 1:
            return labels
    if labels.size != 2:
        kind = type_of_target(labels) if labels.size > 2 else "one class"
        raise DataError(
            "two classes (Only binary classification is supported. The type of the target is "
            f"{kind}.); got {labels.size} class(es): {labels[:3].tolist()}. Pass both labels as "
            "`classes` in the first call."
        )
    return labels
