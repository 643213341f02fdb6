"""Fitted additive models: curves of columns, which predict without scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from auctor.additive.bins import Bins, read_values
from auctor.additive.text import coded
from auctor.core.errors import speaks
from auctor.core.types import Array, FloatArray, IntArray
from auctor.fit.model import LinearModel, RegressionModel

#: Half width of a band of 95 %, in standard errors.
BAND = 1.96


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves:
    """The fields that an additive model has besides those of a linear one.

    Parameters
    ----------
    bins : Bins
        The bins of the columns, which turn values into codes.
    signs : int array
        Direction of every column: 1 rising, -1 falling, 0 free.
    error : array, optional
        Standard errors of the coefficients, from the members of the model.
    """

    coef: FloatArray
    bins: Bins
    signs: IntArray
    error: FloatArray | None = None

    def bands(self, k: int = 0) -> dict[int, FloatArray] | None:
        """The curves less and plus `BAND` standard errors, (2, codes), by the number of the column.

        Without the code of missing values; ``None`` for one member.
        """
        if self.error is None:
            return None
        tables = self.bins.tables(self.coef[k])
        errors = self.bins.tables(self.error[k])
        return {
            j: np.array([tables[j] - BAND * errors[j], tables[j] + BAND * errors[j]])[:, 1:]
            for j in range(len(self.bins.columns))
        }

    @speaks
    def part_names(self, names: Sequence[str] | None) -> tuple[str, ...]:
        """Names of the columns, then of the pairs; without names the columns are x0, x1, ..."""
        columns = tuple(names or (f"x{j}" for j in range(len(self.bins.columns))))
        pairs = (f"{columns[pair.first]} x {columns[pair.second]}" for pair in self.bins.pairs)
        return (*columns, *pairs)


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveModel(Curves, LinearModel):
    """A fitted additive classifier: curves of columns, trained on a metric.

    Parameters
    ----------
    bins, signs
        As in `Curves`; ``coef`` has what every code of a column and every cell of a pair adds.
    """

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.bins.columns)

    @property
    def n_used(self) -> int:
        """Number of columns whose curve is not flat."""
        return int(np.count_nonzero(self.bins.importances(self.coef)[: self.n_features]))

    @speaks
    def scores(self, X: Any) -> FloatArray:
        """Sums of the curves at the rows of X, shape (n, k)."""
        matrix = read_values(coded(X, self.bins), self.n_features, self.feature_names)
        return self.bins.scores(matrix, self.coef, self.intercept)

    @speaks
    def explained(self, X: Any) -> FloatArray:
        """What each column and pair adds to the decision value of each row: (n, parts, k)."""
        return _explained(self, X)


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveRegressionModel(Curves, RegressionModel):
    """A fitted additive regression."""

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.bins.columns)

    @speaks
    def scores(self, X: Any) -> FloatArray:
        """Sums of the curves at the rows of X, shape (n, 1)."""
        matrix = read_values(coded(X, self.bins), self.n_features, self.feature_names)
        return self.bins.scores(matrix, self.coef, self.intercept)

    @speaks
    def explained(self, X: Any) -> FloatArray:
        """What each column and pair adds to the score of each row: (n, parts, 1)."""
        return _explained(self, X)


def _explained(model: AdditiveModel | AdditiveRegressionModel, X: Any) -> FloatArray:
    matrix = read_values(coded(X, model.bins), model.n_features, model.feature_names)
    codes = model.bins.codes(matrix)
    parts = [
        np.column_stack(
            [table[line] for table, line in zip(model.bins.tables(one), codes, strict=True)]
        )
        for one in model.coef
    ]
    return np.stack(parts, axis=2)


def with_curves(
    linear: LinearModel | RegressionModel,
    bins: Bins,
    signs: IntArray,
    error: FloatArray | None = None,
) -> AdditiveModel | AdditiveRegressionModel:
    """The additive model whose lines, jumps and cells have the weights of a linear model."""
    named = {one.name: getattr(linear, one.name) for one in fields(linear)}
    kind = AdditiveModel if isinstance(linear, LinearModel) else AdditiveRegressionModel
    return kind(bins=bins, signs=signs, error=error, **named)


def curve_of(model: AdditiveModel | AdditiveRegressionModel, column: int, k: int = 0) -> Array:
    """What every code of a column adds to the score, minus the mean over the training rows."""
    return model.bins.tables(model.coef[k])[column]
