"""``auctor report``: the HTML report of a saved model on labelled rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli.files import check_outputs, check_page, seen_note
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
    Reading,
    Seed,
    Slices,
    Threads,
    ZeroBased,
    check_order,
    command_line,
    examples,
    open_model,
    read,
    read_words,
)
from auctor.cli.output import echo_json, say, say_unseen

if TYPE_CHECKING:
    from auctor.reports import DataInfo
    from auctor.saved import Saved
    from auctor.tables.read import Table
    from auctor.training.describe import Told
    from auctor.training.evaluate import Scored

WHO = "auctor report"


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
        str | None, typer.Option(help="Of the report; metric and file.", show_default=False)
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            help="The rows the model was trained on: the report then compares it with a constant, "
            "log-loss and boosted trees trained on them, and looks for over-fitting.",
            show_default=False,
        ),
    ] = None,
    slice: Slices = None,
    thresholds: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the table of thresholds as CSV, with counts, precision, recall "
            "and cost at each.",
            show_default=False,
        ),
    ] = None,
    cost_fp: Annotated[float, typer.Option(min=0.0, help="What a false alarm costs.")] = 1.0,
    cost_fn: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="What a missed positive costs; by default as the metric has it, 1 by most.",
            show_default=False,
        ),
    ] = None,
    beta: Annotated[
        float, typer.Option(min=0.0, help="How many times recall counts in F-beta.")
    ] = 1.0,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    threads: Threads = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Write a report on a model: its metric, baselines, curves, thresholds, errors and features.

    It is one HTML file that needs no network. What the model file says about training (command,
    path of strengths, convergence, what the data check found) is in it.
    """
    from auctor.core.files import check_destination, write_text
    from auctor.reports import plain, render, threshold_csv
    from auctor.tables.check import unseen_note
    from auctor.training.describe import costs_of, describe
    from auctor.training.evaluate import schema_of

    for path in (out, thresholds):
        if path is not None:
            check_destination(path, who=WHO)
    check_outputs(WHO, [out, thresholds], [model, data, train, config])
    check_page(WHO, out)
    check_order(model, data, who=WHO)
    saved = open_model(model, who=WHO)
    _check_two(saved)
    options = Reading(
        format=format,
        label=label,
        zero_based=zero_based,
        header=header,
        delimiter=delimiter,
        n_threads=threads,
        decimal=decimal,
    )
    schema = schema_of(saved.model, saved.schema)
    table = read(data, options, who=WHO, schema=schema)
    rows = _scored(saved, table, seed)
    say_unseen(table.unseen, rows.codes.size)
    said = [f"{unseen_note(table.unseen, rows.codes.size)}."] if table.unseen else []
    if seen := seen_note(saved.notes, data, rows.codes.size):
        said.append(seen)
    words = read_words(data, options, slice, who=WHO) if slice else {}
    told = _told(saved, command_line(ctx))
    told = told._replace(warnings=[*told.warnings, *said], slices=words)
    if train is not None:
        known = read(train, options._replace(format="auto"), who=WHO, schema=schema)
        told = _with_train(saved, known, table, seed, told)
    else:
        told = told._replace(rivals=_constant(saved, rows))
    name = str(getattr(saved.model, "metric", "auc"))
    miss = costs_of(saved.model)[1] if cost_fn is None else cost_fn
    info = describe(
        f"{name} on {Path(data).name}" if title is None else title,
        saved.model,
        rows,
        table.matrix,
        schema,
        told,
        data=_data(saved, table, rows, data),
        columns=table.summary,
        costs=(cost_fp, miss),
        beta=beta,
        who=WHO,
    )
    write_text(out, render(info), who=WHO)
    if thresholds is not None:
        write_text(thresholds, threshold_csv(info), who=WHO)
    if seen:
        say(f"warning: {seen}")
    if as_json:
        files = {"report": str(out)} | ({} if thresholds is None else {"table": str(thresholds)})
        echo_json({**plain(info), **files})
        return
    typer.echo(f"Report: {out}; positive class: {info.data.positive}")
    if thresholds is not None:
        typer.echo(f"Thresholds: {thresholds}")


def _check_two(saved: Saved) -> None:
    from auctor.core.errors import DataError

    count = saved.model.classes_.size
    if count != 2:
        raise DataError(
            WHO, needs="a model of two classes", got=f"one of {count}", todo="Use auctor evaluate."
        )


def _scored(saved: Saved, table: Table, seed: int) -> Scored:
    """The rows of a table under the model; refuses rows of one class."""
    from auctor.core.errors import DataError
    from auctor.training.evaluate import Scored, apply, has_probabilities, positive_of
    from auctor.training.prepare import codes_of

    model = saved.model
    assert table.labels is not None
    codes = codes_of(table.labels, model.classes_, who=WHO)
    if codes.min() == codes.max():
        raise DataError(
            WHO,
            needs="rows of both classes to measure on",
            got=f"only {model.classes_.tolist()[codes[0]]!r}",
            todo="Pass a file that has both.",
        )
    likely = apply(model, "predict_proba", table.matrix) if has_probabilities(model) else None
    decision = apply(model, "decision_function", table.matrix)
    return Scored(codes, decision, likely, seed, positive_of(model))


def _told(saved: Saved, command: str) -> Told:
    """What the model file says of its training."""
    from auctor.reports import MetricStep
    from auctor.training.describe import Told, path_info

    notes = saved.notes
    steps = [
        MetricStep(*(_number(step, name) for name in MetricStep._fields))
        for step in _list(notes, "metric_steps")
    ]
    return Told(
        seconds=_number(notes, "seconds"),
        train_auc=_number(notes, "train_auc"),
        train_score=_number(notes, "train_score"),
        metric_steps=[step for step in steps if not math.isnan(step.value)],
        path=path_info(saved.model, _nonzeros(notes)),
        warnings=[text for text in _list(notes, "warnings") if isinstance(text, str)],
        command=_commands(notes, command),
    )


def _with_train(saved: Saved, train: Table, test: Table, seed: int, told: Told) -> Told:
    """With the metric on the training rows, and with baselines that are trained on them."""
    from auctor import metrics
    from auctor.estimators.baselines import baselines
    from auctor.training.evaluate import own_score

    rows = _scored(saved, train, seed)
    return told._replace(
        train_auc=metrics.auc(rows.hit, rows.scores),
        train_score=own_score(saved.model, rows),
        rivals=baselines(saved.model, train.matrix, rows.hit, test.matrix, seed=seed),
    )


def _constant(saved: Saved, rows: Scored) -> list[Any]:
    """The baselines where no training rows are given."""
    from auctor.estimators.baselines import untrained

    needed = "It needs the rows that the model was trained on: pass them with --train."
    return untrained(saved.model, rows.hit, needed, who=WHO)


def _data(saved: Saved, table: Table, rows: Scored, source: str) -> DataInfo:
    from auctor.reports import DataInfo

    known = saved.notes.get("data")
    train_rows, positives = (_number(known, name) for name in ("train_rows", "train_positives"))
    names = [str(label) for label in saved.model.classes_.tolist()]
    return DataInfo(
        train_rows=0 if math.isnan(train_rows) else int(train_rows),
        train_positives=0 if math.isnan(positives) else int(positives),
        test_rows=int(rows.hit.size),
        test_positives=int(rows.hit.sum()),
        n_columns=int(table.matrix.shape[1]),
        source=source,
        positive=names[rows.positive],
        negative=names[1 - rows.positive],
    )


def _nonzeros(notes: Mapping[str, Any]) -> list[float]:
    path = notes.get("path")
    counts = _list(path, "nonzeros") if isinstance(path, dict) else []
    return [_number({"count": count}, "count") for count in counts]


def _commands(notes: Mapping[str, Any], own: str) -> str:
    """What trained the model, if it is known, and what made the report."""
    trained = notes.get("command")
    return f"{trained} && {own}" if isinstance(trained, str) and trained else own


def _list(notes: Mapping[str, Any], name: str) -> list[Any]:
    """A list in the notes of a model; notes are free, so anything else counts as none."""
    value = notes.get(name)
    return value if isinstance(value, list) else []


def _number(notes: Any, name: str) -> float:
    """A number in the notes of a model, NaN for anything else."""
    value = notes.get(name) if isinstance(notes, dict) else None
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if plain else math.nan  # type: ignore[arg-type]
    except OverflowError:
        return math.nan
