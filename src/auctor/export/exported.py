"""What is exported of an estimator: its fitted model, and the schema of its table."""

from __future__ import annotations

from typing import Any, NamedTuple

from auctor.core.errors import ParameterError
from auctor.core.types import Array
from auctor.fit.model import LinearModel, RegressionModel, model_of
from auctor.linear.classifier import MetricClassifier
from auctor.linear.regressor import LinearRegressor
from auctor.linear.table import TableClassifier
from auctor.streaming.estimator import OnlineClassifier
from auctor.tables.schema import Schema


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
            "a model of auctor", got=title, todo="Pass a classifier, a regressor or a learner."
        )
    if not hasattr(estimator, "coef_"):
        raise ParameterError(
            "a fitted model", got=f"{title} that is not fitted", todo="Call fit first."
        )
    if isinstance(estimator, OnlineClassifier):
        return Exported(title, _of_learner(estimator), learner=True)
    schema = estimator.schema_ if isinstance(estimator, TableClassifier) else None
    return Exported(title, model_of(estimator), schema)


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
