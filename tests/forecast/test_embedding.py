"""Rows of features: no value from the future, calendar, clocks, gaps and bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from auctor.core.errors import DataError, DataTypeError, ParameterError
from auctor.forecast import Embedding
from auctor.forecast.days import read_days
from tests.forecast.series import HOLIDAYS, make


@pytest.mark.parametrize("exogenous", ["known", "past"])
@pytest.mark.parametrize("form", ["days", "steps"])
@pytest.mark.parametrize("horizon", [12, 24])
def test_no_feature_changes_with_the_future(exogenous, form, horizon):
    stamps, load, temperature = make(40)
    embedding = Embedding(exogenous=exogenous, horizon=horizon, holidays=HOLIDAYS)
    rng = np.random.default_rng(1)
    before = getattr(embedding, form)((stamps, load), (stamps, temperature))
    for cut in (15, 22, 38):  # at the midnight before day `cut` nothing later is known
        at = cut * 24
        known = at + horizon if exogenous == "known" else at
        mixed = np.concatenate((load[:at], rng.permutation(load[at:])))
        warm = np.concatenate((temperature[:known], rng.permutation(temperature[known:])))
        after = getattr(embedding, form)((stamps, mixed), (stamps, warm))
        past = before.dates <= stamps[at].astype("datetime64[D]")
        np.testing.assert_array_equal(before.X[past], after.X[past])
        assert not np.array_equal(before.X[~past], after.X[~past])


def test_fills_use_the_past_alone():
    stamps, load, _ = make(30)
    holes = load.copy()
    holes[[300, 301, 480]] = np.nan
    later = holes.copy()
    later[302:480] *= 2.0
    one, two = (Embedding().days((stamps, part)) for part in (holes, later))
    past = one.dates <= stamps[300].astype("datetime64[D]")
    np.testing.assert_array_equal(one.X[past], two.X[past])
    table = read_days((stamps, holes), "series", longest=7).table.ravel()
    assert table[300] == load[300 - 168]


def test_values_of_a_day():
    stamps, load, temperature = make(20)
    rows = Embedding(lags=(1,), holidays=("2022-11-10",)).days(
        (stamps, load), (stamps, temperature)
    )
    z, i = load.reshape(-1, 24), 5  # the first day with a past is day 7
    row = {name: rows.X[i, part] for name, part in rows.groups.items()}
    np.testing.assert_array_equal(row["lag 1"], z[11])
    np.testing.assert_array_equal(row["seasonal lag 7"], z[5])
    np.testing.assert_array_equal(row["last steps"], z[11, -4:])
    np.testing.assert_allclose(row["daily means"], z[11:4:-1].mean(axis=1))
    np.testing.assert_array_equal(row[""], temperature.reshape(-1, 24)[12])
    assert rows.dates[i] == np.datetime64("2022-11-13")
    assert row["weekday"].argmax() == 6  # a Sunday
    assert rows.X[2, rows.groups["holidays"]].tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_array_equal(rows.Y[i], z[12])


def test_delay_embedding_of_the_thesis():
    stamps, load, _ = make(30)
    rows = Embedding(lags=tuple(range(1, 15)), seasonal_lags=(), calendar=False).steps(
        (stamps, load)
    )
    assert rows.X.shape == (16 * 24, 14)
    t = 14 * 24 + 100
    np.testing.assert_array_equal(rows.X[100], load[t - 24 * np.arange(1, 15)])
    assert rows.Y[100] == load[t]


def test_half_hours_and_a_horizon_of_days():
    stamps, load, _ = make(30, per_day=48)
    rows = Embedding(lags=(1,), horizon=96).days((stamps, load))
    assert rows.Y.shape == (30 - 7 - 2 + 1, 96)
    np.testing.assert_array_equal(rows.Y[0], load[7 * 48 : 9 * 48])


def test_clock_changes():
    zone = pd.date_range("2023-10-25", periods=24 * 12, freq="h", tz="Europe/Berlin")
    series = pd.Series(np.arange(zone.size, dtype=float), zone)
    autumn = read_days(series, "series", longest=7)
    assert autumn.zone == "Europe/Berlin"
    day = autumn.table[4]  # 29 October has 25 hours; the two hours from 2 o'clock are averaged
    assert day[2] == 0.5 * (day[1] + 1 + day[1] + 2)
    assert day[3] == day[1] + 3
    spring = pd.date_range("2023-03-20", periods=24 * 9, freq="h", tz="Europe/Berlin")
    table = read_days(pd.Series(np.arange(spring.size, dtype=float), spring), "s", longest=7).table
    assert table[6, 2] == table[5, 2]  # 26 March has no 2 o'clock


def test_pandas_polars_and_arrays_agree():
    stamps, load, temperature = make(20)
    shuffled = np.random.default_rng(0).permutation(load.size)
    frame = pd.DataFrame({"t": temperature, "u": -temperature}, index=stamps)
    ours = Embedding().days((stamps, load), (stamps, {"t": temperature, "u": -temperature}))
    in_pandas = Embedding().days(pd.Series(load, stamps).iloc[shuffled], frame)
    in_polars = Embedding().days(
        pl.DataFrame({"when": stamps, "load": load}),
        pl.DataFrame({"when": stamps, "t": temperature, "u": -temperature}),
    )
    for other in (in_pandas, in_polars):
        np.testing.assert_array_equal(ours.X, other.X)
        assert ours.groups == other.groups
    zoned = pl.DataFrame({"when": pl.Series(stamps).dt.replace_time_zone("UTC"), "load": load})
    np.testing.assert_array_equal(Embedding().days(zoned).Y, ours.Y)


def _drop(*positions):
    stamps, load, _ = make(30)
    return np.delete(stamps, positions), np.delete(load, positions)


STAMPS, LOAD, HEAT = make(30)
ONE = np.timedelta64(1, "m")
BAD = {
    "irregular": (lambda: (STAMPS + 7 * ONE * (np.arange(720) == 77), LOAD), "regular"),
    "repeated": (lambda: (np.append(STAMPS, STAMPS[50:53]), np.append(LOAD, LOAD[50:53])), "once"),
    "gap": (lambda: _drop(*range(200, 400)), "gap longer"),
    "first day": (lambda: _drop(*range(5, 9)), "complete first day"),
    "days": (lambda: (STAMPS[:150], LOAD[:150]), "at least 8 days"),
    "one": (lambda: (STAMPS[:1], LOAD[:1]), "two stamps"),
    "no day": (lambda: (STAMPS[:5], LOAD[:5]), "complete day"),
    "daily": (lambda: (STAMPS[::24], LOAD[::24]), "regular"),
    "seconds": (lambda: (STAMPS + np.timedelta64(5, "s"), LOAD), "whole minutes"),
    "infinite": (lambda: (STAMPS, np.where(LOAD[3] == LOAD, np.inf, LOAD)), "finite"),
    "missing stamp": (lambda: (np.append(STAMPS[:-1], np.datetime64("NaT")), LOAD), "none missing"),
    "two columns": (lambda: (STAMPS, np.column_stack((LOAD, LOAD))), "got 2 columns"),
    "offsets": (lambda: (np.array([f"{s}+01:00" for s in STAMPS]), LOAD), "one time zone"),
    "text": (lambda: (np.array(["soon"] * 720), LOAD), "dates and times"),
    "numbers": (lambda: (np.arange(720), LOAD), "dates and times"),
    "words": (lambda: (STAMPS, np.array(["a"] * 720)), "numbers in the series"),
    "list": (lambda: list(LOAD), "with stamps"),
    "polars series": (lambda: pl.Series(LOAD), "with stamps"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_series(case):
    make_series, words = BAD[case]
    with pytest.raises((DataError, DataTypeError), match=rf"^Embedding needs .*{words}"):
        Embedding().days(make_series())


def test_bad_other_columns():
    series = STAMPS, LOAD
    with pytest.raises(DataError, match="every day of the series"):
        Embedding().days(series, (STAMPS[48:], HEAT[48:]))
    with pytest.raises(DataError, match="steps and the time zone"):
        Embedding().days(series, make(40, per_day=48)[:2])
    zoned = pd.Series(HEAT, pd.DatetimeIndex(STAMPS, tz="UTC"))
    with pytest.raises(DataError, match="got 24 and UTC"):
        Embedding().days(series, zoned)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lags": (0,)}, "lags"),
        ({"lags": (), "seasonal_lags": ()}, "a lag"),
        ({"horizon": 0}, "horizon"),
        ({"exogenous": "maybe"}, "exogenous"),
        ({"holidays": ("Christmas",)}, "holidays"),
    ],
)
def test_bad_parameters(changes, words):
    with pytest.raises(ParameterError, match=f"^Embedding needs .*{words}"):
        Embedding(**changes)


def test_horizon_beyond_the_features():
    with pytest.raises(ParameterError, match="shortest seasonal lag"):
        Embedding(horizon=24 * 7 + 1).days((STAMPS, LOAD))
    with pytest.raises(ParameterError, match="shortest lag, 1 days"):
        Embedding(horizon=25).steps((STAMPS, LOAD))
