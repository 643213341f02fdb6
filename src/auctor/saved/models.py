"""A description from a model, and a model from one.

Everything that a file says is checked before a model gets it: shapes against each other, numbers
for being finite, labels for their order, parameters as `fit` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.errors import ParameterError
from auctor.saved import estimators
from auctor.saved.checks import Arrays, Json, need, whole
from auctor.saved.estimators import ESTIMATORS
from auctor.saved.values import decoded, encoded


def kinds() -> dict[str, type[Any]]:
    """Models that can be saved, by the names under which a file knows them."""
    from auctor.saved.learners import learners

    return ESTIMATORS | learners()


def describe(model: Any, arrays: Arrays) -> Json:
    """Description of a fitted model; its arrays are put aside."""
    name = type(model).__name__
    if _kind(name) is not type(model):
        raise ParameterError(
            "save", needs=f"one of {', '.join(kinds())}", got=name, todo="Pass such a model."
        )
    if not hasattr(model, "coef_"):
        raise ParameterError(
            "save", needs="a fitted model", got=f"{name} without one", todo="Call fit first."
        )
    params = model.get_params(deep=False)
    names = getattr(model, "feature_names_in_", None)
    return {
        "class": name,
        "params": {key: encoded(value, f"params.{key}", arrays) for key, value in params.items()},
        "n_features_in": int(model.n_features_in_),
        "feature_names": None if names is None else [str(entry) for entry in names],
        "fitted": _home(name).describe(model, arrays),
    }


def rebuild(meta: Json, arrays: Arrays) -> Any:
    """The model of a description; takes its arrays. Raises all kinds of errors for nonsense."""
    name = meta["class"]
    kind = _kind(name)
    need(kind is not None, f"a class of this version, {name!r}")
    params = {key: decoded(value, arrays) for key, value in meta["params"].items()}
    need(params.keys() <= set(kind._get_param_names()), "parameters of this version alone")
    model = kind(**params)
    d = whole(meta["n_features_in"], low=1)
    fitted = dict(meta["fitted"])
    _home(name).restore(model, d, fitted, arrays)
    need(not fitted and not arrays, "all of it in place")
    model.n_features_in_ = d
    names = meta["feature_names"]
    if names is not None:
        need(isinstance(names, list) and len(names) == d, "a name for each column")
        need(all(isinstance(entry, str) for entry in names), "names that are text")
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def _kind(name: str) -> Any:
    """The class of that name; learners are looked for only where no estimator has it."""
    return ESTIMATORS.get(name) or kinds().get(name)


def _home(name: str) -> Any:
    """The module that knows what a model of that class learned."""
    if name in ESTIMATORS:
        return estimators
    from auctor.saved import learners

    return learners
