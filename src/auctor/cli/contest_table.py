"""What `auctor compare` prints: the table of models with its footnotes, and the facts for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from auctor.cli.output import console

if TYPE_CHECKING:
    from auctor.evaluate.contest import Contest, Rules
    from auctor.evaluate.verdict import Row

#: Metrics that are shown besides the one that is compared, and their headings.
OTHERS = {"auc": "AUC", "prbep": "PRBEP", "f1": "F1"}


def about(result: Contest, rules: Rules) -> dict[str, Any]:
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
        "split": result.split,
        "weighted": result.weighted,
        "repeats": result.repeats,
        "inner_folds": rules.inner_folds,
        "n_strengths": rules.n_strengths,
        "standardise": rules.standardise,
        "seed": rules.seed,
        "threads": rules.n_threads,
        "best": result.best,
        "best_possible": 0.0 if falls else result.best_possible,  # no cost, error or loss
        "counts": "" if counts is None else str(counts),
        "test": "corrected resampled t-test, Holm",
        "delong": "paired, on the held-out rows, Holm" if rules.metric == "auc" else None,
        "recommendation": result.advice,
    }


def show_contest(result: Contest, rules: Rules, positive: str, *, footnotes: bool = True) -> None:
    """Print the table of models, best first, with footnotes and the recommendation."""
    from rich import box
    from rich.table import Table

    out = console()
    times = f", drawn {result.repeats} times" if result.repeats > 1 else ""
    out.print(
        f"{result.n_rows:,} rows, {result.n_columns:,} columns, {result.positives:,} positives "
        f"({positive}); "
        f"{rules.folds} folds{times}; {rules.penalty} penalty."
        f"{' All metrics count rows by their weights.' if result.weighted else ''}"
    )
    out.print()
    # A column for the metric, for other metrics, and for the comparison with the best model.
    others = [name for name in OTHERS if name != rules.metric]
    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model", overflow="fold")
    headings = (rules.metric, *(OTHERS[name] for name in others), "secs", "vs best", "p")
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
    tested = sorted((row.delong, row.name) for row in result.rows if not math.isnan(row.delong))
    if tested:
        listed = ", ".join(f"{name} {_p_value(p)}" for p, name in tested)
        yield (
            f"DeLong's test of the AUCs on the held-out rows, p against the best: {listed}. It "
            "takes the models as fitted; p above also counts that other training rows give other "
            "models, and the advice follows it."
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
