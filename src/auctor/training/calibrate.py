"""Probabilities from scores, fitted on scores of rows that the model has not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.base import clone

from auctor.core.errors import DataError
from auctor.core.result import Status
from auctor.core.types import Array, FloatArray
from auctor.core.watching import tell_stage
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


@dataclass(frozen=True)
class Sigmoid:
    """Platt scaling: ``1 / (1 + exp(-(a s + b)))`` with a, b by maximum likelihood."""

    slope: float
    offset: float

    @classmethod
    def fit(cls, scores: FloatArray, positive: Array, weight: FloatArray | None) -> Sigmoid:
        """The most likely slope and offset for scores of which some are ``positive``."""
        unit = float(np.abs(scores).max()) or 1.0
        data = as_data(scores[:, None] / unit, np.where(positive, 1.0, -1.0), weight=weight)
        fit = minimise(Problem(Logistic(), L2(1e-8), data), Newton(), tol=1e-8, on_failure="ignore")
        return cls(float(fit.coef[0]) / unit, fit.intercept)

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""
        margin = self.slope * scores + self.offset
        return np.exp(-np.logaddexp(0.0, -margin))


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Monotone function by pool-adjacent-violators, linear between increasing ``points``."""

    points: FloatArray
    levels: FloatArray

    @classmethod
    def fit(cls, scores: FloatArray, positive: Array, weight: FloatArray | None) -> Isotonic:
        """The function nearest to 0 and 1 for scores of which some are ``positive``."""
        from sklearn.isotonic import IsotonicRegression  # loads scipy.stats

        fit = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        fit.fit(scores, positive.astype(np.float64), sample_weight=weight)
        return cls(fit.X_thresholds_, fit.y_thresholds_)

    def probability(self, scores: FloatArray) -> FloatArray:
        """Probability of the class."""
        return np.asarray(np.interp(scores, self.points, self.levels))


KINDS: dict[str, type[Sigmoid] | type[Isotonic]] = {"sigmoid": Sigmoid, "isotonic": Isotonic}


def calibrators_of(model: Any) -> list[Calibrator] | None:
    """What turns the scores of a fitted model into probabilities, one per column of them."""
    if log_odds(model):
        return [Sigmoid(1.0, 0.0)] * model.coef_.shape[0]
    asked = getattr(model, "calibrate", None) is not None
    found: list[Calibrator] | None = getattr(model, "calibrators_", None)
    return found if asked else None


def log_odds(model: Any) -> bool:
    """Whether the scores of a model are log-odds as they are: those of log-loss."""
    named = str(getattr(model, "metric", "")).strip() == "log_loss"
    return named and getattr(model, "calibrate", None) is None


def out_of_fold_scores(
    model: MetricClassifier,
    matrix: Any,
    labels: Array,
    weight: FloatArray | None,
    groups: Array | None,
    level: FloatArray | None = None,
) -> FloatArray:
    """Scores, before any threshold, by models that have not seen the row: (n, number of scores).

    The folds are stratified and, where there are groups, keep them whole. Rows of no weight have
    score 0. With a ``level``, scores are moved until those of a fold's own training rows have that
    mean: models of a loss that does not care for an offset agree in nothing else.
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    kept = np.arange(labels.size) if weight is None else np.flatnonzero(weight)
    count = model.threshold_cv or FOLDS
    smallest = int(np.unique(labels[kept], return_counts=True)[1].min())
    if smallest < 2:
        raise DataError(
            f"calibrate and threshold_cv need at least two rows of every class; got {smallest}. "
            "Set both to None."
        )
    if groups is not None:
        smallest = min(smallest, np.unique(groups[kept]).size)
        if smallest < 2:
            raise DataError(
                "calibrate and threshold_cv need at least two groups; got 1. Set both to None."
            )
    if model.threshold_cv is not None and smallest < count:
        warnings.warn(
            f"{model._who} uses {smallest} folds for the threshold instead of {count}: there are "
            f"no more rows of a class, or groups. Set threshold_cv={smallest}.",
            UserWarning,
            stacklevel=4,
        )
    scores = None
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = splitter(min(count, smallest), shuffle=True, random_state=model._fold_seed())
    part = clone(model).set_params(
        calibrate=None, threshold_cv=None, threshold=0.0, warm_start=False
    )
    parted = folds.split(kept, labels[kept], None if groups is None else groups[kept])
    for number, (train, test) in enumerate(parted, start=1):
        tell_stage("calibration fold", number, folds.n_splits)
        rows, others = kept[train], kept[test]
        try:
            part.fit(
                matrix[rows],
                labels[rows],
                None if weight is None else weight[rows],
                None if groups is None else groups[rows],
            )
        except DataError as error:
            raise DataError(
                f"calibrate and threshold_cv need folds that can be trained on; got one of "
                f"{rows.size} rows of {labels.size}: {error} Or set both to None."
            ) from error
        last = part.solution_[-1] if isinstance(part.solution_, list) else part.solution_
        if last.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        decision = _columns(part.decision_function(matrix[others]))
        if level is not None:
            seen = _columns(part.decision_function(matrix[rows]))
            mine = None if weight is None else weight[rows]
            decision = decision + (level - np.average(seen, axis=0, weights=mine))
        if scores is None:
            scores = np.zeros((labels.size, decision.shape[1]))
        scores[others] = decision
    assert scores is not None
    return scores


def _columns(decision: FloatArray) -> FloatArray:
    return decision[:, None] if decision.ndim == 1 else decision


def fit_calibrators(
    kind: str, scores: FloatArray, hits: list[Array], weight: FloatArray | None
) -> list[Calibrator]:
    """One calibrator per column of scores, on the rows that have weight."""
    kept = slice(None) if weight is None else weight > 0.0
    kept_weight = None if weight is None else weight[kept]
    return [
        KINDS[kind].fit(column[kept], hit[kept], kept_weight)
        for column, hit in zip(scores.T, hits, strict=True)
    ]
