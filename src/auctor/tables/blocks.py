"""Rows of a file on their way to a matrix: chunks of a stream, blocks of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.tables.schema import Schema


class Chunk(NamedTuple):
    """Some rows of a stream.

    Parameters
    ----------
    matrix : (n, d) array or CSR matrix
    labels : (n,) array
        NaN where the source has no labels and none are needed.
    first_row : int
        Number of rows of the stream before these.
    columns : tuple of str, optional
        Names of the columns, where the source has them.
    label : str, optional
        Name of the label column of a table, made up where it has none.
    first_index : int, optional
        Where indices start (svmlight).
    unseen : dict, optional
        How many rows have a category that the schema lacks, by column.
    schema : Schema, optional
        How the columns of a table became the columns of the matrix, where one was used.
    """

    matrix: Any
    labels: Array
    first_row: int = 0
    columns: tuple[str, ...] | None = None
    label: str | None = None
    first_index: int | None = None
    unseen: dict[str, int] | None = None
    schema: Schema | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.matrix.shape[0])

    def part(self, low: int, high: int) -> Chunk:
        """Rows ``low`` to ``high`` of the chunk."""
        if low == 0 and high >= self.n_rows:
            return self
        return self._replace(
            matrix=self.matrix[low:high],
            labels=self.labels[low:high],
            first_row=self.first_row + low,
        )


class Block(NamedTuple):
    """Some rows of a table before its words become numbers.

    Parameters
    ----------
    numbers : (n, k) array
        Columns that are read as numbers, in the order of the file; missing ones are NaN.
    codes : (n, c) int32 array
        Columns that are read as words: positions in ``words``, -1 for a missing one.
    words : list of c lists of str
    labels : (n,) array, optional
    """

    numbers: FloatArray
    codes: Array
    words: list[list[str]]
    labels: Array | None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.numbers.shape[0])

    def part(self, low: int, high: int) -> Block:
        """Rows ``low`` to ``high``; where there are more words than rows, only those they use."""
        if low == 0 and high >= self.n_rows:
            return self
        codes = self.codes[low:high].copy()
        words = list(self.words)
        for k, known in enumerate(self.words):
            if len(known) <= high - low:
                continue
            used, places = np.unique(self.codes[low:high, k], return_inverse=True)
            missing = int(used.size > 0 and used[0] < 0)
            codes[:, k] = places - missing
            words[k] = [known[code] for code in used[missing:].tolist()]
        labels = None if self.labels is None else self.labels[low:high]
        return Block(self.numbers[low:high], codes, words, labels)

    @staticmethod
    def join(blocks: Sequence[Block]) -> Block:
        """The rows of some blocks one after the other."""
        if len(blocks) == 1:
            return blocks[0]
        words: list[dict[str, int]] = [{} for _ in blocks[0].words]
        labels = [block.labels for block in blocks if block.labels is not None]
        return Block(
            np.concatenate([block.numbers for block in blocks]),
            np.concatenate([block.recoded(words) for block in blocks]),
            [list(known) for known in words],
            np.concatenate(labels) if labels else None,
        )

    def recoded(self, words: Sequence[dict[str, int]]) -> Array:
        """The codes as numbers of the words in ``words``, to which new words are added."""
        codes = np.empty_like(self.codes)
        for k, known in enumerate(words):
            numbers = [known.setdefault(word, len(known)) for word in self.words[k]]
            codes[:, k] = np.array([*numbers, -1], dtype=np.int32)[self.codes[:, k]]
        return codes


def cut(blocks: Iterator[Block], rows: int) -> Iterator[Block]:
    """The same rows in blocks of ``rows`` rows each, but for the last one."""
    waiting: list[Block] = []
    n_waiting = 0
    for block in blocks:
        at = 0
        while n_waiting + block.n_rows - at >= rows:
            stop = at + rows - n_waiting
            yield Block.join([*waiting, block.part(at, stop)])
            waiting, n_waiting, at = [], 0, stop
        if at < block.n_rows:
            waiting.append(block.part(at, block.n_rows))
            n_waiting += block.n_rows - at
    if waiting:
        yield Block.join(waiting)


class TableFile(Protocol):
    """A file with columns.

    ``names`` are those of the columns beside the label, made up where the file has none
    (``named``). ``word_columns`` holds the positions of columns that cannot be numbers, whatever
    they contain, ``floats`` those of columns that are floating-point in the file. After `blocks`
    with ``strict=False``, ``surprises`` holds those of columns that were read as numbers and have
    something else, ``first_words`` what that was, and where.
    """

    names: tuple[str, ...]
    named: bool
    label: str | None
    word_columns: frozenset[int]
    floats: frozenset[int]
    surprises: set[int]
    first_words: dict[int, str]

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """Rows from the first one on; each column is a "number", a "category" or "skip"."""
        ...

    def long_integers(self, columns: Sequence[int]) -> dict[int, str]:
        """For each of some columns of numbers that has one, a whole number beyond 2^53."""
        ...
