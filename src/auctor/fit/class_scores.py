"""Labels, probabilities and the metric from the decision values of a classifier, class by class."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.errors import DataError, ParameterError, speaks
from auctor.core.types import Array, FloatArray
from auctor.data.coerce import check_weight
from auctor.fit.calibrate import LOG_ODDS, Calibrator, joint_probabilities
from auctor.fit.metric import Goal, resolve_metric
from auctor.fit.targets import known_labels, sign_of


def softmax(scores: FloatArray) -> FloatArray:
    """Probabilities of the classes from their log-odds, (n, n_classes).

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0], [0.0, 1000.0]]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return shares


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassScores:
    """What decision values say about classes: labels, probabilities and the metric.

    Parameters
    ----------
    classes : array
        Labels in increasing order.
    threshold : (k,) array
        Already subtracted from the decision values.
    calibrators : sequence of calibrators, optional
        One per score; without them there are no probabilities.
    positive : int
        Position of the positive one of two classes, for the metric, the threshold and the
        calibrator. Decision values are always those of the second class.
    metric, surrogate, average
        What `score_at` measures, as in `auctor.MetricClassifier`.
    """

    classes: Array
    threshold: FloatArray
    calibrators: Sequence[Calibrator] | None = None
    metric: Any = "auc"
    surrogate: str = "auto"
    average: str = "macro"
    positive: int = 1

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return bool(self.classes.size == 2)

    @property
    def sign(self) -> float:
        """-1 where the positive class is the first of two, else 1."""
        return sign_of(self.classes, self.positive)

    @property
    def has_probabilities(self) -> bool:
        """Whether the model gives probabilities: it is calibrated, or its scores are log-odds."""
        return self.calibrators is not None

    @property
    def joint(self) -> bool:
        """Whether the scores are log-odds of several classes that were trained jointly."""
        several = not self.binary and self.calibrators is not None
        return several and all(one == LOG_ODDS for one in self.calibrators or ())

    @speaks
    def labels_at(self, decision: FloatArray) -> Array:
        """Predicted labels from decision values."""
        if decision.ndim == 1:
            best = np.where(self.positive_scores(decision) > 0.0, self.positive, 1 - self.positive)
        else:
            best = decision.argmax(axis=1)
        labels: Array = self.classes[best.astype(np.intp)]
        return labels

    def positive_scores(self, decision: FloatArray) -> FloatArray:
        """Decision values with the sign of the positive one of two classes."""
        return self.sign * decision

    @speaks
    def probabilities_at(self, decision: FloatArray) -> FloatArray:
        """Probabilities (n, n_classes) from decision values."""
        if self.calibrators is None:
            raise ParameterError(
                "a calibrated model, or one trained on log_loss, for probabilities; got "
                f"metric={self.metric!r} without calibration. Fit it with `calibrate='sigmoid'`."
            )
        # Calibrators take scores before the threshold was subtracted.
        columns = (decision[:, None] if decision.ndim == 1 else decision) + self.threshold
        if self.joint:
            return softmax(columns)
        columns = self.sign * columns
        shares = joint_probabilities(self.calibrators, columns)
        return shares[:, ::-1] if columns.shape[1] == 1 and not self.positive else shares

    @speaks
    def score_at(
        self, decision: FloatArray, y: Array, sample_weight: Any = None, groups: Any = None
    ) -> float:
        """The metric of decision values, greater is better.

        Costs and log-loss are returned with a minus sign, error rates as one minus the rate. With
        ``groups`` it is the weighted mean over the groups in which the metric is defined. Several
        classes are averaged by ``average``; with "macro" the balanced error becomes the mean of the
        recalls, balanced accuracy. The ranking is that of the decision values, after the thresholds
        are subtracted: only then are the scores of several classes comparable.
        """
        goal = resolve_metric(self.metric, self.surrogate)
        y = self._one_per_row(y, decision.shape[0])
        if goal.name == "error" and groups is None:
            # Plain accuracy, also with labels that the model does not know: these are errors.
            right = self.labels_at(decision) == y
            if sample_weight is None:
                return float(np.mean(right))
            weight = check_weight(sample_weight, y.shape[0])
            return float(np.average(right, weights=weight))
        y = known_labels(y, self.classes)
        if goal.joint(self.classes.size):
            return self._minus_log_loss(decision, y, sample_weight)
        scores = self._judged(decision, goal)
        if decision.ndim == 1:
            hits, scores = y == self.classes[self.positive], self.positive_scores(scores)
            return goal.measured(hits, scores, sample_weight, groups)
        if goal.name == "balanced_error" and self.average == "macro" and groups is None:
            return self._mean_recall(self.labels_at(decision) == y, y, sample_weight)
        hits = y[:, None] == self.classes
        return self._joined(goal, hits, scores, groups, sample_weight)

    def _mean_recall(self, right: Array, y: Array, sample_weight: Any) -> float:
        """Mean over the classes of y of the share of their rows that are predicted right."""
        weight = np.ones(y.shape[0])
        if sample_weight is not None:
            weight = check_weight(sample_weight, y.shape[0])
        own = np.searchsorted(self.classes, y)
        total, hit = np.bincount(own, weights=weight), np.bincount(own, weights=right * weight)
        return float(np.mean(hit[total > 0.0] / total[total > 0.0]))

    def _minus_log_loss(self, decision: FloatArray, y: Array, sample_weight: Any) -> float:
        """Mean logarithm of the probability of the true class; ignores groups and ``average``."""
        own = np.searchsorted(self.classes, y)
        shares = softmax(decision + self.threshold)
        if self.calibrators is not None:
            shares = self.probabilities_at(decision)
        weight = None
        if sample_weight is not None:
            weight = check_weight(sample_weight, y.shape[0])
        likely = np.maximum(shares[np.arange(own.size), own], np.finfo(np.float64).eps)
        return float(np.average(np.log(likely), weights=weight))

    def _one_per_row(self, y: Array, n: int) -> Array:
        """The labels, if there is one for each of n rows."""
        if y.shape != (n,):
            raise DataError(
                f"a label for each of {n} rows; got shape {y.shape}. Pass X and y of equal length."
            )
        return y

    def _judged(self, decision: FloatArray, goal: Goal) -> FloatArray:
        """Input of the measure: log-odds, predicted labels as 1 and -1, or decision values."""
        if goal.by_level:
            return decision + (self.threshold[0] if decision.ndim == 1 else self.threshold)
        if goal.by_label and decision.ndim == 2:
            best = decision.argmax(axis=1)[:, None] == np.arange(self.classes.size)
            return np.where(best, 1.0, -1.0)
        return decision

    def _joined(
        self, goal: Goal, hits: Array, scores: FloatArray, groups: Any, weight: Any
    ) -> float:
        """Average of the metric over classes; ``hits`` and ``scores`` have a column for each."""
        n, k = scores.shape
        if self.average == "micro":  # all (row, class) pairs as one binary problem
            every = [None if x is None else np.repeat(x, k) for x in (groups, weight)]
            flat = hits.ravel(), scores.ravel()
            return goal.measured(*flat, every[1], every[0])
        values = [
            goal.measured(hit, column, weight, groups)
            for hit, column in zip(hits.T, scores.T, strict=True)
        ]
        if self.average == "macro":
            return float(np.mean(values))
        # "weighted": by the weight of the rows of each class.
        share = (np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)) @ hits
        return float(np.average(values, weights=share))


#: Stands for all other classes in a pair of class codes.
REST = -1


@dataclass(frozen=True)
class ClassPairs:
    """The pairs of classes that binary classifiers separate, and their votes for a class.

    Parameters
    ----------
    multiclass : {"ovo", "ovr"}
        With more than two classes: every pair of classes, or every class against the rest.

    Examples
    --------
    >>> ClassPairs(3, "ovo").pairs, ClassPairs(3, "ovr").pairs
    ([(0, 1), (0, 2), (1, 2)], [(0, -1), (1, -1), (2, -1)])
    """

    n_classes: int
    multiclass: str

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positive and negative class code of each score function, the latter `REST` or a class."""
        if self.against_the_rest:
            return [(code, REST) for code in self.scored]
        return list(itertools.combinations(range(self.n_classes), 2))

    @property
    def against_the_rest(self) -> bool:
        """Whether each score function separates one class from all others."""
        return self.n_classes == 2 or self.multiclass == "ovr"

    @property
    def scored(self) -> list[int]:
        """Codes of the classes with a score of their own: of two classes only the second."""
        return [1] if self.n_classes == 2 else list(range(self.n_classes))

    def scores(self, by_pair: FloatArray) -> FloatArray:
        """Scores (n, k) of the k scored classes from scores per pair of classes, by votes."""
        if self.against_the_rest:
            return by_pair
        votes = np.zeros((by_pair.shape[0], self.n_classes))
        total = np.zeros_like(votes)
        for k, (one, other) in enumerate(self.pairs):
            first = by_pair[:, k] > 0.0
            votes[first, one] += 1.0
            votes[~first, other] += 1.0
            total[:, one] += by_pair[:, k]
            total[:, other] -= by_pair[:, k]
        # The second term is below 1/3 in size, so that it only breaks ties between votes.
        joined: FloatArray = votes + total / (3.0 * (np.abs(total) + 1.0))
        return joined
