"""What a learner knows, in a file that is either whole or refused.

A checkpoint is a zip archive without compression: ``meta.json`` (learner, parameters, classes,
rows, shapes, version), one ``state/<name>.npy`` per array of the state, and ``checksum``, the
SHA-256 of all of it. Nothing in it is executed. It is written beside its destination and moved into
place, so that a crash leaves the old file or the new one.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import auctor
from auctor.core.errors import DataError, ParameterError
from auctor.core.types import Array
from auctor.online.base import OnlineClassifier
from auctor.reports.files import check_destination

FORMAT = 1
_META, _CHECKSUM, _STATE = "meta.json", "checksum", "state/"
#: Kinds of numpy dtypes that hold their values themselves.
_PLAIN = "biufcSU"


def save_checkpoint(path: str | os.PathLike[str], learner: OnlineClassifier, row: int) -> None:
    """Write what a learner knows after ``row`` rows of its stream, whole or not at all."""
    state = getattr(learner, "state_", {})
    arrays = {name: np.asarray(array) for name, array in state.items()}
    classes = getattr(learner, "classes_", None)
    d = getattr(learner, "n_features_in_", None)
    meta = {
        "format": FORMAT,
        "version": auctor.__version__,
        "learner": type(learner).__name__,
        "params": params_of(learner),
        "row": row,
        "rows_seen": int(getattr(learner, "rows_seen_", 0)),
        "skipped_rows": int(getattr(learner, "skipped_rows_", 0)),
        "n_features_in": None if d is None else int(d),
        "classes": None if classes is None else _encoded(classes),
        "arrays": {name: [a.dtype.str, list(a.shape)] for name, a in arrays.items()},
    }
    write_bytes(Path(path), _packed(meta, arrays), who="checkpoint")


def load_checkpoint(path: str | os.PathLike[str], learner: OnlineClassifier) -> int:
    """Give a learner what it knew; returns the rows of the stream that it had read.

    The learner must be of the same class with the same parameters.
    """
    meta, arrays = read_checkpoint(path)
    _check_same(path, meta, learner)
    try:
        row, rows_seen = int(meta["row"]), int(meta["rows_seen"])
        skipped_rows = int(meta["skipped_rows"])
        classes = None if meta["classes"] is None else _decoded(meta["classes"])
        d = meta["n_features_in"]
        d = None if d is None else int(d)
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(path, f"an incomplete description ({error!r})") from error
    learner._forget()
    learner.rows_seen_, learner.skipped_rows_ = rows_seen, skipped_rows
    if classes is not None:
        learner.classes_ = classes
    if d is not None:
        learner.n_features_in_, learner.state_ = d, arrays
    return row


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Description and arrays of a checkpoint, after its checksum was verified."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {info.filename: _stored(archive, info) for info in archive.infolist()}
    except FileNotFoundError as error:
        raise DataError(f"checkpoint needs a file; got {path}. Check the path.") from error
    except (OSError, EOFError, RuntimeError, ValueError, struct.error, zipfile.BadZipFile) as error:
        raise _broken(path, str(error)) from error
    checksum = members.pop(_CHECKSUM, b"").decode("ascii", "replace")
    if checksum != _digest(members):
        raise _broken(path, "a wrong checksum")
    try:
        meta = json.loads(members.pop(_META))
        if meta["format"] > FORMAT:
            raise DataError(
                f"checkpoint needs format {FORMAT} or older; got {meta['format']} in {path}, "
                f"written by auctor {meta['version']}. Update auctor."
            )
        arrays = {name: _array(members[f"{_STATE}{name}.npy"]) for name in meta["arrays"]}
    except DataError:
        raise
    except (KeyError, TypeError, ValueError, EOFError) as error:
        raise _broken(path, f"an incomplete description ({error!r})") from error
    return meta, arrays


def write_bytes(path: Path, data: bytes, *, who: str) -> None:
    """Write a file that survives a crash: the old content or the new, never a part."""
    check_destination(path, who=who)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            with open(temporary, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise ParameterError(
            f"{who} needs to write {path}; got {error.strerror or error}. "
            "Free some space or pass another path."
        ) from error


def remove_leftovers(path: Path) -> None:
    """Remove what a killed process left half-written beside a checkpoint."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _packed(meta: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    members = {_META: json.dumps(meta, allow_nan=False).encode()}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
        members[f"{_STATE}{name}.npy"] = file.getvalue()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {**members, _CHECKSUM: _digest(members).encode()}.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def _digest(members: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(members.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _stored(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member as it is: nothing that could unpack to more than the file holds."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"a compressed member {info.filename!r}")
    return archive.read(info)


def _array(content: bytes) -> Array:
    """An array from NPY bytes; its header must agree with their number."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("an unknown NPY version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in _PLAIN or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError(f"an array of {dtype} and shape {shape} that is not there")
    flat = np.frombuffer(content, dtype, math.prod(shape), file.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


def _check_same(path: Any, meta: dict[str, Any], learner: OnlineClassifier) -> None:
    name = type(learner).__name__
    if meta.get("learner") != name:
        raise ParameterError(
            f"resume needs a checkpoint of {name}; got one of {meta.get('learner')} in {path}. "
            "Pass another path, or that learner."
        )
    now = json.loads(json.dumps(params_of(learner)))
    then = meta.get("params")
    then = then if isinstance(then, dict) else {}
    differs = [
        f"{key} {then.get(key)!r} (now {now.get(key)!r})"
        for key in sorted({*now, *then})
        if now.get(key) != then.get(key)
    ]
    if differs:
        raise ParameterError(
            f"resume needs the parameters of the checkpoint {path}; got {', '.join(differs)}. "
            "Set these, or pass another path."
        )


def params_of(learner: OnlineClassifier) -> dict[str, Any]:
    """Parameters of a learner as JSON."""
    return {name: _plain(value) for name, value in learner.get_params(deep=False).items()}


def _plain(value: Any) -> Any:
    """A parameter as JSON; objects by their class and public attributes, to compare."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        return [_plain(entry) for entry in value.tolist()]
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    parts = {k: _plain(v) for k, v in getattr(value, "__dict__", {}).items() if k[0] != "_"}
    return {"class": type(value).__name__, **parts}


def _encoded(classes: Array) -> dict[str, Any]:
    return {"dtype": classes.dtype.str, "values": classes.tolist()}


def _decoded(classes: dict[str, Any]) -> Array:
    dtype = np.dtype(classes["dtype"])
    values: Array = np.array(classes["values"])
    if dtype.kind == "O":
        return np.array(classes["values"], dtype=object)
    if dtype.kind not in _PLAIN or values.shape != (2,):
        raise ValueError("two classes are missing")
    return values.astype(dtype)


def _broken(path: Any, what: str) -> DataError:
    return DataError(
        f"checkpoint needs a file that is whole; got {what} in {path}. "
        "Start again, or pass another checkpoint."
    )
