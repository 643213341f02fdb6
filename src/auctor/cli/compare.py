"""``auctor compare``: training on the metric against the usual models, on the user's data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli import names
from auctor.cli.contest_table import about, own_units, show_contest
from auctor.cli.files import check_page
from auctor.cli.options import (
    AsCategory,
    AsJson,
    AsNumber,
    AsWords,
    Buckets,
    Categorical,
    Config,
    DataPath,
    Date,
    Decimal,
    Delimiter,
    Drop,
    Format,
    Gap,
    Group,
    Header,
    L1Ratio,
    Label,
    MaxSeconds,
    Metric,
    Missing,
    Penalty,
    Positive,
    ReportFile,
    Seed,
    Time,
    Tol,
    Weight,
    ZeroBased,
    command_line,
    examples,
)
from auctor.cli.output import INTERRUPTED, console, echo_json, say, worded
from auctor.cli.reading import read_facts, read_options, row_columns, without_row_columns

if TYPE_CHECKING:
    from auctor.evaluate.contest import Contender, Rules
    from auctor.evaluate.results import TrainingRun
    from auctor.evaluate.trained_metric import Rival
    from auctor.fit.row_facts import RowFacts
    from auctor.tables.options import ReadOptions
    from auctor.tables.read import Table

#: How often folds are drawn anew, at most, and the seconds after which they are not.
MOST_REPEATS, BUDGET = 5, 10.0
#: Penalties that scikit-learn's linear models have too.
PENALTIES = ("l2", "l1", "elastic_net")
Surrogates = Annotated[
    list[str] | None,
    typer.Option(
        "--surrogate",
        help="Compare only this surrogate of the metric; repeatable. By default all of them.",
        autocompletion=names.surrogates,
        show_default=False,
    ),
]
Solvers = Annotated[
    list[str] | None,
    typer.Option(
        "--solver",
        help="Train our models only with this solver; repeatable. By default it is chosen for "
        "each problem.",
        autocompletion=names.solvers,
        show_default=False,
    ),
]


@examples(
    "auctor compare clicks.csv --label clicked",
    "auctor compare a9a.svm --metric f1 --penalty l1 --folds 10 --json",
    "auctor compare a9a.svm --surrogate hinge --surrogate square --repeats 3",
)
def compare(
    ctx: typer.Context,
    data: DataPath,
    metric: Metric = "auc",
    surrogate: Surrogates = None,
    penalty: Penalty = "l2",
    l1_ratio: L1Ratio = None,
    solver: Solvers = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of test folds.")] = 5,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How often to draw the folds anew; by default until the verdict is clear, at most "
            "5 times and for about 10 seconds.",
            show_default=False,
        ),
    ] = None,
    all: Annotated[
        bool,
        typer.Option(
            "--all", help="Also compare every surrogate, LinearSVC, and all boosted trees."
        ),
    ] = False,
    report: ReportFile = None,
    inner_folds: Annotated[
        int, typer.Option(min=2, help="Number of folds, within the training rows, to tune on.")
    ] = 3,
    n_strengths: Annotated[int, typer.Option(min=1, help="How many strengths to try.")] = 10,
    standardise: Annotated[
        bool,
        typer.Option(
            help="Scale columns of numbers for all models: standard deviation one, and mean zero "
            "unless the data are sparse."
        ),
    ] = True,
    tol: Tol = 1e-4,
    max_seconds: MaxSeconds = None,
    weight: Weight = None,
    group: Group = None,
    time: Time = None,
    gap: Gap = 0.0,
    label: Label = None,
    positive: Positive = None,
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
    threads: Annotated[
        int, typer.Option(min=1, help="Threads of each model; with one, times are comparable.")
    ] = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Compare our models with a constant, logistic regression and boosted trees, on your table.

    All models get the same folds. Strengths and thresholds are chosen within the training folds.
    The last line says which model to take, and why. LightGBM and EBM take part if installed.
    """
    from auctor.cli.train_table import page_of
    from auctor.core.checks import check_choice
    from auctor.core.files import check_destination, write_text
    from auctor.data.matrices import is_dense
    from auctor.evaluate.contest import contest
    from auctor.fit.registry import resolve_penalty
    from auctor.fit.targets import positive_rows

    # Every wrong option is refused before the file is read.
    check_choice("penalty", penalty, PENALTIES)
    if report is not None:
        check_destination(report)
        check_page(report)
    resolve_penalty(penalty, 1.0, l1_ratio)
    contenders_for(metric, penalty, {}, surrogate, solver)
    rules = _rules(ctx.params)
    roles = row_columns(ctx.params)
    reading = _as_curves_read(read_options(ctx, n_threads=None, check=True))  # by all cores
    reading = without_row_columns(reading, roles)
    try:
        with limited(threads), _progress() as show:
            table, warned = _read(data, reading)
            hits, positive = positive_rows(table.labels, positive)
            facts = read_facts(data, roles, reading, gap)
            levels = table.schema.numbered_levels
            every = contenders_for(metric, penalty, levels, surrogate, solver, every=all)
            if not is_dense(table.matrix):
                every = [one for one in every if not one.raw]
            result = contest(
                table.matrix, hits, every, rules, show, facts.by, table.schema, facts.weight
            )
            if report is not None:
                command = command_line(ctx)
                run, rivals = trained(table, metric, positive, seed, command, facts)
                write_text(report, page_of(run, data, {}, rivals))
    except KeyboardInterrupt:
        say("interrupted before all models were measured.")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        comparison = {
            "positive": positive,
            "warnings": warned,
            "models": own_units(result.rows, rules),
        }
        echo_json({**about(result, rules), **comparison})
    else:
        show_contest(result, rules, positive)


def contenders_for(
    metric: str,
    penalty: str,
    levels: Mapping[int, Sequence[str]],
    surrogates: list[str] | None = None,
    solvers: list[str] | None = None,
    *,
    every: bool = False,
) -> list[Contender]:
    """At most seven models: ours, a constant, logistic regression, boosted trees; or all of them.

    Surrogates and solvers that are asked for take the place of our linear model.
    """
    from auctor.contenders.baselines import constant_contender
    from auctor.contenders.curves import curve_contenders
    from auctor.contenders.linear import linear_contenders
    from auctor.contenders.ours import our_contenders
    from auctor.contenders.trees import (
        boosted_contenders,
        explainable_contenders,
        scikit_learn_trees,
    )

    ours = our_contenders(metric, surrogates, solvers)
    theirs, trees, ebm = linear_contenders(penalty), boosted_contenders(), explainable_contenders()
    if not every:
        ours = ours if surrogates or solvers else ours[:1]
        theirs = theirs[1:2] if ebm else theirs[:2]  # the default one, and the tuned one
    if every or not trees:
        trees = [scikit_learn_trees(), *trees]
    return [*ours, *curve_contenders(levels), *theirs, *trees, *ebm, constant_contender()]


def _rules(options: Mapping[str, Any]) -> Rules:
    """The rules of the comparison, from the options of the same names."""
    from auctor.evaluate.contest import Rules

    values = {one.name: options[one.name] for one in fields(Rules) if one.name in options}
    if values["repeats"] is None:
        values |= {"repeats": MOST_REPEATS, "budget": BUDGET}
    return Rules(**values, n_threads=options["threads"])


def _as_curves_read(reading: ReadOptions) -> ReadOptions:
    """The options with missing values and levels kept, as curves take them."""
    from auctor.linear.table_parameters import TableParameters

    options = TableParameters(model="additive", reading=reading.of_table()).read_options()
    return replace(reading, missing=options.missing, categorical=options.categorical)


def trained(
    table: Table,
    metric: str,
    positive: str,
    seed: int,
    command: str = "",
    facts: RowFacts | None = None,
) -> tuple[TrainingRun, list[Rival]]:
    """The model that auctor train fits to a table, measured on a fifth of it, and baselines."""
    from auctor.cli.train_table import rivals_of
    from auctor.evaluate.run import train
    from auctor.fit.prepare import prepare
    from auctor.linear.table_parameters import TableParameters, model_parameters

    parts = prepare(table, seed=seed, pos_label=positive, facts=facts)
    asked = TableParameters(metric, random_state=seed)
    run = train(model_parameters(asked, parts.schema), parts, seed=seed, command=command)
    run.measure()
    return run, rivals_of(run)


def _read(data: str, reading: ReadOptions) -> tuple[Table, list[str]]:
    """The rows to compare on, and the warnings of reading them, which are printed."""
    from auctor.evaluate.run import gathered
    from auctor.fit.prepare import check_width
    from auctor.tables.read import read_file

    caught: list[Warning] = []
    with gathered(caught):
        table = read_file(data, reading)
    warned = list(dict.fromkeys(worded(one, "compare") for one in caught))
    for text in warned:
        say(f"warning: {text}")
    check_width(table.matrix.shape[1], table.schema.first_index)
    return table, warned


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Limit the linear algebra of every contender to ``threads`` threads."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        yield


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on the error stream; it shows nothing unless that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    bar = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task("reading", total=None)

        def show(name: str, done: int, total: int) -> None:
            bar.update(task, description=name, completed=done, total=total)

        yield show
