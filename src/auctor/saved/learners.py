"""Learners of auctor.streaming in files, with their whole state, to continue learning."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from auctor.core.codec import floats, whole
from auctor.core.types import Array, FloatArray
from auctor.fit.model import LinearModel
from auctor.saved.classes import LEARNERS
from auctor.saved.values import check_labels, check_names, need
from auctor.saved.whole import SavedEstimator


@dataclass(frozen=True, eq=False, kw_only=True)
class SavedLearner(SavedEstimator):
    """A learner: its state, and the weights with which it predicts now."""

    classes: Array
    state: dict[str, Array]
    rows_seen: int
    skipped_rows: int
    coef: FloatArray
    intercept: FloatArray

    @classmethod
    def of(cls, learner: Any) -> Self:
        """The state and the weights of a learner."""
        coef, intercept = _weights(learner, int(learner.n_features_in_))
        return cls(
            **cls.parameters(learner),
            classes=learner.classes_,
            state={name: np.asarray(array) for name, array in learner.state_.items()},
            rows_seen=int(learner.rows_seen_),
            skipped_rows=int(learner.skipped_rows_),
            coef=coef,
            intercept=intercept,
        )

    def check(self) -> None:
        """Raise unless the weights can predict."""
        need(self.name in LEARNERS, "a learner")
        need(check_labels(self.classes).size == 2, "two classes")
        check_names(self.feature_names, whole(self.n_features, low=1))
        floats(self.coef, (1, self.n_features))
        floats(self.intercept, (1,))

    def estimator(self) -> Any:
        """The learner, checked, which can continue to learn; imports scikit-learn."""
        from auctor.streaming.state import check_state

        learner, d = self.unfitted(), self.n_features
        learner.check_params()
        check_state(learner, self.state, d)
        learner.check_width(d)
        learner.classes_ = self.classes
        learner.adopt(self.state, d)
        learner.rows_seen_, learner.skipped_rows_ = whole(self.rows_seen), whole(self.skipped_rows)
        pairs = zip(_weights(learner, d), (self.coef, self.intercept), strict=True)
        need(all(np.array_equal(one, other) for one, other in pairs), "the weights of its state")
        return learner

    def model(self) -> LinearModel:
        """The linear model with which the learner predicts now."""
        return LinearModel(
            coef=self.coef,
            intercept=self.intercept,
            classes=self.classes,
            threshold=np.zeros(1),
            feature_names=self.feature_names,
        )


def _weights(learner: Any, d: int) -> tuple[FloatArray, FloatArray]:
    """The finite weights and intercept with which a learner predicts now."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return floats(learner.coef_, (1, d)), floats(learner.intercept_, (1,))
