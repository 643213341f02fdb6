"""The threshold panel: what each cut of the scores means, live with the script, fixed without."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

from auctor.metrics.error import Confusion
from auctor.reports.html.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from auctor.reports.info import ModelInfo, ReportInfo
from auctor.reports.text import beta_name, number, short

#: Columns of the table as it is exported.
EXPORTED = (
    "threshold", "true_positives", "false_positives", "false_negatives", "true_negatives",
    "precision", "recall", "fbeta", "false_positive_rate", "flagged", "cost",
)  # fmt: skip
#: Rows of the table for those who cannot use the slider.
MAX_ROWS = 20


class Cell(NamedTuple):
    """A cell of the confusion matrix.

    Parameters
    ----------
    name : str
        tp, fn, fp or tn.
    rows : int
    share : float
        Percent of the rows of its class.
    kind : {"right", "wrong"}
    meaning : str
    """

    name: str
    rows: int
    share: float
    kind: str
    meaning: str


class Reading(NamedTuple):
    """A number that is computed from the confusion matrix.

    Parameters
    ----------
    title : str
    value : float
    text : str
        The value, rounded.
    name : str
        What the script calls it.
    """

    title: str
    value: float
    text: str
    name: str


class Panel(NamedTuple):
    """What the panel shows at the model's own threshold.

    Parameters
    ----------
    threshold : float
    chosen, last : int
        Position of the threshold on the slider, and that of the slider's end.
    matrix : tuple of (str, tuple of Cell)
        Names of the classes, and the cells of each.
    readings : tuple of Reading
    rows : list of tuple of str
        Other thresholds in numbers.
    """

    threshold: float
    chosen: int
    last: int
    matrix: tuple[tuple[str, tuple[Cell, Cell]], ...]
    readings: tuple[Reading, ...]
    rows: list[tuple[str, ...]]


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
        "exported": EXPORTED,
        "frame": [LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM],
    }


def panel(info: ReportInfo) -> Panel:
    """Slider, confusion matrix and what is computed from it, at the model's threshold."""
    model, data = info.models[0], info.data
    t = model.thresholds
    c = Confusion(t.tp[t.chosen], t.fp[t.chosen], t.fn[t.chosen], t.tn[t.chosen])
    positives, negatives = c.tp + c.fn, c.fp + c.tn
    matrix = (
        (
            data.positive or "positive",
            (
                Cell("tp", int(c.tp), 100 * c.tp / positives, "right", "found"),
                Cell("fn", int(c.fn), 100 * c.fn / positives, "wrong", "missed"),
            ),
        ),
        (
            data.negative or "negative",
            (
                Cell("fp", int(c.fp), 100 * c.fp / negatives, "wrong", "false alarms"),
                Cell("tn", int(c.tn), 100 * c.tn / negatives, "right", "rightly left"),
            ),
        ),
    )
    last = len(t.threshold) - 1
    return Panel(t.threshold[t.chosen], t.chosen, last, matrix, _readings(c, info), _rows(model))


def threshold_csv(info: ReportInfo) -> str:
    """The thresholds of the slider as CSV text: counts, and what is computed from them.

    Precision is empty where nothing is flagged. The page exports the same table, with the beta and
    the costs that are typed there.
    """
    t = info.models[0].thresholds
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(EXPORTED)
    for cut, *counts in zip(t.threshold, t.tp, t.fp, t.fn, t.tn, strict=True):
        c = Confusion(*counts)
        fbeta, cost, flagged = _computed(c, info)
        precision = c.precision if c.tp + c.fp else ""
        writer.writerow([cut, *counts, precision, c.tpr, fbeta, c.fpr, flagged, cost])
    return file.getvalue()


def _computed(c: Confusion, info: ReportInfo) -> tuple[float, float, float]:
    """F-beta, cost per row and share of the rows that are flagged."""
    rows = sum(c)
    # F-beta = tp / (tp + (1 - share) fn + share fp) with share = 1 / (1 + beta^2).
    share = 1.0 / (1.0 + info.beta * info.beta)
    fbeta = c.tp / (c.tp + (1.0 - share) * c.fn + share * c.fp) if c.tp else 0.0
    cost = (info.costs[0] * c.fp + info.costs[1] * c.fn) / rows
    return fbeta, cost, (c.tp + c.fp) / rows


def _readings(c: Confusion, info: ReportInfo) -> tuple[Reading, ...]:
    fbeta, cost, flagged = _computed(c, info)
    return (
        Reading("Precision", c.precision, number(c.precision), "precision"),
        Reading("Recall", c.tpr, number(c.tpr), "recall"),
        Reading(beta_name(info.beta), fbeta, number(fbeta), "fbeta"),
        Reading("False positive rate", c.fpr, number(c.fpr, ".4f"), "fpr"),
        Reading("Rows flagged", flagged, f"{flagged:.2%}", "flagged"),
        Reading("Expected cost per row", cost, short(cost), "cost"),
    )


def _rows(model: ModelInfo) -> list[tuple[str, ...]]:
    """Some thresholds, evenly spread, with the model's own among them."""
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
    return rows
