"""An HTML page about a taxonomy: its tree with F1 of every label, and the worst labels."""

from __future__ import annotations

from collections.abc import Sequence

from auctor.core.markup import Markup, element
from auctor.hierarchy.measures import LEAST_ROWS, NodeMeasures, TaxonomyReport
from auctor.reports.html.figures import Figure, NumberTable
from auctor.reports.html.page import asset, templates
from auctor.reports.html.svg import document
from auctor.reports.text import number

#: Largest number of labels of the drawn tree: about ten screens.
MOST_DRAWN = 250
#: Largest number of labels in the list of the worst.
MOST_LISTED = 40
# Sizes are in units of the drawing's view box, which the page scales.
#: Height of a line of the tree.
LINE = 18
#: Width of the tree.
WIDTH = 720
#: Indentation of a child from its parent.
INDENT = 18
#: Horizontal position at which the bars begin.
BARS = 430
#: Length of the bar of an F1 of 1.
BAR = 180
#: Largest number of characters of a name; longer names are cut.
LETTERS = 48


def render_taxonomy(report: TaxonomyReport) -> str:
    """One self-contained HTML page; needs jinja2.

    Examples
    --------
    >>> node = NodeMeasures("animal", (), 10, 9, 9, 1.0, 0.9, 0.95)
    >>> page = render_taxonomy(TaxonomyReport("Animals", 10, (node,), {"Jaccard": 0.9}))
    >>> "animal" in page and "<svg" in page
    True
    """
    worst = report.worst()[:MOST_LISTED]
    table = NumberTable(
        "Worst labels",
        ("Label", "F1", "Precision", "Recall", "Rows", "Predicted"),
        [
            (
                node.name,
                *(number(value, ".3f") for value in (node.f1, node.precision, node.recall)),
                f"{node.rows:,}",
                f"{node.predicted:,}",
            )
            for node in worst
        ],
    )
    return (
        templates()
        .get_template("taxonomy.html.j2")
        .render(
            report=report,
            style=asset("report.css"),
            worst=Figure("Worst labels first", table=table),
            tree=tree_svg(report.nodes),
            drawn=min(len(report.nodes), MOST_DRAWN),
            least_rows=LEAST_ROWS,
        )
    )


def tree_svg(nodes: Sequence[NodeMeasures]) -> Markup:
    """The tree as SVG, with a bar of F1 for every label; siblings are sorted by increasing F1.

    A label with several parents is drawn under the first of them.
    """
    order = _drawing_order(nodes)[:MOST_DRAWN]
    height = LINE * (len(order) + 1)
    marks = [element("text", "F1 and rows", class_="axis", x=BARS, y=LINE - 6)]
    places = {place: line for line, (place, _) in enumerate(order)}
    for line, (place, depth) in enumerate(order):
        node, x, y = nodes[place], INDENT * depth, LINE * (line + 1)
        above = node.parents[0] if node.parents else None
        if above is not None:
            turn, top = x - INDENT + 4, LINE * (places[above] + 1) + LINE - 4
            corners = f"{turn},{top} {turn},{y + 9} {x},{y + 9}"
            marks.append(element("polyline", class_="line grid", points=corners))
        name = node.name if len(node.name) <= LETTERS else f"{node.name[: LETTERS - 1]}…"
        marks.append(element("text", name, class_="axis", x=x + 3, y=y + 13))
        tone = "negative" if node.f1 >= 0.5 else "positive"
        marks.append(
            element(
                "rect",
                class_=f"area {tone}",
                x=BARS,
                y=y + 4,
                height=LINE - 7,
                width=f"{BAR * node.f1:.1f}",
            )
        )
        text = f"{node.f1:.3f}, {node.rows:,}" if node.rows or node.predicted else "no rows"
        marks.append(element("text", text, x=BARS + BAR + 8, y=y + 13))
    return document(WIDTH, height, "Taxonomy with F1 by label", marks)


def _drawing_order(nodes: Sequence[NodeMeasures]) -> list[tuple[int, int]]:
    """Positions and depths of the labels in depth-first order, parents before children."""
    below: dict[int, list[int]] = {}
    for place, node in enumerate(nodes):
        below.setdefault(node.parents[0] if node.parents else -1, []).append(place)
    waiting = [(-1, -1)]
    order: list[tuple[int, int]] = []
    while waiting:
        place, depth = waiting.pop()
        if place >= 0:
            order.append((place, depth))
        children = sorted(below.get(place, ()), key=lambda c: (nodes[c].f1, -nodes[c].rows))
        waiting += [(child, depth + 1) for child in reversed(children)]
    return order
