"""``auctor stream``: learn to rank from a file or a pipe, in one pass."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli import names
from auctor.cli.options import (
    AsJson,
    Config,
    Delimiter,
    Format,
    Header,
    Label,
    ZeroBased,
    check_outputs,
    command_line,
    examples,
    yes_no,
)
from auctor.cli.output import echo_json

if TYPE_CHECKING:
    from auctor.online.base import OnlineClassifier
    from auctor.online.run import Progress
    from auctor.tables import Chunk
    from auctor.tables.schema import Schema

WHO = "auctor stream"
#: Seconds between two updates of the progress line.
PAUSE = 0.2
#: What learners call what a user types.
MISSING = {"refuse": "raise", "skip": "skip"}


@examples(
    "zcat big.svm.gz | auctor stream --out model.auctor",
    "auctor stream log.csv --label clicked --checkpoint log.ckpt --resume",
    "auctor stream day1.parquet day2.parquet --label clicked --learner spam --strength 0.001",
)
def stream(
    ctx: typer.Context,
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Files, or - for standard input (the default).", show_default=False),
    ] = None,
    metric: Annotated[str, typer.Option(help="What to learn: auc.")] = "auc",
    learner: Annotated[
        str,
        typer.Option(
            help="streaming needs no tuning; others: see auctor list learners.",
            autocompletion=names.learners,
        ),
    ] = "streaming",
    strength: Annotated[
        float | None, typer.Option(help="Of the penalty; the learner's default if not given.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another parameter of the learner, NAME=VALUE; repeatable."),
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Both labels, with a comma between them.")
    ] = None,
    grow: Annotated[bool, typer.Option(help="Whether columns may be added while learning.")] = True,
    missing: Annotated[
        str,
        typer.Option(
            help="Rows with missing values: refuse or skip.",
            autocompletion=names.choices("refuse", "skip"),
        ),
    ] = "refuse",
    format: Format = "auto",
    label: Label = None,
    n_features: Annotated[
        int | None, typer.Option(min=1, help="Number of columns (svmlight), if it is fixed.")
    ] = None,
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows per chunk.")] = 8192,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many rows.")] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Where to keep what was learned.", show_default=False)
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows between checkpoints.")] = 100_000,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint, if it exists.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the model (.auctor), or its weights alone (.json, .npz).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Learn to rank from a stream of rows, in one pass and bounded memory."""
    from auctor.core.checks import check_choice
    from auctor.online import learn
    from auctor.tables import open_stream
    from auctor.training.prepare import tidy_labels

    check_choice(WHO, "metric", metric, ("auc",))
    check_choice(WHO, "missing", missing, tuple(MISSING))
    model = make_learner(
        learner, _settings(settings, strength=strength, grow=grow, missing=MISSING[missing])
    )
    _check_out(out)
    check_outputs(WHO, [out, checkpoint], [*(data or ()), config])
    rows = open_stream(
        _source(data),
        format,
        chunk_rows=chunk_rows,
        label=label,
        n_features=n_features,
        zero_based=yes_no(WHO, "zero-based", zero_based),
        header=yes_no(WHO, "header", header),
        delimiter=delimiter,
    )
    seen: list[Chunk] = []
    show = _progress_line()
    try:
        result = learn(
            model,
            _noting(rows, seen),
            classes=_classes(classes),
            checkpoint=checkpoint,
            every=every,
            resume=resume,
            limit=limit,
            progress=show,
        )
        interrupted = False
    except KeyboardInterrupt:
        result, interrupted = _so_far(model), True
    finally:
        _end_line(show)
    if interrupted and not hasattr(model, "classes_"):
        _say_interrupted(0, checkpoint, None)
        raise typer.Exit(130)
    model.classes_ = tidy_labels(model.classes_, who=WHO)
    summary = _summary(model, learner, result, checkpoint, out)
    if out is not None:
        _write_model(out, model, summary, _schema(model, seen), command_line(ctx))
    if interrupted:
        _say_interrupted(result.rows, checkpoint, out)
        raise typer.Exit(130)
    if as_json:
        echo_json(summary)
    else:
        _print(summary)


def learners() -> dict[str, type[OnlineClassifier]]:
    """Learners by the name a user types.

    Examples
    --------
    >>> sorted(learners())[-1]
    'uni_exp'
    """
    import inspect

    from auctor import online
    from auctor.online.base import OnlineClassifier

    found = {}
    for name in online.__all__:
        thing = getattr(online, name)
        if inspect.isclass(thing) and issubclass(thing, OnlineClassifier):
            found[names.learner_name(name)] = thing
    found.pop("online_classifier", None)
    return found


def make_learner(name: str, params: dict[str, Any]) -> OnlineClassifier:
    """A learner by name; refuses parameters it does not have."""
    from auctor.core.checks import check_choice
    from auctor.core.errors import ParameterError

    known = learners()
    kind = known[check_choice(WHO, "learner", name, tuple(sorted(known)))]
    allowed = kind().get_params(deep=False)
    unknown = [key for key in params if key not in allowed]
    if unknown:
        raise ParameterError(
            WHO,
            needs=f"parameters of {kind.__name__} ({', '.join(sorted(allowed))})",
            got=f"{unknown[0]}",
            todo="Drop it.",
        )
    return kind(**params)


def _settings(given: list[str] | None, **named: Any) -> dict[str, Any]:
    """Parameters from options and from NAME=VALUE, whose values are JSON or text."""
    from auctor.core.errors import ParameterError

    params = {key: value for key, value in named.items() if value is not None}
    for item in given or []:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ParameterError(
                WHO, needs="--set NAME=VALUE", got=f"{item!r}", todo="Write it so."
            )
        params[key] = _value(value)
    return params


def _value(text: str) -> Any:
    """A number, truth value, null or text."""
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except ValueError:
        return None if text == "None" else text


def _source(data: list[str] | None) -> str | list[str]:
    from auctor.core.errors import DataError

    if data:
        return data
    if sys.stdin.isatty():
        raise DataError(WHO, needs="rows on standard input", got="a terminal", todo="Pass a file.")
    return "-"


def _classes(text: str | None) -> list[Any] | None:
    """Labels that were given, as numbers if both are."""
    from auctor.core.errors import ParameterError

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or parts[0] == parts[1]:
        raise ParameterError(WHO, needs="--classes A,B", got=f"{text!r}", todo="Pass two labels.")
    try:
        return [float(part) for part in parts]
    except ValueError:
        return list(parts)


def _check_out(out: Path | None) -> None:
    from auctor.core.errors import ParameterError
    from auctor.core.files import check_destination

    if out is None:
        return
    if out.suffix not in (".auctor", ".json", ".npz"):
        raise ParameterError(
            WHO, needs="--out with .auctor, .json or .npz", got=out, todo="Add the ending."
        )
    check_destination(out, who=WHO)


def _progress_line() -> Callable[[Progress], None] | None:
    """A line that is written over and over, on a terminal only."""
    if not sys.stderr.isatty():
        return None
    latest = 0.0

    def show(progress: Progress) -> None:
        nonlocal latest
        now = time.monotonic()
        if now - latest < PAUSE:
            return
        latest = now
        sys.stderr.write(f"\r\x1b[K{progress_text(progress)}")
        sys.stderr.flush()

    return show


def progress_text(progress: Progress) -> str:
    """How far a stream is, in one line."""
    auc = "" if progress.auc is None else f", AUC of the latest rows {progress.auc:.4f}"
    return f"{progress.rows:,} rows, {progress.rows_per_second:,.0f} rows/s{auc}"


def _end_line(show: object) -> None:
    if show is not None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _noting(rows: Iterable[Chunk], seen: list[Chunk]) -> Iterator[Chunk]:
    """The same chunks; keeps what the first one says of its columns."""
    from auctor.training.prepare import check_width

    for chunk in rows:
        check_width(chunk.matrix.shape[1], chunk.first_index, who=WHO)
        if not seen:
            seen.append(chunk._replace(matrix=None, labels=chunk.labels[:0]))
        yield chunk


def _so_far(model: OnlineClassifier) -> Progress:
    """What a learner knows after an interrupt."""
    from auctor.online.run import Progress, running_auc

    rows, skipped = (int(getattr(model, name, 0)) for name in ("rows_seen_", "skipped_rows_"))
    return Progress(rows, 0, skipped, 0.0, running_auc(model) if rows else None)


def _say_interrupted(rows: int, checkpoint: Path | None, out: Path | None) -> None:
    kept = []
    if checkpoint is not None and checkpoint.exists():
        kept.append(f"what was learned is in {checkpoint}, go on with --resume")
    if out is not None:
        kept.append(f"the model so far is saved in {out}")
    sys.stderr.write(
        f"auctor: stopped after {rows} rows; {'; '.join(kept) or 'nothing was kept'}.\n"
    )


def _schema(model: OnlineClassifier, seen: list[Chunk]) -> Schema:
    """How another file is read for the model: by the names of the columns, if they have some."""
    from auctor.tables.schema import Column, Schema

    columns = label = first_index = None
    if seen:
        columns, label, first_index = seen[0].columns, seen[0].label, seen[0].first_index
    if columns:
        return Schema.of((Column(name, "number") for name in columns), label)
    return Schema((), None, int(model.coef_.shape[1]), None, first_index)


def _summary(
    model: OnlineClassifier,
    learner: str,
    result: Progress,
    checkpoint: Path | None,
    out: Path | None,
) -> dict[str, Any]:
    from auctor.online.checkpoint import params_of

    coef = model.coef_[0]
    return {
        "metric": "auc",
        "learner": learner,
        "params": params_of(model),
        "rows": result.rows,
        "skipped_rows": result.skipped_rows,
        "seconds": result.seconds,
        "rows_per_second": result.rows_per_second,
        "auc": result.auc,
        "classes": model.classes_.tolist(),
        "n_features": int(coef.size),
        "n_nonzero": int((coef != 0.0).sum()),
        "checkpoint": None if checkpoint is None else str(checkpoint),
        "out": None if out is None else str(out),
    }


def _write_model(
    out: Path,
    model: OnlineClassifier,
    summary: dict[str, Any],
    schema: Schema,
    command: str,
) -> None:
    """The model, or its weights as JSON or as arrays with the rest in ``meta``."""
    import io

    import numpy as np

    import auctor
    from auctor.core.files import write_bytes
    from auctor.saved import save

    if out.suffix == ".auctor":
        facts = ("metric", "classes", "rows", "skipped_rows", "auc", "seconds")
        notes = {"command": command, **{key: summary[key] for key in facts}}
        save(model, out, schema=schema.to_json(), notes=notes)
        return
    kept = ("learner", "params", "rows", "skipped_rows", "auc", "classes")
    meta = {"version": auctor.__version__, **{key: summary[key] for key in kept}}
    coef, intercept = model.coef_[0], float(model.intercept_[0])
    if out.suffix == ".json":
        whole = {**meta, "intercept": intercept, "coef": coef.tolist()}
        write_bytes(out, json.dumps(whole, allow_nan=False).encode(), who=WHO)
        return
    file = io.BytesIO()
    np.savez(file, coef=coef, intercept=np.array(intercept), meta=np.array(json.dumps(meta)))
    write_bytes(out, file.getvalue(), who=WHO)


def _print(summary: dict[str, Any]) -> None:
    skipped = f", {summary['skipped_rows']:,} skipped" if summary["skipped_rows"] else ""
    typer.echo(
        f"{summary['rows']:,} rows{skipped}, {summary['n_features']:,} columns, "
        f"{summary['rows_per_second']:,.0f} rows/s; positive class: {summary['classes'][-1]}"
    )
    if summary["auc"] is not None:
        typer.echo(
            f"AUC of the latest rows, each scored before it was learned: {summary['auc']:.4f}"
        )
    if summary["checkpoint"] is not None:
        typer.echo(f"Checkpoint: {summary['checkpoint']}")
    if summary["out"] is not None:
        what = "Model" if summary["out"].endswith(".auctor") else "Weights"
        typer.echo(f"{what}: {summary['out']}")
