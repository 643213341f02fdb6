"""Names that Tab offers: those of the registries, which are imported when Tab is pressed."""

from __future__ import annotations

import re
from collections.abc import Callable

import typer

#: A name and one line about it, as the shells show them.
Offer = tuple[str, str]


def metrics(incomplete: str) -> list[Offer]:
    """Names of metrics."""
    from auctor.training.metric import ALIASES, METRICS

    lines = {name: metric.summary for name, metric in METRICS.items()}
    short = {name: f"short for {metric}" for name, metric in ALIASES.items()}
    return beginning(incomplete, lines | short)


def surrogates(ctx: typer.Context, incomplete: str) -> list[Offer]:
    """Surrogates of the metric on the command line, or of all metrics."""
    from auctor.training.metric import ALIASES, METRICS

    typed = str(ctx.params.get("metric") or "")
    name = ALIASES.get(typed, typed).partition("(")[0]
    asked = [METRICS[name]] if name in METRICS else list(METRICS.values())
    found = {surrogate: "" for metric in asked for surrogate in metric.surrogates}
    return beginning(incomplete, {"auto": "the metric's first", **found})


def penalties(incomplete: str) -> list[Offer]:
    """Names of penalties."""
    from auctor.training.registry import PENALTIES

    return beginning(incomplete, dict.fromkeys(PENALTIES, ""))


def solvers(incomplete: str) -> list[Offer]:
    """Names of solvers."""
    from auctor.solvers.choose import SOLVERS

    return beginning(incomplete, {"auto": "chosen for the problem", **dict.fromkeys(SOLVERS, "")})


def formats(incomplete: str) -> list[Offer]:
    """Names of file formats."""
    from auctor.tables.formats import FORMATS

    return beginning(incomplete, dict.fromkeys(FORMATS, "") | {"auto": "by the name of the file"})


def learners(incomplete: str) -> list[Offer]:
    """Names of online learners."""
    from auctor.cli.learners import learners as by_name

    return beginning(incomplete, dict.fromkeys(by_name(), ""))


def choices(*names: str) -> Callable[[str], list[Offer]]:
    """Offers fixed names."""

    def offer(incomplete: str) -> list[Offer]:
        return beginning(incomplete, dict.fromkeys(names, ""))

    return offer


def learner_name(class_name: str) -> str:
    """What a user types for an online learner.

    Examples
    --------
    >>> learner_name("RegSolam"), learner_name("StreamingAUC")
    ('reg_solam', 'streaming')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", class_name).lower()
    return "streaming" if words == "streaming_auc" else words


def beginning(incomplete: str, names: dict[str, str]) -> list[Offer]:
    """The names that begin with what was typed so far."""
    return [(name, line) for name, line in names.items() if name.startswith(incomplete)]
