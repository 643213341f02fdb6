"""``auctor report``: the HTML report of a saved model on labelled rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
    ZeroBased,
    command_line,
    examples,
)
from auctor.cli.output import echo_json, say_unseen, say_warning, worded
from auctor.cli.reading import check_order, read_options, read_text

if TYPE_CHECKING:
    from auctor.core.errors import DataWarning
    from auctor.reports import DataInfo, ReportInfo
    from auctor.saved import SavedClassifier
    from auctor.tables.options import ReadOptions
    from auctor.tables.read import Table
    from auctor.tables.schema import Schema
    from auctor.training.describe import ReportContext
    from auctor.training.evaluate import ScoredRows
    from auctor.training.model import LinearModel

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
    from auctor.reports import render, threshold_csv
    from auctor.saved import read_classifier

    for path in (out, thresholds):
        if path is not None:
            check_destination(path, who=WHO)
    check_outputs(WHO, [out, thresholds], [model, data, train, config])
    check_page(WHO, out)
    check_order(model, data, who=WHO)
    saved = read_classifier(model, who=WHO)
    _check_two(saved)
    reading = read_options(ctx, WHO)
    inputs = _read(saved, data, train, reading, slice or [], seed)
    told = _told(saved, inputs, command_line(ctx), seed)
    info = _describe(saved, inputs, told, title, (cost_fp, cost_fn), beta)
    write_text(out, render(info), who=WHO)
    if thresholds is not None:
        write_text(thresholds, threshold_csv(info), who=WHO)
    if inputs.seen_warning:
        say_warning(inputs.seen_warning, "report")
    if as_json:
        files = {"report": str(out)} | ({} if thresholds is None else {"table": str(thresholds)})
        echo_json({**info._asdict(), **files})
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
    rows : ScoredRows
        Their labels and scores.
    train : Table, optional
        The rows that the model was trained on.
    slices : dict
        Columns to show metrics by, as text.
    seen_warning : DataWarning, optional
        Warns that the rows seem to be those of training.
    """

    source: str
    table: Table
    rows: ScoredRows
    train: Table | None
    slices: dict[str, list[str]]
    seen_warning: DataWarning | None


def _read(
    saved: SavedClassifier,
    data: str,
    train: str | None,
    reading: ReadOptions,
    slices: list[str],
    seed: int,
) -> Inputs:
    """Read and score the rows; says which columns have categories unknown to the model."""
    from auctor.tables.read import read_file
    from auctor.training.evaluate import seen_warning

    schema = _schema(saved)
    table = read_file(data, reading.by_schema(schema))
    rows = _scored(saved, table, seed)
    say_unseen("report", table.unseen, rows.codes.size)
    seen = seen_warning(saved.notes, data, rows.codes.size, who=WHO)
    text = read_text(data, slices, reading) if slices else {}
    known = None
    if train is not None:  # the training file may have another format
        known = read_file(train, replace(reading.by_schema(schema), format="auto"))
    return Inputs(data, table, rows, known, text, seen)


def _describe(
    saved: SavedClassifier,
    inputs: Inputs,
    told: ReportContext,
    title: str | None,
    costs: tuple[float, float | None],
    beta: float,
) -> ReportInfo:
    """The numbers of the report; a cost of None is that of the metric."""
    from auctor.training.describe import costs_of, describe

    model = _linear(saved)
    false_positive, false_negative = costs
    if false_negative is None:
        false_negative = costs_of(model.metric)[1]
    return describe(
        f"{model.metric} on {Path(inputs.source).name}" if title is None else title,
        model,
        inputs.rows,
        inputs.table.matrix,
        _schema(saved),
        told,
        data=_data(saved, inputs),
        columns=inputs.table.summary,
        costs=(false_positive, false_negative),
        beta=beta,
        who=WHO,
    )


def _schema(saved: SavedClassifier) -> Schema:
    """The schema by which the columns of a file become those of the model."""
    from auctor.training.evaluate import schema_for

    return schema_for(saved.model.n_features, saved.model.feature_names, saved.schema)


def _linear(saved: SavedClassifier) -> LinearModel:
    """The linear or additive model of a file; refuses others."""
    from auctor.core.errors import DataError
    from auctor.training.model import LinearModel

    if not isinstance(saved.model, LinearModel):
        raise DataError(
            WHO,
            needs="a linear or additive model, whose weights or curves a report shows",
            got=saved.name,
            todo="Use auctor evaluate.",
        )
    return saved.model


def _check_two(saved: SavedClassifier) -> None:
    """Refuse a model of more than two classes, or one without weights or curves."""
    from auctor.core.errors import DataError

    count = _linear(saved).classes.size
    if count != 2:
        raise DataError(
            WHO,
            needs="a model of two classes",
            got=f"a model of {count} classes",
            todo="Use auctor evaluate.",
        )


def _scored(saved: SavedClassifier, table: Table, seed: int) -> ScoredRows:
    """Labels, scores and probabilities of the rows of a table; refuses rows of one class."""
    from auctor.core.errors import DataError
    from auctor.training.evaluate import score_rows
    from auctor.training.prepare import codes_of

    model = saved.model
    assert table.labels is not None
    codes = codes_of(table.labels, model.classes, who=WHO)
    if codes.min() == codes.max():
        raise DataError(
            WHO,
            needs="rows of both classes to measure on",
            got=f"only {model.classes.tolist()[codes[0]]!r}",
            todo="Pass a file that has both.",
        )
    return score_rows(model, table.matrix, codes, seed=seed)


def _told(saved: SavedClassifier, inputs: Inputs, command: str, seed: int) -> ReportContext:
    """What the report says beyond the test rows: training, warnings, slices, baselines."""
    from auctor.tables.check import unseen_warning

    told = _from_notes(saved, command)
    warnings, unseen = list(told.warnings), inputs.table.unseen
    if unseen:
        warnings.append(worded(unseen_warning(WHO, unseen, inputs.rows.codes.size), "report"))
    if inputs.seen_warning:
        warnings.append(worded(inputs.seen_warning, "report"))
    told = told._replace(warnings=warnings, slices=inputs.slices)
    if inputs.train is None:
        return told._replace(rivals=_constant(saved, inputs.rows))
    return _with_train(saved, inputs.train, inputs.table, seed, told)


def _from_notes(saved: SavedClassifier, command: str) -> ReportContext:
    """What the notes in the model file say of its training."""
    from auctor.reports import MetricStep
    from auctor.training.describe import ReportContext, path_info

    notes, fitted = saved.notes, saved.fitted
    path = None
    if fitted is not None and fitted.search is not None:
        path = path_info(fitted.search, saved.model.metric, _nonzeros(notes))
    steps = [
        MetricStep(*(_number(step, name) for name in MetricStep._fields))
        for step in _list(notes, "metric_steps")
    ]
    return ReportContext(
        seconds=_number(notes, "seconds"),
        train_auc=_number(notes, "train_auc"),
        train_score=_number(notes, "train_score"),
        metric_steps=[step for step in steps if not math.isnan(step.value)],
        path=path,
        solution=fitted.solutions[0] if fitted is not None and fitted.solutions else None,
        name=saved.name if fitted is None else None,
        warnings=[text for text in _list(notes, "warnings") if isinstance(text, str)],
        command=_commands(notes, command),
    )


def _with_train(
    saved: SavedClassifier, train: Table, test: Table, seed: int, told: ReportContext
) -> ReportContext:
    """Add the metric on the training rows, and the baselines trained on them."""
    from auctor import metrics
    from auctor.estimators.baselines import baselines
    from auctor.training.evaluate import own_score

    rows = _scored(saved, train, seed)
    return told._replace(
        train_auc=metrics.auc(rows.hit, rows.scores),
        train_score=own_score(saved.model, rows),
        rivals=baselines(
            _linear(saved), saved.params, train.matrix, rows.hit, test.matrix, seed=seed
        ),
    )


def _constant(saved: SavedClassifier, rows: ScoredRows) -> list[Any]:
    """The baselines without training rows: a constant score, and why the others are missing."""
    from auctor.estimators.baselines import untrained

    needed = "It needs the rows that the model was trained on: pass them with --train."
    return untrained(saved.model.metric, rows.hit, needed, who=WHO)


def _data(saved: SavedClassifier, inputs: Inputs) -> DataInfo:
    """Numbers of rows and columns; those of training come from the notes, 0 if unknown."""
    from auctor.reports import DataInfo

    rows = inputs.rows
    known = saved.notes.get("data")
    train_rows, positives = (_number(known, name) for name in ("train_rows", "train_positives"))
    names = [str(label) for label in saved.model.classes.tolist()]
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
