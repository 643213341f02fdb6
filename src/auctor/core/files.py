"""Writing files atomically: a file is replaced completely or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from auctor.core.errors import ParameterError

AnyPath: TypeAlias = str | os.PathLike[str]


def check_destination(path: AnyPath, *, who: str) -> Path:
    """Return the path, or raise before any work if it cannot be written.

    Examples
    --------
    >>> check_destination("no/such/folder/a.html", who="auctor demo")
    Traceback (most recent call last):
        ...
    auctor.core.errors.ParameterError: auctor demo needs an existing folder to write to; got no/such/folder. Create it or pass another path.
    """  # noqa: E501
    path = Path(path)
    folder = path.parent
    # Is the name valid for this system, also with the suffix of the temporary file?
    try:
        os.lstat(f"{path}.{secrets.token_hex(4)}.tmp.")  # as long as the name of the temporary file
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:  # too long, or with a null byte
        raise ParameterError(
            who,
            needs="a file name that the system accepts",
            got=f"{str(path)[:80]!r}",
            todo="Pass another path.",
        ) from error
    if not folder.is_dir():
        raise ParameterError(
            who,
            needs="an existing folder to write to",
            got=folder,
            todo="Create it or pass another path.",
        )
    if path.is_dir():
        raise ParameterError(
            who, needs="a file to write to", got=f"the folder {path}", todo="Add a file name."
        )
    if path.exists() and not path.is_file():
        raise ParameterError(
            who,
            needs="a regular file to write to",
            got=f"{path}, a device or a pipe",
            todo="Pass another path.",
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(
            who, needs="a folder it may write to", got=folder, todo="Pass another path."
        )
    # The permissions may say yes and the file system no: try.
    try:
        beside = _temporary_name(path)
        beside.touch(exist_ok=False)
        beside.unlink()
    except OSError as error:
        raise _unwritable(path, error, who) from error
    return path


def _temporary_name(path: Path) -> Path:
    """Temporary file in the same folder, which is then moved to ``path``."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def _unwritable(path: Path, error: OSError, who: str) -> ParameterError:
    advice = "Free some space or pass" if error.errno == errno.ENOSPC else "Pass"
    return ParameterError(
        who,
        needs=f"to write {path}",
        got=f"{error.strerror or error}",
        todo=f"{advice} another path.",
    )


@contextmanager
def replacing(path: AnyPath, *, who: str) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` at the end of the block.

    A reader sees the old content or the new one, never a part, even after a crash. If the block
    fails, the temporary file is removed and ``path`` is unchanged.
    """
    path = check_destination(path, who=who)
    temporary = _temporary_name(path)
    try:
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            # Contents first, then the name, then the folder: a crash leaves the old file or the new
            # one.
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error, who) from error
    _sync_folder(path.parent)


def write_bytes(path: AnyPath, data: bytes | Iterable[bytes], *, who: str) -> None:
    """Write a file atomically, from bytes or from an iterable of bytes."""
    with replacing(path, who=who) as file:
        for part in (data,) if isinstance(data, bytes) else data:
            file.write(part)


def write_text(path: AnyPath, text: str, *, who: str) -> None:
    """Write a text file atomically, as UTF-8."""
    write_bytes(path, text.encode(), who=who)


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of `replacing` that a killed process left behind."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]+\.tmp")
    for beside in list(path.parent.iterdir()):
        if name.fullmatch(beside.name):
            beside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Flush the folder to disk, so that the new name survives a crash, where that is supported."""
    if os.name == "posix":
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
