"""The numbers of the maps of pairs of columns of an additive model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.columns import ColumnBins, LevelBins
from auctor.additive.edit import CurveModel
from auctor.core.types import Array, FloatArray
from auctor.fit.model import model_of
from auctor.tables.dates import day_text


class PairMap(NamedTuple):
    """What each combination of bins of two columns adds to the score of the positive class.

    Parameters
    ----------
    names : (str, str)
    starts : two tuples of str
        Smallest value of each bin of the two columns, without the bin of missing values; of a
        category its levels.
    level : (a, b) array
        What each cell adds to the score; its mean over the training rows is 0.
    share : (a, b) array
        Share of the training rows in each cell.
    of_levels : (bool, bool)
        Whether the columns are categories.
    """

    names: tuple[str, str]
    starts: tuple[tuple[str, ...], tuple[str, ...]]
    level: FloatArray
    share: FloatArray
    of_levels: tuple[bool, bool] = (False, False)

    @property
    def title(self) -> str:
        """The names of both columns."""
        return " x ".join(self.names)

    @property
    def effect(self) -> float:
        """Standard deviation over the training rows of what the pair adds to the score."""
        return float(np.sqrt((self.share * self.level**2).sum()))


def pair_maps(
    model: Any, names: Sequence[str] | None = None, dates: Collection[str] = ()
) -> list[PairMap]:
    """The pairs of columns of a fitted additive model, by decreasing effect on the score.

    Parameters
    ----------
    model : AdditiveClassifier or AdditiveRegressor
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    dates : collection of str
        Columns whose values are days since 1 January 1970.
    """
    made = model_of(model)
    bins, names = made.bins, column_names(made, names)
    tables = bins.tables(made.coef[0])[len(bins.columns) :]
    maps = []
    for pair, table in zip(bins.pairs, tables, strict=True):
        level = made.sign * (table - float(pair.share @ table))
        starts = [
            _starts(bins.columns[j], codes, of_dates=names[j] in dates)
            for j, codes in zip((pair.first, pair.second), pair.levels, strict=True)
        ]
        both = names[pair.first], names[pair.second]
        kinds = [isinstance(bins.columns[j], LevelBins) for j in (pair.first, pair.second)]
        cells, share = (part.reshape(pair.shape)[1:, 1:] for part in (level, pair.share))
        used = [np.flatnonzero(share.sum(axis=1 - k)) for k in (0, 1)]  # bins with training rows
        shown = [tuple(starts[k][i] for i in used[k].tolist()) for k in (0, 1)]
        maps.append(
            PairMap(
                both,
                (shown[0], shown[1]),
                cells[np.ix_(*used)],
                share[np.ix_(*used)],
                (kinds[0], kinds[1]),
            )
        )
    return sorted(maps, key=lambda one: -one.effect)


def column_names(model: CurveModel, names: Sequence[str] | None) -> Sequence[str]:
    """Names of the columns: those given, those of `fit`, or x0, x1, ..."""
    count = len(model.bins.columns)
    return model.part_names(names or model.feature_names)[:count]


def _starts(bins: ColumnBins | LevelBins, codes: Array, *, of_dates: bool) -> tuple[str, ...]:
    """Smallest value, or levels, of each bin of a column in a pair, to which ``codes`` maps."""
    if isinstance(bins, LevelBins):
        names = np.array(bins.names(), dtype=object)
        return tuple(", ".join(names[codes == k]) for k in range(1, int(codes.max()) + 1))
    first = np.flatnonzero(np.diff(codes[1:], prepend=0))
    edges = np.append(bins.low, bins.cuts)[first].tolist()
    if of_dates:  # years, months or days
        texts = [[day_text(edge)[:letters] for edge in edges] for letters in (4, 7, 10)]
    else:
        texts = [[f"{float(f'{edge:.{n}g}'):.10g}" for edge in edges] for n in (3, 4, 6, 10)]
    # The shortest that tell the edges apart.
    return tuple(next((some for some in texts if len(set(some)) == len(edges)), texts[-1]))
