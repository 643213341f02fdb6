"""``auctor compare``: our metrics against what people use instead, on the user's own data."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    Reading,
    Seed,
    Tol,
    ZeroBased,
    examples,
    read,
)
from auctor.cli.output import console, echo_json, say, worded
from auctor.cli.parameters import patterns
from auctor.cli.train import Positive

if TYPE_CHECKING:
    from auctor.core.types import Array
    from auctor.training.contest import Contest, Rules
    from auctor.training.verdict import Row

WHO = "auctor compare"
PENALTIES = ("l2", "l1", "elastic_net")
#: Metrics that are shown besides the one asked for.
OTHERS = {"auc": "AUC", "prbep": "PRBEP", "f1": "F1"}

Surrogates = Annotated[
    list[str] | None,
    typer.Option(
        "--surrogate",
        help="Only this surrogate of the metric; repeatable. All by default.",
        autocompletion=names.surrogates,
        show_default=False,
    ),
]
Solvers = Annotated[
    list[str] | None,
    typer.Option(
        "--solver",
        help="Only this solver of ours; repeatable. Chosen for each problem by default.",
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
    data: DataPath,
    metric: Metric = "auc",
    surrogate: Surrogates = None,
    penalty: Penalty = "l2",
    l1_ratio: L1Ratio = None,
    solver: Solvers = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds to measure on.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Times to draw the folds.")] = 1,
    inner_folds: Annotated[
        int, typer.Option(min=2, help="Folds to tune strengths on, inside each training part.")
    ] = 3,
    n_strengths: Annotated[int, typer.Option(min=1, help="Strengths to try.")] = 10,
    standardise: Annotated[
        bool,
        typer.Option(
            help="Scale columns of numbers for everyone: deviation one, dense ones mean zero."
        ),
    ] = True,
    tol: Tol = 1e-4,
    max_seconds: MaxSeconds = None,
    label: Label = None,
    positive: Positive = None,
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
    threads: Annotated[
        int, typer.Option(min=1, help="Threads that everyone may use; one is fair to all.")
    ] = 1,
    seed: Seed = 0,
    as_json: AsJson = False,
    config: Config = None,
) -> None:
    """Compare our metrics with logistic regression, LinearSVC, trees and a constant on your data.

    Everyone gets the same folds, the same scaling and encoding and the same strengths, tuned inside
    the training folds by the same metric, and cuts scores into predictions by the same rule. The
    last line says which model to take, and why. Trees are scikit-learn's, and LightGBM's where it
    is installed.
    """
    from auctor.boosting.contenders import boosted_contenders
    from auctor.core.checks import check_choice
    from auctor.estimators.contenders import our_contenders, their_contenders
    from auctor.training.contest import Rules, contest
    from auctor.training.prepare import check_width
    from auctor.training.registry import resolve_penalty
    from auctor.training.run import gathered

    check_choice(WHO, "penalty", penalty, PENALTIES)
    resolve_penalty(WHO, penalty, 1.0, l1_ratio)
    contenders = our_contenders(metric, surrogate, solver) + their_contenders(penalty)
    contenders += boosted_contenders()
    options = Reading(
        format,
        label,
        categorical,
        buckets,
        missing,
        zero_based,
        header,
        delimiter,
        decimal=decimal,
        drop=tuple(drop or ()),
        as_category=tuple(as_category or ()),
        as_number=tuple(as_number or ()),
        date=patterns(WHO, date),
        check=True,
    )
    warned: list[Warning] = []
    try:
        with _limited(threads), _progress() as show:
            with gathered(warned):
                table = read(data, options, who=WHO)
            said = list(dict.fromkeys(worded(one, "compare") for one in warned))
            for text in said:
                say(f"warning: {text}")
            check_width(table.matrix.shape[1], table.schema.first_index, who=WHO)
            rules = Rules(
                metric=metric,
                penalty=penalty,
                l1_ratio=l1_ratio,
                folds=folds,
                repeats=repeats,
                inner_folds=inner_folds,
                n_strengths=n_strengths,
                standardise=standardise,
                tol=tol,
                max_seconds=max_seconds,
                n_threads=threads,
                seed=seed,
            )
            hits, positive = _hits(table.labels, positive)
            result = contest(table.matrix, hits, contenders, rules, show)
    except KeyboardInterrupt:
        say("stopped before everyone was measured.")
        raise typer.Exit(130) from None
    if as_json:
        from auctor.training.metric import falling_base
        from auctor.training.verdict import in_own_units

        base = falling_base(metric)
        models = [in_own_units(row, base) for row in result.rows]
        found = {"positive": positive, "warnings": said, "models": models}
        echo_json({**_about(result, rules), **found})
    else:
        _print(result, rules, positive)


def _hits(labels: Array | None, positive: str | None) -> tuple[Array, str]:
    """Which rows are of the positive class, and its label; refuses more than two classes."""
    import numpy as np

    from auctor.core.errors import DataError
    from auctor.training.targets import positive_code

    classes = np.unique(labels) if labels is not None else np.empty(0)
    if labels is None or classes.size != 2:
        raise DataError(
            WHO,
            needs="labels of two classes",
            got=classes.size,
            todo="Keep two classes, or merge the others into one.",
        )
    codes = np.searchsorted(classes, labels)
    code = positive_code(WHO, classes, codes, pos_label=positive)
    return np.asarray(codes == code), f"{classes.tolist()[code]}"


@contextmanager
def _limited(threads: int) -> Iterator[None]:
    """Limit the linear algebra of every contender to ``threads`` threads."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        yield


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar with what is left to do, on a terminal only."""
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
    from auctor.training.batch import counted_rows
    from auctor.training.metric import falling_base

    return {
        "metric": rules.metric,
        "lower_is_better": falling_base(rules.metric) is not None,
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
        "best_possible": result.best_possible,
        "counts": counted_rows(WHO, rules.metric, result.n_rows),
        "test": "corrected resampled t-test, Holm",
        "recommendation": result.advice,
    }


def _print(result: Contest, rules: Rules, positive: str) -> None:
    from rich import box
    from rich.table import Table

    from auctor.training.metric import falling_base
    from auctor.training.verdict import in_own_units

    out = console()
    times = f", drawn {rules.repeats} times" if rules.repeats > 1 else ""
    out.print(
        f"{result.n_rows:,} rows, {result.n_columns:,} columns, {result.positives:,} positives "
        f"({positive}); "
        f"{rules.folds} folds{times}; {rules.penalty} penalty."
    )
    out.print()
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
    for row in sorted((row for row in result.rows if not row.refused), key=lambda row: -row.mean):
        table.add_row(*_cells(in_own_units(row, falling_base(rules.metric)), others, result.best))
    out.print(table)
    out.print()
    for line in _footnotes(result, rules):
        out.print(line, markup=False)


def _cells(row: Row, others: list[str], best: str) -> list[str]:
    from auctor.training.verdict import said

    against = [f"{row.difference:+.4f}", _p_value(row.p_value)] if best else ["", ""]
    if row.name == best:
        against = ["best", ""]
    return [
        f"{said(row)}{'*' if row.stopped_early else ''}{'^' if row.on_edge else ''}",
        f"{row.mean:.4f} ±{row.deviation:.3f}",
        *(f"{getattr(row, name):.3f}" for name in others),
        f"{row.seconds:.2f}",
        *against,
    ]


def _p_value(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3f}"


def _footnotes(result: Contest, rules: Rules) -> Iterator[str]:
    from auctor.training.batch import counted_rows
    from auctor.training.metric import falling_base

    yield (
        f"Means over the test folds, ± standard deviation. Same folds, same scaling and encoding "
        f"for everyone; tuned models tried the same {rules.n_strengths} strengths, more beyond the "
        f"last where that was best, on the same {rules.inner_folds} inner folds, by the metric; "
        "scores are cut by the same rule, and F1 is at that cut. Trees have their own settings. "
        "Seconds: tuning and fit, per fold, without compiling."
    )
    if falling_base(rules.metric) is not None:
        yield f"Less {rules.metric} is better."
    counts = counted_rows(WHO, rules.metric, result.n_rows)
    if counts:
        yield f"{counts}."
    if "at_k" in rules.metric:
        yield f"Best possible {rules.metric}: {result.best_possible:.4g}, mean over the test folds."
    if result.best:
        yield (
            "Vs best: difference from the best mean; p: corrected resampled t-test over the folds, "
            "two-sided, by Holm's rule for this number of models."
        )
    if any(row.stopped_early for row in result.rows):
        yield "* In some folds a fit stopped before its tolerance."
    if any(row.on_edge for row in result.rows):
        yield (
            "^ In some folds the metric still rose at the last strength tried, so that there is no "
            "p-value: the model may do better than it did here."
        )
    for row in result.rows:
        if row.refused:
            yield f"Left out: {row.library}: {row.name}. {row.refused}"
    yield ""
    yield result.advice
