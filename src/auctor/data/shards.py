"""Shards: a folder of binary files of rows, which are read without parsing.

The folder holds a manifest and shards ``000000.shard``, ``000001.shard``, ... The manifest is a
line ``AUCTOR SHARDS 2 <SHA-256 of the rest>`` and JSON: the number of columns, their names, the
labels, the storage, and one entry for every shard (`ShardEntry`).

A shard has no header. It is a sequence of little-endian arrays, each padded with zeros to a
multiple of 64 bytes: ``indptr``, ``indices`` and, unless all entries are one, ``values`` (CSR rows)
or ``X`` (dense rows), or ``words`` (codes of bins, one byte per entry, eight columns in a word);
then ``y``, and ``weight`` if there are weights. Where an array begins is
computed from the manifest, and the checksum in the manifest covers every byte of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy.sparse import csr_array

from auctor.core.errors import DataError, speaks_as
from auctor.core.files import AnyPath
from auctor.core.types import Array, FloatArray, Target
from auctor.data.binned import unpack
from auctor.data.codebook import IN_WORD
from auctor.data.dense import Dense
from auctor.data.sparse import Sparse, unsigned
from auctor.kernels.linalg.rows import first_bad_row

MANIFEST = "manifest"
ENDING = ".shard"
MAGIC = b"AUCTOR SHARDS "
#: Version of the folder's layout; other versions are refused.
VERSION = 2
#: Storages of the rows.
SPARSE, DENSE, CODED = "sparse", "dense", "coded"
#: Types of the entries of X and of the targets.
VALUE_TYPES, TARGET_TYPES = ("<f4", "<f8"), ("|i1", "<f8")
#: Type of the words of codes.
WORD_TYPE = "<u8"
#: Arrays start at multiples of this many bytes: one cache line, aligned for vector loads.
ALIGNMENT = 64
#: Largest manifest in bytes, 256 MB: three million shards, or the names of ten million columns.
LARGEST_MANIFEST = 1 << 28
#: Most entries of one shard, and most columns: below 2^31, so that 32-bit indices are enough.
MOST_ENTRIES = (1 << 31) - 1


class ShardEntry(NamedTuple):
    """What the manifest says about a shard.

    Parameters
    ----------
    rows, entries : int
        Number of rows, and of stored entries of X.
    values : str
        Type of the entries of X; empty if all of them are one and none is stored.
    y : str
        Type of the targets.
    weighted : bool
        Whether the rows have weights.
    checksum : int
        CRC-32 of the file.
    """

    rows: int
    entries: int
    values: str
    y: str
    weighted: bool
    checksum: int


@dataclass(frozen=True)
class Shard:
    """A shard that the manifest lists: its file, and where its arrays lie."""

    path: Path
    n_columns: int
    storage: str
    entry: ShardEntry

    @property
    def sparse(self) -> bool:
        """Whether the rows are stored as CSR."""
        return self.storage == SPARSE

    @cached_property
    def parts(self) -> dict[str, tuple[str, int, int]]:
        """Type, number of entries and offset in bytes of every array."""
        rows, entries, values, y, weighted, _ = self.entry
        if self.sparse:
            arrays = [("indptr", "<i4", rows + 1), ("indices", "<i4", entries)]
            arrays += [("values", values, entries)] if values else []
        elif self.storage == CODED:
            arrays = [("words", values, entries)]
        else:
            arrays = [("X", values, entries)]
        arrays += [("y", y, rows)] + ([("weight", "<f8", rows)] if weighted else [])
        parts, offset = {}, 0
        for name, dtype, size in arrays:
            parts[name] = (dtype, size, offset)
            offset += padded_size(np.dtype(dtype).itemsize * size)
        return parts

    @cached_property
    def n_bytes(self) -> int:
        """Size of the file."""
        dtype, size, offset = list(self.parts.values())[-1]
        return offset + padded_size(np.dtype(dtype).itemsize * size)

    def array(self, payload: Array, name: str) -> Array:
        """A view of one array in the bytes of the file."""
        dtype, size, offset = self.parts[name]
        kind = np.dtype(dtype)
        return payload[offset : offset + kind.itemsize * size].view(kind)

    def data(self, payload: Array) -> Dense | Sparse:
        """The rows in the bytes of the file; X is not copied."""
        y = self.array(payload, "y").astype(np.float64)
        weight = self.array(payload, "weight") if self.entry.weighted else None
        target = Target(y, None if weight is None else weight.astype(np.float64))
        kind = Sparse if self.sparse else Dense
        return kind(self.matrix(payload), target, n_threads=1)

    def words(self, payload: Array) -> Array:
        """The codes of coded rows, (words, rows)."""
        lines = self.array(payload, "words").reshape(-1, self.entry.rows)
        return lines.astype(np.uint64, copy=False)

    def matrix(self, payload: Array) -> Any:
        """The rows in the bytes of the file: an array or a CSR matrix; of codes, a copy."""
        if self.storage == CODED:
            return unpack(self.words(payload), self.n_columns).T
        if not self.sparse:
            return self.array(payload, "X").reshape(self.entry.rows, self.n_columns)
        indptr, indices = self.array(payload, "indptr"), self.array(payload, "indices")
        if self.entry.values:
            values = self.array(payload, "values")
        else:
            values = np.ones(indices.size, dtype=np.float32)
        # Set after construction: the constructor would copy arrays that are views of a buffer.
        matrix = csr_array((self.entry.rows, self.n_columns), dtype=values.dtype)
        matrix.data, matrix.indices, matrix.indptr = values, indices, indptr
        return matrix

    def check(self, payload: Array, n_labels: int) -> None:
        """Raise `DataError` unless the bytes are those written, and rows that kernels can read.

        The checksum finds damage. The rest refuses files that were made wrong: row pointers that
        fall, columns out of range or order, targets that are no codes of labels.
        """
        if zlib.crc32(payload.data) != self.entry.checksum:
            _refuse("bytes that differ from those written (checksum)", self.path)
        if self.sparse:
            matrix = self.matrix(payload)
            row = first_bad_row(*unsigned(matrix)[:2], self.n_columns)
            if row >= 0:
                _refuse(f"columns out of range or order in row {row}", self.path)
        if not self.entry.rows:
            return
        y = self.array(payload, "y")
        if not -math.inf < y.min() <= y.max() < math.inf:  # NaN fails, too
            _refuse("targets that are not finite", self.path)
        if n_labels and not (0 <= y.min() <= y.max() < n_labels and (y == np.rint(y)).all()):
            _refuse("targets that are no labels", self.path)
        if self.entry.weighted:
            weight = self.array(payload, "weight")
            if not 0.0 <= weight.min() <= weight.max() < math.inf:
                _refuse("weights that are negative or not finite", self.path)


@dataclass(frozen=True)
class ShardFolder:
    """A folder of shards: what its manifest says.

    Without labels, the targets are numbers. Of rows that are codes, ``coding`` describes the bins.
    """

    path: Path
    n_columns: int
    names: tuple[str, ...] | None
    labels: tuple[Any, ...]
    shards: tuple[Shard, ...]
    coding: dict[str, Any] | None = None

    def encoded(self, y: FloatArray, positive: Any = None) -> FloatArray:
        """Codes of two labels as -1 and +1; see `_positive` for the default positive label."""
        if not self.labels:
            return y
        if len(self.labels) != 2:
            raise DataError(
                f"rows of two classes; got {len(self.labels)}: {self.labels[:4]}. Keep two "
                "classes, or merge the others into one."
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
                    f"one of the labels {self.labels}; got {positive!r}. Correct `positive`."
                )
            return self.labels.index(positive)
        for usual in (1, True, "1", "true", "yes"):
            if usual in self.labels:
                return self.labels.index(usual)
        return int(np.count_nonzero(y == 1.0) < np.count_nonzero(y == 0.0))


@speaks_as("open_shards")
def open_folder(path: AnyPath) -> ShardFolder:
    """Read the manifest of a folder; refuse missing, further and truncated shards by name."""
    folder = Path(path)
    fields = _read_manifest(folder)
    try:
        shards = _folder(folder, fields)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _broken("fields that no manifest has", folder / MANIFEST) from error
    listed = {one.path.name for one in shards.shards}
    for other in sorted(folder.glob(f"*{ENDING}")):
        if other.name not in listed:
            _refuse("a shard that the manifest does not list", other)
    for shard in shards.shards:
        try:
            state = shard.path.lstat()
        except OSError as error:
            raise _broken("a missing shard", shard.path) from error
        if not stat.S_ISREG(state.st_mode):
            _refuse("something else than a file", shard.path)
        if state.st_size != shard.n_bytes:
            cut = ": it is truncated" if state.st_size < shard.n_bytes else ""
            _refuse(f"{state.st_size} bytes instead of {shard.n_bytes}{cut}", shard.path)
    return shards


def _read_manifest(folder: Path) -> Any:
    """The JSON of a manifest, whose version and checksum are those of its first line."""
    path = folder / MANIFEST
    if not path.is_file():
        if not folder.is_dir() or not next(folder.glob(f"*{ENDING}"), None):
            raise DataError(f"a folder with shards; got {folder}. Make one with auctor convert.")
        _refuse("no manifest, as before version 2 or in an unfinished folder", path)
    try:
        if path.stat().st_size > LARGEST_MANIFEST:
            _refuse("a manifest that is too large", path)
        start, _, text = path.read_bytes().partition(b"\n")
    except OSError as error:
        raise _broken(error.strerror or str(error), path) from error
    said = start.removeprefix(MAGIC).split(b" ")
    if not start.startswith(MAGIC) or len(said) != 2:
        _refuse("another kind of file", path)
    if said[0] != b"%d" % VERSION:
        raise DataError(
            f"shards of version {VERSION}; got version {said[0].decode(errors='replace')[:20]!r} "
            f"in {path.name}. Run auctor convert on the table again."
        )
    if said[1] != hashlib.sha256(text).hexdigest().encode():
        _refuse("bytes that differ from those written (checksum)", path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise _broken("fields that no manifest has", path) from error


def _folder(folder: Path, fields: Any) -> ShardFolder:
    """The folder that a manifest describes; TypeError or ValueError for what cannot be."""
    n_columns, storage, coding = _count(fields["columns"]), fields["storage"], fields.get("coding")
    names, labels, entries = fields["names"], tuple(fields["labels"]), fields["shards"]
    if storage not in (SPARSE, DENSE, CODED) or isinstance(coding, dict) != (storage == CODED):
        raise ValueError("storage")
    if names is not None and not (
        isinstance(names, list)
        and len(names) == n_columns
        and all(isinstance(name, str) for name in names)
        and len(set(names)) == n_columns
    ):
        raise ValueError("names")
    if len(set(labels)) != len(labels) or not all(map(is_label, labels)):
        raise ValueError("labels")
    shards = tuple(
        Shard(Path(shard_path(folder, number)), n_columns, storage, _entry(one, n_columns, storage))
        for number, one in enumerate(entries)
    )
    if not shards:
        raise ValueError("shards")
    named = None if names is None else tuple(names)
    return ShardFolder(folder, n_columns, named, labels, shards, coding)


def _entry(fields: Any, n_columns: int, storage: str) -> ShardEntry:
    """An entry of a manifest; ValueError or TypeError for what cannot be."""
    rows, entries, values, y, weighted, checksum = fields
    entry = ShardEntry(_count(rows), _count(entries), values, y, weighted, checksum)
    known = values in VALUE_TYPES or (storage == SPARSE and values == "")
    width = n_columns
    if storage == CODED:
        known, width = values == WORD_TYPE, -(-n_columns // IN_WORD)
    if not known or y not in TARGET_TYPES or not isinstance(weighted, bool):
        raise ValueError("types")
    if type(checksum) is not int or (storage != SPARSE and entries != rows * width):
        raise ValueError("sizes")
    return entry


def _count(value: Any) -> int:
    """A whole number from 0 to `MOST_ENTRIES`."""
    if type(value) is not int or not 0 <= value <= MOST_ENTRIES:
        raise ValueError("a count")
    return value


def is_label(value: Any) -> bool:
    """Whether a value can stand in a manifest as a label and come back as it was."""
    return isinstance(value, str | bool | int) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _broken(what: str, path: Path) -> DataError:
    """The error for a folder that is not as it was written."""
    return DataError(f"complete shards; got {what}: {path.name}. Run auctor convert again.")


def _refuse(what: str, path: Path) -> NoReturn:
    raise _broken(what, path)


def padded_size(n_bytes: int) -> int:
    """A number of bytes, rounded up to the alignment."""
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def compact(y: FloatArray) -> Array:
    """Targets as int8 if all are small integers, such as -1 and +1, otherwise as float64."""
    with np.errstate(invalid="ignore"):  # of NaN and numbers beyond 2^31, which differ below
        small = y.astype(np.int8)
    return small if np.array_equal(small, y) else y.astype("<f8", copy=False)


def shard_path(folder: AnyPath, number: int) -> str:
    """Path of the shard with this number."""
    return os.path.join(folder, f"{number:06d}{ENDING}")
