"""Workers hold the shards of a data set and compute products with them.

Every computation on the rows is one call: all workers run the same method on their shards, each
with its own arguments, and the results come back in the order of the shards. Sums over shards are
added in that order, so that they do not depend on which worker computed a part.
"""

from __future__ import annotations

import math
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from auctor.core.errors import DataError
from auctor.core.protocols import Loss
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.binned import Binned
from auctor.data.code_files import Cells, Codes, CodesInMemory, Part, Recoded, StoredCodes, coded
from auctor.data.codebook import IN_WORD, Book
from auctor.data.dense import Dense
from auctor.data.on_rows import ROW_METHODS, filled
from auctor.data.ring import Ring
from auctor.data.shards import Shard, ShardFolder, compact
from auctor.data.sparse import Sparse
from auctor.kernels.runtime.parallel import available_threads, run_tasks

#: Name of the method whose arguments are the fields of a `ResidentCall`.
RESIDENT = "resident"


#: Largest entry that is accepted, as in `auctor.data.coerce`: squares must stay finite.
LARGEST = 1e100


class ShardFacts(NamedTuple):
    """Facts about a shard that the driver keeps: shape, entries, target, checksum of its rows."""

    n_rows: int
    n_columns: int
    n_entries: int
    target: Target
    checksum: int


class Workers(Protocol):
    """Holders of shards; the only interface between a data set and an engine.

    ``gather_below`` is the number of scores and slopes of an evaluation below which they all come
    to the driver: losses that are evaluated by the workers move fewer numbers in more calls. It is
    infinite where nothing has to travel.
    """

    gather_below: float

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of `SHARD_METHODS` on every shard, in the order of the shards.

        Workers that store results also answer "resident", with the fields of a `ResidentCall`.
        """


@runtime_checkable
class Evaluating(Protocol):
    """Workers that have forms of losses of their own, such as a device."""

    def kind(self, loss: Loss) -> Any:
        """The form of a loss that is evaluated where the scores are, or None."""


def facts_of(data: Dense | Sparse, checksum: int | None = None) -> ShardFacts:
    """The facts about rows that the driver needs; by default the checksum is that of their sum."""
    if checksum is None:
        checksum = zlib.crc32(data.gradient(np.ones(data.n_rows)).tobytes())
    return ShardFacts(data.n_rows, data.n_columns, data.n_entries, data.target, checksum)


def call(
    data: Dense | Sparse, method: str, arguments: tuple[Any, ...], kept: Sequence[Any] = ()
) -> Any:
    """A method of a shard, whose arguments may be formulas of kept results; what workers run."""
    return SHARD_METHODS[method](data, *(filled(one, kept) for one in arguments))


class ResidentCall(NamedTuple):
    """A call whose arguments or result are stored in the process that holds the shard.

    Stored results have numbers, and ``owner`` tells those of different data sets apart.
    ``numbers`` are the stored results that the call uses: a `Slot` in its arguments is a position
    in this list. The result is stored under ``number``, or returned if that is None. The results
    ``dropped`` are deleted.
    """

    owner: int
    number: int | None
    method: str
    arguments: tuple[Any, ...]
    numbers: Sequence[int]
    dropped: Sequence[int]


class HeldShard:
    """A shard in the memory of a worker, with the results that are stored beside it."""

    def __init__(self, data: Dense | Sparse) -> None:
        self.data = data
        #: Stored results by the owner and the number of their `ResidentCall`.
        self.results: dict[tuple[int, int], Any] = {}

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """A method of `SHARD_METHODS`, or "resident" with the fields of a `ResidentCall`."""
        if method == RESIDENT:
            return self._resident(ResidentCall(*arguments))
        return call(self.data, method, arguments)

    def _resident(self, asked: ResidentCall) -> Any:
        """Call a method with stored results, and store its own result if that has a number."""
        known = [self.results[asked.owner, one] for one in asked.numbers]
        for old in asked.dropped:
            self.results.pop((asked.owner, old), None)
        answer = call(self.data, asked.method, asked.arguments, known)
        if asked.number is None:
            return answer
        self.results[asked.owner, asked.number] = answer
        return None


def _scores(data: Dense | Sparse, w: FloatArray, offset: float) -> FloatArray:
    return data.scores(w, offset)


def _gradient(data: Dense | Sparse, dscores: FloatArray) -> FloatArray:
    return data.gradient(dscores)


def _square_gradient(data: Dense | Sparse, h: FloatArray) -> FloatArray:
    return data.square_gradient(h)


def _sandwich(
    data: Dense | Sparse, h: FloatArray, v: FloatArray, offset: float
) -> tuple[FloatArray, float]:
    return data.sandwich(h, v, offset)


def _gram(data: Dense | Sparse, h: FloatArray) -> FloatArray:
    return data.gram(h)


def _largest(data: Dense | Sparse) -> tuple[float, int]:
    """The largest absolute entry of a shard and its row; NaN where there is one."""
    lines = data.row_lines()
    if not lines.values.size:
        return 0.0, 0
    bad = ~np.isfinite(lines.values)
    place = int(np.argmax(bad)) if bad.any() else int(np.argmax(np.abs(lines.values)))
    row = int(np.searchsorted(lines.indptr, place, side="right")) - 1
    return float(np.abs(lines.values[place])), row


def refuse_entry(shard: str, size: float, row: int) -> None:
    """Raise `DataError` for an entry of a shard that is not finite, or huge."""
    raise DataError(
        f"finite entries below {LARGEST:g}; got {size:g} in {shard}, row {row}. Correct that row, "
        "and convert the table again."
    )


def _of(data: Any, stored: Any, request: tuple[Any, ...]) -> Any:
    """A method of a stored result."""
    return SHARD_METHODS[request[0]](stored, *request[1:])


def _coded(data: Dense | Sparse, columns: Any) -> Binned:
    nothing = Target(np.empty(0))
    return Binned(columns.encoded(data.matrix), nothing, n_threads=data.n_threads)


def _cells(data: Any, coded: Binned, pairs: Sequence[Any], books: Sequence[Book]) -> Binned:
    matrix = coded.matrix.cells(pairs, books)
    return Binned(matrix, coded.target, n_threads=coded.n_threads)


def _recoded(data: Any, coded: Binned, lines: Mapping[int, Array]) -> Binned:
    return coded.recoded(lines)


def _histograms(data: Binned, r: FloatArray) -> FloatArray:
    return data.histograms(r)


def _gram_of(data: Binned, index: IntArray, h: FloatArray) -> FloatArray:
    return data.only(index).gram(h)


def _pair_sums(
    data: Binned, levels: Array, sizes: IntArray, pairs: Array, moments: Array, times: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return data.matrix.pair_sums(levels, sizes, pairs, moments, times, data.n_threads)


def _answer(data: Dense | Sparse, question: Any, rows: IntArray, weight: Any) -> Any:
    """What an object with a method ``answer`` finds in the rows."""
    return question.answer(data.matrix, rows, weight)


#: Methods of a shard by name. Other processes are sent only these names, never functions.
SHARD_METHODS: dict[str, Any] = {
    "scores": _scores,
    "gradient": _gradient,
    "square_gradient": _square_gradient,
    "sandwich": _sandwich,
    "gram": _gram,
    "largest": _largest,
    "of": _of,
    "coded": _coded,
    "cells": _cells,
    "recoded": _recoded,
    "histograms": _histograms,
    "gram_of": _gram_of,
    "pair_sums": _pair_sums,
    "answer": _answer,
    **ROW_METHODS,
}


def check_coding(coding: Any, columns: Any) -> None:
    """Refuse rows that are codes of other bins than those of some columns."""
    if coding is not None and coding.get("fingerprint") != columns.fingerprint():
        raise DataError(
            "rows coded with the bins of the model",
            got="shards of other codes",
            todo="Pass the table, or shards of numbers.",
        )


class MemoryWorkers:
    """Shards in the memory of this process, on its threads."""

    gather_below: float = math.inf

    def __init__(self, shards: Sequence[Dense | Sparse], n_threads: int | None = None) -> None:
        self.held = [HeldShard(shard) for shard in shards]
        self._threads = available_threads(n_threads)

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""
        return [facts_of(shard.data) for shard in self.held]

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on every shard, in the order of the shards."""
        answers: list[Any] = [None] * len(self.held)

        def one(at: int) -> None:
            answers[at] = self.held[at].call(method, arguments[at])

        run_tasks([partial(one, at) for at in range(len(answers))], self._threads)
        return answers


class FileWorkers:
    """Shards on the disk, read through a ring of buffers for every call.

    Parameters
    ----------
    memory : int
        Bytes for the ring of buffers.
    finite : bool
        Whether `facts` also refuses entries that are not finite or huge.
    """

    gather_below: float = math.inf

    def __init__(self, folder: ShardFolder, memory: int, *, finite: bool = True) -> None:
        self._folder, self._finite, self._memory = folder, finite, memory
        self._ring = Ring(folder.shards, memory)
        self._held = 0  # bytes of the cells that are in memory

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards; the first pass, which also checks every byte."""
        facts = []
        for number, payload in self._ring.blocks(self._check):
            shard = self._folder.shards[number]
            rows = facts_of(shard.data(payload), shard.entry.checksum)
            y, weight = compact(rows.target.y), rows.target.weight
            kept = Target(y.copy(), None if weight is None else weight.copy())
            facts.append(rows._replace(target=kept))
        return facts

    def _check(self, shard: Shard, payload: Array) -> None:
        shard.check(payload, len(self._folder.labels))
        numbers = self._folder.coding is None and shard.entry.values and shard.entry.entries
        if not (self._finite and numbers):
            return
        values = shard.array(payload, "values" if shard.sparse else "X")
        # The minimum and the maximum are NaN where an entry is.
        if not -LARGEST < float(values.min()) <= float(values.max()) < LARGEST:
            refuse_entry(shard.path.name, *_largest(shard.data(payload)))

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on every shard, in the order of the shards."""
        if self._folder.coding is not None and method != "answer":
            raise DataError(
                "shards of numbers for a linear model; got codes of bins in "
                f"{self._folder.path.name}. Fit curves, or convert the table without bins."
            )
        return [
            call(self._folder.shards[number].data(payload), method, arguments[number])
            for number, payload in self._ring.blocks()
        ]

    def keep(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Part]:
        """Store codes ("coded"), cells of pairs ("cells"), or codes of some columns ("recoded")."""
        first = arguments[0]
        codes: Codes
        if method == "cells":
            codes = self._cells(kept[0][0].codes, *first[1:])
        elif method == "recoded":
            codes = Recoded(kept[0][0].codes, [one[1] for one in arguments])
        elif self._folder.coding is not None:
            codes = self._stored(first[0])
        else:
            books, fingerprint = first[0].books, first[0].fingerprint()
            shards = self._folder.shards

            def blocks() -> Iterator[Binned]:
                for number, payload in self._ring.blocks():
                    yield _coded(shards[number].data(payload), first[0])

            codes = coded(self._folder.path, shards, books, fingerprint, self._memory, blocks)
        return [Part(codes, number) for number in range(len(arguments))]

    def _cells(self, codes: Codes, pairs: Sequence[Any], books: Sequence[Book]) -> Codes:
        """Cells of pairs: held while the sets of cells in use fit into memory, else made anew."""
        cells = Cells(codes, pairs, books)
        rows = sum(shard.entry.rows for shard in self._folder.shards)
        size = IN_WORD * -(-len(pairs) // IN_WORD) * rows
        if self._held + size > self._memory:
            return cells
        held = CodesInMemory(list(cells.blocks()))
        self._held += size
        weakref.finalize(held, self._freed, size)
        return held

    def _freed(self, size: int) -> None:
        self._held -= size

    def _stored(self, columns: Any) -> Codes:
        """The codes that the shards hold, in memory if they fit."""
        check_coding(self._folder.coding, columns)
        codes = StoredCodes(self._folder.shards, self._ring, columns.books)
        if sum(shard.n_bytes for shard in self._folder.shards) > self._memory:
            return codes
        return CodesInMemory([block.copied() for block in codes.blocks()])

    def ask(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on every shard, or on the codes of its rows."""
        if not kept[0]:
            return self.each(method, arguments)
        blocks = kept[0][0].codes.blocks()
        return [
            call(block, method, argument, [block])
            for argument, block in zip(arguments, blocks, strict=True)
        ]
