"""The figures of a report: a chart or a table, with its caption, legend and note."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auctor.core.markup import Markup
from auctor.evaluate.info import ModelInfo, PathInfo, ReportInfo
from auctor.reports.html.svg import Frame, count_axis, power_axis, range_axis, unit_axis
from auctor.reports.text import number, short


class NumberTable(NamedTuple):
    """A table of numbers, with a chart or without.

    Parameters
    ----------
    title : str
    head : tuple of str
    rows : sequence of tuple of str
    """

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Figure(NamedTuple):
    """A chart or a table under one caption.

    Parameters
    ----------
    caption : str
    svg : str
        The drawing; empty if the figure is the table.
    legend : sequence of (str, str)
        CSS class and name of each series; shown if there is more than one.
    note : str
    table : NumberTable, optional
    own : str
        The same drawing on a scale of its own, which a click shows in place of ``svg``.
    """

    caption: str
    svg: str = ""
    legend: Sequence[tuple[str, str]] = ()
    note: str = ""
    table: NumberTable | None = None
    own: str = ""


def curves(info: ReportInfo) -> list[Figure]:
    """The figures of the scores of the test rows."""
    first, data = info.models[0], info.data
    return [
        *ranking(info.models),
        histogram(first, data.positive or "positive", data.negative or "negative"),
        calibration(first),
        *lift(first),
    ]


def ranking(models: Sequence[ModelInfo]) -> list[Figure]:
    """ROC, precision-recall and gains curves of all models, with the first one's threshold."""
    first = models[0]
    tp, fp, fn, tn = counts = _chosen(first)
    rows, positives = sum(counts), tp + fn
    precision = tp / (tp + fp) if tp + fp else 0.0
    chance = positives / rows  # precision of a random ranking
    roc = Frame(unit_axis("False positive rate"), unit_axis("True positive rate"))
    pr = Frame(unit_axis("Recall"), unit_axis("Precision"))
    gains = Frame(unit_axis("Part of the rows, highest scores first"), unit_axis("Positives found"))
    legend = [(f"line {style(k)}", m.name) for k, m in enumerate(models)]
    # The ids of the dots let the script move them with the threshold slider.
    return [
        Figure(
            "ROC curve",
            roc.chart(
                "ROC curve",
                roc.line((0.0, 1.0), (0.0, 1.0), "chance"),
                *(roc.line(*m.roc, f"line {style(k)}") for k, m in _back_to_front(models)),
                roc.dot(fp / (fp + tn), tp / positives, "marker", id="at-roc"),
            ),
            legend,
        ),
        Figure(
            "Precision and recall",
            pr.chart(
                "Precision and recall",
                pr.line((0.0, 1.0), (chance, chance), "chance"),
                *(
                    pr.line(*m.precision_recall, f"line {style(k)}")
                    for k, m in _back_to_front(models)
                ),
                pr.dot(tp / positives, precision, "marker", id="at-pr"),
            ),
            legend,
        ),
        Figure(
            "Lift",
            gains.chart(
                "Lift",
                gains.line((0.0, 1.0), (0.0, 1.0), "chance"),
                *(gains.line(*m.gains, f"line {style(k)}") for k, m in _back_to_front(models)),
                gains.dot((tp + fp) / rows, tp / positives, "marker", id="at-gains"),
            ),
            legend,
        ),
    ]


def lift(model: ModelInfo) -> list[Figure]:
    """A table of the lift at the top of the ranking."""
    rows = [(f"{p.share:.0%}", number(p.recall, ".1%"), number(p.lift, ".2f")) for p in model.lift]
    title = "Lift at the top"
    table = NumberTable(title, ("Flagged: the top", "Positives found", "Lift"), rows)
    note = "Lift is the share found over the share flagged; 1 is chance."
    return [Figure(title, note=note, table=table)] if rows else []


def calibration(model: ModelInfo) -> Figure:
    """Rate of positives in bins of probabilities, or of scores if the model has none."""
    bins, of_probabilities = model.calibration
    what = "probability" if of_probabilities else "score"
    highest = max(b.high for b in bins)
    if of_probabilities:
        highest = max(highest, bins[-1].score)
        x = count_axis("Mean predicted probability", min(1.0, highest))
    else:
        x = range_axis("Mean score", bins[0].score, bins[-1].score)
    frame = Frame(x, count_axis("Rate of positives", min(1.0, highest)))
    # The diagonal, on which predictions and rates agree, as far as both axes reach.
    marks = (
        [frame.line((0.0, 1.0), (0.0, 1.0), "chance")] if of_probabilities and x.high >= 1.0 else []
    )
    if of_probabilities and x.high < 1.0:
        end = min(x.high, frame.y.high)
        marks = [frame.line((0.0, end), (0.0, end), "chance")]
    marks += [frame.whisker(b.score, b.low, b.high, "whisker s0") for b in bins]
    marks.append(frame.line([b.score for b in bins], [b.rate for b in bins], "line s0"))
    marks += [frame.dot(b.score, b.rate, "point") for b in bins]
    note = (
        "Bins of predicted probability. On the diagonal, predictions and rates are equal."
        if of_probabilities
        else "The model has no probabilities: this is the rate of positives in bins of its scores, "
        "which should increase."
    )
    rows = [
        (short(b.score), f"{b.rows:,}", f"{b.positives:,}", *map(number, (b.rate, b.low, b.high)))
        for b in bins
    ]
    head = (f"Mean {what}", "Rows", "Positives", "Rate", "from", "to")
    return Figure(
        "Calibration",
        frame.chart("Calibration", *marks),
        note=f"{note} Bars are Wilson's 95 % intervals.",
        table=NumberTable("Calibration in numbers", head, rows),
    )


def histogram(model: ModelInfo, positive: str, negative: str) -> Figure:
    """Histograms of the scores of each class, as shares of the class."""
    edges, positives, negatives = model.histogram
    shares = [[n / sum(counts) for n in counts] for counts in (negatives, positives)]
    frame = Frame(
        range_axis("Score", edges[0], edges[-1], tight=True),
        count_axis("Part of the class", max(map(max, shares))),
    )
    return Figure(
        "Scores by class",
        frame.chart(
            "Scores by class",
            frame.steps(edges, shares[0], "area negative"),
            frame.steps(edges, shares[1], "area positive"),
            frame.upright(
                model.headline.threshold,
                "cut",
                id="at-histogram",
                data_low=repr(frame.x.low),
                data_high=repr(frame.x.high),
            ),
        ),
        [("area negative", negative), ("area positive", positive)],
        "The vertical line is the threshold. The outermost bins include all rows beyond them.",
    )


def convergence(models: Sequence[ModelInfo]) -> list[Figure]:
    """Objective and gap of the first model, and the distance to the optimum of all models."""
    first = models[0]
    trace = first.convergence
    figures: list[Figure] = []
    gap = "certified gap" if first.fit is None or first.fit.certified else "optimality violation"
    legend = [("line s0", "objective"), ("line s1", gap)]
    sides = ((trace.passes, "Passes over the data"), (trace.seconds, "Seconds"))
    for along, title in sides if trace.passes else ():
        lines = [_finite(along, values) for values in (trace.objective, trace.gap)]
        frame = Frame(
            count_axis(title, max(along)), power_axis("Objective, gap", lines[0][1] + lines[1][1])
        )
        caption = f"Objective and gap against {title.split()[0].lower()}"
        marks = (frame.line(*line, f"line s{k}") for k, line in enumerate(lines) if line[0])
        figures.append(Figure(caption, frame.chart(caption, *marks), legend))
    # Bounds of the distance to the optimum exist only for certified gaps.
    solved = [(k, m) for k, m in enumerate(models) if m.convergence.excess]
    if solved:
        caption = "Distance to the optimum, at most"
        frame = Frame(
            count_axis("Passes over the data", max(m.convergence.passes[-1] for _, m in solved)),
            power_axis(
                "Share of the starting objective",
                [value for _, m in solved for value in m.convergence.excess],
            ),
        )
        marks = (
            frame.line(m.convergence.passes, m.convergence.excess, f"line {style(k)}")
            for k, m in reversed(solved)
        )
        legend = [(f"line {style(k)}", m.name) for k, m in solved]
        figures.append(Figure(caption, frame.chart(caption, *marks), legend))
    return figures + _metric_steps(first)


def path(info: PathInfo) -> list[Figure]:
    """Number of nonzero weights and cross-validated score along the strengths."""
    above_zero = [strength for strength in info.strengths if strength > 0.0]
    x = power_axis("Strength", above_zero, floor=min(above_zero, default=1.0))
    figures = []
    strengths, counts = _finite(info.strengths, info.nonzeros)
    if strengths:
        frame = Frame(x, count_axis("Weights that are not zero", max(counts)))
        marks = [frame.line(strengths, counts, "line s0")]
        marks += [frame.dot(a, b, "point") for a, b in zip(strengths, counts, strict=True)]
        marks += _chosen_dot(frame, info, info.nonzeros)
        caption = "Sparsity along the path"
        figures.append(Figure(caption, frame.chart(caption, *marks)))
    strengths, means = _finite(info.strengths, info.score_mean)
    if strengths:
        errors = [e if math.isfinite(e) else 0.0 for e in info.score_se]
        ranges = [
            (s, m - e, m + e)
            for s, m, e in zip(info.strengths, info.score_mean, errors, strict=True)
            if math.isfinite(m)
        ]
        low, high = min(r[1] for r in ranges), max(r[2] for r in ranges)
        frame = Frame(x, range_axis(f"Out of fold: {info.metric}", low, high))
        marks = [frame.whisker(*r, "whisker s0") for r in ranges]
        marks.append(frame.line(strengths, means, "line s0"))
        marks += _chosen_dot(frame, info, info.score_mean)
        caption = "Score along the path"
        note = "Bars reach one standard error to either side."
        figures.append(Figure(caption, frame.chart(caption, *marks), note=note))
    return figures


def style(index: int) -> str:
    """CSS class of the colour and dashes of a model."""
    return f"s{index % 4}"


def _back_to_front(models: Sequence[ModelInfo]) -> Iterable[tuple[int, ModelInfo]]:
    """The models in reverse, so that the first one is drawn above the others."""
    return reversed(list(enumerate(models)))


def _chosen(model: ModelInfo) -> tuple[int, int, int, int]:
    """Counts tp, fp, fn, tn at the model's threshold."""
    t = model.thresholds
    k = t.own
    return t.tp[k], t.fp[k], t.fn[k], t.tn[k]


def _chosen_dot(frame: Frame, info: PathInfo, values: Sequence[float]) -> list[Markup]:
    """A dot at the best strength, if its value is finite."""
    value = values[info.best] if 0 <= info.best < len(values) else math.nan
    return [frame.dot(info.strengths[info.best], value, "marker")] if math.isfinite(value) else []


def _metric_steps(model: ModelInfo) -> list[Figure]:
    """The metric on held-out rows during the fit, if it was measured at least twice."""
    steps = [step for step in model.convergence.metric if math.isfinite(step.value)]
    if len(steps) < 2:
        return []
    values = [step.value for step in steps]
    figures = []
    for title, along in (
        ("Passes over the data", [step.passes for step in steps]),
        ("Seconds", [step.seconds for step in steps]),
    ):
        y = range_axis("Metric on held-out rows", min(values), max(values))
        frame = Frame(count_axis(title, max(along)), y)
        caption = f"Metric against {title.split()[0].lower()}"
        figures.append(Figure(caption, frame.chart(caption, frame.line(along, values, "line s2"))))
    return figures


def _finite(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """The points whose coordinates are both finite."""
    kept = [(a, b) for a, b in zip(x, y, strict=True) if math.isfinite(a) and math.isfinite(b)]
    return [a for a, _ in kept], [b for _, b in kept]
