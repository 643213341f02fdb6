"""Series of load with temperature and holidays, as days and stamps."""

from __future__ import annotations

import csv
import lzma
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from benchmarks.problems.datasets import stored


class Load(NamedTuple):
    """Stamps, loads, temperatures (or None), holidays, and days to forecast."""

    stamps: np.ndarray
    load: np.ndarray
    heat: np.ndarray | None
    holidays: tuple[str, ...]
    origins: int

    def between(self, first: int, last: int) -> Load:
        """The days of some years, of which the last one is forecast."""
        kept = self.stamps >= np.datetime64(f"{first}-01-01")
        kept &= self.stamps < np.datetime64(f"{last + 1}-01-01")
        heat = None if self.heat is None else self.heat[kept]
        return self._replace(stamps=self.stamps[kept], load=self.load[kept], heat=heat)

    @property
    def series(self) -> tuple[np.ndarray, np.ndarray]:
        return self.stamps, self.load

    @property
    def other(self) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        return None if self.heat is None else (self.stamps, {"temperature": self.heat})


def _columns(*parts: str) -> dict[str, list[str]]:
    with lzma.open(stored(*parts), "rt") as lines:
        rows = list(csv.reader(lines))
    return dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))


def isone() -> Load:
    """Hourly load and temperature of New England, 2003 to 2014."""
    found = _columns("load-isone", "selected_data_ISONE.csv.xz")
    load, heat = (np.array(found[name], float) for name in ("demand", "temperature"))
    stamps = np.datetime64("2003-03-01T00:00") + np.arange(load.size) * np.timedelta64(60, "m")
    days = tuple(d.isoformat() for year in range(2003, 2016) for d in federal(year))
    return Load(stamps, load, heat, days, 365)


def taylor() -> Load:
    """Half-hourly load of England and Wales, 12 weeks of 2000."""
    load = np.array(_columns("load-halfhourly", "taylor.csv.xz")["x"], float)
    stamps = np.datetime64("2000-06-05T00:00") + np.arange(load.size) * np.timedelta64(30, "m")
    return Load(stamps, load, None, (), 14)


def elecdemand() -> Load:
    """Half-hourly load and temperature of Victoria, 2014; holidays are weekdays without work."""
    found = _columns("load-halfhourly", "elecdemand.csv.xz")
    load, heat, work = (np.array(found[n], float) for n in ("Demand", "Temperature", "WorkDay"))
    stamps = np.datetime64("2014-01-01T00:00") + np.arange(load.size) * np.timedelta64(30, "m")
    days = stamps[::48].astype("datetime64[D]")
    free = (work[::48] == 0) & np.is_busday(days)
    return Load(stamps, load, heat, tuple(map(str, days[free])), 56)


def generated() -> Load:
    """An invented utility in a hot country, 2019 to 2022: cooling, growth, a weekend of Friday.

    Load is a profile of the day times a weekly factor and a trend, plus cooling that follows a mean
    of the last 36 hours of temperature above 22 degrees; weather and noise are autoregressions.
    """
    rng, hours = np.random.default_rng(20), np.arange("2019-01-01", "2023-01-01", dtype="M8[h]")
    t = np.arange(hours.size)
    hour, day, year = t % 24, t // 24, t / (24 * 365.25)
    weather = _autoregression(rng.normal(scale=0.35, size=t.size), 0.99)
    heat = 24 - 9 * np.cos(2 * np.pi * (year - 0.05)) - 5 * np.cos(2 * np.pi * (hour - 3) / 24)
    heat += weather
    felt = np.convolve(np.maximum(heat - 22, 0), np.full(36, 1 / 36))[: t.size]
    friday, saturday = (day + 1) % 7 == 4, (day + 1) % 7 == 5  # 1 January 2019 is a Tuesday
    holiday = np.isin(day % 365, (0, 120, 121, 300))
    free = 1 - 0.14 * (friday | holiday) - 0.08 * saturday
    evening = np.exp(-((((hour - 20 + 12) % 24) - 12) ** 2) / 8)
    profile = 1 + 0.18 * np.sin(2 * np.pi * (hour - 9) / 24) * free + 0.22 * evening
    noise = _autoregression(rng.normal(scale=0.004, size=t.size), 0.93)
    load = 900 * np.exp(0.03 * year + noise) * (profile * free + 0.035 * felt)
    days = tuple(map(str, np.unique(hours[holiday].astype("M8[D]"))))
    return Load(hours.astype("M8[m]"), load, heat, days, 365)


def _autoregression(shocks: np.ndarray, share: float) -> np.ndarray:
    """``z[t] = share z[t - 1] + shocks[t]``."""
    return lfilter([1.0], [1.0, -share], shocks)


def federal(year: int) -> list[date]:
    """Federal holidays of the United States, moved to a Friday or Monday as they are observed."""

    def nth(month: int, weekday: int, number: int) -> date:
        first = date(year, month, 1)
        return first + timedelta((weekday - first.weekday()) % 7 + 7 * (number - 1))

    last_of_may = nth(5, 0, 5) if nth(5, 0, 5).month == 5 else nth(5, 0, 4)
    fixed = [date(year, 1, 1), date(year, 7, 4), date(year, 11, 11), date(year, 12, 25)]
    moved = [day + timedelta({5: -1, 6: 1}.get(day.weekday(), 0)) for day in fixed]
    others = [nth(1, 0, 3), nth(2, 0, 3), last_of_may, nth(9, 0, 1), nth(10, 0, 2), nth(11, 3, 4)]
    return sorted(moved + others)
