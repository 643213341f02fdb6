"""``auctor demo``: ``auctor compare`` and a report on two real tables that come with auctor."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli.compare import limited
from auctor.cli.contest_table import own_units, show_contest
from auctor.cli.options import examples
from auctor.cli.output import console, echo_json

if TYPE_CHECKING:
    from auctor.evaluate.contest import Contest, Rules
    from auctor.evaluate.info import ReportInfo
    from auctor.tables.read import Table

#: The tables: the file, what it is, its label and positive class. Nothing is better than a linear
#: model on the first; on the second the effects of columns are curves.
TABLES = {
    "tumours": ("Breast tumours (Wisconsin)", "diagnosis", "malignant"),
    "blocks": ("Blocks of scanned pages: text or pictures", "block", "picture"),
}
#: The metric of the demo.
METRIC = "auc"
#: Folds of its comparisons.
FOLDS = 5


class Demo(NamedTuple):
    """The comparisons with their rules, by table, and the numbers of the HTML report."""

    contests: dict[str, tuple[Contest, Rules]]
    info: ReportInfo


@examples("auctor demo", "auctor demo --report blocks.html --seed 1 --json")
def demo(
    report: Annotated[
        Path, typer.Option(help="Where to write the HTML report.", show_default=True)
    ] = Path("auctor-demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the folds.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON instead of a table.")
    ] = False,
) -> None:
    """Compare our models with logistic regression and boosted trees on two real tables."""
    from auctor.core.files import check_destination, write_text
    from auctor.reports.html.page import render

    check_destination(report)
    with console(stderr=True).status("Starting") as status:
        result = run_demo(seed=seed, on_stage=lambda stage: status.update(stage))
    write_text(report, render(result.info))
    if as_json:
        echo_json(_numbers(result, seed) | {"report": str(report)})
        return
    _print(result, seed, report)
    if sys.stdout.isatty():
        webbrowser.open(report.absolute().as_uri())


def table_of(name: str) -> Table:
    """A table of the demo, as curves read it.

    Examples
    --------
    >>> table = table_of("tumours")
    >>> table.matrix.shape, int((table.labels == "malignant").sum())
    ((569, 30), 212)
    """
    from auctor.tables.options import ReadOptions
    from auctor.tables.read import read_file

    how = ReadOptions(label=TABLES[name][1], missing="keep", categorical="levels")
    with resources.as_file(resources.files("auctor.cli") / "demo_data" / f"{name}.csv.gz") as path:
        return read_file(str(path), how)


def run_demo(*, seed: int = 0, on_stage: Callable[[str], None] | None = None) -> Demo:
    """Compare four models on each table; then train and measure the model of the report.

    Parameters
    ----------
    seed : int
        Random seed of the folds.
    on_stage : callable, optional
        Called with a line of text when a new stage begins.
    """
    from auctor.contenders.baselines import constant_contender
    from auctor.contenders.curves import curve_contenders
    from auctor.contenders.linear import linear_contenders
    from auctor.contenders.trees import boosted_contenders, scikit_learn_trees
    from auctor.evaluate.contest import Rules, contest
    from auctor.fit.targets import positive_rows

    tell = on_stage or (lambda stage: None)
    contests = {}
    for name, (title, _, positive) in TABLES.items():
        rules, table = Rules(METRIC, folds=FOLDS, n_threads=1, seed=seed), table_of(name)
        hits, _ = positive_rows(table.labels, positive)
        trees = (boosted_contenders() or [scikit_learn_trees()])[0]
        curves = curve_contenders(table.schema.numbered_levels)[1]
        four = [curves, linear_contenders(rules.penalty)[1], trees, constant_contender()]

        def show(model: str, done: int, total: int, title: str = title) -> None:
            tell(f"{title}: {model} ({done} of {total}; the first run also compiles)")

        with limited(1):
            result = contest(table.matrix, hits, four, rules, show, schema=table.schema)
        contests[name] = result, rules
    tell("Training and measuring the model of the report")
    return Demo(contests, _report(seed))


def _report(seed: int) -> ReportInfo:
    """The report of the model that auctor train fits to the second table."""
    from auctor.cli.compare import trained

    title, _, positive = TABLES["blocks"]
    run, rivals = trained(table_of("blocks"), METRIC, positive, seed, f"auctor demo --seed {seed}")
    return run.report(f"auctor demo: {title}", rivals)


def _numbers(result: Demo, seed: int) -> dict[str, Any]:
    """The results as plain values, for JSON."""
    return {
        "tables": {
            name: {
                "title": TABLES[name][0],
                "rows": one.n_rows,
                "positive": TABLES[name][2],
                "positives": one.positives,
                "results": own_units(one.rows, rules),
                "verdict": one.advice,
            }
            for name, (one, rules) in result.contests.items()
        },
        "seed": seed,
        "model": result.info,
    }


def _print(result: Demo, seed: int, report: Path) -> None:
    """Print the comparison on each table, and what to do next."""
    out = console()
    for number, (name, (one, rules)) in enumerate(result.contests.items(), 1):
        title, _, positive = TABLES[name]
        out.print(f"{title}, by {rules.metric}:", markup=False)
        show_contest(one, rules, positive, footnotes=number == len(result.contests))
        out.print()
    out.print(
        f"Other folds: auctor demo --seed {seed + 1}\n"
        "Next, your own table: auctor train DATA.csv --label COLUMN --report report.html"
    )
    out.print(f"Report: {report}", soft_wrap=True, markup=False)
