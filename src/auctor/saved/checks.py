"""Checks of what a file says; all raise ``ValueError``."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from auctor.core.types import Array
from auctor.saved.values import KINDS, decoded

Json: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, Array]


def need(good: bool, what: str) -> None:
    """Raise unless the model has it."""
    if not good:
        raise ValueError(f"a model without {what}")


def number(value: Any, *, finite: bool = False) -> float:
    """A float; NaN and infinities only on request."""
    found = decoded(value, {})
    need(type(found) in (int, float), "a number")
    need(not finite or bool(np.isfinite(found)), "a finite number")
    return float(found)


def whole(value: Any, *, low: int = 0) -> int:
    """A count."""
    need(type(value) is int and low <= value < 1 << 63, f"a whole number of at least {low}")
    return int(value)


def labels(value: Any, arrays: Arrays) -> Array:
    """Labels in increasing order, of a kind that can be compared and written."""
    classes: Array = decoded(value, arrays)
    good = isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size >= 2
    need(good and classes.dtype.kind in KINDS + "O", "a list of classes")
    need(bool((classes[:-1] < classes[1:]).all()), "classes that increase")
    if classes.dtype.kind == "f":
        need(bool(np.isfinite(classes).all()), "finite classes")
    for label in classes.tolist():
        if isinstance(label, str):
            label.encode()
    return classes
