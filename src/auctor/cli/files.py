"""Files that a command reads and writes: refused before any work where they clash."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def check_outputs(
    who: str, outs: Iterable[str | Path | None], inputs: Iterable[str | Path | None]
) -> None:
    """Refuse, before any work, to write over a file that is read, or two files to one place.

    ``None`` and "-" stand for no file.
    """
    from auctor.core.errors import ParameterError

    taken = {_place(path) for path in inputs if path not in (None, "-")}
    for out in outs:
        if out in (None, "-"):
            continue
        if _place(out) in taken:
            raise ParameterError(
                who, needs="another file to write to", got=f"{out} twice", todo="Pass another name."
            )
        taken.add(_place(out))


def seen_note(notes: Mapping[str, Any], data: str, rows: int) -> str | None:
    """What to say where the rows to measure on seem to be those that the model was trained on.

    Examples
    --------
    >>> seen_note({"source": "a/rows.csv", "source_rows": 9}, "rows.csv", 8) is None
    True
    """
    if (notes.get("source_rows"), Path(str(notes.get("source"))).name) != (rows, Path(data).name):
        return None
    return (
        f"{data} has the name and the number of rows of the file that the model was trained on; if "
        "it is the same, these numbers are too good. Measure on rows that it has not seen."
    )


def check_page(who: str, report: Path | None) -> None:
    """Refuse a report whose name says that it is something else than a page of HTML."""
    from auctor.core.errors import ParameterError

    if report is not None and report.suffix.lower() not in ("", ".html", ".htm"):
        raise ParameterError(
            who,
            needs="a name ending in .html for the report",
            got=report,
            todo="Write .html, and print it from a browser for another format.",
        )


def check_other(who: str, data: str, test: str | Path | None) -> None:
    """Refuse to measure on the file that is trained on, as if its rows were new."""
    from auctor.core.errors import ParameterError

    if test is not None and data != "-" and _place(data) == _place(test):
        raise ParameterError(
            who,
            needs="other rows than those of training for --test",
            got=f"{test} twice",
            todo="Leave out --test: a fifth of the rows is then held out.",
        )


def _place(path: Any) -> object:
    """The same for all names of a file, whether it exists or not."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    except ValueError:  # a null byte, refused later
        return path
    return found.st_dev, found.st_ino
