"""Parameters of the estimator from the words of a command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from auctor.cli.options import class_weights

if TYPE_CHECKING:
    from auctor.estimators import TableClassifier


def make_table(who: str, params: dict[str, Any]) -> TableClassifier:
    """The estimator; refuses, before any file is read, what it would refuse later.

    Parameters
    ----------
    who : str
        Name used in error messages.
    params : dict
        Of `auctor.TableClassifier`; the strength and the threshold may be numbers in text.
    """
    from auctor.estimators import TableClassifier
    from auctor.solvers.choose import SOLVERS
    from auctor.training.metric import resolve_metric
    from auctor.training.registry import known, resolve_penalty

    resolve_metric(who, params["metric"], params["surrogate"])
    if params.get("model", "linear") == "linear":
        resolve_penalty(who, params["penalty"], 1.0, params["l1_ratio"])
    known(who, "solver", params["solver"], {"auto": None, **SOLVERS})
    table = TableClassifier(
        **params
        | {
            "strength": _number(params["strength"]),
            "threshold": _number(params["threshold"]),
            "class_weight": class_weights(params["class_weight"], who),
        }
    )
    table.make_model()
    return table


def patterns(who: str, texts: Iterable[str] | None) -> dict[str, str]:
    """Patterns of dates by column, from COLUMN=PATTERN.

    Examples
    --------
    >>> patterns("auctor train", ["sold=%d/%m/%Y"])
    {'sold': '%d/%m/%Y'}
    """
    from auctor.core.errors import ParameterError

    found = {}
    for text in texts or ():
        name, equals, pattern = text.partition("=")
        if not equals or not name or "%" not in pattern:
            raise ParameterError(
                who,
                needs="dates as COLUMN=PATTERN",
                got=f"{text!r}",
                todo="Write such as sold=%d/%m/%Y for day/month/year.",
            )
        found[name] = pattern
    return found


def directions(who: str, text: str | None) -> dict[str, int] | None:
    """Directions of columns, from COLUMN=1 and COLUMN=-1 with commas between.

    Examples
    --------
    >>> directions("auctor train", "age=1,income=-1")
    {'age': 1, 'income': -1}
    """
    from auctor.core.errors import ParameterError

    if text is None:
        return None
    found = {}
    for part in text.split(","):
        name, equals, sign = (piece.strip() for piece in part.rpartition("="))
        if not equals or not name or sign not in ("1", "+1", "-1"):
            raise ParameterError(
                who,
                needs="directions as COLUMN=1 (rising) or COLUMN=-1 (falling), commas between",
                got=f"{text!r}",
                todo="Write such as age=1,income=-1.",
            )
        found[name] = int(sign)
    return found


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
