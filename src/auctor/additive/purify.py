"""From the parameters of members to curves and maps: averaged, centred, and told apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import MISSING, ColumnBins, LevelBins
from auctor.additive.directed import centred_apart
from auctor.core.types import FloatArray

#: Passes of centring rows and columns of a map, at most.
PASSES = 200
#: Binary places of coefficients with monotone maps: three to spare, so that sums are exact.
PLACES = 50
#: Change of a map by a pass, relative to its size, at which it counts as centred.
CENTRED = 1e-15


def raw_tables(bins: Bins, theta: FloatArray) -> list[FloatArray]:
    """What each code and cell adds to the score, by the parameters of a fit."""
    books = bins.books
    bounds = np.append(0, np.cumsum([book.n_params for book in books]))
    return [
        book.table(theta[a:b]) for book, a, b in zip(books, bounds[:-1], bounds[1:], strict=True)
    ]


def purified(bins: Bins, tables: Sequence[FloatArray]) -> tuple[FloatArray, float]:
    """Coefficients of centred curves and maps, and the offset that centring takes from them.

    Rows and columns of a map have mean 0 over the training rows: what one column alone explains is
    moved to its curve. Curves have mean 0. Scores do not change. Codes that no training row had,
    such as that of missing values, add 0: as much as the mean row. Maps of monotone columns are
    centred by `centred_apart`, so that their curves are monotone, too.

    With such maps all numbers are multiples of a power of 2, hardly above their rounding errors:
    sums of them are exact, and move in the directions of columns.
    """
    total = sum(float(np.abs(table).max(initial=0.0)) for table in tables)
    directed = any(any(pair.signs) for pair in bins.pairs) and total > 0.0
    unit = 2.0 ** (np.ceil(np.log2(total)) - PLACES) if directed else 0.0

    def whole(numbers: Any) -> Any:
        return np.rint(numbers / unit) * unit if unit else numbers * 1.0

    curves = [whole(table) for table in tables[: len(bins.columns)]]
    maps = []
    for pair, table in zip(bins.pairs, tables[len(bins.columns) :], strict=True):
        values, share = whole(table).reshape(pair.shape), pair.share.reshape(pair.shape)
        parts = centred_apart(values, share) if any(pair.signs) else centred(values, share)[1:]
        rows, columns, offset = map(whole, parts)
        seen = np.outer(share.any(axis=1), share.any(axis=0))
        cells = np.where(seen, values - rows[:, None] - columns - offset, 0.0)
        curves[pair.first] += rows[pair.levels[0]] + offset
        curves[pair.second] += columns[pair.levels[1]]
        maps.append(cells.ravel())
    offset = 0.0
    for column, curve in zip(bins.columns, curves, strict=True):
        anchor = column.flat_code if isinstance(column, ColumnBins) else None
        mean = whole(float(column.share @ curve)) if anchor is None else float(curve[anchor])
        curve -= mean
        offset += mean
        curve[_unseen(column)] = 0.0
    return np.concatenate([*curves, *maps]), offset


def _unseen(column: ColumnBins | LevelBins) -> list[int]:
    """Codes without training rows for which the curve says nothing."""
    codes = [MISSING] if not column.has_missing else []
    if isinstance(column, LevelBins) and not column.share[column.other]:
        codes.append(column.other)
    return codes


def centred(
    table: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """A map with rows and columns of weighted mean 0, and the effects of either side taken out.

    Rows and columns without weight become 0.

    Examples
    --------
    >>> table, share = np.array([[1.0, 2.0], [3.0, 8.0]]), np.full((2, 2), 0.25)
    >>> cells, rows, columns, mean = centred(table, share)
    >>> cells.tolist(), rows.tolist(), columns.tolist(), mean
    ([[1.0, -1.0], [-1.0, 1.0]], [-2.0, 2.0], [-1.5, 1.5], 3.5)
    """
    tall, wide = share.sum(axis=1), share.sum(axis=0)
    seen = np.outer(tall > 0.0, wide > 0.0)
    cells = np.where(seen, table, 0.0)
    rows, columns = np.zeros(tall.size), np.zeros(wide.size)
    size = float(np.abs(cells).max(initial=0.0))
    for _ in range(PASSES):
        by_row = np.divide(
            (share * cells).sum(axis=1), tall, out=np.zeros_like(tall), where=tall > 0
        )
        cells = np.where(seen, cells - by_row[:, None], 0.0)
        by_column = np.divide(
            (share * cells).sum(axis=0), wide, out=np.zeros_like(wide), where=wide > 0
        )
        cells = np.where(seen, cells - by_column, 0.0)
        rows += by_row
        columns += by_column
        if max(np.abs(by_row).max(), np.abs(by_column).max()) <= CENTRED * size:
            break
    # The mean of the effects themselves.
    total = float(share.sum())
    mean = float(tall @ rows + wide @ columns) / total
    return cells, rows - float(tall @ rows) / total, columns - float(wide @ columns) / total, mean


def averaged(
    bins: Bins, coefs: Sequence[FloatArray], intercepts: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """The mean of members: coefficients (k, codes), intercepts (k,), and standard errors.

    Parameters
    ----------
    bins : Bins
    coefs : sequence of (k, p) arrays
        Parameters of the members.
    intercepts : sequence of (k,) arrays

    Notes
    -----
    A member leaves out one of m folds. The standard error of the mean is that of the jackknife,
    ``(m - 1) / m`` times the sum of the squared deviations. ``None`` for one member.
    """
    every = [[raw_tables(bins, theta) for theta in coef] for coef in coefs]
    # The mean comes first: the mean of tables that rise rises, whatever the rounding.
    middle = [
        purified(bins, [np.mean(one, axis=0) for one in zip(*tables, strict=True)])
        for tables in zip(*every, strict=True)
    ]
    mean: FloatArray = np.array([coef for coef, _ in middle])
    offset = np.mean(intercepts, axis=0) + [moved for _, moved in middle]
    error, m = None, len(coefs)
    if m > 1:
        stack = np.array([[purified(bins, one)[0] for one in tables] for tables in every])
        error = np.sqrt((m - 1.0) / m * ((stack - mean) ** 2).sum(axis=0))
    return mean, offset, error
