"""SQL that reads the columns of a table as `predict` does: text trimmed, blanks missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from auctor.additive.ranges import sql_literal, sql_name
from auctor.tables.columns import MISSING
from auctor.tables.schema import KEEP, Column

#: What is removed around text: tabs and the spaces of Unicode. Line ends would change the file.
SPACES = "\t" + "".join(chr(k) for k in range(32, 0x3001) if chr(k).isspace() and k != 0x85)
SPACES = SPACES.replace("\u2028", "").replace("\u2029", "")
#: Characters of numbers; other text is none.
DIGITS = "+-.0123456789Ee"
_MISSING = f"({', '.join(map(sql_literal, sorted(MISSING)))})"


def as_read(terms: Iterable[str], columns: Sequence[Column]) -> Iterator[str]:
    """The lines of an expression over the columns of ``source``, read as `predict` reads them.

    Numbers may be stored as text. Without a row that can be read, the expression is NULL: `predict`
    refuses text that is no number.
    """
    lines = list(terms)
    # LIMIT keeps databases from writing what reads a column into each place that names it.
    used = [one for one in columns if any(sql_name(one.name) in line for line in lines)]
    if not used:
        yield from lines
        return
    yield "(SELECT"
    yield from (f"  {line}" for line in lines)
    yield "  FROM (SELECT"
    yield ",\n".join(f"    {_value(one)} AS {sql_name(one.name)}" for one in used)
    yield "    FROM (SELECT"
    yield ",\n".join(f"      {_text(one)} AS {sql_name(one.name)}" for one in used)
    yield "    LIMIT 1) words"
    tests = [_readable(one) for one in used if one.kind != "category"]
    if tests:
        yield "    WHERE " + "\n    AND ".join(tests)
    yield "  LIMIT 1) found)"


def _text(column: Column) -> str:
    """A column as text without spaces around it; whole numbers without a decimal point."""
    plain = f"CAST(source.{sql_name(column.name)} AS VARCHAR)"
    if column.kind == "category":
        cut = f"SUBSTR({plain}, 1, LENGTH({plain}) - 2)"
        if any(level.lstrip("-").isdigit() for level in column.levels or ()):
            plain = f"CASE WHEN {plain} LIKE '%.0' THEN {cut} ELSE {plain} END"
    return f"TRIM({plain}, {sql_literal(SPACES)})"


def _value(column: Column) -> str:
    """The value of a column from its text, with missing values filled."""
    name = sql_name(column.name)
    if column.kind == "category":
        value = f"CASE WHEN LOWER({name}) NOT IN {_MISSING} THEN {name} END"
    else:
        value = (
            f"CASE WHEN LOWER({name}) = 'true' THEN 1.0 WHEN LOWER({name}) = 'false' THEN 0.0 "
            f"WHEN {name} <> '' AND {_is_number(name)} THEN CAST(source.{name} AS DOUBLE PRECISION)"
            " END"
        )
    return filled(column, value)


def _readable(column: Column) -> str:
    """Whether the text of a column of numbers is a number or missing."""
    name = sql_name(column.name)
    words = f"LOWER({name}) IN ({_MISSING[1:-1]}, 'true', 'false')"
    return f"({name} IS NULL OR {words} OR {_is_number(name)})"


def _is_number(name: str) -> str:
    return f"TRIM({name}, '{DIGITS}') = ''"


def filled(column: Column, value: str) -> str:
    """A value of a column, with missing values filled."""
    fill: Any = column.fill
    kept = KEEP if column.kind != "category" else ""  # a missing value stays, or is no category
    return value if fill is None or fill == kept else f"COALESCE({value}, {sql_literal(fill)})"
