"""Codebooks: the functions that the codes of binned columns, and of pairs of them, stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
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


@dataclass(frozen=True, eq=False)
class MapBook:
    """The function of the cell of two columns that is added to the score: steps times steps.

    Cell ``x * shape[1] + y`` of the levels x and y adds ::

        sum over i, j of theta_ij s_i(x) t_j(y),   s_i(x) = 1[x >= cut_i] - mean_i

    so that the map is a two-dimensional running sum of the parameters. With the means of the steps
    over the rows, the map has little effect of one column alone, and none if columns are
    independent.

    Parameters
    ----------
    shape : tuple of two int
        Levels of either side; the product is at most 256.
    means : tuple of two arrays
        Mean of the step at every level from 1 on. A step with a mean of 0 or 1, which is the same
        for all rows, has no parameters.

    Examples
    --------
    >>> import numpy as np
    >>> MapBook((2, 2), (np.array([0.5]), np.array([0.5]))).table(np.array([4.0]))
    array([ 1., -1., -1.,  1.])
    """

    shape: tuple[int, int]
    means: tuple[FloatArray, FloatArray]

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def cuts(self) -> tuple[IntArray, IntArray]:
        """Levels at which the steps of either side are."""
        one, two = (1 + np.flatnonzero((m > 0.0) & (m < 1.0)) for m in self.means)
        return one, two

    @property
    def n_params(self) -> int:
        """Number of parameters: of all products of a step of either side."""
        return int(self.cuts[0].size * self.cuts[1].size)

    @cached_property
    def basis(self) -> FloatArray:
        """Matrix B with ``table(theta) = B theta``, (size, n_params)."""
        sides = [
            (np.arange(size)[:, None] >= cuts) - means[cuts - 1]
            for size, cuts, means in zip(self.shape, self.cuts, self.means, strict=True)
        ]
        return np.asarray(np.kron(sides[0], sides[1]), dtype=np.float64)

    def table(self, theta: FloatArray) -> FloatArray:
        """Score of every cell."""
        return CodeArrays([self]).tables(theta)[0, : self.size]


@dataclass(frozen=True, eq=False)
class BasisBook:
    """Any function of a column's code that is linear in some parameters.

    Parameters
    ----------
    basis : (size, n_params) array
        Matrix B with ``table(theta) = B theta``.

    Examples
    --------
    >>> import numpy as np
    >>> BasisBook(np.array([[0.0, 1.0], [2.0, 1.0]])).table(np.array([3.0, 4.0]))
    array([ 4., 10.])
    """

    basis: FloatArray

    @property
    def size(self) -> int:
        """Number of codes."""
        return int(self.basis.shape[0])

    @property
    def n_params(self) -> int:
        """Number of parameters."""
        return int(self.basis.shape[1])

    def table(self, theta: FloatArray) -> FloatArray:
        """Score of every code, summed in the order of the parameters.

        If every part rises, so does the sum in spite of rounding errors.
        """
        if not self.n_params:
            return np.zeros(self.size)
        table: FloatArray = np.cumsum(self.basis * theta, axis=1)[:, -1]
        return table

    def only(self, kept: Array) -> tuple[BasisBook, Array]:
        """The book with some of its parameters, and the new code of every old one."""
        return BasisBook(self.basis[:, kept]), np.arange(self.size).astype(np.uint8)


Book: TypeAlias = Codebook | MapBook | BasisBook


class CodeArrays:
    """The codebooks of all columns as arrays for kernels, padded to a multiple of 8 columns.

    ``bounds`` are the first parameters of the columns, ``sizes`` their numbers of codes, 0 for
    maps; ``line`` (columns,), ``step`` and ``own`` (columns, 256) are parameter numbers, with
    ``n_params`` for none, and ``centre`` (columns, 256) are the values of the lines. ``others`` are
    the columns that have a basis, with their first parameters; their size is 0, too. ``maps`` has a
    line for every map: its column, its first parameter, and its numbers of levels and of cuts.
    ``cuts`` and ``means`` (maps, 2, 256) are the cuts of its sides and the means of the steps.
    """

    def __init__(self, books: Sequence[Book]) -> None:
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
        maps, sides = [], []
        self.others: list[tuple[int, int, FloatArray]] = []
        for j, book in enumerate(books):
            at = int(self.bounds[j])
            if isinstance(book, BasisBook):
                self.sizes[j] = 0
                self.others.append((j, at, book.basis))
                continue
            if isinstance(book, MapBook):
                self.sizes[j] = 0
                maps.append((j, at, *book.shape, *(cuts.size for cuts in book.cuts)))
                sides.append((book.cuts, book.means))
                continue
            self.sizes[j] = book.size
            if book.line is not None:
                self.line[j], self.centre[j, : book.size] = at, book.line
                at += 1
            self.step[j, list(book.steps)] = at + np.arange(len(book.steps))
            at += len(book.steps)
            self.own[j, list(book.own)] = at + np.arange(len(book.own))
        self.maps = np.array(maps, dtype=np.uint32).reshape(-1, 6)
        self.cuts = np.zeros((len(sides), 2, width), dtype=np.uint32)
        self.means = np.zeros((len(sides), 2, width))
        for q, side in enumerate(sides):
            for k, (cuts, means) in enumerate(zip(*side, strict=True)):
                self.cuts[q, k, : cuts.size] = cuts
                self.means[q, k, : cuts.size] = means[cuts - 1]

    def tables(self, theta: FloatArray, *, squared: bool = False) -> FloatArray:
        """Scores by column and code, (columns, 256), for all parameters theta.

        With ``squared`` every entry of the matrix is squared.
        """
        out = np.zeros(self.centre.shape)
        lines = self.centre**2 if squared else self.centre
        kernels.fill_tables(
            np.append(theta, 0.0), self.sizes, self.line, lines, self.step, self.own, out
        )
        kernels.fill_maps(theta, self.maps, self.cuts, self.means, squared, out)
        for j, at, basis in self.others:
            part = basis**2 if squared else basis
            out[j, : basis.shape[0]] = part @ theta[at : at + basis.shape[1]]
        return out

    def pull(self, histograms: FloatArray, *, squared: bool = False) -> FloatArray:
        """The transpose of `tables`: sums by column and code as sums by parameter."""
        out = np.zeros(self.n_params + 1)
        lines = self.centre**2 if squared else self.centre
        kernels.add_table_gradient(
            histograms, self.sizes, self.line, lines, self.step, self.own, out
        )
        kernels.add_map_gradient(histograms, self.maps, self.cuts, self.means, squared, out)
        for j, at, basis in self.others:
            part = basis**2 if squared else basis
            out[at : at + basis.shape[1]] = part.T @ histograms[j, : basis.shape[0]]
        return out[:-1]
