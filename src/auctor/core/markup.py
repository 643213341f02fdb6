"""Text of others, made safe to show: in HTML and SVG elements, on a terminal, in a comment.

Whole pages are templates of jinja2 (`auctor.reports.html`), which is an extra. The tables that a
notebook shows of a result, and the marks of a drawing, must work without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape

#: Characters that end a line or act on a terminal.
_ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, *, keep: str = "") -> str:
    r"""Text in one line without control characters: each becomes its escape, such as ``\x1b``.

    Names and labels come from files of strangers. On a terminal, an escape sequence can hide text
    or change the clipboard; in an SQL comment, a line end lets the rest be executed.

    Parameters
    ----------
    keep : str
        Characters to leave as they are, such as line ends of text that has several lines.

    Examples
    --------
    >>> print(printable("age\x1b]0;title\x07\r\n\u2028"))
    age\x1b]0;title\x07\r\n\u2028
    """
    return _ACTING.sub(lambda m: m[0] if m[0] in keep else repr(m[0])[1:-1], text)


class Markup(str):
    """Text that is HTML already: `element` does not escape it."""

    __slots__ = ()


def element(name: str, *content: str, **attributes: object) -> Markup:
    """An element with its attributes and content, both escaped; content may be `Markup`.

    Attributes are written in the order of the arguments. An underscore at the end of a name is
    dropped, and others become hyphens. Without content the element ends itself.

    Examples
    --------
    >>> element("text", "a < b", class_="axis", text_anchor="end")
    '<text class="axis" text-anchor="end">a &lt; b</text>'
    >>> element("g", element("line", x1=3))
    '<g><line x1="3"/></g>'
    """
    head = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    if not content:
        return Markup(f"<{head}/>")
    inner = "".join(one if isinstance(one, Markup) else escape(one) for one in content)
    return Markup(f"<{head}>{inner}</{name}>")


def lines(parts: Iterable[Markup]) -> Markup:
    """Elements on a line each, with a line break before the first and after the last."""
    return Markup("".join(f"\n{part}" for part in parts) + "\n")


def fact_table(facts: Mapping[str, str]) -> Markup:
    """Names and values as an HTML table with a row for each name.

    Examples
    --------
    >>> fact_table({"a": "<b>"})
    '<table><tbody><tr><th scope="row">a</th><td>&lt;b&gt;</td></tr></tbody></table>'
    """
    rows = [
        element("tr", element("th", name, scope="row"), element("td", value))
        for name, value in facts.items()
    ]
    return element("table", element("tbody", *rows))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Markup:
    """An HTML table with a row of names above its rows, without styles.

    Examples
    --------
    >>> print(table(["a", "b"], [["1", "<2>"]]))
    <table>
    <tr><th>a</th><th>b</th></tr>
    <tr><td>1</td><td>&lt;2&gt;</td></tr>
    </table>
    """
    first = element("tr", *(element("th", cell) for cell in head))
    others = (element("tr", *(element("td", cell) for cell in row)) for row in rows)
    return element("table", lines([first, *others]))
