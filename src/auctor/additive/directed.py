"""Maps of pairs with a monotone column: sums of products that move in its direction only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray


class _Side:
    """Steps of one column of a pair: up from a level on, down below it, and the missing level.

    A step of a column without a direction also tells missing values, its level 0, from the others.
    """

    def __init__(self, size: int, sign: int) -> None:
        level = np.arange(size)[:, None]
        cuts = np.arange(2 if sign else 1, size)
        there = level >= 1 if sign else level >= 0
        self.up = (there & (level >= cuts)).astype(np.float64)
        self.down = (there & (level < cuts)).astype(np.float64)
        if sign < 0:
            self.up, self.down = self.down, self.up
        self.missing = (level == 0).astype(np.float64)
        self.sign = sign


def directed_basis(shape: tuple[int, int], signs: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Functions of the cells of a pair, and lower bounds of their parameters.

    With nonnegative parameters ``a`` and ``b`` the map ::

        sum over i, j of a_ij up_i(x) up_j(y) - b_ij down_i(x) down_j(y),   down_i = 1 - up_i

    moves in the direction of x at every y, and in that of y at every x. Up to effects of one column
    alone both parts are products of steps, of either sign, as in a map without directions. Missing
    values of a column with a direction have parameters of their own.

    Parameters
    ----------
    shape : (int, int)
        Levels of the two columns.
    signs : (int, int)
        Directions, of which one at least is not 0.

    Examples
    --------
    >>> basis, lower = directed_basis((3, 2), (1, 0))
    >>> basis[:, 0].reshape(3, 2).tolist(), basis[:, 1].reshape(3, 2).tolist()
    ([[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    """
    one, two = (_Side(size, sign) for size, sign in zip(shape, signs, strict=True))
    parts = [np.kron(one.up, two.up), 0.0 - np.kron(one.down, two.down)]  # no -0
    free = [False, False]
    if one.sign:
        parts.append(np.kron(one.missing, two.up))
        free.append(not two.sign)
    if two.sign:
        parts.append(np.kron(one.up, two.missing))
        free.append(not one.sign)
    if one.sign and two.sign:
        parts.append(np.kron(one.missing, two.missing))
        free.append(True)
    counts = [part.shape[1] for part in parts]
    return np.hstack(parts), np.repeat(np.where(free, -np.inf, 0.0), counts)


def centred_apart(table: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The effects of either side of a map and its mean, as if the columns were independent.

    The effect of a column is then a mean with the same weights at all its levels, and moves in the
    direction in which the map does. Levels without weight have no effect.
    """
    tall, wide = share.sum(axis=1), share.sum(axis=0)
    rows = (table * wide).sum(axis=1) / wide.sum()
    columns = (table * tall[:, None]).sum(axis=0) / tall.sum()
    mean = float(tall @ rows) / float(tall.sum())
    rows = np.where(tall > 0.0, rows - mean, 0.0)
    return rows, np.where(wide > 0.0, columns - mean, 0.0), mean


def told_apart(bins: Any, tables: Sequence[FloatArray], signs: IntArray) -> list[FloatArray]:
    """The same scores by tables of which each moves in the directions of its columns.

    The least increase of a map at each level of a column with a direction, over the levels of the
    other column, goes into the curve of the column. The function moves in the direction exactly if
    this curve does.
    """
    out = [table.copy() for table in tables]
    count = len(bins.columns)
    for pair, table in zip(bins.pairs, out[count:], strict=True):
        cells = table.reshape(pair.shape)  # a view
        for side, j in enumerate((pair.first, pair.second)):
            if not signs[j]:
                continue
            along: Array = cells if side == 0 else cells.T
            least = signs[j] * np.min(signs[j] * np.diff(along[1:], axis=0), axis=1)
            effect = np.concatenate(([0.0, 0.0], np.cumsum(least)))
            along -= effect[:, None]
            out[j] += effect[pair.levels[side]]
    return out


def moves_back(bins: Any, tables: Sequence[FloatArray], signs: IntArray) -> list[int]:
    """Columns against whose direction a model moves somewhere, beyond rounding errors."""
    size = sum(float(np.abs(table).max(initial=0.0)) for table in tables)
    curves = told_apart(bins, tables, signs)
    return [
        int(j)
        for j in np.flatnonzero(signs)
        if (signs[j] * np.diff(curves[j][1:]) < -1e-13 * size).any()
    ]
