"""Writes the line of `auctor.evaluate.progress` to a terminal or a log."""

from __future__ import annotations

import math
import sys
from threading import Timer
from typing import Any, TextIO

from auctor.evaluate.progress import Line

#: Seconds between two updates of a line on a terminal: ten a second look continuous.
LIVE = 0.1
#: Seconds between two lines of a log.
LASTING = 1.0
#: Seconds after which a log without details names the phase that is running, such as reading.
PATIENCE = 2.0


class LastingLines:
    """Writes one line after the other, for logs."""

    pause = LASTING

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        """Write a line."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    note = show

    def close(self) -> None:
        """Do nothing: the lines of a log stay."""


class PhaseLines:
    """Writes one line for each phase that takes longer than ``patience`` seconds, for logs."""

    pause = math.inf  # steps of a fit are not shown

    def __init__(self, stream: TextIO, patience: float | None = None) -> None:
        self._stream, self._patience = stream, PATIENCE if patience is None else patience
        self._timer: Timer | None = None

    def show(self, text: str) -> None:
        """Begin a phase; its line is written when it has taken long enough."""
        self.close()
        if math.isinf(self._patience):
            return
        self._timer = Timer(self._patience, self._write, (text,))
        self._timer.daemon = True
        self._timer.start()

    def note(self, text: str) -> None:
        """Do nothing: a note belongs to the details."""

    def close(self) -> None:
        """End the phase."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _write(self, text: str) -> None:
        self._stream.write(f"{text}\n")
        self._stream.flush()


class PlainLine:
    """Overwrites one line of a terminal."""

    pause = LIVE

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        """Overwrite the line."""
        self._stream.write(f"\r\x1b[K{text}")
        self._stream.flush()

    def note(self, text: str) -> None:
        """Overwrite the line, and continue below it."""
        self.show(f"{text}\n")

    def close(self) -> None:
        """Remove the line."""
        self._stream.write("\r\x1b[K")
        self._stream.flush()


class RichLine:
    """Updates one line of a terminal with rich, which adds a spinner and respects NO_COLOR."""

    pause = LIVE

    def __init__(self, status: Any) -> None:
        self._status = status
        self._started = False

    def show(self, text: str) -> None:
        """Update the line, the first time with a spinner before it."""
        self._status.update(text.replace("[", "\\["))
        if not self._started:
            self._status.start()
            self._started = True

    def note(self, text: str) -> None:
        """Write above the line."""
        self._status.console.print(text, markup=False)

    def close(self) -> None:
        """Remove the line."""
        if self._started:
            self._status.stop()
            self._started = False


def make_line(*, verbose: bool = False, stream: TextIO | None = None) -> Line:
    """A line that is updated on a terminal; elsewhere a log: of every second, or of long phases."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        return LastingLines(stream) if verbose else PhaseLines(stream)
    try:
        from rich.console import Console
    except ImportError:
        return PlainLine(stream)
    return RichLine(Console(file=stream, highlight=False).status(""))
