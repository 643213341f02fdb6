"""The forecaster: accuracy, bands, backtests without the future, models, updates and refusals."""

import numpy as np
import pandas as pd
import pytest

from auctor.core.errors import DataError, ParameterError
from auctor.forecast import Embedding, LoadForecaster, baselines, metrics
from auctor.forecast.estimators import day_models
from tests.forecast.series import HOLIDAYS, make

STAMPS, LOAD, HEAT = make(160)
SERIES, OTHER = (STAMPS, LOAD), (STAMPS, HEAT)


@pytest.fixture(scope="module")
def fitted():
    at = 150 * 24
    return LoadForecaster(holidays=HOLIDAYS).fit((STAMPS[:at], LOAD[:at]), OTHER)


def test_beats_the_baselines():
    model = LoadForecaster(holidays=HOLIDAYS)
    ours = model.backtest(SERIES, OTHER, origins=40).metrics()
    others = baselines(SERIES, OTHER, origins=40, holidays=HOLIDAYS)
    assert set(others) >= {"persistence", "same day last week", "ridge"}
    for other in others.values():
        assert ours["mape"] < other.metrics()["mape"]
    assert ours["mape"] < 1.3  # the noise alone gives .8
    assert 0.7 <= ours["coverage"] <= 0.9
    assert ours["peak_error"] < 2.0


def test_past_weather_is_worse_than_known():
    mape = [
        LoadForecaster(embedding=Embedding(exogenous=kind))
        .backtest(SERIES, OTHER, origins=30)
        .metrics()["mape"]
        for kind in ("known", "past")
    ]
    assert mape[0] < mape[1]


@pytest.mark.parametrize("refit", [0, 2])
def test_backtest_does_not_see_the_future(refit):
    model = LoadForecaster()
    one = model.backtest(SERIES, OTHER, origins=6, refit=refit)
    mixed = LOAD.copy()
    at = 157 * 24  # three days are forecast before this midnight, and the day after it
    mixed[at:] = np.random.default_rng(0).permutation(mixed[at:])
    two = model.backtest((STAMPS, mixed), OTHER, origins=6, refit=refit)
    for part in ("load", "lower", "upper"):
        np.testing.assert_array_equal(getattr(one, part)[:4], getattr(two, part)[:4])
        assert not np.array_equal(getattr(one, part)[4:], getattr(two, part)[4:])


@pytest.mark.parametrize(
    "params",
    [
        {"model": "svr"},
        {"model": "clustered"},
        {"model": "clustered", "gate": "nearest", "certified": False, "n_clusters": 2},
        {"model": "clustered", "gate": "svm", "n_clusters": 2},
        {"model": "ridge"},
        {"bands": "quantile"},
        pytest.param({"model": "additive"}, marks=pytest.mark.slow),  # takes 20 seconds
    ],
    ids=str,
)
def test_models_beat_persistence(params):
    found = LoadForecaster(**params).backtest(SERIES, OTHER, origins=14)
    week = np.mean(np.abs(LOAD[-336:] - LOAD[-360:-24]) / LOAD[-336:]) * 100
    assert found.metrics()["mape"] < week
    assert (found.lower <= found.upper).all()
    assert 0.5 < found.metrics()["coverage"] <= 1.0


def test_gates_are_weights():
    for gate in ("softmax", "svm", "nearest"):
        model = LoadForecaster("clustered", gate=gate, n_clusters=2).fit(SERIES, OTHER)
        rows = model.embedding_.days(SERIES, OTHER)
        weight = model.model_.weights(rows.X)
        np.testing.assert_allclose(weight.sum(axis=1), 1.0)
        assert weight.min() >= 0.0


def test_shift_lowers_the_share_of_forecasts_that_are_too_low():
    shares = [
        LoadForecaster("svr", shift=shift).backtest(SERIES, OTHER, origins=30).metrics()
        for shift in (0.0, 0.5, 1.0)
    ]
    shares = [one["under_share"] for one in shares]
    assert shares[0] > shares[1] > shares[2]


def test_many_days_use_landmarks(monkeypatch):
    whole = LoadForecaster().fit(SERIES, None).predict()
    monkeypatch.setattr(day_models, "MOST_DAYS", 100)
    model = LoadForecaster().fit(SERIES, None)
    assert isinstance(model.model_, day_models.LandmarkDays)
    np.testing.assert_allclose(model.predict(), whole, rtol=0.01)


def test_update_is_a_refit_with_the_same_widths(fitted):
    at = 150 * 24
    model = LoadForecaster(holidays=HOLIDAYS).fit((STAMPS[:at], LOAD[:at]), OTHER)
    before = model.predict()
    np.testing.assert_array_equal(before, fitted.predict())
    model.update((STAMPS[at:], LOAD[at:]))
    assert model.history_.n_days == 160
    new = STAMPS[-1] + np.arange(1, 25) * np.timedelta64(60, "m")
    forecast = model.forecast(exogenous=(new, HEAT[-24:]))
    assert forecast.stamps[0] == STAMPS[-1] + np.timedelta64(60, "m")
    assert (forecast.lower < forecast.load).all()
    assert (forecast.load < forecast.upper).all()
    assert np.abs(forecast.load / LOAD[-24:] - 1).max() < 0.5


def test_score_is_minus_the_mape_and_changes_nothing(fitted):
    at = 150 * 24
    score = fitted.score((STAMPS[at:], LOAD[at:]))
    assert -2.0 < score < 0.0
    assert fitted.history_.n_days == 150
    test = LoadForecaster(holidays=HOLIDAYS).backtest(SERIES, OTHER, origins=10)
    assert score == pytest.approx(-test.metrics()["mape"], rel=1e-6)


def test_shorter_and_longer_horizons():
    model = LoadForecaster(horizon=36).fit(SERIES)
    assert model.predict().shape == (36,)
    np.testing.assert_array_equal(model.predict(5), model.predict()[:5])
    found = model.backtest(SERIES, origins=5)
    assert found.load.shape == (4, 36)
    np.testing.assert_array_equal(found.actual[0], LOAD[155 * 24 : 155 * 24 + 36])


def test_negative_and_zero_loads_are_forecast_without_logarithm():
    model = LoadForecaster().fit((STAMPS, LOAD - 900.0))
    assert not model.log_
    assert np.isfinite(model.predict()).all()
    night = np.where(LOAD < 800.0, 0.0, LOAD)
    found = LoadForecaster().backtest((STAMPS, night), origins=5)
    assert found.metrics()["mape"] is None
    assert found.metrics()["rmse"] > 0.0
    with pytest.raises(DataError, match=r"^mape needs loads other than zero"):
        metrics.mape(found.actual, found.load)


def test_same_answer_for_any_number_of_threads():
    one, two = (
        LoadForecaster("clustered", n_clusters=2, n_threads=n).fit(SERIES).predict() for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("series", "words"),
    [
        ((STAMPS, np.zeros(LOAD.size)), "a series that changes; got 0"),
        ((STAMPS, np.full(LOAD.size, 7.0)), "a series that changes; got 7"),
        ((STAMPS[: 9 * 24], LOAD[: 9 * 24]), "three days to train on; got 2"),
        ((STAMPS[: 5 * 24], LOAD[: 5 * 24]), "at least 8 days"),
    ],
)
def test_series_that_cannot_be_forecast(series, words):
    with pytest.raises(DataError, match=f"^LoadForecaster needs .*{words}"):
        LoadForecaster().fit(series)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"model": "magic"}, "model"),
        ({"coverage": 1.0}, "coverage"),
        ({"bands": "wide"}, "bands"),
        ({"bands": "quantile", "model": "svr"}, "bands of quantiles"),
        ({"gate": "open"}, "gate"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"horizon": 24 * 8}, "horizon of at most"),
        ({"horizon": 0}, "horizon"),
        ({"embedding": 3}, "embedding"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ParameterError, match=f"needs .*{words}"):
        LoadForecaster(**params).fit(SERIES)


def test_other_refusals(fitted):
    with pytest.raises(DataError, match="at least n_clusters days, 500"):
        LoadForecaster("clustered", n_clusters=500).fit(SERIES)
    with pytest.raises(ParameterError, match="steps of at most the horizon of the fit, 24; got 25"):
        fitted.predict(25)
    model = LoadForecaster().fit(SERIES, OTHER)
    with pytest.raises(DataError, match="exogenous with its values for the whole horizon"):
        model.predict()
    with pytest.raises(DataError, match="columns of fit"):
        model.predict(exogenous=(STAMPS, {"wind": HEAT}))
    with pytest.raises(DataError, match="exogenous in fit too"):
        LoadForecaster().fit(SERIES).predict(exogenous=OTHER)
    with pytest.raises(DataError, match="days that follow"):
        model.update((STAMPS + np.timedelta64(300 * 1440, "m"), LOAD))
    with pytest.raises(DataError, match="time zone UTC"):
        model.update(pd.Series(LOAD[-240:], pd.DatetimeIndex(STAMPS[-240:], tz="UTC")))
    assert model.history_.n_days == 160
    with pytest.raises(DataError, match="more days than origins"):
        LoadForecaster().backtest(SERIES, origins=160)
    with pytest.raises(DataError, match="days after those of the fit"):
        fitted.score((STAMPS[:2400], LOAD[:2400]))
    with pytest.raises(DataError, match="a week before the last 155 days"):
        baselines(SERIES, origins=155)


def test_metrics():
    y, forecast = np.array([[1.0, 4.0], [2.0, 1.0]]), np.array([[2.0, 3.0], [2.0, 1.5]])
    assert metrics.mape(y, forecast) == pytest.approx(100 * (1 + 0.25 + 0 + 0.5) / 4)
    assert metrics.rmse(y, forecast) == pytest.approx(np.sqrt((1 + 1 + 0 + 0.25) / 4))
    assert metrics.pinball(y, forecast, 0.9) == pytest.approx((0.1 + 0.9 + 0 + 0.05) / 4)
    assert metrics.coverage(y, forecast - 0.6, forecast + 0.6) == 0.5
    assert metrics.under_share(y, forecast) == 0.25
    assert metrics.peak_error(y, forecast) == pytest.approx(12.5)
    with pytest.raises(DataError, match="one shape"):
        metrics.rmse(y, forecast[:1])


def test_bands_adapt_to_days_that_miss_them():
    at = 140 * 24
    loud = LOAD.copy()
    loud[at:] *= np.exp(0.05 * np.random.default_rng(1).normal(size=LOAD.size - at))
    one, two = (LoadForecaster().fit((STAMPS[:at], LOAD[:at]), OTHER) for _ in range(2))
    width = np.subtract(*one.forecast()[3:1:-1]).mean()
    one.update((STAMPS[at:], loud[at:]))
    for day in range(at, LOAD.size, 24):
        two.update((STAMPS[day : day + 24], loud[day : day + 24]))
    assert one.outside_ < 0.15  # it was .2
    assert one.outside_ == pytest.approx(two.outside_, rel=1e-9)
    tomorrow = (STAMPS[-24:] + np.timedelta64(1440, "m"), HEAT[-24:])
    assert np.subtract(*one.forecast(exogenous=tomorrow)[3:1:-1]).mean() > 1.5 * width
