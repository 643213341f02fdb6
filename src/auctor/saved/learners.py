"""Saving and loading learners of auctor.streaming with their whole state, to continue learning."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.fit.model import LinearModel
from auctor.saved.classes import class_of
from auctor.saved.values import CODEC, Arrays, Json, floats, labels, matrix, need, whole

#: Counters of a learner, without the underscore at the end.
COUNTS = ("rows_seen", "skipped_rows")


def describe(learner: Any, arrays: Arrays) -> Json:
    """The state of a learner, and the weights with which it predicts, as JSON; adds its arrays."""
    arrays.update({f"state.{name}": np.asarray(array) for name, array in learner.state_.items()})
    coef, intercept = _weights(learner, int(learner.n_features_in_))
    return {
        "classes": CODEC.encode(learner.classes_, "classes", arrays),
        "state": sorted(learner.state_),
        **{name: int(getattr(learner, f"{name}_")) for name in COUNTS},
        "coef": CODEC.encode(coef, "coef", arrays),
        "intercept": CODEC.encode(intercept, "intercept", arrays),
    }


def _weights(learner: Any, d: int) -> tuple[FloatArray, FloatArray]:
    """The finite weights and intercept with which a learner predicts now."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return floats(learner.coef_, (1, d)), floats(learner.intercept_, (1,))


@dataclass(frozen=True, eq=False)
class SavedLearner:
    """The parts of a learner in a file: its state, and the weights with which it predicts."""

    name: str
    params: dict[str, Any]
    n_features: int
    classes: Array
    state: dict[str, Array]
    counts: dict[str, int]
    weights: tuple[FloatArray, FloatArray] | None = None

    @classmethod
    def read(
        cls, name: str, params: dict[str, Any], d: int, fitted: Json, arrays: Arrays
    ) -> SavedLearner:
        """Read the parts; removes what it reads from the arguments."""
        classes = labels(fitted.pop("classes"), arrays)
        need(classes.size == 2, "two classes")
        state = {key: arrays.pop(f"state.{key}") for key in fitted.pop("state")}
        counts = {count: whole(fitted.pop(count)) for count in COUNTS}
        found = cls(name, params, d, classes, state, counts)
        if "coef" not in fitted:  # an older file: the class derives the weights from the state
            return replace(found, weights=_weights(found.learner(), d))
        coef = matrix(fitted.pop("coef"), (1, d), arrays)
        intercept = floats(CODEC.decode(fitted.pop("intercept"), arrays), (1,))
        return replace(found, weights=(coef, intercept))

    def learner(self) -> Any:
        """The learner, checked, which can continue to learn; imports scikit-learn."""
        from auctor.streaming.state import check_state

        kind = class_of(self.name)
        known = set(inspect.signature(kind).parameters)
        need(self.params.keys() <= known, "parameters of this version")
        learner = kind(**self.params)
        learner.check_params()
        check_state(learner, self.state, self.n_features)
        learner.check_width(self.n_features)
        learner.classes_ = self.classes
        learner.adopt(self.state, self.n_features)
        for name, count in self.counts.items():
            setattr(learner, f"{name}_", count)
        found = _weights(learner, self.n_features)
        stated = found if self.weights is None else self.weights
        same = all(np.array_equal(one, other) for one, other in zip(found, stated, strict=True))
        need(same, "the weights of its state")
        return learner

    def model(self, feature_names: tuple[str, ...] | None) -> LinearModel:
        """The linear model with which the learner predicts now."""
        assert self.weights is not None
        coef, intercept = self.weights
        return LinearModel(
            coef=coef,
            intercept=intercept,
            classes=self.classes,
            threshold=np.zeros(1),
            feature_names=feature_names,
        )
