"""Notebooks of the pages of the gallery to begin with, from their scripts.

``python docs/tools/notebooks.py`` writes ``docs/notebooks`` again after a change of a script. They
have no output: the pages of the site show what the code prints and draws.
"""

import json
from pathlib import Path

from gallery_pages import FOLDER, Part, split

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
#: Scripts of the gallery that have a notebook.
CHOSEN = ("scorecard", "fraud", "auc_or_log_loss")


def notebook(script: Path) -> str:
    """A script as a notebook: a cell of text and one of code for each part."""
    cells = []
    for k, part in enumerate(split(script.read_text(encoding="utf-8"))):
        cells += [_cell(f"{k}-{kind}", kind, text) for kind, text in _texts(k, part) if text]
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _texts(k: int, part: Part) -> list[tuple[str, str]]:
    title, _, rest = part.text.partition("\n")
    text = f"# {title}\n{rest}" if k == 0 else part.text
    return [("markdown", text.strip()), ("code", part.code.strip())]


def _cell(name: str, kind: str, text: str) -> dict[str, object]:
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    source = text.splitlines(keepends=True)
    return {"cell_type": kind, "id": name, "metadata": {}, **more, "source": source}


if __name__ == "__main__":
    NOTEBOOKS.mkdir(exist_ok=True)
    for name in CHOSEN:
        text = notebook(FOLDER / f"{name}.py")
        (NOTEBOOKS / f"{name}.ipynb").write_text(text, encoding="utf-8")
