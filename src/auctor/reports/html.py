"""One self-contained HTML page from a report's numbers: no network, readable without scripts."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from html import escape
from importlib import resources
from string import Template

from auctor.reports import figures, threshold
from auctor.reports.info import ColumnInfo, Feature, ModelInfo, ReportInfo, Weights
from auctor.reports.intervals import DRAWS, Estimate
from auctor.reports.tables import Html, details, exact, table
from auctor.reports.text import (
    GAP_MEANING,
    beta_name,
    describe_comparison,
    describe_data,
    gap_text,
    number,
    short,
)

#: Most columns of the data that are listed.
MAX_COLUMNS = 200

PAGE = Template(
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="icon" href="data:,">
<style>$style</style>
</head>
<body>
<header>
<h1>$title</h1>
<p>$data</p>
</header>
<main>
$sections
</main>
<footer><p>auctor $version, seed $seed.</p></footer>
<script type="application/json" id="numbers">$numbers</script>
<script>$script</script>
</body>
</html>
"""
)

READING = """
<p>AUC is the share of (positive, negative) pairs in the right order. Average precision is the
precision averaged over recall. PRBEP is the precision when as many rows are flagged as there are
positives. $fbeta, precision and recall are taken at the model's threshold.</p>
<p>Intervals are 95&nbsp;% and speak of new rows with the same share of positives: DeLong's for AUC,
Wilson's for precision and recall, a stratified bootstrap of $draws, with a fixed seed, for the
others. The test of two AUCs is DeLong's for paired rows.</p>
<p>$gap_meaning Seconds are those of the fit. The distance to the optimum is each iterate's
objective above the lower bound that the final gap proves.</p>
"""


def render(info: ReportInfo) -> str:
    """The page as text.

    Exact values stand in the ``value`` attribute of each ``<data>`` element beside the rounded
    text.
    """
    script = _asset("report.js")
    sections = (
        _warnings(info),
        _headline(info.models[0]),
        _models(info),
        _section("threshold", "Choose a threshold", threshold.panel(info)),
        _curves(info),
        _features(info.models[0]),
        _convergence(info),
        _path(info),
        _data(info),
        _section("reading", "Reading the numbers", _reading(info)),
        _command(info),
    )
    return PAGE.substitute(
        policy=_policy(script),
        title=escape(info.title),
        style=_asset("report.css"),
        data=escape(describe_data(info.data)),
        sections="\n".join(section for section in sections if section),
        version=escape(info.version),
        seed=info.seed,
        numbers=embed(threshold.numbers(info.models[0])),
        script=script,
    )


def embed(value: object) -> str:
    r"""JSON in which no text can end the script element around it.

    Examples
    --------
    >>> embed({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _asset(name: str) -> str:
    return resources.files("auctor.reports").joinpath(name).read_text(encoding="utf-8")


def _policy(script: str) -> str:
    """What the page may load: its own script and style, nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )


def _section(name: str, title: str, content: str) -> str:
    if not content:
        return ""
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{escape(title)}</h2>\n{content}\n</section>'
    )


def _warnings(info: ReportInfo) -> str:
    if not info.warnings:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in info.warnings)
    return f'<aside class="warnings" aria-label="Warnings"><ul>{items}</ul></aside>'


def _headline(model: ModelInfo) -> str:
    h = model.headline
    at = f"at threshold {short(h.threshold)}"
    cards = (
        _card("AUC", "pairs in the right order", h.auc),
        _card("Average precision", "over all recalls", h.average_precision),
        _card("PRBEP", "precision = recall", h.prbep),
        _card(beta_name(h.beta), at, h.fbeta),
        _card("Precision", at, h.precision),
        _card("Recall", at, h.recall),
    )
    return _section(
        "headline", f"Model: {model.name}", f'<div class="cards">{"".join(cards)}</div>'
    )


def _card(name: str, hint: str, found: Estimate) -> str:
    """A number, its interval in words and as a bar from 0 to 1."""
    interval = f"{exact(found.low, number(found.low))} to {exact(found.high, number(found.high))}"
    bar = f"left:{100 * found.low:.1f}%;width:{100 * (found.high - found.low):.1f}%"
    dot = f'<b style="left:{100 * found.value:.1f}%"></b>' if math.isfinite(found.value) else ""
    return (
        f'<div class="card" title="{escape(found.method)}"><h3>{escape(name)}</h3>'
        f'<p class="value">{exact(found.value, number(found.value))}</p>'
        f'<p class="interval">{interval}</p>'
        f'<div class="meter" aria-hidden="true"><i style="{bar}"></i>{dot}</div>'
        f'<p class="hint">{escape(hint)}</p></div>'
    )


def _models(info: ReportInfo) -> str:
    head = (
        "Model",
        "Train AUC",
        "Test AUC",
        "95 % interval",
        "Average precision",
        "PRBEP",
        beta_name(info.beta),
        "Certified gap",
        "Objective",
        "Non-zeros",
        "Seconds",
        "Solver",
        "Iterations",
    )
    rows = [_model_row(model, k) for k, model in enumerate(info.models)]
    compared = "\n".join(
        f"<p>{escape(describe_comparison(comparison))}</p>" for comparison in info.comparisons
    )
    title = "Models" if len(info.models) > 1 else "The fit"
    status = ""
    fit = info.models[0].fit
    if fit is not None:
        status = f'<p class="note">{escape(fit.status)}</p>'
    return _section("models", title, table(head, rows, css="models") + compared + status)


def _model_row(model: ModelInfo, style: int) -> list[str]:
    h, fit, w = model.headline, model.fit, model.weights
    name = Html(figures.key(f"line {figures.style(style)}") + escape(model.name))
    interval = Html(f"{_number(h.auc.low)} to {_number(h.auc.high)}")
    return [
        name,
        _number(model.train_auc),
        _number(h.auc.value),
        interval,
        _number(h.average_precision.value),
        _number(h.prbep.value),
        _number(h.fbeta.value),
        exact(fit.gap, gap_text(fit)) if fit else "–",
        _number(fit.objective, ".4g") if fit else "–",
        f"{w.nonzeros:,} of {w.total:,}" if w else "–",
        _number(model.seconds, ".2f"),
        fit.solver if fit else "–",
        _number(fit.n_iter, "d") if fit else "–",
    ]


def _number(value: float, form: str = ".3f") -> Html:
    return exact(value, number(value, form))


def _curves(info: ReportInfo) -> str:
    first, data = info.models[0], info.data
    drawn = [
        *figures.ranking(info.models),
        figures.histogram(first, data.positive or "positive", data.negative or "negative"),
        figures.calibration(first),
        figures.lift(first),
    ]
    return _section("curves", "Curves on the test rows", _grid(drawn))


def _grid(drawn: list[str]) -> str:
    return '<div class="figures">\n' + "\n".join(drawn) + "\n</div>" if drawn else ""


def _features(model: ModelInfo) -> str:
    w = model.weights
    if w is None:
        return ""
    if not w.top:
        return _section("features", "Features", "<p>Every weight is zero.</p>")
    most = abs(w.top[0].weight)
    rows = [_feature_row(feature, most) for feature in w.top]
    return _section(
        "features",
        "Features",
        f"<p>{escape(_describe_weights(w))}</p>"
        + table(("Feature", "Weight", "Towards"), rows, css="features"),
    )


def _describe_weights(w: Weights) -> str:
    shown = "" if len(w.top) == w.nonzeros else f"; here are the {len(w.top)} largest"
    return (
        f"{w.nonzeros:,} of {w.total:,} weights are not zero{shown}. A weight multiplies its "
        "column as the model gets it, so that sizes compare only among columns of one scale."
    )


def _feature_row(feature: Feature, most: float) -> list[str]:
    """Name, weight and a bar to the left or the right of the middle."""
    side = "positive" if feature.weight > 0 else "negative"
    width = 50.0 * abs(feature.weight) / most
    bar = (
        f'<div class="bar"><i class="{side}" style="width:{width:.1f}%"></i></div>'
        f'<span class="hidden">{side}</span>'
    )
    return [feature.name, exact(feature.weight, f"{feature.weight:+.4g}"), Html(bar)]


def _convergence(info: ReportInfo) -> str:
    return _section("convergence", "Convergence", _grid(figures.convergence(info.models)))


def _path(info: ReportInfo) -> str:
    if info.path is None:
        return ""
    path = info.path
    columns = (path.strengths, path.nonzeros, path.score_mean, path.score_se)
    rows = [
        [short(cell) for cell in row] + ["chosen" if k == path.chosen else ""]
        for k, row in enumerate(zip(*columns, strict=True))
    ]
    head = ("Strength", "Non-zero weights", path.metric, "Standard error", "")
    content = _grid(figures.path(path)) + details("The path in numbers", table(head, rows))
    return _section("path", "Strengths tried", content)


def _data(info: ReportInfo) -> str:
    data = info.data
    rows = [
        (name, f"{count:,}", f"{positives:,}", f"{positives / count:.2%}")
        for name, count, positives in (
            ("Training", data.train_rows, data.train_positives),
            ("Test", data.test_rows, data.test_positives),
        )
        if count
    ]
    source = f"<p>Read from <code>{escape(data.source)}</code>.</p>" if data.source else ""
    sizes = table(("Part", "Rows", "Positives", "Share"), rows)
    return _section("data", "Data", source + sizes + _columns(info.columns))


def _columns(columns: tuple[ColumnInfo, ...]) -> str:
    if not columns:
        return ""
    rows = [
        (
            c.name,
            c.kind,
            f"{c.missing:,}",
            "–" if c.distinct is None else f"{c.distinct:,}",
            *map(short, (c.low, c.mean, c.high)),
        )
        for c in columns[:MAX_COLUMNS]
    ]
    head = ("Column", "Kind", "Missing", "Distinct", "Least", "Mean", "Greatest")
    left = len(columns) - len(rows)
    more = f'<p class="note">{left:,} more columns are not listed.</p>' if left else ""
    return details(f"Columns ({len(columns):,})", table(head, rows) + more)


def _reading(info: ReportInfo) -> str:
    return Template(READING).substitute(
        fbeta=beta_name(info.beta),
        draws=f"{DRAWS} samples",
        gap_meaning=escape(GAP_MEANING),
    )


def _command(info: ReportInfo) -> str:
    if not info.command:
        return ""
    return _section(
        "command", "To reproduce", f'<pre class="command"><code>{escape(info.command)}</code></pre>'
    )
