"""Where the line of `auctor.reports.progress` is written: a terminal, with rich or without."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from auctor.reports.progress import Line

#: Seconds between two updates of a live line.
LIVE = 0.1
#: Seconds between two lines that stay.
LASTING = 1.0


class LastingLines:
    """One line after the other, for logs."""

    pause = LASTING

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        """Write a line."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    note = show

    def close(self) -> None:
        """Nothing is left to clean."""


class PlainLine:
    """A line that is written over and over."""

    pause = LIVE

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, text: str) -> None:
        """Write over the last line."""
        self._stream.write(f"\r\x1b[K{text}")
        self._stream.flush()

    def note(self, text: str) -> None:
        """Write over the last line, and go on below."""
        self.show(f"{text}\n")

    def close(self) -> None:
        """Remove the line."""
        self._stream.write("\r\x1b[K")
        self._stream.flush()


class RichLine:
    """The same with rich, which also shows that something is alive and leaves out colours."""

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


def make_line(*, verbose: bool = False, stream: TextIO | None = None) -> Line | None:
    """A live line on a terminal; elsewhere lines if ``verbose``, otherwise none."""
    stream = sys.stderr if stream is None else stream
    if not stream.isatty():
        return LastingLines(stream) if verbose else None
    try:
        from rich.console import Console
    except ImportError:
        return PlainLine(stream)
    return RichLine(Console(file=stream, highlight=False).status(""))
