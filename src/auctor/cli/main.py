"""Entry point of the ``auctor`` command: every foreseen error is one line and exit code 2."""

from __future__ import annotations

import atexit
import errno
import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from auctor.cli.lean import starting, with_room
from auctor.core.errors import AuctorError
from auctor.core.optional import require

#: What the command line itself imports, from the extra "cli".
LIBRARIES = ("typer", "rich")
#: Names in the messages of the library that mean this command, and those of its options.
READERS = (
    *("read_table", "open_stream", "read_svmlight", "convert", "load", "save", "learn", "resume"),
    *("MetricClassifier", "MetricClassifierCV"),
)
OPTIONS = (
    *("label", "categorical", "missing", "zero_based", "header", "delimiter", "format"),
    *("to", "n_features", "classes", "checkpoint", "resume", "max_seconds", "cv", "grow"),
)
#: Options that the command line calls otherwise, and whole pieces of advice.
RENAMED = {"cv": "folds"}
ADVICE = {
    "or use MetricClassifier.": "or pass --strength with a number.",
    " in the first partial_fit": "",
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
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Threads of numpy's BLAS spin this long for more work (two to the power of it in cycles).
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")
    with starting(), warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            for library in LIBRARIES:
                require(library, extra="cli", who="auctor")
            from auctor.cli.app import COMMANDS, make_app

            asked = [name for name in given[:1] if name in COMMANDS]
            app = make_app(asked or COMMANDS)
            code = app(args=given, prog_name="auctor", standalone_mode=False)
            sys.stdout.flush()
        except AuctorError as error:
            say(as_options(str(error)))
            return 2
        except KeyboardInterrupt:
            return 130
        except OSError as error:
            return _unwritten(error)
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except Exception as error:
            return _usage(error)
    return code if isinstance(code, int) else 0


def _unwritten(error: OSError) -> int:
    """Standard output is full or was closed by its reader, who knows."""
    with suppress(OSError, ValueError):
        # What is left in the buffer must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        full = error.errno == errno.ENOSPC
        advice = "Free some space." if full else "Send it elsewhere."
        say(f"auctor needs to write its output; got {error.strerror or error}. {advice}")
    return 2


def _usage(error: Exception) -> int:
    """Say what is wrong with the arguments; raises what is not about them."""
    if type(error).__name__ == "Abort":  # Ctrl-C in older versions of typer
        return 130
    if type(error).__name__ == "NoArgsIsHelpError":  # asked for nothing: the help was printed
        error.show()  # type: ignore[attr-defined]
        return 2
    if not hasattr(error, "format_message"):
        raise error
    context = getattr(error, "ctx", None)
    command = "auctor" if context is None else context.command_path
    text = error.format_message().strip().rstrip(".")
    say(f"{text}{'' if text.endswith('?') else '.'} See {command} --help.")
    return 2


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    say(f"warning: {as_options(str(message))}")


def as_options(message: str) -> str:
    """What a message says of Python's names, in those of the command line.

    Examples
    --------
    >>> as_options("read_table needs a label. Pass label= with its name.")
    'auctor needs a label. Pass --label with its name.'
    >>> as_options("Pass zero_based=True if counting starts at 0.")
    'Pass --zero-based yes if counting starts at 0.'
    >>> as_options("learn needs another checkpoint. Pass resume=True, or Increase max_iter or tol.")
    'auctor needs another checkpoint. Pass --resume, or Increase --max-iter or --tol.'
    """
    for said, meant in ADVICE.items():
        message = message.replace(said, meant)
    message = re.sub(
        rf"(?<!auctor )\b({'|'.join(READERS)})(?= (needs|uses|takes|leaves|rounds) )",
        "auctor",
        message,
    )
    message = re.sub(r"\b(Increase|Raise|or) (max_iter|max_seconds|tol)\b", _bare, message)
    return re.sub(rf"\b({'|'.join(OPTIONS)})=(?:'([^']*)'|(\w*))", _option, message)


def _bare(found: re.Match[str]) -> str:
    return f"{found[1]} --{found[2].replace('_', '-')}"


def _option(found: re.Match[str]) -> str:
    name = RENAMED.get(found[1], found[1]).replace("_", "-")
    if name in ("resume", "grow"):  # flags
        return f"--no-{name}" if found[3] == "False" else f"--{name}"
    if found[2]:
        return f"--{name} {shlex.quote(found[2])}"
    value = {"True": "yes", "False": "no"}.get(found[3], found[3] or "")
    return f"--{name} {value}".rstrip()


def say(text: str) -> None:
    """One line on the error stream."""
    sys.stderr.write(f"auctor: {' '.join(text.split())}\n")


def process() -> None:
    """The command line as a process: ends at once, without taking thousands of modules apart."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed: nobody listens
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    code = with_room(main)()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    process()
