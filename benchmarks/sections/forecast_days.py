"""Day-ahead forecasts of three series by everyone on the same features and days."""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from auctor.forecast import Embedding, LoadForecaster, baselines
from auctor.forecast.metrics import mape, pinball
from benchmarks.problems import loads
from benchmarks.problems.datasets import MissingDataSet
from benchmarks.run import Settings, bar, table

name = "forecast_days"
#: C and gamma of scikit-learn's SVR that are tried, gamma over the number of columns.
GRID = tuple((C, gamma) for C in (1.0, 3.0) for gamma in (0.3, 1.0, 3.0))
#: Half the tube of these, in standard deviations of the target.
EPSILON = 0.02
#: Days that MSTL forecasts at most: every one is a fit.
MSTL_DAYS = 56
#: First year to train on, and the year to forecast.
YEARS = (2011, 2014)
#: Days that Prophet is trained on at most.
PROPHET_DAYS = 84
#: Contenders of every series, and of the first.
NAMES = ("kernel_ridge", "svr", "ridge", "lightgbm", "scikit-learn SVR by step", "mstl")
MORE = (
    "clustered", "additive", "quantile bands", "LightGBM by step", "LightGBM quantiles on steps",
    "thesis embedding, one SVR",
)  # fmt: skip
MODELS = ("kernel_ridge", "svr", "clustered", "additive", "ridge", "lightgbm", "quantile bands")
HEAD = ["series", "who", "MAPE %", "CPU s", "coverage", "pinball .1 .9", "under", "peak %"]


@dataclass(frozen=True)
class Case:
    """A series, its years, whether its temperature is known, and days between trainings."""

    series: str
    years: tuple[int, int] | None = None
    known: str = "known"
    refit: int = 0
    contenders: tuple[str, ...] = NAMES
    grid: tuple[tuple[float, float], ...] = GRID


@dataclass
class Rows:
    """Features and logarithms of loads of the days to train on and to forecast."""

    X: np.ndarray
    Y: np.ndarray
    actual: np.ndarray
    first: int  # row of the first day to forecast

    @classmethod
    def of(cls, data: loads.Load, embedding: Embedding, form: str = "days") -> Rows:
        rows = getattr(embedding, form)((data.stamps, np.log(data.load)), data.other)
        per_day = np.unique(data.stamps.astype("datetime64[D]"), return_counts=True)[1][0]
        count = data.origins * (1 if form == "days" else per_day)
        return cls(rows.X, rows.Y, np.exp(rows.Y[-count:]), len(rows.X) - count)


def measure(settings: Settings, title: str, cases: dict[str, Case]) -> dict[str, object]:
    """Everyone on some series: a section."""
    cells: dict[str, Any] = {}
    notes = [
        "Forecasts at midnight of the whole day; ISO-NE trains once and forecasts the last year, "
        "the short series train again every day (LightGBM every week), MSTL and Prophet everywhere "
        "and on the last 84 days. "
        "Temperatures of the day count as known unless said. CPU is of fitting, tuning included; "
        "widths, strengths, C and gamma are chosen on training days.",
        "scikit-learn's SVR, the ridge, LightGBM by step and ours have the same features of days; "
        "LightGBM on steps has one row per step.",
    ]
    for label, one in cases.items():
        if not settings.wants(label):
            continue
        try:
            data = getattr(loads, one.series)()
        except MissingDataSet as error:
            notes.append(str(error))
            continue
        data = data if one.years is None else data.between(*one.years)
        data = data._replace(origins=7) if settings.quick else data
        cells[label] = contest(data, one)
    keys = ("mape", "cpu", "coverage", "bands", "under", "peak")
    rows = [
        [label, who, *map(c.get, keys)] for label, cell in cells.items() for who, c in cell.items()
    ]
    return {
        "title": title, "bars": bars(cells),
        "tables": [table("Forecasts", HEAD, rows)], "notes": notes, "cells": cells,
    }  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Three years of New England with the temperature of the day."""
    cases = {"ISO-NE, 3 years": Case("isone", YEARS, contenders=(*NAMES, *MORE))}
    return measure(settings, "New England, three years, one thread", cases)


def contest(data: loads.Load, one: Case) -> dict[str, dict[str, Any]]:
    """The numbers of everyone on a series."""
    embedding = Embedding(exogenous=one.known, holidays=data.holidays)
    rows, cell = Rows.of(data, embedding), {}
    z = data.load.reshape(-1, rows.Y.shape[1])
    for who, back in (("persistence", 1), ("same day last week", 7)):
        forecast = z[-data.origins - back : -back]
        cell[who] = numbers(rows.actual, forecast, time.process_time())
    for who in one.contenders:
        if who == "mstl" and find_spec("statsforecast"):
            days = min(data.origins, MSTL_DAYS)
            shown = who if days == data.origins else f"mstl, last {days} days"
            found = baselines(data.series, origins=days, names=("mstl",))
            cell[shown] = summary(found["mstl"])
        elif who == "prophet" and find_spec("prophet"):
            cell[who] = prophet(data)
        elif who == "scikit-learn SVR by step":
            cell[who] = svr_by_step(rows, one.refit, one.grid)
        elif who == "LightGBM by step" and find_spec("lightgbm"):
            cell[who] = lightgbm_by_step(rows, one.refit)
        elif who == "LightGBM quantiles on steps" and find_spec("lightgbm"):
            cell[who] = lightgbm_quantiles(Rows.of(data, embedding, "steps"))
        elif who == "thesis embedding, one SVR":
            cell[who] = thesis_svr(data)
        elif who in MODELS and (who != "lightgbm" or find_spec("lightgbm")):
            refit = 7 * one.refit if who == "lightgbm" else one.refit
            bands = "quantile" if who == "quantile bands" else "conformal"
            name = "kernel_ridge" if who == "quantile bands" else who
            model = LoadForecaster(name, embedding=embedding, bands=bands, n_threads=1)
            found = model.backtest(data.series, data.other, origins=data.origins, refit=refit)
            cell[who if who in ("ridge", "lightgbm") else f"auctor, {who}"] = summary(found)
    return cell


def summary(found: Any) -> dict[str, Any]:
    """Numbers of a backtest."""
    m = found.metrics()
    bands = None
    if m["coverage"] is not None:
        ends = pinball(found.actual, found.lower, 0.1), pinball(found.actual, found.upper, 0.9)
        bands = float(np.mean(ends)) / float(found.actual.mean()) * 100.0
    return {
        "mape": m["mape"], "cpu": found.cpu_seconds, "coverage": m["coverage"], "bands": bands,
        "under": m["under_share"], "peak": m["peak_error"],
    }  # fmt: skip


def numbers(actual: np.ndarray, forecast: np.ndarray, start: float) -> dict[str, Any]:
    """Numbers of forecasts without bands."""
    return {
        "mape": mape(actual, forecast), "cpu": time.process_time() - start,
        "under": float(np.mean(actual > forecast)),
    }  # fmt: skip


def scaled(X: np.ndarray, train: slice) -> np.ndarray:
    spread = X[train].std(axis=0)
    return (X - X[train].mean(axis=0)) / np.where(spread > 1e-10, spread, 1.0)


def svr_by_step(rows: Rows, refit: int, grid: Any) -> dict[str, Any]:
    """One SVR per step; C and gamma have the smallest error on the last third before the test."""
    from sklearn.svm import SVR

    start = time.process_time()
    X, first = scaled(rows.X, slice(0, rows.first)), rows.first
    mean, spread = rows.Y[:first].mean(axis=0), rows.Y[:first].std(axis=0)
    Y = (rows.Y - mean) / spread

    def forecast(train: slice, test: slice, C: float, gamma: float) -> np.ndarray:
        made = [
            SVR(C=C, gamma=gamma / X.shape[1], epsilon=EPSILON).fit(X[train], y).predict(X[test])
            for y in Y[train].T
        ]
        return np.exp(np.column_stack(made) * spread + mean)

    cut = 2 * first // 3
    held = np.exp(rows.Y[cut:first])
    best = min(grid, key=lambda one: mape(held, forecast(slice(0, cut), slice(cut, first), *one)))
    if refit:
        days = range(first, len(X))
        made = np.vstack([forecast(slice(0, day), slice(day, day + 1), *best) for day in days])
    else:
        made = forecast(slice(0, first), slice(first, len(X)), *best)
    return {**numbers(rows.actual, made, start), "best": best}


def lightgbm_by_step(rows: Rows, refit: int) -> dict[str, Any]:
    """One LightGBM per step; trained again every two weeks where others are every day."""
    from lightgbm import LGBMRegressor

    start, first, made = time.process_time(), rows.first, []
    every = 14 if refit else len(rows.X)
    for day in range(first, len(rows.X), every):
        part = slice(day, min(day + every, len(rows.X)))
        models = [
            LGBMRegressor(n_estimators=300, verbose=-1, n_jobs=1).fit(rows.X[:day], y)
            for y in rows.Y[:day].T
        ]
        made.append(np.column_stack([one.predict(rows.X[part]) for one in models]))
    return numbers(rows.actual, np.exp(np.vstack(made)), start)


def lightgbm_quantiles(rows: Rows) -> dict[str, Any]:
    """Bands of two quantiles by LightGBM, its median as the forecast."""
    from lightgbm import LGBMRegressor

    start, first = time.process_time(), rows.first
    made = [
        np.exp(
            LGBMRegressor(objective="quantile", alpha=q, n_estimators=300, verbose=-1, n_jobs=1)
            .fit(rows.X[:first], rows.Y[:first])
            .predict(rows.X[first:])
        )
        for q in (0.1, 0.5, 0.9)
    ]
    y = rows.actual
    found = numbers(y, made[1], start)
    ends = pinball(y, made[0], 0.1), pinball(y, made[2], 0.9)
    found["bands"] = float(np.mean(ends)) / float(y.mean()) * 100.0
    found["coverage"] = float(np.mean((y >= made[0]) & (y <= made[2])))
    return found


def prophet(data: loads.Load) -> dict[str, Any]:
    """Prophet with a season of the week, and one of the day for each kind of day, trained daily.

    With one season of the day, which is its default, its error on taylor is about 3.5 %.
    """
    import pandas as pd
    from prophet import Prophet

    logging.getLogger("cmdstanpy").setLevel(logging.WARNING)
    per_day, z = int((data.stamps < data.stamps[0] + np.timedelta64(1, "D")).sum()), data.load
    first, made = z.size - data.origins * per_day, []
    start = os.times()
    frame = pd.DataFrame({"ds": data.stamps.astype("M8[ns]"), "y": z})
    weekday = frame["ds"].dt.weekday
    kinds = {"work": weekday < 5, "saturday": weekday == 5, "sunday": weekday == 6}
    for end in range(first, z.size, per_day):
        model = Prophet(
            daily_seasonality=False, yearly_seasonality=False, uncertainty_samples=0
        )  # fmt: skip
        for kind in kinds:
            model.add_seasonality(f"day, {kind}", 1, 10, condition_name=kind)
        model.fit(frame.assign(**kinds)[max(0, end - PROPHET_DAYS * per_day) : end])
        ahead = frame.assign(**kinds)[end : end + per_day]
        made.append(model.predict(ahead)["yhat"].to_numpy())
    used = sum(os.times()[:4]) - sum(start[:4])
    return {**numbers(z[first:], np.concatenate(made), time.process_time()), "cpu": used}


def thesis_svr(data: loads.Load) -> dict[str, Any]:
    """The delay embedding of 14 daily lags and one SVR for all steps, on 4,000 rows."""
    from sklearn.svm import SVR

    embedding = Embedding(lags=tuple(range(1, 15)), seasonal_lags=(), calendar=False)
    rows = Rows.of(data._replace(heat=None), embedding, "steps")
    start = time.process_time()
    X = scaled(rows.X, slice(0, rows.first))
    drawn = np.random.default_rng(0).choice(rows.first, min(4000, rows.first), replace=False)
    mean, spread = rows.Y[drawn].mean(), rows.Y[drawn].std()
    model = SVR(C=3.0, epsilon=EPSILON).fit(X[drawn], (rows.Y[drawn] - mean) / spread)
    return numbers(rows.actual, np.exp(model.predict(X[rows.first :]) * spread + mean), start)


def bars(cells: dict[str, Any]) -> list[dict[str, object]]:
    """The bars of the issue."""
    found = []
    ours = "auctor, kernel_ridge"
    for label, cell in cells.items():
        others = {
            who: c["mape"] for who, c in cell.items()
            if not who.startswith(("auctor", "mstl"))
        }  # fmt: skip
        best = min(others, key=lambda who: others[who])
        ratio = cell[ours]["mape"] / others[best]
        found.append(bar(f"{label}: MAPE over the best other ({best})", ratio, 1.0, at_least=False))
        coverage = cell[ours]["coverage"]
        found += [
            bar(f"{label}: coverage of the 80 % band", coverage, 0.77),
            bar(f"{label}: coverage of the 80 % band", coverage, 0.83, at_least=False),
        ]
        if label == "taylor" and "mstl" in cell:
            ratio = cell[ours]["mape"] / cell["mstl"]["mape"]
            found.append(bar("taylor: MAPE over MSTL", ratio, 1.2, at_least=False))
        if label == "ISO-NE, 3 years":
            cpu = cell[ours]["cpu"] / cell["scikit-learn SVR by step"]["cpu"]
            found.append(bar(f"{label}: CPU over that of tuned SVR", cpu, 0.2, at_least=False))
            if "LightGBM quantiles on steps" in cell:
                bands = cell[ours]["bands"] / cell["LightGBM quantiles on steps"]["bands"]
                found.append(bar(f"{label}: pinball over LightGBM's", bands, 1.0, at_least=False))
        if label == "ISO-NE, 7 years":
            found.append(bar(f"{label}: MAPE", cell[ours]["mape"], 1.3, at_least=False))
    return found
