"""Pages from gallery scripts: text and code in their order, with what the code printed and drew.

A script starts with a docstring, whose first line is the title. ``# %%`` starts a part: comment
lines, which are Markdown, then code.
"""

import ast
import io
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "gallery"
MARK = "# %%"


class Part(NamedTuple):
    """Text in Markdown, then code; ``line`` is where the code starts in the file."""

    text: str
    code: str
    line: int


class Page(NamedTuple):
    """A page in Markdown, its figures by file name, and the names its code left behind."""

    title: str
    summary: str
    markdown: str
    figures: dict[str, str]
    names: dict[str, Any]
    seconds: float


def scripts() -> list[Path]:
    """The scripts of the gallery."""
    return sorted(FOLDER.glob("*.py"))


def split(source: str) -> list[Part]:
    """The parts of a script; the first one's text is the docstring."""
    lines = source.splitlines()
    docstring = ast.parse(source).body[0]
    assert isinstance(docstring, ast.Expr)
    assert docstring.end_lineno is not None
    starts = [k for k, line in enumerate(lines) if line == MARK]
    ends = [*starts, len(lines)]
    first = docstring.end_lineno
    parts = [Part(ast.get_docstring(ast.parse(source)) or "", *_code(lines, first, ends[0]))]
    for start, end in zip(starts, ends[1:], strict=True):
        stop = start + 1
        while stop < end and lines[stop].startswith("#"):
            stop += 1
        text = "\n".join(line[1:].removeprefix(" ") for line in lines[start + 1 : stop])
        parts.append(Part(text, *_code(lines, stop, end)))
    return parts


def _code(lines: list[str], start: int, end: int) -> tuple[str, int]:
    """Lines of code without blank ones around them, and where they start."""
    while start < end and not lines[start].strip():
        start += 1
    return "\n".join(lines[start:end]).rstrip(), start


def make_page(script: Path, *, execute: bool = True) -> Page:
    """Run a script part by part and write down what it prints and draws."""
    parts = split(script.read_text(encoding="utf-8"))
    title, _, introduction = parts[0].text.partition("\n")
    out = [f"# {title.rstrip('.')}", introduction.strip()]
    figures: dict[str, str] = {}
    names: dict[str, Any] = {"__name__": f"gallery_{script.stem}", "__file__": str(script)}
    start = time.perf_counter()
    for k, part in enumerate(parts):
        if k:
            out.append(part.text)
        if not part.code:
            continue
        out.append(f"```python\n{part.code}\n```")
        if execute:
            printed = _run(part, script, names)
            if printed:
                out.append(f"```text\n{printed.rstrip()}\n```")
            for drawn in _figures():
                name = f"{script.stem}_{len(figures) + 1}.svg"
                figures[name] = drawn
                out.append(f"![Figure {len(figures)} of this page]({name}){{ .figure }}")
    seconds = time.perf_counter() - start
    out.append(f"The whole script: `docs/gallery/{script.name}`.")
    summary = introduction.strip().partition("\n\n")[0].replace("\n", " ")
    return Page(title.rstrip("."), summary, "\n\n".join(out) + "\n", figures, names, seconds)


def _run(part: Part, script: Path, names: dict[str, Any]) -> str:
    """What a part prints."""
    printed = io.StringIO()
    code = compile("\n" * part.line + part.code, str(script), "exec")
    with redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def _figures() -> list[str]:
    """Open figures as SVG, closed afterwards."""
    import matplotlib.pyplot as plt

    drawn = []
    for number in plt.get_fignums():
        text = io.StringIO()
        plt.figure(number).savefig(text, format="svg", metadata={"Date": None})
        drawn.append(text.getvalue())
    plt.close("all")
    return drawn


def prepare_drawing() -> None:
    """Draw to memory, the same bytes every time, with the text of figures as text."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "auctor",
            "figure.figsize": (7.0, 3.4),
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.3,
        }
    )


def make_index(pages: dict[str, Page]) -> str:
    """The page that lists the others."""
    out = [
        "# Gallery",
        "Scripts that were run when this site was built; what they print and draw is shown as it "
        "came. The data come with scikit-learn or are generated, so that every page runs anywhere. "
        "The tests run them too.",
    ]
    out += [f"## [{page.title}]({name}.md)\n\n{page.summary}" for name, page in pages.items()]
    return "\n\n".join(out) + "\n"
