"""``auctor list``: every metric, loss, solver, format and so on, by name."""

from __future__ import annotations

import inspect
from enum import StrEnum
from types import ModuleType
from typing import Annotated, NamedTuple

import typer

from auctor.cli.options import AsJson, examples
from auctor.cli.output import echo_json


class PartKind(StrEnum):
    """Kinds of parts that can be listed."""

    METRICS = "metrics"
    LOSSES = "losses"
    PENALTIES = "penalties"
    SOLVERS = "solvers"
    LEARNERS = "learners"
    ESTIMATORS = "estimators"
    MAPS = "maps"
    TOOLS = "tools"
    FORMATS = "formats"


class ListedPart(NamedTuple):
    """The name of a part and one line about it."""

    name: str
    summary: str


#: How the parts of each kind are used.
USES = {
    PartKind.METRICS: "MetricClassifier(metric=..., surrogate=...), default surrogate first",
    PartKind.LOSSES: "LinearRegressor(loss=...) by name; or an object for any metric or loss",
    PartKind.PENALTIES: "penalty=..., by name or as an object",
    PartKind.SOLVERS: "solver=..., by name or as an object; 'auto' chooses by the problem",
    PartKind.LEARNERS: "auctor stream --learner ..., classes of auctor.streaming",
    PartKind.ESTIMATORS: "classes of auctor with scikit-learn's API",
    PartKind.MAPS: "MapProblem(loss, penalty, map): scores not linear in the weights",
    PartKind.TOOLS: "functions and estimators of auctor.covariance and of auctor.lab",
    PartKind.FORMATS: "--format ..., ReadOptions(format=...); 'auto' chooses by the file's name",
}

#: One line about each file format.
FORMAT_LINES = {
    "svmlight": "text, a label and index:value pairs on each line; plain or gz, bz2, xz, zst",
    "csv": "text, fields separated by commas, semicolons or tabs; plain or gz, bz2, xz, zst",
    "tsv": "text, fields separated by tabs; plain or gz, bz2, xz, zst",
    "parquet": "Apache Parquet",
    "arrow": "Arrow IPC, file or stream; Feather",
    "npz": "numpy archive with X and y, or a scipy.sparse matrix",
    "npy": "numpy array, one column of which is the label",
}


@examples("auctor list", "auctor list solvers", "auctor list metrics --json")
def list_parts(
    kind: Annotated[
        PartKind | None, typer.Argument(help="PartKind of parts to list; by default all kinds.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List metrics with their surrogates, losses, penalties, solvers, estimators and more."""
    kinds = list(PartKind) if kind is None else [kind]
    parts_by_kind = {k: parts(k) for k in kinds}
    if as_json:
        echo_json(parts_by_kind)
    else:
        _print(parts_by_kind)


def parts(kind: PartKind) -> list[ListedPart]:
    """All parts of one kind, from the registries and the exports of the packages.

    Examples
    --------
    >>> [part.name for part in parts(PartKind.METRICS)][:4]
    ['auc', 'partial_auc(max_fpr)', 'average_precision', 'prbep']
    """
    return {
        PartKind.METRICS: _metrics,
        PartKind.LOSSES: _losses,
        PartKind.PENALTIES: _penalties,
        PartKind.SOLVERS: _solvers,
        PartKind.LEARNERS: _learners,
        PartKind.ESTIMATORS: _estimators,
        PartKind.MAPS: _maps,
        PartKind.TOOLS: _tools,
        PartKind.FORMATS: _formats,
    }[kind]()


def _metrics() -> list[ListedPart]:
    """Metrics with their surrogates, and short names."""
    from auctor.fit.metric import ALIASES, METRICS

    listed = []
    for name, metric in METRICS.items():
        surrogates = ", ".join(metric.surrogates)
        shown = f"{name}({metric.parameter})" if metric.parameter else name
        listed.append(ListedPart(shown, f"{metric.summary} (surrogates: {surrogates})"))
    return [*listed, *(ListedPart(short, f"short for {name}") for short, name in ALIASES.items())]


def _losses() -> list[ListedPart]:
    """Losses with a name, then those that are passed as objects."""
    from auctor import losses
    from auctor.fit.registry import LOSSES

    named = {name: type(make()) for name, make in LOSSES.items()}
    return _named(named) + _objects(losses, "value_grad", named)


def _penalties() -> list[ListedPart]:
    """Penalties with a name, then those that are passed as objects."""
    from auctor import penalties
    from auctor.fit.registry import PENALTIES
    from auctor.lab import penalties as others

    named = {name: type(make(1.0, None)) for name, make in PENALTIES.items()}
    return _named(named) + _objects(penalties, "prox", named) + _objects(others, "prox", {})


def _solvers() -> list[ListedPart]:
    """Solvers with a name."""
    from auctor.solvers.registry import SOLVERS, solver_class

    return _named({name: solver_class(name) for name in SOLVERS})


def _learners() -> list[ListedPart]:
    """Online learners."""
    from auctor.streaming.registry import learners

    return _named(dict(learners()))


def _estimators() -> list[ListedPart]:
    """Exported classes with ``fit``."""
    import auctor

    rooms = (auctor, auctor.hierarchy)
    exported = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return _named({name: kind for name, kind in exported.items() if hasattr(kind, "fit")})


def _maps() -> list[ListedPart]:
    """Score maps, and feature maps."""
    from auctor import kernel
    from auctor.lab import maps

    return _objects(maps, "at", {}) + _objects(kernel, "transform", {})


def _tools() -> list[ListedPart]:
    """Public functions and estimators of qp, least_squares, completion and covariance."""
    from auctor import covariance
    from auctor.lab import completion, least_squares, qp

    listed = []
    for package in (qp, least_squares, completion, covariance):
        short = package.__name__.removeprefix("auctor.")
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isfunction(thing) or hasattr(thing, "fit") or hasattr(thing, "step"):
                listed.append(ListedPart(f"{short}.{name}", first_line(thing)))
    return listed


def _formats() -> list[ListedPart]:
    """File formats with their endings."""
    from auctor.tables.formats import FORMATS, SUFFIXES

    listed = []
    for name in FORMATS[1:]:
        endings = [ending for ending, format in SUFFIXES.items() if format == name]
        listed.append(
            ListedPart(name, f"{FORMAT_LINES[name]} ({', '.join(endings) or 'any other name'})")
        )
    return listed


def _named(classes: dict[str, type]) -> list[ListedPart]:
    """Parts from classes by name."""
    return [ListedPart(name, first_line(kind)) for name, kind in classes.items()]


def _objects(package: ModuleType, method: str, named: dict[str, type]) -> list[ListedPart]:
    """Exported classes with a method that have no name on the command line."""
    short = package.__name__.removeprefix("auctor.")
    exported = [(name, getattr(package, name)) for name in package.__all__]
    return [
        ListedPart(f"{short}.{name}", first_line(thing))
        for name, thing in exported
        if inspect.isclass(thing)
        and hasattr(thing, method)
        and not thing.__module__.endswith(".base")
        and thing not in named.values()
    ]


def first_line(kind: object) -> str:
    """The first paragraph of a docstring, in one line and without backquotes.

    Examples
    --------
    >>> from auctor.losses import Squared
    >>> first_line(Squared)
    'Squared loss 1/2 r^2.'
    """
    text = inspect.getdoc(kind) or ""
    return text.split("\n\n", 1)[0].replace("\n", " ").replace("`", "")


def _print(parts_by_kind: dict[PartKind, list[ListedPart]]) -> None:
    """Print a table for each kind."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    for position, (kind, listed) in enumerate(parts_by_kind.items()):
        if position:
            console.print()
        console.print(f"[bold]{kind.value}[/bold]: {USES[kind]}")
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column()
        for part in listed:
            table.add_row(f"  {part.name}", part.summary)
        console.print(table, markup=False)
