"""The classifier of a model file, to measure it: linear and additive ones without scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from auctor import metrics
from auctor.core.errors import DataError
from auctor.core.files import AnyPath
from auctor.core.types import Array, FloatArray
from auctor.saved.models import AnyFitted
from auctor.saved.store import of_pipeline, read_content
from auctor.training.model import LinearModel, RegressionModel

#: Classes of whole estimators whose scores of rows can be measured.
SCORED = ("TopDownClassifier", "KernelClassifier")


class ScoredEstimator:
    """A classifier that is no linear model, for an evaluation: it is measured by its ranking.

    It has the properties of `auctor.training.evaluate.Classifier`.
    """

    metric = "auc"
    positive = 1
    has_probabilities = False

    def __init__(self, estimator: Any) -> None:
        self.estimator, self.classes = estimator, np.asarray(estimator.classes_)
        self.n_features: int = estimator.n_features_in_
        names = getattr(estimator, "feature_names_in_", None)
        self.feature_names = None if names is None else tuple(map(str, names))

    def decision_function(self, X: Any) -> FloatArray:
        """Scores of the rows, whose columns are in the order of `fit`."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            found: FloatArray = self.estimator.decision_function(X)
        return found

    def probabilities_at(self, decision: FloatArray) -> FloatArray:
        """Not offered."""
        raise NotImplementedError

    def score_at(self, decision: FloatArray, y: Array) -> float:
        """The AUC; with several classes the mean of the AUCs of each class against the rest."""
        if decision.ndim == 1:
            return metrics.auc(y == self.classes[1], decision)
        pairs = zip(self.classes, decision.T, strict=True)
        return float(np.mean([metrics.auc(y == label, scores) for label, scores in pairs]))


class SavedClassifier(NamedTuple):
    """The classifier of a model file.

    Parameters
    ----------
    name : str
        Class of the estimator or learner.
    model : LinearModel or ScoredEstimator
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
    model: LinearModel | ScoredEstimator
    fitted: AnyFitted | None
    params: dict[str, Any]
    schema: dict[str, Any] | None
    notes: dict[str, Any]


def read_classifier(path: AnyPath, *, who: str = "read_classifier") -> SavedClassifier:
    """The classifier of a file with what is known of its training; `SavedClassifier` says what.

    Refuses regressors, and pipelines, whose steps are not part of the schema.
    """
    content = read_content(path)
    model: LinearModel | RegressionModel | ScoredEstimator | None = None
    if content.steps is not None:
        raise of_pipeline(who)
    if content.name in SCORED:
        model = ScoredEstimator(content.estimator())
    elif content.whole is None:
        model = content.model(who)
    if model is None or isinstance(model, RegressionModel):
        raise DataError(
            who, needs="a classifier", got=f"{content.name} in {path}", todo="Use auctor predict."
        )
    return SavedClassifier(
        content.name, model, content.fitted, content.params, content.schema, content.notes
    )
