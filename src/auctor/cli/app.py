"""The commands, by name. A command imports what it needs when it runs, so that help is quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

import auctor
from auctor.cli.demo import demo
from auctor.cli.listing import list_parts
from auctor.cli.stream import stream

app = typer.Typer(
    name="auctor",
    help="Train linear classifiers on the metric you report, with a certified gap.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

#: A new command is one file and one line here.
COMMANDS: dict[str, Callable[..., None]] = {"demo": demo, "list": list_parts, "stream": stream}

for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


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
