"""The commands, by name. A command imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import auctor
from auctor.cli.common import epilog
from auctor.cli.compare import compare
from auctor.cli.convert import convert
from auctor.cli.demo import demo
from auctor.cli.evaluate import evaluate
from auctor.cli.inspect import inspect
from auctor.cli.lean import with_sklearn
from auctor.cli.listing import list_parts
from auctor.cli.predict import predict
from auctor.cli.report import report
from auctor.cli.stream import stream
from auctor.cli.train import train

app = typer.Typer(
    name="auctor",
    help="Train linear classifiers on the metric you report, with a certified gap.",
    epilog="Exit codes: 0 done, 2 wrong usage or unusable data (one line says why), 130 Ctrl-C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: A new command is one file and one line here.
COMMANDS: dict[str, Callable[..., None]] = {
    "train": train,
    "predict": predict,
    "evaluate": evaluate,
    "report": report,
    "compare": compare,
    "stream": stream,
    "convert": convert,
    "inspect": inspect,
    "list": list_parts,
    "demo": demo,
}

for _name, _command in COMMANDS.items():
    app.command(_name, epilog=epilog(_command))(with_sklearn(_command))


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"auctor {auctor.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Train linear classifiers on the metric you report, with a certified gap."""
