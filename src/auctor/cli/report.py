"""``auctor report``: the HTML report of a saved model on labelled rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    Seed,
    Slices,
    Threads,
    ZeroBased,
    command_line,
    examples,
)
from auctor.cli.output import echo_json, say, say_unseen
from auctor.cli.reading import Reading, check_order, open_model, read, read_text

if TYPE_CHECKING:
    from auctor.reports import DataInfo, ReportInfo
    from auctor.saved import Saved
    from auctor.tables.read import Table
    from auctor.training.describe import ReportContext
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
    from auctor.reports import plain, render, threshold_csv

    for path in (out, thresholds):
        if path is not None:
            check_destination(path, who=WHO)
    check_outputs(WHO, [out, thresholds], [model, data, train, config])
    check_page(WHO, out)
    check_order(model, data, who=WHO)
    saved = open_model(model, who=WHO)
    _check_two(saved)
    reading = Reading.of(ctx, WHO)
    inputs = _read(saved, data, train, reading, slice or [], seed)
    told = _told(saved, inputs, command_line(ctx), seed)
    info = _describe(saved, inputs, told, title, (cost_fp, cost_fn), beta)
    write_text(out, render(info), who=WHO)
    if thresholds is not None:
        write_text(thresholds, threshold_csv(info), who=WHO)
    if inputs.seen_warning:
        say(f"warning: {inputs.seen_warning}")
    if as_json:
        files = {"report": str(out)} | ({} if thresholds is None else {"table": str(thresholds)})
        echo_json({**plain(info), **files})
        return
    typer.echo(f"Report: {out}; positive class: {info.data.positive}")
    if thresholds is not None:
        typer.echo(f"Thresholds: {thresholds}")


class Inputs(NamedTuple):
    """What the report is made from, besides the model.

    Parameters
    ----------
    source : str
        The file of rows.
    table : Table
        Its rows, encoded for the model.
    rows : Scored
        Their labels and scores.
    train : Table, optional
        The rows that the model was trained on.
    slices : dict
        Columns to show metrics by, as text.
    seen_warning : str, optional
        Warns that the rows seem to be those of training.
    """

    source: str
    table: Table
    rows: Scored
    train: Table | None
    slices: dict[str, list[str]]
    seen_warning: str | None


def _read(
    saved: Saved, data: str, train: str | None, reading: Reading, slices: list[str], seed: int
) -> Inputs:
    """Read and score the rows; says which columns have categories unknown to the model."""
    from auctor.training.evaluate import schema_of

    schema = schema_of(saved.model, saved.schema)
    table = read(data, reading, who=WHO, schema=schema)
    rows = _scored(saved, table, seed)
    say_unseen(table.unseen, rows.codes.size)
    seen = seen_note(saved.notes, data, rows.codes.size)
    text = read_text(data, reading, slices, who=WHO) if slices else {}
    known = None
    if train is not None:  # the training file may have another format
        known = read(train, reading._replace(format="auto"), who=WHO, schema=schema)
    return Inputs(data, table, rows, known, text, seen)


def _describe(
    saved: Saved,
    inputs: Inputs,
    told: ReportContext,
    title: str | None,
    costs: tuple[float, float | None],
    beta: float,
) -> ReportInfo:
    """The numbers of the report; a cost of None is that of the metric."""
    from auctor.training.describe import costs_of, describe
    from auctor.training.evaluate import schema_of

    metric = str(getattr(saved.model, "metric", "auc"))
    false_positive, false_negative = costs
    if false_negative is None:
        false_negative = costs_of(saved.model)[1]
    return describe(
        f"{metric} on {Path(inputs.source).name}" if title is None else title,
        saved.model,
        inputs.rows,
        inputs.table.matrix,
        schema_of(saved.model, saved.schema),
        told,
        data=_data(saved, inputs),
        columns=inputs.table.summary,
        costs=(false_positive, false_negative),
        beta=beta,
        who=WHO,
    )


def _check_two(saved: Saved) -> None:
    """Refuse a model of more than two classes."""
    from auctor.core.errors import DataError

    count = saved.model.classes_.size
    if count != 2:
        raise DataError(
            WHO,
            needs="a model of two classes",
            got=f"a model of {count} classes",
            todo="Use auctor evaluate.",
        )


def _scored(saved: Saved, table: Table, seed: int) -> Scored:
    """Labels, scores and probabilities of the rows of a table; refuses rows of one class."""
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
    proba = apply(model, "predict_proba", table.matrix) if has_probabilities(model) else None
    decision = apply(model, "decision_function", table.matrix)
    return Scored(codes, decision, proba, seed, positive_of(model))


def _told(saved: Saved, inputs: Inputs, command: str, seed: int) -> ReportContext:
    """What the report says beyond the test rows: training, warnings, slices, baselines."""
    from auctor.tables.check import unseen_note

    told = _from_notes(saved, command)
    warnings, unseen = list(told.warnings), inputs.table.unseen
    if unseen:
        warnings.append(f"{unseen_note(unseen, inputs.rows.codes.size)}.")
    if inputs.seen_warning:
        warnings.append(inputs.seen_warning)
    told = told._replace(warnings=warnings, slices=inputs.slices)
    if inputs.train is None:
        return told._replace(rivals=_constant(saved, inputs.rows))
    return _with_train(saved, inputs.train, inputs.table, seed, told)


def _from_notes(saved: Saved, command: str) -> ReportContext:
    """What the notes in the model file say of its training."""
    from auctor.reports import MetricStep
    from auctor.training.describe import ReportContext, path_info

    notes = saved.notes
    steps = [
        MetricStep(*(_number(step, name) for name in MetricStep._fields))
        for step in _list(notes, "metric_steps")
    ]
    return ReportContext(
        seconds=_number(notes, "seconds"),
        train_auc=_number(notes, "train_auc"),
        train_score=_number(notes, "train_score"),
        metric_steps=[step for step in steps if not math.isnan(step.value)],
        path=path_info(saved.model, _nonzeros(notes)),
        warnings=[text for text in _list(notes, "warnings") if isinstance(text, str)],
        command=_commands(notes, command),
    )


def _with_train(
    saved: Saved, train: Table, test: Table, seed: int, told: ReportContext
) -> ReportContext:
    """Add the metric on the training rows, and the baselines trained on them."""
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
    """The baselines without training rows: a constant score, and why the others are missing."""
    from auctor.estimators.baselines import untrained

    needed = "It needs the rows that the model was trained on: pass them with --train."
    return untrained(saved.model, rows.hit, needed, who=WHO)


def _data(saved: Saved, inputs: Inputs) -> DataInfo:
    """Numbers of rows and columns; those of training come from the notes, 0 if unknown."""
    from auctor.reports import DataInfo

    rows = inputs.rows
    known = saved.notes.get("data")
    train_rows, positives = (_number(known, name) for name in ("train_rows", "train_positives"))
    names = [str(label) for label in saved.model.classes_.tolist()]
    return DataInfo(
        train_rows=0 if math.isnan(train_rows) else int(train_rows),
        train_positives=0 if math.isnan(positives) else int(positives),
        test_rows=int(rows.hit.size),
        test_positives=int(rows.hit.sum()),
        n_columns=int(inputs.table.matrix.shape[1]),
        source=inputs.source,
        positive=names[rows.positive],
        negative=names[1 - rows.positive],
    )


def _nonzeros(notes: Mapping[str, Any]) -> list[float]:
    """Numbers of nonzero weights along the path of strengths."""
    path = notes.get("path")
    counts = _list(path, "nonzeros") if isinstance(path, dict) else []
    return [_number({"count": count}, "count") for count in counts]


def _commands(notes: Mapping[str, Any], own: str) -> str:
    """The command that trained the model, if it is known, and the one that made the report."""
    trained = notes.get("command")
    return f"{trained} && {own}" if isinstance(trained, str) and trained else own


def _list(notes: Mapping[str, Any], name: str) -> list[Any]:
    """A list from the notes of a model, which may hold anything; empty if it is not a list."""
    value = notes.get(name)
    return value if isinstance(value, list) else []


def _number(notes: Any, name: str) -> float:
    """A number from the notes of a model; NaN for anything else."""
    value = notes.get(name) if isinstance(notes, dict) else None
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if plain else math.nan  # type: ignore[arg-type]
    except OverflowError:
        return math.nan
