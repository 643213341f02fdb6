"""Models of a forecaster besides kernel machines, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from auctor.core.optional import require
from auctor.core.types import FloatArray
from auctor.forecast.embedding import EmbeddedRows
from auctor.forecast.ridge import forward_blocks
from auctor.kernels.runtime.parallel import available_threads, quiet_blas

#: Standard deviation below which a column is constant.
CONSTANT = 1e-10
#: Strengths of the linear ridge, in units of the sum of the eigenvalues.
RIDGES = np.logspace(-6.0, 0.0, 13)


class DayModel(Protocol):
    """A fitted model."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts (n, horizon) of rows of days, or (n horizon,) of rows of steps."""

    def retrained(self, rows: EmbeddedRows) -> Self:
        """The model on other rows, with widths and strengths as they were chosen."""


@dataclass(frozen=True)
class ModelOptions:
    """What a forecaster passes to its model."""

    n_clusters: int = 4
    gate: str = "softmax"
    shift: float = 0.0
    certified: bool = True
    random_state: int | None = 0
    n_threads: int | None = None


@dataclass(frozen=True, eq=False)
class LinearDays:
    """A linear ridge for every step on standardised columns, with one strength."""

    centre: FloatArray
    scale: FloatArray
    strength: float
    coef: FloatArray
    mean: FloatArray

    @classmethod
    def fit(cls, rows: EmbeddedRows, options: ModelOptions) -> LinearDays:
        """Choose the strength on later days, then train on all."""
        scale = rows.X.std(axis=0)
        scale[scale < CONSTANT] = np.inf
        empty = np.zeros(0)
        start = cls(rows.X.mean(axis=0), 1.0 / scale, 0.0, empty, empty)
        tried = []
        for strength in (RIDGES * rows.X.size).tolist():
            one, error = replace(start, strength=strength), 0.0
            for a, b in forward_blocks(len(rows.X)):
                forecast = one.trained(rows.X[a], rows.Y[a]).predict(rows.X[b])
                error += float(((rows.Y[b] - forecast) ** 2).sum())
            tried.append((error, strength))
        return replace(start, strength=min(tried)[1]).retrained(rows)

    def retrained(self, rows: EmbeddedRows) -> LinearDays:
        """The same strength on other rows."""
        return self.trained(rows.X, rows.Y)

    def trained(self, X: FloatArray, Y: FloatArray) -> LinearDays:
        """The same strength on days as arrays."""
        Z = (X - self.centre) * self.scale
        middle, mean = Z.mean(axis=0), Y.mean(axis=0)
        Z -= middle
        with quiet_blas():
            gram = Z.T @ Z
            gram[np.diag_indices_from(gram)] += self.strength
            coef = np.linalg.solve(gram, Z.T @ (Y - mean))
        return replace(self, coef=coef, mean=mean - middle @ coef)

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts of days."""
        forecast: FloatArray = ((X - self.centre) * self.scale) @ self.coef + self.mean
        return forecast


@dataclass(frozen=True, eq=False)
class StepModel:
    """A regressor of single steps, by its name in `STEP_MODELS`."""

    name: str
    regressor: Any
    options: ModelOptions

    @classmethod
    def fit(cls, name: str, rows: EmbeddedRows, options: ModelOptions) -> StepModel:
        """Train on rows of steps."""
        return cls(name, None, options).retrained(rows)

    def retrained(self, rows: EmbeddedRows) -> StepModel:
        """A new regressor on other rows."""
        made = STEP_MODELS[self.name](self.options)
        return replace(self, regressor=made.fit(rows.X, rows.Y))

    def predict(self, X: FloatArray) -> FloatArray:
        """Forecasts of steps."""
        return np.asarray(self.regressor.predict(X), np.float64)


def _additive(options: ModelOptions) -> Any:
    """Curves of step, temperature, lags and calendar, with pairs."""
    from auctor.additive import AdditiveRegressor

    return AdditiveRegressor(random_state=options.random_state, n_threads=options.n_threads)


def _boosted(options: ModelOptions) -> Any:
    threads = available_threads(options.n_threads)
    return require("lightgbm", extra="boosting").LGBMRegressor(
        n_estimators=300, verbose=-1, random_state=options.random_state, n_jobs=threads
    )


#: Regressors of steps.
STEP_MODELS: dict[str, Callable[[ModelOptions], Any]] = {
    "additive": _additive,
    "lightgbm": _boosted,
}
