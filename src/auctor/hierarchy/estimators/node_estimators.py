"""Models of the labels that are scikit-learn classifiers, one for every label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.base import clone

from auctor.core.types import Array, FloatArray
from auctor.hierarchy.nodes import CERTAIN_SCORE


class EstimatorModels(NamedTuple):
    """Scikit-learn models, one per label; None where all rows, or no rows, have the label.

    ``certain`` has the scores of labels without a model.
    """

    models: Sequence[Any]
    certain: FloatArray

    def scores(self, X: Any) -> FloatArray:
        """Scores (n, k) by ``decision_function``, or log-odds from ``predict_proba``."""
        out = np.tile(self.certain, (X.shape[0], 1))
        for t, model in enumerate(self.models):
            if model is not None:
                out[:, t] = _scores(model, X)
        return out


class MappedModels(NamedTuple):
    """Models of transformed rows, with the transformer."""

    features: Any
    models: Any

    @property
    def coef(self) -> Any:
        """Weights of the features."""
        return self.models.coef

    @property
    def intercept(self) -> FloatArray:
        """Intercepts of all labels."""
        intercept: FloatArray = self.models.intercept
        return intercept

    def scores(self, X: Any) -> FloatArray:
        """Scores (n, k) of rows that are not transformed yet."""
        scores: FloatArray = self.models.scores(self.features.transform(X))
        return scores


def train_estimators(
    estimator: Any, X: Any, on: Array, weight: FloatArray | None
) -> EstimatorModels:
    """Fit a clone of a scikit-learn classifier for every label that some but not all rows have."""
    extra = {} if weight is None else {"sample_weight": weight}
    both = np.atleast_1d(on.any(axis=0) & ~on.all(axis=0))
    models = [
        clone(estimator).fit(X, column, **extra) if known else None
        for column, known in zip(on.T, both, strict=True)
    ]
    return EstimatorModels(models, np.where(on.any(axis=0), CERTAIN_SCORE, -CERTAIN_SCORE))


def _scores(model: Any, X: Any) -> FloatArray:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    proba = np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
    return np.clip(logit(proba), -CERTAIN_SCORE, CERTAIN_SCORE)
