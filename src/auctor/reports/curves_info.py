"""The numbers behind the pictures of an additive model: curves of columns and maps of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class ColumnCurve:
    """The curve of one column.

    Parameters
    ----------
    name : str
    values : array
        Values of the column, increasing, one per code.
    level : array
        What the column adds to the score there, less the mean over the training rows.
    share : array
        Part of the training rows at each of the values.
    band : (2, m) array, optional
        Between which 95 % of the curves of bootstrap samples lie.
    direction : int
        1 or -1 where the curve is kept rising or falling, else 0.
    missing : float, optional
        What a missing value adds, where training rows had some.
    """

    name: str
    values: FloatArray
    level: FloatArray
    share: FloatArray
    band: FloatArray | None = None
    direction: int = 0
    missing: float | None = None

    @property
    def title(self) -> str:
        """The name, with a word on its direction."""
        return self.name + {1: " (kept rising)", -1: " (kept falling)", 0: ""}[self.direction]


@dataclass(frozen=True, eq=False)
class PairMap:
    """What the cells of two columns add to the score.

    Parameters
    ----------
    names : (str, str)
    starts : two arrays
        Smallest value of each level of the columns, without the level of missing values.
    level : (a, b) array
        Of the cells, less the mean over the training rows.
    """

    names: tuple[str, str]
    starts: tuple[FloatArray, FloatArray]
    level: FloatArray

    @property
    def title(self) -> str:
        """Both names."""
        return " x ".join(self.names)


def column_curves(model: Any, bands: Any = None, score: int = 0) -> list[ColumnCurve]:
    """The curves of a fitted additive model, the one that moves the score most first.

    Parameters
    ----------
    model : AdditiveClassifier or AdditiveRegressor
    bands : dict from column number to array, optional
        What ``model.curve_bands`` returned.
    score : int
        Which class, where there are more than two.
    """
    tables = model.bins_.tables(np.atleast_2d(model.coef_)[score])
    found = []
    for j, bins in enumerate(model.bins_.columns):
        if bins.constant or not np.ptp(tables[j]):
            continue
        level = tables[j] - float(bins.share @ tables[j])
        curve = ColumnCurve(
            model.names_[j],
            bins.middle + bins.scale * bins.line[1:],
            level[1:],
            bins.share[1:],
            None if bands is None else bands[j],
            int(model.signs_[j]),
            float(level[0]) if bins.has_missing else None,
        )
        found.append((float(bins.share @ level**2), curve))
    return [curve for _, curve in sorted(found, key=lambda entry: -entry[0])]


def pair_maps(model: Any, score: int = 0) -> list[PairMap]:
    """The maps of the pairs of a fitted additive model."""
    bins = model.bins_
    tables = bins.tables(np.atleast_2d(model.coef_)[score])[len(bins.columns) :]
    found = []
    for pair, table in zip(bins.pairs, tables, strict=True):
        level = (table - float(pair.share @ table)).reshape(pair.shape)[1:, 1:]
        names = model.names_[pair.first], model.names_[pair.second]
        starts = [
            _starts(bins.columns[j], codes)
            for j, codes in zip((pair.first, pair.second), pair.levels, strict=True)
        ]
        found.append(PairMap(names, (starts[0], starts[1]), level))
    return found


def _starts(bins: Any, codes: Any) -> FloatArray:
    """Smallest value of each level of a column."""
    first = np.flatnonzero(np.diff(codes[1:], prepend=0))
    edges: FloatArray = np.append(bins.low, bins.cuts)[first]
    return edges
