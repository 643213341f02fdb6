"""``auctor compare``: training on the metric against the usual models, on the user's data."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from auctor.cli import names
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
    MaxSeconds,
    Metric,
    Missing,
    Penalty,
    Positive,
    Seed,
    Tol,
    ZeroBased,
    examples,
)
from auctor.cli.output import INTERRUPTED, console, echo_json, say, worded
from auctor.cli.reading import read_options

if TYPE_CHECKING:
    from auctor.evaluate.contest import Contender, Contest, Rules
    from auctor.evaluate.verdict import Row
    from auctor.tables.options import ReadOptions
    from auctor.tables.read import Table

#: Penalties that scikit-learn's linear models have too.
PENALTIES = ("l2", "l1", "elastic_net")
#: Metrics that are shown besides the one that is compared, and their headings.
OTHERS = {"auc": "AUC", "prbep": "PRBEP", "f1": "F1"}

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
    repeats: Annotated[int, typer.Option(min=1, help="How often to draw the folds anew.")] = 1,
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
    label: Label = None,
    positive: Positive = None,
    format: Format = "auto",
    categorical: Categorical = "auto",
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
    threads: Annotated[
        int, typer.Option(min=1, help="Threads of each model; with one, times are comparable.")
    ] = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Compare training on the metric with logistic regression, LinearSVC, trees and a constant.

    All models get the same folds, scaling, encoding and strengths. Strengths are tuned by the
    metric within the training folds, and scores become predictions by the same rule. The last line
    says which model to take, and why. The trees are scikit-learn's, and LightGBM's if installed.
    """
    from auctor.core.checks import check_choice
    from auctor.evaluate.contest import contest, positive_rows
    from auctor.fit.registry import resolve_penalty

    # Every wrong option is refused before the file is read.
    check_choice("penalty", penalty, PENALTIES)
    resolve_penalty(penalty, 1.0, l1_ratio)
    contenders = contenders_for(metric, penalty, surrogate, solver)
    rules = _rules(ctx.params)
    reading = read_options(ctx, n_threads=None, check=True)  # files are read by all cores
    try:
        with limited(threads), _progress() as show:
            table, warned = _read(data, reading)
            hits, positive = positive_rows(table.labels, positive)
            result = contest(table.matrix, hits, contenders, rules, show)
    except KeyboardInterrupt:
        say("interrupted before all models were measured.")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        comparison = {
            "positive": positive,
            "warnings": warned,
            "models": own_units(result.rows, rules),
        }
        echo_json({**_about(result, rules), **comparison})
    else:
        show_contest(result, rules, positive)


def contenders_for(
    metric: str,
    penalty: str,
    surrogates: list[str] | None = None,
    solvers: list[str] | None = None,
) -> list[Contender]:
    """Our models for the metric and the usual models."""
    from auctor.contenders.boosting import boosted_contenders
    from auctor.contenders.ours import our_contenders
    from auctor.contenders.theirs import their_contenders

    ours = our_contenders(metric, surrogates, solvers)
    return ours + their_contenders(penalty) + boosted_contenders()


def _rules(options: Mapping[str, Any]) -> Rules:
    """The rules of the comparison, from the options of the same names."""
    from auctor.evaluate.contest import Rules

    values = {one.name: options[one.name] for one in fields(Rules) if one.name in options}
    return Rules(**values, n_threads=options["threads"])


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


def _about(result: Contest, rules: Rules) -> dict[str, Any]:
    """The settings and the conclusions of a comparison, for JSON."""
    from auctor.fit.batch import counted_rows
    from auctor.fit.metric import falling_base

    falls = falling_base(rules.metric) is not None
    counts = counted_rows(rules.metric, result.n_rows)
    return {
        "metric": rules.metric,
        "lower_is_better": falls,
        "penalty": rules.penalty,
        "rows": result.n_rows,
        "columns": result.n_columns,
        "positives": result.positives,
        "folds": rules.folds,
        "repeats": rules.repeats,
        "inner_folds": rules.inner_folds,
        "n_strengths": rules.n_strengths,
        "standardise": rules.standardise,
        "seed": rules.seed,
        "threads": rules.n_threads,
        "best": result.best,
        "best_possible": 0.0 if falls else result.best_possible,  # no cost, error or loss
        "counts": "" if counts is None else str(counts),
        "test": "corrected resampled t-test, Holm",
        "recommendation": result.advice,
    }


def show_contest(result: Contest, rules: Rules, positive: str, *, footnotes: bool = True) -> None:
    """Print the table of models, best first, with footnotes and the recommendation."""
    from rich import box
    from rich.table import Table

    out = console()
    times = f", drawn {rules.repeats} times" if rules.repeats > 1 else ""
    out.print(
        f"{result.n_rows:,} rows, {result.n_columns:,} columns, {result.positives:,} positives "
        f"({positive}); "
        f"{rules.folds} folds{times}; {rules.penalty} penalty."
    )
    out.print()
    # A column for the metric, for other metrics, and for the comparison with the best model.
    others = [name for name in OTHERS if name != rules.metric]
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", overflow="fold")
    headings = (
        rules.metric,
        *(OTHERS[name] for name in others),
        "secs",
        "vs best",
        "p",
    )
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    measured = [row for row in result.rows if not row.refused]
    for row in own_units(sorted(measured, key=lambda row: -row.mean), rules):
        table.add_row(*_cells(row, others, result.best))
    out.print(table)
    out.print()
    if footnotes:
        for line in _footnotes(result, rules):
            out.print(line, markup=False)
    out.print(result.advice, markup=False)


def own_units(rows: Iterable[Row], rules: Rules) -> list[Row]:
    """The rows of models with values of the metric itself, not of a score to maximise."""
    from auctor.evaluate.verdict import in_own_units
    from auctor.fit.metric import falling_base

    return [in_own_units(row, falling_base(rules.metric)) for row in rows]


def _cells(row: Row, others: list[str], best: str) -> list[str]:
    """The cells of a model's row; ``best`` is the name of the best model, "" without a test."""
    from auctor.evaluate.verdict import model_name

    against = [f"{row.difference:+.4f}", _p_value(row.p_value)] if best else ["", ""]
    if row.name == best:
        against = ["best", ""]
    return [
        f"{model_name(row)}{'*' if row.stopped_early else ''}{'^' if row.on_edge else ''}",
        f"{row.mean:.4f} ±{row.deviation:.3f}",
        *(f"{getattr(row, name):.3f}" for name in others),
        f"{row.seconds:.2f}",
        *against,
    ]


def _p_value(value: float) -> str:
    """A p-value in three digits, or nothing if there is none."""
    return "" if math.isnan(value) else f"{value:.3f}"


def _footnotes(result: Contest, rules: Rules) -> Iterator[str]:
    """Lines below the table: how it was made, and what its marks mean."""
    from auctor.fit.batch import counted_rows
    from auctor.fit.metric import falling_base

    yield (
        "Mean over the test folds ± standard deviation. All models had the same folds, scaling "
        f"and encoding. Tuned models tried the same {rules.n_strengths} strengths on the same "
        f"{rules.inner_folds} inner folds by the metric, and more if the last was the best. All "
        "thresholds follow the same rule, and F1 is at that threshold. Trees have their own "
        "settings. Seconds are per fold, for tuning and fit, without compiling."
    )
    if falling_base(rules.metric) is not None:
        yield f"Less {rules.metric} is better."
    # What an integer k in the metric means on a fold, and its best possible value.
    counts = counted_rows(rules.metric, result.n_rows)
    if counts is not None:
        yield str(counts)
    if "at_k" in rules.metric:
        yield f"Best possible {rules.metric}: {result.best_possible:.4g}, mean over the test folds."
    # The marks and columns of the table that occur in it.
    if result.best:
        yield (
            "vs best: difference from the best mean. p: two-sided corrected resampled t-test over "
            "the folds, with Holm's correction for the number of models."
        )
    if any(row.stopped_early for row in result.rows):
        yield "* In some folds a fit stopped before it reached its tolerance."
    if any(row.on_edge for row in result.rows):
        yield (
            "^ In some folds the metric was still rising at the last strength that was tried. The "
            "model may be better than it looks here, so it has no p-value."
        )
    for row in result.rows:
        if row.refused:
            yield f"Left out: {row.library}: {row.name}. {row.refused}"
    yield ""
