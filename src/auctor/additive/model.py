"""Fitted additive models: curves of columns, which predict without scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from auctor.additive.bins import Bins, read_values
from auctor.additive.reasons import additive_reasons
from auctor.additive.text import coded
from auctor.core.errors import speaks
from auctor.core.types import FloatArray, IntArray
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.reasons import Reasons

#: Half width of a band of 95 %, in standard errors.
BAND = 1.96
#: The kinds of additive models.
CURVES, PAIRS = "curves", "curves with pairs"


@dataclass(frozen=True)
class Edit:
    """A change of one term of a model, and the metric before and after it.

    Parameters
    ----------
    term : str
        Name of the column or pair.
    moved : float
        Mean absolute change of the scores of the training rows.
    before, after : float, optional
        The metric of the rows passed to `edit`, greater is better.
    """

    term: str
    moved: float
    before: float | None = None
    after: float | None = None

    @property
    def cost(self) -> float | None:
        """Decrease of the metric, if it was measured."""
        return None if self.before is None or self.after is None else self.before - self.after

    def __str__(self) -> str:
        text = f"{self.term}: scores move by {self.moved:.4g} on average"
        if self.before is None or self.after is None:
            return text + "; pass X and y to see what it costs"
        return text + f"; metric {self.before:.6g} before, {self.after:.6g} after"


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
    edits : tuple of Edit
        Changes by hand since the fit, in their order.
    """

    coef: FloatArray
    bins: Bins
    signs: IntArray
    error: FloatArray | None = None
    edits: tuple[Edit, ...] = ()

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
    def kind(self) -> str:
        """The kind of model: "curves" or "curves with pairs"."""
        return PAIRS if self.bins.pairs else CURVES

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
        return self.bins.scores(self.matrix_of(X), self.coef, self.intercept)

    def matrix_of(self, X: Any) -> Any:
        """The matrix of X; raises unless its columns are those of the fit."""
        return read_values(coded(X, self.bins), self.n_features, self.feature_names)

    def _parts(self, matrix: Any, how: tuple[Any, ...]) -> Reasons:
        return _reasons(self, matrix, how)

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
        return self.bins.scores(self.matrix_of(X), self.coef, self.intercept)

    def matrix_of(self, X: Any) -> Any:
        """The matrix of X; raises unless its columns are those of the fit."""
        return read_values(coded(X, self.bins), self.n_features, self.feature_names)

    def _parts(self, matrix: Any, how: tuple[Any, ...]) -> Reasons:
        return _reasons(self, matrix, how)

    @speaks
    def explained(self, X: Any) -> FloatArray:
        """What each column and pair adds to the score of each row: (n, parts, 1)."""
        return _explained(self, X)


def _reasons(
    model: AdditiveModel | AdditiveRegressionModel, matrix: Any, how: tuple[Any, ...]
) -> Reasons:
    names, kinds = model.feature_names, []
    if model.schema is not None:
        names = tuple(name for one in model.table_columns for name in one.features)
        kinds = [one.kind for one in model.table_columns for _ in one.features]
    coef, intercept = model.sign * model.coef[0], model.sign * float(model.intercept[0])
    return additive_reasons(
        matrix, model.bins, coef, intercept, model.part_names(names), kinds, *how
    )


def _explained(model: AdditiveModel | AdditiveRegressionModel, X: Any) -> FloatArray:
    codes = model.bins.codes(model.matrix_of(X))
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
