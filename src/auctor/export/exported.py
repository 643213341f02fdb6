"""What is exported of an estimator: its fitted model, and the schema of its table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.model import Curves
from auctor.core.errors import ParameterError
from auctor.core.types import Array
from auctor.fit.model import LinearModel, RegressionModel, model_of
from auctor.linear.estimators.classifier import MetricClassifier
from auctor.linear.estimators.regressor import LinearRegressor
from auctor.linear.estimators.table import TableClassifier
from auctor.streaming.estimators.online import OnlineClassifier
from auctor.tables.schema import KEEP, Column, Schema


class Exported(NamedTuple):
    """A fitted model to export.

    Parameters
    ----------
    title : str
        Name of the estimator's class.
    model : LinearModel or RegressionModel
        The model of the encoded columns, additive or linear.
    schema : Schema, optional
        How the columns of a table are encoded, if the estimator takes tables.
    learner : bool
        Whether it is a learner of a stream. Nobody chose its positive class, the second of the
        two, nor its threshold; files therefore do not name them.
    """

    title: str
    model: LinearModel | RegressionModel
    schema: Schema | None = None
    learner: bool = False

    @property
    def chosen(self) -> LinearModel | None:
        """The classifier, if its positive class and threshold were chosen in a fit."""
        return self.model if isinstance(self.model, LinearModel) and not self.learner else None

    @property
    def column_names(self) -> list[str]:
        """Names of the columns of the model; x0, x1, ... if `fit` had none."""
        return list(self.model.feature_names or (f"x{j}" for j in range(self.model.n_features)))


def exported(estimator: Any) -> Exported:
    """The fitted model of an estimator; refuses other objects and estimators without a fit."""
    title = type(estimator).__name__
    if not isinstance(
        estimator, TableClassifier | MetricClassifier | LinearRegressor | OnlineClassifier
    ):
        raise ParameterError(
            f"a model of auctor; got {title}. Pass a classifier, a regressor or a learner."
        )
    if not hasattr(estimator, "coef_"):
        raise ParameterError(f"a fitted model; got {title} that is not fitted. Call fit first.")
    if isinstance(estimator, OnlineClassifier):
        return Exported(title, _of_learner(estimator), learner=True)
    model = model_of(estimator)
    if isinstance(estimator, TableClassifier):
        return Exported(title, model, estimator.schema_)
    if isinstance(model, Curves):
        return Exported(title, *_of_curves(model))
    return Exported(title, model)


def _of_curves(model: Any) -> tuple[Any, Schema | None]:
    """An additive model whose levels have the numbers of a schema, if it has columns of text."""
    bins = model.bins
    labels = [getattr(column, "labels", None) for column in bins.columns]
    if not any(labels):
        return model, None
    names = model.part_names(model.feature_names)
    columns = (
        Column(name, "number", KEEP) if texts is None else _levels(name, texts)
        for name, texts in zip(names, labels, strict=False)
    )
    parts = [
        column if texts is None else replace(column, values=np.arange(len(texts), dtype=np.float64))
        for column, texts in zip(bins.columns, labels, strict=True)
    ]
    return replace(model, bins=replace(bins, columns=parts)), Schema.of(columns, None)


def _levels(name: str, labels: tuple[str, ...]) -> Column:
    """A category whose missing values stay missing."""
    return Column(name, "category", "", labels, numbered=True)


def _of_learner(learner: OnlineClassifier) -> LinearModel:
    """The weights of a learner as a linear model."""
    names: Array | None = getattr(learner, "feature_names_in_", None)
    return LinearModel(
        coef=learner.coef_,
        intercept=learner.intercept_,
        classes=learner.classes_,
        threshold=-learner.intercept_,
        feature_names=None if names is None else tuple(map(str, names)),
    )


def check_listed(schema: Schema) -> None:
    """Refuse hashed categories and words: other programs do not make these columns alike."""
    texts = [column.name for column in schema.columns if column.words]
    if texts:
        raise ParameterError(
            f"columns of numbers and categories; got words of {texts[0]!r}. Fit without `as_words`."
        )
    hashed = [column.name for column in schema.columns if column.buckets]
    if hashed:
        raise ParameterError(
            f"one-hot encoded categories; got hashed categories in {hashed[0]!r}. Fit with "
            "`categorical='one_hot'`."
        )
