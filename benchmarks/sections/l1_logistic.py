"""L1 logistic regression without intercept at three strengths, to 1e-4 and 1e-6."""

from __future__ import annotations

from benchmarks.grid import Grid, Spec, run_grid
from benchmarks.problems.forms import Form
from benchmarks.run import Settings

name = "l1_logistic"
SETS = (
    "a9a", "w8a", "ijcnn1", "news20", "sector", "madelon", "colon-cancer", "leukemia", "rcv1-like",
    "dense100k",
)  # fmt: skip
DIVIDE = (10.0, 100.0, 1000.0)


def specs() -> list[Spec]:
    """Every set and strength."""
    form = Form("logistic", "l1")
    return [
        Spec(
            f"{data}/max:{divide:g}", data, form, divide, rank=rank,
            quick=divide == 100.0 and data in ("a9a", "leukemia"),
        )
        for data in SETS
        for rank, divide in enumerate(DIVIDE)
    ]  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Race everyone."""
    title = "l1 logistic, no intercept, strength = max / 10, 100, 1000, to 1e-4 and 1e-6"
    return run_grid(Grid(title, specs()), settings)
