"""Checks of the bins of the columns and pairs of an additive model from a file."""

from __future__ import annotations

import numpy as np

from auctor.additive.bins import PairBins
from auctor.additive.columns import ColumnBins, LevelBins
from auctor.additive.means import MeanBins
from auctor.additive.model import Curves
from auctor.core.codec import floats
from auctor.core.types import Array
from auctor.data.codebook import MOST_CODES
from auctor.saved.values import need


def check_curves(model: Curves) -> int:
    """The number of weights of a model with these bins; refuses bins that do not fit together."""
    columns, pairs, signs, error = model.bins.columns, model.bins.pairs, model.signs, model.error
    need(len(columns) > 0, "columns")
    for column in columns:
        _check_levels(column) if isinstance(column, LevelBins) else _check_column(column)
    for pair in pairs:
        _check_pair(pair, list(columns))
    need(signs.shape == (len(columns),) and bool((np.abs(signs) <= 1).all()), "directions")
    size = int(model.bins.size)
    if error is not None:
        floats(error, (error.shape[0], size))
    return size


def _check_column(column: ColumnBins) -> None:
    """Refuse the bins of a column that are inconsistent."""
    cuts, steps, size = column.cuts, column.steps, column.cuts.size + 2
    need(size <= MOST_CODES, "cuts of codes")
    floats(cuts, (size - 2,))
    floats(column.line, (size,))
    need(steps.ndim == 1, "steps")
    need(bool((np.diff(cuts) > 0.0).all()), "cuts that increase")
    inside = not steps.size or (steps[0] >= 2 and steps[-1] < size)
    need(bool(inside) and bool((np.diff(steps) > 0).all()), "steps at codes, increasing")
    need(bool((np.diff(column.line[1:]) >= 0.0).all()), "a line that rises")
    numbers = [column.middle, column.scale, column.low, column.high]
    need(bool(np.isfinite(numbers).all()) and column.scale > 0.0, "a positive scale")
    need(column.ramps in (-1, 0, 1), "a direction of ramps")
    flat = column.flat or (0.0, 0.0)
    need(bool(np.isfinite(flat).all()) and flat[0] <= flat[1], "a range where the curve is flat")
    _check_shares(column.share, size)
    if isinstance(column, MeanBins):
        _check_labels(column)
        floats(column.means, column.values.shape)
        need(bool(np.isfinite(column.prior)), "a mean of all rows")


def _check_levels(column: LevelBins) -> None:
    """Refuse the levels of a category that are inconsistent."""
    need(column.size <= MOST_CODES, "levels of codes")
    _check_labels(column)
    _check_shares(column.share, column.size)


def _check_labels(column: LevelBins | MeanBins) -> None:
    """Refuse numbers of levels that do not rise, and labels that are not theirs."""
    values, labels = column.values, column.labels
    floats(values, (values.size,))
    need(bool((np.diff(values) > 0.0).all()), "rising levels")
    texts = labels is None or all(isinstance(one, str) for one in labels)
    need(texts and (labels is None or len(labels) == values.size), "a label for each level")


def _check_pair(pair: PairBins, columns: list[ColumnBins | LevelBins]) -> None:
    """Refuse the cells of a pair that are inconsistent."""
    for j, level in zip((pair.first, pair.second), pair.levels, strict=True):
        need(0 <= j < len(columns), "columns of its pairs")
        need(level.dtype == np.uint8 and level.shape == (columns[j].size,), "levels of codes")
        rises = bool(np.isin(np.diff(level.astype(np.int64)), (0, 1)).all())
        need(level[0] == 0 and (rises or isinstance(columns[j], LevelBins)), "levels of codes")
    cells = pair.shape[0] * pair.shape[1]
    need(cells <= MOST_CODES, "cells of a pair")
    _check_shares(pair.share, cells)


def _check_shares(share: Array, size: int) -> None:
    """Refuse shares that are negative or do not sum to 1."""
    floats(share, (size,))
    need(bool((share >= 0.0).all()) and abs(float(share.sum()) - 1.0) < 1e-6, "shares of rows")
