"""The numbers of the figures of an additive model: curves, pairs of columns, single rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import ColumnBins, LevelBins
from auctor.additive.edit import CurveModel
from auctor.core.types import Array, FloatArray
from auctor.fit.model import model_of

#: Largest number of curves in a report, those of largest effect.
MOST_CURVES = 24


class ColumnCurve(NamedTuple):
    """The curve of one column.

    Parameters
    ----------
    name : str
    values : array
        Increasing values of the column, one per bin.
    level : array
        What the column adds to the score of the positive class at each value; its mean over the
        training rows is 0.
    share : array
        Share of the training rows at each value.
    band : (2, m) array, optional
        Lower and upper ends of a band of about 95 %, from the members of the model.
    direction : int
        1 or -1 if the curve is constrained to rise or fall, otherwise 0.
    missing : float, optional
        What a missing value adds to the score, if training rows had missing values.
    labels : tuple of str, optional
        The levels of a category, by decreasing ``level``; the values are their positions.
    """

    name: str
    values: FloatArray
    level: FloatArray
    share: FloatArray
    band: FloatArray | None = None
    direction: int = 0
    missing: float | None = None
    labels: tuple[str, ...] | None = None

    @property
    def title(self) -> str:
        """The name, and the direction if the curve is constrained."""
        return self.name + {1: " (kept rising)", -1: " (kept falling)", 0: ""}[self.direction]

    @property
    def edges(self) -> FloatArray:
        """Ends of the ranges around the values: midpoints between neighbours."""
        gap = np.diff(self.values) if self.values.size > 1 else np.ones(1)
        outer = self.values[0] - 0.5 * gap[0], self.values[-1] + 0.5 * gap[-1]
        return np.concatenate(
            ([outer[0]], self.values[:-1] + 0.5 * np.diff(self.values), [outer[1]])
        )

    @property
    def density(self) -> FloatArray:
        """Density of the training rows at each value, relative to the largest."""
        density: FloatArray = self.share / np.diff(self.edges)
        density /= density.max()
        return density


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
    """

    names: tuple[str, str]
    starts: tuple[tuple[str, ...], tuple[str, ...]]
    level: FloatArray
    share: FloatArray

    @property
    def title(self) -> str:
        """The names of both columns."""
        return " x ".join(self.names)


class ScoreParts(NamedTuple):
    """The parts of a row's score: ``average`` plus all ``parts`` is its score.

    Parameters
    ----------
    title : str
    score : float
        Score of the positive class, which is predicted if the score is above 0.
    average : float
        Mean score of the training rows.
    names : tuple of str
        Columns and pairs of columns, by decreasing absolute part.
    values : tuple of str
        Values of the row in these columns.
    parts : array
        What each of them adds to the score.
    """

    title: str
    score: float
    average: float
    names: tuple[str, ...]
    values: tuple[str, ...]
    parts: FloatArray


class CurvesInfo(NamedTuple):
    """The curves, pairs and explained rows of an additive model in a report."""

    columns: tuple[ColumnCurve, ...]
    pairs: tuple[PairMap, ...] = ()
    rows: tuple[ScoreParts, ...] = ()


def curves_info(
    model: Any,
    names: Sequence[str] | None = None,
    X: Any = None,
    rows: dict[str, int] | None = None,
) -> CurvesInfo:
    """The numbers of the figures of a fitted additive model of one score.

    Parameters
    ----------
    model : AdditiveClassifier or AdditiveRegressor
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    X : table, optional
        Rows, some of which are to be explained.
    rows : dict from title to row number, optional
        The rows to explain; by default none.
    """
    parts = () if X is None or not rows else row_parts(model, X, rows, names)
    curves = column_curves(model, names=names)
    return CurvesInfo(tuple(curves), tuple(pair_maps(model, names=names)), tuple(parts))


def column_curves(
    model: Any,
    bands: dict[int, FloatArray] | None = None,
    score: int = 0,
    names: Sequence[str] | None = None,
) -> list[ColumnCurve]:
    """The curves of a fitted additive model, by decreasing effect on the score.

    Parameters
    ----------
    model : AdditiveClassifier or AdditiveRegressor
    bands : dict from column number to array, optional
        By default those of ``model.curve_bands``.
    score : int
        Number of the class, if there are more than two.
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    """
    made = model_of(model)
    sign, names = made.sign, _names(made, names)
    if bands is None:
        bands = made.bands(score)
    theta = made.coef[score]
    tables, spread = made.bins.tables(theta), made.bins.spread(theta)
    curves = []
    for j in np.argsort(-spread[: len(made.bins.columns)], kind="stable").tolist():
        bins = made.bins.columns[j]
        if bins.constant or not spread[j]:
            continue
        level = sign * (tables[j] - float(bins.share @ tables[j]))  # code 0: missing values
        band = None if bands is None else bands[j][:: int(sign)] * sign
        shown, labels = np.arange(1, bins.size), None
        if isinstance(bins, LevelBins):  # levels of the training rows, the largest first
            shown = shown[np.argsort(-level[1:], kind="stable")]
            shown = shown[bins.share[shown] > 0.0]
            texts = bins.names()
            values = np.arange(shown.size).astype(np.float64)
            labels = tuple(texts[code] for code in shown.tolist())
        else:
            values = bins.middle + bins.scale * bins.line[1:]
        curves.append(
            ColumnCurve(
                names[j],
                values,
                level[shown],
                bins.share[shown],
                None if band is None else band[:, shown - 1],
                int(made.signs[j]),
                float(level[0]) if bins.has_missing else None,
                labels,
            )
        )
    return curves


def pair_maps(model: Any, score: int = 0, names: Sequence[str] | None = None) -> list[PairMap]:
    """The pairs of columns of a fitted additive model; parameters as in `column_curves`."""
    made = model_of(model)
    bins, names = made.bins, _names(made, names)
    tables = bins.tables(made.coef[score])[len(bins.columns) :]
    maps = []
    for pair, table in zip(bins.pairs, tables, strict=True):
        level = made.sign * (table - float(pair.share @ table))
        starts = [
            _starts(bins.columns[j], codes)
            for j, codes in zip((pair.first, pair.second), pair.levels, strict=True)
        ]
        both = names[pair.first], names[pair.second]
        cells, share = (part.reshape(pair.shape)[1:, 1:] for part in (level, pair.share))
        maps.append(PairMap(both, (starts[0], starts[1]), cells, share))
    return maps


def row_parts(
    model: Any, X: Any, rows: dict[str, int], names: Sequence[str] | None = None
) -> list[ScoreParts]:
    """The parts of the scores of some rows.

    Parameters
    ----------
    model : AdditiveClassifier of two classes, or AdditiveRegressor
    X : table
    rows : dict from title to row number
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    """
    made = model_of(model)
    names = _names(made, names)
    places = np.array(list(rows.values()), dtype=np.int64)
    matrix = _taken(X, places)
    parts = made.sign * made.explained(matrix)[:, :, 0]
    scores = made.sign * made.scores(matrix)[:, 0]
    values = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
    labels = made.part_names(names)
    reasons = []
    for k, title in enumerate(rows):
        texts = part_texts(values[k], made.bins)
        order = np.argsort(-np.abs(parts[k]), kind="stable")
        order = order[parts[k][order] != 0.0]
        reasons.append(
            ScoreParts(
                title,
                float(scores[k]),
                float(scores[k] - parts[k].sum()),
                tuple(labels[j] for j in order.tolist()),
                tuple(texts[j] for j in order.tolist()),
                parts[k][order],
            )
        )
    return reasons


def striking_rows(scores: FloatArray) -> dict[str, int]:
    """Rows to explain: that of the highest score, and the two next to the threshold, 0."""
    striking = {"The highest score": int(np.argmax(scores))}
    above, below = np.flatnonzero(scores > 0.0), np.flatnonzero(scores <= 0.0)
    if above.size:
        striking["The lowest score that is flagged"] = int(above[np.argmin(scores[above])])
    if below.size:
        striking["The highest score that is not flagged"] = int(below[np.argmax(scores[below])])
    return striking


def _taken(X: Any, places: Any) -> Any:
    """Some rows of a table, by position."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    return (X.tocsr() if hasattr(X, "tocsr") else np.asarray(X))[places]


def part_texts(values: FloatArray, bins: Bins) -> list[str]:
    """The values of a row as text: of its columns, then of its pairs of columns."""
    texts = ["missing" if math.isnan(value) else f"{value:.6g}" for value in values.tolist()]
    for j, column in enumerate(bins.columns):
        if isinstance(column, LevelBins):
            texts[j] = column.names()[int(column.codes(values[[j]])[0])]
    return texts + [f"{texts[pair.first]}, {texts[pair.second]}" for pair in bins.pairs]


def _names(model: CurveModel, names: Sequence[str] | None) -> Sequence[str]:
    """Names of the columns: those given, those of `fit`, or x0, x1, ..."""
    count = len(model.bins.columns)
    return model.part_names(names or model.feature_names)[:count]


def _starts(bins: ColumnBins | LevelBins, codes: Array) -> tuple[str, ...]:
    """Smallest value, or levels, of each bin of a column in a pair, to which ``codes`` maps."""
    if isinstance(bins, LevelBins):
        names = np.array(bins.names(), dtype=object)
        return tuple(", ".join(names[codes == k]) for k in range(1, int(codes.max()) + 1))
    first = np.flatnonzero(np.diff(codes[1:], prepend=0))
    return tuple(f"{edge:.3g}" for edge in np.append(bins.low, bins.cuts)[first])
