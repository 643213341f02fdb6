"""The model of a file, to predict or to measure it: one reader decides which models that can be.

Linear and additive models, and learners of streams, are read without scikit-learn. Other estimators
are wrapped, so that they have the same methods.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from auctor import metrics
from auctor.core.errors import DataError, speaks_as
from auctor.core.files import AnyPath
from auctor.core.types import Array, FloatArray
from auctor.fit.calibrate import joint_probabilities
from auctor.fit.model import LinearModel, RegressionModel
from auctor.saved.models import AnyFitted
from auctor.saved.store import Content, of_pipeline, read_content


class WholeEstimator:
    """An estimator that is no linear model, for predictions of rows of a file."""

    def __init__(self, estimator: Any, content: Content) -> None:
        self.estimator = estimator
        self.n_features, self.feature_names = content.n_features, content.feature_names
        self.schema = content.schema

    def predict(self, X: Any) -> Array:
        """Predictions for the rows, whose columns are in the order of `fit`."""
        predictions: Array = self._of_rows(self.estimator.predict, X)
        return predictions

    def _of_rows(self, method: Any, X: Any) -> Any:
        """The result of a method for rows, whose columns need no names."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return method(X)


class WholeClassifier(WholeEstimator):
    """A classifier that is no linear model; it is measured by its ranking.

    It has the properties of `auctor.evaluate.scores.Classifier`.
    """

    metric = "auc"
    positive = 1

    def __init__(self, estimator: Any, content: Content) -> None:
        super().__init__(estimator, content)
        self.classes = np.asarray(estimator.classes_)
        self.calibrators = vars(estimator).get("calibrators_")

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return bool(self.classes.size == 2)

    @property
    def has_probabilities(self) -> bool:
        """Whether the classifier is calibrated."""
        return self.calibrators is not None

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the rows, whose columns are in the order of `fit`."""
        scores: FloatArray = self._of_rows(self.estimator.decision_function, X)
        return scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, (n, n_classes)."""
        return self.probabilities_at(self.decision_function(X))

    def positive_scores(self, decision: FloatArray) -> FloatArray:
        """Decision values of the positive one of two classes, the second."""
        return decision

    def probabilities_at(self, decision: FloatArray) -> FloatArray:
        """Calibrated probabilities (n, n_classes) from decision values."""
        assert self.calibrators is not None
        columns = decision[:, None] if decision.ndim == 1 else decision
        return joint_probabilities(self.calibrators, columns)

    def score_at(self, decision: FloatArray, y: Array) -> float:
        """The AUC; with several classes the mean of the AUCs of each class against the rest."""
        if decision.ndim == 1:
            return metrics.auc(y == self.classes[1], decision)
        pairs = zip(self.classes, decision.T, strict=True)
        return float(np.mean([metrics.auc(y == label, scores) for label, scores in pairs]))


#: Classes of whole estimators that predict one label or number for a row, and how they are wrapped.
WRAPPED: dict[str, type[WholeEstimator]] = {
    "TopDownClassifier": WholeClassifier,
    "KernelClassifier": WholeClassifier,
    "KernelRegressor": WholeEstimator,
}

#: A model that predicts a label or a number for each row.
Predictor: TypeAlias = LinearModel | RegressionModel | WholeEstimator


@speaks_as("read_predictor")
def read_predictor(path: AnyPath) -> Predictor:
    """The model of a file, with its ``schema``, that predicts a label or a number for each row.

    Refuses pipelines, whose steps are not part of the schema, and models of several labels per row.
    """
    return _predictor(read_content(path), path)


def _predictor(content: Content, path: AnyPath) -> Predictor:
    """The model of the contents of a file, as `read_predictor` returns it."""
    if content.steps is not None:
        raise of_pipeline()
    if content.whole is None:
        return replace(content.linear(), schema=content.schema)
    if content.name not in WRAPPED:
        raise DataError(
            f"a model that predicts one label or number for each row; got {content.name} in "
            f"{path}. Use it in Python, with auctor.load."
        )
    return WRAPPED[content.name](content.estimator(), content)


class SavedClassifier(NamedTuple):
    """The classifier of a model file.

    Parameters
    ----------
    name : str
        Class of the estimator or learner.
    model : LinearModel or WholeClassifier
        The model of the encoded columns.
    fitted : Fitted, optional
        How a linear or additive model was found.
    params : dict
        Parameters of the estimator or learner.
    schema : dict, optional
        As in `Saved`.
    notes : dict
        As in `Saved`.
    """

    name: str
    model: LinearModel | WholeClassifier
    fitted: AnyFitted | None
    params: dict[str, Any]
    schema: dict[str, Any] | None
    notes: dict[str, Any]


@speaks_as("read_classifier")
def read_classifier(path: AnyPath) -> SavedClassifier:
    """The classifier of a file with what is known of its training; `SavedClassifier` says what.

    Refuses what `read_predictor` refuses, and regressors.
    """
    content = read_content(path)
    model = _predictor(content, path)
    if not isinstance(model, LinearModel | WholeClassifier):
        raise DataError(f"a classifier; got {content.name} in {path}. Use auctor predict.")
    return SavedClassifier(
        content.name, model, content.fitted, content.params, content.schema, content.notes
    )
