"""Charts as inline SVG; the style sheet of the page has the colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from auctor.core.markup import Markup, element, lines

# Sizes are in units of the drawing's view box, which the style sheet scales.
#: Width of a chart.
WIDTH = 360
#: Height of a chart.
HEIGHT = 270
#: Margin left of the axes, for the labels of the vertical axis.
LEFT = 54
#: Margin right of the axes, for half a label of the horizontal axis.
RIGHT = 18
#: Margin above the axes, for half a label of the vertical axis.
TOP = 12
#: Margin below the axes, for labels and title of the horizontal axis.
BOTTOM = 42

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Axis(NamedTuple):
    """An axis: title, range, and positions and labels of its ticks; ``log`` if logarithmic."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Position of a value on the axis, from 0 at the low end to 1 at the high end."""
        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            value = math.log10(max(value, self.low))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low)))


class Frame(NamedTuple):
    """The two axes of a chart; its methods draw marks on them as SVG."""

    x: Axis
    y: Axis

    def across(self, value: float) -> float:
        """Horizontal position of a value."""
        return LEFT + self.x.share(value) * (WIDTH - LEFT - RIGHT)

    def down(self, value: float) -> float:
        """Vertical position of a value."""
        return HEIGHT - BOTTOM - self.y.share(value) * (HEIGHT - TOP - BOTTOM)

    def line(self, x: Sequence[float], y: Sequence[float], css: str) -> Markup:
        """A line through points; a single point becomes a dot."""
        points = [(self.across(a), self.down(b)) for a, b in zip(x, y, strict=True)]
        if len(set(points)) == 1:
            points, css = [points[0]] * 2, f"{css} dot"
        return element("polyline", class_=css, points=joined(points))

    def steps(self, edges: Sequence[float], heights: Sequence[float], css: str) -> Markup:
        """A filled staircase, with one height between two edges."""
        floor = self.down(self.y.low)
        points = [(self.across(edges[0]), floor)]
        for left, right, height in zip(edges, edges[1:], heights, strict=False):
            points += [
                (self.across(left), self.down(height)),
                (self.across(right), self.down(height)),
            ]
        points.append((self.across(edges[-1]), floor))
        return element("polygon", class_=css, points=joined(points))

    def area(
        self, x: Sequence[float], low: Sequence[float], high: Sequence[float], css: str
    ) -> Markup:
        """The filled area between a lower and an upper line."""
        upper = [(self.across(a), self.down(b)) for a, b in zip(x, high, strict=True)]
        lower = [(self.across(a), self.down(b)) for a, b in zip(x, low, strict=True)]
        return element("polygon", class_=css, points=joined([*upper, *reversed(lower)]))

    def whisker(self, x: float, low: float, high: float, css: str) -> Markup:
        """A vertical line for an interval."""
        at = f"{self.across(x):.2f}"
        top, bottom = f"{self.down(high):.2f}", f"{self.down(low):.2f}"
        return element("line", class_=css, x1=at, x2=at, y1=top, y2=bottom)

    def dot(self, x: float, y: float, css: str, **more: str) -> Markup:
        """A filled circle, with ``more`` attributes."""
        across, down = f"{self.across(x):.2f}", f"{self.down(y):.2f}"
        return element("circle", class_=css, cx=across, cy=down, r="4.5", **more)

    def upright(self, x: float, css: str, **more: str) -> Markup:
        """A vertical line from the bottom to the top of the chart, with ``more`` attributes."""
        at = f"{self.across(x):.2f}"
        return element("line", class_=css, x1=at, x2=at, y1=TOP, y2=HEIGHT - BOTTOM, **more)

    def chart(self, title: str, *marks: Markup) -> Markup:
        """The ``<svg>`` element of the axes and some marks."""
        return document(WIDTH, HEIGHT, title, [*_grid(self), *marks])


def document(
    width: float, height: float, title: str, marks: Iterable[Markup], **more: str
) -> Markup:
    """The ``<svg>`` element of some marks, with ``more`` attributes; screen readers say the title.

    Examples
    --------
    >>> print(document(9, 5, "A line", [element("line", x2=9, y2=5)]))
    <svg viewBox="0 0 9 5" role="img" aria-label="A line">
    <line x2="9" y2="5"/>
    </svg>
    """
    box = f"0 0 {width} {height}"
    return element("svg", lines(marks), viewBox=box, role="img", **more, aria_label=title)


def joined(points: Iterable[tuple[float, float]]) -> str:
    """The corners of a line or an area as an attribute of SVG."""
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in points)


def unit_axis(title: str) -> Axis:
    """An axis from 0 to 1."""
    return Axis(title, 0.0, 1.0, tuple((k / 5, f"{k / 5:.1f}") for k in range(6)))


def count_axis(title: str, most: float) -> Axis:
    """An axis from 0 to at least ``most``, with about five round ticks.

    Examples
    --------
    >>> [label for _, label in count_axis("passes", 87).ticks]
    ['0', '20', '40', '60', '80', '100']
    """
    return range_axis(title, 0.0, most if most > 0.0 else 1.0)


def range_axis(title: str, low: float, high: float, *, tight: bool = False) -> Axis:
    """An axis of a range, widened to round ticks; with ``tight`` the ticks are inside the range.

    Examples
    --------
    >>> [label for _, label in range_axis("score", -1.3, 2.1).ticks]
    ['-2', '-1', '0', '1', '2', '3']
    """
    if not low < high:
        half = max(0.5, 1e-6 * abs(low))
        low, high = low - half, low + half
    step = round_step((high - low) / 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if tight:
        first, last = math.ceil(low / step), math.floor(high / step)
    ticks = tuple((step * k, _label(step * k)) for k in range(first, last + 1))
    ends = (low, high) if tight else (step * first, step * last)
    return Axis(title, *ends, ticks)


def round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(s * power for s in (1.0, 2.0, 5.0, 10.0) if s * power >= least * (1 - 1e-9))


def power_axis(title: str, values: Sequence[float], floor: float = 1e-12) -> Axis:
    """A logarithmic axis around positive values; values below ``floor`` are at its low end.

    Examples
    --------
    >>> axis = power_axis("gap", [0.5, 2e-3])
    >>> axis.low, axis.high, axis.ticks[-1][1]
    (0.001, 1.0, '10⁻³')
    """
    kept = [max(value, floor) for value in values] or [1.0]
    low, high = math.floor(math.log10(min(kept))), math.ceil(math.log10(max(kept)))
    high = max(high, low + 1)
    every = math.ceil((high - low) / 6)
    ticks = tuple((10.0**k, _power(k)) for k in range(high, low - 1, -every))
    return Axis(title, 10.0**low, 10.0**high, ticks, log=True)


def _power(exponent: int) -> str:
    """A power of ten as a label."""
    if -1 <= exponent <= 2:
        return f"{10.0**exponent:g}"
    return "10" + str(exponent).translate(SUPERSCRIPTS)


def _label(value: float) -> str:
    """The label of a tick; a rounding error around zero is shown as 0."""
    text = f"{value:.6g}"
    return "0" if float(text) == 0.0 else text


def _grid(frame: Frame) -> list[Markup]:
    """Grid lines, tick labels and axis titles, as SVG."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for value, label in frame.x.ticks:
        at = f"{frame.across(value):.2f}"
        parts.append(element("line", class_="grid", x1=at, y1=TOP, x2=at, y2=bottom))
        parts.append(element("text", label, x=at, y=bottom + 16, text_anchor="middle"))
    for value, label in frame.y.ticks:
        at = f"{frame.down(value):.2f}"
        parts.append(element("line", class_="grid", x1=LEFT, y1=at, x2=right, y2=at))
        parts.append(element("text", label, x=LEFT - 6, y=at, dy=4, text_anchor="end"))
    middle_x, middle_y = (LEFT + right) / 2, (TOP + bottom) / 2
    turned = f"translate(12 {middle_y}) rotate(-90)"
    parts.append(
        element(
            "text", frame.x.title, class_="axis", x=middle_x, y=HEIGHT - 6, text_anchor="middle"
        )
    )
    parts.append(
        element("text", frame.y.title, class_="axis", transform=turned, text_anchor="middle")
    )
    return parts
