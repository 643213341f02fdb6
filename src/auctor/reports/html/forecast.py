"""The page of a forecast: the next day with its band, and errors on past days by their kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.reports.html.figures import Figure, NumberTable
from auctor.reports.html.page import asset, templates
from auctor.reports.html.svg import Frame, range_axis

#: Days at the end of the backtest that are drawn.
DRAWN_DAYS = 14
#: Groups of temperatures, with as many steps each.
HEAT_GROUPS = 5
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
#: Names and formats of the numbers of a backtest.
NUMBERS = {
    "mape": ("MAPE", "{:.2f} %"), "rmse": ("RMSE", "{:.4g}"), "pinball": ("Pinball loss", "{:.4g}"),
    "coverage": ("Loads inside the band", "{:.1%}"),
    "under_share": ("Loads above the forecast", "{:.1%}"),
    "peak_error": ("Error at the peak of the day", "{:.2f} %"),
}  # fmt: skip


class ForecastInfo(NamedTuple):
    """The numbers of the page.

    Parameters
    ----------
    title : str
    next : Forecast
        Of the day after the series.
    test : Backtest
    others : mapping of Backtest
        Baselines by name, on the same days.
    holidays : (n,) bool array
        Which of these days are holidays.
    heat : dict of (n, steps) arrays
        Other columns of these days, by name.
    curves : str
        HTML of the curves of an additive model.
    """

    title: str
    next: Any
    test: Any
    others: Mapping[str, Any]
    holidays: Array
    heat: Mapping[str, FloatArray]
    curves: str = ""


def render_forecast(info: ForecastInfo) -> str:
    """The page as text; needs jinja2."""
    figures = [_band("The next day", info.next), _past(info.test), *error_figures(info)]
    rows = [("This model", *_numbers(info.test))]
    rows += [(name, *_numbers(other)) for name, other in info.others.items()]
    head = ("Forecast", *(name for name, _ in NUMBERS.values()))
    dates = f"{info.test.dates[0]} to {info.test.dates[-1]}"
    made = templates().get_template("forecast.html.j2")
    return made.render(
        title=info.title, figures_of=figures, curves=info.curves, dates=dates, head=head, rows=rows,
        days=len(info.test.dates), style=asset("report.css"), curve_style=asset("curves.css"),
    )  # fmt: skip


def error_figures(info: ForecastInfo) -> list[Figure]:
    """Mean absolute errors by step, weekday, holiday and the quantiles of other columns."""
    test = info.test
    error = 100.0 * np.abs(test.load - test.actual) / np.abs(test.actual).mean()
    steps = np.arange(1.0, error.shape[1] + 1)
    by_step = error.mean(axis=0)
    frame = Frame(
        range_axis("Step of the day", 1.0, float(steps[-1])),
        range_axis("Error, % of the mean load", 0.0, float(by_step.max())),
    )
    title = "Errors by step of the day"
    figures = [
        Figure(title, frame.chart(title, frame.line(steps.tolist(), by_step.tolist(), "line s0")))
    ]
    weekday = (test.dates.astype("datetime64[D]").astype(np.int64) + 3) % 7
    groups = {name: weekday == k for k, name in enumerate(WEEKDAYS)}
    figures.append(_table("Errors by weekday", "Weekday", groups, error))
    groups = {"Holiday": info.holidays, "Other day": ~info.holidays}
    figures.append(_table("Errors on holidays", "Day", groups, error))
    for name, values in info.heat.items():
        cuts = np.quantile(values, np.linspace(0.0, 1.0, HEAT_GROUPS + 1))
        place = np.clip(np.searchsorted(cuts, values, side="right") - 1, 0, HEAT_GROUPS - 1)
        groups = {f"{cuts[k]:.4g} to {cuts[k + 1]:.4g}": place == k for k in range(HEAT_GROUPS)}
        figures.append(_table(f"Errors by {name or 'the other column'}", name, groups, error))
    return figures


def _table(title: str, of: str, groups: Mapping[str, Array], error: FloatArray) -> Figure:
    rows = [
        (name, f"{error[members].mean():.2f}", f"{int(np.sum(members)):,}")
        for name, members in groups.items()
        if np.any(members)
    ]
    return Figure(title, table=NumberTable(title, (of, "Error, % of the mean load", "Count"), rows))


def _band(title: str, day: Any) -> Figure:
    hours = (day.stamps - day.stamps[0]) / np.timedelta64(60, "m")
    return _chart(title, "Hours", hours, day.load, day.lower, day.upper)


def _past(test: Any) -> Figure:
    """The last days of the backtest with what came."""
    kept = slice(-DRAWN_DAYS, None)
    steps = test.load.shape[1]
    load, lower, upper, actual = (
        one[kept].ravel() for one in (test.load, test.lower, test.upper, test.actual)
    )
    days = np.arange(load.size) / steps
    return _chart("The last days of the test", "Days", days, load, lower, upper, actual)


def _chart(
    title: str, across: str, x: FloatArray, load: FloatArray, lower: FloatArray,
    upper: FloatArray, actual: FloatArray | None = None,
) -> Figure:  # fmt: skip
    seen = load if actual is None else np.concatenate((load, actual))
    low, high = float(min(seen.min(), lower.min())), float(max(seen.max(), upper.max()))
    frame = Frame(range_axis(across, 0.0, float(x[-1]), tight=True), range_axis("Load", low, high))
    at = x.tolist()
    marks = [
        frame.area(at, lower.tolist(), upper.tolist(), "band"),
        frame.line(at, load.tolist(), "line s0"),
    ]
    legend = [("line s0", "forecast"), ("band", "band")]
    if actual is not None:
        marks.append(frame.line(at, actual.tolist(), "line s1"))
        legend.append(("line s1", "load"))
    return Figure(title, frame.chart(title, *marks), legend)


def _numbers(test: Any) -> tuple[str, ...]:
    numbers = test.metrics()
    return tuple(
        "-" if numbers[key] is None else form.format(numbers[key])
        for key, (_, form) in NUMBERS.items()
    )
