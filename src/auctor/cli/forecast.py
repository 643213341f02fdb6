"""``auctor forecast``: a day of load from a series in a file, with a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli import names
from auctor.cli.files import check_outputs, check_page
from auctor.cli.options import AsJson, Decimal, Delimiter, Seed, Threads, examples
from auctor.cli.output import echo, echo_json
from auctor.cli.reading import read_options, read_text

if TYPE_CHECKING:
    from auctor.reports.html.forecast import ForecastInfo


@examples(
    "auctor forecast load.csv --horizon 24 --report out.html",
    "auctor forecast load.csv --time hour --load MW --with temperature --holiday 2024-12-25",
    "auctor forecast load.csv --model additive --test-days 56 --report out.html",
)
def forecast(
    ctx: typer.Context,
    series: Annotated[
        str,
        typer.Argument(metavar="SERIES", help="A table with a column of times and one of load."),
    ],
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Steps to forecast; by default one day.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where to write the HTML report.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write the forecast as CSV.", show_default=False)
    ] = None,
    time: Annotated[str, typer.Option(help="Column of local times, such as 2024-05-01 13:00.")] = (
        "time"
    ),
    load: Annotated[str, typer.Option(help="Column of the load.")] = "load",
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            help="A column that is known in advance, such as a weather forecast; rows after the "
            "last load have its values for the day to forecast. Repeatable.",
            show_default=False,
        ),
    ] = None,
    holiday: Annotated[
        list[str] | None,
        typer.Option(help="A holiday, past or to come. Repeatable.", show_default=False),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="kernel_ridge, svr, clustered or additive.",
            autocompletion=names.choices("kernel_ridge", "svr", "clustered", "additive"),
        ),
    ] = "kernel_ridge",
    coverage: Annotated[float, typer.Option(help="Share of the loads inside the band.")] = 0.8,
    test_days: Annotated[
        int, typer.Option(min=1, help="Days at the end on which the report measures errors.")
    ] = 28,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Forecast the load of the day after a series, with a band, at midnight.

    The report has the forecast, errors on the last days by hour, weekday, holiday and temperature,
    and the usual baselines on the same days.
    """
    from auctor.core.files import check_destination, write_text
    from auctor.forecast import LoadForecaster
    from auctor.reports.html.forecast import render_forecast

    for path in (report, out):
        if path is not None:
            check_destination(path)
    check_outputs([report, out], [series])
    check_page(report)
    others = list(with_ or ())
    known, other = _read(ctx, series, time, load, others)
    forecaster = LoadForecaster(
        model, horizon=horizon, holidays=tuple(holiday or ()), coverage=coverage,
        random_state=seed, n_threads=threads,
    )  # fmt: skip
    day = forecaster.fit(known, other).forecast()
    lines = [
        f"{stamp},{a:.10g},{b:.10g},{c:.10g}"
        for stamp, a, b, c in zip(*(one.tolist() for one in _texts(day)), strict=True)
    ]
    table = "\n".join(("time,load,lower,upper", *lines)) + "\n"
    if report is not None:
        info = _info(forecaster, known, other, test_days, Path(series).name)
        write_text(report, render_forecast(info))
    if out is not None:
        write_text(out, table)
    if as_json:
        values = {name: getattr(day, name).tolist() for name in ("load", "lower", "upper")}
        echo_json({"time": _texts(day)[0].tolist(), **values, "report": report and str(report)})
        return
    if out is None:
        for line in table.splitlines():
            echo(line)
    for name, path in (("Report", report), ("Forecast", out)):
        if path is not None:
            echo(f"{name}: {path}")


def _texts(day: Any) -> tuple[Any, ...]:
    return day.stamps.astype(str), day.load, day.lower, day.upper


def _read(
    ctx: typer.Context, path: str, time: str, load: str, others: list[str]
) -> tuple[Any, Any]:
    """The series and the other columns; rows without a load at the end have other columns alone."""
    import numpy as np

    from auctor.core.errors import DataError

    options = read_options(ctx)
    columns = read_text(path, [time, load, *others], options)

    def numbers(name: str) -> Any:
        try:
            words = [word.replace(options.decimal, ".") or "nan" for word in columns[name]]
            return np.array(words, np.float64)
        except ValueError as error:
            raise DataError(f"numbers in {name!r}; got text. Pass another `load=`.") from error

    values, stamps = numbers(load), np.array(columns[time])
    known = np.flatnonzero(np.isfinite(values))
    if not known.size:
        raise DataError(f"numbers in column {load!r}; got none. Name another with `load=`.")
    stop = int(known[-1]) + 1
    other = (stamps, {name: numbers(name) for name in others}) if others else None
    return (stamps[:stop], values[:stop]), other


def _info(forecaster: Any, known: Any, other: Any, test_days: int, title: str) -> ForecastInfo:
    """The numbers of the report: the forecast, a backtest and baselines."""
    import numpy as np

    from auctor.forecast import LoadForecaster, baselines
    from auctor.reports.html.forecast import ForecastInfo
    from auctor.reports.pictures import curve_pictures

    embedding, per_day = forecaster.embedding_, forecaster.history_.per_day
    test = LoadForecaster(**forecaster.get_params()).backtest(known, other, origins=test_days)
    days = {}
    if forecaster.horizon_ == per_day:
        days = baselines(known, other, origins=test_days, embedding=embedding)
    at = (test.dates.astype(np.int64) - forecaster.history_.first)[:, None] * per_day
    at = at + np.arange(forecaster.horizon_)
    heat = {}
    if forecaster.exogenous_ is not None:
        heat = {k: v.ravel()[at] for k, v in forecaster.exogenous_.values.items()}
    curves = ""
    if forecaster.model == "additive":
        columns = forecaster.feature_names()
        curves = curve_pictures(forecaster.model_.regressor, names=columns).to_html()
    holidays = np.isin(test.dates, np.array(embedding.holidays, "datetime64[D]"))
    return ForecastInfo(
        f"Forecast of {title}", forecaster.forecast(), test, days, holidays, heat, curves
    )
