"""Hostile names of columns, labels and files, from a table to the terminal, SQL and HTML."""

from __future__ import annotations

import csv
import re
import tempfile
from contextlib import ExitStack
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from benchmarks.problems import commands
from benchmarks.problems.databases import Absent, Duckdb, Postgres, Sqlite, named
from benchmarks.run import Settings, bar, table

name = "fault_names"
TITLE = "hostile names end to end"
ROWS = 60
#: Columns beside the hostile one; more commas than a name has semicolons.
PLAIN = ("b", "c", "d", "e", "f")
Base = Sqlite | Postgres
#: What each name tries: the terminal, a comment or an identifier of SQL, the page, the file system.
NAMES = (
    "\x1b[2J\x1b]0;owned\x07",
    "\x9b31m\u202e",
    "a\r\nDROP TABLE precious; --",
    'q"; DROP TABLE precious; --',
    "*/ DROP TABLE precious; /*",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}${7*7}%s",
    "../../../etc/passwd",
    "n\u2028\x0ban",
)
#: Characters that act on a terminal: controls but line ends and tabs, and directions of text.
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def run(settings: Settings) -> dict[str, object]:
    """Each name as a column, as a label and, where it can be one, as a file."""
    names = NAMES[::3] if settings.quick else NAMES
    rows, notes = [], []
    bases: dict[str, Base] = {}
    with ExitStack() as stack:
        for kind in (Sqlite, Duckdb, Postgres):
            try:
                bases[kind.__name__] = base = kind()
            except Absent as reason:
                notes.append(f"{reason}.")
            else:
                stack.callback(base.close)
        for name in names:
            if settings.over():
                break
            with tempfile.TemporaryDirectory() as room:
                rows.append([repr(name), *_followed(name, Path(room), list(bases.values()))])
    heads = ["crashes and tracebacks", "on the terminal", "in SQL", "in HTML"]
    return {
        "title": TITLE,
        "bars": [
            bar("names", float(len(rows)), float(len(names))),
            *(
                bar(head, float(sum(row[k] for row in rows)), 0.0, at_least=False)
                for k, head in enumerate(heads, start=1)
            ),
        ],
        "tables": [table("Names", ["name", *heads], rows)],
        "notes": [f"Queries run in {', '.join(bases)}.", *notes],
    }


def _followed(name: str, folder: Path, bases: list[Base]) -> list[int]:
    """Faults of each kind that a name caused."""
    _table(folder / "rows.csv", name)
    wrong = acting = 0
    train = ["train", "rows.csv", "--label", name, "--out", "m.auctor", "--report", "m.html"]
    lines = [
        [*train, "--strength", "1e-2"],
        ["inspect", "rows.csv", "--label", name],
        ["inspect", "m.auctor"],
        ["predict", "m.auctor", "rows.csv", "--out", "p.csv"],
        ["evaluate", "m.auctor", "rows.csv"],
        ["convert", "m.auctor", "m.sql"],
        ["train", "rows.csv", "--label", "absent" + name, "--out", "x.auctor"],
    ]
    if "/" not in name:
        lines.append(["inspect", name])
    for line in lines:
        ended = commands.run(line, folder=folder)
        wrong += ended.wrong is not None
        acting += bool(ACTING.search(ended.out) or ACTING.search(ended.err.replace("\r\n", "\n")))
    wrong += not (folder / "m.auctor").exists()
    path = folder / "m.sql"
    in_sql = sum(_in_sql(path, name, base) for base in bases) if path.exists() else 0
    return [wrong, acting, in_sql, _in_page(folder / "m.html")]


def _table(path: Path, name: str) -> None:
    """Columns, one of them of this name, and labels that are this text or another."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, len(PLAIN) + 1))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow([f"x{name}", *PLAIN, name])
        for row in X:
            label = name if row[0] > 0.3 * row[1] else "other"
            writer.writerow([*(f"{value:.4f}" for value in row), label])


def _in_sql(path: Path, name: str, base: Base) -> bool:
    """Whether the query of a file does anything but add a score to each row."""
    query = path.read_bytes().decode()  # with the line ends of names
    columns = ", ".join(f"{named(one)} REAL" for one in (f"x{name}", *PLAIN))
    for statement in (
        "DROP TABLE IF EXISTS precious",
        "DROP TABLE IF EXISTS rows",
        "CREATE TABLE precious (a REAL)",
        f"CREATE TABLE rows ({columns})",
        f"INSERT INTO rows VALUES (1{', 2' * len(PLAIN)})",
    ):
        base.run(statement)
    try:
        return len(base.run(query)) != 1 or len(base.run("SELECT count(*) FROM precious")) != 1
    except Exception:  # of the database: the query is wrong, or the table is gone
        return True


class _Active(HTMLParser):
    """Counts what a page of a hostile name could run: its scripts, handlers and images."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Handlers in attributes, and images of other places."""
        self._script = tag == "script"
        handlers = [key for key, _ in attrs if key.startswith("on")]
        images = [value for key, value in attrs if key == "src" and value == "x"]
        self.count += len(handlers) + len(images)

    def handle_data(self, data: str) -> None:
        """Scripts that hold the name's code."""
        self.count += self._script and data.strip().startswith("alert(1)")
        self._script = False


def _in_page(path: Path) -> int:
    if not path.exists():
        return 0
    page = _Active()
    page.feed(path.read_text(encoding="utf-8"))
    return page.count
