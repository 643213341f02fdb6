"""Probabilities from scores, fitted on scores of rows that the model has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold

from auctor.core.errors import DataError
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray
from auctor.data import as_data
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Newton

if TYPE_CHECKING:
    from auctor.estimators.classifier import MetricClassifier

FOLDS = 5


class Calibrator(Protocol):
    """Turns the scores of one class into its probability."""

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""


class Sigmoid:
    """Platt scaling: ``1 / (1 + exp(-(a s + b)))`` with a, b by maximum likelihood."""

    def __init__(self, scores: FloatArray, positive: Array, weight: FloatArray | None) -> None:
        self._unit = float(np.abs(scores).max()) or 1.0
        data = as_data(scores[:, None] / self._unit, np.where(positive, 1.0, -1.0), weight=weight)
        fit = minimise(Problem(Logistic(), L2(1e-8), data), Newton(), tol=1e-8, on_failure="ignore")
        self.slope, self.offset = float(fit.coef[0]) / self._unit, fit.intercept

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""
        margin = self.slope * scores + self.offset
        return np.exp(-np.logaddexp(0.0, -margin))


class Isotonic:
    """Monotone step function by pool-adjacent-violators."""

    def __init__(self, scores: FloatArray, positive: Array, weight: FloatArray | None) -> None:
        self._fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        self._fit.fit(scores, positive.astype(np.float64), sample_weight=weight)

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""
        return np.asarray(self._fit.predict(scores))


KINDS: dict[str, type[Sigmoid] | type[Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


def fit_calibrators(
    model: MetricClassifier, matrix: Any, labels: Array, weight: FloatArray | None
) -> list[Calibrator]:
    """One calibrator per score column, on out-of-fold scores of stratified folds."""
    if weight is not None:
        kept = weight > 0
        matrix, labels, weight = matrix[kept], labels[kept], weight[kept]
    smallest = int(np.unique(labels, return_counts=True)[1].min())
    if smallest < 2:
        raise DataError(
            f"calibrate needs at least two rows of every class; got {smallest}. Set calibrate=None."
        )
    folds = StratifiedKFold(min(FOLDS, smallest), shuffle=True, random_state=_seed(model))
    parts = []
    for train, test in folds.split(labels, labels):
        part = clone(model).set_params(calibrate=None, warm_start=False)
        part.fit(matrix[train], labels[train], None if weight is None else weight[train])
        decision = part.decision_function(matrix[test])
        parts.append((test, decision[:, None] if decision.ndim == 1 else decision))
    scores = np.empty((labels.size, parts[0][1].shape[1]))
    for test, decision in parts:
        scores[test] = decision
    positives = model.classes_[-scores.shape[1] :]
    kind = KINDS[str(model.calibrate)]
    return [
        kind(column, labels == k, weight) for k, column in zip(positives, scores.T, strict=True)
    ]


def _seed(model: MetricClassifier) -> int:
    """A seed for the folds; fixed by default, so that the same fit gives the same answer."""
    if model.random_state is None:
        return 0
    return int(as_rng(model.random_state).integers(2**31))
