"""``auctor demo``: log-loss against AUC training on rare card fraud, in seconds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from auctor.cli.options import examples

if TYPE_CHECKING:
    from rich.table import Table

    from auctor.cli.demo_data import Split
    from auctor.reports import Candidate, ReportInfo

WHO = "auctor demo"


class Contender(NamedTuple):
    """A model of the demo; the first one is looked at, the last one is the baseline."""

    name: str
    metric: str
    surrogate: str


CONTENDERS = (
    Contender("AUC hinge", "auc", "hinge"),
    Contender("AUC square", "auc", "square"),
    Contender("log-loss", "log_loss", "logistic"),
)


@examples("auctor demo", "auctor demo --report fraud.html --seed 1 --json")
def demo(
    report: Annotated[
        Path, typer.Option(help="Where to write the HTML report.", show_default=True)
    ] = Path("auctor-demo.html"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the generated data.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON instead of a table.")
    ] = False,
) -> None:
    """Train log-loss and AUC models on generated card fraud and compare them."""
    from rich.console import Console

    from auctor.core.files import check_destination, write_text
    from auctor.reports import plain, render

    check_destination(report, who=WHO)
    errors = Console(stderr=True)
    with errors.status("Starting") as status:
        info = run_demo(seed=seed, on_stage=lambda stage: status.update(stage))
    write_text(report, render(info), who=WHO)
    if as_json:
        numbers = {**plain(info), "report": str(report)}
        typer.echo(json.dumps(numbers, indent=2, allow_nan=False))
    else:
        _print(info, report)


def run_demo(
    *, n_rows: int | None = None, seed: int = 0, on_stage: Callable[[str], None] | None = None
) -> ReportInfo:
    """Generate the data, train every contender and measure it on the test half.

    Parameters
    ----------
    n_rows : int, optional
        Size of the data set, 60,000 by default.
    seed : int
        Of the data and the split.
    on_stage : callable, optional
        Told what is going on.
    """
    import auctor
    from auctor.cli.demo_data import N_ROWS, card_payments, split_half
    from auctor.reports import DataInfo, build_report
    from auctor.reports.build import compare

    tell = on_stage or (lambda stage: None)
    tell("Generating payments")
    size = N_ROWS if n_rows is None else n_rows
    split = split_half(*card_payments(size, seed), seed)
    candidates = []
    for contender in CONTENDERS:
        tell(f"Training {contender.name} (the first run also compiles)")
        candidates.append(_train(contender, split))
    tell("Measuring")
    info = build_report(
        "auctor demo: card fraud, generated",
        split.test_y,
        candidates,
        data=DataInfo(
            train_rows=split.train_y.size,
            train_positives=int(split.train_y.sum()),
            test_rows=split.test_y.size,
            test_positives=int(split.test_y.sum()),
            n_columns=len(split.columns),
            positive="fraud",
            negative="honest",
        ),
        command=f"auctor demo --seed {seed}",
        seed=seed,
        version=auctor.__version__,
    )
    *others, baseline = candidates
    return info._replace(
        comparisons=tuple(compare(split.test_y, other, baseline) for other in others)
    )


def _train(contender: Contender, split: Split) -> Candidate:
    """A fitted model, scored on the test rows."""
    from auctor import MetricClassifier, metrics
    from auctor.core.result import Solution
    from auctor.reports import Candidate

    def fit() -> MetricClassifier:
        model = MetricClassifier(contender.metric, surrogate=contender.surrogate)
        return model.fit(split.train_X, split.train_y)

    # The first call of a kernel compiles it, or loads it; the seconds below are of the fit alone.
    fit()
    start = time.perf_counter()
    model = fit()
    seconds = time.perf_counter() - start
    solution = model.solution_
    assert isinstance(solution, Solution)  # two classes, one problem
    return Candidate(
        contender.name,
        model.decision_function(split.test_X),
        solution=solution,
        seconds=seconds,
        train_auc=metrics.auc(split.train_y, model.decision_function(split.train_X)),
        feature_names=split.columns,
    )


def _print(info: ReportInfo, report: Path) -> None:
    from rich.console import Console

    from auctor.reports.text import GAP_MEANING, describe_comparison, describe_data

    console = Console(highlight=False)
    console.width = max(console.width, 80)  # on a narrow terminal wrap, rather than cut numbers
    console.print(f"Card payments, generated (seed {info.seed}). {describe_data(info.data)}")
    console.print()
    console.print(_table(info))
    console.print()
    for comparison in info.comparisons:
        console.print(describe_comparison(comparison))
    console.print(f"Another draw of the data: auctor demo --seed {info.seed + 1}")
    console.print(GAP_MEANING)
    console.print(f"Report: {report}", soft_wrap=True, markup=False)


def _table(info: ReportInfo) -> Table:
    from rich import box
    from rich.table import Table

    from auctor.reports.text import gap_text

    table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
    table.add_column("trained on", no_wrap=True)
    for heading in (
        "train\nAUC",
        "test AUC\n[95 % interval]",
        "test\nPRBEP",
        "test\nF1",
        "certified\ngap",
        "seconds",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for model in info.models:
        h = model.headline
        table.add_row(
            model.name,
            f"{model.train_auc:.3f}",
            f"{h.auc.value:.3f} \\[{h.auc.low:.3f}, {h.auc.high:.3f}]",
            f"{h.prbep.value:.3f}",
            f"{h.fbeta.value:.3f}",
            gap_text(model.fit),
            f"{model.seconds:.2f}",
        )
    return table
