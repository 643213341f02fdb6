"""The commands, by name. Each imports its libraries when it runs, so that help is quick."""

from __future__ import annotations

import importlib
import platform
from collections.abc import Callable, Iterable
from importlib import metadata
from typing import Annotated, Any, cast

import typer
from typer.main import get_command

import auctor
from auctor.cli.options import epilog

#: A new command is one file and one line here: its module and function.
COMMANDS = {
    "train": "train.train",
    "predict": "predict.predict",
    "evaluate": "evaluate.evaluate",
    "report": "report.report",
    "compare": "compare.compare",
    "stream": "stream.stream",
    "forecast": "forecast.forecast",
    "convert": "convert.convert",
    "inspect": "inspect.inspect",
    "list": "listing.list_parts",
    "demo": "demo.demo",
}


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line, with all commands or only those that are needed to run."""
    app = typer.Typer(
        name="auctor",
        help="Train readable models about as accurate as boosted trees, for the metric you report, "
        "with a proof.",
        epilog="Exit codes: 0 success; 2 wrong options or unusable data, with one line that says "
        "why; 130 interrupted by Ctrl-C.",
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(options)
    for name in names:
        function = function_of(name)
        app.command(name, epilog=epilog(function))(function)
    return app


def built(names: Iterable[str] = COMMANDS) -> dict[str, Any]:
    """Commands as typer builds them, by name; by default all."""
    commands: dict[str, Any] = get_command(make_app(names)).commands  # type: ignore[attr-defined]
    return commands


def function_of(name: str) -> Callable[..., None]:
    """The function behind a command."""
    module, function = COMMANDS[name].split(".")
    command = getattr(importlib.import_module(f"auctor.cli.{module}"), function)
    return cast(Callable[..., None], command)


#: Libraries whose versions a bug report needs.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "typer", "pyarrow")
#: Output of `auctor` without a command: the five commands to start with, in the order of use.
FIRST_STEPS = """auctor trains readable models (curves, pairs of columns, points) that are about
as accurate as boosted trees, trained and cut for the number that you report,
with a proof, in seconds.

  auctor demo                              try it on real tables
  auctor compare DATA.csv --label COLUMN   compare it with the usual models
  auctor train DATA.csv --label COLUMN     train, and measure on held-out rows
  auctor predict model.auctor NEW.csv      predict new rows
  auctor inspect model.auctor              show a model's weights and fit

All commands: auctor --help. All options of one: auctor train --help."""


def _print_version(wanted: bool) -> None:
    """Print the versions that a bug report needs, and exit."""
    if wanted:
        typer.echo(f"auctor {auctor.__version__}")
        typer.echo(f"python {platform.python_version()} on {platform.platform()}")
        for library in LIBRARIES:
            try:
                typer.echo(f"{library} {metadata.version(library)}")
            except metadata.PackageNotFoundError:
                typer.echo(f"{library} is not installed")
        raise typer.Exit


def options(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the versions of auctor and of its libraries, and exit.",
        ),
    ] = False,
) -> None:
    """Train linear classifiers on the metric you report, with a certified gap."""
    if ctx.invoked_subcommand is None:
        typer.echo(FIRST_STEPS)
        raise typer.Exit(2)
