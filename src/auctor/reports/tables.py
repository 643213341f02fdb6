"""Tables as HTML; every cell is text and escaped unless it is `Html`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


class Html(str):
    """Text that is HTML already."""


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str = "",
    css: str = "",
) -> Html:
    """A table whose first column names the rows.

    Examples
    --------
    >>> print(table(("a", "b"), [("<x>", "1")]))
    <div class="scroll"><table><thead><tr><th scope="col">a</th><th scope="col">b</th></tr></thead>
    <tbody><tr><th scope="row">&lt;x&gt;</th><td>1</td></tr></tbody></table></div>
    """
    title = f'<caption class="hidden">{escape(caption)}</caption>' if caption else ""
    headings = "".join(f'<th scope="col">{cell(text)}</th>' for text in head)
    body = "\n".join(_row(row) for row in rows)
    attribute = f' class="{css}"' if css else ""
    return Html(
        f'<div class="scroll"><table{attribute}>{title}<thead><tr>{headings}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def details(summary: str, content: str) -> Html:
    """Content that opens on demand."""
    return Html(f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>")


def exact(value: float, text: str, name: str = "") -> Html:
    """Rounded text that carries the exact value."""
    attribute = f' id="{name}"' if name else ""
    return Html(f'<data{attribute} value="{value!r}">{escape(text)}</data>')


def cell(text: str) -> str:
    """Text made safe, or HTML as it is."""
    return text if isinstance(text, Html) else escape(text)


def _row(cells: Sequence[str]) -> str:
    first, *others = cells
    rest = "".join(f"<td>{cell(text)}</td>" for text in others)
    return f'<tr><th scope="row">{cell(first)}</th>{rest}</tr>'
