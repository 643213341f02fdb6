"""The report that ``auctor train`` writes: baselines on the same rows, slices of a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from auctor.cli.options import Reading, read_words

if TYPE_CHECKING:
    from auctor.core.types import Array
    from auctor.training.run import Run

WHO = "auctor train"

Baselines = Annotated[
    bool,
    typer.Option(
        help="Whether the report compares with a constant, log-loss and boosted trees, which are "
        "trained on the same rows for it."
    ),
]


def slice_words(
    source: str, reading: Reading, slices: tuple[str, ...], report: Path | None
) -> dict[str, list[str]]:
    """The columns to show metrics by, as text; refuses, before any work, what is not there."""
    from auctor.core.errors import ParameterError

    if slices and report is None:
        raise ParameterError(
            WHO,
            needs="--report with a file to show metrics by a column",
            got="--slice alone",
            todo="Pass both, or neither.",
        )
    return read_words(source, reading, slices, who=WHO) if slices else {}


def page_of(run: Run, data: str, words: dict[str, list[str]], *, compared: bool) -> str:
    """The report of a run as HTML.

    Parameters
    ----------
    run : Run
    data : str
        Names the data.
    words : dict
        Columns to show metrics by, as text of every row of the file that is measured on.
    compared : bool
        Whether to train baselines.
    """
    from auctor.estimators.baselines import baselines
    from auctor.reports import render

    rivals = []
    if compared and run.parts.held_out:
        train, hit, test = run.halves()
        rivals = baselines(run.model, train, hit, test, seed=run.seed, on_stage=run.progress.stage)
    rows = run.parts.test_rows
    slices = {
        name: column if rows is None else [column[k] for k in rows.tolist()]
        for name, column in words.items()
    }
    return render(run.report(data, rivals, slices))


def check_two(labels: Array, source: str) -> None:
    """Refuse more than two classes, which no report is about."""
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
