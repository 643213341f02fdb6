"""``auctor train`` on a file that fits into memory: read, fit, measure, report, write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from auctor.cli.output import INTERRUPTED, say, show_data, show_positive, worded
from auctor.cli.reading import read_facts, read_text
from auctor.core.files import write_text

if TYPE_CHECKING:
    from rich.console import Console

    from auctor.core.types import Array
    from auctor.evaluate.progress import Progress
    from auctor.evaluate.results import TrainingRun
    from auctor.evaluate.trained_metric import Rival
    from auctor.fit.prepare import Parts
    from auctor.linear.table_parameters import TableParameters
    from auctor.tables.options import ReadOptions


class TableJob(NamedTuple):
    """Which file to train on, how to read, split and scale it, and where to write the results."""

    data: str
    reading: ReadOptions
    test: str | None
    test_size: float
    positive: str | None
    seed: int
    out: Path
    report: Path | None
    command: str
    slices: tuple[str, ...]
    baselines: bool
    roles: Mapping[str, str | None] = MappingProxyType({})
    gap: float = 0.0


def train_table(
    job: TableJob, table: TableParameters, screen: Console | None, *, verbose: bool, quiet: bool
) -> tuple[TrainingRun, dict[str, Any], list[Rival]]:
    """Read, fit, measure and write.

    Parameters
    ----------
    job : TableJob
    table : TableParameters
    screen : Console, optional
        Where to print a summary of the data.
    verbose, quiet : bool
        Whether to show progress even without a terminal, and whether to show none.

    Returns
    -------
    run : TrainingRun
        The fitted model and how it was found.
    measured : dict
        Its metrics on the held-out rows.
    rivals : list of Rival
        Other models with their scores of these rows.
    """
    from auctor.evaluate.progress import Progress
    from auctor.kernels.runtime.compiled import report_compilation
    from auctor.reports.terminal import make_line

    progress = Progress(None if quiet else make_line(verbose=verbose))
    with report_compilation(progress.on_compile):
        return _train(job, table, screen, progress)


def _train(
    job: TableJob, table: TableParameters, screen: Console | None, progress: Progress
) -> tuple[TrainingRun, dict[str, Any], list[Rival]]:
    """Do the work of `train_table` with a given line of progress."""
    from auctor.evaluate.run import train as fit_model
    from auctor.linear.table_parameters import model_parameters

    saved = False
    try:
        # Reading the columns to slice by comes first: a wrong name is refused before any training.
        slices = slice_columns(job.test or job.data, job.reading, job.slices, job.report)
        parts, warned = _read(job, screen, progress)
        table = _count_rows(job, table, parts, warned)
        n_printed = _print_warnings(map(_in_cli_words, warned))
        progress.stage(f"fitting {parts.train.shape[0]:,} rows")
        run = fit_model(
            model_parameters(table, parts.schema),
            parts,
            progress=progress,
            seed=job.seed,
            command=job.command,
            word=_in_cli_words,
            warned=warned,
        )
        # The model comes first: what follows may take long, and fail.
        _save(job, table, run, None)
        saved = True
        progress.stage("measuring")
        measured = run.measure()
        _save(job, table, run, measured)
        rivals = []
        wanted = job.baselines and run.parts.held_out and run.model.binary and not run.interrupted
        if wanted and (screen is not None or job.report is not None):
            rivals = rivals_of(run)
        if job.report is not None:
            write_text(job.report, page_of(run, job.data, slices, rivals))
    except KeyboardInterrupt:
        progress.close()
        kept = f"the model is saved in {job.out}" if saved else "nothing was written"
        say(f"interrupted; {kept}.")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        progress.close()
    if run.interrupted:
        say(f"interrupted; the best model so far is saved in {job.out}: {run.described()}.")
    _print_warnings(run.warnings[n_printed:])  # those of the fit; the earlier ones are printed
    return run, measured, rivals


def _read(job: TableJob, screen: Console | None, progress: Progress) -> tuple[Parts, list[Warning]]:
    """The rows to train on and to measure on, and the warnings of reading them, each once."""
    from auctor.evaluate.run import gathered
    from auctor.fit.prepare import check_labels, prepare
    from auctor.tables.lost import lost_warnings
    from auctor.tables.read import read_file

    warned: list[Warning] = []
    with gathered(warned):
        facts, test_facts = (
            read_facts(path, job.roles, job.reading, job.gap) if path is not None else None
            for path in (job.data, job.test)
        )
        progress.stage(f"reading {job.data}")
        table = read_file(job.data, job.reading)
        progress.close()
        labels = check_labels(table, job.data)
        if job.report is not None:
            check_two(labels, job.data)
        if screen is not None:
            show_data(screen, job.data, table.matrix, labels, tuple(table.summary), table.schema)
        # A test file is encoded by the schema of the training file.
        test = None
        if job.test is not None:
            progress.stage(f"reading {job.test}")
            test = read_file(job.test, job.reading.by_schema(table.schema))
            progress.close()
            warned += lost_warnings(test.lost, test.matrix.shape[0])
        parts = prepare(
            table, test, share=job.test_size, seed=job.seed, pos_label=job.positive,
            source=job.data, facts=facts, test_facts=test_facts,
        )  # fmt: skip
        if screen is not None and parts.pos_label is not None:
            show_positive(screen, parts.pos_label)
    return parts, list({str(one): one for one in warned}.values())


def _n_rows(job: TableJob, parts: Parts) -> int:
    """Number of rows of the training file, including those held out of it."""
    held_out = parts.test.shape[0] if job.test is None and parts.held_out else 0
    return int(parts.train.shape[0] + held_out)


def _count_rows(
    job: TableJob, table: TableParameters, parts: Parts, warned: list[Warning]
) -> TableParameters:
    """The parameters with k over the rows of the file for an integer k, with a warning.

    Cross-validation folds and held-out rows are fewer than the rows of the file; a share of the
    rows means the same on all of them.
    """
    from auctor.fit.batch import counted_rows, for_parts

    n_rows = _n_rows(job, parts)
    counts = counted_rows(table.metric, n_rows, parts.test_codes == parts.positive)
    if counts is not None and parts.classes.size == 2:
        warned.append(counts)
    return for_parts(table, n_rows)


def _save(
    job: TableJob, table: TableParameters, run: TrainingRun, measured: dict[str, Any] | None
) -> None:
    """Write the model file: with the columns of the table, or the model alone if it has none."""
    from dataclasses import replace

    from auctor.saved.store import save_fitted

    schema, result = run.parts.schema, run.fitted
    notes = run.notes(measured) | {"source": job.data, "source_rows": _n_rows(job, run.parts)}
    if not schema.columns:
        save_fitted(result, job.out, schema=schema, notes=notes)
        return
    # The run has translated labels from text to the file's type, and an interrupted run has no
    # calibration: the saved classifier gets the parameters that its model was fitted with.
    changed = ("class_weight", "pos_label", "calibrate")
    table = replace(table, **{name: getattr(result.params, name) for name in changed})
    save_fitted(result, job.out, schema=schema, table=table, notes=notes)


# --- the report ---------------------------------------------------------------------------------


def slice_columns(
    source: str, reading: ReadOptions, slices: tuple[str, ...], report: Path | None
) -> dict[str, list[str]]:
    """The columns of ``--slice`` as text; refuses missing columns, and a call without a report."""
    from auctor.core.errors import ParameterError

    if slices and report is None:
        raise ParameterError(
            "`report` FILE to show the metrics for each value of a column; got `slice` alone. Add "
            "`report`, or drop `slice`."
        )
    return read_text(source, slices, reading) if slices else {}


def page_of(
    run: TrainingRun, data: str, columns: dict[str, list[str]], rivals: Sequence[Rival]
) -> str:
    """The report of a run as HTML.

    Parameters
    ----------
    run : TrainingRun
    data : str
        Name of the data in the report.
    columns : dict
        Columns to show metrics by, as text, for every row of the file that is measured on.
    rivals : sequence of Rival
        Baselines to show.
    """
    from auctor.reports.html.page import render

    rows = run.parts.test_rows  # those held out; None if all rows of a file are measured on
    slices = {
        name: column if rows is None else [column[k] for k in rows.tolist()]
        for name, column in columns.items()
    }
    return render(run.report(data, rivals, slices))


def rivals_of(run: TrainingRun) -> list[Rival]:
    """The baselines of a report, trained on the rows of the run."""
    from auctor.contenders.baselines import baselines

    train, hit, test = run.halves()
    params = vars(run.fitted.params)
    return baselines(
        run.model, params, train, hit, test, seed=run.seed, on_stage=run.progress.stage
    )


def check_two(labels: Array, source: str) -> None:
    """Refuse more than two classes: reports are about a positive and a negative class."""
    import numpy as np

    from auctor.core.errors import DataError

    count = np.unique(labels).size
    if count > 2:
        raise DataError(f"two classes to write a report; got {count} in {source}. Drop `report=`.")


# --- warnings -----------------------------------------------------------------------------------


def _in_cli_words(warning: Warning) -> str:
    """A warning that names options of the command line, not parameters of Python."""
    return worded(warning, "train")


def _print_warnings(texts: Iterable[str]) -> int:
    """Print warnings; returns how many there are."""
    listed = list(texts)
    for text in listed:
        say(f"warning: {text}")
    return len(listed)
