"""Steps of a scikit-learn pipeline as parameters and fitted values, for model files, and back.

A scaler is restored by setting its public fitted attributes. An imputer is fitted to a row with its
statistics, an encoder to rows that have all its categories: both then equal the original.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from auctor.core.errors import ParameterError
from auctor.data.coerce import LARGEST

#: Scalers by class name, with their fitted attributes.
SCALERS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "StandardScaler": (StandardScaler, ("mean_", "var_", "scale_", "n_samples_seen_")),
    "MinMaxScaler": (
        MinMaxScaler,
        ("min_", "scale_", "data_min_", "data_max_", "data_range_", "n_samples_seen_"),
    ),
    "MaxAbsScaler": (MaxAbsScaler, ("max_abs_", "scale_", "n_samples_seen_")),
}
#: Steps that are restored by another fit, by class name.
REFITTED: dict[str, type[Any]] = {"SimpleImputer": SimpleImputer, "OneHotEncoder": OneHotEncoder}
#: scikit-learn's name of a step that does nothing.
PASS = "passthrough"
#: Attributes of fitted steps on their input columns.
COLUMNS = ("n_features_in_", "feature_names_in_")


def describe_step(name: str, step: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Class name, parameters and fitted values of a step; raises for other classes."""
    if step is None or (isinstance(step, str) and step == PASS):
        return PASS, {}, {}
    kind = type(step).__name__
    scaler, refitted = SCALERS.get(kind), REFITTED.get(kind)
    if type(step) not in (scaler[0] if scaler else None, refitted):
        raise ParameterError(
            f"steps among {', '.join([*SCALERS, *REFITTED])} before the model; got {name!r}, a "
            f"{kind}. Use auctor.TableClassifier, or save the model without that step."
        )
    check_is_fitted(step)
    params = step.get_params(deep=False)
    values = {entry: getattr(step, entry) for entry in COLUMNS if hasattr(step, entry)}
    if scaler is not None:
        return kind, params, values | {entry: getattr(step, entry) for entry in scaler[1]}
    return kind, *_refittable(name, step, params, values)


def _refittable(
    name: str, step: Any, params: dict[str, Any], values: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and fitted values of an imputer or an encoder."""
    # Another fit restores these steps only if no parameter adds columns or merges categories.
    if isinstance(step, SimpleImputer):
        good = not step.add_indicator
        values["statistics_"] = step.statistics_
    else:
        params["dtype"] = np.dtype(step.dtype).name
        infrequent = step.min_frequency is not None or step.max_categories is not None
        named = isinstance(step.feature_name_combiner, str)
        good = not infrequent and named and isinstance(step.categories, str)
        values["categories_"] = list(step.categories_)
    if not good:
        raise ParameterError(
            "imputers without add_indicator, encoders with all of their own categories; got "
            f"{name!r}, {step!r}. Change that step, or use auctor.TableClassifier."
        )
    return params, values


def rebuild_step(kind: str, params: dict[str, Any], values: dict[str, Any]) -> Any:
    """The step from the values of `describe_step`; invalid values raise ValueError or others."""
    if kind == PASS:
        return PASS
    # Parameters of a newer scikit-learn are unknown here, and raise.
    made, names = SCALERS.get(kind) or (REFITTED[kind], ())
    if not params.keys() <= set(inspect.signature(made).parameters):
        raise ValueError(f"parameters of {kind} in another version")
    step, width = made(**params), values["n_features_in_"]
    if kind == "SimpleImputer":
        step.fit(np.asarray(values["statistics_"])[None, :])
    elif kind == "OneHotEncoder":
        step.set_params(dtype=np.dtype(params["dtype"]).type)
        step.fit(_every_category(values["categories_"]))
    else:
        for name in names:
            # One number would be used for all columns.
            if isinstance(values[name], np.ndarray) and values[name].shape != (width,):
                raise ValueError(f"{name} of {kind} for other columns")
            setattr(step, name, values[name])
    for name in COLUMNS:
        if name in values:
            setattr(step, name, values[name])
    return step


def _every_category(categories: list[Any]) -> Any:
    """Rows in which every category of every column occurs."""
    # Shorter lists of categories are repeated; mixed dtypes need an array of objects.
    n = max(len(one) for one in categories)
    columns = [np.resize(np.asarray(one), n) for one in categories]
    if len({column.dtype.kind for column in columns}) == 1:
        return np.column_stack(columns)
    rows = np.empty((n, len(columns)), dtype=object)
    for k, column in enumerate(columns):
        rows[:, k] = column.tolist()
    return rows


def pipeline(steps: list[tuple[str, Any]]) -> Pipeline:
    """A pipeline of fitted steps; ``ValueError`` unless each fits the columns of the one before."""
    width, rows = None, np.zeros(0)
    for name, step in [one for one in steps if one[1] != PASS]:
        if width not in (None, step.n_features_in_):
            raise ValueError(f"{name} for {step.n_features_in_} columns after a step of {width}")
        if hasattr(step, "transform"):
            with warnings.catch_warnings():  # the row has no names
                warnings.simplefilter("ignore")
                rows = step.transform(_row(step))
            width = rows.shape[1]
    if width is not None and not abs(rows).max() < LARGEST:
        raise ValueError("steps that give no finite numbers, or too large ones")
    return Pipeline(steps)


def _row(step: Any) -> Any:
    """A row that a step can transform."""
    if isinstance(step, OneHotEncoder):
        return _every_category(step.categories_)[:1]
    if isinstance(step, SimpleImputer):
        return step.statistics_[None, :]
    return np.zeros((1, step.n_features_in_))
