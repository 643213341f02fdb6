"""Conversion of results into values that JSON can represent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from auctor.core.errors import ParameterError


def as_json(value: Any, *, where: str = "a value") -> Any:
    """Convert a value to dictionaries, lists, text, booleans, finite numbers and None.

    NaN and infinity become None; tuples and arrays become lists, named tuples dictionaries, and
    paths text. Other values are refused.

    Parameters
    ----------
    where : str
        What the value is, for the error message.

    Examples
    --------
    >>> as_json({"auc": float("nan"), "classes": (0, 1), "coef": np.ones(2)})
    {'auc': None, 'classes': [0, 1], 'coef': [1.0, 1.0]}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    # Before tuples: a named tuple is a tuple, too.
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, PurePath | str):
        # Names of files that are not UTF-8 have halves of surrogate pairs.
        return str(value).encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple):
        return [as_json(entry, where=where) for entry in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: as_json(entry, where=where) for key, entry in value.items()}
    raise ParameterError(
        f"{where} to be JSON; got {' '.join(repr(value).split())[:120]}. Pass numbers, text, lists "
        "and dicts with text as keys."
    )
