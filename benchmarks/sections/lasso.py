"""Lasso and elastic net without intercept, labels as targets, to 1e-4 and 1e-6."""

from __future__ import annotations

from benchmarks.grid import Grid, Spec, run_grid
from benchmarks.problems.forms import Form
from benchmarks.run import Settings

name = "lasso"
SETS = ("news20", "madelon", "leukemia", "rcv1-like", "dense100k")
FORMS = {
    "lasso": Form("squared", "l1"),
    "elastic net": Form("squared", "elastic_net", l1_ratio=0.5),
}
DIVIDE = (10.0, 100.0)
STEMS = ("sklearn_cd", "skglm", "celer", "adelie", "glmnet", "cyanure", "snapml")


def specs() -> list[Spec]:
    """Every set, penalty and strength."""
    return [
        Spec(
            f"{data}/{word}/max:{divide:g}", data, form, divide, rank=rank,
            quick=divide == 100.0 and data == "leukemia",
        )
        for data in SETS
        for word, form in FORMS.items()
        for rank, divide in enumerate(DIVIDE)
    ]  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Race everyone."""
    title = "lasso and elastic net (l1_ratio 0.5), no intercept, strength = max / 10, 100"
    return run_grid(Grid(title, specs(), stems=STEMS), settings)
