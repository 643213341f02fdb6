"""Columns that are step functions, stored as one byte per entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from auctor.core.capabilities import Capability
from auctor.core.data_capabilities import GRAM, SUBSETS
from auctor.core.protocols import Data
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.binned_gram import coded_gram
from auctor.data.blocks import InMemory
from auctor.data.codebook import IN_WORD, MOST_CODES, Book, CodeArrays, Codebook, MapBook
from auctor.data.dense import Dense
from auctor.data.sparse import Sparse
from auctor.kernels.additive.screen import pair_sums
from auctor.kernels.linalg import binned as kernels
from auctor.kernels.runtime.eight import EIGHT
from auctor.kernels.runtime.parallel import SERIAL_WORK, available_threads, even_cuts, run_tasks

#: Cost of an entry of a pair histogram, in units of an entry of `Binned.sandwich`.
PAIR_COST = 1.5


@dataclass(frozen=True, eq=False)
class BinnedMatrix:
    """A matrix of step functions: codes, their codebooks, and further columns as numbers.

    Parameters
    ----------
    words : (k, n) uint64 array
        Codes of eight columns in each word; `pack` makes them.
    books : sequence of Codebook
        One per column of codes.
    uncoded : array, CSR or CSC matrix, optional
        Further columns as numbers: raw columns, or indicators of categories.
    where : tuple of two int arrays, optional
        Positions, among all columns of the matrix, of the parameters of the codebooks, and of the
        columns of ``uncoded``; by default the codebooks come first.

    Examples
    --------
    >>> import numpy as np
    >>> words = pack(np.array([[0, 1, 2]], dtype=np.uint8))
    >>> matrix = BinnedMatrix(words, [Codebook(3, steps=(1, 2))])
    >>> matrix.shape
    (3, 2)
    >>> matrix.to_dense()
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    """

    words: Array
    books: Sequence[Book]
    uncoded: Any = None
    where: tuple[IntArray, IntArray] | None = None

    @cached_property
    def arrays(self) -> CodeArrays:
        """The codebooks as arrays for the kernels."""
        return CodeArrays(self.books)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns: parameters of the codebooks plus ``uncoded``."""
        wide = 0 if self.uncoded is None else int(self.uncoded.shape[1])
        return int(self.words.shape[1]), self.arrays.n_params + wide

    @property
    def nnz(self) -> int:
        """Number of stored entries: one per row and column of codes, plus those of ``uncoded``."""
        return self.shape[0] * len(self.books) + self.n_uncoded

    @property
    def n_uncoded(self) -> int:
        """Number of stored entries of ``uncoded``."""
        return 0 if self.uncoded is None else int(getattr(self.uncoded, "nnz", self.uncoded.size))

    @property
    def n_bytes(self) -> int:
        """Bytes of the codes and of the codebooks' arrays."""
        arrays = self.arrays
        tables = (arrays.centre, arrays.step, arrays.own)
        return int(self.words.nbytes + sum(table.nbytes for table in tables))

    @cached_property
    def positions(self) -> tuple[IntArray, IntArray]:
        """Positions of the codebooks' parameters and of the columns of ``uncoded``."""
        if self.where is not None:
            return self.where
        d = self.arrays.n_params
        return np.arange(d), np.arange(d, self.shape[1])

    def codes(self) -> Array:
        """A copy of the codes, (columns, n) bytes."""
        return unpack(self.words, len(self.books))

    def with_codes(self, lines: Mapping[int, Array]) -> BinnedMatrix:
        """A copy with other codes of some columns, by number."""
        words = self.words.copy()
        for j, codes in lines.items():
            word, shift = words[j // IN_WORD], np.uint64(8 * (j % IN_WORD))
            word &= ~(np.uint64(255) << shift)
            word |= codes.astype(np.uint64) << shift
        return replace(self, words=words)

    def data(self, target: Target, n_threads: int | None = None) -> Binned:
        """The columns with a target."""
        return Binned(self, target, n_threads=n_threads)

    def cells(self, pairs: Sequence[Any], books: Sequence[Book]) -> BinnedMatrix:
        """Pairs of the columns as columns of cells, by the methods ``codes`` of the pairs."""
        lines = np.empty((len(pairs), self.words.shape[1]), dtype=np.uint8)
        known: dict[int, Array] = {}
        for k, pair in enumerate(pairs):
            for j in (pair.first, pair.second):
                if j not in known:
                    known[j] = unpack_one(self.words, j)
            lines[k] = pair.codes(known[pair.first], known[pair.second])
        return BinnedMatrix(pack(lines), books)

    def some(self, columns: IntArray) -> BinnedMatrix:
        """Some of the columns of codes, by number."""
        lines = np.array([unpack_one(self.words, j) for j in columns.tolist()])
        return BinnedMatrix(pack(lines), [self.books[j] for j in columns])

    def joined(self, other: BinnedMatrix) -> BinnedMatrix:
        """These columns of codes, then others."""
        lines = np.concatenate([self.codes(), other.codes()])
        return BinnedMatrix(pack(lines), [*self.books, *other.books])

    def histograms(self, r: FloatArray) -> FloatArray:
        """Sums of r by column and code, (columns, 256)."""
        return self.data(Target(np.empty(0))).histograms(r)[: len(self.books)]

    def pair_sums(
        self,
        levels: Array,
        sizes: IntArray,
        pairs: Array,
        moments: Array,
        times: FloatArray,
        n_threads: int | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Sums of the moments (n, K) of the rows by cell of each pair of columns, and of ``times``.

        ``levels`` (columns, 256) are the levels of the codes, and ``sizes`` their numbers.
        """
        used, numbers = np.unique(pairs, return_inverse=True)
        lines = np.array([levels[j][unpack_one(self.words, j)] for j in used.tolist()])
        parts = available_threads(n_threads)
        cuts = even_cuts(pairs.shape[0], min(4 * parts, pairs.shape[0]))
        sums = np.zeros((pairs.shape[0], MOST_CODES, moments.shape[1]))
        counts = np.zeros((pairs.shape[0], MOST_CODES))
        one = partial(
            pair_sums,
            lines,
            sizes[used],
            numbers.reshape(pairs.shape),
            moments,
            times,
            sums,
            counts,
        )
        run_tasks([partial(one, low, high) for low, high in pairwise(cuts)], parts)
        return sums, counts

    def __getitem__(self, index: Any) -> BinnedMatrix:
        """Some rows."""
        uncoded = None if self.uncoded is None else self.uncoded[index]
        return replace(self, words=np.ascontiguousarray(self.words[:, index]), uncoded=uncoded)

    def to_dense(self) -> FloatArray:
        """The whole matrix as float64, one column per parameter."""
        out = np.zeros(self.shape)
        first, second = self.positions
        bounds = self.arrays.bounds
        for j, (book, line) in enumerate(zip(self.books, self.codes(), strict=True)):
            out[:, first[int(bounds[j]) : int(bounds[j + 1])]] = book.basis[line]
        if self.uncoded is not None:
            dense = isinstance(self.uncoded, np.ndarray)
            out[:, second] = self.uncoded if dense else self.uncoded.toarray()
        return out

    def only(self, index: IntArray) -> BinnedMatrix:
        """Some columns, in the given order."""
        first, second = self.positions
        # New position of every column, -1 for columns that are dropped.
        slot = np.full(self.shape[1], -1, dtype=np.int64)
        slot[index] = np.arange(index.size)
        # Columns of codes keep the chosen parameters only; equal codes are merged.
        is_kept, bounds = slot[first] >= 0, self.arrays.bounds.astype(np.int64)
        books, lines = [], []
        for j, book in enumerate(self.books):
            kept = is_kept[bounds[j] : bounds[j + 1]]
            if kept.any():
                assert not isinstance(book, MapBook)  # data with maps do not offer it
                small, new = book.only(kept)
                books.append(small)
                lines.append(new[unpack_one(self.words, j)])
        n = self.shape[0]
        codes = np.array(lines) if lines else np.zeros((0, n), dtype=np.uint8)
        uncoded, there = None, slot[second] >= 0
        if self.uncoded is not None and there.any():
            uncoded = self.uncoded[:, np.flatnonzero(there)]
            if isinstance(uncoded, np.ndarray):
                uncoded = np.ascontiguousarray(uncoded)
        where = slot[first][is_kept], slot[second][there]
        return BinnedMatrix(pack(codes), books, uncoded, where)


def pack(codes: Array) -> Array:
    """Codes (p, n), one row of bytes per column, as words of eight columns (k, n)."""
    p, n = codes.shape
    size = -(-max(1, p) // IN_WORD)
    # Byte j of a word is column j: interleave the columns, then view eight bytes as a word.
    together = np.zeros((size, n, IN_WORD), dtype=np.uint8)
    for j in range(p):
        together[j // IN_WORD, :, j % IN_WORD] = codes[j]
    words: Array = together.view("<u8").reshape(size, n)
    return words.astype(np.uint64, copy=False)


def unpack_one(words: Array, j: int) -> Array:
    """Codes (n,) of column j."""
    line: Array = (words[j // IN_WORD] >> np.uint64(8 * (j % IN_WORD))).astype(np.uint8)
    return line


def unpack(words: Array, p: int) -> Array:
    """Codes (p, n) of the first p columns."""
    out = np.empty((p, words.shape[1]), dtype=np.uint8)
    for j in range(p):
        out[j] = unpack_one(words, j)
    return out


class Binned(InMemory):
    """Data over a `BinnedMatrix`: the two products read one byte per entry.

    Scores are sums of table entries, where a table holds cumulative sums of the parameters. The
    gradient is a histogram per column and its cumulative sums from the end. A Gram matrix takes one
    histogram per pair of columns, however many parameters these have. The matrix is never expanded,
    so there is no access to single rows and columns; `only` makes a copy with fewer columns.

    Examples
    --------
    >>> import numpy as np
    >>> words = pack(np.array([[0, 1, 2]], dtype=np.uint8))
    >>> matrix = BinnedMatrix(words, [Codebook(3, steps=(1, 2))])
    >>> data = Binned(matrix, Target(np.array([1.0, -1.0, 1.0])))
    >>> data.scores(np.array([0.5, 2.0]))
    array([0. , 0.5, 2.5])
    >>> data.gradient(np.array([1.0, 10.0, 100.0]))
    array([110., 100.])
    """

    def __init__(
        self, matrix: BinnedMatrix, target: Target, *, n_threads: int | None = None
    ) -> None:
        super().__init__(matrix.shape, target, n_threads)
        self.matrix = matrix
        self.n_entries = matrix.nnz
        self._first, self._second = matrix.positions
        self._uncoded = _uncoded(matrix.uncoded, self.n_threads)

    def offers(self, capability: Capability[Data, Any]) -> bool:
        """All that is implemented; with maps, whose parameters are many, no Gram matrices."""
        single = not self.matrix.arrays.maps.size or capability not in (GRAM, SUBSETS)
        return single and capability.implemented(self)

    def copied(self) -> Binned:
        """The same with codes of its own, where these are those of a buffer."""
        matrix = replace(self.matrix, words=self.matrix.words.copy())
        return Binned(matrix, self.target, n_threads=self.n_threads)

    def recoded(self, lines: Mapping[int, Array]) -> Binned:
        """The same with other codes of some columns, by number."""
        return Binned(self.matrix.with_codes(lines), self.target, n_threads=self.n_threads)

    def _cuts(self, parts: int) -> list[int]:
        return even_cuts(self.n_rows, parts)

    def _looked_up(self, tables: FloatArray, offset: float) -> FloatArray:
        """Sums over the columns of table entries at the rows' codes, plus the offset."""
        out = np.empty(self.n_rows)
        words = self.matrix.words
        self._map(lambda low, high: kernels.look_up(words, tables, offset, out, low, high))
        return out

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        out = self._looked_up(self.matrix.arrays.tables(w[self._first]), offset)
        if self._uncoded is not None:
            out += self._uncoded.scores(w[self._second])
        return out

    def histograms(self, r: FloatArray) -> FloatArray:
        """Sums of r by column and code, (columns, 256)."""
        words = self.matrix.words
        out = np.zeros(self.matrix.arrays.centre.shape)
        # Each thread has its own columns, so that every sum is in the order of the rows.
        parts = self.n_threads if self.n_entries > SERIAL_WORK else 1
        cuts = even_cuts(words.shape[0], min(parts, words.shape[0]))
        tasks = [
            partial(kernels.add_histograms, words, r, out, low, high)
            for low, high in pairwise(cuts)
        ]
        run_tasks(tasks, parts)
        return out

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        out = np.empty(self.n_columns)
        out[self._first] = self.matrix.arrays.pull(self.histograms(dscores))
        if self._uncoded is not None:
            out[self._second] = self._uncoded.gradient(dscores)
        return out

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        z = h * self.scores(v, offset)
        return self.gradient(z), float(z.sum())

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``; steps, being 0 or 1, equal their squares."""
        out = np.empty(self.n_columns)
        arrays = self.matrix.arrays
        out[self._first] = arrays.pull(self.histograms(h), squared=True)
        if self._uncoded is not None:
            out[self._second] = self._uncoded.square_gradient(h)
        return out

    def row_lengths(self, scale: FloatArray) -> FloatArray:
        """``sum_j scale_j x_ij^2`` of every row."""
        arrays = self.matrix.arrays
        out = self._looked_up(arrays.tables(scale[self._first], squared=True), 0.0)
        if self._uncoded is not None:
            out += self._uncoded.row_lengths(scale[self._second])
        return out

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``, from histograms of pairs of columns."""
        out = np.zeros((self.n_columns, self.n_columns))
        out[np.ix_(self._first, self._first)] = coded_gram(self, h)
        if self._uncoded is not None:
            out[np.ix_(self._second, self._second)] = self._uncoded.gram(h)
            columns = self._uncoded.columns()
            arrays = self.matrix.arrays
            # Products of a column of ``uncoded`` with all codes: histograms of h times the column.
            for k, place in enumerate(self._second):
                part = slice(int(columns.indptr[k]), int(columns.indptr[k + 1]))
                line = np.zeros(self.n_rows)
                line[columns.indices[part]] = columns.values[part]
                out[self._first, place] = arrays.pull(self.histograms(h * line))
                out[place, self._first] = out[self._first, place]
        return out

    def gradients(self, r: FloatArray) -> FloatArray:
        """Gradients in the coded parameters, (m, d), of up to eight columns of r, (n, m)."""
        out, pull = self.joint_histograms(r), self.matrix.arrays.pull
        return np.array([pull(np.ascontiguousarray(out[:, :, m])) for m in range(r.shape[1])])

    def joint_histograms(self, r: FloatArray) -> FloatArray:
        """Sums of up to eight columns of r by column and code, (columns, 256, 8).

        The codes are read once for all of them.
        """
        words, count = self.matrix.words, r.shape[1]
        if count < EIGHT:
            r = np.pad(r, ((0, 0), (0, EIGHT - count)))
        out = np.zeros((*self.matrix.arrays.centre.shape, EIGHT))
        parts = self.n_threads if self.n_entries > SERIAL_WORK else 1
        cuts = even_cuts(words.shape[0], min(parts, words.shape[0]))
        add = partial(kernels.add_histograms_eight, words, r, out)
        run_tasks([partial(add, low, high) for low, high in pairwise(cuts)], parts)
        return out

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram` in units of `sandwich`."""
        pairs = 0.5 * (len(self.matrix.books) + 1)
        return 1.0 + PAIR_COST * pairs

    def entries(self, index: IntArray) -> float:
        """Stored entries of the rows ``index``."""
        return float(self.n_entries) * index.size / max(1, self.n_rows)

    def rows(self, index: IntArray) -> Binned:
        """The rows ``index`` with their targets."""
        return Binned(self.matrix[index], self.target.take(index), n_threads=self.n_threads)

    def only(self, index: IntArray) -> Binned:
        """The columns ``index`` with the targets of all rows; equal codes are merged."""
        return Binned(self.matrix.only(index), self.target, n_threads=self.n_threads)

    @classmethod
    def examples(cls, X: FloatArray, target: Target, n_threads: int | None) -> dict[str, Binned]:
        """A numeric matrix with columns coded by their distinct values, for the conformance kit.

        Columns with more than 256 distinct values, and every third one in the examples named
        "uncoded", are stored as numbers.
        """
        from scipy.sparse import csr_array

        few = np.array([np.unique(column).size <= MOST_CODES for column in X.T])
        third = few & (np.arange(X.shape[1]) % 3 != 0)
        return {
            name: cls(_coded(X, coded, store), target, n_threads=n_threads)
            for name, coded, store in (
                ("codes", few, np.ascontiguousarray),
                ("uncoded-dense", third, np.ascontiguousarray),
                ("uncoded-sparse", third, csr_array),
            )
        }


def _coded(X: FloatArray, coded: Array, store: Any) -> BinnedMatrix:
    """A matrix with the columns ``coded`` as codes of their values, the others as numbers."""
    first, second = np.flatnonzero(coded), np.flatnonzero(~coded)
    books, lines = [], np.zeros((first.size, X.shape[0]), dtype=np.uint8)
    for k, j in enumerate(first):
        values, lines[k] = np.unique(X[:, j], return_inverse=True)
        books.append(Codebook(values.size, values))
    uncoded = store(X[:, second]) if second.size else None
    return BinnedMatrix(pack(lines), books, uncoded, (first, second))


def _uncoded(matrix: Any, n_threads: int) -> Dense | Sparse | None:
    """Data of the uncoded columns, or None."""
    if matrix is None:
        return None
    kind = Dense if isinstance(matrix, np.ndarray) else Sparse
    return kind(matrix, Target(np.empty(0)), n_threads=n_threads)
