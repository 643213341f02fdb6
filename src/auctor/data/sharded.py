"""Data in shards: on the disk, on other machines; every product is a sum over shards."""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.capabilities import Capability
from auctor.core.data_capabilities import GRAM
from auctor.core.errors import DataError, speaks, speaks_as
from auctor.core.files import AnyPath
from auctor.core.linalg import product_passes
from auctor.core.memory import check_memory
from auctor.core.protocols import Data
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.data.shards import open_folder
from auctor.data.spread import Holder, ordered_sum
from auctor.data.workers import LARGEST, FileWorkers, MemoryWorkers, ShardFacts, Workers

#: Default size in bytes of the ring of buffers that shards on the disk are read into.
BUFFER_BYTES = 512 << 20
#: Most columns for which workers send Gram matrices, which then take up to 8 MB each.
GRAM_COLUMNS = 1000
#: Vectors of one number a column that a solve needs at least.
VECTORS = 4
#: A difference of two sums counts as zero if it is smaller than this share of them.
NO_DIFFERENCE = 1e-10
#: Rows count as normalised if their mean squared length differs from 1 by at most this.
UNIT_LENGTH = 1e-6


class Sharded:
    """A data set whose rows are spread over workers.

    It offers the two products, sums of second order and, with few columns, Gram matrices: what a
    stream of blocks can offer. Sums are made in the order of the shards, so that the same seed
    gives the same bits on any number of workers.

    Parameters
    ----------
    target : Target, optional
        Instead of that of the shards.
    labels : (negative, positive), optional
        The labels behind -1 and +1; None where the targets are the labels themselves.
    factor : array, optional
        Factor of every column: the data are ``X * factor``.
    coding : dict, optional
        The bins of rows that are codes, as in a manifest.
    """

    #: Makes shards pass where code expects a matrix; the infinite size prevents dense copies.
    ndim = 2
    nnz = math.inf

    @speaks
    def __init__(
        self,
        workers: Workers,
        *,
        names: tuple[str, ...] | None = None,
        target: Target | None = None,
        facts: list[ShardFacts] | None = None,
        labels: tuple[Any, Any] | None = (-1.0, 1.0),
        factor: FloatArray | None = None,
        holder: Holder | None = None,
        coding: dict[str, Any] | None = None,
    ) -> None:
        self.workers, self.names, self.labels, self._factor = workers, names, labels, factor
        self.coding = coding
        self.facts = check_facts(workers.facts()) if facts is None else facts
        self._given = None if target is None else target.compacted()
        lengths = [facts.n_rows for facts in self.facts]
        self._ends = np.cumsum(lengths)
        #: The workers as keepers of vectors, shared by all views of the same shards.
        self.holder = Holder(workers, lengths) if holder is None else holder

    @classmethod
    def examples(cls, X: FloatArray, target: Target, n_threads: int | None) -> dict[str, Sharded]:
        """Instances the conformance kit tests: rows in three shards, and with scaled columns."""
        from auctor.data.dense import Dense

        parts = np.array_split(np.arange(X.shape[0]), 3)
        shards = [Dense(X[part], target.take(part), n_threads=1) for part in parts]
        whole = cls(MemoryWorkers(shards, n_threads)).with_target(target)
        return {
            "three": whole,
            "scaled": cls(
                MemoryWorkers(
                    [Dense(X[part] / 2.0, target.take(part), n_threads=1) for part in parts]
                )
            )
            .with_target(target)
            .scaled(np.full(X.shape[1], 2.0)),
        }

    def offers(self, capability: Capability[Data, Any]) -> bool:
        """What it implements, but Gram matrices only of few columns."""
        few = capability is not GRAM or self.n_columns <= GRAM_COLUMNS
        return few and capability.implemented(self)

    @property
    def n_rows(self) -> int:
        """Rows of all shards."""
        return int(self._ends[-1])

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.facts)

    @property
    def n_columns(self) -> int:
        """Columns."""
        return self.facts[0].n_columns

    @property
    def n_entries(self) -> int:
        """Stored entries of all shards."""
        return sum(facts.n_entries for facts in self.facts)

    @cached_property
    def target(self) -> Target:
        """Targets and weights of all rows, in the order of the shards; labels as int8."""
        if self._given is not None:
            return self._given
        targets = [facts.target for facts in self.facts]
        y = np.concatenate([target.y for target in targets])
        if all(target.weight is None for target in targets):
            return Target(y).compacted()
        parts = [np.ones(t.n_rows) if t.weight is None else t.weight for t in targets]
        return Target(y, np.concatenate(parts)).compacted()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_columns

    def fingerprint(self) -> dict[str, Any]:
        """Numbers of rows, columns and shards and a checksum, to recognise the same rows later."""
        target, sums = self.target, [facts.checksum for facts in self.facts]
        labels = 0
        for _, part in target.parts():
            labels = zlib.crc32(np.ascontiguousarray(part.y).tobytes(), labels)
        if target.weight is not None:
            labels = zlib.crc32(np.ascontiguousarray(target.weight).tobytes(), labels)
        return {
            "rows": self.n_rows,
            "columns": self.n_columns,
            "shards": self.n_shards,
            "checksum": zlib.crc32(np.array(sums, dtype="<i8").tobytes(), labels),
        }

    def row_labels(self) -> Array:
        """The label of every row, as it stood in the table."""
        if self.labels is None:
            return self.target.wide_y
        return np.array(self.labels)[(self.target.y > 0.0).astype(np.int64)]

    def labelled(self, target: Target, labels: tuple[Any, Any] | None) -> Sharded:
        """The same rows with a target of -1 and +1, and the labels behind them, or of numbers."""
        return self._changed(target=target, labels=labels)

    def with_target(self, target: Target) -> Sharded:
        """The same rows with another target."""
        return self._changed(target=target)

    def unnamed(self) -> Sharded:
        """The same rows without the names of the columns, which a schema has."""
        return self._changed(names=None)

    def scaled(self, factor: FloatArray) -> Sharded:
        """The same rows with every column multiplied by its factor."""
        known = factor if self._factor is None else self._factor * factor
        return self._changed(factor=known)

    def column_factors(self, weight: FloatArray | None = None) -> FloatArray:
        """Factors that scale columns of numbers to standard deviation one; takes two products.

        The factor is 1 for columns that do not vary, and for columns of zeros and ones, which are
        recognised by a mean square equal to their mean. All factors are 1 if the mean squared
        length of the rows is 1: such rows, usually of text, are normalised already.
        """
        share = Target(np.empty(self.n_rows), weight).share
        mean, square = self.gradient(share), self.square_gradient(share)
        variance = square - mean * mean
        least = NO_DIFFERENCE * square
        varies = (variance > least) & (np.abs(square - mean) > least)
        if abs(float(square.sum()) - 1.0) <= UNIT_LENGTH:
            varies[:] = False
        return np.where(varies, 1.0 / np.sqrt(np.where(varies, variance, 1.0)), 1.0)

    def settings(self) -> dict[str, Any]:
        """Arguments, besides the workers, that construct another view of the same shards."""
        return {
            "names": self.names,
            "target": self._given,
            "facts": self.facts,
            "labels": self.labels,
            "factor": self._factor,
            "holder": self.holder,
            "coding": self.coding,
        }

    def _changed(self, **change: Any) -> Sharded:
        return Sharded(self.workers, **self.settings() | change)

    def _times(self, values: FloatArray) -> FloatArray:
        return values if self._factor is None else values * self._factor

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        scores = np.empty(self.n_rows)
        answers = self.holder.ask("scores", self._times(w), offset)
        for part in self.holder.split(scores).parts:
            part[:] = answers.pop(0)  # frees the answer
        return scores

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        return self._times(self.holder.total("gradient", self.holder.split(dscores)))

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        squares = self.holder.total("square_gradient", self.holder.split(h))
        return self._times(self._times(squares))

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        return self._joined(
            self.holder.ask("sandwich", self.holder.split(h), self._times(v), offset)
        )

    def _joined(self, answers: list[tuple[FloatArray, float]]) -> tuple[FloatArray, float]:
        total = self._times(ordered_sum([one for one, _ in answers]))
        return total, float(sum(one for _, one in answers))

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``."""
        return self._times(self._times(self.holder.total("gram", self.holder.split(h))).T)

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram` in units of `sandwich`."""
        return product_passes(self.n_columns)


def check_facts(facts: list[ShardFacts]) -> list[ShardFacts]:
    """Refuse shards that do not fit together, or hold no rows at all."""
    if not facts or not any(one.n_rows for one in facts):
        raise DataError("some rows; got none in any shard. Pass some.")
    widths = {one.n_columns for one in facts}
    if len(widths) > 1:
        raise DataError(
            f"one number of columns in all shards; got {sorted(widths)}. Give all the same columns."
        )
    return facts


@speaks_as("open_shards")
def open_shards(
    path: AnyPath, *, positive: Any = None, memory: int = BUFFER_BYTES, check: bool = True
) -> Sharded:
    """The data set of a folder of shards, read from the disk for every product.

    Parameters
    ----------
    path : folder
        Made by ``auctor convert`` or `write_shards`.
    positive : label, optional
        The positive class; by default 1, true or yes, else the rarer one.
    memory : int
        Bytes for the ring of buffers that shards are read into.
    check : bool
        Whether the pass that verifies the checksums also looks for entries that are not finite.
    """
    folder = open_folder(path)
    check_memory(
        VECTORS * 8 * folder.n_columns,
        f"vectors of {folder.n_columns:,} columns",
        todo="Use a machine with more memory, or number the columns without gaps.",
    )
    workers = FileWorkers(folder, memory, finite=check)
    data = Sharded(workers, names=folder.names, coding=folder.coding)
    if not folder.labels:
        return data
    target = data.target
    y = folder.encoded(target.y, positive)
    return data.labelled(replace(target, y=y), folder.pair(target.y, positive))


def check_entries(data: Sharded) -> None:
    """Refuse NaN, infinity and huge entries of rows that a cluster holds, by column."""
    answers = data.workers.each("largest", [()] * data.n_shards)
    shard = next((at for at, (size, _) in enumerate(answers) if not size < LARGEST), None)
    if shard is None:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        squares = data.square_gradient(np.ones(data.n_rows))
    column = int(np.argmax(~(squares < LARGEST * LARGEST)))
    name = f"number {column}" if data.names is None else repr(data.names[column])
    size, row = answers[shard]
    raise DataError(
        f"finite entries below {LARGEST:g}; got {size:g} in row {row} of partition {shard}; column "
        f"{name} holds such entries. Drop the rows with nulls in that column, or fill them."
    )
