"""What MkDocs calls while it builds the site: pages made from code, results and scripts."""

import os
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import latex2mathml.converter
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

import api_pages
import gallery_pages
import option_pages
import result_pages

ROOT = Path(__file__).parents[2]
#: What arithmatex makes of formulas: a place, and the formula between brackets with backslashes.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
#: Set it to 0 to build the site without running the gallery.
RUN_GALLERY = "AUCTOR_DOCS_GALLERY"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made, not written."""
    for name, content in made():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

    def drawn(found: re.Match[str]) -> str:
        display = "block" if found[2] == "[" else "inline"
        return str(latex2mathml.converter.convert(unescape(found[3]).strip(), display=display))

    return FORMULA.sub(drawn, html)


def made() -> Iterator[tuple[str, str]]:
    """Names and contents of the pages."""
    yield from gallery(execute=os.environ.get(RUN_GALLERY, "1") != "0")
    for module, page in api_pages.make_pages().items():
        yield f"api/{module}.md", page
    yield "options.md", option_pages.make_page()
    yield "benchmarks.md", result_pages.make_page()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    yield "changelog.md", changelog


def gallery(*, execute: bool) -> Iterator[tuple[str, str]]:
    """The gallery's pages and figures."""
    if execute:
        gallery_pages.prepare_drawing()
    pages = {}
    for script in gallery_pages.scripts():
        page = gallery_pages.make_page(script, execute=execute)
        pages[script.stem] = page
        yield f"gallery/{script.stem}.md", page.markdown
        for name, drawn in page.figures.items():
            yield f"gallery/{name}", drawn
    yield "gallery/index.md", gallery_pages.make_index(pages)
