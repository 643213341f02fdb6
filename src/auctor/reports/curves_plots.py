"""Pictures of an additive model: for matplotlib, and as SVG for pages."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.optional import require
from auctor.reports.curves_info import ColumnCurve, PairMap
from auctor.reports.html.svg import Frame, range_axis

#: Height of the density below a curve, as a part of the drawing.
DENSITY = 0.15


def draw_curve(curve: ColumnCurve, ax: Any = None) -> Any:
    """A column's curve with its band, the density of the rows below; returns the axes."""
    pyplot = require("matplotlib.pyplot", extra="plots", who="draw_curve")
    ax = pyplot.gca() if ax is None else ax
    if curve.band is not None:
        low, high = curve.band
        ax.fill_between(curve.values, low, high, step="mid", alpha=0.25, linewidth=0.0)
    ax.step(curve.values, curve.level, where="mid", label=curve.title)
    bottom, top = ax.get_ylim()
    heights = DENSITY * (top - bottom) * curve.share / curve.share.max()
    floor = bottom - DENSITY * (top - bottom)
    ax.bar(curve.values, heights, _widths(curve.values), floor, color="0.7")
    if curve.missing is not None:
        ax.axhline(curve.missing, linestyle=":", color="0.4", label="missing")
    ax.set_xlabel(curve.name)
    ax.set_ylabel("Added to the score")
    ax.set_title(curve.title)
    return ax


def _widths(values: Any) -> Any:
    """Width of the bar of each value: to half way between its neighbours."""
    if values.size < 2:
        return np.ones(values.size)
    return np.gradient(values)


def draw_pair(found: PairMap, ax: Any = None) -> Any:
    """The heat map of a pair of columns; returns the axes."""
    pyplot = require("matplotlib.pyplot", extra="plots", who="draw_pair")
    ax = pyplot.gca() if ax is None else ax
    most = float(np.abs(found.level).max()) or 1.0
    image = ax.imshow(
        found.level.T, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most
    )
    for side, starts in zip((ax.xaxis, ax.yaxis), found.starts, strict=True):
        side.set_ticks(np.arange(starts.size), [f"{start:.3g}" for start in starts])
    ax.set_xlabel(found.names[0])
    ax.set_ylabel(found.names[1])
    ax.set_title(found.title)
    ax.figure.colorbar(image, ax=ax, label="Added to the score")
    return ax


def curve_svg(curve: ColumnCurve) -> str:
    """A column's curve with its band as an SVG drawing for the report's page."""
    values, level = curve.values.tolist(), curve.level.tolist()
    band = np.atleast_2d(curve.level) if curve.band is None else curve.band
    across = range_axis(curve.name, float(values[0]), float(values[-1]), tight=True)
    up = range_axis("Added to the score", float(band.min()), float(band.max()))
    frame = Frame(across, up)
    marks = []
    if curve.band is not None:
        marks = [frame.line(values, side.tolist(), "chance") for side in curve.band]
    floor = np.full(curve.share.size, up.low)
    height = floor + DENSITY * (up.high - up.low) * curve.share / curve.share.max()
    marks.append(frame.line(values, height.tolist(), "grid"))
    marks.append(frame.line(values, level, "line"))
    return frame.chart(curve.title, *marks)
