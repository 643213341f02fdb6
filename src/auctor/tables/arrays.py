"""NPY and NPZ files: dense arrays of numbers, or compressed sparse rows (CSR)."""

from __future__ import annotations

import math
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, cast

import numpy as np

from auctor.core.errors import AuctorError, DataError
from auctor.core.types import Array
from auctor.data.matrices import join_compressed
from auctor.tables.blocks import INT32_MAX, Block, Chunk
from auctor.tables.columns import (
    EXACT_INTEGERS,
    check_names,
    check_width,
    default_names,
    find_label,
    listed,
)
from auctor.tables.options import CHUNK_ENTRIES, ReadOptions
from auctor.tables.source import READ_BYTES, Source

#: Kinds of numpy dtypes that are read as numbers: bool, signed, unsigned, floating point.
_NUMBERS = "biuf"
#: Arrays of a CSR matrix, as `scipy.sparse.save_npz` names them.
_CSR = ("data", "indices", "indptr", "shape")
#: The header of an NPY file exactly as numpy writes it; it is not evaluated as Python code.
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufUS]\d{1,4})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:SIZE(?:, ?SIZE)*,?)?)\), \} *\n".replace(b"SIZE", rb"(?:0|[1-9]\d{0,17})")
)
#: Bytes of the longest header that is read. numpy pads short headers to 128 bytes; a file with a
#: longer one than this is refused.
_LONGEST_HEADER = 1 << 12


class ArrayFile:
    """A dense array; the labels are one of its columns, or an array of their own."""

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        rows: _Array,
        labels: Array | None,
        names: list[str] | None,
    ) -> None:
        self.source, self.options, self._rows, self._labels = source, options, rows, labels
        if len(rows.shape) != 2 or rows.dtype.kind not in _NUMBERS:
            raise DataError(
                options.who,
                needs="an array of numbers with two dimensions",
                got=f"{rows.dtype} of shape {rows.shape} in {source.name}",
                todo="Convert it to numbers, or reshape it.",
            )
        n, d = rows.shape
        # Names are those of the file, or column_1, column_2, ...; d of them.
        self.named = names is not None
        fields = default_names(d) if names is None else check_names(source.name, names, options.who)
        if len(fields) != d:
            raise DataError(
                options.who,
                needs="one name per column",
                got=f"{len(fields)} names for {d} columns in {source.name}",
                todo="Store one name for each column.",
            )
        # Labels are a column of the rows, or the array y with one entry per row.
        self._label_field = None
        self.label: str | None = "y"
        if labels is None:
            self._label_field = find_label(source.name, fields, options, d)
            self.label = None if self._label_field is None else fields[self._label_field]
        elif labels.shape != (n,) or labels.dtype.kind not in _NUMBERS + "U":
            raise DataError(
                options.who,
                needs="one label per row",
                got=f"{labels.dtype} of shape {labels.shape} for {n} rows of {source.name}",
                todo="Store one number or word per row.",
            )
        self.names = tuple(name for k, name in enumerate(fields) if k != self._label_field)
        self.text_columns: frozenset[int] = frozenset()
        whole = rows.dtype.kind in "iu"  # an array has one type for all its columns
        self.float_columns = frozenset(() if whole else range(len(self.names)))
        self.non_numeric: set[int] = set()
        self.first_non_numbers: dict[int, str] = {}
        check_width(source.name, len(self.names), options)

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """All rows, in blocks of at most ``options.most_rows``."""
        if "category" in kinds:
            raise DataError(
                self.options.who,
                needs="text in the columns that were categories",
                got=f"numbers in {self.source.name}",
                todo="Pass a file with the columns that the schema names.",
            )
        used = [kind == "number" for kind in kinds]
        if self._label_field is not None:
            used.insert(self._label_field, False)
        chosen = np.flatnonzero(used)
        most = self.options.most_rows(self._rows.shape[1])
        first = 0
        with _reading(self.source):
            for part in self._rows.parts(most):
                labels = None
                if self._label_field is not None:
                    labels = part[:, self._label_field]
                    labels = labels.astype(labels.dtype if labels.dtype.kind in "iu" else float)
                elif self._labels is not None:
                    labels = self._labels[first : first + part.shape[0]]
                whole = len(chosen) == part.shape[1]
                numbers = np.array(part if whole else part[:, chosen], np.float64, order="C")
                yield Block(numbers, np.empty((part.shape[0], 0), np.int32), [], labels)
                first += part.shape[0]

    def long_integers(self, columns: Sequence[int]) -> dict[int, str]:
        """The first whole number beyond 2^53 in each of some columns that has one."""
        fields = [k for k in range(self._rows.shape[1]) if k != self._label_field]
        found: dict[int, str] = {}
        with _reading(self.source):
            for part in self._rows.parts(self.options.most_rows(self._rows.shape[1])):
                for k in columns:
                    long = _long_integers(part[:, fields[k]])
                    if long.size:
                        found.setdefault(k, str(long[0]))
        return found


def _long_integers(values: Array) -> Array:
    """The whole numbers among some values that a 64-bit float cannot hold exactly."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return values[:0]
    return values[(values > EXACT_INTEGERS) | (values < -EXACT_INTEGERS)]


def npy_file(source: Source, options: ReadOptions) -> ArrayFile:
    """Open a NPY file of rows; the label is the last column unless options name another."""
    _check_source(source)
    with _reading(source):
        rows = _Array.npy(source)
    if options.label_column is None and options.labelled:
        options = replace(options, label=-1)
    return ArrayFile(source, options, rows, None, None)


def npz_file(source: Source, options: ReadOptions) -> ArrayFile | None:
    """Open a NPZ file with the array X, and optionally y and the column names ``columns``.

    ``None`` if it holds a CSR matrix, which `npz_chunks` reads.
    """
    _check_source(source)
    with _reading(source):
        archive = _archive(source)
        members = _members(archive)
        if "format" in members:
            return None
        rows = _Array.member(archive, _required(members, "X", source))
        labels = _loaded(archive, members.get("y"))
        names = _loaded(archive, members.get("columns"))
    return ArrayFile(
        source, options, rows, labels, None if names is None else [str(x) for x in names.ravel()]
    )


def npz_chunks(source: Source, options: ReadOptions, *, whole: bool = False) -> Iterator[Chunk]:
    """Chunks of a CSR matrix that `scipy.sparse.save_npz` wrote, with the labels in y.

    Parameters
    ----------
    source : Source
    options : ReadOptions
    whole : bool
        Whether to give all rows as one chunk.
    """
    _check_source(source)
    with _reading(source):
        archive = _archive(source)
        members = _members(archive)
        kind = _loaded(archive, _required(members, "format", source))
        if kind is None or kind.item() not in (b"csr", "csr"):
            raise DataError(
                options.who,
                needs="rows in CSR format",
                got=f"{str(kind)!r:.40} in {source.name}",
                todo="Convert the matrix with .tocsr() and save it again.",
            )
        for name in _CSR:
            _required(members, name, source)
        shape, indptr = (_loaded(archive, members[name]) for name in ("shape", "indptr"))
        labels = _loaded(archive, members.get("y"))
        values, indices = (_Array.member(archive, members[name]) for name in ("data", "indices"))
        n, d = _check_rows(shape, indptr, indices, values)
        if labels is None and options.labelled:
            raise DataError(
                options.who,
                needs="labels in the array y",
                got=f"{listed(list(members))} in {source.name}",
                todo="Store the labels as y in the same file.",
            )
        if labels is not None and labels.shape != (n,):
            raise ValueError(f"labels of shape {labels.shape} for {n} rows")
        check_width(source.name, d, options)
        yield from _csr_chunks(indptr, indices, values, d, labels, n if whole else None, options)


def _csr_chunks(
    indptr: Any, indices: _Array, values: _Array, d: int, labels: Array | None,
    rows: int | None, options: ReadOptions,
) -> Iterator[Chunk]:  # fmt: skip
    """Cut the rows into chunks of at most ``rows`` rows, or at most `CHUNK_ENTRIES` entries."""
    columns, numbers = indices.reader(), values.reader()
    n, low = indptr.shape[0] - 1, 0
    while low < n:
        # The last row that still fits; a row of more entries is a chunk of its own.
        room = int(np.searchsorted(indptr, indptr[low] + CHUNK_ENTRIES, side="right")) - 1
        high = min(n, rows or max(low + 1, min(low + options.chunk_rows, room)))
        size = int(indptr[high] - indptr[low])
        kind = np.int32 if max(d, size) <= INT32_MAX else np.int64
        taken = columns(size)
        if size and (taken.min() < 0 or taken.max() >= d):
            raise ValueError("a column index outside the matrix")
        entries = numbers(size)
        _refuse_long_integers(entries, taken, options.who)
        matrix = join_compressed(
            entries.astype(np.float64, copy=False),
            taken.astype(kind, copy=False),
            (indptr[low : high + 1] - indptr[low]).astype(kind, copy=False),
            (high - low, d),
        )
        matrix.sum_duplicates()
        yield Chunk(matrix, np.full(high - low, np.nan) if labels is None else labels[low:high])
        low = high


def _refuse_long_integers(entries: Array, columns: Array, who: str) -> None:
    """Refuse whole numbers that 64-bit floats would round."""
    long = _long_integers(entries)
    if long.size:
        column = int(columns[entries == long[0]][0])
        raise DataError(
            who,
            needs="whole numbers up to 2^53, which floats hold exactly",
            got=f"{long[0]} in column {column} of the matrix, counted from 0",
            todo="Drop such columns, or store them as floating-point numbers.",
        )


def _check_rows(shape: Any, indptr: Any, indices: _Array, values: _Array) -> tuple[int, int]:
    """Numbers of rows and columns of a CSR matrix; refuses arrays that contradict each other."""
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError("a shape that is not two-dimensional")
    n, d = (int(size) for size in shape)
    good = (
        n >= 0
        and d >= 1
        and indptr.shape == (n + 1,)
        and indptr.dtype.kind in "iu"
        and indices.dtype.kind in "iu"
        and values.dtype.kind in _NUMBERS
        and int(indptr[0]) == 0
        and bool((np.diff(indptr.astype(np.int64)) >= 0).all())
        and indices.shape == values.shape == (int(indptr[-1]),)
    )
    if not good:
        raise ValueError("arrays that do not form a CSR matrix")
    return n, d


class _Array:
    """An array in memory, memory-mapped, or in a member of an archive that is read in parts.

    ``array`` is None if it is read in parts; then ``file`` is a function that opens the member.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any, array: Array | None, file: Any) -> None:
        self.shape, self.dtype, self._array, self._file = shape, dtype, array, file

    @staticmethod
    def in_memory(array: Array) -> _Array:
        return _Array(array.shape, array.dtype, array, None)

    @staticmethod
    def npy(source: Source) -> _Array:
        """Memory-map a file; a file object without a path is read."""
        file = source.raw()
        start = file.tell()
        shape, fortran, dtype = _header(file)
        offset = file.tell() - start
        order: Literal["C", "F"] = "F" if fortran else "C"
        size = math.prod(shape) * dtype.itemsize
        if source.path is not None and size:
            if os.path.getsize(source.path) != offset + size:
                raise ValueError(f"an array of shape {shape} with missing or extra bytes")
            mapped = np.memmap(source.path, dtype, "r", offset, shape, order)
            return _Array.in_memory(mapped)
        data = file.read(size + 1)
        if len(data) != size:
            raise ValueError(f"an array of shape {shape} with missing or extra bytes")
        return _Array.in_memory(np.frombuffer(data, dtype).reshape(shape, order=order))

    @staticmethod
    def member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Array:
        """Open a member of an archive; refuses one whose size contradicts its header."""
        with archive.open(info) as file:
            shape, fortran, dtype = _header(file)
            if file.tell() + math.prod(shape) * dtype.itemsize != info.file_size:
                raise ValueError(f"an array of shape {shape} with missing or extra bytes")
        if fortran and len(shape) > 1:  # columns are contiguous: read all of it, then reshape
            flat = _Array((math.prod(shape),), dtype, None, lambda: archive.open(info))
            return _Array.in_memory(flat.reader()(flat.shape[0]).reshape(shape, order="F"))
        return _Array(shape, dtype, None, lambda: archive.open(info))

    def reader(self) -> Any:
        """A function that reads the next n entries along the first axis."""
        if self._array is not None:
            raise ValueError("an array that cannot be read in parts")
        file = self._file()
        _header(file)

        def take(n: int) -> Array:
            """Read the next n entries, a block at a time."""
            taken = np.empty((n, *self.shape[1:]), self.dtype)
            buffer = memoryview(taken.reshape(-1).view(np.uint8).data)
            at = 0
            while at < len(buffer):
                got = file.readinto(buffer[at : at + READ_BYTES])
                if not got:
                    raise EOFError("the end of the file within an array")
                at += got
            return taken

        return take

    def parts(self, most: int) -> Iterator[Array]:
        """The whole array in parts of at most ``most`` entries along the first axis."""
        if self._array is None:
            take = self.reader()
            for low in range(0, self.shape[0], most):
                yield take(min(most, self.shape[0] - low))
        else:
            for low in range(0, self.shape[0], most):
                yield self._array[low : low + most]


def _header(file: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Shape, whether in Fortran order, and dtype, from an NPY header of version 1 or 2."""
    start = file.read(8)
    size = {b"\x01\x00": 2, b"\x02\x00": 4}.get(start[6:])
    if start[:6] != b"\x93NUMPY" or size is None:
        raise ValueError("a member without an NPY header")
    length = int.from_bytes(file.read(size), "little")
    found = _HEADER.fullmatch(file.read(min(length, _LONGEST_HEADER)))
    if found is None:
        raise ValueError("an NPY header that numpy does not write")
    shape = tuple(int(part) for part in found[3].decode().split(",") if part.strip())
    return shape, found[2] == b"True", np.dtype(found[1].decode())


def _archive(source: Source) -> zipfile.ZipFile:
    """Open a source as a zip archive."""
    source.rewind()
    file = source.raw()
    if file.read(4) != b"PK\x03\x04":
        raise ValueError("a file that is not a zip archive")
    return zipfile.ZipFile(file)


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an archive, by name."""
    return {info.filename.removesuffix(".npy"): info for info in archive.infolist()}


def _required(members: dict[str, zipfile.ZipInfo], name: str, source: Source) -> zipfile.ZipInfo:
    """An array of an archive, by name; refuses an archive without it."""
    if name not in members:
        raise DataError(
            source.who,
            needs=f"the array {name}",
            got=f"{listed(list(members)) or 'none'} in {source.name}",
            todo="Store X and y, or y with the arrays that scipy.sparse.save_npz writes.",
        )
    return members[name]


def _loaded(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None) -> Array | None:
    """An array of an archive, in memory; None without a member."""
    if info is None:
        return None
    array = _Array.member(archive, info)
    if not array.shape:
        return cast(Array, array.reader()(1)[0])
    return next(array.parts(max(1, array.shape[0])), np.empty(array.shape, array.dtype))


def _check_source(source: Source) -> None:
    """Refuse a pipe: array files need random access."""
    if source.live:
        raise DataError(
            source.who,
            needs="an array file with random access",
            got="standard input",
            todo="Pass a path.",
        )


@contextmanager
def _reading(source: Source) -> Iterator[None]:
    """Turn errors of numpy, zipfile and zlib into a `DataError` that names the file."""
    try:
        yield
    except AuctorError:
        raise
    except (
        ValueError, OSError, EOFError, KeyError, TypeError, OverflowError, MemoryError,
        NotImplementedError, RuntimeError, SyntaxError, zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(
            source.who,
            needs="a NPY or NPZ file of numbers",
            got=f"{said} in {source.name}",
            todo="Check that it is complete and of that format.",
        ) from error
