"""The options of every command, from the commands themselves."""

import inspect
from typing import Any

from auctor.cli.app import built


def make_page() -> str:
    """One section per command."""
    out = [
        "# Command options",
        "What `auctor COMMAND --help` says, for every command. [Command line](cli.md) has the "
        "way to work with them.",
    ]
    for name, command in sorted(built().items()):
        out += [f"## auctor {name}", _usage(command)]
        rows = [_row(parameter) for parameter in command.params if parameter.name != "help"]
        if rows:
            out.append("\n".join(["| | default | |", "|---|---|---|", *rows]))
    return "\n\n".join(out) + "\n"


def _usage(command: Any) -> str:
    """The help text, then the examples as a shell would have them."""
    text = inspect.cleandoc(command.help or "").replace("\f", "")
    lines = [line for line in (command.epilog or "").splitlines() if line.startswith("auctor ")]
    return text + ("\n\n```sh\n" + "\n".join(lines) + "\n```" if lines else "")


def _row(parameter: Any) -> str:
    names = parameter.opts + parameter.secondary_opts
    if parameter.param_type_name == "argument":
        names = [parameter.metavar or parameter.name.upper()]
    default = parameter.default
    shown = "" if default in (None, [], ()) or callable(default) else f"`{_plain(default)}`"
    text = (getattr(parameter, "help", None) or "").replace("|", "\\|").replace("\n", " ")
    return f"| {', '.join(f'`{name}`' for name in names)} | {shown} | {text} |"


def _plain(default: Any) -> str:
    """A default as one would type it."""
    value = getattr(default, "value", default)
    return (
        {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    )
