"""``auctor list``: every metric, loss, penalty and solver by the name a user types."""

from __future__ import annotations

import inspect
import json
from enum import StrEnum
from types import ModuleType
from typing import Annotated, NamedTuple

import typer


class Kind(StrEnum):
    """What can be listed."""

    METRICS = "metrics"
    LOSSES = "losses"
    PENALTIES = "penalties"
    SOLVERS = "solvers"


class Part(NamedTuple):
    """A name and one line about it."""

    name: str
    summary: str


#: Where each kind is passed.
USES = {
    Kind.METRICS: "MetricClassifier(metric=..., surrogate=...), default surrogate first",
    Kind.LOSSES: "LinearRegressor(loss=...), or an object where a metric or loss is asked for",
    Kind.PENALTIES: "penalty=..., or an object",
    Kind.SOLVERS: "solver=..., or an object; 'auto' chooses",
}


def list_parts(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list; everything by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List metrics with their surrogates, losses, penalties and solvers."""
    kinds = list(Kind) if kind is None else [kind]
    found = {k: parts(k) for k in kinds}
    if as_json:
        plain = {k.value: [part._asdict() for part in listed] for k, listed in found.items()}
        typer.echo(json.dumps(plain, indent=2))
        return
    _print(found)


def parts(kind: Kind) -> list[Part]:
    """Everything of one kind, from the registries and the packages' exports.

    Examples
    --------
    >>> [part.name for part in parts(Kind.METRICS)][:4]
    ['log_loss', 'error', 'balanced_error', 'cost(ratio)']
    """
    return {
        Kind.METRICS: _metrics,
        Kind.LOSSES: _losses,
        Kind.PENALTIES: _penalties,
        Kind.SOLVERS: _solvers,
    }[kind]()


def _metrics() -> list[Part]:
    from auctor.estimators.metric import METRICS

    listed = []
    for name, metric in METRICS.items():
        surrogates = ", ".join(metric.surrogates)
        shown = f"{name}({metric.parameter})" if metric.parameter else name
        listed.append(Part(shown, f"{metric.summary} (surrogates: {surrogates})"))
    return listed


def _losses() -> list[Part]:
    from auctor import losses
    from auctor.estimators.registry import LOSSES

    named = {name: type(make()) for name, make in LOSSES.items()}
    return _named(named) + _objects(losses, "value_grad", named)


def _penalties() -> list[Part]:
    from auctor import penalties
    from auctor.estimators.registry import PENALTIES

    named = {name: type(make(1.0, None)) for name, make in PENALTIES.items()}
    return _named(named) + _objects(penalties, "prox", named)


def _solvers() -> list[Part]:
    from auctor.solvers.choose import SOLVERS, solver_class

    return _named({name: solver_class(name) for name in SOLVERS})


def _named(classes: dict[str, type]) -> list[Part]:
    return [Part(name, first_line(kind)) for name, kind in classes.items()]


def _objects(package: ModuleType, method: str, named: dict[str, type]) -> list[Part]:
    """Exported classes that have no name to type, only an object to pass."""
    short = package.__name__.removeprefix("auctor.")
    exported = [(name, getattr(package, name)) for name in package.__all__]
    return [
        Part(f"{short}.{name}", first_line(thing))
        for name, thing in exported
        if inspect.isclass(thing)
        and hasattr(thing, method)
        and not thing.__module__.endswith(".base")
        and thing not in named.values()
    ]


def first_line(kind: type) -> str:
    """The first sentence of a docstring, without its markup.

    Examples
    --------
    >>> from auctor.losses import Squared
    >>> first_line(Squared)
    'Squared loss 1/2 r^2.'
    """
    text = inspect.getdoc(kind) or ""
    return text.split("\n\n", 1)[0].replace("\n", " ").replace("`", "")


def _print(found: dict[Kind, list[Part]]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for position, (kind, listed) in enumerate(found.items()):
        if position:
            console.print()
        console.print(f"[bold]{kind.value}[/bold]: {USES[kind]}")
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column()
        for part in listed:
            table.add_row(f"  {part.name}", part.summary)
        console.print(table, markup=False)
