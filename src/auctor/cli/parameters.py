"""Parameters of a model of a table, from the options of a command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from auctor.cli.output import OPTION_NAMES

if TYPE_CHECKING:
    from auctor.linear.table_parameters import TableParameters
    from auctor.tables.options import ReadOptions

#: Parameters of `auctor.TableClassifier` that take the value of their option as it is.
PLAIN_PARAMETERS = (
    "metric",
    "model",
    "n_bins",
    "members",
    "surrogate",
    "penalty",
    "l1_ratio",
    "n_strengths",
    "cv",
    "rule",
    "solver",
    "tol",
    "max_iter",
    "max_seconds",
    "calibrate",
    "prior",
    "pos_label",
    "n_threads",
    "random_state",
)


def table_parameters(options: Mapping[str, Any], reading: ReadOptions) -> TableParameters:
    """The model that the options ask for; invalid ones are refused before a file is read.

    Parameters
    ----------
    options : mapping
        Values of the options of ``auctor train``, by the names of its parameters.
    reading : ReadOptions
        How to read the file.
    """
    from auctor.fit.metric import resolve_metric
    from auctor.fit.registry import known, resolve_penalty
    from auctor.linear.table_parameters import TableParameters, model_parameters
    from auctor.solvers.registry import SOLVERS

    params = {name: options[OPTION_NAMES.get(name, name)] for name in PLAIN_PARAMETERS}
    if options["standardise"] is not None:
        params["standardise"] = options["standardise"]
    params["monotone"] = directions(options["monotone"])
    params["fit_intercept"] = not options["no_intercept"]
    resolve_metric(params["metric"], params["surrogate"])
    if params["model"] != "additive":
        resolve_penalty(params["penalty"], 1.0, params["l1_ratio"])
    known("solver", params["solver"], {"auto": None, **SOLVERS})
    table = TableParameters(
        **params,
        reading=reading.of_table(),
        interactions=_whole(options["interactions"]),
        strength=_number(options["strength"]),
        threshold=_number(options["threshold"]),
        class_weight=class_weights(options["class_weight"]),
    )
    model_parameters(table)  # refuses the remaining invalid combinations
    return table


def _whole(text: str) -> str | int:
    """The whole number that a text is, else the text."""
    return int(text) if text.strip().isdecimal() else text


def class_weights(text: str | None) -> str | dict[str, float] | None:
    """Class weights: ``balanced``, or a weight for each label, from LABEL=WEIGHT,....

    Examples
    --------
    >>> class_weights("yes=10,no=1")
    {'yes': 10.0, 'no': 1.0}
    """
    from auctor.core.errors import ParameterError

    if text is None or text == "balanced":
        return text
    weights = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name.strip():
            raise ParameterError(
                f"`class_weight` to be balanced or LABEL=WEIGHT,...; got {text!r}. Write, for "
                "example, `class_weight='yes=10,no=1'`."
            )
    return weights


def date_patterns(texts: Iterable[str] | None) -> dict[str, str]:
    """Date patterns by column, from texts of the form COLUMN=PATTERN.

    Examples
    --------
    >>> date_patterns(["sold=%d/%m/%Y"])
    {'sold': '%d/%m/%Y'}
    """
    from auctor.core.errors import Option, ParameterError

    patterns = {}
    for text in texts or ():
        name, equals, pattern = text.partition("=")
        if not equals or not name or "%" not in pattern:
            raise ParameterError(
                "{option} COLUMN=PATTERN",
                got=repr(text),
                todo="Write, for example, {option2} for day/month/year.",
                option=("date", Option("date", {"sold": "%d/%m/%Y"})),
            )
        patterns[name] = pattern
    return patterns


def directions(text: str | None) -> dict[str, int] | None:
    """Directions of monotone columns, from COLUMN=1 or COLUMN=-1, separated by commas.

    Examples
    --------
    >>> directions("age=1,income=-1")
    {'age': 1, 'income': -1}
    """
    from auctor.core.errors import ParameterError

    if text is None:
        return None
    signs = {}
    for part in text.split(","):
        name, equals, sign = (piece.strip() for piece in part.rpartition("="))
        if not equals or not name or sign not in ("1", "+1", "-1"):
            raise ParameterError(
                "`monotone` COLUMN=1 (rising) or COLUMN=-1 (falling), with commas between; got "
                f"{text!r}. Write, for example, `monotone='age=1,income=-1'`."
            )
        signs[name] = int(sign)
    return signs


def settings(texts: Iterable[str] | None) -> dict[str, Any]:
    """Parameters of a learner, from texts of the form NAME=VALUE; values are JSON or text.

    Examples
    --------
    >>> settings(["rate=0.5", "means=running"])
    {'rate': 0.5, 'means': 'running'}
    """
    from auctor.core.errors import ParameterError

    values = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ParameterError(f"`settings` NAME=VALUE; got {text!r}. Add the name and =.")
        values[name] = _value(value)
    return values


def _value(text: str) -> Any:
    """A value from its text: JSON or Python's True, False and None; otherwise the text."""
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return None if text == "None" else text


def _number(text: str) -> float | str:
    """A number if the text is one, otherwise the text: the name of a rule, such as "auto"."""
    try:
        return float(text)
    except ValueError:
        return text
