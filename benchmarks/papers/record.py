"""Facts about a document, verdicts on its numbers, and the table that lists all of it."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.problems.datasets import MissingDataSet
from benchmarks.run import RESULTS, Settings, bar, table

REPRODUCED, BETTER, NOT, PARTLY = "reproduced", "better", "not reproduced", "partly reproduced"
OPEN = "not measured yet"
#: What a row of the record may say; all but the first two need a reason.
VERDICTS = (
    REPRODUCED, BETTER, PARTLY, NOT, "not run", OPEN, "describes data", "diagram",
    "definition", "proven by a test",
)  # fmt: skip
#: Verdicts that need no reason.
PLAIN = (REPRODUCED, BETTER)
#: A difference in AUC or accuracy that says nothing where no deviation is printed.
SLACK = 0.01


@dataclass(frozen=True)
class Outcome:
    """What became of a table or figure: our numbers in words, a verdict, and why."""

    verdict: str
    ours: str = ""
    why: str = ""


@dataclass(frozen=True)
class Item:
    """A table or figure: what it shows, what it prints, how we differ, and the verdict."""

    name: str
    what: str
    outcome: Outcome
    printed: str = ""
    differs: str = ""


@dataclass(frozen=True)
class Document:
    """A document's title, its tables and figures in order, and printed numbers by name."""

    title: str
    items: list[Item]
    numbers: dict = field(default_factory=dict)


def read(stem: str) -> Document:
    """The facts in ``<stem>.toml``."""
    content = tomllib.loads((Path(__file__).parent / f"{stem}.toml").read_text(encoding="utf-8"))
    items = [
        Item(
            one["name"], one["what"],
            Outcome(one.get("verdict", OPEN), one.get("ours", ""), one.get("why", "")),
            one.get("printed", ""), one.get("differs", ""),
        )
        for one in content["item"]
    ]  # fmt: skip
    return Document(content["title"], items, content.get("numbers", {}))


def measured(wanted: dict[str, Callable[[], object]], settings: Settings) -> tuple[dict, list[str]]:
    """The cells of a section, those that are known first, and what could not be measured."""
    made, notes, left = dict(settings.known), [], []
    with threadpool_limits(1):
        for item, call in wanted.items():
            if item in made or not settings.wants(item):
                continue
            if settings.over():
                left.append(item)
                continue
            try:
                made[item] = call()
            except MissingDataSet as error:
                notes.append(str(error))
                continue
            print(f"   {item}", flush=True)
    return made, [*notes, *([f"out of time before {', '.join(left)}"] if left else [])]


def stored(suite: str, section: str, title: str | None = None) -> list[list]:
    """The rows of a table of another results file; none where that was not measured."""
    path = RESULTS / f"{suite}.json"
    found = json.loads(path.read_text())["sections"].get(section) if path.exists() else None
    for one in found["tables"] if found else ():
        if title is None or one["title"].startswith(title):
            return one["rows"]
    return []


def cells(suite: str, section: str) -> dict:
    """The cells of a section of another results file."""
    path = RESULTS / f"{suite}.json"
    found = json.loads(path.read_text())["sections"].get(section, {}) if path.exists() else {}
    return found.get("cells") or {}


def judged(ours: float | None, printed: float | None, spread: float = SLACK) -> str:
    """Verdict on a number of which more is better, where ``spread`` is chance."""
    if ours is None or printed is None:
        return OPEN if ours is None else "nothing printed"
    if abs(ours - printed) <= spread:
        return REPRODUCED
    return BETTER if ours > printed else NOT


def together(verdicts: Iterable[str], why: str, ours: str = "") -> Outcome:
    """One verdict on a table from those on its numbers, with their counts."""
    counts = Counter(verdicts)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    good = counts[REPRODUCED] + counts[BETTER]
    if not good + counts[NOT]:
        return Outcome(OPEN, ours, why)
    if not counts[NOT]:
        one = BETTER if counts[BETTER] > counts[REPRODUCED] else REPRODUCED
    else:
        one = PARTLY if good else NOT
    return Outcome(one, f"{told}{'; ' if ours else ''}{ours}", why)


def report(
    document: Document, outcomes: dict[str, Outcome], tables: list, cells: dict, notes: list[str]
) -> dict[str, object]:
    """A section of the results: all tables and figures first, then the numbers."""
    unknown = set(outcomes) - {item.name for item in document.items}
    if unknown:
        raise KeyError(f"no such table or figure: {sorted(unknown)}")
    rows, bare, open_ = [], 0, 0
    for item in document.items:
        found = outcomes.get(item.name, item.outcome)
        why = "; ".join(part for part in (item.differs, found.why or item.outcome.why) if part)
        rows.append([item.name, item.what, item.printed, found.ours, found.verdict, why])
        bare += found.verdict not in VERDICTS or (found.verdict not in PLAIN and not why)
        open_ += found.verdict == OPEN
    head = ["table or figure", "what it shows", "printed", "ours", "verdict", "protocol, reason"]
    return {
        "title": document.title,
        "bars": [
            bar("tables and figures without a verdict", open_, 0, at_least=False),
            bar("verdicts without a reason", bare, 0, at_least=False),
        ],
        "tables": [table("Every table and figure", head, rows), *tables],
        "cells": cells,
        "notes": notes,
    }


def shown(mean: float | None, spread: float | None = None, digits: int = 4) -> str:
    """A mean and its deviation."""
    if mean is None:
        return "-"
    return f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")
