"""Writing reports: all or nothing."""

from __future__ import annotations

import os
from pathlib import Path

from auctor.core.errors import ParameterError


def check_destination(path: Path, *, who: str) -> Path:
    """Refuse, before any work, a path that cannot be written.

    Examples
    --------
    >>> check_destination(Path("no/such/folder/a.html"), who="auctor demo")
    Traceback (most recent call last):
        ...
    auctor.core.errors.ParameterError: auctor demo needs an existing folder to write to; got no/such/folder. Create it or pass another path.
    """  # noqa: E501
    folder = path.parent
    if not folder.is_dir():
        raise ParameterError(
            f"{who} needs an existing folder to write to; got {folder}. "
            "Create it or pass another path."
        )
    if path.is_dir():
        raise ParameterError(
            f"{who} needs a file to write to; got the folder {path}. Add a file name."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(
            f"{who} needs a folder it may write to; got {folder}. Pass another path."
        )
    return path


def write_text(path: Path, text: str, *, who: str) -> None:
    """Write a file whole: a reader sees the old content or the new, never a part."""
    check_destination(path, who=who)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            with open(temporary, "x", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ParameterError(
            f"{who} needs to write {path}; got {error.strerror or error}. "
            "Free some space or pass another path."
        ) from error
