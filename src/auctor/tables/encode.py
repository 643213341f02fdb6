"""Blocks of a table to rows of a matrix, as a schema says."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from auctor.core.errors import DataError, Option
from auctor.core.types import Array, FloatArray
from auctor.kernels.text.encode import column_facts, count_entries, encode_rows, hash_bytes
from auctor.tables.amounts import all_amounts
from auctor.tables.blocks import Block, TableFile
from auctor.tables.columns import listed
from auctor.tables.dates import all_days
from auctor.tables.schema import KEEP, Column, Schema

_INT32 = np.iinfo(np.int32).max


def bucket(word: str, buckets: int) -> int:
    """Bucket of a category: the hash of its UTF-8 bytes (`hash_bytes`) modulo ``buckets``.

    The same in every process and on every machine.

    Examples
    --------
    >>> [bucket(word, 1024) for word in ("red", "green", "")]
    [5, 149, 961]
    """
    text = np.frombuffer(word.encode(), np.uint8)
    return int(hash_bytes(text, 0, text.size)) % buckets


class Encoder:
    """Turns blocks of one file into rows of a matrix.

    Columns are found by name, whatever their order, and others are left alone; a file without names
    is taken by position. ``kinds`` says how each column of the file is to be read.

    Parameters
    ----------
    schema : Schema
    file : TableFile
    name : str
        Of the file, for error messages, as is ``who``.
    keeps_missing : bool
        Leave numbers missing that the schema has no fill for, where it would refuse them.
    """

    def __init__(
        self, schema: Schema, file: TableFile, name: str, who: str, *, keeps_missing: bool = False
    ) -> None:
        self.schema, self.name, self.who = schema, name, who
        self.keeps_missing = keeps_missing
        self.columns = schema.columns or tuple(Column(name, "number") for name in file.names)
        where = self._places(file)
        self.kinds = ["skip"] * len(file.names)
        for column, place in zip(self.columns, where, strict=True):
            self.kinds[place] = "number" if column.kind == "number" else "category"
        numbers = _numbered(self.kinds, "number")
        categories = _numbered(self.kinds, "category")
        self.worded: list[tuple[int, Column]] = []  # columns of words that become numbers
        self.unseen: dict[str, int] = {}  # rows with a category that the schema lacks, by column
        places = []
        for column, place in zip(self.columns, where, strict=True):
            if column.kind in ("date", "amount"):
                places.append(len(numbers) + len(self.worded))
                self.worded.append((categories[place], column))
            elif column.kind == "number":
                places.append(numbers[place])
            else:
                places.append(-1 - categories[place])
        self.places = np.array(places, dtype=np.int64)
        widths = [column.width for column in self.columns]
        self.offsets = np.concatenate([[0], np.cumsum(widths)])[:-1].astype(np.int64)
        self.levels = [
            {level: int(offset) + k for k, level in enumerate(column.levels or ())}
            for column, offset in zip(self.columns, self.offsets, strict=True)
        ]
        self.plain = not categories and np.array_equal(self.places, np.arange(len(numbers)))

    def __call__(self, block: Block) -> Any:
        """Rows of the matrix; fills in missing numbers in place."""
        block = self.dated(block)
        self._fill(block)
        if self.plain:
            return block.numbers
        features = self._features(block)
        n, d = block.n_rows, self.schema.n_features
        if self.schema.is_sparse:
            return self._compressed(block.numbers, features)
        matrix = np.zeros((n, d))
        rows = np.arange(n)
        for place, offset in zip(self.places.tolist(), self.offsets.tolist(), strict=True):
            if place >= 0:
                matrix[:, offset] = block.numbers[:, place]
            else:
                found = features[:, -1 - place]
                known = found >= 0
                matrix[rows[known], found[known]] = 1.0
        return matrix

    def dated(self, block: Block) -> Block:
        """The block with dates and amounts as numbers behind the others; other text is missing."""
        if not self.worded:
            return block
        found = [
            np.append(numbers_in(column, block.words[k]), np.nan)[block.codes[:, k]]
            for k, column in self.worded
        ]
        return block._replace(numbers=np.column_stack([block.numbers, *found]))

    def _compressed(self, numbers: FloatArray, features: Array) -> Any:
        n, d = numbers.shape[0], self.schema.n_features
        entries = count_entries(numbers, features, self.places)
        kind = np.int32 if max(d, entries) <= _INT32 else np.int64
        indptr, indices = np.empty(n + 1, kind), np.empty(entries, kind)
        values = np.empty(entries)
        encode_rows(numbers, features, self.places, self.offsets, indptr, indices, values)
        matrix = sparse.csr_array((values, indices, indptr), shape=(n, d))
        matrix.has_canonical_format = True
        return matrix

    def _features(self, block: Block) -> Array:
        """Column of the matrix that each category stands for, -1 for none."""
        features = np.full(block.codes.shape, -1, np.int64)
        for j in np.flatnonzero(self.places < 0).tolist():
            k = -1 - int(self.places[j])
            column, offset = self.columns[j], int(self.offsets[j])
            words = [*block.words[k], *([column.fill] if column.fill else [])]
            if column.buckets:
                found = [offset + bucket(str(word), column.buckets) for word in words]
            else:
                found = [self.levels[j].get(str(word), -1) for word in words]
            lacking = np.array([place < 0 for place in found[: len(block.words[k])]], dtype=bool)
            if lacking.any():
                rows = int(np.append(lacking, False)[block.codes[:, k]].sum())
                self.unseen[column.name] = self.unseen.get(column.name, 0) + rows
            if not column.fill:
                found.append(-1)
            features[:, k] = np.array(found, dtype=np.int64)[block.codes[:, k]]
        return features

    def _fill(self, block: Block) -> None:
        """Put the fills where numbers are missing; refuse where there is none."""
        missing = column_facts(block.numbers)[0]
        refused: dict[str, int] = {}
        for column, place in zip(self.columns, self.places.tolist(), strict=True):
            if place >= 0:
                count = int(missing[place])
                if count and column.fill not in (None, KEEP):
                    values = block.numbers[:, place]
                    values[np.isnan(values)] = column.fill
            else:
                count = 0
                if column.fill is None:
                    count = int((block.codes[:, -1 - place] < 0).sum())
            if count and column.fill is None:
                refused[column.name] = count
        if refused and not self.keeps_missing:
            advice = "Fill or drop them first, or train with {option}."
            option = Option("missing", "mean")
            refuse_missing(refused, self.name, self.who, advice=advice, option=option)

    def _places(self, file: TableFile) -> list[int]:
        """Position of each column in the file."""
        wanted = [column.name for column in self.columns]
        places = {name: k for k, name in enumerate(file.names)}
        absent = [name for name in wanted if name not in places]
        by_position = not file.named or not self.schema.columns
        width = len(wanted) if self.schema.columns else self.schema.n_features
        if by_position and len(file.names) == width:
            return list(range(width))
        if not self.schema.columns:
            raise DataError(
                self.who,
                needs=f"{width} columns of numbers",
                got=f"{len(file.names)} in {self.name}",
                todo="Pass the columns that the model was trained on.",
            )
        if absent:
            raise DataError(
                self.who,
                needs="the columns that the model was trained on",
                got=f"none named {listed(absent, 20)} in {self.name}",
                todo="Add or rename them.",
            )
        return [places[name] for name in wanted]


def numbers_in(column: Column, words: list[str]) -> FloatArray:
    """The numbers that words of a date or an amount stand for, NaN for other words."""
    if column.kind == "date":
        return all_days(words, column.pattern)
    return all_amounts(words, column.pattern or ".")


def _numbered(kinds: list[str], kind: str) -> dict[int, int]:
    """Positions of the columns of a kind, each with its place among them."""
    places = [k for k, found in enumerate(kinds) if found == kind]
    return {place: k for k, place in enumerate(places)}


def refuse_missing(
    counts: dict[str, int], name: str, who: str, *, advice: str, option: str | Option
) -> None:
    """Name the columns with missing values."""
    parts = [f"{count} missing in {column!r}" for column, count in counts.items()]
    got = f"{listed(parts, 5)} of {name}"
    raise DataError(who, needs="a value in every row", got=got, todo=advice, option=option)


def fit_width(matrix: Any, n_features: int) -> Any:
    """The first ``n_features`` columns of compressed rows, with empty ones where there are less."""
    n, d = matrix.shape
    if d > n_features:
        return matrix[:, :n_features]
    if d < n_features:
        wider = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), (n, n_features))
        wider.has_canonical_format = matrix.has_canonical_format
        return wider
    return matrix
