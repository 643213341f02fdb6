"""Entry point of the ``auctor`` command: every foreseen error is one line and exit code 2."""

from __future__ import annotations

import errno
import os
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from auctor.core.errors import AuctorError
from auctor.core.optional import require

#: What the command line itself imports, from the extra "cli".
LIBRARIES = ("typer", "rich")
_NO_OPTION = re.compile(r"No such option:? '?(--?[\w-]+)")
#: What options are called in other tools, and here.
OTHER_NAMES = {
    "--target": "--label",
    "--target-column": "--label",
    "--y": "--label",
    "--alpha": "--strength",
    "--lambda": "--strength",
    "--C": "--strength",
    "--loss": "--surrogate",
    "--objective": "--metric",
    "--scoring": "--metric",
    "--cv": "--folds",
    "--jobs": "--threads",
    "--n-jobs": "--threads",
    "--output": "--out",
    "-o": "--out",
    "--model": "--out",
    "--pos-label": "--positive",
    "--random-state": "--seed",
    "--sep": "--delimiter",
    "--exclude": "--drop",
    "--ignore": "--drop",
    "--regularization": "--penalty",
    "--normalize": "--standardise",
    "--standardize": "--standardise",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    It is 0 when all went well, 2 for a usage error or data that cannot be used, and 130 after
    Ctrl-C, whether or not there was something to save by then.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.
    """
    _open_closed_streams()
    try:
        for library in LIBRARIES:
            require(library, extra="cli", who="auctor")
    except AuctorError as error:
        sys.stderr.write(f"auctor: {error}\n")
        return 2
    return _run(list(sys.argv[1:] if arguments is None else arguments))


def _run(given: list[str]) -> int:
    """Run a command; every error that was foreseen becomes one line."""
    import typer

    from auctor.cli.app import COMMANDS, make_app
    from auctor.cli.output import say, worded

    command = given[0] if given and given[0] in COMMANDS else None
    with warnings.catch_warnings():
        warnings.showwarning = _WarningLine(command)
        try:
            app = make_app(COMMANDS if command is None else [command])
            code = app(args=given, prog_name="auctor", standalone_mode=False)
            sys.stdout.flush()
        except AuctorError as error:
            say(worded(error, command))
            return 2
        except typer.TyperException as error:
            text = suggested(error.format_message().strip().rstrip("."), command)
            end = "" if text.endswith("?") else "."
            say(f"{text}{end} See {'auctor' if command is None else f'auctor {command}'} --help.")
            return 2
        except (KeyboardInterrupt, typer.Abort):
            return 130
        except OSError as error:
            return _unwritten(error)
        except SystemExit as stop:  # completion ends like this
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return code if isinstance(code, int) else 0


def suggested(text: str, command: str | None) -> str:
    """The text of a usage error, with the option that was probably meant by another tool's name.

    Examples
    --------
    >>> suggested("No such option: --target", "train")
    'No such option: --target (Did you mean --label?)'
    """
    found = _NO_OPTION.match(text)
    meant = OTHER_NAMES.get(found.group(1)) if found else None
    if meant is None or command is None:
        return text
    from auctor.cli.app import function_of
    from auctor.cli.output import has_option

    if not has_option(function_of(command), meant):
        return text
    return f"No such option: {found.group(1) if found else ''} (Did you mean {meant}?)"


def _open_closed_streams() -> None:
    """Give a process whose output streams were closed by the shell a place to write to."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _unwritten(error: OSError) -> int:
    """Standard output is full or was closed by its reader, who knows."""
    from auctor.cli.output import say

    with suppress(OSError, ValueError):
        # What is left in the buffer must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        full = error.errno == errno.ENOSPC
        advice = "Free some space." if full else "Send it elsewhere."
        say(f"auctor needs to write its output; got {error.strerror or error}. {advice}")
    return 2


class _WarningLine:
    """Shows a warning as one line on the error stream, in the words of a command."""

    def __init__(self, command: str | None) -> None:
        self.command = command

    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        from auctor.cli.output import say, worded

        say(f"warning: {worded(message, self.command)}")


if __name__ == "__main__":
    sys.exit(main())
