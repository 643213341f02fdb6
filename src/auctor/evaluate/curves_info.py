"""The numbers of the figures of an additive model: curves, pairs of columns, single rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.columns import LevelBins
from auctor.additive.edit import CurveModel
from auctor.additive.means import MeanBins
from auctor.additive.text import coded
from auctor.core.types import FloatArray
from auctor.evaluate.pair_maps import PairMap, column_names, pair_maps
from auctor.evaluate.shard_rows import ShardRows
from auctor.evaluate.table_columns import TableColumns
from auctor.fit.model import model_of
from auctor.tables.schema import Schema

#: Largest number of curves in a report, those of largest effect.
MOST_CURVES = 24
#: Least share of rows without any level of a category for which their level is shown.
MISSING_SHARE = 1e-9


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
    of_means : bool
        Whether the values are means of the target by level of a category.
    of_dates : bool
        Whether the values are days since 1 January 1970.
    """

    name: str
    values: FloatArray
    level: FloatArray
    share: FloatArray
    band: FloatArray | None = None
    direction: int = 0
    missing: float | None = None
    labels: tuple[str, ...] | None = None
    of_means: bool = False
    of_dates: bool = False

    @property
    def axis(self) -> str:
        """What the values are."""
        return f"{self.name}, mean of the target of its level" if self.of_means else self.name

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
    def effect(self) -> float:
        """Standard deviation over the training rows of what the column adds to the score."""
        return float(np.sqrt(self.share @ self.level**2))

    @property
    def density(self) -> FloatArray:
        """Density of the training rows at each value, relative to the largest."""
        density: FloatArray = self.share / np.diff(self.edges)
        density /= density.max()
        return density


class ScoreParts(NamedTuple):
    """The parts of a row's score: ``average`` plus all ``parts`` is its score.

    Parameters
    ----------
    title : str
    score : float
        Score of the positive class, which is predicted if the score is above 0.
    average : float
        Score of an average row.
    names : tuple of str
        Columns, by decreasing absolute part.
    values : tuple of str
        Values of the row in these columns.
    parts : array
        What each of them adds to the score, with half of what each of its pairs adds.
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
    schema: Schema | None = None,
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
    schema : Schema, optional
        The columns of the table behind the columns of the model.
    """
    if schema is not None:
        names = names or schema.feature_names
    parts = () if X is None or not rows else row_parts(model, X, rows, names, schema)
    curves = column_curves(model, names=names)
    dates = set()
    if schema is not None:
        dates = {column.name for column in schema.columns if column.kind == "date"}
        curves = [curve._replace(of_dates=curve.name in dates) for curve in curves]
        if any(place.stop - place.start > 1 for _, place in schema.places):
            curves = _joined(model_of(model), curves, schema)
    return CurvesInfo(tuple(curves), tuple(pair_maps(model, names, dates)), tuple(parts))


def _joined(made: CurveModel, curves: list[ColumnCurve], schema: Schema) -> list[ColumnCurve]:
    """The curves with one chart of levels for each category that is columns of zeros and ones."""
    of_levels = set()
    charts = []
    tables = made.bins.tables(made.coef[0])
    for column, place in schema.places:
        if column.kind != "category" or column.numbered:
            continue
        of_levels |= set(column.features)
        off, on, share = np.zeros((3, column.width))
        for k, j in enumerate(range(place.start, place.stop)):
            bins = made.bins.columns[j]
            codes = bins.codes(np.array([0.0, 1.0]))
            off[k], on[k] = made.sign * (tables[j][codes] - float(bins.share @ tables[j]))
            share[k] = bins.share[codes[1]] if codes[0] != codes[1] else 0.0
        if (on != off).any():
            none = float(off.sum())  # a row without any of the levels
            texts = [name[len(column.name) + 1 :] for name in column.features]
            rest = none if share.sum() < 1.0 - MISSING_SHARE else None
            charts.append(level_curve(column.name, texts, none + on - off, share, rest))
    others = [curve for curve in curves if curve.name not in of_levels]
    return sorted([*others, *charts], key=lambda curve: -curve.effect)


def level_curve(
    name: str, labels: Sequence[str], level: FloatArray, share: FloatArray, missing: float | None
) -> ColumnCurve:
    """The curve of a category, with the largest level first."""
    order = np.argsort(-level, kind="stable")
    return ColumnCurve(
        name,
        np.arange(order.size).astype(np.float64),
        level[order],
        share[order],
        missing=missing,
        labels=tuple(labels[k] for k in order.tolist()),
    )


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
    sign, names = made.sign, column_names(made, names)
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
                isinstance(bins, MeanBins),
            )
        )
    return curves


def row_parts(
    model: Any,
    X: Any,
    rows: dict[str, int],
    names: Sequence[str] | None = None,
    schema: Schema | None = None,
) -> list[ScoreParts]:
    """The parts of the scores of some rows, by column.

    Parameters
    ----------
    model : AdditiveClassifier of two classes, or AdditiveRegressor
    X : table
    rows : dict from title to row number
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    schema : Schema, optional
        The columns of the table behind the columns of the model.
    """
    made = model_of(model)
    matrix = coded(_taken(X, np.array(list(rows.values()), dtype=np.int64)), made.bins)
    columns = TableColumns.of(schema, column_names(made, names), len(made.bins.columns))
    pairs = [(pair.first, pair.second) for pair in made.bins.pairs]
    parts = made.sign * made.explained(matrix)[:, :, 0]
    scores = made.sign * made.scores(matrix)[:, 0]
    values = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
    return [
        score_parts(
            title,
            float(scores[k]),
            columns,
            shown_values(values[k], made.bins),
            columns.gathered(parts[k], pairs),
        )
        for k, title in enumerate(rows)
    ]


def score_parts(
    title: str,
    score: float,
    columns: TableColumns,
    values: Sequence[float | str],
    parts: FloatArray,
) -> ScoreParts:
    """The parts of the score of a row, the largest first, without those that are 0.

    ``values`` are those of the columns of the matrix, ``parts`` those of the columns of the table.
    """
    order = np.argsort(-np.abs(parts), kind="stable")
    order = order[parts[order] != 0.0]
    return ScoreParts(
        title,
        score,
        score - float(parts.sum()),
        tuple(columns.column(k)[0].name for k in order.tolist()),
        tuple(columns.text(k, values) for k in order.tolist()),
        parts[order],
    )


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
    if isinstance(X, ShardRows):
        return X[places]
    return (X.tocsr() if hasattr(X, "tocsr") else np.asarray(X))[places]


def shown_values(values: FloatArray, bins: Bins) -> list[float | str]:
    """The values of a row of the matrix, with the names of levels in place of their numbers."""
    shown: list[float | str] = ["missing" if math.isnan(v) else v for v in values.tolist()]
    for j, column in enumerate(bins.columns):
        if isinstance(column, MeanBins):
            shown[j] = column.text(float(values[j]))
        if isinstance(column, LevelBins):
            shown[j] = column.names()[int(column.codes(values[[j]])[0])]
    return shown
