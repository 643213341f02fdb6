"""Fitted additive models: curves of columns, which predict without scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from auctor.additive.bins import Bins, read_values
from auctor.additive.parameters import contributions
from auctor.core.errors import speaks
from auctor.core.types import Array, FloatArray, IntArray
from auctor.fit.model import LinearModel, RegressionModel


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves:
    """The fields that an additive model has besides those of a linear one.

    Parameters
    ----------
    bins : Bins
        The bins of the columns, which turn values into codes.
    signs : int array
        Direction of every column: 1 rising, -1 falling, 0 free.
    bands : dict, optional
        Bootstrap bands of the curves, by the number of the column, if they were drawn.
    """

    bins: Bins
    signs: IntArray
    bands: dict[int, FloatArray] | None = None

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
        As in `Curves`; ``coef`` has a weight for every line, jump, missing value and cell.
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
        matrix = read_values(X, self.n_features, self.feature_names)
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
        matrix = read_values(X, self.n_features, self.feature_names)
        return self.bins.scores(matrix, self.coef, self.intercept)

    @speaks
    def explained(self, X: Any) -> FloatArray:
        """What each column and pair adds to the score of each row: (n, parts, 1)."""
        return _explained(self, X)


def _explained(model: AdditiveModel | AdditiveRegressionModel, X: Any) -> FloatArray:
    matrix = read_values(X, model.n_features, model.feature_names)
    codes = model.bins.codes(matrix)
    parts = [contributions(model.bins, theta, codes) for theta in model.coef]
    return np.stack(parts, axis=2)


def with_curves(
    linear: LinearModel | RegressionModel,
    bins: Bins,
    signs: IntArray,
    bands: dict[int, FloatArray] | None = None,
) -> AdditiveModel | AdditiveRegressionModel:
    """The additive model whose lines, jumps and cells have the weights of a linear model."""
    named = {one.name: getattr(linear, one.name) for one in fields(linear)}
    kind = AdditiveModel if isinstance(linear, LinearModel) else AdditiveRegressionModel
    return kind(bins=bins, signs=signs, bands=bands, **named)


def curve_of(model: AdditiveModel | AdditiveRegressionModel, column: int, k: int = 0) -> Array:
    """What every code of a column adds to the score, minus the mean over the training rows."""
    table = model.bins.tables(model.coef[k])[column]
    return table - float(model.bins.columns[column].share @ table)
