"""The API reference covers every public name, and turns docstrings into Markdown."""

import importlib

import pytest


@pytest.fixture(scope="module")
def pages():
    pytest.importorskip("matplotlib")
    import api_pages

    return api_pages.make_pages()


def test_every_public_name_is_covered(pages):
    import api_pages

    for page, modules in api_pages.MODULES.items():
        for module in map(importlib.import_module, modules):
            for name in api_pages.public_names(module):
                anchor = f"{module.__name__}.{name}"
                assert f"## {name} {{ #{anchor} }}" in pages[page], anchor
                assert f"{page}.md#{anchor})" in pages["index"]


def test_every_public_name_says_something(pages):
    for page, text in pages.items():
        if page == "index":
            continue
        for entry in text.split("\n## ")[1:]:
            prose = [x for x in entry.split("\n\n")[1:] if not x.startswith(("```python", "- `"))]
            assert prose, entry[:80]


def test_lists_tables_and_examples():
    from api_pages import to_markdown

    text = to_markdown(
        "One line.\n\nParameters\n----------\na, b : int > 0\n    What they are:\n\n"
        "    ===  ===\n    x    y\n    ===  ===\n\nc\n\nExamples\n--------\n>>> 1 + 1\n2\n"
    )
    assert text.startswith(
        "One line.\n\n**Parameters**\n\n- `a`, `b`: int > 0\n\n    What they are:"
    )
    assert "    ```text\n    ===  ===\n    x    y\n    ===  ===\n    ```\n\n- `c`" in text
    assert text.endswith("**Examples**\n\n```pycon\n>>> 1 + 1\n2\n```")


def test_options_of_every_command():
    pytest.importorskip("typer")
    import option_pages

    from auctor.cli.app import COMMANDS

    page = option_pages.make_page()
    for name in COMMANDS:
        assert f"## auctor {name}\n" in page
    assert "`--json`" in page


def test_inherited_methods_are_named(pages):
    entry = pages["auctor"].partition("{ #auctor.MetricClassifierCV }")[2].partition("\n## ")[0]
    inherited = "- Inherited from [`MetricClassifier`](#auctor.MetricClassifier): "
    assert inherited in entry
    line = entry.partition(inherited)[2].partition("\n")[0]
    assert {"`fit`", "`predict`", "`decision_function`"} <= set(line.rstrip(".").split(", "))
    assert "- Inherited from scikit-learn: `get_metadata_routing`, `get_params`" in entry
