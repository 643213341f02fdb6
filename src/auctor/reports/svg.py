"""Line charts as inline SVG, coloured by the page's style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 360, 270
LEFT, RIGHT, TOP, BOTTOM = 52, 18, 12, 42


class Line(NamedTuple):
    """One series; ``style`` picks its colour and dashes."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: int


class Axis(NamedTuple):
    """A range with a title, tick positions and their labels; ``log`` for powers of ten."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies on the axis, 0 at the low end and 1 at the high end."""
        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            value = math.log10(max(value, self.low))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low)))


def unit_axis(title: str) -> Axis:
    """From 0 to 1."""
    ticks = tuple((k / 5, f"{k / 5:.1f}") for k in range(6))
    return Axis(title, 0.0, 1.0, ticks)


def count_axis(title: str, most: float) -> Axis:
    """From 0 to at least ``most``, with about five round ticks.

    Examples
    --------
    >>> [label for _, label in count_axis("passes", 87).ticks]
    ['0', '20', '40', '60', '80', '100']
    """
    step = 10.0 ** math.floor(math.log10(max(most, 1.0)))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if most / s <= 5)
    count = max(1, math.ceil(most / step))
    return Axis(
        title, 0.0, step * count, tuple((step * k, f"{step * k:g}") for k in range(count + 1))
    )


def power_axis(title: str, values: Sequence[float], floor: float = 1e-12) -> Axis:
    """Powers of ten around positive values; smaller ones are drawn at the low end.

    Examples
    --------
    >>> axis = power_axis("gap", [0.5, 2e-3])
    >>> axis.low, axis.high
    (0.001, 1.0)
    """
    kept = [max(value, floor) for value in values] or [1.0]
    low, high = math.floor(math.log10(min(kept))), math.ceil(math.log10(max(kept)))
    high = max(high, low + 1)
    every = math.ceil((high - low) / 6)
    ticks = tuple((10.0**k, f"1e{k}" if k else "1") for k in range(high, low - 1, -every))
    return Axis(title, 10.0**low, 10.0**high, ticks, log=True)


def chart(title: str, lines: Sequence[Line], x: Axis, y: Axis, *, diagonal: bool = False) -> str:
    """An ``<svg>`` element; the diagonal of chance is optional."""
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        *_grid(x, y),
    ]
    if diagonal:
        parts.append(_polyline([(LEFT, _down(y)(0.0)), (WIDTH - RIGHT, _down(y)(1.0))], "chance"))
    for line in lines:
        points = [(_across(x)(a), _down(y)(b)) for a, b in zip(line.x, line.y, strict=True)]
        css = f"line s{line.style}"
        if len(points) == 1:
            css += " dot"
        parts.append(_polyline(points, css))
    parts.append("</svg>")
    return "\n".join(parts)


def _across(axis: Axis) -> Callable[[float], float]:
    return lambda value: LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _down(axis: Axis) -> Callable[[float], float]:
    return lambda value: HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)


def _polyline(points: Sequence[tuple[float, float]], css: str) -> str:
    text = " ".join(f"{a:.2f},{b:.2f}" for a, b in points)
    return f'<polyline class="{css}" points="{text}"/>'


def _grid(x: Axis, y: Axis) -> list[str]:
    """Grid lines, tick labels and axis titles."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for value, label in x.ticks:
        at = f"{_across(x)(value):.2f}"
        parts.append(f'<line class="grid" x1="{at}" y1="{TOP}" x2="{at}" y2="{bottom}"/>')
        parts.append(f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
    for value, label in y.ticks:
        at = f"{_down(y)(value):.2f}"
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{at}" x2="{right}" y2="{at}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at}" dy="4" text-anchor="end">{label}</text>')
    middle_x, middle_y = (LEFT + right) / 2, (TOP + bottom) / 2
    parts.append(
        f'<text class="axis" x="{middle_x}" y="{HEIGHT - 6}" text-anchor="middle">'
        f"{escape(x.title)}</text>"
    )
    parts.append(
        f'<text class="axis" transform="translate(12 {middle_y}) rotate(-90)" '
        f'text-anchor="middle">{escape(y.title)}</text>'
    )
    return parts
