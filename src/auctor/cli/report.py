"""``auctor report``: the HTML report of a saved model on labelled rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli.options import (
    AsJson,
    Config,
    DataPath,
    Delimiter,
    Format,
    Header,
    Label,
    ModelPath,
    Reading,
    Seed,
    Threads,
    ZeroBased,
    check_order,
    check_outputs,
    command_line,
    examples,
    open_model,
    read,
)
from auctor.cli.output import echo_json

if TYPE_CHECKING:
    from auctor.reports import Candidate, DataInfo
    from auctor.saved import Saved
    from auctor.tables.read import Table

WHO = "auctor report"


@examples(
    "auctor report model.auctor test.csv --out report.html",
    "auctor report model.auctor june.parquet --cost-fn 50 --beta 2 --title 'Card fraud in June'",
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
    cost_fp: Annotated[float, typer.Option(min=0.0, help="What a false alarm costs.")] = 1.0,
    cost_fn: Annotated[float, typer.Option(min=0.0, help="What a missed positive costs.")] = 1.0,
    beta: Annotated[
        float, typer.Option(min=0.0, help="How many times recall counts in F-beta.")
    ] = 1.0,
    label: Label = None,
    format: Format = "auto",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    threads: Threads = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Write a report on a model: metrics with intervals, curves, thresholds, fit and features.

    It is one HTML file that needs no network. What the model file says about training (command,
    path of strengths, convergence) is in it.
    """
    import auctor
    from auctor.core.files import check_destination, write_text
    from auctor.reports import build_report, plain, render
    from auctor.training.evaluate import schema_of
    from auctor.training.run import path_info

    check_destination(out, who=WHO)
    check_outputs(WHO, [out], [model, data, config])
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
    )
    table = read(data, options, who=WHO, schema=schema_of(saved.model, saved.schema))
    hits, candidate = _scored(saved, table)
    name = str(getattr(saved.model, "metric", "auc"))
    info = build_report(
        f"{name} on {Path(data).name}" if title is None else title,
        hits,
        [candidate],
        data=_data(saved, table, hits, data),
        path=path_info(saved.model, _nonzeros(saved.notes)),
        columns=table.summary,
        warnings=[text for text in _list(saved.notes, "warnings") if isinstance(text, str)],
        command=_commands(saved.notes, command_line(ctx)),
        costs=(cost_fp, cost_fn),
        beta=beta,
        seed=seed,
        version=auctor.__version__,
    )
    write_text(out, render(info), who=WHO)
    if as_json:
        echo_json({**plain(info), "report": str(out)})
    else:
        typer.echo(f"Report: {out}; positive class: {info.data.positive}")


def _check_two(saved: Saved) -> None:
    from auctor.core.errors import DataError

    count = saved.model.classes_.size
    if count != 2:
        raise DataError(
            WHO, needs="a model of two classes", got=f"one of {count}", todo="Use auctor evaluate."
        )


def _scored(saved: Saved, table: Table) -> tuple[Any, Candidate]:
    """Which rows are positive, and the model on them."""
    import numpy as np

    from auctor.core.errors import DataError
    from auctor.reports import Candidate, MetricStep
    from auctor.training.evaluate import apply, has_probabilities, positive_of, schema_of
    from auctor.training.prepare import codes_of

    model, notes = saved.model, saved.notes
    schema = schema_of(model, saved.schema)
    assert table.labels is not None
    positive = positive_of(model)
    sign = 1.0 if positive else -1.0
    codes = codes_of(table.labels, model.classes_, who=WHO)
    hits = codes == positive
    if hits.all() or not hits.any():
        raise DataError(
            WHO,
            needs="rows of both classes to measure on",
            got=f"only {model.classes_.tolist()[codes[0]]!r}",
            todo="Pass a file that has both.",
        )
    likely = apply(model, "predict_proba", table.matrix) if has_probabilities(model) else None
    steps = [
        MetricStep(*(_number(step, name) for name in MetricStep._fields))
        for step in _list(notes, "metric_steps")
    ]
    candidate = Candidate(
        str(getattr(model, "metric", type(model).__name__)),
        sign * apply(model, "decision_function", table.matrix),
        solution=getattr(model, "solution_", None),
        seconds=_number(notes, "seconds"),
        train_auc=_number(notes, "train_auc"),
        coef=sign * np.asarray(model.coef_)[0],
        feature_names=schema.feature_names,
        first_index=schema.first_index,
        probabilities=None if likely is None else likely[:, positive],
        metric_steps=[step for step in steps if not math.isnan(step.value)],
    )
    return hits, candidate


def _data(saved: Saved, table: Table, hits: Any, source: str) -> DataInfo:
    from auctor.reports import DataInfo
    from auctor.training.evaluate import positive_of

    known = saved.notes.get("data")
    rows, positives = (_number(known, name) for name in ("train_rows", "train_positives"))
    names, code = [str(label) for label in saved.model.classes_.tolist()], positive_of(saved.model)
    return DataInfo(
        train_rows=0 if math.isnan(rows) else int(rows),
        train_positives=0 if math.isnan(positives) else int(positives),
        test_rows=int(hits.size),
        test_positives=int(hits.sum()),
        n_columns=int(table.matrix.shape[1]),
        source=source,
        positive=names[code],
        negative=names[1 - code],
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
