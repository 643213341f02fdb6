"""A drawing of a graph of variables: force layout, edge width by partial correlation, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from auctor.core.errors import DataError
from auctor.core.types import FloatArray, IntArray

# Sizes are in units of the drawing's view box; the page scales it.
#: Width and height of the drawing.
SIDE = 480
#: Room at the edges, for half a node and its name.
MARGIN = 30
#: Radius of a node.
RADIUS = 4.0
#: Width of the edge of a partial correlation of 1.
WIDEST = 6.0
#: Width of the thinnest edge that is drawn.
THINNEST = 0.4
#: Steps of the force layout; nodes hardly move after 100.
STEPS = 150
#: Most nodes that get their names: more would overlap.
NAMED = 60
#: Most nodes: every step compares all pairs.
MOST = 2000
#: Colours of positive and negative partial correlations, apart for the colour-blind too.
POSITIVE, NEGATIVE = "#2b6cb0", "#c05621"


def layout(row: IntArray, column: IntArray, size: int, *, seed: int = 0) -> FloatArray:
    """Positions in the unit square: connected nodes attract, all others repel each other.

    The method of Fruchterman and Reingold (1991), from a circle with a little noise; the same seed
    gives the same drawing.

    Parameters
    ----------
    row, column : array of int
        Ends of the edges.
    size : int
        Nodes.
    seed : int
        Seed of the noise.
    """
    if size == 0:
        return np.zeros((0, 2))
    angle = 2.0 * math.pi * np.arange(size) / size
    at = 0.4 * np.column_stack((np.cos(angle), np.sin(angle)))
    at += 0.01 * np.random.default_rng(seed).normal(size=at.shape)
    apart = 1.0 / math.sqrt(size)  # the distance at which forces are in balance
    for step in range(STEPS):
        away = at[:, None, :] - at[None, :, :]
        square = np.maximum((away * away).sum(axis=2), 1e-6)
        np.fill_diagonal(square, np.inf)
        force = apart**2 * (away / square[:, :, None]).sum(axis=1)
        along = at[row] - at[column]
        pull = along * np.linalg.norm(along, axis=1, keepdims=True) / apart
        np.subtract.at(force, row, pull)
        np.add.at(force, column, pull)
        force -= 0.5 * at  # towards the middle, so that components stay together
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-12)
        most = 0.1 * (1.0 - step / STEPS)  # moves get smaller
        at += force / length * np.minimum(length, most)
    low, high = at.min(axis=0), at.max(axis=0)
    spread: FloatArray = (at - low) / np.maximum(high - low, 1e-12)
    return spread


def draw_graph(
    graph: Any, names: Sequence[str] | None = None, *, isolated: bool = False, seed: int = 0
) -> str:
    """The graph of a sparse inverse covariance as an ``<svg>`` element.

    An edge is as wide as its partial correlation is large, blue where it is positive and orange
    where it is negative; pointing at one shows the number.

    Parameters
    ----------
    graph : (p, p) array or sparse array
        Partial correlations, such as ``graph_`` of `SparseInverseCovariance`.
    names : sequence of str, optional
        Names of the variables; their numbers by default.
    isolated : bool
        Whether variables without edges are drawn too.
    seed : int
        Seed of the layout.

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
    upper = (edges.row < edges.col) & (edges.data != 0.0)
    row, column, weight = edges.row[upper], edges.col[upper], edges.data[upper]
    shown = np.arange(size) if isolated else np.unique(np.concatenate((row, column)))
    if shown.size > MOST:
        raise DataError(
            "draw_graph",
            needs=f"at most {MOST} variables to draw",
            got=f"{shown.size}",
            todo="Choose a larger strength, or a part of the graph.",
        )
    row, column = np.searchsorted(shown, row), np.searchsorted(shown, column)
    at = MARGIN + (SIDE - 2 * MARGIN) * layout(row, column, shown.size, seed=seed)
    labels = [names[j] for j in shown]
    parts = [
        f'<svg viewBox="0 0 {SIDE} {SIDE}" role="img" xmlns="http://www.w3.org/2000/svg" '
        f'aria-label="Graph of {shown.size} variables with {weight.size} edges">',
        *_edges(at, row, column, weight, labels),
        *_nodes(at, labels),
        "</svg>",
    ]
    return "\n".join(parts)


def _edges(
    at: FloatArray, row: IntArray, column: IntArray, weight: FloatArray, labels: list[str]
) -> list[str]:
    """Lines, the weakest first so that strong ones stay visible."""
    parts = []
    for k in np.argsort(np.abs(weight), kind="stable"):
        i, j, value = int(row[k]), int(column[k]), float(weight[k])
        ends = f'x1="{at[i, 0]:.1f}" y1="{at[i, 1]:.1f}" x2="{at[j, 0]:.1f}" y2="{at[j, 1]:.1f}"'
        colour = POSITIVE if value > 0.0 else NEGATIVE
        width = max(THINNEST, WIDEST * min(abs(value), 1.0))
        title = escape(f"{labels[i]} and {labels[j]}: {value:.2f}")
        parts.append(
            f'<line {ends} stroke="{colour}" stroke-width="{width:.2f}" stroke-opacity="0.7">'
            f"<title>{title}</title></line>"
        )
    return parts


def _nodes(at: FloatArray, labels: list[str]) -> list[str]:
    """Discs, with names beside them where they are few."""
    parts = []
    for (x, y), label in zip(at, labels, strict=True):
        name = escape(label)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}" fill="currentColor">'
            f"<title>{name}</title></circle>"
        )
        if len(labels) <= NAMED:
            parts.append(
                f'<text x="{x + RADIUS + 2:.1f}" y="{y + 3:.1f}" font-size="9" '
                f'fill="currentColor">{name}</text>'
            )
    return parts
