"""Shards: a directory of binary files of rows, which are read without parsing.

A shard is a file of little-endian arrays, each at a multiple of 64 bytes::

    "AUCTORSH"  version (4 bytes)  length of the header (4 bytes)  header (JSON)  arrays

The header holds the names, types, lengths and offsets of the arrays, the shape, the column names
and the CRC-32 of everything after it. Sparse shards hold ``indptr``, ``indices`` and, unless all
entries are one, ``values`` (CSR); dense ones hold ``X``. Every shard holds ``y``, and ``weight``
if there are weights.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from auctor.core.errors import DataError
from auctor.core.files import AnyPath, replacing, write_text
from auctor.core.types import Array, FloatArray, Target
from auctor.data.dense import Dense
from auctor.data.sparse import Sparse

MAGIC = b"AUCTORSH"
#: Version of the layout of a shard; other versions are an error.
VERSION = 1
#: Arrays start at multiples of this many bytes: one cache line, aligned for vector loads.
ALIGNMENT = 64
#: Largest header in bytes, 256 MB: enough for the names of a million columns. A larger length means
#: a damaged file.
LARGEST_HEADER = 1 << 28
#: Most entries of one shard: below 2^31, so that 32-bit indices are enough.
MOST_ENTRIES = (1 << 31) - 1
#: Bytes per shard when a table is cut into shards, 32 MB: large enough for sequential reads at full
#: speed, small enough for several buffers in memory. Set by hand.
SHARD_BYTES = 32 << 20
ENDING = ".shard"
#: File in the folder of the shards that holds what all of them share.
NOTES = "notes.json"


class StoredArray(NamedTuple):
    """An array of a shard: its type, number of entries, and offset in bytes after the header."""

    dtype: str
    size: int
    offset: int

    @property
    def n_bytes(self) -> int:
        """Length in bytes."""
        return int(np.dtype(self.dtype).itemsize) * self.size


@dataclass(frozen=True)
class ShardHeader:
    """The header of a shard: shape, arrays, column names, checksum, and where arrays begin."""

    path: Path
    shape: tuple[int, int]
    parts: dict[str, StoredArray]
    names: tuple[str, ...] | None
    checksum: int
    begin: int
    n_bytes: int

    @property
    def sparse(self) -> bool:
        """Whether the rows are stored as CSR."""
        return "indptr" in self.parts

    @property
    def n_entries(self) -> int:
        """Number of stored entries."""
        return self.parts["indices" if self.sparse else "X"].size

    def data(self, payload: Array) -> Dense | Sparse:
        """The rows in the bytes that follow the header; nothing is copied."""
        arrays = {name: self._array(payload, part) for name, part in self.parts.items()}
        weight = arrays.get("weight")
        y = arrays["y"].astype(np.float64)
        target = Target(y, None if weight is None else weight.astype(np.float64))
        if not self.sparse:
            return Dense(arrays["X"].reshape(self.shape), target, n_threads=1)
        values = arrays.get("values")
        if values is None:
            values = np.ones(arrays["indices"].size, dtype=np.float32)
        # Set after construction: the constructor would copy arrays that are views of a buffer.
        matrix = csr_array(self.shape, dtype=values.dtype)
        matrix.data, matrix.indices, matrix.indptr = values, arrays["indices"], arrays["indptr"]
        return Sparse(matrix, target, n_threads=1)

    @staticmethod
    def _array(payload: Array, part: StoredArray) -> Array:
        piece = payload[part.offset : part.offset + part.n_bytes]
        return piece.view(np.dtype(part.dtype))


def read_header(path: AnyPath, *, who: str = "open_shards") -> ShardHeader:
    """The header of a shard, checked against its file."""
    path = Path(path)
    with path.open("rb") as file:
        start = file.read(16)
        if len(start) < 16 or start[:8] != MAGIC:
            raise _broken(who, path, "another kind of file")
        version, length = struct.unpack("<II", start[8:])
        if version != VERSION:
            raise DataError(
                who,
                needs=f"shards of version {VERSION}",
                got=f"version {version} in {path.name}",
                todo="Convert the table again with this version of auctor.",
            )
        if length > LARGEST_HEADER:
            raise _broken(who, path, "a damaged header")
        text = file.read(length)
    try:
        fields = json.loads(text)
        parts = {name: StoredArray(*part) for name, part in fields["parts"].items()}
        names = None if fields["names"] is None else tuple(fields["names"])
        shape = (int(fields["shape"][0]), int(fields["shape"][1]))
        header = ShardHeader(
            path, shape, parts, names, int(fields["checksum"]), fields["begin"], fields["n_bytes"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(who, path, "a damaged header") from error
    if path.stat().st_size != header.begin + header.n_bytes:
        raise _broken(who, path, f"{path.stat().st_size} bytes instead of "
                      f"{header.begin + header.n_bytes}: it is truncated")  # fmt: skip
    return header


def check_payload(header: ShardHeader, payload: Array, *, who: str = "open_shards") -> None:
    """Raise `DataError` if the bytes do not have the header's checksum."""
    if zlib.crc32(payload.data) != header.checksum:
        raise _broken(who, header.path, "bytes that differ from those written (checksum)")


def _broken(who: str, path: Path, what: str) -> DataError:
    """The error for a damaged shard."""
    return DataError(
        who,
        needs="complete shards",
        got=f"{what} in {path.name}",
        todo="Convert the table again.",
    )


def write_shard(
    path: AnyPath,
    X: Any,
    y: Array,
    weight: Array | None = None,
    names: Iterable[str] | None = None,
) -> None:
    """Write rows as a shard; the file appears only when it is complete.

    Parameters
    ----------
    path : path
    X : (n, d) array or CSR matrix
        float32 is kept; other types become float64. Values that are all 1 are not stored.
    y : (n,) array
        Encoded labels or targets.
    weight : (n,) array, optional
    names : iterable of str, optional
        Names of the columns.
    """
    arrays: dict[str, Array] = {}
    matrix: Any = X
    if issparse(X):
        X = matrix.tocsr()
        X.sum_duplicates()
        if X.nnz > MOST_ENTRIES:
            raise DataError(
                "write_shard",
                needs=f"at most {MOST_ENTRIES} entries in a shard",
                got=f"{X.nnz}",
                todo="Write fewer rows into each shard.",
            )
        # CSR with 32-bit indices; values that are all one are not stored.
        arrays["indptr"] = X.indptr.astype("<i4")
        arrays["indices"] = X.indices.astype("<i4")
        if not (X.data == 1.0).all():
            arrays["values"] = _little(X.data)
    else:
        X = np.ascontiguousarray(X)
        arrays["X"] = _little(X).reshape(-1)
    arrays["y"] = compact(np.asarray(y, dtype=np.float64))
    if weight is not None:
        arrays["weight"] = np.asarray(weight, dtype="<f8")
    # Offsets of the arrays, each padded to the alignment; the checksum includes the padding.
    parts, offset = {}, 0
    for name, array in arrays.items():
        parts[name] = StoredArray(array.dtype.str, int(array.size), offset)
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    pieces = [_padded(array.tobytes()) for array in arrays.values()]
    checksum = 0
    for piece in pieces:
        checksum = zlib.crc32(piece, checksum)
    fields: dict[str, Any] = {
        "shape": list(X.shape),
        "parts": parts,
        "names": None if names is None else list(names),
        "checksum": checksum,
        "n_bytes": offset,
        "begin": 0,
    }
    text = _header_text(fields)
    with replacing(path, who="write_shard") as file:
        file.write(MAGIC + struct.pack("<II", VERSION, len(text)) + text)
        for piece in pieces:
            file.write(piece)


def _header_text(fields: dict[str, Any]) -> bytes:
    """The header as JSON, padded with spaces so that the arrays start at a multiple of 64."""
    for _ in range(3):  # "begin" is part of the text, and its digits change the text's length
        length = len(json.dumps(fields).encode())
        fields["begin"] = -(-(16 + length) // ALIGNMENT) * ALIGNMENT
    return json.dumps(fields).encode().ljust(fields["begin"] - 16)


def _padded(raw: bytes) -> bytes:
    return raw.ljust(-(-len(raw) // ALIGNMENT) * ALIGNMENT, b"\0")


def _little(values: Array) -> Array:
    """Values as little-endian float32 or float64."""
    return values.astype("<f4" if values.dtype == np.float32 else "<f8", copy=False)


def compact(y: FloatArray) -> Array:
    """Targets as int8 if all are small integers, such as -1 and +1, otherwise as float64."""
    with np.errstate(invalid="ignore"):  # of NaN and numbers beyond 2^31, which differ below
        small = y.astype(np.int8)
    return small if np.array_equal(small, y) else y.astype("<f8", copy=False)


@dataclass(frozen=True)
class ShardNotes:
    """What all shards of a folder share: the number of columns, and the labels of the codes.

    Without labels, the targets are numbers.
    """

    n_columns: int
    labels: tuple[Any, ...] = ()

    def encoded(self, y: FloatArray, positive: Any = None) -> FloatArray:
        """Codes of two labels as -1 and +1; see `_positive` for the default positive label."""
        if not self.labels:
            return y
        if len(self.labels) != 2:
            raise DataError(
                "open_shards",
                needs="rows of two classes",
                got=f"{len(self.labels)}: {self.labels[:4]}",
                todo="Keep two classes, or merge the others into one.",
            )
        code = self._positive(y, positive)
        return np.where(y == code, 1.0, -1.0)

    def pair(self, y: FloatArray, positive: Any = None) -> tuple[Any, Any]:
        """The negative and the positive label."""
        code = self._positive(y, positive)
        return self.labels[1 - code], self.labels[code]

    def _positive(self, y: FloatArray, positive: Any) -> int:
        """Code of the positive label: the given one, a usual one (1, "yes"), or the rarer one."""
        if positive is not None:
            if positive not in self.labels:
                raise DataError(
                    "open_shards",
                    needs=f"one of the labels {self.labels}",
                    got=repr(positive),
                    todo="Pass {option} exactly as in the table.",
                    option="positive",
                )
            return self.labels.index(positive)
        for usual in (1, True, "1", "true", "yes"):
            if usual in self.labels:
                return self.labels.index(usual)
        return int(np.count_nonzero(y == 1.0) < np.count_nonzero(y == 0.0))


def write_notes(folder: AnyPath, notes: ShardNotes) -> None:
    """Write the notes into the folder of the shards."""
    fields = {"version": VERSION, "n_columns": notes.n_columns, "labels": list(notes.labels)}
    write_text(Path(folder) / NOTES, json.dumps(fields), who="write_shards")


def read_notes(folder: Path, who: str) -> ShardNotes | None:
    """The notes of a folder of shards, or None if it has none."""
    path = folder / NOTES
    if not path.exists():
        return None
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return ShardNotes(int(fields["n_columns"]), tuple(fields["labels"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(who, path, "a damaged file") from error


@dataclass(frozen=True)
class ShardFolder:
    """The shards of a directory, in the order of their names."""

    path: Path
    headers: tuple[ShardHeader, ...]
    notes: ShardNotes

    @property
    def n_columns(self) -> int:
        """Number of columns, the same for all shards."""
        return self.headers[0].shape[1]

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, or None."""
        return self.headers[0].names


def open_folder(path: AnyPath, *, who: str = "open_shards") -> ShardFolder:
    """All shards of a directory; an error unless all have the same columns and names."""
    folder = Path(path)
    found = sorted(folder.glob(f"*{ENDING}")) if folder.is_dir() else []
    if not found:
        raise DataError(
            who,
            needs="a folder with shards",
            got=f"{folder}",
            todo="Make one with auctor convert table.parquet folder.shards.",
        )
    headers = tuple(read_header(one, who=who) for one in found)
    notes = read_notes(folder, who) or ShardNotes(headers[0].shape[1])
    # A sparse shard may lack trailing columns: all get the number of columns in the notes.
    headers = tuple(
        replace(one, shape=(one.shape[0], notes.n_columns)) if one.sparse else one
        for one in headers
    )
    first = headers[0]
    for header in headers:
        if header.shape[1] != first.shape[1] or header.names != first.names:
            raise DataError(
                who,
                needs=f"the {first.shape[1]} columns of {first.path.name} in every shard",
                got=f"{header.shape[1]} columns, or other names, in {header.path.name}",
                todo="Convert the parts of a table together.",
            )
    return ShardFolder(folder, headers, notes)


def cut_rows(X: Any, n_bytes: int = SHARD_BYTES) -> Iterator[slice]:
    """Slices of rows of about ``n_bytes`` bytes each."""
    n = X.shape[0]
    parts: Any = X
    total = parts.data.nbytes + parts.indices.nbytes if issparse(X) else parts.nbytes
    step = max(1, int(n * n_bytes / max(1, total)))
    for low in range(0, n, step):
        yield slice(low, min(n, low + step))


def shard_path(folder: AnyPath, number: int) -> str:
    """Path of the shard with this number."""
    return os.path.join(folder, f"{number:06d}{ENDING}")
