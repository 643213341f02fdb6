"""Paths of 100 strengths from max to max/100: seconds for the whole path, every point to 1e-4."""

from __future__ import annotations

from benchmarks.grid import Grid, Spec, run_grid
from benchmarks.problems.forms import Form
from benchmarks.run import Settings

name = "path"
LOGISTIC = ("a9a", "ijcnn1", "news20", "madelon", "leukemia", "rcv1-like", "dense100k")
SQUARED = ("leukemia", "rcv1-like")
POINTS, QUICK_POINTS, DIVIDE = 100, 20, 100.0
STEMS = ("glmnet", "adelie", "celer", "skglm", "sklearn_cd")


def specs(points: int) -> list[Spec]:
    """Logistic on most sets, least squares on two."""
    pairs = [(d, "logistic") for d in LOGISTIC] + [(d, "squared") for d in SQUARED]
    return [
        Spec(
            f"{data}/{loss}", data, Form(loss, "l1"), DIVIDE, points=points, rank=rank % 3,
            quick=data == "leukemia",
        )
        for rank, (data, loss) in enumerate(pairs)
    ]  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Race the path functions."""
    points = QUICK_POINTS if settings.quick else POINTS
    title = f"l1 path of {points} strengths from max to max/{DIVIDE:g}, every point to 1e-4"
    grid = Grid(title, specs(points), (1e-4,), limit=2.0, mean_limit=2.0, stems=STEMS, repeats=2)
    return run_grid(grid, settings)
