"""``auctor stream``: learn to rank from a file or a pipe, in one pass."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli import names
from auctor.cli.files import check_outputs
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
)
from auctor.cli.output import INTERRUPTED, echo_json, say_lost
from auctor.cli.parameters import settings
from auctor.cli.reading import read_options
from auctor.cli.stream_output import print_summary, say_interrupted, summarise, write_model

if TYPE_CHECKING:
    from auctor.streaming.estimators.online import OnlineClassifier
    from auctor.streaming.run import StreamProgress
    from auctor.tables import Chunk

#: Seconds between two updates of the progress line: five a second look continuous.
PAUSE = 0.2
#: Rows by which the kinds and categories of a table's columns are decided: one chunk.
SAMPLE_ROWS = 8192
#: Values of --missing.
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
    metric: Annotated[str, typer.Option(help="Metric to learn for: auc, the only one.")] = "auc",
    learner: Annotated[
        str,
        typer.Option(
            help="Learning algorithm; streaming needs no tuning. See auctor list learners.",
            autocompletion=names.learners,
        ),
    ] = "streaming",
    strength: Annotated[
        float | None, typer.Option(help="Strength of the penalty; by default that of the learner.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another parameter of the learner, NAME=VALUE; repeatable."),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(help="The two labels, separated by a comma; by default found in the rows."),
    ] = None,
    grow: Annotated[
        bool, typer.Option(help="Whether rows may have columns that earlier rows did not have.")
    ] = True,
    format: Format = "auto",
    label: Label = None,
    sample_rows: Annotated[
        int, typer.Option(min=1, help="Number of first rows that decide the kinds of the columns.")
    ] = SAMPLE_ROWS,
    categorical: Categorical = "auto",
    buckets: Buckets = 1024,
    missing: Annotated[
        str,
        typer.Option(
            help="What to do with missing values: fill them by the first rows as auctor train does "
            "(auto, mean, median, zero, most_frequent), refuse, or skip such rows.",
            autocompletion=names.choices(*MISSING),
        ),
    ] = "auto",
    drop: Drop = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    decimal: Decimal = ".",
    n_features: Annotated[
        int | None, typer.Option(min=1, help="Number of columns of svmlight rows, if it is fixed.")
    ] = None,
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    chunk_rows: Annotated[
        int, typer.Option(min=1, help="Rows that are read and learned at a time.")
    ] = 8192,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many rows.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Where to save the state of the learner, to resume later.", show_default=False
        ),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Rows between two checkpoints.")] = 100_000,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint, if it exists.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the model (.auctor), or only its weights (.json, .npz).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Learn to rank from a stream of rows, in one pass and with bounded memory.

    The first rows of a table decide which columns are numbers, text or dates; the model keeps that.
    Text that first appears later is counted, and treated as no category.
    """
    from auctor.fit.prepare import tidy_labels
    from auctor.streaming.run import SeenColumns
    from auctor.tables.lost import lost_rows
    from auctor.tables.stream import stream_rows

    model = _make_model(ctx.params)
    _check_out(out)
    check_outputs([out, checkpoint], [*(data or ()), config])
    columns = SeenColumns()
    chunks = columns.watching(stream_rows(_source(data), read_options(ctx, check=True)))
    result, interrupted = _learn(model, chunks, ctx.params)
    if interrupted and not hasattr(model, "classes_"):  # before the first row was learned
        say_interrupted(0, checkpoint, None)
        raise typer.Exit(INTERRUPTED)
    model.classes_ = tidy_labels(model.classes_)
    summary = summarise(model, learner, result, checkpoint, out) | lost_rows(columns.lost)
    if out is not None:
        write_model(out, model, summary, columns.schema(model), command_line(ctx))
    say_lost("stream", columns.lost, columns.rows, of="the first rows of the stream")
    if interrupted:
        say_interrupted(result.rows, checkpoint, out)
        raise typer.Exit(INTERRUPTED)
    if as_json:
        echo_json(summary)
    else:
        print_summary(summary)


def _make_model(options: Mapping[str, Any]) -> OnlineClassifier:
    """The learner that the options ask for; invalid ones are refused."""
    from auctor.core.checks import check_choice
    from auctor.core.errors import Option, ParameterError
    from auctor.streaming.registry import make_learner

    if options["metric"] != "auc":
        raise ParameterError(
            "`metric='auc'`, the only metric that streams are learned for; got "
            f"{options['metric']}. Use auctor train for other metrics."
        )
    check_choice("missing", options["missing"], MISSING)
    # Any other rule than skip fills missing values before the learner sees them.
    params = {
        "grow": options["grow"],
        "missing": "skip" if options["missing"] == "skip" else "raise",
    }
    if options["strength"] is not None:
        params["strength"] = options["strength"]
    others = settings(options["settings"])
    try:
        return make_learner(options["learner"], params | others)
    except ParameterError as error:
        # Parameters that were given by --set are shown as entries of it.
        shown = [
            Option("settings", {one.name: None}) if one.name in others else one
            for one in error.options
        ]
        raise error.naming(*shown) from None


def _learn(
    model: OnlineClassifier, chunks: Iterator[Chunk], options: Mapping[str, Any]
) -> tuple[StreamProgress, bool]:
    """Learn from all chunks; returns how far it came, and whether it was interrupted."""
    from auctor.streaming import learn

    show = _progress_line()
    try:
        done = learn(
            model,
            chunks,
            classes=_classes(options["classes"]),
            checkpoint=options["checkpoint"],
            every=options["every"],
            resume=options["resume"],
            limit=options["limit"],
            progress=show,
        )
    except KeyboardInterrupt:
        return _so_far(model), True
    finally:
        _end_line(show)
    return done, False


def _source(data: list[str] | None) -> str | list[str]:
    """The files, or "-" for standard input; a terminal is refused."""
    from auctor.core.errors import DataError

    if data:
        return data
    if sys.stdin.isatty():
        raise DataError("rows on standard input", got="a terminal", todo="Pass a file.")
    return "-"


def _classes(text: str | None) -> list[Any] | None:
    """The labels of ``--classes``, as numbers if both are numbers."""
    from auctor.core.errors import ParameterError

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or parts[0] == parts[1]:
        raise ParameterError(f"`classes` A,B; got {text!r}. Pass two different labels.")
    try:
        return [float(part) for part in parts]
    except ValueError:
        return list(parts)


def _check_out(out: Path | None) -> None:
    """Refuse a file that cannot be written, before any row is read."""
    from auctor.core.errors import ParameterError
    from auctor.core.files import check_destination

    if out is None:
        return
    if out.suffix not in (".auctor", ".json", ".npz"):
        raise ParameterError(f"`out` ending in .auctor, .json or .npz; got {out}. Add the ending.")
    check_destination(out)


def _progress_line() -> Callable[[StreamProgress], None] | None:
    """A function that updates a line of progress; None unless the error stream is a terminal."""
    if not sys.stderr.isatty():
        return None
    latest = 0.0

    def show(progress: StreamProgress) -> None:
        """Write the line, unless the last update was less than `PAUSE` seconds ago."""
        nonlocal latest
        now = time.monotonic()
        if now - latest < PAUSE:
            return
        latest = now
        sys.stderr.write(f"\r\x1b[K{progress_text(progress)}")  # \x1b[K clears the line
        sys.stderr.flush()

    return show


def progress_text(progress: StreamProgress) -> str:
    """Rows so far, rows per second and AUC, in one line."""
    auc = "" if progress.auc is None else f", AUC of the latest rows {progress.auc:.4f}"
    return f"{progress.rows:,} rows, {progress.rows_per_second:,.0f} rows/s{auc}"


def _end_line(show: object) -> None:
    """Clear the line of progress, if there is one."""
    if show is not None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _so_far(model: OnlineClassifier) -> StreamProgress:
    """The progress of a learner at an interrupt; the time is unknown and 0."""
    from auctor.streaming.run import StreamProgress, running_auc

    rows, skipped = (int(getattr(model, name, 0)) for name in ("rows_seen_", "skipped_rows_"))
    return StreamProgress(rows, 0, skipped, 0.0, running_auc(model) if rows else None)
