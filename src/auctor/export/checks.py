"""What can be exported: fitted models of auctor, and tables whose categories are listed."""

from __future__ import annotations

from typing import Any

from auctor.core.errors import Option, ParameterError
from auctor.estimators import LinearRegressor, MetricClassifier, TableClassifier
from auctor.online.base import OnlineClassifier
from auctor.tables.schema import Schema


def encoded_model(who: str, model: Any) -> Any:
    """The fitted model of encoded columns: that of a table, or the model itself."""
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
            got=f"{type(model).__name__} without one",
            todo="Call fit first.",
        )
    return inner


def check_listed(who: str, schema: Schema) -> None:
    """Refuse hashed categories: other programs do not have the hash."""
    hashed = [column.name for column in schema.columns if column.buckets]
    if hashed:
        raise ParameterError(
            who,
            needs="categories that are listed",
            got=f"hashed ones in {hashed[0]!r}",
            todo="Fit with {option}.",
            option=Option("categorical", "one_hot"),
        )
