"""Elements and tables: attributes, escaping, and that no other file joins markup by hand."""

import ast
import re
from pathlib import Path

from auctor.core.markup import Markup, element, fact_table, table
from auctor.reports.html.svg import document

SOURCE = Path(__file__).parents[2] / "src" / "auctor"
#: A tag of HTML or SVG that a text starts, with an attribute or an end.
TAG = re.compile(r"</?(a|div|p|span|table|tbody|thead|tr|t[dh]|svg|g|path|poly\w+|rect|circle)\b")


def test_text_and_attributes_are_escaped_and_markup_is_not():
    assert element("b", "<i>", Markup("<i>"), title='"') == '<b title="&quot;">&lt;i&gt;<i></b>'
    assert element("td", "") == "<td></td>"
    assert element("rect", class_="a", fill_opacity=0.5) == '<rect class="a" fill-opacity="0.5"/>'
    # What an element returns is the content of another one.
    assert element("g", element("b", "&")) == "<g><b>&amp;</b></g>"


def test_tables_and_drawings_escape_what_users_named():
    hostile = "</td><script>"
    for shown in (
        fact_table({hostile: hostile}),
        table([hostile], [[hostile]]),
        document(1, 1, hostile, [element("text", hostile)]),
    ):
        assert hostile not in shown
        assert shown.count("&lt;/td&gt;&lt;script&gt;") == 2


def test_a_drawing_without_marks_is_still_an_element():
    assert document(1, 2, "x", []) == ('<svg viewBox="0 0 1 2" role="img" aria-label="x">\n</svg>')


def joined_markup(tree):
    """Texts of a file, other than docstrings, with a tag."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        if TAG.search(node.value)
    ]


def test_markup_is_made_by_templates_and_by_elements_alone():
    assert joined_markup(ast.parse("def f():\n    '<td>'\n    return f'<td>{x}</td>'")) != []
    assert joined_markup(ast.parse("def f():\n    '<td>'\n    return '<who> needs'")) == []
    found = {
        str(path.relative_to(SOURCE)): joined_markup(ast.parse(path.read_text(encoding="utf-8")))
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "core" / "markup.py"
    }
    assert {path: texts for path, texts in found.items() if texts} == {}
