"""Parts of a file: blocks of numbers and words, and chunks of the encoded matrix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.tables.schema import Schema

if TYPE_CHECKING:
    from auctor.tables.lost import Lost

#: Largest index of a sparse matrix with 32-bit indices; larger ones need 64 bits.
INT32_MAX = np.iinfo(np.int32).max
#: Factor by which a full array grows.
GROWTH_FACTOR = 1.25


class Chunk(NamedTuple):
    """Some rows of a stream.

    Parameters
    ----------
    matrix : (n, d) array or CSR matrix
    labels : (n,) array
        NaN if the source has no labels and none are needed.
    first_row : int
        Number of rows of the stream before the chunk.
    columns : tuple of str, optional
        Names of the columns, if the source has them.
    label : str, optional
        Name of the label column of a table; a default name if the table has none.
    first_index : int, optional
        First index of svmlight rows: 0 or 1.
    lost : dict, optional
        Counts of the values that the schema cannot use, by column.
    schema : Schema, optional
        The schema by which a table was encoded.
    """

    matrix: Any
    labels: Array
    first_row: int = 0
    columns: tuple[str, ...] | None = None
    label: str | None = None
    first_index: int | None = None
    lost: Mapping[str, Lost] | None = None
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
    """Some rows of a table before text is encoded as numbers.

    Parameters
    ----------
    numbers : (n, k) array
        Columns that are read as numbers, in the order of the file; NaN is missing.
    codes : (n, c) int32 array
        Columns that are read as text: positions in ``words``, -1 is missing.
    words : list of c lists of str
        The distinct words of each column of text.
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
        """Rows ``low`` to ``high``; words they do not use are dropped if words outnumber rows."""
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

    def take(self, index: Array) -> Block:
        """Some rows, with the words that they use."""
        codes, words = np.empty((index.size, self.codes.shape[1]), np.int32), []
        for k, known in enumerate(self.words):
            used, places = np.unique(self.codes[index, k], return_inverse=True)
            missing = int(used.size > 0 and used[0] < 0)
            codes[:, k] = places - missing
            words.append([known[code] for code in used[missing:].tolist()])
        labels = None if self.labels is None else self.labels[index]
        return Block(self.numbers[index], codes, words, labels)

    @staticmethod
    def join(blocks: Sequence[Block]) -> Block:
        """One block with the rows of several."""
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
        """The codes of the words in a shared dictionary ``words``, to which new words are added."""
        codes = np.empty_like(self.codes)
        for k, known in enumerate(words):
            numbers = [known.setdefault(word, len(known)) for word in self.words[k]]
            # The entry behind the last is for the code -1, a missing word.
            codes[:, k] = np.array([*numbers, -1], dtype=np.int32)[self.codes[:, k]]
        return codes


def cut(blocks: Iterator[Block], rows: int) -> Iterator[Block]:
    """Regroup rows into blocks of exactly ``rows`` rows; only the last may have fewer."""
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
    """A file with columns; columns are numbered in the order of the file, without the label.

    Attributes
    ----------
    names : tuple of str
        Names of the columns; default names if the file has none.
    named : bool
        Whether the file has names.
    label : str, optional
        Name of the label column.
    text_columns : frozenset of int
        Columns that are categories by their type, even if all their values spell numbers.
    float_columns : frozenset of int
        Columns whose type in the file is floating point.
    non_numeric : set of int
        After `blocks` with ``strict=False``: columns that were to be read as numbers and have
        other text.
    first_non_numbers : dict
        The first such text of each of these columns, and where it is, for messages.
    """

    names: tuple[str, ...]
    named: bool
    label: str | None
    text_columns: frozenset[int]
    float_columns: frozenset[int]
    non_numeric: set[int]
    first_non_numbers: dict[int, str]

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """All rows; ``kinds`` reads each column as "number", "category" or "skip"."""
        ...

    def long_integers(self, columns: Sequence[int]) -> dict[int, str]:
        """The first whole number beyond 2^53 in each of some columns that has one, as text."""
        ...
