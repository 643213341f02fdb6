"""The usual forecasts to compare with, on the same days and features."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, speaks_as
from auctor.core.optional import require
from auctor.core.types import FloatArray
from auctor.forecast.backtest import Backtest
from auctor.forecast.days import Days
from auctor.forecast.embedding import Embedding
from auctor.forecast.estimators.load_forecaster import LoadForecaster

#: Days that MSTL is fitted to: more of them take longer and change its forecasts little.
MSTL_DAYS = 84


@speaks_as("baselines")
def baselines(
    series: Any, exogenous: Any = None, *, origins: int, refit: int = 0,
    embedding: Embedding | None = None, holidays: Sequence[Any] = (),
    names: Sequence[str] | None = None,
    n_threads: int | None = None,
) -> dict[str, Backtest]:  # fmt: skip
    """Forecast the last days of a series in the usual ways, each from its past.

    Persistence (the day before), the same day last week, a linear ridge per step, and, where they
    are installed, LightGBM on all steps and MSTL of statsforecast on the load alone. MSTL is fitted
    again every day to the last 84. Parameters are those of `LoadForecaster`; ``names`` are those of
    the baselines that are wanted. Bands of the first two and of MSTL are NaN.

    Examples
    --------
    >>> stamps = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[h]")
    >>> load = 100 + 20 * np.sin(np.arange(stamps.size) / 24 * 2 * np.pi)
    >>> found = baselines((stamps, load), origins=5)
    >>> round(found["persistence"].metrics()["mape"], 6)
    0.0
    """
    check_int("origins", origins, low=1)
    embedding = embedding or Embedding()
    load, _ = embedding.read(series, exogenous)
    if load.n_days - origins < 7:
        raise DataError(f"a week before the last {origins} days; got {load.n_days}. Pass more.")

    def model(name: str) -> Backtest:
        one = LoadForecaster(name, embedding=embedding, holidays=holidays, n_threads=n_threads)
        return one.backtest(series, exogenous, origins=origins, refit=refit)

    kinds: dict[str, Callable[[], Backtest]] = {
        "persistence": partial(_lagged, load, origins, 1),
        "same day last week": partial(_lagged, load, origins, 7),
        "ridge": partial(model, "ridge"),
    }
    if find_spec("lightgbm") is not None:
        kinds["lightgbm"] = partial(model, "lightgbm")
    if find_spec("statsforecast") is not None:
        kinds["mstl"] = partial(_mstl, load, origins)
    wanted = kinds if names is None else [check_choice("names", n, tuple(kinds)) for n in names]
    return {name: kinds[name]() for name in wanted}


def _backtest(load: Days, origins: int, forecast: FloatArray, seconds: float) -> Backtest:
    index = np.arange(load.n_days - origins, load.n_days)
    none = np.full_like(forecast, np.nan)
    return Backtest(load.dates(index), load.table[index], forecast, none, none, seconds)


def _lagged(load: Days, origins: int, back: int) -> Backtest:
    index = np.arange(load.n_days - origins, load.n_days)
    return _backtest(load, origins, load.table[index - back], 0.0)


def _mstl(load: Days, origins: int) -> Backtest:
    """MSTL with the seasons of a day and a week, and exponential smoothing of the trend."""
    models = require("statsforecast.models", extra=None)
    per_day, z = load.per_day, load.table.ravel()
    start, rows = time.process_time(), []
    for day in range(load.n_days - origins, load.n_days):
        model = models.MSTL(season_length=[per_day, 7 * per_day])
        rows.append(
            model.forecast(z[max(0, day - MSTL_DAYS) * per_day : day * per_day], h=per_day)["mean"]
        )
    return _backtest(load, origins, np.array(rows, np.float64), time.process_time() - start)
