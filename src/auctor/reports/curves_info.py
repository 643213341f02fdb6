"""The numbers behind the pictures of an additive model: curves, maps of pairs, single rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from auctor.core.types import FloatArray

#: Curves that a report draws, at most; the others hardly move the score.
MOST_CURVES = 24


class ColumnCurve(NamedTuple):
    """The curve of one column.

    Parameters
    ----------
    name : str
    values : array
        Values of the column, increasing, one per code.
    level : array
        What the column adds to the score of the positive class there, less the mean over the
        training rows.
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

    @property
    def edges(self) -> FloatArray:
        """Ends of the ranges around the values: half way between neighbours."""
        gap = np.diff(self.values) if self.values.size > 1 else np.ones(1)
        outer = self.values[0] - 0.5 * gap[0], self.values[-1] + 0.5 * gap[-1]
        return np.concatenate(
            ([outer[0]], self.values[:-1] + 0.5 * np.diff(self.values), [outer[1]])
        )

    @property
    def density(self) -> FloatArray:
        """Training rows per unit of the column around each value, the largest being 1."""
        found: FloatArray = self.share / np.diff(self.edges)
        found /= found.max()
        return found


class PairMap(NamedTuple):
    """What the cells of two columns add to the score of the positive class.

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


class RowParts(NamedTuple):
    """Why a row scores as it does: ``average`` plus all ``parts`` is its score.

    Parameters
    ----------
    title : str
    score : float
        Of the positive class, which is predicted above 0.
    average : float
        Score of the average training row.
    names : tuple of str
        Columns and pairs, the one that adds most, either way, first.
    values : tuple of str
        What the row has there.
    parts : array
        What each adds to the score, or takes off it.
    """

    title: str
    score: float
    average: float
    names: tuple[str, ...]
    values: tuple[str, ...]
    parts: FloatArray


class CurvesInfo(NamedTuple):
    """What a report shows of an additive model."""

    columns: tuple[ColumnCurve, ...]
    pairs: tuple[PairMap, ...] = ()
    rows: tuple[RowParts, ...] = ()


def curves_info(
    model: Any,
    names: Sequence[str] | None = None,
    X: Any = None,
    rows: dict[str, int] | None = None,
) -> CurvesInfo:
    """The pictures of a fitted additive model of one score.

    Parameters
    ----------
    model : AdditiveClassifier or AdditiveRegressor
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    X : table, optional
        Rows of which some are explained.
    rows : dict from title to row number, optional
        Which of them; by default none.
    """
    found = () if X is None or not rows else row_parts(model, X, rows, names)
    curves = column_curves(model, names=names)[:MOST_CURVES]
    return CurvesInfo(tuple(curves), tuple(pair_maps(model, names=names)), tuple(found))


def column_curves(
    model: Any, bands: Any = None, score: int = 0, names: Sequence[str] | None = None
) -> list[ColumnCurve]:
    """The curves of a fitted additive model, the one that moves the score most first.

    Parameters
    ----------
    model : AdditiveClassifier or AdditiveRegressor
    bands : dict from column number to array, optional
        What ``model.curve_bands`` returned; by default what it returned last.
    score : int
        Which class, where there are more than two.
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    """
    sign, names = _sign(model), _names(model, names)
    if bands is None and score == 0:
        bands = getattr(model, "bands_", None)
    theta = np.atleast_2d(model.coef_)[score]
    tables, spread = model.bins_.tables(theta), model.bins_.spread(theta)
    found = []
    for j in np.argsort(-spread[: len(model.bins_.columns)], kind="stable").tolist():
        bins = model.bins_.columns[j]
        if bins.constant or not spread[j]:
            continue
        level = sign * (tables[j] - float(bins.share @ tables[j]))
        band = None if bands is None else bands[j][:: int(sign)] * sign
        found.append(
            ColumnCurve(
                names[j],
                bins.middle + bins.scale * bins.line[1:],
                level[1:],
                bins.share[1:],
                band,
                int(model.signs_[j]),
                float(level[0]) if bins.has_missing else None,
            )
        )
    return found


def pair_maps(model: Any, score: int = 0, names: Sequence[str] | None = None) -> list[PairMap]:
    """The maps of the pairs of a fitted additive model; parameters as in `column_curves`."""
    bins, names = model.bins_, _names(model, names)
    tables = bins.tables(np.atleast_2d(model.coef_)[score])[len(bins.columns) :]
    found = []
    for pair, table in zip(bins.pairs, tables, strict=True):
        level = _sign(model) * (table - float(pair.share @ table))
        starts = [
            _starts(bins.columns[j], codes)
            for j, codes in zip((pair.first, pair.second), pair.levels, strict=True)
        ]
        both = names[pair.first], names[pair.second]
        cells = level.reshape(pair.shape)[1:, 1:]
        found.append(PairMap(both, (starts[0], starts[1]), cells))
    return found


def row_parts(
    model: Any, X: Any, rows: dict[str, int], names: Sequence[str] | None = None
) -> list[RowParts]:
    """Why some rows score as they do.

    Parameters
    ----------
    model : AdditiveClassifier of two classes, or AdditiveRegressor
    X : table
    rows : dict from title to row number
    names : sequence of str, optional
        Names of the columns; by default those of the model.
    """
    sign, names = _sign(model), _names(model, names)
    places = np.array(list(rows.values()), dtype=np.int64)
    matrix = _taken(X, places)
    parts = sign * model.explain(matrix)
    scores = sign * model.to_model().scores(matrix)[:, 0]
    values = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=float)
    pairs = model.bins_.pairs
    labels = [*names, *(f"{names[p.first]} x {names[p.second]}" for p in pairs)]
    found = []
    for k, title in enumerate(rows):
        texts = part_texts(values[k], pairs)
        order = np.argsort(-np.abs(parts[k]), kind="stable")
        order = order[parts[k][order] != 0.0]
        found.append(
            RowParts(
                title,
                float(scores[k]),
                float(scores[k] - parts[k].sum()),
                tuple(labels[j] for j in order.tolist()),
                tuple(texts[j] for j in order.tolist()),
                parts[k][order],
            )
        )
    return found


def striking_rows(scores: FloatArray) -> dict[str, int]:
    """Rows worth explaining: the highest score, and those next to the threshold, which is 0."""
    found = {"The highest score": int(np.argmax(scores))}
    above, below = np.flatnonzero(scores > 0.0), np.flatnonzero(scores <= 0.0)
    if above.size:
        found["The lowest score that is flagged"] = int(above[np.argmin(scores[above])])
    if below.size:
        found["The highest score that is not flagged"] = int(below[np.argmax(scores[below])])
    return found


def _taken(X: Any, places: Any) -> Any:
    """Some rows of a table, in their order."""
    if hasattr(X, "iloc"):
        return X.iloc[places]
    return (X.tocsr() if hasattr(X, "tocsr") else np.asarray(X))[places]


def part_texts(values: FloatArray, pairs: Sequence[Any]) -> list[str]:
    """The values of a row as texts: of its columns, then of its pairs of columns."""
    texts = ["missing" if math.isnan(value) else f"{value:.6g}" for value in values.tolist()]
    return texts + [f"{texts[pair.first]}, {texts[pair.second]}" for pair in pairs]


def _names(model: Any, names: Sequence[str] | None) -> Sequence[str]:
    return model.names_ if names is None else names


def _sign(model: Any) -> float:
    """-1 where the positive class is the first of two, whose scores are negated."""
    classes = getattr(model, "classes_", None)
    return -1.0 if classes is not None and model.pos_label_ == classes[0] else 1.0


def _starts(bins: Any, codes: Any) -> FloatArray:
    """Smallest value of each level of a column."""
    first = np.flatnonzero(np.diff(codes[1:], prepend=0))
    edges: FloatArray = np.append(bins.low, bins.cuts)[first]
    return edges
