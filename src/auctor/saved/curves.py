"""Saving and loading the bins of the columns and pairs of an additive model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.additive.bins import Bins, PairBins
from auctor.additive.columns import ColumnBins, LevelBins
from auctor.additive.model import Curves
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.codebook import MOST_CODES
from auctor.saved.values import Arrays, Json, floats, need

#: Arrays of a column; a file has each of them for all columns, concatenated.
_LISTS = ("cuts", "line", "share", "steps")
#: Scalars of a column.
_NUMBERS = ("middle", "scale", "low", "high")


def describe_curves(model: Curves, arrays: Arrays) -> Json:
    """The bins of a model for a file; adds concatenated arrays of all columns to ``arrays``."""
    bins, signs = model.bins, model.signs
    columns = bins.columns
    lists = [_lists(column) for column in columns]
    for name in _LISTS:
        kind = np.int64 if name == "steps" else np.float64
        arrays[f"bins.{name}"] = np.concatenate([one[name].astype(kind) for one in lists])
    sizes = [[one["cuts"].size, one["steps"].size] for one in lists]
    arrays["bins.sizes"] = np.array(sizes, dtype=np.int64)
    arrays["bins.numbers"] = np.array(
        [[getattr(column, name, 0.0) for name in _NUMBERS] for column in columns]
    )
    arrays["bins.signs"] = np.asarray(signs, dtype=np.int64)
    for k, pair in enumerate(bins.pairs):
        arrays[f"pair.{k}.columns"] = np.array([pair.first, pair.second], dtype=np.int64)
        arrays[f"pair.{k}.first"], arrays[f"pair.{k}.second"] = (
            level.astype(np.int64) for level in pair.levels
        )
        arrays[f"pair.{k}.share"] = pair.share
    if model.error is not None:
        arrays["bins.error"] = model.error
    levels = {
        str(j): None if column.labels is None else list(column.labels)
        for j, column in enumerate(columns)
        if isinstance(column, LevelBins)
    }
    return {"pairs": len(bins.pairs), "error": model.error is not None, "levels": levels}


def _lists(column: ColumnBins | LevelBins) -> dict[str, Array]:
    """The arrays of a column; the values of the levels of a category stand for cuts."""
    if isinstance(column, ColumnBins):
        return {name: np.asarray(getattr(column, name)) for name in _LISTS}
    none = np.zeros(column.size)
    return {"cuts": column.values, "line": none, "share": column.share, "steps": np.empty(0)}


def read_curves(entry: Any, d: int, arrays: Arrays) -> tuple[Bins, IntArray, FloatArray | None]:
    """The checked bins of a file, the direction of every column, and the errors if there are."""
    known = isinstance(entry, dict) and entry.keys() == {"pairs", "error", "levels"}
    need(known, "a number of pairs")
    count = entry["pairs"]
    need(type(count) is int and 0 <= count <= d * d, "a number of pairs")
    sizes = _whole(arrays.pop("bins.sizes"), (d, 2), MOST_CODES)
    numbers = floats(arrays.pop("bins.numbers"), (d, len(_NUMBERS)))
    signs = arrays.pop("bins.signs")
    need(signs.dtype == np.int64 and signs.shape == (d,), "a direction for each column")
    need(bool((np.abs(signs) <= 1).all()), "directions")
    whole = {name: arrays.pop(f"bins.{name}") for name in _LISTS}
    cuts, steps = sizes[:, 0], sizes[:, 1]
    lengths = {"cuts": cuts, "line": cuts + 2, "share": cuts + 2, "steps": steps}
    parts = {}
    for name, array in whole.items():
        if name == "steps":
            _whole(array, (int(steps.sum()),), MOST_CODES)
        else:
            floats(array, (int(lengths[name].sum()),))
        parts[name] = np.split(array, np.cumsum(lengths[name])[:-1])
    levels = entry["levels"]
    need(isinstance(levels, dict), "levels of categories by column")
    columns: list[ColumnBins | LevelBins] = [
        _levels({name: parts[name][j] for name in _LISTS}, levels[str(j)])
        if str(j) in levels
        else _column({name: parts[name][j] for name in _LISTS}, numbers[j].tolist())
        for j in range(d)
    ]
    pairs = [_pair(k, columns, arrays) for k in range(count)]
    bins, error = Bins(columns, tuple(pairs)), None
    if entry["error"]:
        error = arrays.pop("bins.error")
        floats(error, (error.shape[0], bins.size))
    return bins, signs, error


def _whole(array: Array, shape: tuple[int, ...], most: int) -> Array:
    """An int64 array of a shape, with values from 0 to ``most`` - 1."""
    need(array.dtype == np.int64 and array.shape == shape, f"whole numbers of shape {shape}")
    need(bool(((array >= 0) & (array < most)).all()), "numbers of codes")
    return array


def _shares(share: Array) -> None:
    """Check that shares are not negative and sum to 1."""
    need(bool((share >= 0.0).all()) and abs(float(share.sum()) - 1.0) < 1e-6, "shares of rows")


def _column(lists: dict[str, Array], numbers: list[float]) -> ColumnBins:
    """The bins of a column, from its arrays and scalars; refuses inconsistent ones."""
    cuts, steps = lists["cuts"], lists["steps"]
    need(cuts.size + 2 <= MOST_CODES and bool((np.diff(cuts) > 0.0).all()), "cuts that increase")
    inside = not steps.size or (steps[0] >= 2 and steps[-1] < cuts.size + 2)
    need(bool(inside) and bool((np.diff(steps) > 0).all()), "steps at codes, increasing")
    need(bool((np.diff(lists["line"][1:]) >= 0.0).all()), "a line that rises")
    need(numbers[1] > 0.0, "a positive scale")
    _shares(lists["share"])
    middle, scale, low, high = numbers
    return ColumnBins(cuts, lists["line"], lists["share"], steps, middle, scale, low, high)


def _levels(lists: dict[str, Array], labels: Any) -> LevelBins:
    """The bins of a category, from its arrays and the labels of its levels."""
    values = lists["cuts"]
    need(values.size + 2 <= MOST_CODES and bool((np.diff(values) > 0.0).all()), "rising levels")
    _shares(lists["share"])
    if labels is not None:
        texts = isinstance(labels, list) and all(isinstance(one, str) for one in labels)
        need(texts and len(labels) == values.size, "a label for each level")
        labels = tuple(labels)
    return LevelBins(values, lists["share"], labels)


def _pair(k: int, columns: Sequence[ColumnBins | LevelBins], arrays: Arrays) -> PairBins:
    """The bins of pair k; removes its arrays from ``arrays``."""
    first, second = _whole(arrays.pop(f"pair.{k}.columns"), (2,), len(columns)).tolist()
    levels = []
    for side, j in (("first", first), ("second", second)):
        level = _whole(arrays.pop(f"pair.{k}.{side}"), (columns[j].size,), MOST_CODES)
        rising = isinstance(columns[j], LevelBins) or np.isin(np.diff(level), (0, 1)).all()
        need(level[0] == 0 and bool(rising), "levels of codes")
        levels.append(level.astype(np.uint8))
    cells = (int(levels[0].max()) + 1) * (int(levels[1].max()) + 1)
    need(cells <= MOST_CODES, "cells of a pair")
    share = floats(arrays.pop(f"pair.{k}.share"), (cells,))
    _shares(share)
    return PairBins(first, second, (levels[0], levels[1]), share)
