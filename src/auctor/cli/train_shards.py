"""``auctor train`` on rows that stay on the disk: a folder of shards, or a table read in blocks."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli.output import INTERRUPTED, console, echo_json, say, say_warning, worded
from auctor.core.files import write_text

if TYPE_CHECKING:
    from auctor.data import Sharded
    from auctor.evaluate.results import TrainingRun
    from auctor.fit.checkpoint import Checkpoint
    from auctor.fit.parameters import ClassifierParameters
    from auctor.fit.result import ClassifierResult
    from auctor.linear.table_parameters import TableParameters
    from auctor.tables.infer import Note
    from auctor.tables.options import ReadOptions

#: Bytes of each unit of size.
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
#: Memory for the rows that are read ahead, where no --memory is given.
READ_AHEAD = "512MB"

Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory for the rows that are read ahead, such as 2GB. A file, or a folder of Parquet "
        "files, is then read in blocks, and the model has curves.",
        show_default=READ_AHEAD,
    ),
]
CheckpointFile = Annotated[
    Path | None,
    typer.Option(
        help="With a .shards folder or --memory: where to save the best point; the same command "
        "resumes.",
        show_default=False,
    ),
]


class ShardJob(NamedTuple):
    """Which shards, or table that is read in blocks, to train on, how, and where to write."""

    data: str
    reading: ReadOptions
    memory: str | None
    checkpoint: Path | None
    positive: str | None
    standardise: bool | None
    out: Path
    report: Path | None
    test_size: float
    seed: int
    command: str
    as_json: bool
    quiet: bool


def is_shards(path: str) -> bool:
    """Whether a path names a folder of shards.

    Examples
    --------
    >>> is_shards("big.shards"), is_shards("big.csv")
    (True, False)
    """
    return path.rstrip("/").endswith(".shards")


def n_bytes(text: str) -> int:
    """A size in bytes.

    Examples
    --------
    >>> n_bytes("2GB"), n_bytes("1.5 kB"), n_bytes("300")
    (2000000000, 1500, 300)
    """
    from auctor.core.errors import ParameterError

    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", text.lower())
    if match is None:
        raise ParameterError(
            f"`memory` as a number and a unit; got {text!r}. Write, for example, 2GB."
        )
    return int(float(match[1]) * UNITS[match[2]])


def refuse_others(options: dict[str, Any]) -> None:
    """Refuse options that need all rows in memory, by name; a false value is one not given."""
    _refuse(
        options,
        "all rows in memory",
        "rows that stay on the disk",
        "Drop that option, or train on a file that fits into memory.",
    )


def refuse_for_shards_only(options: dict[str, Any]) -> None:
    """Refuse options that only rows on the disk have, by name, for a file read into memory."""
    _refuse(
        options,
        "a folder of shards",
        "a file, which is read into memory whole",
        "Drop that option, or make shards of the file by auctor convert, or add --memory.",
    )


def _refuse(options: dict[str, Any], needs: str, got: str, todo: str) -> None:
    from auctor.core.errors import Option, ParameterError

    refused = [Option(name, value) for name, value in options.items() if value]
    if refused:
        raise ParameterError(f"{needs} for {{option}}", got=got, todo=todo, option=refused[0])


def train_in_blocks(job: ShardJob, table: TableParameters) -> None:
    """Make codes of a table in a temporary folder beside the model, and train on them."""
    from auctor.additive.parameters import AdditiveParameters
    from auctor.data.shard_writer import SHARD_BYTES
    from auctor.linear.coded_shards import write_coded
    from auctor.linear.shards import curves_of, of_codes
    from auctor.linear.table_parameters import model_parameters

    table = curves_of(table)
    params = model_parameters(table)
    assert isinstance(params, AdditiveParameters)
    with TemporaryDirectory(prefix=".auctor-codes-", dir=job.out.parent) as room:
        folder = Path(room, "rows.shards")
        notes: list[Note] = []
        size = min(SHARD_BYTES, n_bytes(job.memory or READ_AHEAD) // 4)
        write_coded(job.data, folder, job.reading, params, shard_bytes=size, notes=notes)
        for note in notes:
            say_warning(note.warning(), "train")
        train_on_shards(job, of_codes(table), folder)


def train_on_shards(job: ShardJob, table: TableParameters, folder: Path | None = None) -> None:
    """Fit, measure, and write the model and its report; Ctrl-C writes the best model so far."""
    import numpy as np

    from auctor.cli.train_table import page_of
    from auctor.data import open_shards
    from auctor.evaluate.run import gathered
    from auctor.evaluate.shards import held_rows, run_on_shards, schema_of, without_rows
    from auctor.linear.shards import curves_of, shard_parameters, train_shards
    from auctor.saved.store import save_fitted

    refuse_others({"calibrate": table.calibrate})
    curves = table.model == "additive"  # which may have missing values
    memory = n_bytes(job.memory or READ_AHEAD)
    whole = open_shards(folder or job.data, memory=memory, check=not curves)
    schema = None
    if whole.coding is not None:
        table, curves, schema = curves_of(table), True, schema_of(whole)
    # For a report linear models leave rows out; those of curves are left out by members.
    held = np.arange(0)
    if job.report is not None and not curves:
        held = held_rows(whole, job.test_size, job.seed)
    data = without_rows(whole, held)
    params = shard_parameters(table, data, positive=job.positive, scale=job.standardise)
    if table.strength == "auto" and not curves:
        say(
            f"strength {params.strength:g} is used: choosing it would take many passes over the "
            "shards. Set another with --strength."
        )
    start = time.perf_counter()
    warned: list[Warning] = []
    with gathered(warned):
        result = train_shards(params, data, _checkpoint(job, params, data))
    seconds = time.perf_counter() - start
    for one in [*warned, *result.warnings]:
        say_warning(one, "train")
    run = None
    if job.report is not None:
        run = run_on_shards(
            result, whole, held, seed=job.seed, command=job.command, seconds=seconds,
            word=lambda one: worded(one, "train"), warned=[*warned, *result.warnings],
        )  # fmt: skip
    summary = _summary(job, result, data, run, seconds)
    of_table = None
    if schema is not None:
        changed = ("class_weight", "pos_label")
        of_table = replace(table, **{name: getattr(result.params, name) for name in changed})
    save_fitted(result, job.out, schema=schema, table=of_table, notes=summary)
    if run is not None and job.report is not None:
        write_text(job.report, page_of(run, job.data, {}, []))
    if job.as_json:
        echo_json(summary)
    elif not job.quiet:
        _show(summary)
    if result.interrupted:
        say(f"interrupted; the best model so far is saved in {job.out}: gap {result.gap:.3g}.")
        raise typer.Exit(INTERRUPTED)


def _checkpoint(job: ShardJob, params: ClassifierParameters, data: Sharded) -> Checkpoint | None:
    """The checkpoint of a job, if it has one; says so if the fit goes on from it."""
    from auctor.linear.shards import shard_checkpoint

    if job.checkpoint is None:
        return None
    checkpoint = shard_checkpoint(job.checkpoint, params, data)
    if checkpoint.resumed:
        then = checkpoint.changed
        other = [f"{name} is {getattr(params, name)}, not {then[name]} as then" for name in then]
        say(f"{'; '.join([f'resuming from {job.checkpoint}', *other])}.")
    return checkpoint


def _summary(
    job: ShardJob, result: ClassifierResult, data: Sharded, run: TrainingRun | None, seconds: float
) -> dict[str, Any]:
    """The results of training as plain values."""
    model, solution = result.model, result.solutions[0]
    return {
        "command": job.command,
        "metric": str(model.metric),
        "score": model.score(data, data.row_labels(), data.target.weight)
        if run is None
        else run.train_score,
        "test": None if run is None else run.measure(),
        "positive": model.classes[model.positive],
        "rows": data.n_rows if run is None else run.parts.counts()["train_rows"],
        "columns": data.n_columns,
        "gap": solution.gap,
        "certified": solution.certified,
        "status": solution.status.name.lower(),
        "solver": solution.solver,
        "strength": result.params.strength if result.search is None else result.strength,
        "passes": solution.passes,
        "n_iter": solution.n_iter,
        "n_nonzero": model.n_used,
        "seconds": seconds,
        "model": job.out,
        "report": job.report,
        "checkpoint": job.checkpoint,
    }


def _show(summary: dict[str, Any]) -> None:
    """Print the results of training as a table."""
    from auctor.cli.output import grid, metric_text, show_next

    kind = "certified gap" if summary["certified"] else "optimality violation"
    rows = {
        **dict([metric_text(summary["metric"], summary["score"])]),
        **_of_test(summary),
        kind: f"{summary['gap']:.2e} ({summary['status']})",
        "strength": f"{summary['strength']:.4g}",
        "columns in the model": f"{summary['n_nonzero']:,} of {summary['columns']:,}",
        "passes over the shards": f"{summary['passes']:.0f}",
        "seconds": f"{summary['seconds']:.2f}",
    }
    table = grid(f"on {summary['rows']:,} training rows", "value")
    for name, value in rows.items():
        table.add_row(name, value)
    screen = console()
    screen.print(table, markup=False)
    screen.print(f"Model: {summary['model']}", markup=False, soft_wrap=True)
    if summary["report"] is not None:
        screen.print(f"Report: {summary['report']}", markup=False, soft_wrap=True)
    show_next(screen, summary["model"])


def _of_test(summary: dict[str, Any]) -> dict[str, str]:
    """The metric of rows that the fit, or its members, left out, where it was measured."""
    from auctor.cli.output import metric_text

    if summary["test"] is None:
        return {}
    name, value = metric_text(summary["metric"], summary["test"]["score"])
    return {f"{name} of rows left out": value}
