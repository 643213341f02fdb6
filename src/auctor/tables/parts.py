"""Parts of a table on their way to a file: a matrix or columns, labels and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from auctor.core.types import Array
from auctor.data.matrices import dense_array
from auctor.tables.blocks import Block

#: Numbers; or codes, which are positions in a list of words, and the words.
Column = Array | tuple[Array, list[str]]


class RowBatch(NamedTuple):
    """Some rows to write: a matrix or a list of columns, and labels.

    Parameters
    ----------
    matrix : (n, d) array, CSR matrix, or list of columns
        A column is an array of numbers, or a pair: codes (-1 is missing) and the words.
    labels : (n,) array, optional
    """

    matrix: Any
    labels: Array | None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        if not isinstance(self.matrix, list):
            return cast(tuple[int, int], self.matrix.shape)
        first = self.matrix[0]
        return len(first[0] if isinstance(first, tuple) else first), len(self.matrix)

    @property
    def columns(self) -> list[Column]:
        """The columns as arrays; a sparse matrix is made dense."""
        if isinstance(self.matrix, list):
            return self.matrix
        array = dense_array(self.matrix)
        return [array[:, k] for k in range(array.shape[1])]


class Names(NamedTuple):
    """Names of the columns, if any, and of the label."""

    columns: list[str] | None
    label: str


def block_part(block: Block, kinds: Sequence[str]) -> RowBatch:
    """The rows of a block with its text; ``kinds`` has the kind of each column of the file."""
    columns: list[Column] = []
    n = c = 0
    for kind in kinds:
        if kind == "number":
            columns.append(block.numbers[:, n])
            n += 1
        elif kind == "category":
            columns.append((block.codes[:, c], block.words[c]))
            c += 1
    return RowBatch(columns, block.labels)
