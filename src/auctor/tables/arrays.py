"""NPY and NPZ files: dense arrays of numbers, or compressed sparse rows (CSR)."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from auctor.core.errors import AuctorError, DataError
from auctor.core.memory import check_memory
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
from auctor.tables.source import Source

#: Kinds of numpy dtypes that are read as numbers: bool, signed, unsigned, floating point.
_NUMBERS = "biuf"
#: Arrays of a CSR matrix, as `scipy.sparse.save_npz` names them.
_CSR = ("data", "indices", "indptr", "shape")


class _Rows(NamedTuple):
    """An array of rows: its shape and type, and a function that reads rows ``low`` to ``high``."""

    shape: tuple[int, ...]
    dtype: Any
    read: Callable[[int, int], Array]

    def parts(self, most: int) -> Iterator[Array]:
        """The whole array in parts of at most ``most`` rows."""
        for low in range(0, self.shape[0], most):
            yield self.read(low, min(low + most, self.shape[0]))


class ArrayFile:
    """A dense array; the labels are one of its columns, or an array of their own."""

    def __init__(
        self,
        source: Source,
        options: ReadOptions,
        rows: _Rows,
        labels: Array | None,
        names: list[str] | None,
    ) -> None:
        self.source, self.options, self._rows, self._labels = source, options, rows, labels
        if len(rows.shape) != 2 or rows.dtype.kind not in _NUMBERS:
            raise DataError(
                f"an array of numbers with two dimensions; got {rows.dtype} of shape {rows.shape} "
                f"in {source.name}. Convert it to numbers, or reshape it."
            )
        n, d = rows.shape
        # Names are those of the file, or column_1, column_2, ...; d of them.
        self.named = names is not None
        fields = default_names(d) if names is None else check_names(source.name, names)
        if len(fields) != d:
            raise DataError(
                f"one name per column; got {len(fields)} names for {d} columns in {source.name}. "
                "Store one name for each column."
            )
        # Labels are a column of the rows, or the array y with one entry per row.
        self._label_field = None
        self.label: str | None = "y"
        if labels is None:
            self._label_field = find_label(source.name, fields, options, d)
            self.label = None if self._label_field is None else fields[self._label_field]
        elif labels.shape != (n,) or labels.dtype.kind not in _NUMBERS + "U":
            raise DataError(
                f"one label per row; got {labels.dtype} of shape {labels.shape} for {n} rows of "
                f"{source.name}. Store one number or word per row."
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
                f"text in the columns that were categories; got numbers in {self.source.name}. "
                "Pass a file with the columns that the schema names."
            )
        used = [kind == "number" for kind in kinds]
        if self._label_field is not None:
            used.insert(self._label_field, False)
        positions = np.flatnonzero(used)
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
                whole = len(positions) == part.shape[1]
                numbers = np.array(part if whole else part[:, positions], np.float64, order="C")
                yield Block(numbers, np.empty((part.shape[0], 0), np.int32), [], labels)
                first += part.shape[0]

    def long_integers(self, columns: Sequence[int]) -> dict[int, str]:
        """The first whole number beyond 2^53 in each of some columns that has one."""
        fields = [k for k in range(self._rows.shape[1]) if k != self._label_field]
        integers: dict[int, str] = {}
        with _reading(self.source):
            for part in self._rows.parts(self.options.most_rows(self._rows.shape[1])):
                for k in columns:
                    long = _long_integers(part[:, fields[k]])
                    if long.size:
                        integers.setdefault(k, str(long[0]))
        return integers


def _long_integers(values: Array) -> Array:
    """The whole numbers among some values that a 64-bit float cannot hold exactly."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return values[:0]
    return values[(values > EXACT_INTEGERS) | (values < -EXACT_INTEGERS)]


def npy_file(source: Source, options: ReadOptions) -> ArrayFile:
    """Open a NPY file of rows; the label is the last column unless options name another."""
    _check_source(source)
    with _reading(source):
        rows = _npy_rows(source)
    if options.label_column is None and options.labelled:
        options = replace(options, label=-1)
    return ArrayFile(source, options, rows, None, None)


def npz_file(source: Source, options: ReadOptions) -> ArrayFile | None:
    """Open a NPZ file with the array X, and optionally y and the column names ``columns``.

    ``None`` if it holds a CSR matrix, which `npz_chunks` reads.
    """
    _check_source(source)
    with _reading(source), _archive(source) as archive:
        if "format" in archive:
            return None
        _check_members(archive, ("X",), source)
        rows = _member(archive, "X")
        labels, names = (
            _member(archive, name) if name in archive else None for name in ("y", "columns")
        )
    return ArrayFile(
        source,
        options,
        _Rows(rows.shape, rows.dtype, lambda low, high: rows[low:high]),
        labels,
        None if names is None else [str(x) for x in names.ravel()],
    )


def npz_chunks(source: Source, options: ReadOptions, *, whole: bool = False) -> Iterator[Chunk]:
    """Chunks of a CSR matrix that `scipy.sparse.save_npz` wrote, with the labels in y.

    Parameters
    ----------
    whole : bool
        Whether to give all rows as one chunk.
    """
    _check_source(source)
    with _reading(source), _archive(source) as archive:
        stored = _member(archive, "format")
        if stored.size != 1 or stored.item() not in (b"csr", "csr"):
            raise DataError(
                f"rows in CSR format; got {str(stored)!r:.40} in {source.name}. Convert the matrix "
                "with .tocsr() and save it again."
            )
        _check_members(archive, _CSR, source)
        matrix = _csr(*(_member(archive, name) for name in _CSR))
        labels = _member(archive, "y") if "y" in archive else None
        if labels is None and options.labelled:
            raise DataError(
                f"labels in the array y; got {listed(archive.files)} in {source.name}. Store the "
                "labels as y in the same file."
            )
    n, d = matrix.shape
    if labels is None:
        labels = np.full(n, np.nan)
    elif labels.shape != (n,):
        raise _damaged(source, f"labels of shape {labels.shape} for {n} rows")
    check_width(source.name, d, options)
    _refuse_long_integers(matrix)
    low = 0
    while low < n:
        # The last row that still fits; a row of more entries is a chunk of its own.
        most = matrix.indptr[low] + CHUNK_ENTRIES
        room = int(np.searchsorted(matrix.indptr, most, side="right")) - 1
        high = n if whole else min(n, max(low + 1, min(low + options.chunk_rows, room)))
        part = matrix if whole else matrix[low:high]
        kind = np.int32 if max(d, part.nnz) <= INT32_MAX else np.int64
        entries = part.data.astype(np.float64, copy=False)
        indices, ends = (array.astype(kind, copy=False) for array in (part.indices, part.indptr))
        chunk = join_compressed(entries, indices, ends, part.shape)
        chunk.sum_duplicates()
        yield Chunk(chunk, labels[low:high])
        low = high


def _csr(data: Array, indices: Array, indptr: Array, shape: Array) -> Any:
    """The matrix of some arrays; refuses arrays that contradict each other."""
    if shape.shape != (2,) or any(a.dtype.kind not in "iu" for a in (shape, indptr, indices)):
        raise ValueError("arrays that do not form a CSR matrix")
    if data.dtype.kind not in _NUMBERS or int(shape[1]) < 1:
        raise ValueError("arrays that do not form a CSR matrix of numbers")
    matrix = csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
    matrix.check_format(full_check=True)
    return matrix


def _refuse_long_integers(matrix: Any) -> None:
    """Refuse whole numbers that 64-bit floats would round."""
    long = _long_integers(matrix.data)
    if long.size:
        column = int(matrix.indices[matrix.data == long[0]][0])
        raise DataError(
            f"whole numbers up to 2^53, which floats hold exactly; got {long[0]} in column "
            f"{column} of the matrix, counted from 0. Drop such columns, or store them as "
            "floating-point numbers."
        )


def _npy_rows(source: Source) -> _Rows:
    """The rows of a NPY file, which are read when they are needed.

    The file is not mapped: to touch a mapped file that another process truncates ends the process.
    """
    file = source.raw()
    start = file.tell()
    version = np.lib.format.read_magic(file)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, fortran, dtype = read_header(file)
    begin, size = file.tell(), math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise ValueError("Python objects")
    if file.seek(0, os.SEEK_END) != begin + size:
        raise ValueError(f"an array of shape {shape} with missing or extra bytes")
    if fortran:  # its rows are not contiguous
        check_memory(size, source.name, todo="Save the array in C order.")
        file.seek(start)
        whole = np.lib.format.read_array(file, allow_pickle=False)
        return _Rows(shape, dtype, lambda low, high: whole[low:high])
    row = size // max(1, shape[0]) if shape else 0

    def read(low: int, high: int) -> Array:
        file.seek(begin + low * row)
        data = file.read((high - low) * row)
        if len(data) != (high - low) * row:
            raise EOFError("the end of the file within an array")
        return np.frombuffer(data, dtype).reshape(high - low, *shape[1:])

    return _Rows(shape, dtype, read)


def _archive(source: Source) -> Any:
    """Open a source as a NPZ archive."""
    source.rewind()
    file = source.raw()
    if file.read(4) != b"PK\x03\x04":
        raise ValueError("a file that is not a zip archive")
    source.rewind()
    return np.load(file, allow_pickle=False)


def _member(archive: Any, name: str) -> Array:
    """An array of an archive; members of another kind are refused."""
    array = archive[name]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"a member {name} that is not an array")
    return array


def _check_members(archive: Any, names: Sequence[str], source: Source) -> None:
    """Refuse an archive without some arrays, or with more than memory holds."""
    for name in names:
        if name not in archive:
            raise DataError(
                f"the array {name}; got {listed(archive.files) or 'none'} in {source.name}. Store "
                "X and y, or y with the arrays that scipy.sparse.save_npz writes."
            )
    size = sum(info.file_size for info in archive.zip.infolist())
    todo = "Save the rows as NPY or as shards, which are read in parts."
    check_memory(size, f"the arrays of {source.name}", todo=todo)


def _check_source(source: Source) -> None:
    """Refuse a pipe: array files need random access."""
    if source.live:
        raise DataError("an array file with random access; got standard input. Pass a path.")


@contextmanager
def _reading(source: Source) -> Iterator[None]:
    """Turn errors of numpy, zipfile and zlib into a `DataError` that names the file."""
    try:
        yield
    except AuctorError:
        raise
    except (
        ValueError, OSError, EOFError, KeyError, TypeError, OverflowError, MemoryError,
        NotImplementedError, RuntimeError, SyntaxError, TokenError, zipfile.BadZipFile,
        zlib.error,
    ) as error:  # fmt: skip
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise _damaged(source, said) from error


def _damaged(source: Source, what: str) -> DataError:
    """The error for a file whose arrays cannot be read."""
    return DataError(
        f"a NPY or NPZ file of numbers; got {what} in {source.name}. Check that it is complete and "
        "of that format."
    )
