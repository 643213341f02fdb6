"""One self-contained HTML page from a report's numbers: no network, no scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from string import Template

from auctor.reports.info import Comparison, DataInfo, ModelInfo, ReportInfo
from auctor.reports.svg import Line, chart, count_axis, power_axis, unit_axis

#: What the gap column means, for people who see it for the first time.
GAP_MEANING = (
    "The certified gap is a proof: no linear model with this loss and penalty has a training "
    "objective lower by more than the gap."
)

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #ffffff;
  --rule: #d9dee5; --s0: #4c6a92; --s1: #c2410c; --s2: #047857; --s3: #7c3aed; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7ebf0; --soft: #9aa6b5; --paper: #12161c;
  --rule: #2f3845; --s0: #8fb1de; --s1: #fb923c; --s2: #34d399; --s3: #c4b5fd; } }
@media print { :root { --ink: #000; --soft: #333; --paper: #fff; --rule: #ccc; --s0: #4c6a92;
  --s1: #c2410c; --s2: #047857; --s3: #7c3aed; } figure { break-inside: avoid; }
  table { font-size: .75rem; } .scroll { overflow: visible; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 74rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { max-width: 46rem; margin: .5rem 0; }
.soft, footer { color: var(--soft); font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem .35rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--rule); }
th { font-weight: 600; }
thead th { white-space: normal; vertical-align: bottom; }
th:first-child { text-align: left; }
.figures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); }
figure { margin: 0; }
figcaption { font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font-size: 11px; }
svg .axis { fill: var(--ink); font-size: 12px; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .chance { stroke: var(--soft); stroke-dasharray: 2 4; fill: none; }
svg .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .dot { stroke-width: 6; stroke-linecap: round; }
.s0 { stroke: var(--s0); } .s1 { stroke: var(--s1); stroke-dasharray: 7 3; }
.s2 { stroke: var(--s2); stroke-dasharray: 2 3; }
.s3 { stroke: var(--s3); stroke-dasharray: 9 3 2 3; }
.key { width: 2rem; height: .6rem; display: inline-block; vertical-align: middle;
  margin-right: .4rem; }
"""

PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<h1>$title</h1>
<p>$data</p>
<div class="scroll">
$table
</div>
<p>$gap_meaning</p>
$comparisons
<h2>Curves: test rows, and training</h2>
<div class="figures">
$figures
</div>
<h2>Reading the numbers</h2>
<p>AUC is the share of (positive, negative) pairs in the right order; its interval is DeLong's,
95&nbsp;%. PRBEP is the precision when as many rows are flagged as there are positives. F1 is
taken at the threshold that the model chose on the training rows. Seconds are those of the fit, with
compiled code already loaded. The last figure shows each iterate's objective above the lower bound
that the final gap proves.</p>
<footer><p>auctor $version, seed $seed.</p></footer>
</body>
</html>
"""
)

HEADINGS = (
    "Model",
    "Train AUC",
    "Test AUC",
    "95 % interval",
    "Test PRBEP",
    "Test F1",
    "Certified gap",
    "Objective",
    "Seconds",
    "Solver",
    "Iterations",
)


def render(info: ReportInfo) -> str:
    """The page as text.

    Exact values stand in the ``value`` attribute of each ``<data>`` element beside the rounded
    text.
    """
    return PAGE.substitute(
        title=escape(info.title),
        style=STYLE,
        data=escape(describe_data(info.data)),
        table=_table(info.models),
        gap_meaning=escape(GAP_MEANING),
        comparisons="\n".join(
            f"<p>{escape(describe_comparison(comparison))}</p>" for comparison in info.comparisons
        ),
        figures="\n".join(_figures(info.models)),
        version=escape(info.version),
        seed=info.seed,
    )


def describe_data(data: DataInfo) -> str:
    """One sentence on the sizes."""
    return (
        f"{data.train_rows:,} training rows with {data.train_positives:,} positives, "
        f"{data.test_rows:,} test rows with {data.test_positives:,} positives, "
        f"{data.n_columns} columns."
    )


def describe_comparison(comparison: Comparison) -> str:
    """One sentence on a difference and whether it may be chance.

    Examples
    --------
    >>> describe_comparison(Comparison("AUC hinge", "log-loss", 0.012, 0.004, 0.003))
    'AUC hinge against log-loss, test AUC: +0.012 (p = 0.003).'
    >>> describe_comparison(Comparison("AUC hinge", "log-loss", -0.002, 0.004, 0.6))
    'AUC hinge against log-loss, test AUC: -0.002 (p = 0.600): may well be chance.'
    """
    tail = ": may well be chance." if comparison.p_value >= 0.05 else "."
    p = "p < 0.001" if comparison.p_value < 0.001 else f"p = {comparison.p_value:.3f}"
    if math.isnan(comparison.p_value):
        p = "too few rows for a test"
    return (
        f"{comparison.name} against {comparison.baseline}, test AUC: "
        f"{comparison.difference:+.3f} ({p}){tail}"
    )


def gap_text(model: ModelInfo) -> str:
    """The gap in two digits, marked when it is no certificate."""
    return f"{model.gap:.1e}" + ("" if model.certified else " (not certified)")


def _table(models: Sequence[ModelInfo]) -> str:
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in HEADINGS)
    rows = "\n".join(_row(model, k) for k, model in enumerate(models))
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _row(model: ModelInfo, style: int) -> str:
    interval = f"{_number(model.auc_low)} to {_number(model.auc_high)}"
    cells = (
        _number(model.train_auc),
        _number(model.auc),
        interval,
        _number(model.prbep),
        _number(model.f1),
        _data(model.gap, gap_text(model)),
        _number(model.objective, ".4g"),
        _number(model.seconds, ".2f"),
        escape(model.solver),
        _number(model.n_iter, "d"),
    )
    name = f'<th scope="row">{_key(style)}{escape(model.name)}</th>'
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _number(value: float, form: str = ".3f") -> str:
    return _data(value, format(value, form))


def _data(value: float, text: str) -> str:
    return f'<data value="{value!r}">{escape(text)}</data>'


def _key(style: int) -> str:
    """A short piece of the line that stands for a model."""
    line = f'<line class="line {_style(style)}" x1="0" y1="5" x2="32" y2="5"/>'
    return f'<svg class="key" viewBox="0 0 32 10" aria-hidden="true">{line}</svg>'


def _style(index: int) -> str:
    return f"s{index % 4}"


def _figures(models: Sequence[ModelInfo]) -> list[str]:
    roc = [Line(m.name, *m.roc, k % 4) for k, m in enumerate(models)]
    pr = [Line(m.name, *m.precision_recall, k % 4) for k, m in enumerate(models)]
    solved = [
        Line(m.name, *m.convergence, k % 4) for k, m in enumerate(models) if m.convergence.passes
    ]
    most = max((max(line.x) for line in solved), default=1.0)
    excess = [value for line in solved for value in line.y]
    return [
        _figure(
            "ROC curve",
            chart(
                "ROC curve",
                roc,
                unit_axis("False positive rate"),
                unit_axis("True positive rate"),
                diagonal=True,
            ),
        ),
        _figure(
            "Precision and recall",
            chart("Precision and recall", pr, unit_axis("Recall"), unit_axis("Precision")),
        ),
        _figure(
            "Distance to the optimum, at most",
            chart(
                "Distance to the optimum, at most",
                solved,
                count_axis("Passes over the data", most),
                power_axis("Share of the starting objective", excess),
            ),
        ),
    ]


def _figure(caption: str, svg: str) -> str:
    return f"<figure>\n<figcaption>{escape(caption)}</figcaption>\n{svg}\n</figure>"
