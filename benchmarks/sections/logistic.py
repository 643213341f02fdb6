"""L2 logistic regression without intercept: seconds to relative suboptimality 1e-6."""

from __future__ import annotations

from benchmarks.grid import Grid, Spec, run_grid
from benchmarks.problems.forms import Form
from benchmarks.run import Settings, bar, geometric_mean
from benchmarks.verdicts import US, Cell, best_rival, known, packages

name = "logistic"
SETS = ("a9a", "a9a-standardised", "w8a", "ijcnn1", "news20", "rcv1-like", "dense100k")
CS = (1.0, 100.0)
EPS = "1e-6"
STEMS = ("sklearn_liblinear", "sklearn_newton")
#: Competitors and auctor may use one thread.
THREADS = (1,)


def specs() -> list[Spec]:
    """Every set and C."""
    return [
        Spec(f"{data}/C={C:g}", data, Form("logistic", "l2"), C=C, rank=rank, quick=C == 1.0)
        for data in SETS
        for rank, C in enumerate(CS)
    ]


def run(settings: Settings) -> dict[str, object]:
    """Race everyone; one bar for each cell and each competitor."""
    title = f"l2 logistic, no intercept, to relative suboptimality {EPS}"
    grid = Grid(title, specs(), accuracies=(float(EPS),), stems=STEMS, repeats=7)
    result = run_grid(grid, settings)
    return result | {"bars": _bars(result["cells"])}


def _bars(cells: dict[str, Cell]) -> list[dict[str, object]]:
    bars = []
    for label, cell in cells.items():
        ours, best = _seconds(cell, US), best_rival(cell, EPS, "wall", THREADS)
        ratio = best[1] / ours if best and ours else None
        bars.append(bar(f"best competitor / auctor on {label}", ratio, 1.0))
    for other in packages(cells)[1:]:
        pairs = [(_seconds(cell, other), _seconds(cell, US)) for cell in cells.values()]
        ratios = [theirs / ours for theirs, ours in pairs if theirs and ours]
        mean = geometric_mean(ratios) if ratios else None
        bars.append(bar(f"geometric mean, {other} / auctor", mean, 1.0))
    return bars


def _seconds(cell: Cell, package: str) -> float | None:
    return known(cell, EPS, package, "wall", THREADS)
