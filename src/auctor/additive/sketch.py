"""What bins and a schema need to know of a table, from one pass over blocks of its rows.

Every part can be merged: counts of words, distinct values, ranges, and the rows whose numbers have
the smallest hash values, which are those of `auctor.additive.sample.sampled_rows`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from auctor.additive.columns import MAX_VALUE_CODES
from auctor.additive.sample import (
    MOST_SAMPLED,
    ValueTable,
    check_tables,
    distinct_values,
    hashed,
    merged,
)
from auctor.core.types import Array, FloatArray
from auctor.tables.blocks import Block, TableFile
from auctor.tables.encode import Encoder, numbers_in
from auctor.tables.schema import Column, Schema
from auctor.tables.stats import ColumnStats

#: Words of a column of text that are counted, at most. Of more, those are kept that have more than
#: this share of the rows, for certain, and their counts are too small by at most that.
MOST_WORDS = 1 << 16


class TableSketch:
    """Statistics, few distinct values and a sample of the rows of a table.

    Parameters
    ----------
    most : int
        Rows of the sample.
    """

    def __init__(self, most: int = MOST_SAMPLED) -> None:
        self.stats = ColumnStats(most_words=MOST_WORDS)
        self._most, self._limit = most, np.uint64(2**64 - 1)
        self._few: list[ValueTable | None] = []
        self._kept: list[tuple[Array, Array, Block]] = []
        self._held = 0

    def add(self, block: Block) -> None:
        """Update it with the next rows."""
        if not self.stats.rows:
            self._few = [ValueTable(*np.empty((3, 0)))] * block.numbers.shape[1]
        number = np.arange(self.stats.rows, self.stats.rows + block.n_rows, dtype=np.uint64)
        self.stats.add(block)
        for k, known in enumerate(self._few):
            if known is not None:
                new = distinct_values(block.numbers[:, k], None)
                self._few[k] = merged([known, new], MAX_VALUE_CODES + 1)
        mixed = hashed(number)
        near = np.flatnonzero(mixed < self._limit)
        if near.size:
            check_tables(self._held + near.size, block.numbers.shape[1])
            self._kept.append((mixed[near], number[near], block.take(near)))
            self._held += near.size
        if self._held > 2 * self._most:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the rows of the smallest hash values."""
        mixed, number = (np.concatenate([one[k] for one in self._kept]) for k in (0, 1))
        whole = Block.join([one[2] for one in self._kept])
        order = np.sort(np.argsort(mixed, kind="stable")[: self._most])
        if order.size < mixed.size:
            self._limit = mixed[order].max() + np.uint64(1)
        self._kept = [(mixed[order], number[order], whole.take(order))]
        self._held = order.size

    def sample(self) -> Block:
        """The rows of the sample, in their order."""
        self._shrink()
        return self._kept[0][2]

    def tables(self, schema: Schema, file: TableFile, name: str) -> list[ValueTable]:
        """The values of every column of the matrix of a schema, which has a column for each."""
        sample = self.sample()
        encode = Encoder(schema, file, name, keeps_missing=True)
        matrix = np.asarray(encode(sample), dtype=np.float64)
        whole = sample.n_rows == self.stats.rows
        places: Mapping[str, int] = self._places(encode.kinds, file.names)
        return [
            self._table(column, places[column.name], matrix[:, at.start], whole=whole)
            for column, at in schema.places
        ]

    @staticmethod
    def _places(kinds: Sequence[str], names: Sequence[str]) -> dict[str, int]:
        """The place of each column among the numbers, or among the texts, of a block."""
        count = {"number": 0, "category": 0}
        places = {}
        for name, kind in zip(names, kinds, strict=True):
            if kind != "skip":
                places[name] = count[kind]
                count[kind] += 1
        return places

    def _table(self, column: Column, k: int, values: FloatArray, *, whole: bool) -> ValueTable:
        """The values of a column: distinct ones if they are few, else those of the sample."""
        if column.kind == "number":
            few, ends = self._few[k], (float(self.stats.facts[1, k]), float(self.stats.facts[2, k]))
            return few if few is not None else _sampled(values, None if whole else ends)
        counts = self.stats.words[k]
        rows = np.array([*counts.values(), self.stats.rows - sum(counts.values())], np.float64)
        if column.numbered:
            levels = {level: place for place, level in enumerate(column.levels or ())}
            found = np.array([*(levels.get(word, np.nan) for word in counts), np.nan])
            return ValueTable(found[rows > 0.0], rows[rows > 0.0], rows[rows > 0.0])
        found = np.append(numbers_in(column, list(counts)), np.nan)
        table = merged([ValueTable(found, rows, rows)], MAX_VALUE_CODES + 1)
        if table is not None:
            return table
        return _sampled(
            values, None if whole else (float(np.nanmin(found)), float(np.nanmax(found)))
        )


def _sampled(values: FloatArray, ends: tuple[float, float] | None) -> ValueTable:
    ones = np.ones(values.size)
    return ValueTable(values, ones, ones, ends)
