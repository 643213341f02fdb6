"""Checks before an export: a fitted model of auctor, without hashed categories."""

from __future__ import annotations

from typing import Any

from auctor.core.errors import Option, ParameterError
from auctor.estimators import LinearRegressor, MetricClassifier, TableClassifier
from auctor.online.base import OnlineClassifier
from auctor.tables.schema import Schema


def encoded_model(who: str, model: Any) -> Any:
    """The inner model of a `TableClassifier`, or the model itself; refuses others."""
    inner = getattr(model, "model_", None) if isinstance(model, TableClassifier) else model
    if not isinstance(inner, MetricClassifier | LinearRegressor | OnlineClassifier | None):
        raise ParameterError(
            who,
            needs="a model of auctor",
            got=f"{type(model).__name__}",
            todo="Pass a classifier, a regressor or a learner.",
        )
    if not hasattr(inner, "coef_"):
        raise ParameterError(
            who,
            needs="a fitted model",
            got=f"{type(model).__name__} that is not fitted",
            todo="Call fit first.",
        )
    return inner


def check_listed(who: str, schema: Schema) -> None:
    """Refuse hashed categories: other programs do not have the hash function."""
    hashed = [column.name for column in schema.columns if column.buckets]
    if hashed:
        raise ParameterError(
            who,
            needs="one-hot encoded categories",
            got=f"hashed categories in {hashed[0]!r}",
            todo="Fit with {option}.",
            option=Option("categorical", "one_hot"),
        )
