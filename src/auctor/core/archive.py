"""A description and named arrays in one file that is read completely or refused.

The file is a zip archive without compression: ``meta.json``, one ``arrays/<name>.npy`` per array,
and ``checksum``, the SHA-256 of all of it. Reading executes nothing from the file, and needs a few
times its size of memory.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from auctor.core.errors import DataError
from auctor.core.files import AnyPath, replacing
from auctor.core.types import Array
from auctor.core.version import __version__

#: Names of the description and of the checksum in the archive.
_META = "meta.json"
_CHECKSUM = "checksum"
#: Folder of the arrays in each kind of file.
FOLDERS = {"model": "arrays", "checkpoint": "state", "fit checkpoint": "points"}
#: What to do with a file of an older format.
OLDER = {
    "model": "Train the model again, or load it with that version.",
    "checkpoint": "Start again without it.",
    "fit checkpoint": "Start again without it.",
}
#: An NPY header of format 1.0 as numpy writes it, for types whose values are stored in place.
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufcSU]\d{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18},)?|\d{1,18}(?:, \d{1,18})+)\), \} *\n"
)


def write_archive(
    path: AnyPath, meta: dict[str, Any], arrays: dict[str, Array], *, kind: str = "model"
) -> None:
    """Write a description, which includes its ``format``, and arrays to a file.

    The description must be JSON without NaN; ``kind``, ``version`` and ``arrays`` are added to it.
    """
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    meta = {**meta, "kind": kind, "version": __version__, "arrays": shapes}
    text = json.dumps(meta, allow_nan=False, ensure_ascii=False)
    members = {_META: text.encode()}
    for name, array in arrays.items():
        content = io.BytesIO()
        np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
        members[f"{FOLDERS[kind]}/{name}.npy"] = content.getvalue()
    with replacing(path) as file:
        write_members(file, members)


def read_archive(
    path: AnyPath, *, format: int, kind: str = "model"
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Description and arrays of a file, after its checksum was verified.

    Refuses formats other than ``format``.
    """
    try:
        members = _members(Path(path))
        meta = parse_json(members.get(_META, b""))
        _check_format(meta, path, format, kind)
        if members.pop(_CHECKSUM, b"") != _digest(members):
            raise ValueError("a wrong checksum")
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"a file; got {path}. Check the path.") from error
    except (OSError, EOFError, RuntimeError, NotImplementedError, MemoryError) as error:
        raise broken(path, str(error)) from error
    except zipfile.BadZipFile as error:
        raise broken(path, "a file of another kind, or a part of one,") from error
    except (ValueError, struct.error) as error:
        raise broken(path, str(error)) from error
    # The checksum is right; the description must also agree with the arrays.
    try:
        del members[_META]
        names = {name: f"{FOLDERS[kind]}/{name}.npy" for name in meta["arrays"]}
        if set(names.values()) != members.keys():
            raise ValueError("other arrays than those described")
        arrays = {name: _array(members.pop(member)) for name, member in names.items()}
        for name, array in arrays.items():
            if meta["arrays"][name] != [array.dtype.str, list(array.shape)]:
                raise ValueError(f"an array {name} of {array.dtype} and shape {array.shape}")
    except (KeyError, TypeError, ValueError, MemoryError) as error:
        raise broken(path, f"an incomplete description ({error!r})") from error
    return meta, arrays


def write_members(file: BinaryIO, members: dict[str, bytes]) -> None:
    """Write the members of an archive, and their checksum; equal members make equal files."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {**members, _CHECKSUM: _digest(members)}.items():
            archive.writestr(zipfile.ZipInfo(name), content)


def broken(path: AnyPath, what: str) -> DataError:
    """The error for a damaged file; ``what`` says what was found in it."""
    what = " ".join(what.split())[:300]
    return DataError(
        f"a whole file that auctor wrote; got {what} in {path}. Write it again, or pass another."
    )


def parse_json(content: bytes) -> Any:
    """Strict JSON: no NaN or infinity, no repeated key, only text that UTF-8 can encode."""
    try:
        value = json.loads(
            content.decode(),
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
        # Lone surrogates are valid in JSON escapes but cannot be encoded.
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("a description that is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"an incomplete description ({error})") from error
    return value


def _check_format(meta: Any, path: AnyPath, known: int, kind: str) -> None:
    version = meta.get("format") if isinstance(meta, dict) else None
    if type(version) is not int or version < 1 or not isinstance(meta.get("version"), str):
        raise ValueError("an incomplete description (no format and version)")
    # A description without a kind is that of a checkpoint.
    of = meta.get("kind", "checkpoint")
    if of != kind:
        raise DataError(f"a {kind}; got a {str(of)[:40]} in {path}. Pass another file.")
    if version != known:
        raise DataError(
            f"format {known}",
            got=f"{version} in {path}, written by auctor {meta['version'][:40]}, while this "
            f"is auctor {__version__}",
            todo="Update auctor." if version > known else OLDER[kind],
        )


def _members(path: Path) -> dict[str, bytes]:
    """Contents by name; refuses compressed, repeated or overlapping members."""
    if path.exists() and not path.is_file():
        raise ValueError("a folder or a device")
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
        names = {info.filename for info in infos}
        for info in infos:
            if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
                raise ValueError(f"a compressed member {info.filename[:80]!r}")
        # zipfile cuts a name at a null byte; the name in the archive must be the whole one.
        if len(names) < len(infos) or any(info.orig_filename not in names for info in infos):
            raise ValueError("two members of one name")
        # Members that share bytes could together be much larger than the file.
        if sum(info.file_size for info in infos) > path.stat().st_size:
            raise ValueError("members that overlap")
        return {info.filename: archive.read(info) for info in infos}


def _digest(members: dict[str, bytes]) -> bytes:
    digest = hashlib.sha256()
    for name, content in sorted(members.items()):
        # The length of each member separates it from the next one.
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest().encode()


def _array(content: bytes) -> Array:
    """An array from NPY bytes; the header must agree with the number of bytes."""
    start = len(_MAGIC) + 2
    stop = start + int.from_bytes(content[len(_MAGIC) : start], "little")
    match = _HEADER.fullmatch(content, start, stop)
    if not content.startswith(_MAGIC) or match is None:
        raise ValueError("a malformed array header")
    descr, fortran, sizes = (part.decode() for part in match.groups())
    # numpy writes shapes as "3," or "3, 4".
    dtype, shape = np.dtype(descr), tuple(int(size) for size in sizes.split(",") if size.strip())
    if math.prod(shape) * dtype.itemsize != len(content) - stop:
        raise ValueError(f"an array of {dtype} and shape {shape} with missing or extra bytes")
    flat = np.frombuffer(content, dtype, math.prod(shape), stop)
    if dtype.kind == "b" and (flat.view(np.uint8) > 1).any():
        raise ValueError("booleans other than 0 and 1")
    # A Unicode array holds 4-byte code points; surrogates and numbers above 0x10FFFF are invalid.
    if dtype.kind == "U":
        codes = flat.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise ValueError("invalid Unicode text")
    return flat.reshape(shape, order="F" if fortran == "True" else "C").copy(order="K")


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a repeated key")
    return value
