"""Forecasts of a day from data up to the midnight before, with bands."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError, ParameterError, speaks
from auctor.core.types import FloatArray, IntArray
from auctor.forecast import metrics
from auctor.forecast.backtest import Backtest, Forecast
from auctor.forecast.days import change_values, read_days
from auctor.forecast.embedding import EmbeddedRows, Embedding
from auctor.forecast.estimators.day_models import ClusteredDays, KernelDays, SvrDays, train_tubes
from auctor.forecast.estimators.other_models import LinearDays, ModelOptions, StepModel
from auctor.forecast.ridge import DayRidge, forward_blocks
from auctor.forecast.tube import Tube

#: Days whose errors make the bands, the last ones.
CALIBRATED_ON = 365
#: Change of the share outside the band, over that by which a day missed it (Gibbs and Candes,
#: "Adaptive conformal inference under distribution shift", 2021): weeks until a band is as wide as
#: a new season needs. From .1 to .2 all six series of `forecast.md` are covered as they should be.
ADAPTATION = 0.1
#: Smallest load, over the mean, of a series whose logarithm is forecast.
LEAST_SHARE = 0.01
#: Attributes that `update` changes.
CHANGED = ("history_", "exogenous_", "residuals_", "outside_", "model_", "quantiles_")

#: How each model is fitted, and whether its rows are days or steps.
MODELS: dict[str, tuple[Callable[[EmbeddedRows, ModelOptions], Any], str]] = {
    "kernel_ridge": (KernelDays.fit, "days"),
    "svr": (SvrDays.fit, "days"),
    "clustered": (ClusteredDays.fit, "days"),
    "additive": (partial(StepModel.fit, "additive"), "steps"),
    "ridge": (LinearDays.fit, "days"),
    "lightgbm": (partial(StepModel.fit, "lightgbm"), "steps"),
}


class LoadForecaster(BaseEstimator):  # type: ignore[misc]
    """Forecast a day of load at the midnight before it.

    The default is one kernel ridge regression with an output for every step of the day, on profiles
    of earlier days, calendar, holidays and other columns such as temperature. Each group of
    features has a width of its own; widths and strength have the smallest error on later days. The
    logarithm of the load is forecast, or the load itself if it comes near zero.

    Parameters
    ----------
    model : {"kernel_ridge", "svr", "clustered", "additive", "ridge", "lightgbm"}
        "svr" has a support vector regression per step on the same kernel, "clustered" machines with
        a shifted tube on clusters of days and a gate between them, "additive" curves of step,
        temperature and lags with pairs; the last two are baselines. Beyond 5,000 days
        "kernel_ridge" uses Nystroem's features.
    horizon : int >= 1, optional
        Steps to forecast; by default one day.
    embedding : Embedding, optional
        Lags, calendar and holidays; ``horizon`` and ``holidays`` replace its own.
    holidays : sequence of dates
    coverage : float in (0, 1)
        Share of the loads that the band shall cover.
    bands : {"conformal", "quantile"}
        From the errors on later days, step by step, or from kernel machines of two quantiles.
        The former widen when days that have come lie outside them more often than they should.
    shift : float
        Upward shift of the tube of "svr" and "clustered", in units of the usual error.
    n_clusters : int >= 1
        Of "clustered".
    gate : {"softmax", "svm", "nearest"}
        Weights of the clusters: softmax of minus the distances from them, a kernel support vector
        machine with probabilities, or the nearest one alone.
    certified : bool
        Whether "clustered" solves to a gap, or by stochastic subgradients as in the thesis.
    random_state : int, optional
    n_threads : int, optional

    Attributes
    ----------
    history_ : Days
        The series that is known, as days.
    model_ : object
        The fitted model.
    residuals_ : (m, horizon) array
        Errors on later days, of the logarithm or of the scaled load.
    outside_ : float
        Share of these errors that the band leaves out; `update` adapts it.

    Examples
    --------
    >>> stamps = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[h]")
    >>> hour = np.arange(stamps.size)
    >>> load = 100 + 20 * np.sin(hour / 24 * 2 * np.pi) + 5 * np.cos(hour / 168 * 2 * np.pi)
    >>> model = LoadForecaster().fit((stamps, load))
    >>> truth = 100 + 20 * np.sin(np.arange(24) / 24 * 2 * np.pi)
    >>> bool(np.abs(model.predict() - truth).max() < 10)
    True
    """

    def __init__(
        self, model: str = "kernel_ridge", *, horizon: int | None = None,
        embedding: Embedding | None = None, holidays: Sequence[Any] = (), coverage: float = 0.8,
        bands: str = "conformal", shift: float = 0.0,
        n_clusters: int = 4, gate: str = "softmax", certified: bool = True,
        random_state: int | None = 0, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.model, self.horizon, self.embedding, self.holidays = (
            model,
            horizon,
            embedding,
            holidays,
        )
        self.coverage, self.bands, self.shift = coverage, bands, shift
        self.n_clusters, self.gate, self.certified = n_clusters, gate, certified
        self.random_state, self.n_threads = random_state, n_threads

    def check_parameters(self) -> None:
        """Raise ``ParameterError`` for parameters that `fit` would refuse."""
        check_choice("model", self.model, tuple(MODELS))
        check_real("coverage", self.coverage, low=0.0, high=1.0, open_low=True, open_high=True)
        check_choice("bands", self.bands, ("conformal", "quantile"))
        if self.bands == "quantile" and self.model != "kernel_ridge":
            raise ParameterError(
                f"`model='kernel_ridge'` for bands of quantiles; got {self.model!r}. Use "
                "`bands='conformal'`."
            )
        check_real("shift", self.shift)
        check_int("n_clusters", self.n_clusters, low=1)
        check_choice("gate", self.gate, ("softmax", "svm", "nearest"))
        if not isinstance(self.embedding, Embedding | None):
            raise ParameterError(
                f"`embedding` to be an Embedding; got {type(self.embedding).__name__}. Pass one."
            )

    @speaks
    def fit(self, series: Any, exogenous: Any = None) -> Self:
        """Choose and train the model on a series, with columns that go with it.

        Parameters
        ----------
        series : pandas or polars object, or (stamps, values)
            See `Embedding`. Whole days are used; the forecast is for the day after the last.
        exogenous : the same, optional
            Other columns on the same steps, at least to the end of the series.
        """
        self.check_parameters()
        embedding = self.embedding or Embedding()
        changes: dict[str, Any] = {"horizon": self.horizon} if self.horizon is not None else {}
        changes |= {"holidays": self.holidays} if len(self.holidays) else {}
        self.embedding_: Embedding = replace(embedding, **changes).plain()
        load, other = self.embedding_.read(series, exogenous)
        least, mean = float(load.table.min()), float(np.abs(load.table).mean())
        if float(np.ptp(load.table)) <= 1e-12 * mean or mean == 0.0:
            raise DataError(
                f"a series that changes; got {load.table[0, 0]:g} at every step. Pass another one."
            )
        self.unit_, self.log_ = mean, least > LEAST_SHARE * mean
        self.history_, self.exogenous_ = load, other
        self.n_features_in_ = 1 if other is None else 1 + len(other.values)
        rows = self._rows(self._past())
        start = time.process_time()
        self._fit_model(rows)
        self.cpu_seconds_ = time.process_time() - start
        return self

    def _fit_model(self, rows: EmbeddedRows) -> None:
        if len(np.unique(rows.dates)) < 3:
            raise DataError(
                f"at least three days to train on; got {len(np.unique(rows.dates))} beyond the "
                "lags. Pass a longer series or shorter lags."
            )
        fit, _ = MODELS[self.model]
        self.model_ = fit(rows, self.model_options())
        # Errors on the last third of the days, of the model of those before.
        days = len(rows.X) // self._steps_each(rows)
        a, b = (self._part(rows, part) for part in forward_blocks(days)[-1])
        earlier = self.model_.retrained(a)
        errors = b.Y - earlier.predict(b.X)
        self.residuals_ = errors.reshape(-1, self.horizon_)[-CALIBRATED_ON:]
        self.outside_ = 1.0 - self.coverage
        self._fit_quantiles(rows)

    def model_options(self) -> ModelOptions:
        """What the model takes from the parameters."""
        return ModelOptions(
            self.n_clusters, self.gate, self.shift, self.certified, self.random_state,
            self.n_threads,
        )  # fmt: skip

    def feature_names(self) -> list[str]:
        """Names of the columns of the rows that the model is trained on."""
        check_is_fitted(self)
        groups = self._rows(self._past()[-1:]).groups
        return [
            name if part.stop - part.start == 1 else f"{name} {k}"
            for name, part in groups.items()
            for k in range(1, part.stop - part.start + 1)
        ]

    def check_forecast(self) -> FloatArray:
        """Forecast and band of the last day that is known, which a model from a file must have."""
        return np.vstack(self._forecast_days(self._past()[-1:]))

    def _fit_quantiles(self, rows: EmbeddedRows) -> None:
        self.quantiles_: tuple[DayRidge, ...] = ()
        if self.bands == "quantile":
            if not isinstance(self.model_, KernelDays):
                raise DataError(
                    "fewer days for bands of quantiles, whose kernel matrix is stored; got "
                    f"{len(rows.X):,}. Use `bands='conformal'`."
                )
            unit = float(np.sqrt(np.mean(self.residuals_**2))) or 1.0
            self.quantiles_ = tuple(
                train_tubes(
                    self.model_.machine.kernel, rows.X, rows.Y, Tube(quantile=level), unit,
                    self.n_threads,
                )
                for level in (0.5 * (1.0 - self.coverage), 0.5 * (1.0 + self.coverage))
            )  # fmt: skip

    @property
    def horizon_(self) -> int:
        """Steps of a forecast."""
        return self.embedding_.steps_ahead(self.history_)

    def _past(self) -> IntArray:
        """Positions of the days with a past and targets."""
        ahead = self.embedding_.days_ahead(self.history_)
        return np.arange(self.embedding_.longest, self.history_.n_days - ahead + 1)

    def _rows(self, index: IntArray) -> EmbeddedRows:
        load = change_values(self.history_, self._inward)
        form = MODELS[self.model][1]
        make = self.embedding_.day_rows if form == "days" else self.embedding_.step_rows
        return make(load, self.exogenous_, index)

    def _inward(self, table: FloatArray) -> FloatArray:
        return np.log(table / self.unit_) if self.log_ else table / self.unit_

    def _outward(self, z: FloatArray) -> FloatArray:
        return self.unit_ * (np.exp(z) if self.log_ else z)

    def _steps_each(self, rows: EmbeddedRows) -> int:
        """Rows of a day."""
        return 1 if rows.Y.ndim == 2 else self.horizon_

    def _part(self, rows: EmbeddedRows, days: IntArray) -> EmbeddedRows:
        """The rows of some days."""
        each = self._steps_each(rows)
        index = (days[:, None] * each + np.arange(each)).ravel()
        return EmbeddedRows(rows.X[index], rows.Y[index], rows.groups, rows.dates[index])

    def _forecast_days(self, index: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Forecasts and bands of days by position, on the scale of the model."""
        rows = self._rows(index)
        z = np.asarray(self.model_.predict(rows.X)).reshape(-1, self.horizon_)
        if self.quantiles_:
            bands = np.stack([one.predict(rows.X) for one in self.quantiles_])
            lower, upper = np.sort(np.stack((*bands, z)), axis=0)[[0, 2]]
            return z, lower, upper
        lower, upper = self._band()
        return z, z + lower, z + upper

    def _band(self) -> tuple[FloatArray, FloatArray]:
        """Split-conformal: the ranks leave room for the error of the new day itself."""
        m, each = len(self.residuals_), 0.5 * self.outside_
        ends = np.clip([each * (m + 1) / m - 1.0 / m, (1.0 - each) * (m + 1) / m], 0.0, 1.0)
        lower = np.quantile(self.residuals_, ends[0], axis=0, method="lower")
        return lower, np.quantile(self.residuals_, ends[1], axis=0, method="higher")

    def _learn_error(self, error: FloatArray) -> None:
        """Put the errors of a day into the band, which widens if it missed more than it should."""
        lower, upper = self._band()
        missed, wanted = float(np.mean((error < lower) | (error > upper))), 1.0 - self.coverage
        outside = self.outside_ + ADAPTATION * (wanted - missed)
        self.outside_ = min(max(outside, 0.0), 2.0 * wanted, 1.0)
        self.residuals_ = np.vstack((self.residuals_, error))[-CALIBRATED_ON:]

    @speaks
    def forecast(self, steps: int | None = None, exogenous: Any = None) -> Forecast:
        """Forecast the day after the known series, with its band.

        Parameters
        ----------
        steps : int, optional
            At most the horizon, its default.
        exogenous : as in `fit`, optional
            Other columns of that day, if those of `fit` ended before.
        """
        check_is_fitted(self)
        steps = self.horizon_ if steps is None else check_int("steps", steps, low=1)
        if steps > self.horizon_:
            raise ParameterError(
                f"`steps` of at most the horizon of the fit, {self.horizon_}; got {steps}. Fit "
                f"with `horizon={steps}`."
            )
        self._join_exogenous(exogenous)
        n, per_day = self.history_.n_days, self.history_.per_day
        day = self._forecast_days(np.array([n]))
        load, lower, upper = (self._outward(one[0, :steps]) for one in day)
        first = self.history_.dates(np.array(n)).astype("datetime64[m]")
        return Forecast(first + np.arange(steps) * (1440 // per_day), load, lower, upper)

    @speaks
    def predict(self, steps: int | None = None, exogenous: Any = None) -> FloatArray:
        """Forecast the day after the known series."""
        return self.forecast(steps, exogenous).load

    def _join_exogenous(self, exogenous: Any) -> None:
        if exogenous is None:
            return
        if self.exogenous_ is None:
            raise DataError("`exogenous` in fit too; got it later only. Fit with it.")
        other = read_days(exogenous, "`exogenous`", back=1, longest=self.embedding_.longest)
        missing = self.exogenous_.values.keys() ^ other.values.keys()
        if missing:
            raise DataError(
                f"`exogenous` with the columns of fit; got a difference in "
                f"{', '.join(map(repr, sorted(missing)))}. Pass the same columns."
            )
        self.exogenous_ = self.exogenous_.joined(other)

    @speaks
    def update(self, series: Any, exogenous: Any = None, *, refit: bool = False) -> Self:
        """Add days that have come, whose errors enter the bands; ``refit`` trains on them too.

        Widths and strengths stay as `fit` chose them.
        """
        check_is_fitted(self)
        before = self._state()
        try:
            new = self._join(series, exogenous)
            for error in self._inward(self._actual(new)) - self._forecast_days(new)[0]:
                self._learn_error(error)
            if refit:
                rows = self._rows(self._past())
                self.model_ = self.model_.retrained(rows)
                self._fit_quantiles(rows)
        except BaseException:
            self._restore(before)
            raise
        return self

    def _state(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in CHANGED)

    def _restore(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(CHANGED, state, strict=True):
            setattr(self, name, value)

    def _join(self, series: Any, exogenous: Any) -> IntArray:
        """Add days to what is known; the positions of those whose targets are known now."""
        before = self._past()
        later = read_days(series, "the series", longest=self.embedding_.longest)
        if len(later.values) != 1:
            raise DataError(f"a series; got {len(later.values)} columns. Pass one of them.")
        self._join_exogenous(exogenous)
        name = next(iter(self.history_.values))
        self.history_ = self.history_.joined(replace(later, values={name: later.table}))
        return np.setdiff1d(self._past(), before)

    def _actual(self, index: IntArray) -> FloatArray:
        """Loads of the horizons that begin on some days."""
        flat, per_day = self.history_.table.ravel(), self.history_.per_day
        loads: FloatArray = flat[index[:, None] * per_day + np.arange(self.horizon_)]
        return loads

    @speaks
    def backtest(
        self, series: Any, exogenous: Any = None, *, origins: int, refit: int = 0
    ) -> Backtest:
        """Fit on the days before the last ``origins`` and forecast these, each from its past.

        Parameters
        ----------
        series, exogenous : as in `fit`
        origins : int >= 1
            Days to forecast.
        refit : int >= 0
            Train again after so many days; 0: never.
        """
        check_int("origins", origins, low=1)
        check_int("refit", refit)
        embedding = self.embedding or Embedding()
        load = read_days(series, "the series", longest=embedding.longest)
        cut = load.n_days - origins
        if cut < 1:
            raise DataError(f"more days than `origins`, {origins}; got {load.n_days}. Pass more.")
        other = None
        if exogenous is not None:
            other = read_days(exogenous, "`exogenous`", back=1, longest=embedding.longest)
        self.fit(load.part(0, cut), other)
        seconds, parts = self.cpu_seconds_, []
        ahead = self.embedding_.days_ahead(load)
        for day in range(cut, load.n_days - ahead + 1):
            days = [self._outward(one[0]) for one in self._forecast_days(np.array([day]))]
            start = time.process_time()
            self.update(load.part(day, day + 1), refit=bool(refit and (day + 1 - cut) % refit == 0))
            seconds += time.process_time() - start
            parts.append(days)
        if not parts:
            raise DataError(
                f"`origins` of at least {ahead} days for this horizon; got {origins}. Pass more."
            )
        self.history_ = load
        index = np.arange(cut, load.n_days - ahead + 1)
        forecast, lower, upper = (np.vstack(one) for one in zip(*parts, strict=True))
        return Backtest(load.dates(index), self._actual(index), forecast, lower, upper, seconds)

    @speaks
    def score(self, series: Any, exogenous: Any = None) -> float:
        """Minus the MAPE of the days of a series that follow those of the fit."""
        check_is_fitted(self)
        before = self._state()
        try:
            index = self._join(series, exogenous)
            if not index.size:
                raise DataError("days after those of the fit; got none. Pass later days.")
            forecast = self._outward(self._forecast_days(index)[0])
            return -metrics.mape(self._actual(index), forecast)
        finally:
            self._restore(before)
