"""Series with stamps as a table of days: one row per day, one column per step of the day.

Stamps are local times: a day has 24 hours whatever the clock does. The hour that a clock repeats in
autumn is averaged, and any missing value is taken from the same time a week before (a day before
for columns other than the load), or a day before where there is no such value. So a value is
filled from the past alone. Days at the ends that are not complete are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from auctor.core.errors import DataError, DataTypeError
from auctor.core.types import Array, FloatArray, IntArray

#: Minutes of a day.
DAY = 1440
#: Minutes that a clock repeats when daylight saving time ends.
REPEATED = 60


@dataclass(frozen=True, eq=False)
class Days:
    """Values of some columns at regular times of consecutive days.

    Parameters
    ----------
    first : int
        The first day, in days from 1 January 1970.
    values : dict of (n_days, per_day) arrays
        By column.
    zone : str
        Time zone of the stamps; "" if they have none.
    """

    first: int
    values: dict[str, FloatArray]
    zone: str = ""

    @property
    def n_days(self) -> int:
        """Number of days."""
        return len(self.table)

    @property
    def per_day(self) -> int:
        """Steps of a day."""
        return int(self.table.shape[1])

    @property
    def table(self) -> FloatArray:
        """Values of the first column."""
        return next(iter(self.values.values()))

    def dates(self, index: IntArray) -> Array:
        """Dates of days by position, which may lie after the last one."""
        return (self.first + np.asarray(index)).astype("datetime64[D]")

    def part(self, start: int, stop: int) -> Days:
        """The days of some positions."""
        values = {name: table[start:stop] for name, table in self.values.items()}
        return replace(self, first=self.first + start, values=values)

    def joined(self, later: Days) -> Days:
        """These days and later ones; a day of both takes the values of ``later``."""
        gap = later.first - self.first - self.n_days
        if later.zone != self.zone or later.per_day != self.per_day or gap > 0:
            raise DataError(
                f"days that follow {self.dates(np.array(self.n_days - 1))} with {self.per_day} "
                f"steps in time zone {self.zone or 'none'}; got {later.per_day} steps from "
                f"{later.dates(np.array(0))} in time zone {later.zone or 'none'}. Pass them all."
            )
        kept = max(0, later.first - self.first)
        values = {
            name: np.vstack((table[:kept], later.values[name]))
            for name, table in self.values.items()
        }
        return replace(self, first=min(self.first, later.first), values=values)


def read_days(series: Any, what: str, *, back: int = 7, longest: int) -> Days:
    """The days of a series or a frame.

    Parameters
    ----------
    series : pandas or polars object, or (stamps, values)
        A pandas series or frame has the stamps in its index, a polars frame in its first column of
        dates with times; values may be a 2-D array or a dict of columns.
    what : str
        What the user calls it, for errors.
    back : int
        Days back from which a missing value is taken.
    longest : int
        Most days that may be missing in a row.
    """
    if isinstance(series, Days):
        return series
    stamps, columns, zone = _parts(series, what)
    minutes = _minutes(stamps, what)
    step = _step(minutes, what)
    order = np.argsort(minutes, kind="stable")
    slots = (minutes[order] - minutes[order[0]] % step) // step
    repeated = np.flatnonzero(np.diff(slots) == 0)
    _check_repeated(slots[repeated] * step, step, what)
    per_day = DAY // step
    first, last = -(-int(slots[0]) // per_day), (int(slots[-1]) + 1) // per_day
    if last <= first:
        raise DataError(f"a complete day in {what}; got {slots.size} values. Pass more of them.")
    kept = (slots >= first * per_day) & (slots < last * per_day)
    place = slots[kept] - first * per_day
    values = {}
    for name, column in columns.items():
        read = _numbers(column, f"{what} {name!r}" if name else what)[order][kept]
        known = np.isfinite(read)
        count = np.bincount(place[known], minlength=(last - first) * per_day)
        total = np.bincount(place[known], read[known], minlength=count.size)
        with np.errstate(invalid="ignore"):
            flat = np.where(count > 0, total / count, np.nan)
        values[name] = _filled(flat, per_day, back, longest, what).reshape(-1, per_day)
    return Days(int(first), values, zone)


def _parts(series: Any, what: str) -> tuple[Array, dict[str, Any], str]:
    """Local stamps, columns by name and the time zone of what the user passed."""
    if isinstance(series, tuple) and len(series) == 2:
        stamps, values = series
        if not isinstance(values, dict):
            table = np.asarray(values)
            values = {"": table} if table.ndim == 1 else dict(enumerate(table.T))
        return np.asarray(stamps), {str(k): np.asarray(v) for k, v in values.items()}, ""
    if hasattr(series, "get_columns"):  # a frame of polars
        columns = {one.name: one for one in series.get_columns()}
        timed = [name for name, one in columns.items() if one.dtype.is_temporal()]
        if timed and len(columns) > 1:
            stamps = columns.pop(timed[0])
            zone = getattr(stamps.dtype, "time_zone", None) or ""
            local = stamps.dt.replace_time_zone(None) if zone else stamps
            return local.to_numpy(), {k: v.to_numpy() for k, v in columns.items()}, zone
    index = getattr(series, "index", None)
    if index is not None and not callable(index):  # a list has a method of this name
        zone = str(getattr(index, "tz", None) or "")
        local = index.tz_localize(None) if zone else index
        named = series.items() if hasattr(series, "columns") else [("", series)]
        return np.asarray(local), {str(k): v.to_numpy() for k, v in named}, zone
    raise DataTypeError(
        f"{what} with stamps: a pandas series or frame with an index of dates and times, a polars "
        f"frame with a column of them, or (stamps, values); got {type(series).__name__}. Pass one "
        "of these."
    )


def _minutes(stamps: Array, what: str) -> IntArray:
    """Minutes from 1970 of stamps, which may be text in ISO format."""
    try:
        if stamps.dtype.kind != "M":
            if stamps.dtype.kind not in "OU" or stamps.ndim != 1:
                raise ValueError
            # Text with an offset, or stamps of Python with a time zone, would change their meaning.
            texts = [str(one) for one in stamps]
            if any("+" in text or text.endswith("Z") or text.count("-") > 2 for text in texts):
                raise DataError(
                    f"{what} with stamps of one time zone; got offsets in them, such as "
                    f"{texts[0]}. Pass local times, or stamps with one named zone."
                )
            stamps = np.array(texts, dtype="datetime64[s]")
    except (ValueError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataTypeError(
            f"{what} with dates and times as stamps; got {stamps.dtype}. Use pandas.to_datetime."
        ) from error
    if stamps.size < 2 or np.isnat(stamps).any():
        got = "a missing stamp" if stamps.size >= 2 else f"{stamps.size}"
        raise DataError(f"{what} with two stamps or more, none missing; got {got}. Drop such rows.")
    minutes: IntArray = stamps.astype("datetime64[m]").astype(np.int64)
    if (stamps != stamps.astype("datetime64[m]")).any():
        raise DataError(f"{what} with stamps at whole minutes; got seconds. Round them.")
    return minutes


def _step(minutes: IntArray, what: str) -> int:
    """The usual distance of stamps in minutes; refuses stamps that are not on its grid."""
    distances, counts = np.unique(np.diff(np.unique(minutes)), return_counts=True)
    if not distances.size:
        raise DataError(f"{what} with different stamps; got one stamp only. Pass more.")
    step = int(distances[counts.argmax()])
    off = (minutes - minutes.min()) % step != 0
    if DAY % step or step == DAY or off.any():
        late = minutes[off][0].astype("datetime64[m]") if off.any() else f"steps of {step} minutes"
        raise DataError(
            f"{what} with a whole number of regular stamps a day; got {late}. Resample it first."
        )
    return step


def _check_repeated(minutes: IntArray, step: int, what: str) -> None:
    """Refuse repeated stamps except those of one hour a year, which the clock repeats."""
    days = np.unique(minutes // DAY)
    years = days.astype("datetime64[D]").astype("datetime64[Y]")
    if minutes.size * step > REPEATED * days.size or np.unique(years).size < days.size:
        raise DataError(
            f"{what} with every stamp once, except for an hour a year that the clock repeats; got "
            f"{minutes[0].astype('datetime64[m]')} again. Drop or add up the duplicates."
        )


def _numbers(column: Any, what: str) -> FloatArray:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataTypeError(f"numbers in {what}; got text. Convert or drop the column.") from error
    if np.isinf(values).any():
        raise DataError(f"finite numbers in {what}; got infinity. Replace them by NaN.")
    return values


def _filled(flat: FloatArray, per_day: int, back: int, longest: int, what: str) -> FloatArray:
    """Values with gaps taken from the past, in order of time."""
    missing = np.flatnonzero(np.isnan(flat))
    if not missing.size:
        return flat
    runs = np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1)
    run = max(runs, key=len)
    if run.size > longest * per_day or missing[0] < per_day:
        raise DataError(
            f"{what} with a complete first day and no gap longer than the longest lag, "
            f"{longest} days; got {run.size} missing values in a row and the first missing value "
            f"at step {missing[0]}. Pass the series from after the gap."
        )
    for t in missing:
        flat[t] = flat[t - (back if t >= back * per_day else 1) * per_day]
    return flat


def change_values(days: Days, change: Callable[[FloatArray], FloatArray]) -> Days:
    """The days with a function applied to all values."""
    return replace(days, values={name: change(table) for name, table in days.values.items()})
