"""The graph of a sparse inverse covariance as SVG: layout by networkx, weighted edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from auctor.core.errors import DataError, speaks_as
from auctor.core.markup import Markup, element
from auctor.core.optional import require
from auctor.core.types import FloatArray, IntArray
from auctor.reports.html.svg import document

# Sizes are in units of the drawing's view box, which the page scales.
SIDE, MARGIN, RADIUS = 480, 30, 4.0
#: Widths of the edge of a partial correlation of 1, and of the thinnest edge.
WIDEST, THINNEST = 6.0, 0.4
#: Most nodes that are drawn with their names; more names would overlap.
NAMED = 60
#: Most nodes of a drawing.
MOST = 2000
#: Colours of positive (blue) and negative (orange) partial correlations.
POSITIVE, NEGATIVE = "#2b6cb0", "#c05621"


def layout(row: IntArray, column: IntArray, size: int, *, seed: int = 0) -> FloatArray:
    """Positions in the unit square by networkx: connected nodes are near each other.

    The same seed gives the same drawing.
    """
    networkx = require("networkx", extra="plots")
    if size == 0:
        return np.zeros((0, 2))
    graph = networkx.empty_graph(size)
    graph.add_edges_from(zip(row.tolist(), column.tolist(), strict=True))
    places = networkx.spring_layout(graph, seed=seed)
    at = np.array([places[node] for node in range(size)])
    low, high = at.min(axis=0), at.max(axis=0)
    spread: FloatArray = (at - low) / np.maximum(high - low, 1e-12)
    return spread


@speaks_as("draw_graph")
def draw_graph(
    graph: Any, names: Sequence[str] | None = None, *, isolated: bool = False, seed: int = 0
) -> str:
    """The graph of a sparse inverse covariance as an ``<svg>`` element.

    The width of an edge is proportional to its partial correlation; positive edges are blue,
    negative ones orange. Pointing at an edge shows its value.

    Parameters
    ----------
    graph : (p, p) array or sparse array
        Partial correlations, such as ``graph_`` of `SparseInverseCovariance`.
    names : sequence of str, optional
        Names of the variables; by default their numbers.
    isolated : bool
        Whether to draw variables without edges too.
    seed : int
        Random seed of the layout.

    Examples
    --------
    >>> import numpy as np
    >>> svg = draw_graph(np.array([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]]), ["a", "b", "c"])
    >>> svg.count("<circle"), svg.count("<line")
    (2, 1)
    """
    edges: Any = coo_array(graph)
    size = int(edges.shape[0])
    if edges.ndim != 2 or edges.shape[0] != edges.shape[1]:
        raise DataError("a square matrix", got=f"shape {edges.shape}", todo="Pass graph_.")
    names = [str(j) for j in range(size)] if names is None else [str(name) for name in names]
    if len(names) != size:
        raise DataError(f"{size} names", got=len(names), todo="Name every variable.")
    # Each edge once, from the upper triangle; nodes are renumbered to those that are drawn.
    upper = (edges.row < edges.col) & (edges.data != 0.0)
    row, column, weight = edges.row[upper], edges.col[upper], edges.data[upper]
    shown = np.arange(size) if isolated else np.unique(np.concatenate((row, column)))
    if shown.size > MOST:
        raise DataError(
            f"at most {MOST} variables to draw; got {shown.size}. Use a larger strength."
        )
    row, column = np.searchsorted(shown, row), np.searchsorted(shown, column)
    at = MARGIN + (SIDE - 2 * MARGIN) * layout(row, column, shown.size, seed=seed)
    labels = [names[j] for j in shown]
    return document(
        SIDE,
        SIDE,
        f"Graph of {shown.size} variables with {weight.size} edges",
        [*_edges(at, row, column, weight, labels), *_nodes(at, labels)],
        xmlns="http://www.w3.org/2000/svg",
    )


def _edges(
    at: FloatArray, row: IntArray, column: IntArray, weight: FloatArray, labels: list[str]
) -> list[Markup]:
    """SVG lines; the weakest are drawn first, so that strong ones stay visible."""
    parts = []
    for k in np.argsort(np.abs(weight), kind="stable"):
        i, j, value = int(row[k]), int(column[k]), float(weight[k])
        width = max(THINNEST, WIDEST * min(abs(value), 1.0))
        parts.append(
            element(
                "line",
                element("title", f"{labels[i]} and {labels[j]}: {value:.2f}"),
                x1=f"{at[i, 0]:.1f}",
                y1=f"{at[i, 1]:.1f}",
                x2=f"{at[j, 0]:.1f}",
                y2=f"{at[j, 1]:.1f}",
                stroke=POSITIVE if value > 0.0 else NEGATIVE,
                stroke_width=f"{width:.2f}",
                stroke_opacity="0.7",
            )
        )
    return parts


def _nodes(at: FloatArray, labels: list[str]) -> list[Markup]:
    """SVG circles, with names next to them if there are at most `NAMED`."""
    parts = []
    for (x, y), label in zip(at, labels, strict=True):
        parts.append(
            element(
                "circle",
                element("title", label),
                cx=f"{x:.1f}",
                cy=f"{y:.1f}",
                r=RADIUS,
                fill="currentColor",
            )
        )
        if len(labels) <= NAMED:
            right, middle = f"{x + RADIUS + 2:.1f}", f"{y + 3:.1f}"
            parts.append(
                element("text", label, x=right, y=middle, font_size=9, fill="currentColor")
            )
    return parts
