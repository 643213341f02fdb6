"""Drawings of a tree: lines of text, and SVG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auctor.core.markup import Markup, element
from auctor.lab.trees.tree import AucTree
from auctor.reports.html.svg import document

# Sizes are in units of the drawing's view box, which a page scales.
#: Width of a leaf.
ACROSS = 96
#: Height of a level.
DOWN = 64
#: Width of a box.
BOX = 88
#: Height of a box.
TALL = 32


def rule(tree: AucTree, node: int, names: Sequence[str], *, left: bool) -> str:
    """The condition under which a row goes from a node to one of its children."""
    name, cut = names[tree.column[node]], tree.cut[node]
    lost = bool(tree.missing_left[node]) == left and tree.missing[node] > 0.0
    if np.isinf(cut):
        return f"{name} is missing" if lost else f"{name} is known"
    return f"{name} {'<=' if left else '>'} {cut:.6g}{' or missing' if lost else ''}"


def tree_text(tree: AucTree, names: Sequence[str], label: str) -> str:
    """Lines of rules, indented by depth; leaves show the share of the class ``label``."""
    share, out = tree.share, [f"share of {label}, rows of weight"]
    rules = {0: ""}
    for node, depth in tree.walk():
        if tree.column[node] >= 0:
            child = int(tree.child[node])
            rules |= {child + k: rule(tree, node, names, left=not k) for k in (0, 1)}
        leaf = "" if tree.column[node] >= 0 else f"{share[node]:.3f}, {_rows(tree, node)}"
        text = ": ".join(part for part in (rules[node], leaf) if part)
        if text:
            out.append("|   " * max(depth - 1, 0) + ("|-- " if depth else "") + text)
    return "\n".join(out)


def tree_svg(tree: AucTree, names: Sequence[str], label: str) -> str:
    """The tree as an ``<svg>`` element: a box for each node, the bluer the higher the share."""
    places, leaves, deepest = _places(tree)
    share = tree.share
    edges, boxes = [], []
    for node, (x, y) in places.items():
        if tree.column[node] >= 0:
            child = int(tree.child[node])
            for one in (child, child + 1):
                ends = dict(
                    x1=f"{x:.1f}", y1=y + TALL, x2=f"{places[one][0]:.1f}", y2=places[one][1]
                )
                edges.append(element("line", **ends, stroke="currentColor", stroke_opacity="0.4"))
            first = rule(tree, node, names, left=True)
        else:
            first = f"{share[node]:.3f}"
        title = f"{first}; share of {label} {share[node]:.3f}, weight {_rows(tree, node)}"
        boxes += _box(x, y, first, _rows(tree, node), title, float(share[node]))
    return document(
        ACROSS * leaves,
        DOWN * (deepest + 1),
        f"Tree with {leaves} leaves; left where the rule holds",
        [*edges, *boxes],
        xmlns="http://www.w3.org/2000/svg",
    )


def _rows(tree: AucTree, node: int) -> str:
    return f"{tree.positive[node] + tree.negative[node]:g}"


def _places(tree: AucTree) -> tuple[dict[int, tuple[float, int]], int, int]:
    """Middle and top of each node: leaves evenly across, others above the middle of theirs."""
    across: dict[int, float] = {}
    depths = dict(tree.walk())
    leaves = 0
    for node in depths:
        if tree.column[node] < 0:
            across[node] = (leaves + 0.5) * ACROSS
            leaves += 1
    for node in sorted(depths, reverse=True):  # children have larger numbers
        if tree.column[node] >= 0:
            child = int(tree.child[node])
            across[node] = 0.5 * (across[child] + across[child + 1])
    places = {node: (across[node], depth * DOWN + 8) for node, depth in depths.items()}
    return places, leaves, max(depths.values())


def _box(x: float, y: int, first: str, second: str, title: str, share: float) -> list[Markup]:
    fill = f"rgba(43, 108, 176, {0.05 + 0.6 * share:.2f})"
    left, middle = f"{x - BOX / 2:.1f}", f"{x:.1f}"
    text = dict(text_anchor="middle", font_size=8, fill="currentColor")
    shown = first if len(first) <= 22 else f"{first[:21]}…"
    return [
        element(
            "rect", element("title", title), x=left, y=y, width=BOX, height=TALL, rx=4, fill=fill,
            stroke="currentColor",
        ),
        element("text", shown, x=middle, y=y + 13, **text),
        element("text", second, x=middle, y=y + 25, **text),
    ]  # fmt: skip
