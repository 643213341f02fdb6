"""L2 logistic, squared hinge and hinge without intercept at C = 0.01, 1, 100, to 1e-4 and 1e-6."""

from __future__ import annotations

from benchmarks.grid import Grid, Spec, run_grid
from benchmarks.problems.forms import Form
from benchmarks.run import Settings
from benchmarks.sections.l1_logistic import SETS

name = "l2"
LOSSES = ("logistic", "squared_hinge", "hinge")
#: In a first pass the middle comes first.
CS = (0.01, 1.0, 100.0)
RANK = {1.0: 0, 100.0: 1, 0.01: 2}
STEMS = ("sklearn_liblinear", "liblinear", "snapml", "cyanure", "sklearn_newton")


def specs() -> list[Spec]:
    """Every set, loss and C."""
    return [
        Spec(
            f"{data}/{loss}/C={C:g}",
            data,
            Form(loss, "l2"),
            C=C,
            rank=RANK[C],
            quick=C == 1.0 and data in ("ijcnn1", "sector"),
        )
        for data in SETS
        for loss in LOSSES
        for C in CS
    ]


def run(settings: Settings) -> dict[str, object]:
    """Race everyone."""
    title = "l2 with logistic, squared hinge and hinge loss, no intercept, C = 0.01, 1, 100"
    return run_grid(Grid(title, specs(), stems=STEMS), settings)
