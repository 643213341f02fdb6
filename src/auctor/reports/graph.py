"""The graph of a sparse inverse covariance as SVG: force-directed layout, weighted edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from auctor.core.errors import DataError
from auctor.core.markup import Markup, element
from auctor.core.types import FloatArray, IntArray
from auctor.reports.html.svg import document

# Sizes are in units of the drawing's view box, which the page scales. All are set by hand.
#: Width and height of the drawing.
SIDE = 480
#: Margin at the edges, for half a node and its name.
MARGIN = 30
#: Radius of a node. Set by hand.
RADIUS = 4.0
#: Width of the edge of a partial correlation of 1. Set by hand.
WIDEST = 6.0
#: Width of the thinnest edge that is drawn. Set by hand.
THINNEST = 0.4
#: Iterations of the layout. Set by hand: nodes hardly move after 100.
STEPS = 150
#: Largest number of nodes that are drawn with their names; more names would overlap. Set by hand.
NAMED = 60
#: Largest number of nodes: an iteration takes O(nodes^2) time and memory, 64 MB per array for 2000.
#: Set by hand.
MOST = 2000
#: Colour of positive partial correlations: blue.
POSITIVE = "#2b6cb0"
#: Colour of negative partial correlations: orange, which colour-blind readers can tell from blue.
NEGATIVE = "#c05621"


def layout(row: IntArray, column: IntArray, size: int, *, seed: int = 0) -> FloatArray:
    """Positions in the unit square: all nodes repel each other, and connected ones attract.

    The method of Fruchterman and Reingold (1991), started from a circle with a little noise. The
    same seed gives the same drawing.

    Parameters
    ----------
    row, column : array of int
        Nodes at the ends of each edge.
    size : int
        Number of nodes.
    seed : int
        Random seed of the noise.
    """
    if size == 0:
        return np.zeros((0, 2))
    angle = 2.0 * math.pi * np.arange(size) / size
    at = 0.4 * np.column_stack((np.cos(angle), np.sin(angle)))
    at += 0.01 * np.random.default_rng(seed).normal(size=at.shape)
    apart = 1.0 / math.sqrt(size)  # distance k at which repulsion and attraction are equal
    for step in range(STEPS):
        away = at[:, None, :] - at[None, :, :]
        square = np.maximum((away * away).sum(axis=2), 1e-6)
        np.fill_diagonal(square, np.inf)
        # Repulsion k^2 / d between all nodes, attraction d^2 / k along edges.
        force = apart**2 * (away / square[:, :, None]).sum(axis=1)
        along = at[row] - at[column]
        pull = along * np.linalg.norm(along, axis=1, keepdims=True) / apart
        np.subtract.at(force, row, pull)
        np.add.at(force, column, pull)
        force -= 0.5 * at  # towards the centre, so that components stay together
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
        most = 0.1 * (1.0 - step / STEPS)  # the longest move shrinks to 0
        at += force / length * np.minimum(length, most)
    low, high = at.min(axis=0), at.max(axis=0)
    spread: FloatArray = (at - low) / np.maximum(high - low, 1e-12)
    return spread


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
        raise DataError(
            "draw_graph", needs="a square matrix", got=f"shape {edges.shape}", todo="Pass graph_."
        )
    names = [str(j) for j in range(size)] if names is None else [str(name) for name in names]
    if len(names) != size:
        raise DataError(
            "draw_graph", needs=f"{size} names", got=f"{len(names)}", todo="Name every variable."
        )
    # Each edge once, from the upper triangle; nodes are renumbered to those that are drawn.
    upper = (edges.row < edges.col) & (edges.data != 0.0)
    row, column, weight = edges.row[upper], edges.col[upper], edges.data[upper]
    shown = np.arange(size) if isolated else np.unique(np.concatenate((row, column)))
    if shown.size > MOST:
        raise DataError(
            "draw_graph",
            needs=f"at most {MOST} variables to draw",
            got=f"{shown.size}",
            todo="Use a larger strength, or draw a part of the graph.",
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
