"""Figures of an additive model for HTML pages: curves, heat maps, parts of the scores of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auctor.core.markup import Markup, element
from auctor.core.types import FloatArray
from auctor.evaluate.curves_info import MOST_CURVES, ColumnCurve, CurvesInfo, PairMap, ScoreParts
from auctor.reports.html.figures import Figure, NumberTable
from auctor.reports.html.svg import WIDTH, Axis, Frame, document, range_axis
from auctor.reports.text import short

#: Height of the density below a curve, as a share of the drawing.
DENSITY = 0.15
#: Largest number of bars for the parts of a score; the last is the sum of the rest.
MOST_PARTS = 10
#: Largest number of bars for the levels of a category.
MOST_LEVELS = 30
#: Letters of a tick, at most.
MOST_LETTERS = 12
#: Height of the densities beside the map of a pair, in bins.
MARGIN = 1.5


def curve_figures(info: CurvesInfo) -> list[Figure]:
    """A figure for the curve of every column."""
    return [_curve_figure(curve) for curve in info.columns[:MOST_CURVES]]


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
    if curve.labels is None:
        return Figure(curve.title, curve_svg(curve), note=note)
    names = [f"{name} ({share:.1%})" for name, share in zip(curve.labels, curve.share, strict=True)]
    order = np.sort(np.argsort(-curve.share, kind="stable")[:MOST_LEVELS])
    if order.size < curve.share.size:
        note += f" The {order.size} most frequent of {curve.share.size} levels are drawn."
    band = None if curve.band is None else curve.band[:, order]
    bars = bars_svg(
        curve.title, [names[k] for k in order.tolist()], curve.level[order].tolist(), band
    )
    rows = [
        (name, f"{share:.2%}", f"{level:+.4g}")
        for name, share, level in zip(curve.labels, curve.share, curve.level, strict=True)
    ]
    table = NumberTable("In numbers", ("Level", "Rows", "Adds"), rows)
    return Figure(curve.title, bars, note=note.strip(), table=table)


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
    # Beyond the last bins there is room for the densities of both columns.
    frame = Frame(across._replace(high=across.high + MARGIN), up._replace(high=up.high + MARGIN))
    most = float(np.abs(pair.level).max(initial=0.0)) or 1.0
    marks = []
    for one, share in enumerate((pair.share.sum(axis=1), pair.share.sum(axis=0))):
        base = (up, across)[one].high
        density = base + MARGIN * share / (share.max() or 1.0)
        for k, height in enumerate(density.tolist()):
            ends = (k, k + 1), (base, height)
            x, y = ends if one == 0 else ends[::-1]
            marks.append(
                element(
                    "rect",
                    element("title", f"{share[k]:.1%} of the rows"),
                    class_="density",
                    x=f"{frame.across(x[0]):.2f}",
                    y=f"{frame.down(y[1]):.2f}",
                    width=f"{frame.across(x[1]) - frame.across(x[0]):.2f}",
                    height=f"{frame.down(y[0]) - frame.down(y[1]):.2f}",
                )
            )
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


def _levels(name: str, starts: Sequence[str]) -> Axis:
    """An axis of bins, with a tick at the smallest value, or with the levels, of each."""
    ticks = tuple(
        (float(k), start if len(start) <= MOST_LETTERS else start[: MOST_LETTERS - 1] + "…")
        for k, start in enumerate(starts)
    )
    return Axis(name, 0.0, float(max(1, len(starts))), ticks)


def row_svg(row: ScoreParts) -> Markup:
    """What each column adds to the score of a row, as SVG bars to the right and to the left."""
    names = [f"{name} = {value}" for name, value in zip(row.names, row.values, strict=True)]
    parts = row.parts.tolist()
    if len(parts) > MOST_PARTS:
        names = [*names[: MOST_PARTS - 1], f"{len(parts) - MOST_PARTS + 1} others"]
        parts = [*parts[: MOST_PARTS - 1], sum(parts[MOST_PARTS - 1 :])]
    return bars_svg(row.title, names, parts)


def bars_svg(
    title: str, names: Sequence[str], parts: Sequence[float], band: FloatArray | None = None
) -> Markup:
    """Named bars to the right and to the left of 0, with lines for the band of each, as SVG."""
    ends = np.zeros((2, len(parts))) if band is None else band
    most = float(max(np.abs(parts).max(initial=0.0), np.abs(ends).max(initial=0.0))) or 1.0
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
        if band is not None:
            low, high = (f"{middle + half * end / most:.2f}" for end in band[:, k])
            y = top + 4.5
            marks.append(element("line", class_="line s1", x1=low, y1=y, x2=high, y2=y))
    return document(WIDTH, height, title, marks)
