"""Online learners by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from auctor import online
from auctor.core.checks import check_choice
from auctor.core.errors import Option, ParameterError
from auctor.online.base import OnlineClassifier


def learner_name(class_name: str) -> str:
    """The name of an online learner, from that of its class.

    Examples
    --------
    >>> learner_name("RegSolam"), learner_name("StreamingAUC")
    ('reg_solam', 'streaming')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()
    return "streaming" if words == "streaming_auc" else words


@cache
def learners() -> Mapping[str, type[OnlineClassifier]]:
    """Classes of online learners, by name.

    Examples
    --------
    >>> sorted(learners())[-1]
    'uni_exp'
    """
    exported = {name: getattr(online, name) for name in online.__all__}
    return {
        learner_name(name): thing
        for name, thing in exported.items()
        if isinstance(thing, type)
        and issubclass(thing, OnlineClassifier)
        and thing is not OnlineClassifier
    }


def make_learner(
    name: str, params: Mapping[str, Any], *, who: str = "make_learner"
) -> OnlineClassifier:
    """A learner by name, with these parameters; raises if it does not have or accept one.

    Examples
    --------
    >>> make_learner("spam", {"strength": 0.01}).strength
    0.01
    """
    kind = learners()[check_choice(who, "learner", name, tuple(sorted(learners())))]
    allowed = kind().get_params(deep=False)
    unknown = [key for key in params if key not in allowed]
    if unknown:
        raise ParameterError(
            who,
            needs=f"parameters of {kind.__name__} ({', '.join(sorted(allowed))})",
            got=f"{unknown[0]}",
            todo="Drop {option}.",
            option=Option(unknown[0], bare=True),
        )
    made = kind(**params)
    made.check_params()
    return made
