"""A whole svmlight (libsvm) file as one CSR matrix, read by several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from auctor.core.errors import DataError, ParameterError
from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.parallel import available_threads, run_tasks
from auctor.kernels.text import svmlight as kernels
from auctor.tables.options import ReadOptions
from auctor.tables.source import Source, ahead
from auctor.tables.svmlight import MOST_COLUMNS, Indices, Rows, first_index

_INT32 = np.iinfo(np.int32).max
#: Blocks of text per thread between two meetings of the threads.
BLOCKS_PER_THREAD = 2
#: Room is made for a little more than the first blocks let expect.
_MARGIN = 1.02
#: Factor by which arrays grow where that was too little: few copies, little unused room.
_GROWTH = 1.25


def read_svmlight(
    source: Any,
    *,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    dtype: npt.DTypeLike = np.float64,
    n_threads: int | None = None,
) -> tuple[sparse.csr_array, FloatArray]:
    r"""Read a svmlight (libsvm) file into memory.

    Blocks of text are read one after the other and parsed by several threads, straight behind one
    another into arrays of the final size: beside them, memory holds a few blocks only. Lines read
    ``label [qid:number] index:value ... [# comment]``; query numbers are passed over, indices may
    come in any order, not twice, and a number becomes the nearest double.

    Parameters
    ----------
    source : path, "-" or file object
        Text, plain or compressed (gz, bz2, xz; zst with zstandard).
    n_features : int, optional
        Number of columns: a larger index is refused. By default the largest index decides.
    zero_based : bool or "auto"
        Whether indices count from 0. "auto": from 1, unless the first MiB of text has an index 0;
        one that comes later is refused.
    dtype : float64 or float32
    n_threads : int, optional

    Returns
    -------
    matrix : csr_array
        Sorted, with 32-bit indices where they fit.
    labels : (n,) array

    Examples
    --------
    >>> import io
    >>> X, y = read_svmlight(io.BytesIO(b"+1 1:0.5 3:2 # a comment\n-1 2:1\n"))
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    options = ReadOptions("read_svmlight", n_features=n_features, zero_based=zero_based)
    matrix, labels, _ = svmlight_matrix(source, options, dtype, n_threads)
    return matrix, labels


def svmlight_matrix(
    source: Any,
    options: ReadOptions,
    dtype: npt.DTypeLike,
    n_threads: int | None,
) -> tuple[sparse.csr_array, FloatArray, int]:
    """The same, with the index that counting starts at."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ParameterError(
            options.who, needs="dtype to be float64 or float32", got=kind, todo="Pass one of these."
        )
    threads = available_threads(n_threads)
    file = source if isinstance(source, Source) else Source(source, options.who)
    try:
        whole = _Whole(file, options, kind, threads)
        whole.read()
        return whole.matrix(), whole.labels, whole.known.first_index or 0
    finally:
        file.close()


class _Whole:
    """The arrays of the matrix while they are filled."""

    def __init__(self, source: Source, options: ReadOptions, kind: Any, threads: int) -> None:
        self.source, self.options, self.threads = source, options, threads
        self.known = Indices(options.first_index)
        self.values, self.indices = np.empty(0, kind), np.empty(0, np.int32)
        self.labels: FloatArray = np.empty(0)
        self.indptr: Array = np.zeros(1, np.int64)
        self.rows = self.entries = self.width = self.lines = 0
        self.readers: list[Rows] = []

    def read(self) -> None:
        """Read the source to its end."""
        blocks = self.source.blocks(whole_first=self.known.first_index is None)
        batch = BLOCKS_PER_THREAD * self.threads
        if self.threads > 1:
            blocks = ahead(blocks, batch, wait=not self.source.live)
        with closing(blocks):
            while texts := list(islice(blocks, batch)):
                self._add(texts)
        if not self.rows:
            raise DataError(
                self.options.who,
                needs="some rows",
                got=f"none in {self.source.name}",
                todo="Check the file.",
            )
        for array, size in ((self.values, self.entries), (self.indices, self.entries),
                            (self.labels, self.rows), (self.indptr, self.rows + 1)):  # fmt: skip
            array.resize(size, refcheck=False)

    def matrix(self) -> sparse.csr_array:
        """The rows as one matrix."""
        width = self.options.n_features or max(self.width, 1)
        kind = np.int32 if max(width, self.entries) <= _INT32 else np.int64
        parts = (
            self.values,
            self.indices.astype(kind, copy=False),
            self.indptr.astype(kind, copy=False),
        )
        matrix = sparse.csr_array(parts, shape=(self.rows, width))
        matrix.has_canonical_format = True
        return matrix

    def _add(self, texts: list[bytes]) -> None:
        """Parse some blocks side by side, then put their rows behind those before."""
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
        self._make_room(readers, sum(map(len, texts)))
        run_tasks(list(self._copies(readers)), self.threads)

    def _readers(self, texts: list[bytes]) -> list[Rows]:
        """One set of scratch arrays per block, large enough for its lines."""
        for k, text in enumerate(texts):
            most = len(text) // 2 + 1
            if k == len(self.readers):
                self.readers.append(Rows(self.options, self.known, most, MOST_COLUMNS))
            elif self.readers[k].most_rows < most:
                self.readers[k] = Rows(self.options, self.known, most, MOST_COLUMNS)
        return self.readers[: len(texts)]

    def _make_room(self, readers: list[Rows], size: int) -> None:
        rows = self.rows + sum(int(reader.at[kernels.ROW]) for reader in readers)
        entries = self.entries + sum(int(reader.at[kernels.ENTRY]) for reader in readers)
        self.width = max(self.width, *(int(reader.at[kernels.WIDTH]) for reader in readers))
        first = not self.rows
        share = 1.0
        if first and rows:
            share = max(1.0, _MARGIN * (self.source.size() or size) / size)
        if self.indices.dtype == np.int32 and max(self.width, entries) > _INT32:
            self.indices = self.indices.astype(np.int64)
        self.values = _grown(self.values, int(entries * share), first)
        self.indices = _grown(self.indices, int(entries * share), first)
        self.labels = _grown(self.labels, int(rows * share), first)
        self.indptr = _grown(self.indptr, int(rows * share) + 1, first)

    def _copies(self, readers: list[Rows]) -> Iterator[Callable[[], None]]:
        for reader in readers:
            n, m = int(reader.at[kernels.ROW]), int(reader.at[kernels.ENTRY])
            yield partial(self._copy, reader, self.rows, self.entries)
            self.rows += n
            self.entries += m

    def _copy(self, reader: Rows, row: int, entry: int) -> None:
        n, m = int(reader.at[kernels.ROW]), int(reader.at[kernels.ENTRY])
        with np.errstate(over="ignore"):
            self.values[entry : entry + m] = reader.values[:m]
        self.indices[entry : entry + m] = reader.indices[:m]
        self.labels[row : row + n] = reader.labels[:n]
        np.add(reader.indptr[1 : n + 1], entry, out=self.indptr[row + 1 : row + n + 1])


def _parse(
    reader: Rows, text: bytes, lines: int, name: str, errors: list[DataError | None], k: int
) -> None:
    reader.reset()
    reader.start(text)
    try:
        reader.read(name, lines)
    except DataError as error:
        errors[k] = error


def _grown(array: Array, size: int, fresh: bool) -> Array:
    """The array with room for ``size`` entries; pages that are not used take no memory."""
    if fresh:
        room = np.empty(max(size, array.shape[0]), array.dtype)
        room[: array.shape[0]] = array
        return room
    if array.shape[0] < size:
        array.resize(max(size, int(_GROWTH * array.shape[0])), refcheck=False)
    return array
