"""Some columns of a file as text, such as ids to write next to predictions."""

from __future__ import annotations

from collections.abc import Sequence

from auctor.core.errors import DataError, ParameterError
from auctor.tables.columns import listed
from auctor.tables.formats import TABLES, format_to_read
from auctor.tables.options import ReadOptions
from auctor.tables.source import Source


def columns_as_text(
    path: str, columns: Sequence[str], options: ReadOptions
) -> dict[str, list[str]]:
    """Some columns of a file as text, by name; a missing value is "".

    Parameters
    ----------
    path : str
        A file; standard input cannot be read twice and is refused.
    """
    if path == "-":
        raise ParameterError(
            "a file, which it reads a second time for the columns to keep; got standard input. "
            "Write the rows to a file first."
        )
    source = Source(path)
    try:
        kind = format_to_read(options.format, source.name)
        source.keep()
        opened = TABLES[kind](source, options) if kind in TABLES else None
        names = () if opened is None else opened.names
        absent = [name for name in columns if name not in names]
        if opened is None or absent:
            raise DataError(
                f"the columns to keep in {source.name}",
                got=f"none named {listed(absent)}",
                todo=f"Choose among {listed(names)}." if names else "Pass a table with names.",
            )
        # Reading all of them as categories keeps the text as it is written.
        kinds = ["category" if name in columns else "skip" for name in names]
        order = [name for name in names if name in columns]
        found: dict[str, list[str]] = {name: [] for name in columns}
        for block in opened.blocks(kinds):
            for k, name in enumerate(order):
                words = [*block.words[k], ""]
                found[name] += [words[code] for code in block.codes[:, k].tolist()]
        return found
    finally:
        source.close()
