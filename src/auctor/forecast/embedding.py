"""Rows for forecasts: the delay embedding of a series, calendar, holidays and other columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, ParameterError, speaks, speaks_for_itself
from auctor.core.types import Array, FloatArray, IntArray
from auctor.forecast.days import Days, read_days

#: Days of a year.
YEAR = 365.25
#: Steps at the end of the day before that have a group of their own.
LAST_STEPS = 4
#: Days before the forecast whose mean of another column is a feature.
EARLIER = (2, 3)


class EmbeddedRows(NamedTuple):
    """Rows of features with their targets.

    Parameters
    ----------
    X : (n, p) array
    Y : array
        Targets (n, horizon) of days, or (n,) of steps.
    groups : dict of slice
        Columns of X by what they hold.
    dates : (n,) datetime64 array
        The day that is forecast.
    """

    X: FloatArray
    Y: FloatArray
    groups: dict[str, slice]
    dates: Array


@dataclass(frozen=True)
class Embedding:
    """Features of the day to forecast, from data up to the midnight before it.

    A forecast is made at midnight for ``horizon`` steps. No feature of a day uses a load of that
    day or a later one; of other columns only ``exogenous="known"`` uses the values of the day.

    Parameters
    ----------
    lags : tuple of int >= 1
        Days before the forecast whose whole profiles are features.
    seasonal_lags : tuple of int >= 1
        Days between a step and the same step of an earlier day, such as a week; the horizon may not
        be longer than the shortest.
    calendar : bool
        Weekday, time of the year and trend.
    holidays : sequence of dates
        Also the days around them are marked.
    exogenous : {"known", "past"}
        Whether the other columns are known for the day to forecast, such as a weather forecast.
    horizon : int >= 1, optional
        Steps to forecast; by default one day.

    Examples
    --------
    >>> stamps = np.arange("2024-01-01", "2024-02-01", dtype="datetime64[h]")
    >>> rows = Embedding(lags=(1,), calendar=False).days((stamps, np.arange(stamps.size) % 24.0))
    >>> rows.X.shape, rows.Y.shape, sorted(rows.groups)
    ((24, 59), (24, 24), ['daily means', 'lag 1', 'last steps', 'seasonal lag 7'])
    """

    lags: tuple[int, ...] = (1, 2)
    seasonal_lags: tuple[int, ...] = (7,)
    calendar: bool = True
    holidays: Sequence[Any] = field(default=())
    exogenous: str = "known"
    horizon: int | None = None

    @speaks_for_itself
    def __post_init__(self) -> None:
        for name in ("lags", "seasonal_lags"):
            for lag in getattr(self, name):
                check_int(name, lag, low=1)
        if not (len(self.lags) or len(self.seasonal_lags)):
            raise ParameterError("a lag or a seasonal lag; got none. Pass `lags=`.")
        if self.horizon is not None:
            check_int("horizon", self.horizon, low=1)
        check_choice("exogenous", self.exogenous, ("known", "past"))
        try:
            self._marked()
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"`holidays` as dates; got {self.holidays!r}. Pass dates such as '2024-12-25'."
            ) from error

    def plain(self) -> Embedding:
        """The same with tuples of numbers, and of days as text, as files hold them."""
        lags, seasonal = (tuple(map(int, days)) for days in (self.lags, self.seasonal_lags))
        holidays = tuple(map(str, self._marked()))
        return replace(self, lags=lags, seasonal_lags=seasonal, holidays=holidays)

    def _marked(self) -> Array:
        return np.unique(np.array([str(day)[:10] for day in self.holidays], "datetime64[D]"))

    @property
    def longest(self) -> int:
        """Days of the past that a row needs."""
        return max(*self.lags, *self.seasonal_lags, *EARLIER)

    @speaks
    def days(self, series: Any, exogenous: Any = None) -> EmbeddedRows:
        """One row for every day that has a past and targets; ``Y`` has a column per step."""
        load, other = self.read(series, exogenous)
        index = np.arange(self.longest, load.n_days - self.days_ahead(load) + 1)
        return self.day_rows(load, other, index)

    @speaks
    def steps(self, series: Any, exogenous: Any = None) -> EmbeddedRows:
        """One row for every step of these days: lags of the step, and the calendar.

        With ``calendar=False`` and no other columns it is the delay embedding of the thesis: the
        values that lie 1, 2, ... days before the step.
        """
        load, other = self.read(series, exogenous)
        index = np.arange(self.longest, load.n_days - self.days_ahead(load) + 1)
        return self.step_rows(load, other, index)

    def read(self, series: Any, exogenous: Any) -> tuple[Days, Days | None]:
        """The days of a series and of other columns; enough of them, and as long as it."""
        load = read_days(series, "the series", longest=self.longest)
        if len(load.values) != 1:
            raise DataError(f"a series; got {len(load.values)} columns. Pass one of them.")
        need = self.longest + self.days_ahead(load)
        if load.n_days < need:
            raise DataError(
                f"at least {need} days for these lags and this horizon; got {load.n_days}. Pass a "
                "longer series or shorter lags."
            )
        if self.seasonal_lags and self.steps_ahead(load) > min(self.seasonal_lags) * load.per_day:
            raise ParameterError(
                f"`horizon` of at most the shortest seasonal lag, {min(self.seasonal_lags)} days of"
                f" {load.per_day} steps; got {self.horizon}. Pass longer `seasonal_lags=`."
            )
        if exogenous is None:
            return load, None
        other = read_days(exogenous, "`exogenous`", back=1, longest=self.longest)
        if other.zone != load.zone or other.per_day != load.per_day:
            raise DataError(
                f"`exogenous` with the steps and the time zone of the series, {load.per_day} a day "
                f"and {load.zone or 'none'}; got {other.per_day} and {other.zone or 'none'}. "
                "Convert it."
            )
        start = load.first - other.first
        if start < 0 or start + load.n_days > other.n_days:
            raise DataError(
                f"`exogenous` on every day of the series; got {other.dates(np.array(0))} to "
                f"{other.dates(np.array(other.n_days - 1))}. Pass the missing days."
            )
        return load, other.part(start, other.n_days)

    def steps_ahead(self, load: Days) -> int:
        """Steps of a forecast."""
        return load.per_day if self.horizon is None else self.horizon

    def days_ahead(self, load: Days) -> int:
        """Days that a forecast touches."""
        return -(-self.steps_ahead(load) // load.per_day)

    def day_rows(self, load: Days, other: Days | None, index: IntArray) -> EmbeddedRows:
        """The rows of days by position; a day after the last one has no targets (NaN)."""
        z, steps, per_day = load.table, self.steps_ahead(load), load.per_day
        blocks: dict[str, FloatArray] = {f"lag {k}": z[index - k] for k in self.lags}
        blocks["last steps"] = z[index - 1][:, -LAST_STEPS:]
        means = z.mean(axis=1)
        blocks["daily means"] = means[index[:, None] - np.arange(1, self.longest + 1)]
        for k in self.seasonal_lags:
            blocks[f"seasonal lag {k}"] = _window(z, index - k, steps)
        blocks |= self._calendar(load.first + index, self.days_ahead(load))
        for name, table in ({} if other is None else other.values).items():
            if self.exogenous == "known":
                _check_known(name, table, int(index.max(initial=0)) * per_day + steps)
                blocks[f"{name}"] = _window(table, index, steps)
            blocks[f"{name}, the day before"] = table[index - 1]
            daily = table.mean(axis=1)
            blocks[f"{name}, earlier"] = daily[index[:, None] - np.array(EARLIER)]
        return EmbeddedRows(*_joined(blocks, _window(z, index, steps)), load.dates(index))

    def step_rows(self, load: Days, other: Days | None, index: IntArray) -> EmbeddedRows:
        """The rows of all steps of days by position, a day after the other."""
        z, steps, per_day = load.table, self.steps_ahead(load), load.per_day
        if self.lags and steps > min(self.lags) * per_day:
            raise ParameterError(
                f"`horizon` of at most the shortest lag, {min(self.lags)} days of {per_day} steps; "
                f"got {self.horizon}. Pass longer `lags=`."
            )
        step = np.tile(np.arange(steps), index.size)

        def each(table: FloatArray, back: int) -> FloatArray:
            return _window(table, index - back, steps).reshape(-1, 1)

        def repeated(table: FloatArray) -> FloatArray:
            return np.repeat(table, steps, axis=0)

        lags = dict.fromkeys((*self.lags, *self.seasonal_lags))
        blocks: dict[str, FloatArray] = {f"lag {k}": each(z, k) for k in lags}
        if self.calendar:
            blocks["step"] = (step % per_day)[:, None].astype(np.float64)
            blocks["mean of the day before"] = repeated(z[index - 1].mean(axis=1)[:, None])
            blocks["last value"] = repeated(z[index - 1][:, -1:])
        ahead = self._calendar(load.first + index, self.days_ahead(load))
        blocks |= {name: repeated(table) for name, table in ahead.items()}
        for name, table in ({} if other is None else other.values).items():
            if self.exogenous == "known":
                _check_known(name, table, int(index.max(initial=0)) * per_day + steps)
                blocks[name] = each(table, 0)
            blocks[f"{name}, the day before"] = each(table, self.days_ahead(load))
        X, Y, groups = _joined(blocks, each(z, 0).ravel())
        return EmbeddedRows(X, Y, groups, np.repeat(load.dates(index), steps))

    def _calendar(self, day: IntArray, ahead: int) -> dict[str, FloatArray]:
        """Indicators of weekdays and holidays, time of the year and trend, for days from 1970."""
        blocks: dict[str, FloatArray] = {}
        if self.calendar:
            angle = 2.0 * np.pi * day / YEAR
            blocks["weekday"] = np.eye(7)[(day + 3) % 7]  # 1 January 1970 was a Thursday
            blocks["time of the year"] = np.column_stack((np.cos(angle), np.sin(angle)))
            blocks["trend"] = (day / YEAR)[:, None]
        if len(self.holidays):
            marked = self._marked().astype(np.int64)
            around = day[:, None] + np.arange(-1, ahead + 1)
            blocks["holidays"] = np.isin(around, marked).astype(np.float64)
            past = day[:, None] - np.array(self.seasonal_lags or self.lags)
            blocks["holidays of the lags"] = np.isin(past, marked).astype(np.float64)
        return blocks


def _window(table: FloatArray, start: IntArray, steps: int) -> FloatArray:
    """The values of ``steps`` steps from the midnights of some days; NaN after the end."""
    flat, per_day = table.ravel(), table.shape[1]
    at = start[:, None] * per_day + np.arange(steps)
    window: FloatArray = np.where(at < flat.size, flat[np.minimum(at, flat.size - 1)], np.nan)
    return window


def _joined(
    blocks: dict[str, FloatArray], Y: FloatArray
) -> tuple[FloatArray, FloatArray, dict[str, slice]]:
    ends = np.cumsum([block.shape[1] for block in blocks.values()])
    groups = {
        name: slice(int(end) - block.shape[1], int(end))
        for end, (name, block) in zip(ends, blocks.items(), strict=True)
    }
    return np.hstack(list(blocks.values())), Y, groups


def _check_known(name: str, table: FloatArray, steps: int) -> None:
    if table.size < steps:
        raise DataError(
            f"`exogenous` with {name or 'its values'} for the whole horizon; got {table.size} of "
            f"{steps} steps. Pass the values of that day, such as a weather forecast, or "
            "`exogenous='past'` of the embedding."
        )
