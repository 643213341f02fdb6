"""``auctor report``: the HTML report of a saved model on labelled rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auctor.cli.files import check_outputs, check_page
from auctor.cli.options import (
    AsJson,
    Config,
    DataPath,
    Decimal,
    Delimiter,
    Format,
    Header,
    Label,
    ModelPath,
    Seed,
    Slices,
    Threads,
    Unreadable,
    Weight,
    ZeroBased,
    command_line,
    examples,
)
from auctor.cli.output import as_typed, echo, echo_json, say_lost, say_warning
from auctor.cli.reading import check_order, read_facts, read_options, read_text, row_columns

if TYPE_CHECKING:
    from auctor.saved.report import LabelledRows
    from auctor.tables.options import ReadOptions


@examples(
    "auctor report model.auctor test.csv --train train.csv --slice region --out report.html",
    "auctor report model.auctor june.parquet --cost-fn 50 --beta 2 --title 'Card fraud in June'",
    "auctor report model.auctor test.csv --thresholds thresholds.csv",
)
def report(
    ctx: typer.Context,
    model: ModelPath,
    data: DataPath,
    out: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str | None,
        typer.Option(help="Title of the report; by default metric and file.", show_default=False),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            help="The file that the model was trained on: the report then compares the model with "
            "a constant, logistic regression and boosted trees trained on it, and looks for "
            "over-fitting.",
            show_default=False,
        ),
    ] = None,
    slice: Slices = None,
    thresholds: Annotated[
        Path | None,
        typer.Option(
            help="Where to write a CSV table with counts, precision, recall and cost at each "
            "threshold.",
            show_default=False,
        ),
    ] = None,
    cost_fp: Annotated[float, typer.Option(min=0.0, help="Cost of a false positive.")] = 1.0,
    cost_fn: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Cost of a false negative; by default that of the metric, which is mostly 1.",
            show_default=False,
        ),
    ] = None,
    beta: Annotated[
        float, typer.Option(min=0.0, help="Weight of recall against precision in F-beta.")
    ] = 1.0,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    unreadable: Unreadable = "warn",
    weight: Weight = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Write a report on a model: its metric, baselines, curves, thresholds, errors and features.

    The report is one HTML file that needs no network. It also has what the model file says about
    training: the command, the path of strengths, convergence, and the warnings about the data.
    """
    from auctor.core.files import check_destination, write_text
    from auctor.evaluate.scores import seen_warning
    from auctor.reports.html.page import render
    from auctor.reports.html.threshold import threshold_csv
    from auctor.saved.predictors import read_classifier
    from auctor.saved.report import labelled_rows, report_of

    for path in (out, thresholds):
        if path is not None:
            check_destination(path)
    check_outputs([out, thresholds], [model, data, train, config])
    check_page(out)
    check_order("report", model, data)
    saved = read_classifier(model)
    reading = read_options(ctx)
    roles = row_columns({"weight": weight, "metric": saved.model.metric})

    def scored(path: str, reading: ReadOptions) -> LabelledRows:
        facts = read_facts(path, roles, reading, 0.0)
        rows = labelled_rows(saved, path, reading, seed=seed)
        known = replace(rows.scored, weight=facts.weight, groups=facts.groups)
        return rows._replace(scored=known)

    rows = scored(data, reading)
    count = rows.scored.codes.size
    say_lost("report", rows.table.lost, count)
    slices = read_text(data, slice, reading) if slice else {}
    known = None
    if train is not None:  # the training file may have another format
        known = scored(train, replace(reading, format="auto"))
    info = report_of(
        saved,
        rows,
        train=known,
        slices=slices,
        title=title,
        costs=(cost_fp, cost_fn),
        beta=beta,
        command=command_line(ctx),
        option=partial(as_typed, "report"),
    )
    write_text(out, render(info))
    if thresholds is not None:
        write_text(thresholds, threshold_csv(info))
    if seen := seen_warning(saved.notes, data, count):
        say_warning(seen, "report")
    if as_json:
        files = {"report": str(out)} | ({} if thresholds is None else {"table": str(thresholds)})
        echo_json({**info._asdict(), **files})
        return
    echo(f"Report: {out}; positive class: {info.data.positive}")
    if thresholds is not None:
        echo(f"Thresholds: {thresholds}")
