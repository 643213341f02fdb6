"""Group lasso (groups of ten columns, weights sqrt(size)) with squared and logistic loss."""

from __future__ import annotations

from benchmarks.grid import Grid, Spec, run_grid
from benchmarks.problems.forms import Form
from benchmarks.run import Settings

name = "group"
SETS = ("madelon", "leukemia", "dense100k")
LOSSES = ("squared", "logistic")
DIVIDE = (10.0, 100.0)
SIZE = 10
STEMS = ("skglm", "adelie", "celer")


def specs() -> list[Spec]:
    """Every set, loss and strength."""
    return [
        Spec(
            f"{data}/{loss}/max:{divide:g}", data, Form(loss, "group", group=SIZE), divide,
            rank=rank, quick=divide == 10.0 and data == "madelon",
        )
        for data in SETS
        for loss in LOSSES
        for rank, divide in enumerate(DIVIDE)
    ]  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Race everyone."""
    title = f"group lasso, groups of {SIZE} columns, no intercept, strength = max / 10, 100"
    return run_grid(Grid(title, specs(), stems=STEMS), settings)
