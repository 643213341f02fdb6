"""A whole svmlight (libsvm) file as one CSR matrix, read by several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.memory import check_memory
from auctor.core.types import Array, FloatArray
from auctor.data.matrices import CompressedRows, join_compressed
from auctor.kernels.runtime.parallel import available_threads, run_tasks
from auctor.kernels.text import svmlight as kernels
from auctor.tables.blocks import GROWTH_FACTOR, INT32_MAX
from auctor.tables.options import DEFAULTS, IN_PARTS, ReadOptions
from auctor.tables.source import Source, read_ahead
from auctor.tables.svmlight import MOST_COLUMNS, Indices, SvmlightParser, first_index

#: Blocks of text per thread in a batch.
BLOCKS_PER_THREAD = 2
#: Factor on the number of entries that is extrapolated from the first blocks.
_MARGIN = 1.02


@speaks_as("read_svmlight")
def read_svmlight(
    source: Any, reading: ReadOptions = DEFAULTS, *, dtype: npt.DTypeLike = np.float64
) -> tuple[CompressedRows, FloatArray]:
    r"""Read a svmlight (libsvm) file into memory.

    Several threads parse blocks of text, whose rows are appended to arrays of about the final size:
    besides these, only a few blocks are in memory. A line is
    ``label [qid:number] index:value ... [# comment]``. Query numbers are ignored, the indices of a
    line may have any order but must differ, and numbers are rounded to the nearest double.

    Parameters
    ----------
    source : path, "-" or file object
        Text, plain or compressed (gz, bz2, xz; zst with zstandard).
    reading : ReadOptions
        Of these ``n_features``, ``zero_based`` and ``n_threads`` are used.
    dtype : float64 or float32

    Returns
    -------
    matrix : CompressedRows
        With sorted indices, of 32 bits if they suffice.
    labels : (n,) array

    Examples
    --------
    >>> import io
    >>> X, y = read_svmlight(io.BytesIO(b"+1 1:0.5 3:2 # a comment\n-1 2:1\n"))
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    matrix, labels, _ = svmlight_matrix(source, reading, dtype)
    return matrix, labels


def svmlight_matrix(
    source: Any, options: ReadOptions, dtype: npt.DTypeLike
) -> tuple[CompressedRows, FloatArray, int]:
    """Matrix, labels and first index of a svmlight file; see `read_svmlight`."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ParameterError(f"`dtype` to be float64 or float32; got {kind}. Pass one of these.")
    threads = available_threads(options.n_threads)
    file = source if isinstance(source, Source) else Source(source)
    try:
        whole = _MatrixBuilder(file, options, kind, threads)
        whole.read()
        return whole.matrix(), whole.labels, whole.known.first_index or 0
    finally:
        file.close()


class _MatrixBuilder:
    """The arrays of a CSR matrix while rows are appended to them."""

    def __init__(self, source: Source, options: ReadOptions, kind: Any, threads: int) -> None:
        self.source, self.options, self.threads = source, options, threads
        self.known = Indices(options.first_index)
        self.values, self.indices = np.empty(0, kind), np.empty(0, np.int32)
        self.labels: FloatArray = np.empty(0)
        self.indptr: Array = np.zeros(1, np.int64)
        self.rows = self.entries = self.width = self.lines = 0
        self.readers: list[SvmlightParser] = []

    def read(self) -> None:
        """Read the source to its end."""
        blocks = self.source.blocks(whole_first=self.known.first_index is None)
        batch = BLOCKS_PER_THREAD * self.threads
        if self.threads > 1:
            blocks = read_ahead(blocks, batch, wait=not self.source.live)
        with closing(blocks):
            while texts := list(islice(blocks, batch)):
                self._add(texts)
        if not self.rows:
            raise DataError(f"some rows; got none in {self.source.name}. Check the file.")
        for array, size in ((self.values, self.entries), (self.indices, self.entries),
                            (self.labels, self.rows), (self.indptr, self.rows + 1)):  # fmt: skip
            array.resize(size, refcheck=False)

    def matrix(self) -> CompressedRows:
        """The CSR matrix of all rows."""
        width = self.options.n_features or max(self.width, 1)
        kind = np.int32 if max(width, self.entries) <= INT32_MAX else np.int64
        parts = (
            self.values,
            self.indices.astype(kind, copy=False),
            self.indptr.astype(kind, copy=False),
        )
        matrix = join_compressed(*parts, (self.rows, width))
        matrix.has_canonical_format = True
        return matrix

    def _add(self, texts: list[bytes]) -> None:
        """Parse some blocks in parallel, then append their rows in order."""
        if self.known.first_index is None:
            self.known.first_index = first_index(texts[0])
        readers = self._readers(texts)
        lines: list[int] = []
        for text in texts:
            lines.append(self.lines)
            self.lines += text.count(b"\n")
        errors: list[DataError | None] = [None] * len(texts)
        run_tasks(
            [
                partial(_parse, reader, text, before, self.source.name, errors, k)
                for k, (reader, text, before) in enumerate(zip(readers, texts, lines, strict=True))
            ],
            self.threads,
        )
        for error in errors:
            if error is not None:
                raise error
        self._reserve(readers, sum(map(len, texts)))
        run_tasks(list(self._copies(readers)), self.threads)

    def _readers(self, texts: list[bytes]) -> list[SvmlightParser]:
        """A parser for each block, whose arrays are large enough for its lines of two bytes."""
        for k, text in enumerate(texts):
            most = len(text) // 2 + 1
            if k == len(self.readers):
                self.readers.append(SvmlightParser(self.options, self.known, most, MOST_COLUMNS))
            elif self.readers[k].most_rows < most:
                self.readers[k] = SvmlightParser(self.options, self.known, most, MOST_COLUMNS)
        return self.readers[: len(texts)]

    def _reserve(self, readers: list[SvmlightParser], size: int) -> None:
        """Enlarge the arrays for new rows; the first time, for all rows that the file may have."""
        rows = self.rows + sum(int(reader.at[kernels.ROW]) for reader in readers)
        entries = self.entries + sum(int(reader.at[kernels.ENTRY]) for reader in readers)
        self.width = max(self.width, *(int(reader.at[kernels.LAST_COLUMN]) for reader in readers))
        first = not self.rows
        share = 1.0
        if first and rows:  # text of the file over text that was parsed
            share = max(1.0, _MARGIN * (self.source.size() or size) / size)
        if self.indices.dtype == np.int32 and max(self.width, entries) > INT32_MAX:
            self.indices = self.indices.astype(np.int64)
        size = int(entries * share) * (self.values.itemsize + self.indices.itemsize)
        size -= self.values.nbytes + self.indices.nbytes
        what = f"{entries:,} entries of {self.source.name} and more"
        check_memory(size, what, todo=IN_PARTS)
        self.values = _grown(self.values, int(entries * share), first)
        self.indices = _grown(self.indices, int(entries * share), first)
        self.labels = _grown(self.labels, int(rows * share), first)
        self.indptr = _grown(self.indptr, int(rows * share) + 1, first)

    def _copies(self, readers: list[SvmlightParser]) -> Iterator[Callable[[], None]]:
        """Tasks that copy the rows of each block to its place."""
        for reader in readers:
            n, m = int(reader.at[kernels.ROW]), int(reader.at[kernels.ENTRY])
            yield partial(self._copy, reader, self.rows, self.entries)
            self.rows += n
            self.entries += m

    def _copy(self, reader: SvmlightParser, row: int, entry: int) -> None:
        """Copy the rows of a block to the arrays, from a row and an entry on."""
        n, m = int(reader.at[kernels.ROW]), int(reader.at[kernels.ENTRY])
        with np.errstate(over="ignore"):
            self.values[entry : entry + m] = reader.values[:m]
        self.indices[entry : entry + m] = reader.indices[:m]
        self.labels[row : row + n] = reader.labels[:n]
        np.add(reader.indptr[1 : n + 1], entry, out=self.indptr[row + 1 : row + n + 1])


def _parse(
    reader: SvmlightParser,
    text: bytes,
    lines: int,
    name: str,
    errors: list[DataError | None],
    k: int,
) -> None:
    """Parse a block; an error is stored, so that the first in the file can be raised."""
    reader.reset()
    reader.start(text)
    try:
        reader.read(name, lines)
    except DataError as error:
        errors[k] = error


def _grown(array: Array, size: int, fresh: bool) -> Array:
    """The array with at least ``size`` entries; memory that is never written is never used."""
    if fresh:
        larger = np.empty(max(size, array.shape[0]), array.dtype)
        larger[: array.shape[0]] = array
        return larger
    if array.shape[0] < size:
        array.resize(max(size, int(GROWTH_FACTOR * array.shape[0])), refcheck=False)
    return array
