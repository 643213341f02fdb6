"""Coded columns of rows in shards: one byte per entry, stored where the rows are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.capabilities import Capability
from auctor.core.data_capabilities import GRAM, SUBSETS
from auctor.core.protocols import Data
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.binned import PAIR_COST
from auctor.data.codebook import Book, CodeArrays
from auctor.data.sharded import Sharded
from auctor.data.spread import Holder, Leaf, PerShard
from auctor.data.workers import ShardFacts


class StoredWorkers:
    """Workers whose shards are results that other workers store.

    Parameters
    ----------
    holder : Holder
        Of the other workers.
    stored : Leaf
        The results.
    known : list of ShardFacts
    """

    gather_below: float = math.inf

    def __init__(self, holder: Holder, stored: Leaf, known: list[ShardFacts]) -> None:
        self.holder, self.stored, self._known = holder, stored, known

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""
        return self._known

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on every stored shard, in the order of the shards."""
        return self.holder.ask("of", self.stored, PerShard([(method, *one) for one in arguments]))


class CodedShards(Sharded):
    """Data of step functions whose codes are stored by the workers of rows in shards.

    Parameters
    ----------
    workers : StoredWorkers
    books : sequence of Codebook
    target : Target
    index : int array, optional
        The columns that it has; by default all parameters of the codebooks.
    """

    def __init__(
        self,
        workers: StoredWorkers,
        books: Sequence[Book],
        *,
        target: Target,
        holder: Holder | None = None,
        index: IntArray | None = None,
    ) -> None:
        super().__init__(workers, target=target, facts=workers.facts(), holder=holder)
        self.books, self._index, self._stored = books, index, workers

    @classmethod
    def of(cls, data: Sharded, columns: Any, books: Sequence[Book]) -> CodedShards:
        """The rows coded by the bins of their columns, which have a method ``encoded``."""
        return cls._of(data.holder, data.holder.keep("coded", columns), data, books)

    @classmethod
    def _of(cls, holder: Holder, stored: Leaf, data: Sharded, books: Sequence[Book]) -> CodedShards:
        return cls(StoredWorkers(holder, stored, data.facts), books, target=data.target)

    @cached_property
    def arrays(self) -> CodeArrays:
        """The codebooks as arrays."""
        return CodeArrays(self.books)

    @property
    def n_columns(self) -> int:
        """Columns: parameters of the codebooks."""
        return self.arrays.n_params if self._index is None else int(self._index.size)

    @property
    def n_entries(self) -> int:
        """Codes of all rows."""
        return self.n_rows * len(self.books)

    def offers(self, capability: Capability[Data, Any]) -> bool:
        """All that is implemented; with maps, whose parameters are many, no Gram matrices."""
        single = not self.arrays.maps.size or capability not in (GRAM, SUBSETS)
        return single and capability.implemented(self)

    def data(self, target: Target, n_threads: int | None = None) -> CodedShards:
        """The same columns with another target; threads are those of the workers."""
        return self._changed(target=target)

    def _changed(self, **change: Any) -> CodedShards:
        settings: dict[str, Any] = {
            "target": self.target,
            "holder": self.holder,
            "index": self._index,
        }
        return CodedShards(self._stored, self.books, **settings | change)

    def only(self, index: IntArray) -> CodedShards:
        """The columns ``index`` with the targets of all rows."""
        return self._changed(index=index if self._index is None else self._index[index])

    def _full(self, w: FloatArray) -> FloatArray:
        """A vector of the columns as one of all parameters."""
        if self._index is None:
            return w
        out = np.zeros(self.arrays.n_params)
        out[self._index] = w
        return out

    def _own(self, values: FloatArray) -> FloatArray:
        return values if self._index is None else values[self._index]

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        return super().scores(self._full(w), offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        return self._own(super().gradient(dscores))

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        return self._own(super().square_gradient(h))

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        product, total = super().sandwich(h, self._full(v), offset)
        return self._own(product), total

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``, from histograms of pairs of columns."""
        index = np.arange(self.n_columns) if self._index is None else self._index
        total: FloatArray = self.holder.total("gram_of", index, self.holder.split(h))
        return total

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram` in units of `sandwich`."""
        return 1.0 + PAIR_COST * 0.5 * (len(self.books) + 1)

    # --- further columns, and sums for them ---------------------------------------------------

    def histograms(self, r: FloatArray) -> FloatArray:
        """Sums of r by column and code, (columns, 256)."""
        total: FloatArray = self.holder.total("histograms", self.holder.split(r))
        return total[: len(self.books)]

    def cells(self, pairs: Sequence[Any], books: Sequence[Book]) -> CodedShards:
        """Pairs of the columns as columns of cells; a pair has a method ``codes``."""
        holder = self._stored.holder
        stored = holder.keep("cells", self._stored.stored, list(pairs), list(books))
        return self._of(holder, stored, self, books)

    def with_codes(self, lines: Mapping[int, Array]) -> CodedShards:
        """The same columns with other codes of some, by number."""
        split = {j: self.holder.split(codes).parts for j, codes in lines.items()}
        count = range(len(self.holder.lengths))
        own = PerShard([{j: parts[k] for j, parts in split.items()} for k in count])
        holder = self._stored.holder
        return self._of(holder, holder.keep("recoded", self._stored.stored, own), self, self.books)

    def joined(self, other: CodedShards) -> SideBySide:
        """These columns, then others."""
        return SideBySide(self, other)

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
        split = self.holder.split
        answers = self.holder.ask("pair_sums", levels, sizes, pairs, split(moments), split(times))
        sums, counts = answers[0]
        for more, others in answers[1:]:
            sums += more
            counts += others
        return sums, counts


class SideBySide:
    """The columns of two data sets of the same rows, one after the other.

    Parameters
    ----------
    first, second : CodedShards
    """

    def __init__(self, first: CodedShards, second: CodedShards) -> None:
        self.first, self.second = first, second

    def with_first(self, first: CodedShards) -> SideBySide:
        """Other columns in the place of the first ones."""
        return SideBySide(first, self.second)

    def data(self, target: Target, n_threads: int | None = None) -> SideBySide:
        """The same columns with another target."""
        return SideBySide(self.first.data(target), self.second.data(target))

    @property
    def target(self) -> Target:
        """That of both."""
        return self.first.target

    @property
    def n_rows(self) -> int:
        """Rows."""
        return self.first.n_rows

    @property
    def n_columns(self) -> int:
        """Columns of both."""
        return self.first.n_columns + self.second.n_columns

    @property
    def n_entries(self) -> int:
        """Stored entries of both."""
        return self.first.n_entries + self.second.n_entries

    def _halves(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        return w[: self.first.n_columns], w[self.first.n_columns :]

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        one, two = self._halves(w)
        return self.first.scores(one, offset) + self.second.scores(two)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        return np.append(self.first.gradient(dscores), self.second.gradient(dscores))

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        return np.append(self.first.square_gradient(h), self.second.square_gradient(h))

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        z = h * self.scores(v, offset)
        return self.gradient(z), float(z.sum())
