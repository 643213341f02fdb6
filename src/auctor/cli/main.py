"""Entry point of the ``auctor`` command: expected errors are one line and exit code 2."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from auctor.core.errors import AuctorError, ParameterError, speaking
from auctor.core.optional import require

if TYPE_CHECKING:
    from typer import TyperException

#: Libraries of the extra "cli", which the command line needs.
LIBRARIES = ("typer", "rich")
#: Seconds after which a dropped interrupt is sent again.
PAUSE = 0.01
#: Options of other tools, and those of the same meaning here.
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

    The code is 0 for success, 2 for wrong options or unusable data, and 130 after Ctrl-C or
    SIGTERM, even if a model was saved.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; by default those of the process.
    """
    _open_closed_streams()
    try:
        with speaking("auctor"):
            for library in LIBRARIES:
                require(library, extra="cli")
    except AuctorError as error:
        sys.stderr.write(f"auctor: {error}\n")
        return 2
    with _terminated_as_by_ctrl_c() as received:
        code = 130
        try:
            code = _run(list(sys.argv[1:] if arguments is None else arguments))
        except KeyboardInterrupt:  # before the command began, or after it ended
            pass
        except ImportError:
            # An interrupt while a library loads its compiled part ends as "initialization failed".
            if not received:
                raise
        return 130 if received else code


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[list[int]]:
    """Let SIGTERM do what Ctrl-C does: save what there is, and remove temporary files.

    Gives a list of the signals that have come.

    Python drops an interrupt that falls into a destructor or into a callback of an import, with a
    traceback: it is sent once more.
    """
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    received: list[int] = []
    if not ours:
        yield received
        return
    hook = sys.unraisablehook
    waiting: list[threading.Timer] = []

    def again(dropped: sys.UnraisableHookArgs) -> None:
        """Send the signal a moment later, outside this function."""
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            waiting.append(threading.Timer(PAUSE, os.kill, (os.getpid(), signal.SIGTERM)))
            waiting[-1].start()
        else:
            hook(dropped)

    def interrupt(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    sys.unraisablehook = again
    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    finally:
        for timer in waiting:
            timer.cancel()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        sys.unraisablehook = hook


def _run(arguments: list[str]) -> int:
    """Run a command; expected errors become one line on the error stream."""
    import typer

    from auctor.cli.app import COMMANDS, make_app
    from auctor.cli.output import INTERRUPTED, say, worded

    # Only the command that runs is built; help and usage errors need all of them.
    command = arguments[0] if arguments and arguments[0] in COMMANDS else None
    with warnings.catch_warnings(), speaking(_called(command)):
        warnings.showwarning = _WarningLine(command)
        try:
            app = make_app(COMMANDS if command is None else [command])
            code = app(args=arguments, prog_name="auctor", standalone_mode=False)
            sys.stdout.flush()
        except AuctorError as error:
            say(worded(error, command))
            return 2
        except typer.TyperException as error:
            say(usage_error(error, command))
            return 2
        except (KeyboardInterrupt, typer.Abort):
            return INTERRUPTED
        except OSError as error:
            return _failed_output(error)
        except SystemExit as stop:  # shell completion exits like this
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return code if isinstance(code, int) else 0


def _called(command: str | None) -> str:
    return "auctor" if command is None else f"auctor {command}"


def usage_error(error: TyperException, command: str | None) -> str:
    """The text of a mistake in the options: which one, and where to read about them.

    For an option that does not exist it names those that may be meant: the one with the same
    meaning as the option of another tool, or those of a similar name.
    """
    help_page = f"See {_called(command)} --help."
    # No such option; typer has no public class for it.
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):
        likely = _same_meaning(error.option_name, command) or error.possibilities or ()
        hint = f"Did you mean {' or '.join(sorted(likely))}? " if likely else ""
        unknown = f"has no option {error.option_name}"
        return str(ParameterError(does=unknown, todo=f"{hint}{help_page}"))
    text = error.format_message().strip().rstrip(".").replace("Value error, ", "")
    from auctor.core.checks import meant

    if choice := re.search(r"'([^']*)' is not one of (.*)", text):
        names = re.findall(r"'([^']*)'", choice[2])
        text = f"{text}. {meant(choice[1], names)}".rstrip(" .")
    return f"{text}{'' if text.endswith('?') else '.'} {help_page}"


def _same_meaning(typed: str, command: str | None) -> list[str]:
    """The option of a command that another tool calls ``typed``, in a list; empty without one."""
    from auctor.cli.app import function_of
    from auctor.cli.output import has_option

    meant = OTHER_NAMES.get(typed)
    if meant is None or command is None or not has_option(function_of(command), meant):
        return []
    return [meant]


def _open_closed_streams() -> None:
    """Replace output streams that the shell has closed (None) by the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _failed_output(error: OSError) -> int:
    """Report that standard output cannot be written, unless its reader closed it; the exit code."""
    from auctor.cli.output import say

    with suppress(OSError, ValueError):
        # Python writes the rest of its buffer at exit: send it to the null device.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        full = error.errno == errno.ENOSPC
        advice = "Free some space." if full else "Write to another file."
        got = error.strerror or error
        say(str(AuctorError("to write its output", got=got, todo=advice, part="auctor")))
    return 2


class _WarningLine:
    """Prints a warning as one line on the error stream; it names options of the command."""

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
        from auctor.cli.output import say_warning

        say_warning(message, self.command)


if __name__ == "__main__":
    sys.exit(main())
