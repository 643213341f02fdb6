"""Writing files atomically: a file is replaced completely or not at all."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from auctor.core.errors import DataError, ParameterError

try:
    import fcntl
except ImportError:  # Windows: files are not locked there
    fcntl = None  # type: ignore[assignment]

AnyPath: TypeAlias = str | os.PathLike[str]


def check_destination(path: AnyPath) -> Path:
    """Return the path, or raise before any work if it cannot be written.

    Examples
    --------
    >>> check_destination("no/such/folder/a.html")
    Traceback (most recent call last):
        ...
    auctor.core.errors.ParameterError: auctor needs an existing folder; got no/such/folder. Create it or pass another.
    """  # noqa: E501
    path = Path(path)
    folder = _target(path).parent
    # Is the name valid for this system, also with the suffix of the temporary file?
    try:
        os.lstat(f"{path}.{secrets.token_hex(4)}.tmp.")  # as long as the name of the temporary file
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:  # too long, or with a null byte
        raise ParameterError(
            f"a file name that the system accepts; got {str(path)[:80]!r}. Pass another path."
        ) from error
    if not folder.is_dir():
        raise ParameterError(f"an existing folder; got {folder}. Create it or pass another.")
    if path.is_dir():
        raise ParameterError(f"a file to write to; got the folder {path}. Add a file name.")
    if path.exists() and not path.is_file():
        raise ParameterError(f"a regular file; got {path}, a device or a pipe. Pass another.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(f"a folder it may write to; got {folder}. Pass another path.")
    # The permissions may say yes and the file system no: try.
    try:
        beside = _temporary_name(_target(path))
        beside.touch(exist_ok=False)
        beside.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    return path


def check_readable(path: AnyPath) -> None:
    """Refuse devices, pipes and sockets, which may have no end, or cannot be read twice."""
    with suppress(FileNotFoundError):  # whoever opens it says so
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise DataError(
                f"a regular file; got {os.fspath(path)}, a device or a pipe. Copy its rows to a "
                "file first."
            )


def _target(path: Path) -> Path:
    """The file that is written: what a symbolic link points to, which may not exist yet."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _temporary_name(path: Path) -> Path:
    """Temporary file in the same folder, which is then moved to ``path``."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def _unwritable(path: Path, error: OSError) -> ParameterError:
    advice = "Free some space or pass" if error.errno == errno.ENOSPC else "Pass"
    return ParameterError(f"to write {path}; got {error.strerror or error}. {advice} another path.")


@contextmanager
def replacing(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` at the end of the block.

    A reader sees the old content or the new one, never a part, even after a crash. If the block
    fails, the temporary file is removed and ``path`` is unchanged.
    """
    path = _target(check_destination(path))
    remove_leftovers(path)
    try:
        file, temporary = _temporary_file(path)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
                if fcntl is None:  # an open file cannot be renamed there
                    file.close()
                # Contents first, then the name, then the folder: a crash leaves the old file or the
                # new one. The file is still locked, so that nobody takes it for a leftover.
                os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error
    _sync_folder(path.parent)


def _temporary_file(path: Path) -> tuple[BinaryIO, Path]:
    """A new locked file beside ``path``, which has its permissions if it exists."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    while True:
        temporary = _temporary_name(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        handle = os.open(temporary, flags, 0o666 if mode is None else 0o600)
        file = os.fdopen(handle, "wb")
        if mode is not None and hasattr(os, "fchmod"):
            with suppress(OSError):  # some file systems have no permissions
                os.fchmod(handle, mode)
        # Another program may have taken it for a leftover before it was locked.
        if _lock(handle, temporary):
            return file, temporary
        file.close()


def _lock(handle: int, path: Path) -> bool:
    """Lock an open file; False if another program has locked or removed it.

    File systems without locks are trusted.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return path.exists() and os.path.samestat(path.stat(), os.fstat(handle))
    except BlockingIOError:
        return False
    except OSError:
        return True


@contextmanager
def sole_writer(path: AnyPath) -> Iterator[None]:
    """Refuse, before any work, to write a file that another program or thread is writing."""
    path = _target(check_destination(path))
    remove_leftovers(path)
    beside = path.with_name(f".{path.name}.lock")
    handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _lock(handle, beside):
            raise DataError(
                f"a checkpoint that no other program writes; got {path}, which another one is "
                "writing. Wait until it is done, or pass another path."
            )
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)
    finally:
        os.close(handle)


def write_bytes(path: AnyPath, data: bytes | Iterable[bytes]) -> None:
    """Write a file atomically, from bytes or from an iterable of bytes."""
    with replacing(path) as file:
        for part in (data,) if isinstance(data, bytes) else data:
            file.write(part)


def write_text(path: AnyPath, text: str) -> None:
    """Write a text file atomically, as UTF-8; what that cannot encode is written as its escape."""
    # Names of files that are not UTF-8 have halves of surrogate pairs.
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of `replacing` that a killed process left behind."""
    if fcntl is None:
        return
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]+\.tmp")
    for beside in [one for one in path.parent.iterdir() if name.fullmatch(one.name)]:
        # A file that can be locked has lost its writer.
        with suppress(OSError):
            handle = os.open(beside, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                beside.unlink()
            finally:
                os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Flush the folder to disk, so that the new name survives a crash, where that is supported."""
    if os.name == "posix":
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
