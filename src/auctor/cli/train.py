"""``auctor train``: a file in, a model and a report out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from auctor.cli.files import check_other, check_outputs, check_page
from auctor.cli.options import (
    AsCategory,
    AsJson,
    AsNumber,
    AsWords,
    Baselines,
    Bins,
    Buckets,
    Calibrate,
    Categorical,
    ClassWeight,
    Config,
    CostFn,
    CostFp,
    DataPath,
    Date,
    Decimal,
    Delimiter,
    Drop,
    Folds,
    Format,
    Gap,
    Group,
    Header,
    Interactions,
    L1Ratio,
    Label,
    MaxIter,
    MaxSeconds,
    Members,
    Metric,
    Missing,
    ModelKind,
    Monotone,
    NoIntercept,
    NStrengths,
    Out,
    Penalty,
    Positive,
    Prior,
    Quiet,
    ReportFile,
    Rule,
    Seed,
    Slices,
    SolverName,
    Standardise,
    Strength,
    Surrogate,
    TestFile,
    TestSize,
    Threads,
    Threshold,
    Time,
    Tol,
    Verbose,
    Weight,
    ZeroBased,
    command_line,
    examples,
)
from auctor.cli.output import (
    INTERRUPTED,
    console,
    echo_json,
    show_baselines,
    show_files,
    show_model,
)
from auctor.cli.parameters import table_parameters
from auctor.cli.reading import options_for_new_rows, read_options, row_columns, without_row_columns
from auctor.cli.train_shards import (
    CheckpointFile,
    Memory,
    ShardJob,
    is_shards,
    refuse_for_shards_only,
    refuse_others,
    train_in_blocks,
    train_on_shards,
)
from auctor.cli.train_table import TableJob, train_table
from auctor.core.files import check_destination


@examples(
    "auctor train clicks.csv --label clicked",
    "auctor train a9a.svm --metric auc --penalty l1 --strength auto --out model.auctor "
    "--report report.html",
    "auctor train train.parquet --test test.parquet --metric 'precision_at_k(100)' --calibrate "
    "sigmoid",
    "auctor train big.shards --metric auc --memory 2GB --checkpoint run.ckpt",
    "auctor train loans.csv --label late --model additive --monotone income=-1 --report loans.html",
    "auctor train claims.csv --label fraud --time filed --gap 30 --group customer",
    "auctor train --config auctor.toml",
)
def train(
    ctx: typer.Context,
    data: DataPath,
    metric: Metric = "auc",
    model: ModelKind = "auto",
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
    prior: Prior = None,
    weight: Weight = None,
    group: Group = None,
    time: Time = None,
    gap: Gap = 0.0,
    cost_fp: CostFp = None,
    cost_fn: CostFn = None,
    no_intercept: NoIntercept = False,
    standardise: Standardise = None,
    bins: Bins = None,
    monotone: Monotone = None,
    interactions: Interactions = "auto",
    members: Members = 8,
    test_size: TestSize = 0.2,
    test: TestFile = None,
    label: Label = None,
    format: Format = "auto",
    categorical: Categorical = "auto",
    buckets: Buckets = 1024,
    missing: Missing = "auto",
    drop: Drop = None,
    as_category: AsCategory = None,
    as_words: AsWords = None,
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
    memory: Memory = None,
    checkpoint: CheckpointFile = None,
    config: Config = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Train a classifier on a metric, measure it on held-out rows, and write it to a file.

    On a terminal a line shows the progress. Ctrl-C stops training, saves the best model so far and
    exits with code 130. Existing files are replaced.
    """
    for path in (out, report):
        if path is not None:
            check_destination(path)
    check_outputs([out, report, checkpoint], [data, test, config])
    check_page(report)
    check_other(data, test)
    roles = row_columns(ctx.params)
    if group is None and time is None:
        roles["group"] = roles["per"]  # k rows of a group are k of all its rows: it stays whole
    reading = without_row_columns(read_options(ctx), roles)
    table = table_parameters(ctx.params, reading)
    asked = table.read_options()
    reading = replace(reading, missing=asked.missing, categorical=asked.categorical, check=True)
    command, slices = command_line(ctx), tuple(slice or ())
    if memory is not None or is_shards(data) or Path(data).is_dir():
        others = {"test": test, "slice": slice}
        others |= {name: column for name, column in roles.items() if name != "per"}
        refuse_others(others)
        job = ShardJob(data, reading, memory, checkpoint, positive, standardise, out, report,
                       test_size, seed, command, as_json, quiet)  # fmt: skip
        return (train_on_shards if is_shards(data) else train_in_blocks)(job, table)
    refuse_for_shards_only({"checkpoint": checkpoint})
    in_memory = TableJob(data, reading, test, test_size, positive, seed, out, report,
                   command, slices, baselines, roles, gap)  # fmt: skip
    screen = None if as_json or quiet else console()
    run, measured, rivals = train_table(in_memory, table, screen, verbose=verbose, quiet=quiet)
    summary = run.summary(measured) | {"asked": metric, "model": out, "report": report}
    if as_json:
        echo_json(summary)
    elif screen is not None:
        show_model(screen, summary)
        if rivals:
            show_baselines(screen, *run.against(rivals), str(run.model.kind))
        show_files(screen, summary, options_for_new_rows(reading))
    if run.interrupted:
        raise typer.Exit(INTERRUPTED)
