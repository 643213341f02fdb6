"""``auctor list``: every metric, loss, solver, format and so on, by name."""

from __future__ import annotations

import inspect
from enum import StrEnum
from types import ModuleType
from typing import Annotated, NamedTuple

import typer

from auctor.cli.options import AsJson, examples
from auctor.cli.output import echo_json


class Kind(StrEnum):
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


class Part(NamedTuple):
    """The name of a part and one line about it."""

    name: str
    summary: str


#: How the parts of each kind are used.
USES = {
    Kind.METRICS: "MetricClassifier(metric=..., surrogate=...), default surrogate first",
    Kind.LOSSES: "LinearRegressor(loss=...) by name; or an object in place of any metric or loss",
    Kind.PENALTIES: "penalty=..., by name or as an object",
    Kind.SOLVERS: "solver=..., by name or as an object; 'auto' chooses by the problem",
    Kind.LEARNERS: "auctor stream --learner ..., classes of auctor.online",
    Kind.ESTIMATORS: "classes of auctor with scikit-learn's API",
    Kind.MAPS: "MapProblem(loss, penalty, map): scores that are not linear in the weights",
    Kind.TOOLS: "functions and estimators of auctor.qp, .least_squares, .completion, .covariance",
    Kind.FORMATS: "--format ..., read_table(format=...); 'auto' chooses by the name of the file",
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
        Kind | None, typer.Argument(help="Kind of parts to list; by default all kinds.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List metrics with their surrogates, losses, penalties, solvers, estimators and more."""
    kinds = list(Kind) if kind is None else [kind]
    found = {k: parts(k) for k in kinds}
    if as_json:
        echo_json(found)
    else:
        _print(found)


def parts(kind: Kind) -> list[Part]:
    """All parts of one kind, from the registries and the exports of the packages.

    Examples
    --------
    >>> [part.name for part in parts(Kind.METRICS)][:4]
    ['auc', 'partial_auc(max_fpr)', 'average_precision', 'prbep']
    """
    return {
        Kind.METRICS: _metrics,
        Kind.LOSSES: _losses,
        Kind.PENALTIES: _penalties,
        Kind.SOLVERS: _solvers,
        Kind.LEARNERS: _learners,
        Kind.ESTIMATORS: _estimators,
        Kind.MAPS: _maps,
        Kind.TOOLS: _tools,
        Kind.FORMATS: _formats,
    }[kind]()


def _metrics() -> list[Part]:
    """Metrics with their surrogates, and short names."""
    from auctor.training.metric import ALIASES, METRICS

    listed = []
    for name, metric in METRICS.items():
        surrogates = ", ".join(metric.surrogates)
        shown = f"{name}({metric.parameter})" if metric.parameter else name
        listed.append(Part(shown, f"{metric.summary} (surrogates: {surrogates})"))
    return [*listed, *(Part(short, f"short for {name}") for short, name in ALIASES.items())]


def _losses() -> list[Part]:
    """Losses with a name, then those that are passed as objects."""
    from auctor import losses
    from auctor.training.registry import LOSSES

    named = {name: type(make()) for name, make in LOSSES.items()}
    return _named(named) + _objects(losses, "value_grad", named)


def _penalties() -> list[Part]:
    """Penalties with a name, then those that are passed as objects."""
    from auctor import penalties
    from auctor.training.registry import PENALTIES

    named = {name: type(make(1.0, None)) for name, make in PENALTIES.items()}
    return _named(named) + _objects(penalties, "prox", named)


def _solvers() -> list[Part]:
    """Solvers with a name."""
    from auctor.solvers.registry import SOLVERS, solver_class

    return _named({name: solver_class(name) for name in SOLVERS})


def _learners() -> list[Part]:
    """Online learners."""
    from auctor.online.registry import learners

    return _named(dict(learners()))


def _estimators() -> list[Part]:
    """Exported classes with ``fit``."""
    from auctor import estimators

    exported = {name: getattr(estimators, name) for name in estimators.__all__}
    return _named({name: kind for name, kind in exported.items() if hasattr(kind, "fit")})


def _maps() -> list[Part]:
    """Score maps, and feature maps."""
    from auctor import maps

    return _objects(maps, "at", {}) + _objects(maps, "transform", {})


def _tools() -> list[Part]:
    """Public functions and estimators of qp, least_squares, completion and covariance."""
    from auctor import completion, covariance, least_squares, qp

    listed = []
    for package in (qp, least_squares, completion, covariance):
        short = package.__name__.removeprefix("auctor.")
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isfunction(thing) or hasattr(thing, "fit") or hasattr(thing, "step"):
                listed.append(Part(f"{short}.{name}", first_line(thing)))
    return listed


def _formats() -> list[Part]:
    """File formats with their endings."""
    from auctor.tables.formats import FORMATS, SUFFIXES

    listed = []
    for name in FORMATS[1:]:
        endings = [ending for ending, format in SUFFIXES.items() if format == name]
        listed.append(
            Part(name, f"{FORMAT_LINES[name]} ({', '.join(endings) or 'any other name'})")
        )
    return listed


def _named(classes: dict[str, type]) -> list[Part]:
    """Parts from classes by name."""
    return [Part(name, first_line(kind)) for name, kind in classes.items()]


def _objects(package: ModuleType, method: str, named: dict[str, type]) -> list[Part]:
    """Exported classes with a method that have no name on the command line."""
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


def _print(found: dict[Kind, list[Part]]) -> None:
    """Print a table for each kind."""
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
