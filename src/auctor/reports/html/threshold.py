"""The threshold panel of a report: a slider with scripts, a table without."""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

from auctor.evaluate.info import ModelInfo, ReportInfo
from auctor.metrics.error import Confusion
from auctor.reports.html.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from auctor.reports.text import beta_name, number, short

#: Columns of the exported table.
EXPORTED = (
    "threshold", "true_positives", "false_positives", "false_negatives", "true_negatives",
    "precision", "recall", "fbeta", "false_positive_rate", "flagged", "cost",
)  # fmt: skip
#: Largest number of rows of the table of thresholds in the page.
MAX_ROWS = 20


class Cell(NamedTuple):
    """A cell of the confusion matrix.

    Parameters
    ----------
    name : str
        tp, fn, fp or tn.
    rows : int
    share : float
        Percentage of the rows of its class.
    kind : {"right", "wrong"}
    meaning : str
    """

    name: str
    rows: int
    share: float
    kind: str
    meaning: str


class Derived(NamedTuple):
    """A metric that is computed from the confusion matrix.

    Parameters
    ----------
    title : str
    value : float
    text : str
        The rounded value.
    name : str
        Name of the metric in the script.
    """

    title: str
    value: float
    text: str
    name: str


class Panel(NamedTuple):
    """The panel at the model's threshold.

    Parameters
    ----------
    threshold : float
    own, last : int
        Positions on the slider of the threshold and of the slider's end.
    matrix : tuple of (str, tuple of Cell)
        The classes and their cells of the confusion matrix.
    readings : tuple of Derived
    rows : list of tuple of str
        A table of some thresholds.
    """

    threshold: float
    own: int
    last: int
    matrix: tuple[tuple[str, tuple[Cell, Cell]], ...]
    readings: tuple[Derived, ...]
    rows: list[tuple[str, ...]]


def numbers(model: ModelInfo) -> dict[str, object]:
    """The numbers for the script: thresholds, counts above each, and the edges of the charts."""
    t = model.thresholds
    return {
        "threshold": t.threshold,
        "tp": t.tp,
        "fp": t.fp,
        "positives": t.tp[0] + t.fn[0],
        "negatives": t.fp[0] + t.tn[0],
        "chosen": t.own,
        "exported": EXPORTED,
        "frame": [LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM],
    }


def panel(info: ReportInfo) -> Panel:
    """The panel: slider, confusion matrix and derived metrics at the model's threshold."""
    model, data = info.models[0], info.data
    t = model.thresholds
    c = Confusion(t.tp[t.own], t.fp[t.own], t.fn[t.own], t.tn[t.own])
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
                Cell("tn", int(c.tn), 100 * c.tn / negatives, "right", "correctly not flagged"),
            ),
        ),
    )
    last = len(t.threshold) - 1
    return Panel(t.threshold[t.own], t.own, last, matrix, _derived(c, info), _rows(model))


def threshold_csv(info: ReportInfo) -> str:
    """The thresholds of the slider as CSV text, with counts and derived metrics.

    Precision is empty if no row is flagged. The page exports the same table, with the beta and the
    costs that are entered there.
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


def _derived(c: Confusion, info: ReportInfo) -> tuple[Derived, ...]:
    """The metrics of the panel at one threshold."""
    fbeta, cost, flagged = _computed(c, info)
    return (
        Derived("Precision", c.precision, number(c.precision), "precision"),
        Derived("Recall", c.tpr, number(c.tpr), "recall"),
        Derived(beta_name(info.beta), fbeta, number(fbeta), "fbeta"),
        Derived("False positive rate", c.fpr, number(c.fpr, ".4f"), "fpr"),
        Derived("Rows flagged", flagged, f"{flagged:.2%}", "flagged"),
        Derived("Expected cost per row", cost, short(cost), "cost"),
    )


def _rows(model: ModelInfo) -> list[tuple[str, ...]]:
    """Rows of the table of thresholds: evenly spaced ones, and that of the model."""
    t = model.thresholds
    last = len(t.threshold) - 1
    count = min(MAX_ROWS, last + 1)
    picked = {round(k * last / (count - 1)) for k in range(count)} | {t.own}
    rows = []
    for k in sorted(picked):
        c = Confusion(t.tp[k], t.fp[k], t.fn[k], t.tn[k])
        rows.append(
            (
                short(t.threshold[k]) + (" (model)" if k == t.own else ""),
                *(f"{int(n):,}" for n in c),
                number(c.precision),
                number(c.tpr),
                number(c.fpr, ".4f"),
            )
        )
    return rows
