"""Online learners by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from auctor.core.checks import check_choice
from auctor.core.errors import Option, ParameterError, speaks_as

if TYPE_CHECKING:
    from auctor.streaming.estimators.online import OnlineClassifier


#: Dotted path of every learner, by the name that users type.
LEARNERS = {
    "ada_oam": "auctor.lab.learners.ada_oam.AdaOam",
    "fsauc": "auctor.lab.learners.fsauc.Fsauc",
    "mini_batch_auc": "auctor.lab.learners.mini_batch.MiniBatchAuc",
    "oam": "auctor.lab.learners.oam.Oam",
    "online_gaussian_auc": "auctor.lab.learners.gaussian.OnlineGaussianAuc",
    "opauc": "auctor.lab.learners.opauc.Opauc",
    "passive_aggressive": "auctor.lab.learners.passive_aggressive.PassiveAggressive",
    "reg_solam": "auctor.lab.learners.solam.RegSolam",
    "solam": "auctor.lab.learners.solam.Solam",
    "spam": "auctor.lab.learners.spam.Spam",
    "streaming": "auctor.streaming.estimators.auc.StreamingAUC",
    "uni_exp": "auctor.lab.learners.uni_exp.UniExp",
}


@cache
def learners() -> Mapping[str, type[OnlineClassifier]]:
    """Classes of online learners, by name.

    Examples
    --------
    >>> sorted(learners())[-1]
    'uni_exp'
    """
    return {name: learner_class(name) for name in LEARNERS}


def learner_class(name: str) -> type[OnlineClassifier]:
    """The class of the learner that users call by this name."""
    module, _, short = LEARNERS[name].rpartition(".")
    kind: type[OnlineClassifier] = getattr(import_module(module), short)
    return kind


@speaks_as("make_learner")
def make_learner(name: str, params: Mapping[str, Any]) -> OnlineClassifier:
    """A learner by name, with these parameters; raises if it does not have or accept one.

    Examples
    --------
    >>> make_learner("spam", {"strength": 0.01}).strength
    0.01
    """
    kind = learner_class(check_choice("learner", name, tuple(sorted(LEARNERS))))
    allowed = kind().get_params(deep=False)
    unknown = [key for key in params if key not in allowed]
    if unknown:
        raise ParameterError(
            f"parameters of {kind.__name__} ({', '.join(sorted(allowed))}); got {unknown[0]}. "
            "Drop {option}.",
            option=Option(unknown[0], bare=True),
        )
    made = kind(**params)
    made.check_params()
    return made
