"""Warm starts of the models of a search, from fitted models of nearby strengths."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

#: Latest fitted models that each fold keeps as warm starts.
KEPT_MODELS = 4


def strength_name(parameters: Mapping[str, Any]) -> str | None:
    """The name of the tuned parameter that is a ``strength``, possibly of a pipeline step.

    None if there is none, or more than one.

    Examples
    --------
    >>> strength_name({"svc__C": 1.0, "model__strength": 0.1})
    'model__strength'
    """
    named = [
        name
        for name, value in parameters.items()
        if name.rpartition("__")[2] == "strength" and isinstance(value, Real)
    ]
    return named[0] if len(named) == 1 else None


def continue_from(model: Any, parameters: Mapping[str, Any], start: Any) -> Any:
    """Warm-start a model from an earlier one; returns the part that later ones can start from.

    None for estimators without `continue_from`, which only auctor's estimators have.
    """
    name = strength_name(parameters)
    if name is None:
        return None
    prefix = name.rpartition("__")[0]
    part = model.get_params(deep=True)[prefix] if prefix else model
    if not hasattr(part, "continue_from"):
        return None
    if start is not None:
        part.set_params(warm_start=True).continue_from(start)
    return part


class Starts:
    """Fitted models of each fold, for warm starts from the nearest strength."""

    def __init__(self, n_folds: int) -> None:
        self._kept: list[list[tuple[float, Any]]] = [[] for _ in range(n_folds)]

    def keep(self, fold: int, parameters: Mapping[str, Any], model: Any) -> None:
        """Keep a fitted model, and drop the oldest if there are more than `KEPT_MODELS`."""
        name = strength_name(parameters)
        if model is not None and name is not None:
            self._kept[fold] = [*self._kept[fold], (_log(parameters[name]), model)][-KEPT_MODELS:]

    def nearest(self, fold: int, parameters: Mapping[str, Any]) -> Any:
        """The model of the nearest strength on a fold; None if there is none."""
        name = strength_name(parameters)
        if name is None or not self._kept[fold]:
            return None
        at = _log(parameters[name])
        return min(self._kept[fold], key=lambda one: abs(one[0] - at))[1]


def _log(strength: float) -> float:
    return math.log(max(float(strength), float(np.finfo(float).tiny)))
