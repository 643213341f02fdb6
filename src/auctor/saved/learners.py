"""Saving and loading learners of auctor.online with their whole state, to continue learning."""

from __future__ import annotations

import inspect
import warnings
from functools import cache
from typing import Any

import numpy as np

from auctor import online
from auctor.online.base import OnlineClassifier
from auctor.online.state import check_state
from auctor.saved.values import Arrays, Json, encoded_array, floats, labels, need, whole
from auctor.training.model import LinearModel

#: Counters of a learner, without the underscore at the end.
COUNTS = ("rows_seen", "skipped_rows")


@cache
def learners() -> dict[str, type[Any]]:
    """The classes of the learners, by name."""
    exported = (getattr(online, name) for name in online.__all__)
    classes = [thing for thing in exported if isinstance(thing, type)]
    return {
        kind.__name__: kind
        for kind in classes
        if issubclass(kind, OnlineClassifier) and kind is not OnlineClassifier
    }


def describe(learner: Any, arrays: Arrays) -> Json:
    """The state of a learner as JSON; adds its arrays to ``arrays``."""
    arrays.update({f"state.{name}": np.asarray(array) for name, array in learner.state_.items()})
    return {
        "classes": encoded_array(learner.classes_, "classes", arrays),
        "state": sorted(learner.state_),
        **{name: int(getattr(learner, f"{name}_")) for name in COUNTS},
    }


def read_learner(name: str, params: dict[str, Any], d: int, fitted: Json, arrays: Arrays) -> Any:
    """The learner that a file describes, checked; removes what it reads from the arguments."""
    kind = learners()[name]
    need(params.keys() <= set(inspect.signature(kind).parameters), "parameters of this version")
    learner = kind(**params)
    learner.check_params()
    classes = labels(fitted.pop("classes"), arrays)
    need(classes.size == 2, "two classes")
    state = {key: arrays.pop(f"state.{key}") for key in fitted.pop("state")}
    check_state(learner, state, d)
    if isinstance(learner, online.Spam):
        learner.penalty_arrays(d)  # refuses a penalty that does not fit the columns
    learner.classes_ = classes
    learner.adopt(state, d)
    for count in COUNTS:
        setattr(learner, f"{count}_", whole(fitted.pop(count)))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        floats(learner.coef_, (1, d))
        floats(learner.intercept_, (1,))
    return learner


def as_model(learner: Any, feature_names: tuple[str, ...] | None) -> LinearModel:
    """The linear model with which a learner predicts now."""
    return LinearModel(
        coef=learner.coef_,
        intercept=learner.intercept_,
        classes=learner.classes_,
        threshold=np.zeros(1),
        feature_names=feature_names,
        who=type(learner).__name__,
    )
