"""What a check of a table says about its columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from auctor.core.errors import Option
from auctor.core.types import Array, FloatArray
from auctor.tables.columns import listed
from auctor.tables.infer import Note
from auctor.tables.options import reading_option

#: Smallest number of rows for findings about distinct values.
FEW_ROWS = 20
#: Most columns that the value of an option names.
MOST_NAMED = 8


class Finding(NamedTuple):
    """A finding about a column: its kind, how the column is used, and what the user can do."""

    column: str
    kind: str
    note: Note


class ColumnView(NamedTuple):
    """One column as it was read: numbers, or codes of words with the counts of the words."""

    name: str
    numbers: FloatArray | None
    codes: Array
    words: list[str]
    counts: dict[str, int]
    #: Whether all values are whole numbers and the file does not store them as floating point.
    whole: bool


def found_in(
    seen: ColumnView, kind: str, does: str, todo: str, option: str | Option, *, warns: bool = False
) -> Finding:
    """A finding; the name of an option stands for that option with the column as its value."""
    named = reading_option(option, [seen.name]) if isinstance(option, str) else option
    return Finding(seen.name, kind, Note(does, todo, named, warns=warns))


def merged(every_finding: Sequence[Finding]) -> list[Finding]:
    """Findings of one kind with the same option as one, which names all of their columns."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for finding in every_finding:
        option = finding.note.option
        alike.setdefault((finding.kind, getattr(option, "name", "")), []).append(finding)
    return [_together(findings) for findings in alike.values()]


def _together(findings: Sequence[Finding]) -> Finding:
    """The first finding, with the names of the columns of the others."""
    first, *others = findings
    note, option = first.note, first.note.option
    if not others:
        return first
    names = listed([repr(finding.column) for finding in others])
    also = f"{note.does.removesuffix('.')}; the same holds for {names}."
    if isinstance(option, Option) and isinstance(option.value, list | dict):
        kind = type(option.value)
        joined: dict[str, Any] = {}
        for one in findings:
            joined |= dict(_pairs(one.note.option))
        # Too many columns to name are a parameter without its value.
        option = option._replace(value=kind(joined) if len(joined) <= MOST_NAMED else None)
    return Finding(first.column, first.kind, note._replace(does=also, option=option))


def _pairs(option: Any) -> list[tuple[str, Any]]:
    """The columns that an option names, with what it says of each."""
    value = option.value
    return list(value.items() if isinstance(value, dict) else dict.fromkeys(value).items())
