"""Checks of the files that a command reads and writes, before any work."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from auctor.core.errors import ParameterError
from auctor.core.files import check_readable


def check_outputs(outs: Iterable[str | Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Refuse to overwrite a file that is also read, and to write two outputs to one file.

    ``None`` and "-" mean no file.
    """
    taken = {_identity(path) for path in inputs if path not in (None, "-")}
    for out in outs:
        if out in (None, "-"):
            continue
        if _identity(out) in taken:
            raise ParameterError(f"another file to write to; got {out} twice. Pass another name.")
        taken.add(_identity(out))


def check_inputs(*paths: str | Path) -> None:
    """Refuse devices and pipes, which may have no end and cannot be read twice; "-" is no file."""
    for path in paths:
        if path != "-":
            check_readable(path)


def check_page(report: Path | None) -> None:
    """Refuse a report whose name does not end in .html or .htm."""
    if report is not None and report.suffix.lower() not in ("", ".html", ".htm"):
        raise ParameterError(
            f"a name ending in .html for the report; got {report}. Write HTML, and print it from a "
            "browser to get another format."
        )


def check_other(data: str, test: str | Path | None) -> None:
    """Refuse a test file that is the training file."""
    if test is not None and data != "-" and _identity(data) == _identity(test):
        raise ParameterError(
            f"a file for `test` other than the training file; got {test} twice. Drop `test`: a "
            "fifth of the rows is then held out."
        )


def _identity(path: Any) -> object:
    """A key that is equal for all paths to the same file, whether it exists or not."""
    try:
        state = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    except ValueError:  # a null byte in the path, which is refused when it is opened
        return path
    return state.st_dev, state.st_ino
