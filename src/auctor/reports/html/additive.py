"""Figures of what columns add to scores: curves, charts of levels, maps of pairs, single rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auctor.core.markup import Markup, element
from auctor.evaluate.curves_info import MOST_CURVES, ColumnCurve, CurvesInfo
from auctor.evaluate.pair_maps import PairMap
from auctor.reports.html.figures import Figure, NumberTable
from auctor.reports.html.levels import clipped, drawn_levels, level_rows, level_svg, row_svg
from auctor.reports.html.svg import TOP, Axis, Frame, range_axis
from auctor.reports.text import short
from auctor.tables.dates import day_text

#: Height of the density below a curve, as a share of the drawing.
DENSITY = 0.15
#: Letters of a tick below a map and of one beside it, at most.
LETTERS = (10, 7)
#: Ticks below a map and beside it, at most.
MOST_TICKS = (4, 8)
#: Ticks of an axis of dates.
DATES = 4
#: Maps of pairs, at most: those of largest effect.
MOST_PAIRS = 12
#: Height of the densities beside the map of a pair, as a share of the map.
MARGIN = 0.18
#: A chart whose own range is below this share of the common one can be shown on its own scale.
OWN_SCALE = 0.7
#: Room above and below the curves, as a share of their range.
ROOM = 0.03
ADDED = "Added to the score"


def curve_figures(info: CurvesInfo) -> list[Figure]:
    """A figure for the curve, or the levels, of every column, all on one scale."""
    shown = info.columns[:MOST_CURVES]
    if not shown:
        return []
    common = _scale(shown, bands=False)
    return [_curve_figure(curve, common) for curve in shown]


def pair_figures(info: CurvesInfo) -> list[Figure]:
    """A figure with a map for each of the strongest pairs, all with one scale of colours."""
    pairs = info.pairs[:MOST_PAIRS]
    sizes = [float(np.abs(pair.level).max(initial=0.0)) for pair in pairs]
    most = max(sizes, default=0.0) or 1.0
    figures = []
    for pair, size in zip(pairs, sizes, strict=True):
        own = pair_svg(pair, size or 1.0) if size < OWN_SCALE * most else ""
        note = (
            f"It adds at most {short(size)} (orange) or takes it away (blue); the strongest colour "
            f"is {short(most)} in all maps."
        )
        figures.append(Figure(pair.title, pair_svg(pair, most), note=note, own=own))
    return figures


def row_figures(info: CurvesInfo) -> list[Figure]:
    """A figure with the parts of the score for every explained row."""
    note = "Half of what a pair of columns adds counts for each of them. " if info.pairs else ""
    return [
        Figure(
            row.title,
            row_svg(row),
            note=f"The score {short(row.score)} is {short(row.average)}, that of an average row, "
            f"plus these parts. {note}A row with a score above 0 is flagged.",
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


def _scale(curves: Sequence[ColumnCurve], *, bands: bool) -> Axis:
    """An axis that holds the levels of curves and missing values, and the bands if asked."""
    values = [0.0]
    for curve in curves:
        values += [*curve.level.tolist(), *([] if curve.missing is None else [curve.missing])]
        if bands and curve.band is not None:
            values += curve.band.ravel().tolist()
    room = ROOM * (max(values) - min(values))
    return range_axis(ADDED, min(values) - room, max(values) + room, tight=True)


def _curve_figure(curve: ColumnCurve, common: Axis) -> Figure:
    """The figure of a column on the common scale, and on its own where that shows more."""
    own_scale = _scale([curve], bands=True)
    draw = curve_svg if curve.labels is None else level_svg
    much = own_scale.high - own_scale.low < OWN_SCALE * (common.high - common.low)
    own = draw(curve, own_scale) if much else ""
    if curve.labels is None:
        note = "" if curve.missing is None else f"A missing value adds {short(curve.missing)}."
        return Figure(curve.title, draw(curve, common), note=note, own=own)
    drawn, count = len(drawn_levels(curve)), len(curve.labels)
    note = "" if drawn == count else f"The {drawn} most frequent of {count:,} levels."
    table = NumberTable("In numbers", ("Level", "Rows", "Adds"), level_rows(curve))
    return Figure(curve.title, draw(curve, common), note=note, table=table, own=own)


def curve_svg(curve: ColumnCurve, scale: Axis | None = None) -> Markup:
    """The curve of a column with its band and the density of the rows, as SVG.

    Parameters
    ----------
    curve : ColumnCurve
    scale : Axis, optional
        The vertical axis; by default one that holds the curve and its band.
    """
    scale = scale or _scale([curve], bands=True)
    # A curve is constant around each value: two points for each step of the staircase.
    edges, level = curve.edges.tolist(), np.repeat(curve.level, 2).tolist()
    stairs = [edges[0], *np.repeat(edges[1:-1], 2).tolist(), edges[-1]]
    across = range_axis(curve.axis, edges[0], edges[-1], tight=True)
    if curve.of_dates:
        at = np.linspace(edges[0], edges[-1], 2 * DATES + 1)[1::2].tolist()
        across = across._replace(ticks=tuple((day, day_text(day)) for day in at))
    # Room for the density below the curve.
    up = scale._replace(low=scale.low - DENSITY * (scale.high - scale.low))
    frame = Frame(across, up)
    heights = up.low + 0.9 * (scale.low - up.low) * curve.density
    marks = [frame.steps(edges, heights.tolist(), "density")]
    if curve.band is not None:
        low_end, high_end = np.repeat(curve.band, 2, axis=1).clip(scale.low, scale.high).tolist()
        marks.append(frame.area(stairs, low_end, high_end, "band"))
    if up.low < 0.0 < up.high:
        marks.append(frame.line((across.low, across.high), (0.0, 0.0), "chance"))
    if curve.missing is not None:
        marks.append(
            frame.line((across.low, across.high), (curve.missing, curve.missing), "line s1")
        )
    marks.append(frame.line(stairs, level, "line s0"))
    return frame.chart(curve.title, *marks)


def pair_svg(pair: PairMap, most: float) -> Markup:
    """The map of a pair of columns, with the densities of both beside it, as SVG.

    Parameters
    ----------
    pair : PairMap
    most : float
        What the strongest colour adds to the score.
    """
    across = _bins_axis(pair, 0, pair.names[0])
    up = _bins_axis(pair, 1, "")  # its name is above it
    # Beyond the last bins there is room for the densities of both columns.
    room = [MARGIN * axis.high for axis in (across, up)]
    frame = Frame(across._replace(high=across.high + room[0]), up._replace(high=up.high + room[1]))
    marks = [element("text", pair.names[1], class_="axis", x=0, y=TOP - 2)]
    for one, share in enumerate((pair.share.sum(axis=1), pair.share.sum(axis=0))):
        base = (up, across)[one].high
        density = base + room[1 - one] * share / (share.max() or 1.0)
        for k, height in enumerate(density.tolist()):
            ends = (k, k + 1), (base, height)
            x, y = ends if one == 0 else ends[::-1]
            marks.append(_cell(frame, x, y, "density", f"{share[k]:.1%} of the rows"))
    for (a, b), level in np.ndenumerate(pair.level):
        said = " and ".join(
            f"{name} {start}"
            for name, start in zip(pair.names, (pair.starts[0][a], pair.starts[1][b]), strict=True)
        )
        side = "positive" if level > 0.0 else "negative"
        strong = f"{min(1.0, abs(level) / most):.3f}"
        said = f"{said}: {level:+.4g}, {pair.share[a, b]:.1%} of the rows"
        marks.append(
            _cell(frame, (a, a + 1), (b, b + 1), f"cell {side}", said, fill_opacity=strong)
        )
    return frame.chart(pair.title, *marks)


def _cell(
    frame: Frame, x: tuple[float, float], y: tuple[float, float], css: str, said: str, **more: str
) -> Markup:
    """A rectangle between two values of each axis, with a title."""
    left, right, top, bottom = (
        frame.across(x[0]),
        frame.across(x[1]),
        frame.down(y[1]),
        frame.down(y[0]),
    )
    return element(
        "rect",
        element("title", said),
        class_=css,
        x=f"{left:.2f}",
        y=f"{top:.2f}",
        width=f"{right - left:.2f}",
        height=f"{bottom - top:.2f}",
        **more,
    )


def _bins_axis(pair: PairMap, side: int, title: str) -> Axis:
    """An axis of bins: ticks at the smallest value of some of them, or below levels."""
    starts = pair.starts[side]
    every = -(-len(starts) // MOST_TICKS[side])
    names = clipped(starts[::every], LETTERS[side])
    shift = 0.5 if pair.of_levels[side] else 0.0
    ticks = tuple((k * every + shift, text) for k, text in enumerate(names))
    return Axis(title, 0.0, float(max(1, len(starts))), ticks)
