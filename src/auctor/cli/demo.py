"""``auctor demo``: the usual models and ours on a real table, in less than a minute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from auctor.cli.options import examples
from auctor.cli.output import console, echo_json, grid

if TYPE_CHECKING:
    from auctor.cli.showcase import DemoRow, ShowTable
    from auctor.core.types import Array
    from auctor.evaluate.info import ReportInfo


class Demo(NamedTuple):
    """The results of the demo.

    Parameters
    ----------
    table : ShowTable
    results : dict
        The models and their values, by metric.
    verdicts : dict
        A sentence that sums up the results, by metric.
    info : ReportInfo
        The numbers of the HTML report.
    """

    table: ShowTable
    results: dict[str, list[DemoRow]]
    verdicts: dict[str, str]
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


def run_demo(*, seed: int = 0, on_stage: Callable[[str], None] | None = None) -> Demo:
    """Train every model for every metric; each row is predicted by models trained without it.

    Parameters
    ----------
    seed : int
        Random seed of the folds.
    on_stage : callable, optional
        Called with a line of text when a new stage begins.
    """
    from functools import partial

    from auctor.cli.showcase import (
        GOALS,
        entrants,
        held_out,
        measured,
        show_report,
        show_table,
        verdict,
    )

    tell = on_stage or (lambda stage: None)
    table, models = show_table(), entrants(seed)
    results, verdicts = {}, {}
    for goal in GOALS:
        predicted: dict[str, Array] = {}
        for name, make in models.items():
            tell(f"{goal.metric}: {name} (the first run also compiles)")
            predicted[name] = held_out(partial(make, goal), table, seed)
        results[goal.metric] = measured(table.hit, predicted, goal, seed)
        verdicts[goal.metric] = verdict(goal, results[goal.metric])
    tell("Training and measuring the model of the report")
    return Demo(table, results, verdicts, show_report(table, GOALS[-1], seed))


def _numbers(result: Demo, seed: int) -> dict[str, Any]:
    """The results as plain values, for JSON."""
    table = result.table
    return {
        "table": table.title,
        "chosen": table.reason,
        "rows": table.hit.size,
        "positive": table.positive,
        "positives": int(table.hit.sum()),
        "seed": seed,
        "results": {
            metric: [row._asdict() for row in rows] for metric, rows in result.results.items()
        },
        "verdicts": result.verdicts,
        "model": result.info,
    }


def _print(result: Demo, seed: int, report: Path) -> None:
    """Print a table and a sentence for each metric, then how they were measured."""
    from auctor.cli.showcase import GOALS, where_trees_win

    out, table = console(), result.table
    out.print(
        f"{table.title}: {table.hit.size} rows, {len(table.columns)} columns of numbers in their "
        f"own units, {int(table.hit.sum())} {table.positive} (the positive class). {table.reason}",
        markup=False,
    )
    out.print()
    for goal in GOALS:  # a table and a sentence for each metric
        shown = grid(goal.title, "value", "95 % interval", "behind the best")
        for row in result.results[goal.metric]:
            tie = " (chance)" if row.tied else ""
            behind = (
                f"{abs(row.behind):.3f}{tie}" if row.behind else "" if row.behind_high else "best"
            )
            shown.add_row(row.name, f"{row.value:.3f}", f"{row.low:.3f} to {row.high:.3f}", behind)
        out.print(shown, markup=False)
        out.print()
        out.print(result.verdicts[goal.metric], markup=False)
        out.print()
    out.print(f"{where_trees_win(result.results)}\n", markup=False)
    out.print(
        "Every row is predicted by models that were trained and tuned without it. Trees have their "
        "default settings. (chance): the 95 % bootstrap interval of the difference from the best "
        "includes zero, so the difference may be chance.",
        markup=False,
    )
    out.print(
        f"Other folds: auctor demo --seed {seed + 1}\n"
        "Next, your own table: auctor compare DATA.csv --label COLUMN"
    )
    out.print(f"Report: {report}", soft_wrap=True, markup=False)
