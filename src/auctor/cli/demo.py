"""``auctor demo``: ``auctor compare`` and a report on a real table that ships with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli.compare import contenders_for, limited, own_units, show_contest
from auctor.cli.options import examples
from auctor.cli.output import console, echo_json

if TYPE_CHECKING:
    from auctor.evaluate.contest import Contest, Rules
    from auctor.evaluate.info import ReportInfo
    from auctor.tables.read import Table

#: The metrics of the demo. In the second a miss costs ten false alarms.
METRICS = ("f1", "cost(10)")
#: Name of the table in the report.
TITLE = "Breast tumours (Wisconsin), as they ship with scikit-learn"
#: The positive class.
POSITIVE = "malignant"
#: Share of the rows on which the model of the report is measured.
HELD_OUT = 0.5


class Demo(NamedTuple):
    """The comparisons with their rules, one per metric, and the numbers of the HTML report."""

    contests: list[tuple[Contest, Rules]]
    info: ReportInfo


@examples("auctor demo", "auctor demo --report tumours.html --seed 1 --json")
def demo(
    report: Annotated[
        Path, typer.Option(help="Where to write the HTML report.", show_default=True)
    ] = Path("auctor-demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the folds.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON instead of a table.")
    ] = False,
) -> None:
    """Compare our models with logistic regression and boosted trees on a table of scikit-learn."""
    from auctor.core.files import check_destination, write_text
    from auctor.reports.html.page import render

    check_destination(report)
    with console(stderr=True).status("Starting") as status:
        result = run_demo(seed=seed, on_stage=lambda stage: status.update(stage))
    write_text(report, render(result.info))
    if as_json:
        echo_json(_numbers(result, seed) | {"report": str(report)})
    else:
        _print(result, seed, report)


def tumours() -> Table:
    """Breast tumours, malignant or benign, by the cell nuclei of a sample.

    Examples
    --------
    >>> table = tumours()
    >>> table.matrix.shape, int((table.labels == POSITIVE).sum())
    ((569, 30), 212)
    """
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    from auctor.tables.read import Table
    from auctor.tables.schema import Column, Schema

    rows = load_breast_cancer()
    labels = np.where(rows.target == 0, POSITIVE, "benign")
    columns = (Column(str(name), "number") for name in rows.feature_names)
    return Table(rows.data, labels, Schema.of(columns, None), ())


def run_demo(*, seed: int = 0, on_stage: Callable[[str], None] | None = None) -> Demo:
    """Compare the models by each metric; then train and measure the model of the report.

    Parameters
    ----------
    seed : int
        Random seed of the folds.
    on_stage : callable, optional
        Called with a line of text when a new stage begins.
    """
    from auctor.evaluate.contest import Rules, contest, positive_rows

    tell = on_stage or (lambda stage: None)
    contests = []
    for metric in METRICS:
        rules, table = Rules(metric, n_threads=1, seed=seed), tumours()
        hits, _ = positive_rows(table.labels, POSITIVE)

        def show(name: str, done: int, total: int, metric: str = metric) -> None:
            tell(f"{metric}: {name} ({done} of {total}; the first run also compiles)")

        with limited(1):
            contenders = contenders_for(metric, rules.penalty)
            contests.append((contest(table.matrix, hits, contenders, rules, show), rules))
    tell("Training and measuring the model of the report")
    return Demo(contests, _report(seed))


def _report(seed: int) -> ReportInfo:
    """The report of our model for the last metric, measured on rows held out of its training."""
    from auctor.cli.train_table import rivals_of
    from auctor.evaluate.run import train
    from auctor.fit.parameters import SearchParameters
    from auctor.fit.prepare import prepare

    parts = prepare(tumours(), share=HELD_OUT, seed=seed, pos_label=POSITIVE)
    params = SearchParameters(METRICS[-1], random_state=seed)
    run = train(params, parts, seed=seed, command=f"auctor demo --seed {seed}")
    run.measure()
    return run.report(f"auctor demo: {TITLE}", rivals_of(run))


def _numbers(result: Demo, seed: int) -> dict[str, Any]:
    """The results as plain values, for JSON."""
    first, _ = result.contests[0]
    return {
        "table": TITLE,
        "rows": first.n_rows,
        "positive": POSITIVE,
        "positives": first.positives,
        "seed": seed,
        "results": {rules.metric: own_units(one.rows, rules) for one, rules in result.contests},
        "verdicts": {rules.metric: one.advice for one, rules in result.contests},
        "model": result.info,
    }


def _print(result: Demo, seed: int, report: Path) -> None:
    """Print the comparison for each metric, and what to do next."""
    out = console()
    out.print(
        f"{TITLE}. It is the only table with two classes that is installed with scikit-learn, so "
        "it was not picked for its result; no row or column was changed. In cost(10) a miss costs "
        "ten false alarms.",
        markup=False,
    )
    for number, (one, rules) in enumerate(result.contests, 1):
        out.print(f"\nBy {rules.metric}:", markup=False)
        show_contest(one, rules, POSITIVE, footnotes=number == len(result.contests))
    out.print(
        "\nBoosted trees are often far ahead of every linear model, including auctor's, where "
        "columns interact, so that the effect of one depends on the value of another.\n"
        f"Other folds: auctor demo --seed {seed + 1}\n"
        "Next, your own table: auctor compare DATA.csv --label COLUMN"
    )
    out.print(f"Report: {report}", soft_wrap=True, markup=False)
