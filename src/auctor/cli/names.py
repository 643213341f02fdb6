"""Names for shell completion, from the registries, which are imported when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable

import typer

#: A name that completes a word, and one line about it, as shells show them.
Completion = tuple[str, str]


def metrics(incomplete: str) -> list[Completion]:
    """Metrics that begin with a text."""
    from auctor.fit.metric import ALIASES, METRICS

    lines = {name: metric.summary for name, metric in METRICS.items()}
    short = {name: f"short for {metric}" for name, metric in ALIASES.items()}
    return beginning(incomplete, lines | short)


def surrogates(ctx: typer.Context, incomplete: str) -> list[Completion]:
    """Surrogates of the metric on the command line, or of all metrics."""
    from auctor.fit.metric import ALIASES, METRICS

    typed = str(ctx.params.get("metric") or "")
    name = ALIASES.get(typed, typed).partition("(")[0]
    offered = [METRICS[name]] if name in METRICS else list(METRICS.values())
    names = {surrogate: "" for metric in offered for surrogate in metric.surrogates}
    return beginning(incomplete, {"auto": "chosen by cross-validation", **names})


def penalties(incomplete: str) -> list[Completion]:
    """Penalties that begin with a text."""
    from auctor.fit.registry import PENALTIES

    return beginning(incomplete, dict.fromkeys(PENALTIES, ""))


def solvers(incomplete: str) -> list[Completion]:
    """Solvers that begin with a text."""
    from auctor.solvers.registry import SOLVERS

    return beginning(incomplete, {"auto": "chosen for the problem", **dict.fromkeys(SOLVERS, "")})


def formats(incomplete: str) -> list[Completion]:
    """File formats that begin with a text."""
    from auctor.tables.formats import FORMATS

    return beginning(incomplete, dict.fromkeys(FORMATS, "") | {"auto": "by the name of the file"})


def learners(incomplete: str) -> list[Completion]:
    """Online learners that begin with a text."""
    from auctor.streaming.registry import learners as by_name

    return beginning(incomplete, dict.fromkeys(by_name(), ""))


def choices(*names: str) -> Callable[[str], list[Completion]]:
    """A function that completes one of some fixed names."""

    def complete(incomplete: str) -> list[Completion]:
        return beginning(incomplete, dict.fromkeys(names, ""))

    return complete


def beginning(incomplete: str, names: dict[str, str]) -> list[Completion]:
    """The names that begin with an incomplete word."""
    return [(name, line) for name, line in names.items() if name.startswith(incomplete)]
