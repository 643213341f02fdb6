"""The report that ``auctor train`` writes: baselines on the same rows, slices of a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auctor.cli.reading import Reading, read_text

if TYPE_CHECKING:
    from auctor.core.types import Array
    from auctor.training.results import Run

WHO = "auctor train"

Baselines = Annotated[
    bool,
    typer.Option(
        help="Whether the report compares the model with a constant, logistic regression and "
        "boosted trees, which are trained on the same rows."
    ),
]


def slice_columns(
    source: str, reading: Reading, slices: tuple[str, ...], report: Path | None
) -> dict[str, list[str]]:
    """The columns of ``--slice`` as text; refuses missing columns, and a call without a report."""
    from auctor.core.errors import ParameterError

    if slices and report is None:
        raise ParameterError(
            WHO,
            needs="--report FILE to show the metrics for each value of a column",
            got="--slice alone",
            todo="Add --report, or drop --slice.",
        )
    return read_text(source, reading, slices, who=WHO) if slices else {}


def page_of(run: Run, data: str, columns: dict[str, list[str]], *, compared: bool) -> str:
    """The report of a run as HTML.

    Parameters
    ----------
    run : Run
    data : str
        Name of the data in the report.
    columns : dict
        Columns to show metrics by, as text, for every row of the file that is measured on.
    compared : bool
        Whether to train baselines on the same rows and show them.
    """
    from auctor.estimators.baselines import baselines
    from auctor.reports import render

    rivals = []
    if compared and run.parts.held_out:
        train, hit, test = run.halves()
        params = vars(run.fitted.given)
        rivals = baselines(
            run.model, params, train, hit, test, seed=run.seed, on_stage=run.progress.stage
        )
    rows = run.parts.test_rows  # those held out; None if all rows of a file are measured on
    slices = {
        name: column if rows is None else [column[k] for k in rows.tolist()]
        for name, column in columns.items()
    }
    return render(run.report(data, rivals, slices))


def check_two(labels: Array, source: str) -> None:
    """Refuse more than two classes: reports are about a positive and a negative class."""
    import numpy as np

    from auctor.core.errors import DataError

    count = np.unique(labels).size
    if count > 2:
        raise DataError(
            WHO,
            needs="two classes to write a report",
            got=f"{count} in {source}",
            todo="Drop {option}.",
            option="report",
        )
