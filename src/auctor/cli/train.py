"""``auctor train``: a file in, a model and a report out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli import names
from auctor.cli.curves import Bins, Interactions, ModelKind, Monotone
from auctor.cli.files import check_other, check_outputs, check_page
from auctor.cli.options import (
    AsCategory,
    AsJson,
    AsNumber,
    Buckets,
    Categorical,
    Config,
    DataPath,
    Date,
    Decimal,
    Delimiter,
    Drop,
    Format,
    Header,
    L1Ratio,
    Label,
    MaxIter,
    MaxSeconds,
    Metric,
    Missing,
    NoIntercept,
    Penalty,
    Quiet,
    Reading,
    Seed,
    Slices,
    SolverName,
    Standardise,
    Surrogate,
    Threads,
    Tol,
    Verbose,
    ZeroBased,
    command_line,
    examples,
    read,
)
from auctor.cli.output import console, echo_json, say, show_data, show_model, show_positive, worded
from auctor.cli.parameters import directions, make_table, patterns
from auctor.cli.shards import (
    CheckpointFile,
    Memory,
    ShardJob,
    is_shards,
    refuse_others,
    train_shards,
)
from auctor.cli.train_report import Baselines, check_two, page_of, slice_words
from auctor.core.files import check_destination, write_text

if TYPE_CHECKING:
    from rich.console import Console

    from auctor.estimators import TableClassifier
    from auctor.reports.progress import Progress
    from auctor.training.prepare import Parts
    from auctor.training.run import Run

WHO = "auctor train"


Strength = Annotated[
    str,
    typer.Option(help="Of the penalty: a number, or auto to find it by cross-validation."),
]
NStrengths = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Strengths that auto tries, each on every fold; by default it goes from coarse to "
        "fine.",
        show_default=False,
    ),
]
Folds = Annotated[int, typer.Option(min=2, help="Folds that auto tries them on.")]
Rule = Annotated[
    str,
    typer.Option(
        help="Which strength auto takes: best, or one_standard_error for the largest within one "
        "standard error of it.",
        autocompletion=names.choices("best", "one_standard_error"),
    ),
]
Threshold = Annotated[
    str,
    typer.Option(
        help="Where to cut scores: auto (best for the metric), a number, or a rule such as "
        "precision(0.9) or top(100)."
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="The class that the metric is about; by default 1, true or yes, else the rarer one.",
        show_default=False,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(help="balanced, or LABEL=WEIGHT with commas between.", show_default=False),
]
Calibrate = Annotated[
    str | None,
    typer.Option(
        help="Learn probabilities too: sigmoid or isotonic.",
        autocompletion=names.choices("sigmoid", "isotonic"),
        show_default=False,
    ),
]
TestSize = Annotated[
    float,
    typer.Option(min=0.0, max=0.9, help="Share of the rows of each class to measure on."),
]
TestFile = Annotated[
    str | None, typer.Option(help="A file to measure on instead.", show_default=False)
]
Out = Annotated[Path, typer.Option(help="Where to write the model.")]
ReportFile = Annotated[
    Path | None, typer.Option(help="Where to write an HTML report.", show_default=False)
]


@examples(
    "auctor train clicks.csv --label clicked",
    "auctor train a9a.svm --metric auc --penalty l1 --strength auto --out model.auctor "
    "--report report.html",
    "auctor train train.parquet --test test.parquet --metric 'precision_at_k(100)' --calibrate "
    "sigmoid",
    "auctor train big.shards --metric auc --memory 2GB --checkpoint run.ckpt",
    "auctor train loans.csv --label late --model additive --monotone income=-1 --report loans.html",
    "auctor train --config auctor.toml",
)
def train(
    ctx: typer.Context,
    data: DataPath,
    metric: Metric = "auc",
    model: ModelKind = "linear",
    surrogate: Surrogate = "auto",
    penalty: Penalty = "l2",
    l1_ratio: L1Ratio = None,
    strength: Strength = "auto",
    n_strengths: NStrengths = None,
    folds: Folds = 5,
    rule: Rule = "best",
    solver: SolverName = "auto",
    tol: Tol = 1e-4,
    max_iter: MaxIter = 1000,
    max_seconds: MaxSeconds = None,
    threshold: Threshold = "auto",
    class_weight: ClassWeight = None,
    positive: Positive = None,
    calibrate: Calibrate = None,
    no_intercept: NoIntercept = False,
    standardise: Standardise = None,
    bins: Bins = 32,
    monotone: Monotone = None,
    interactions: Interactions = 0,
    test_size: TestSize = 0.2,
    test: TestFile = None,
    label: Label = None,
    format: Format = "auto",
    categorical: Categorical = "one_hot",
    buckets: Buckets = 1024,
    missing: Missing = "auto",
    drop: Drop = None,
    as_category: AsCategory = None,
    as_number: AsNumber = None,
    date: Date = None,
    decimal: Decimal = ".",
    zero_based: ZeroBased = "auto",
    header: Header = "auto",
    delimiter: Delimiter = None,
    threads: Threads = None,
    seed: Seed = 0,
    out: Out = Path("model.auctor"),
    report: ReportFile = None,
    slice: Slices = None,
    baselines: Baselines = True,
    memory: Memory = "512MB",
    checkpoint: CheckpointFile = None,
    config: Config = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Train a classifier on a metric, measure it on rows held out, write it to a file.

    On a terminal a line shows how far it is. Ctrl-C stops it, saves the best model so far and exits
    with code 130; files that exist are replaced.
    """
    for path in (out, report):
        if path is not None:
            check_destination(path, who=WHO)
    check_outputs(WHO, [out, report, checkpoint], [data, test, config])
    check_page(WHO, report)
    check_other(WHO, data, test)
    dates = patterns(WHO, date)
    table = make_table(
        WHO,
        {
            "metric": metric,
            "model": model,
            "n_bins": bins,
            "monotone": directions(WHO, monotone),
            "interactions": interactions,
            "surrogate": surrogate,
            "penalty": penalty,
            "l1_ratio": l1_ratio,
            "solver": solver,
            "tol": tol,
            "max_iter": max_iter,
            "max_seconds": max_seconds,
            "threshold": threshold,
            "class_weight": class_weight,
            "calibrate": calibrate,
            "fit_intercept": not no_intercept,
            "pos_label": positive,
            "strength": strength,
            "n_strengths": n_strengths,
            "cv": folds,
            "rule": rule,
            "categorical": categorical,
            "buckets": buckets,
            "missing": missing,
            "drop": drop or None,
            "as_category": as_category or None,
            "as_number": as_number or None,
            "date": dates or None,
            "decimal": decimal,
            "n_threads": threads,
            "random_state": seed,
        },
    )
    if is_shards(data):
        others = {"test": test, "report": report, "slice": slice or None}
        refuse_others({**others, f"model {model}": model != "linear"})
        to = ShardJob(data, memory, checkpoint, positive, standardise, out, command_line(ctx),
                      as_json, quiet)  # fmt: skip
        return train_shards(to, table)
    from auctor.kernels.runtime.compiled import report_compilation

    job = Job(
        data,
        Reading(
            format,
            label,
            categorical,
            buckets,
            table.missing_rule(),
            zero_based,
            header,
            delimiter,
            threads,
            decimal,
            tuple(drop or ()),
            tuple(as_category or ()),
            tuple(as_number or ()),
            dates,
            check=True,
        ),
        test,
        test_size,
        positive,
        standardise,
        seed,
        out,
        report,
        command_line(ctx),
        tuple(slice or ()),
        baselines,
    )
    screen = None if as_json or quiet else console()
    progress = _progress(verbose=verbose, quiet=quiet)
    with report_compilation(progress.on_compile):
        run, found = _train(job, table, screen, progress)
    summary = run.summary(found) | {"asked": metric, "model": out, "report": report}
    if as_json:
        echo_json(summary)
    elif screen is not None:
        show_model(screen, summary, job.reading.typed())
    if run.interrupted:
        raise typer.Exit(130)


class Job(NamedTuple):
    """What to train on and where to write."""

    data: str
    reading: Reading
    test: str | None
    test_size: float
    positive: str | None
    standardise: bool | None
    seed: int
    out: Path
    report: Path | None
    command: str
    slices: tuple[str, ...]
    baselines: bool


def _train(
    job: Job, table: TableClassifier, screen: Console | None, progress: Progress
) -> tuple[Run, dict[str, Any]]:
    """Read, fit, measure and write; returns the run and the metrics on the rows held out."""
    from auctor.training.run import train as fit_model

    saved = False
    try:
        words = slice_words(job.test or job.data, job.reading, job.slices, job.report)
        parts, warned = _read(job, screen, progress)
        _count_rows(job, table, parts, warned)
        told = _tell(map(_word, warned))
        run = fit_model(
            table.make_model(parts.schema),
            parts,
            scale=job.standardise,
            progress=progress,
            seed=job.seed,
            command=job.command,
            word=_word,
            warned=warned,
            who=WHO,
        )
        progress.stage("measuring")
        found = page = None
        try:
            found = run.measure()
            if job.report is not None:
                page = page_of(run, job.data, words, compared=job.baselines)
        finally:  # a model is kept even if measuring it fails or is interrupted
            _save(job, table, run, found)
            saved = True
        if job.report is not None and page is not None:
            write_text(job.report, page, who=WHO)
    except KeyboardInterrupt:
        progress.close()
        kept = f"the model is saved in {job.out}" if saved else "nothing was written"
        say(f"interrupted; {kept}.")
        raise typer.Exit(130) from None
    finally:
        progress.close()
    if run.interrupted:
        say(f"interrupted; the best model so far is saved in {job.out}: {run.described()}.")
    _tell(run.warnings[told:])
    return run, found


def _read(job: Job, screen: Console | None, progress: Progress) -> tuple[Parts, list[Warning]]:
    """The rows to train on and to measure on, with what was warned of while they were read."""
    from auctor.tables.check import unseen_note
    from auctor.training.prepare import check_labels, prepare
    from auctor.training.run import gathered

    warned: list[Warning] = []
    with gathered(warned):
        progress.stage(f"reading {job.data}")
        table = read(job.data, job.reading, who=WHO)
        progress.close()
        labels = check_labels(table, job.data, who=WHO)
        if job.report is not None:
            check_two(labels, job.data)
        if screen is not None:
            show_data(screen, job.data, table.matrix, labels, tuple(table.summary), table.schema)
        test = None
        if job.test is not None:
            progress.stage(f"reading {job.test}")
            test = read(job.test, job.reading, who=WHO, schema=table.schema)
            progress.close()
            if test.unseen:
                warned.append(UserWarning(f"{unseen_note(test.unseen, test.matrix.shape[0])}."))
        parts = prepare(
            table,
            test,
            share=job.test_size,
            seed=job.seed,
            pos_label=job.positive,
            source=job.data,
            who=WHO,
        )
        if screen is not None and parts.pos_label is not None:
            show_positive(screen, parts.pos_label)
    return parts, list({str(one): one for one in warned}.values())


def _whole(job: Job, parts: Parts) -> int:
    """Rows of the file that was trained on, with those held out."""
    held = parts.test.shape[0] if job.test is None and parts.held_out else 0
    return int(parts.train.shape[0] + held)


def _count_rows(job: Job, table: TableClassifier, parts: Parts, warned: list[Warning]) -> None:
    """Make an integer k of the metric a share of the rows of the file, and say so."""
    from auctor.core.errors import DataWarning
    from auctor.training.batch import counted_rows, per_row

    whole = _whole(job, parts)
    text = counted_rows(WHO, table.metric, whole, parts.test_codes == parts.positive)
    if text and parts.classes.size == 2:
        warned.append(DataWarning(f"{text}. Pass a share, such as 0.1, to say it yourself."))
    table.set_params(
        metric=per_row(WHO, table.metric, whole), threshold=per_row(WHO, table.threshold, whole)
    )


def _save(job: Job, table: TableClassifier, run: Run, found: dict[str, Any] | None) -> None:
    """Write the classifier of the table; of rows without named columns, the model alone."""
    from auctor.saved import save

    schema, model, path = run.parts.schema, run.model, job.out
    notes = run.notes(found) | {"source": job.data, "source_rows": _whole(job, run.parts)}
    if not schema.columns:
        save(model, path, schema=schema.to_json(), notes=notes)
        return
    # What the run has put in terms of the labels themselves, and what an interrupt left out.
    kept = ("class_weight", "pos_label", "calibrate", "standardise")
    table.set_params(**{name: getattr(model, name) for name in kept})
    save(table.adopt(model, schema), path, notes=notes)


def _word(warning: Warning) -> str:
    return worded(warning, "train")


def _tell(texts: Iterable[str]) -> int:
    """Say warnings; returns how many there are."""
    listed = list(texts)
    for text in listed:
        say(f"warning: {text}")
    return len(listed)


def _progress(*, verbose: bool, quiet: bool) -> Progress:
    from auctor.reports.progress import Progress
    from auctor.reports.terminal import make_line

    return Progress(None if quiet else make_line(verbose=verbose))
