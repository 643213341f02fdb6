"""Horizontal bars as SVG: the levels of a category, and the parts of the score of a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from auctor.core.markup import Markup, element
from auctor.core.types import FloatArray
from auctor.evaluate.curves_info import ColumnCurve, ScoreParts
from auctor.reports.html.svg import BOTTOM, HEIGHT, TOP, WIDTH, Axis, document

#: Largest number of bars for the parts of a score; the last is the sum of the rest.
MOST_PARTS = 10
#: Largest number of bars for the levels of a category: as many as the height of a chart has.
MOST_LEVELS = 12
#: Letters of the name of a level, at most.
MOST_LETTERS = 15
#: Letters of the name of a bar with a line of its own, at most.
LINE = 52
# Places across a chart of levels, in units of the drawing.
#: End of the names.
NAMES = 104
#: Ends of the bars.
BARS = (110, 284)
#: Ends of the bars of the shares of the rows.
SHARES = (292, 326)


def clipped(texts: Sequence[str], letters: int) -> list[str]:
    """Texts of at most so many letters: longer ones end with an ellipsis, or have it in the middle.

    It is in the middle where texts that differ would look alike.

    Examples
    --------
    >>> clipped(["Married-civ-spouse", "Divorced"], 8)
    ['Married…', 'Divorced']
    >>> clipped(["column number 1", "column number 2"], 8)
    ['colum… 1', 'colum… 2']
    """
    cut = [text if len(text) <= letters else text[: letters - 1] + "…" for text in texts]
    if len(set(cut)) == len(set(texts)):
        return cut
    tail = letters // 3
    return [
        text if len(text) <= letters else f"{text[: letters - tail - 1]}…{text[-tail:]}"
        for text in texts
    ]


def drawn_levels(curve: ColumnCurve) -> list[int]:
    """The levels that are drawn: the most frequent ones, in the order of the curve."""
    order = np.argsort(-curve.share, kind="stable")[:MOST_LEVELS]
    return sorted(order.tolist())


def level_svg(curve: ColumnCurve, scale: Axis) -> Markup:
    """The levels of a category as bars, sorted, with bands and shares of the rows.

    Parameters
    ----------
    curve : ColumnCurve
        A curve with ``labels``.
    scale : Axis
        The axis of what levels add to the score.
    """
    assert curve.labels is not None
    lines = [
        (
            curve.labels[k],
            float(curve.level[k]),
            float(curve.share[k]),
            None if curve.band is None else curve.band[:, k],
        )
        for k in drawn_levels(curve)
    ]
    if curve.missing is not None:
        rest = max(0.0, 1.0 - float(curve.share.sum()))
        lines.append(("missing", curve.missing, rest, None))
    foot = HEIGHT - BOTTOM
    step = (foot - TOP) / max(len(lines), MOST_LEVELS + 1)
    bottom = TOP + step * len(lines)
    marks = _scale(scale, bottom)
    zero = _across(scale, 0.0)
    most = max(share for _, _, share, _ in lines) or 1.0
    shown = clipped([line[0] for line in lines], MOST_LETTERS)
    for k, (name, level, share, band) in enumerate(lines):
        top, middle = TOP + step * k, TOP + step * (k + 0.5)
        end = _across(scale, level)
        side = "positive" if level > 0.0 else "negative"
        said = element("title", f"{name}: {level:+.4g}, {share:.2%} of the rows")
        text = {"y": f"{middle + 4:.1f}", "text_anchor": "end"}
        marks += [
            element("text", said, shown[k], x=NAMES, **text),
            _box(min(zero, end), top + 2, abs(end - zero), step - 4, f"cell {side}", said),
            _box(
                SHARES[0],
                top + 4,
                (SHARES[1] - SHARES[0]) * share / most,
                step - 8,
                "density",
                said,
            ),
            element("text", _percent(share), x=WIDTH - 2, **text),
        ]
        if band is not None:
            low, high = (f"{_across(scale, value):.2f}" for value in band.tolist())
            y = f"{middle:.2f}"
            marks.append(element("line", class_="interval", x1=low, x2=high, y1=y, y2=y))
    return document(WIDTH, round(bottom + BOTTOM), curve.title, marks)


def row_svg(row: ScoreParts) -> Markup:
    """What each column adds to the score of a row, as bars to the right and to the left."""
    names = [f"{name} = {value}" for name, value in zip(row.names, row.values, strict=True)]
    parts = row.parts.tolist()
    if len(parts) > MOST_PARTS:
        names = [*names[: MOST_PARTS - 1], f"{len(parts) - MOST_PARTS + 1} others"]
        parts = [*parts[: MOST_PARTS - 1], sum(parts[MOST_PARTS - 1 :])]
    return bars_svg(row.title, names, parts)


def bars_svg(title: str, names: Sequence[str], parts: Sequence[float] | FloatArray) -> Markup:
    """Bars to the right and to the left of 0, each below its name."""
    most = float(np.abs(parts).max(initial=0.0)) or 1.0
    height, middle, half = 26 * max(1, len(parts)) + 8, WIDTH / 2, 150.0
    marks = [element("line", class_="grid", x1=middle, y1=0, x2=middle, y2=height)]
    shown = clipped(names, LINE)
    for k, (name, part) in enumerate(zip(names, parts, strict=True)):
        width, top = half * abs(part) / most, 26 * k + 15
        side = "positive" if part > 0.0 else "negative"
        said = element("title", f"{name}: {part:+.4g}")
        marks += [
            element("text", said, shown[k], x=middle, y=top - 4, text_anchor="middle"),
            _box(middle if part > 0.0 else middle - width, top, width, 9, f"cell {side}", said),
        ]
    return document(WIDTH, height, title, marks)


def _box(left: float, top: float, width: float, height: float, css: str, said: Markup) -> Markup:
    """A filled rectangle with a title."""
    size = {"width": f"{width:.2f}", "height": f"{height:.2f}"}
    return element("rect", said, class_=css, x=f"{left:.2f}", y=f"{top:.2f}", **size)


def _across(scale: Axis, value: float) -> float:
    """Horizontal position of a value among the bars."""
    return BARS[0] + scale.share(value) * (BARS[1] - BARS[0])


def _percent(share: float) -> str:
    """A share of the rows in few letters."""
    return f"{share:.0%}" if share >= 0.0995 or not share else f"{share:.1%}"


def _scale(scale: Axis, bottom: float) -> list[Markup]:
    """Grid lines, ticks and titles below the bars."""
    marks = []
    last = -np.inf
    for value, label in scale.ticks:
        at = _across(scale, value)
        css = "grid zero" if value == 0.0 else "grid"
        x = f"{at:.2f}"
        marks.append(element("line", class_=css, x1=x, y1=TOP, x2=x, y2=f"{bottom:.2f}"))
        if at - last > 26.0:  # labels that do not touch
            marks.append(element("text", label, x=x, y=bottom + 16, text_anchor="middle"))
            last = at
    middle = f"{0.5 * (BARS[0] + BARS[1]):.1f}"
    title = {"class_": "axis", "y": bottom + 36, "text_anchor": "middle"}
    marks.append(element("text", scale.title, x=middle, **title))
    marks.append(element("text", "Rows", x=f"{0.5 * (SHARES[0] + WIDTH):.1f}", **title))
    return marks


def level_rows(curve: ColumnCurve) -> list[tuple[str, ...]]:
    """All levels of a category in numbers: name, share of the rows, what it adds."""
    assert curve.labels is not None
    return [
        (name, f"{share:.2%}", f"{level:+.4g}")
        for name, share, level in zip(curve.labels, curve.share, curve.level, strict=True)
    ]
