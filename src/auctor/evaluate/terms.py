"""What each column of a table adds to scores: weights or curves, and the parts of single rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.additive.model import AdditiveModel
from auctor.core.types import FloatArray, Target
from auctor.data import as_matrix, wrap
from auctor.data.matrices import dense_array
from auctor.evaluate.curves_info import (
    MISSING_SHARE,
    ColumnCurve,
    CurvesInfo,
    ScoreParts,
    curves_info,
    level_curve,
    score_parts,
    shown_values,
    striking_rows,
)
from auctor.evaluate.info import Feature
from auctor.evaluate.rows import MAX_REASONS, Reason
from auctor.evaluate.scores import ScoredRows
from auctor.evaluate.shard_rows import ShardRows, moments_of
from auctor.evaluate.table_columns import TableColumns
from auctor.fit.model import LinearModel
from auctor.tables.schema import Schema

#: Unit of a column in texts such as "per day", by the kind of the column; else "1".
UNITS = {"date": "day"}


class LinearTerms:
    """Weights of a linear model by the columns of the table, and the parts of rows.

    Parts are relative to the mean row.
    """

    def __init__(self, model: LinearModel, matrix: Any, schema: Schema, rows: ScoredRows) -> None:
        self.matrix = matrix if isinstance(matrix, ShardRows) else as_matrix(matrix)
        self.coef: FloatArray = rows.sign * model.coef[0]
        self.columns = TableColumns.of(schema, schema.feature_names, self.coef.size)
        self.mean, self.deviations = moments_of(self.matrix)
        self.features = self._features()
        explained = tuple(self._explained(rows)) if schema.columns else ()
        self.curves = CurvesInfo(tuple(self._charts()), rows=explained)

    def reasons(self, position: int) -> list[Reason]:
        """Largest contributions of columns to the score of a row, both signs."""
        return _strongest(self.columns, *self._row(position))

    def _row(self, position: int) -> tuple[list[float], FloatArray]:
        """The values of a row in the matrix, and what each column of the table adds."""
        row = wrap(self.matrix[[position]], Target(np.empty(0)))
        values = row.gradient(np.ones(1))  # X.T @ [1]: the row as a dense vector
        return values.tolist(), self.columns.gathered(self.coef * (values - self.mean))

    def _features(self) -> list[Feature]:
        """The columns of the table with nonzero weights, by decreasing importance."""
        used = np.unique(self.columns.owner[np.flatnonzero(self.coef)])
        features = []
        for k in used.tolist():
            column, place = self.columns.column(k)
            if column.width == 1 and column.kind != "category":
                weight, deviation = float(self.coef[place.start]), self.deviations[place.start]
                unit = UNITS.get(column.kind, "1")
            else:
                w = np.zeros_like(self.coef)
                w[place] = self.coef[place]
                deviation = wrap(self.matrix, Target(np.empty(0))).scores(w).std()
                weight, unit = math.nan, f"{column.width:,} level{'s' * (column.width > 1)}"
            features.append(Feature(column.name, place.start, weight, float(deviation), unit))
        return sorted(features, key=lambda one: -abs(one.effect))

    def _charts(self) -> list[ColumnCurve]:
        """The levels of each column of text."""
        charts = []
        for column, place in self.columns.places:
            w, share = self.coef[place], self.mean[place]
            if column.kind == "category" and column.levels and w.any():
                average = float(w @ share)
                # Rows without any of the levels, whose text was missing or rare.
                missing = -average if share.sum() < 1.0 - MISSING_SHARE else None
                charts.append(level_curve(column.name, column.levels, w - average, share, missing))
        return sorted(charts, key=lambda one: -one.effect)

    def _explained(self, rows: ScoredRows) -> list[ScoreParts]:
        """The parts of the scores of rows that are worth explaining."""
        return [
            score_parts(title, float(rows.scores[k]), self.columns, *self._row(k))
            for title, k in striking_rows(rows.scores).items()
        ]


class CurveTerms:
    """Curves of an additive model, and the parts of rows by the columns of the table."""

    coef: FloatArray = np.empty(0)
    features: list[Feature] | None = None

    def __init__(self, model: AdditiveModel, matrix: Any, schema: Schema, rows: ScoredRows) -> None:
        self.model, self.matrix, self.sign = model, matrix, rows.sign
        names, width = schema.feature_names, len(model.bins.columns)
        self.columns = TableColumns.of(schema, names, width)
        self.pairs = [(pair.first, pair.second) for pair in model.bins.pairs]
        self.curves = curves_info(model, names, matrix, striking_rows(rows.scores), schema)

    def reasons(self, position: int) -> list[Reason]:
        """Largest contributions of columns to the score of a row, both signs."""
        row = self.matrix[[position]]
        parts = self.sign * self.model.explained(row)[0, :, 0]
        values = shown_values(dense_array(row)[0].astype(np.float64), self.model.bins)
        return _strongest(self.columns, values, self.columns.gathered(parts, self.pairs))


def _strongest(
    columns: TableColumns, values: Sequence[float | str], parts: FloatArray
) -> list[Reason]:
    """The `MAX_REASONS` largest and smallest contributions, as `Reason` objects."""
    order = np.argsort(parts, kind="stable")
    numbers = dict.fromkeys([*order[:MAX_REASONS].tolist(), *order[-MAX_REASONS:].tolist()])
    reasons = []
    for k in numbers:
        column, _ = columns.column(k)
        unit = UNITS.get(column.kind, "1")
        reasons.append(Reason(column.name, columns.value(k, values), float(parts[k]), unit))
    return reasons
