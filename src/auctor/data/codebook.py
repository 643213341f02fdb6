"""Codebooks: the functions that the codes of binned columns stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.linalg import binned as kernels

#: Number of values of a byte.
MOST_CODES = 256
#: Columns whose codes share one 64-bit word.
IN_WORD = 8


@dataclass(frozen=True, eq=False)
class Codebook:
    """The function of one column's code that is added to the score.

    The column's part of the score of a row with code c is ::

        theta[0] line[c] + sum of the step parameters at or below c + own parameter of c

    with one parameter for the line, if there is one, then one per step, then one per code with its
    own parameter.

    Parameters
    ----------
    size : int
        Number of codes, at most 256.
    line : (size,) array, optional
        Value of each code, multiplied by one parameter.
    steps : sequence of int
        Increasing codes at which the function may jump: the parameter is added for that code and
        all larger ones.
    own : sequence of int
        Increasing codes with a parameter that is added for that code only.

    Examples
    --------
    >>> import numpy as np
    >>> book = Codebook(3, steps=(1, 2))
    >>> book.table(np.array([0.5, 2.0]))
    array([0. , 0.5, 2.5])
    """

    size: int
    line: FloatArray | None = None
    steps: Sequence[int] = ()
    own: Sequence[int] = ()

    @property
    def n_params(self) -> int:
        """Number of parameters of the column."""
        return (self.line is not None) + len(self.steps) + len(self.own)

    @cached_property
    def basis(self) -> FloatArray:
        """Matrix B with ``table(theta) = B theta``, (size, n_params)."""
        parts = [] if self.line is None else [np.asarray(self.line, dtype=np.float64)]
        codes = np.arange(self.size)
        parts += [(codes >= c).astype(np.float64) for c in self.steps]
        parts += [(codes == c).astype(np.float64) for c in self.own]
        return np.column_stack(parts) if parts else np.zeros((self.size, 0))

    def table(self, theta: FloatArray) -> FloatArray:
        """Score of every code.

        Jumps are added one by one: if all have the same sign, the table is monotone in spite of
        rounding errors.
        """
        has_line = self.line is not None
        jump = np.zeros(self.size)
        jump[list(self.steps)] = theta[has_line : has_line + len(self.steps)]
        found: FloatArray = jump.cumsum()
        if self.line is not None:
            found += theta[0] * self.line
        found[list(self.own)] += theta[has_line + len(self.steps) :]
        return found

    def only(self, kept: Array) -> tuple[Codebook, Array]:
        """The codebook with some of its parameters, and the new code of every old one.

        Codes with the same values under the kept parameters are merged.
        """
        # A new code starts at every code whose row of the reduced basis differs from the last.
        small = self.basis[:, kept]
        new = np.append(False, (small[1:] != small[:-1]).any(axis=1)).cumsum()
        first = np.flatnonzero(np.append(True, new[1:] > new[:-1]))
        has_line = self.line is not None and bool(kept[0])
        rest = kept[1:] if self.line is not None else kept
        stepped, owned = rest[: len(self.steps)], rest[len(self.steps) :]
        assert self.line is not None or not has_line
        book = Codebook(
            first.size,
            small[first, 0] if has_line else None,
            tuple(new[[c for c, use in zip(self.steps, stepped, strict=True) if use]]),
            tuple(new[[c for c, use in zip(self.own, owned, strict=True) if use]]),
        )
        return book, new.astype(np.uint8)


class CodeArrays:
    """The codebooks of all columns as arrays for kernels, padded to a multiple of 8 columns.

    ``bounds`` are the first parameters of the columns, ``sizes`` their numbers of codes; ``line``
    (columns,), ``step`` and ``own`` (columns, 256) are parameter numbers, with ``n_params`` for
    none, and ``centre`` (columns, 256) are the values of the lines.
    """

    def __init__(self, books: Sequence[Codebook]) -> None:
        padded = -(-max(1, len(books)) // IN_WORD) * IN_WORD
        width = MOST_CODES
        counts = [book.n_params for book in books] + [0] * (padded - len(books))
        self.bounds = np.concatenate(([0], np.cumsum(counts))).astype(np.uint32)
        self.n_params = int(self.bounds[-1])
        self.sizes = np.ones(padded, dtype=np.uint32)
        self.line = np.full(padded, self.n_params, dtype=np.uint32)
        self.step = np.full((padded, width), self.n_params, dtype=np.uint32)
        self.own = np.full((padded, width), self.n_params, dtype=np.uint32)
        self.centre = np.zeros((padded, width))
        for j, book in enumerate(books):
            self.sizes[j] = book.size
            at = int(self.bounds[j])
            if book.line is not None:
                self.line[j], self.centre[j, : book.size] = at, book.line
                at += 1
            self.step[j, list(book.steps)] = at + np.arange(len(book.steps))
            at += len(book.steps)
            self.own[j, list(book.own)] = at + np.arange(len(book.own))

    def tables(self, theta: FloatArray, centre: FloatArray | None = None) -> FloatArray:
        """Scores by column and code, (columns, 256), for all parameters theta."""
        out = np.zeros(self.centre.shape)
        lines = self.centre if centre is None else centre
        kernels.fill_tables(
            np.append(theta, 0.0), self.sizes, self.line, lines, self.step, self.own, out
        )
        return out

    def pull(self, histograms: FloatArray, centre: FloatArray | None = None) -> FloatArray:
        """The transpose of `tables`: sums by column and code as sums by parameter."""
        out = np.zeros(self.n_params + 1)
        lines = self.centre if centre is None else centre
        kernels.add_table_gradient(
            histograms, self.sizes, self.line, lines, self.step, self.own, out
        )
        return out[:-1]
