"""Entry point of the ``auctor`` command: every foreseen error is one line and exit code 2."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TextIO

from auctor.core.errors import AuctorError
from auctor.core.optional import require

#: What the command line itself imports, from the extra "cli".
LIBRARIES = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            for library in LIBRARIES:
                require(library, extra="cli", who="auctor")
            from auctor.cli.app import app

            app(args=given, prog_name="auctor")
        except AuctorError as error:
            _say(str(error))
            return 2
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _say(f"warning: {message}")


def _say(text: str) -> None:
    """One line on the error stream."""
    sys.stderr.write(f"auctor: {' '.join(text.split())}\n")


if __name__ == "__main__":
    sys.exit(main())
