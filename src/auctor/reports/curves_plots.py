"""Figures of an additive model with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.optional import require
from auctor.evaluate.curves_info import ColumnCurve, PairMap, ScoreParts
from auctor.reports.html.additive import DENSITY, MOST_PARTS


def draw_curve(curve: ColumnCurve, ax: Any = None) -> Any:
    """Draw the curve of a column with its band, and the density of the rows below it.

    Returns the axes.
    """
    pyplot = require("matplotlib.pyplot", extra="plots", who="draw_curve")
    ax = pyplot.gca() if ax is None else ax
    if curve.band is not None:
        low, high = curve.band
        ax.stairs(high, curve.edges, baseline=low, fill=True, alpha=0.25)
    ax.stairs(curve.level, curve.edges, baseline=None, label=curve.title)
    bottom, top = ax.get_ylim()
    heights = DENSITY * (top - bottom) * curve.density
    floor = bottom - DENSITY * (top - bottom)
    ax.stairs(floor + heights, curve.edges, baseline=floor, fill=True, color="0.7")
    if curve.missing is not None:
        ax.axhline(curve.missing, linestyle=":", color="0.4", label="missing")
    ax.set_xlabel(curve.name)
    ax.set_ylabel("Added to the score")
    ax.set_title(curve.title)
    return ax


def draw_pair(found: PairMap, ax: Any = None) -> Any:
    """Draw the heat map of a pair of columns; returns the axes."""
    pyplot = require("matplotlib.pyplot", extra="plots", who="draw_pair")
    ax = pyplot.gca() if ax is None else ax
    most = float(np.abs(found.level).max()) or 1.0
    image = ax.imshow(
        found.level.T, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most
    )
    for axis, starts in zip((ax.xaxis, ax.yaxis), found.starts, strict=True):
        axis.set_ticks(np.arange(starts.size), [f"{start:.3g}" for start in starts])
    ax.set_xlabel(found.names[0])
    ax.set_ylabel(found.names[1])
    ax.set_title(found.title)
    ax.figure.colorbar(image, ax=ax, label="Added to the score")
    return ax


def draw_row(row: ScoreParts, ax: Any = None) -> Any:
    """Draw what each column adds to the score of a row, as bars; returns the axes."""
    pyplot = require("matplotlib.pyplot", extra="plots", who="draw_row")
    ax = pyplot.gca() if ax is None else ax
    shown = slice(MOST_PARTS - 1, None, -1)
    names = [f"{name} = {value}" for name, value in zip(row.names, row.values, strict=True)]
    parts = row.parts[shown]
    ax.barh(names[shown], parts, color=["C1" if part > 0.0 else "C0" for part in parts])
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    ax.set_xlabel("Added to the score")
    ax.set_title(f"{row.title}: {row.score:.3g}")
    return ax
