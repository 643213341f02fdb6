"""Figures of an additive model for HTML pages: curves, heat maps, parts of the scores of rows."""

from __future__ import annotations

import numpy as np

from auctor.core.markup import Markup, element
from auctor.evaluate.curves_info import ColumnCurve, CurvesInfo, PairMap, ScoreParts
from auctor.reports.html.figures import Figure, NumberTable
from auctor.reports.html.svg import WIDTH, Axis, Frame, document, range_axis
from auctor.reports.text import short

#: Height of the density below a curve, as a share of the drawing.
DENSITY = 0.15
#: Largest number of bars for the parts of a score; the last is the sum of the rest.
MOST_PARTS = 10


def curve_figures(info: CurvesInfo) -> list[Figure]:
    """A figure for the curve of every column."""
    return [_curve_figure(curve) for curve in info.columns]


def pair_figures(info: CurvesInfo) -> list[Figure]:
    """A figure with a heat map for every pair of columns."""
    return [
        Figure(
            pair.title,
            pair_svg(pair),
            note=f"Strongest colour: {short(float(np.abs(pair.level).max(initial=0.0)))} added "
            "to the score (orange) or subtracted (blue).",
        )
        for pair in info.pairs
    ]


def row_figures(info: CurvesInfo) -> list[Figure]:
    """A figure with the parts of the score for every explained row."""
    return [
        Figure(
            row.title,
            row_svg(row),
            note=f"The score {short(row.score)} is {short(row.average)}, the mean of the training "
            "rows, plus these parts. A row with a score above 0 is flagged.",
            table=NumberTable(
                "In numbers",
                ("Column", "Value", "Adds"),
                [
                    (name, value, f"{part:+.4g}")
                    for name, value, part in zip(row.names, row.values, row.parts, strict=True)
                ],
            ),
        )
        for row in info.rows
    ]


def _curve_figure(curve: ColumnCurve) -> Figure:
    """The figure of a curve, with a note about missing values."""
    note = "" if curve.missing is None else f"A missing value adds {short(curve.missing)}."
    return Figure(curve.title, curve_svg(curve), note=note)


def curve_svg(curve: ColumnCurve) -> Markup:
    """The curve of a column with its band and the density of the rows, as SVG."""
    # A curve is constant around each value: two points for each step of the staircase.
    edges, level = curve.edges.tolist(), np.repeat(curve.level, 2).tolist()
    stairs = [edges[0], *np.repeat(edges[1:-1], 2).tolist(), edges[-1]]
    lines = np.vstack([curve.level[None, :]] + ([] if curve.band is None else [curve.band]))
    low, high = float(lines.min()), float(lines.max())
    if curve.missing is not None:
        low, high = min(low, curve.missing), max(high, curve.missing)
    across = range_axis(curve.name, edges[0], edges[-1], tight=True)
    up = range_axis("Added to the score", low - DENSITY * (high - low), high)
    frame = Frame(across, up)
    heights = up.low + DENSITY * (up.high - up.low) * curve.density
    marks = [frame.steps(edges, heights.tolist(), "density")]
    if curve.band is not None:
        low_end, high_end = np.repeat(curve.band, 2, axis=1).tolist()
        marks.append(frame.area(stairs, low_end, high_end, "band"))
    if up.low < 0.0 < up.high:
        marks.append(frame.line((across.low, across.high), (0.0, 0.0), "chance"))
    if curve.missing is not None:
        marks.append(
            frame.line((across.low, across.high), (curve.missing, curve.missing), "line s1")
        )
    marks.append(frame.line(stairs, level, "line s0"))
    return frame.chart(curve.title, *marks)


def pair_svg(pair: PairMap) -> Markup:
    """The heat map of a pair of columns as SVG."""
    across, up = (_levels(name, s) for name, s in zip(pair.names, pair.starts, strict=True))
    frame = Frame(across, up)
    most = float(np.abs(pair.level).max(initial=0.0)) or 1.0
    marks = []
    for a, line in enumerate(pair.level.tolist()):
        for b, level in enumerate(line):
            left, right = frame.across(a), frame.across(a + 1)
            top, bottom = frame.down(b + 1), frame.down(b)
            side = "positive" if level > 0.0 else "negative"
            marks.append(
                element(
                    "rect",
                    element("title", f"{level:+.4g}"),
                    class_=f"cell {side}",
                    x=f"{left:.2f}",
                    y=f"{top:.2f}",
                    width=f"{right - left:.2f}",
                    height=f"{bottom - top:.2f}",
                    fill_opacity=f"{abs(level) / most:.3f}",
                )
            )
    return frame.chart(pair.title, *marks)


def _levels(name: str, starts: np.ndarray) -> Axis:
    """An axis of bins, with a tick at the smallest value of each."""
    ticks = tuple((float(k), f"{start:.3g}") for k, start in enumerate(starts.tolist()))
    return Axis(name, 0.0, float(max(1, starts.size)), ticks)


def row_svg(row: ScoreParts) -> Markup:
    """What each column adds to the score of a row, as SVG bars to the right and to the left."""
    names = [f"{name} = {value}" for name, value in zip(row.names, row.values, strict=True)]
    parts = row.parts.tolist()
    if len(parts) > MOST_PARTS:
        names = [*names[: MOST_PARTS - 1], f"{len(parts) - MOST_PARTS + 1} others"]
        parts = [*parts[: MOST_PARTS - 1], sum(parts[MOST_PARTS - 1 :])]
    most = max(map(abs, parts), default=1.0) or 1.0
    height, middle, half = 26 * max(1, len(parts)) + 8, 180.0, 150.0
    marks = [element("line", class_="grid", x1=middle, y1=0, x2=middle, y2=height)]
    for k, (name, part) in enumerate(zip(names, parts, strict=True)):
        width, top = half * abs(part) / most, 26 * k + 15
        left = middle if part > 0.0 else middle - width
        side = "positive" if part > 0.0 else "negative"
        marks.append(element("text", name, x=middle, y=top - 4, text_anchor="middle"))
        marks.append(
            element(
                "rect",
                element("title", f"{part:+.4g}"),
                class_=f"cell {side}",
                x=f"{left:.2f}",
                y=top,
                width=f"{width:.2f}",
                height=9,
            )
        )
    return document(WIDTH, height, row.title, marks)
