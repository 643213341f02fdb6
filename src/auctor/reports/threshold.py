"""The threshold panel: what each cut of the scores means, live with the script, fixed without."""

from __future__ import annotations

from html import escape

from auctor.metrics.error import Confusion
from auctor.reports.info import ModelInfo, ReportInfo
from auctor.reports.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from auctor.reports.tables import Html, details, exact, table
from auctor.reports.text import beta_name, number, short

#: Rows of the table for those who cannot use the slider.
MAX_ROWS = 20


def numbers(model: ModelInfo) -> dict[str, object]:
    """What the script needs: the cuts, the counts above each and the edges of the charts."""
    t = model.thresholds
    return {
        "threshold": t.threshold,
        "tp": t.tp,
        "fp": t.fp,
        "positives": t.tp[0] + t.fn[0],
        "negatives": t.fp[0] + t.tn[0],
        "chosen": t.chosen,
        "frame": [LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM],
    }


def panel(info: ReportInfo) -> str:
    """Slider, costs, confusion matrix and what is computed from it, at the model's threshold."""
    model, data = info.models[0], info.data
    t = model.thresholds
    c = Confusion(t.tp[t.chosen], t.fp[t.chosen], t.fn[t.chosen], t.tn[t.chosen])
    own = t.threshold[t.chosen]
    names = (data.positive or "positive", data.negative or "negative")
    return (
        "<p>A row is flagged, that is predicted positive, when its score is above the threshold. "
        f"The model's own threshold is {exact(own, short(own))}.</p>"
        f'<div class="panel">{_controls(info)}<div class="outcome">{_matrix(c, names)}'
        f"{_readings(c, info)}</div></div>" + details("Other thresholds in numbers", _table(model))
    )


def _controls(info: ReportInfo) -> str:
    t = info.models[0].thresholds
    return (
        '<div class="controls live">'
        '<label for="cut">Threshold <output id="cut-value" for="cut">'
        f"{short(t.threshold[t.chosen])}</output></label>"
        f'<input type="range" id="cut" min="0" max="{len(t.threshold) - 1}" step="1" '
        f'value="{t.chosen}" autocomplete="off">'
        '<div class="buttons"><button type="button" id="to-model">Model\'s threshold</button>'
        '<button type="button" id="to-fbeta">Highest F-beta</button>'
        '<button type="button" id="to-cost">Lowest cost</button></div>'
        '<div class="inputs">'
        f"{_input('beta', 'Beta of F-beta', info.beta)}"
        f"{_input('cost-fp', 'Cost of a false alarm', info.costs[0])}"
        f"{_input('cost-fn', 'Cost of a miss', info.costs[1])}"
        "</div>"
        f'<p class="note">The slider stops at {len(t.threshold):,} thresholds; the counts at '
        "each are exact.</p></div>"
    )


def _input(name: str, label: str, value: float) -> str:
    return (
        f'<label for="{name}">{escape(label)}<input type="number" id="{name}" min="0" step="any" '
        f'inputmode="decimal" autocomplete="off" value="{value:g}"></label>'
    )


def _matrix(c: Confusion, names: tuple[str, str]) -> str:
    """Confusion matrix; shades are parts of the class."""
    positive, negative = map(escape, names)
    classes = (
        (positive, (("tp", c.tp, "right"), ("fn", c.fn, "wrong"))),
        (negative, (("fp", c.fp, "wrong"), ("tn", c.tn, "right"))),
    )
    meaning = {"tp": "found", "fn": "missed", "fp": "false alarms", "tn": "rightly left"}
    rows = ""
    for title, cells in classes:
        total = sum(count for _, count, _ in cells)
        rows += f'<tr><th scope="row">{title}</th>'
        for name, count, kind in cells:
            share = 100 * count / total
            rows += (
                f'<td class="{kind}" id="cell-{name}" style="--share:{share:.1f}%">'
                f"{exact(int(count), f'{int(count):,}', name)}<small>{meaning[name]}</small></td>"
            )
        rows += "</tr>"
    return (
        '<table class="confusion"><caption>Test rows by class</caption><thead><tr><td></td>'
        '<th scope="col">flagged</th><th scope="col">not flagged</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _readings(c: Confusion, info: ReportInfo) -> str:
    rows = sum(c)
    share = 1.0 / (1.0 + info.beta * info.beta)
    below = c.tp + (1.0 - share) * c.fn + share * c.fp
    fbeta = c.tp / below if c.tp else 0.0
    cost = (info.costs[0] * c.fp + info.costs[1] * c.fn) / rows
    flagged = c.tp + c.fp
    entries = (
        ("Precision", exact(c.precision, number(c.precision), "precision"), ""),
        ("Recall", exact(c.tpr, number(c.tpr), "recall"), ""),
        (beta_name(info.beta), exact(fbeta, number(fbeta), "fbeta"), "fbeta-name"),
        ("False positive rate", exact(c.fpr, number(c.fpr, ".4f"), "fpr"), ""),
        ("Rows flagged", exact(flagged / rows, f"{flagged / rows:.2%}", "flagged"), ""),
        ("Expected cost per row", exact(cost, short(cost), "cost"), ""),
    )
    items = "".join(
        f"<div><dt{_id(name)}>{escape(title)}</dt><dd>{value}</dd></div>"
        for title, value, name in entries
    )
    return f'<dl class="readings">{items}</dl>'


def _id(name: str) -> str:
    return f' id="{name}"' if name else ""


def _table(model: ModelInfo) -> Html:
    """Some of the slider's positions, the model's among them."""
    t = model.thresholds
    last = len(t.threshold) - 1
    count = min(MAX_ROWS, last + 1)
    picked = {round(k * last / (count - 1)) for k in range(count)} | {t.chosen}
    rows = []
    for k in sorted(picked):
        c = Confusion(t.tp[k], t.fp[k], t.fn[k], t.tn[k])
        rows.append(
            (
                short(t.threshold[k]) + (" (model)" if k == t.chosen else ""),
                *(f"{int(n):,}" for n in c),
                number(c.precision),
                number(c.tpr),
                number(c.fpr, ".4f"),
            )
        )
    head = (
        "Threshold",
        "Found",
        "False alarms",
        "Missed",
        "Rightly left",
        "Precision",
        "Recall",
        "False positive rate",
    )
    return table(head, rows)
