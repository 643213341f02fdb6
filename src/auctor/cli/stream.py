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
from auctor.cli.files import check_outputs
from auctor.cli.learners import learner_settings, make_learner
from auctor.cli.options import (
    AsCategory,
    AsJson,
    AsNumber,
    Buckets,
    Categorical,
    Config,
    Date,
    Decimal,
    Delimiter,
    Drop,
    Format,
    Header,
    Label,
    ZeroBased,
    command_line,
    examples,
    yes_no,
)
from auctor.cli.output import echo_json, say
from auctor.cli.parameters import patterns

if TYPE_CHECKING:
    from auctor.online.base import OnlineClassifier
    from auctor.online.run import Progress
    from auctor.tables import Chunk
    from auctor.tables.schema import Schema

WHO = "auctor stream"
#: Seconds between two updates of the progress line.
PAUSE = 0.2
#: Rows that say what the columns of a table are, unless asked otherwise: those of one chunk, in
#: which a category of a thousandth of the rows is missing once in 3600 times. Set by hand.
SAMPLE_ROWS = 8192
#: What may become of missing values.
MISSING = ("auto", "mean", "median", "zero", "most_frequent", "refuse", "skip")


@examples(
    "zcat big.svm.gz | auctor stream --out model.auctor",
    "auctor stream log.csv --label clicked --checkpoint log.ckpt --resume --out model.auctor",
    "zcat log.csv.gz | auctor stream --format csv --label clicked --categorical hash",
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
    format: Format = "auto",
    label: Label = None,
    sample_rows: Annotated[
        int, typer.Option(min=1, help="First rows of a table that say what its columns are.")
    ] = SAMPLE_ROWS,
    categorical: Categorical = "one_hot",
    buckets: Buckets = 1024,
    missing: Annotated[
        str,
        typer.Option(
            help="Missing values: a rule of auctor train (auto, mean, median, zero, most_frequent, "
            "refuse), by the first rows; or skip such rows (text: no category).",
            autocompletion=names.choices(*MISSING),
        ),
    ] = "auto",
    drop: Drop = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    decimal: Decimal = ".",
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
    """Learn to rank from a stream of rows, in one pass and bounded memory.

    The first rows of a table say which columns are numbers, text or dates; the model keeps that.
    Categories that come later are counted and taken as none.
    """
    from auctor.core.checks import check_choice
    from auctor.core.errors import ParameterError
    from auctor.online import learn
    from auctor.tables import open_stream
    from auctor.tables.check import unseen_note
    from auctor.training.prepare import tidy_labels

    if metric != "auc":
        raise ParameterError(
            WHO,
            needs="--metric auc, the one that it learns",
            got=metric,
            todo="Use auctor train for others.",
        )
    check_choice(WHO, "missing", missing, MISSING)
    passed_over = "skip" if missing == "skip" else "raise"
    model = make_learner(
        learner, learner_settings(settings, strength=strength, grow=grow, missing=passed_over)
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
        decimal=decimal,
        sample_rows=sample_rows,
        categorical=categorical,
        buckets=buckets,
        missing=missing,
        drop=drop or (),
        as_category=as_category or (),
        as_number=as_number or (),
        date=patterns(WHO, date),
        check=True,
    )
    seen = _Seen()
    show = _progress_line()
    try:
        result = learn(
            model,
            seen.noting(rows),
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
    summary = _summary(model, learner, result, checkpoint, out) | {"unseen": seen.unseen}
    if out is not None:
        _write_model(out, model, summary, seen.schema(model), command_line(ctx))
    if seen.unseen:
        say(f"warning: {unseen_note(seen.unseen, seen.rows, of='the first rows of the stream')}.")
    if interrupted:
        _say_interrupted(result.rows, checkpoint, out)
        raise typer.Exit(130)
    if as_json:
        echo_json(summary)
    else:
        _print(summary)


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


class _Seen:
    """What chunks say of their columns, and how many rows have categories that come late."""

    def __init__(self) -> None:
        self.first: Chunk | None = None
        self.rows = 0
        self.unseen: dict[str, int] = {}

    def noting(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        """The same chunks."""
        from auctor.training.prepare import check_width

        for chunk in chunks:
            check_width(chunk.matrix.shape[1], chunk.first_index, who=WHO)
            if self.first is None:
                self.first = chunk._replace(matrix=None, labels=chunk.labels[:0])
            self.rows += chunk.n_rows
            for name, count in (chunk.unseen or {}).items():
                self.unseen[name] = self.unseen.get(name, 0) + count
            yield chunk

    def schema(self, model: OnlineClassifier) -> Schema:
        """How another file is read for the model; without names, by the number of columns."""
        from auctor.tables.schema import Schema

        if self.first is not None and self.first.schema is not None:
            return self.first.schema
        first_index = None if self.first is None else self.first.first_index
        return Schema((), None, int(model.coef_.shape[1]), None, first_index)


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
