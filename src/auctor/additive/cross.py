"""The points of a pair of columns as a cross table: levels of one down, of the other across."""

from __future__ import annotations

from typing import Any, NamedTuple

from auctor.core.markup import Markup, element
from auctor.core.markup import table as html_table
from auctor.core.types import Array


class CrossTable(NamedTuple):
    r"""The points of a pair of columns.

    Parameters
    ----------
    columns : (str, str)
        The column whose ranges are the rows, and the one whose ranges are the columns.
    down, across : tuple of str
        The ranges.
    points : (rows, columns) array

    Examples
    --------
    >>> import numpy as np
    >>> points = np.eye(2, dtype=int)
    >>> cross = CrossTable(("age", "city"), ("<= 30", "> 30"), ("Oslo", "Rome"), points)
    >>> print(cross)
    age \ city  Oslo  Rome
    <= 30          1     0
    > 30           0     1
    """

    columns: tuple[str, str]
    down: tuple[str, ...]
    across: tuple[str, ...]
    points: Array

    @property
    def title(self) -> str:
        """The names of both columns."""
        return " x ".join(self.columns)

    def lines(self) -> list[list[str]]:
        """The cells as text, the first line and column being the ranges."""
        head = [" \\ ".join(self.columns), *self.across]
        body = zip(self.down, self.points.tolist(), strict=True)
        return [head, *([name, *map(_short, points)] for name, points in body)]

    def __str__(self) -> str:
        lines = self.lines()
        wide = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if k else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(line, wide, strict=True))
            ).rstrip()
            for line in lines
        )

    def to_dataframe(self) -> Any:
        """The points as a pandas DataFrame, with the ranges as its index and columns."""
        import pandas as pd

        index, columns = pd.Index(self.down, name=self.columns[0]), pd.Index(self.across)
        return pd.DataFrame(self.points, index, columns.rename(self.columns[1]))

    def to_html(self) -> Markup:
        """The table as HTML, without styles."""
        head, *rows = self.lines()
        return Markup(element("h4", self.title) + html_table(head, rows))

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return markdown(self.lines())


def markdown(lines: list[list[str]]) -> str:
    r"""Lines of cells, the first being the head, as a table in Markdown.

    Examples
    --------
    >>> print(markdown([["range", "points"], ["a|b", "1"]]))
    | range | points |
    | --- | ---: |
    | a\|b | 1 |
    """
    rule = ["---", *["---:"] * (len(lines[0]) - 1)]
    cells = [lines[0], rule, *lines[1:]]
    return "\n".join(
        "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in line) + " |"
        for line in cells
    )


def _short(points: float) -> str:
    """Whole points as they are, others with four digits."""
    return str(points) if isinstance(points, int) else f"{points:.4g}"
