"""Learners of ``auctor stream`` by name, and their parameters from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from auctor.cli import names

if TYPE_CHECKING:
    from auctor.online.base import OnlineClassifier

WHO = "auctor stream"


def learners() -> dict[str, type[OnlineClassifier]]:
    """Classes of online learners, by their names on the command line.

    Examples
    --------
    >>> sorted(learners())[-1]
    'uni_exp'
    """
    import inspect

    from auctor import online
    from auctor.online.base import OnlineClassifier

    found = {}
    for name in online.__all__:
        thing = getattr(online, name)
        if inspect.isclass(thing) and issubclass(thing, OnlineClassifier):
            found[names.learner_name(name)] = thing
    found.pop("online_classifier", None)
    return found


def make_learner(name: str, params: dict[str, Any]) -> OnlineClassifier:
    """A learner by name; refuses parameters that it does not have."""
    from auctor.core.checks import check_choice
    from auctor.core.errors import ParameterError

    known = learners()
    kind = known[check_choice(WHO, "learner", name, tuple(sorted(known)))]
    allowed = kind().get_params(deep=False)
    unknown = [key for key in params if key not in allowed]
    if unknown:
        raise ParameterError(
            WHO,
            needs=f"parameters of {kind.__name__} ({', '.join(sorted(allowed))})",
            got=f"{unknown[0]}",
            todo="Drop that parameter.",
        )
    return kind(**params)


def learner_settings(given: list[str] | None, **named: Any) -> dict[str, Any]:
    """Parameters from options and from NAME=VALUE, whose values are JSON or text."""
    from auctor.core.errors import ParameterError

    params = {key: value for key, value in named.items() if value is not None}
    for item in given or []:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ParameterError(
                WHO, needs="--set NAME=VALUE", got=f"{item!r}", todo="Add the name and =."
            )
        params[key] = _value(value)
    return params


def _value(text: str) -> Any:
    """A value from its text: JSON or Python's True, False and None; otherwise the text."""
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return None if text == "None" else text
