"""Reading all or the first rows of a table into memory, and inferring their schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.core.errors import DataError, ParameterError
from auctor.core.memory import check_memory
from auctor.core.types import Array
from auctor.tables.blocks import GROWTH_FACTOR, Block, TableFile
from auctor.tables.check import check_columns, leave_out_unique
from auctor.tables.columns import listed
from auctor.tables.formats import TABLES, format_to_read
from auctor.tables.infer import (
    Note,
    first_kinds,
    infer,
    leave_out_empty,
    note_amounts,
    note_dates,
    note_filled,
    note_long_integers,
    note_text,
)
from auctor.tables.options import IN_PARTS, ReadOptions
from auctor.tables.schema import ColumnSummary, Schema
from auctor.tables.source import Source
from auctor.tables.stats import ColumnStats


def find_schema(
    file: TableFile, name: str, options: ReadOptions, notes: list[Note], labels: Array | None = None
) -> tuple[Block, Schema, tuple[ColumnSummary, ...]]:
    """The rows of a table, the schema inferred from them, and a summary of each column.

    Parameters
    ----------
    name : str
        Name of the file, for messages.
    options : ReadOptions
        With ``sample_rows`` only that many first rows are read.
    notes : list of Note
        Warnings for the user are appended to it.
    labels : array, optional
        Labels of a table without a label column, for the check of its columns.
    """
    kinds = first_kinds(file, options, name)
    rows = None
    if options.sample_rows:
        rows = min(options.sample_rows, options.most_rows(len(file.names)))
    whole = gathered(file, kinds, options, strict=False, rows=rows)
    if file.non_numeric:  # later rows have text in columns whose first rows are numbers
        for k in file.non_numeric:
            kinds[k] = "category"
        whole = gathered(file, kinds, options, rows=rows)
    stats = _stats_of(whole)
    if options.missing_rule != "zero" and leave_out_empty(stats, file, kinds, name, notes):
        whole = gathered(file, kinds, options, rows=rows)
        stats = _stats_of(whole)
    if options.check and leave_out_unique(stats, file, kinds, options, notes):
        whole = gathered(file, kinds, options, rows=rows)
        stats = _stats_of(whole)
    if options.check:
        known = whole.labels if labels is None else labels
        findings = check_columns(whole, stats, file, kinds, known, options)
        notes += [finding.note for finding in findings]
    notes += note_text(stats, file, kinds, name, options.decimal)
    if rows is None:
        notes += note_long_integers(stats, file, kinds, name)
    schema, summary = infer(stats, file, kinds, options, name, whole.numbers)
    notes += note_dates(schema, name) + note_amounts(schema, options)
    if options.missing_rule == "auto":
        notes += note_filled(summary, name)
    return whole, schema, summary


def _stats_of(block: Block) -> ColumnStats:
    """Statistics of the columns of one block."""
    stats = ColumnStats()
    stats.add(block)
    return stats


def gathered(
    file: TableFile,
    kinds: Sequence[str],
    options: ReadOptions,
    *,
    strict: bool = True,
    rows: int | None = None,
) -> Block:
    """All rows of a file, or the first ``rows``, as one block.

    With ``strict=False`` the block is empty if a column of numbers has text; such columns are in
    ``file.non_numeric``.
    """
    numbers = _Growing(list(kinds).count("number"), np.float64)
    codes = _Growing(list(kinds).count("category"), np.int32)
    words: list[dict[str, int]] = [{} for _ in range(codes.width)]
    labels: list[Array] = []
    for block in file.blocks(kinds, strict=strict):
        if file.non_numeric:  # read on, to find all such columns, without keeping rows
            numbers.clear()
            codes.clear()
            labels.clear()
            continue
        if rows is not None:
            block = block.part(0, rows - numbers.used)
        numbers.add(block.numbers)
        codes.add(block.recoded(words))
        if block.labels is not None:
            labels.append(block.labels)
        if numbers.used == rows:
            break
    listed_words = [list(known) for known in words]
    joined = np.concatenate(labels) if labels else None
    return Block(numbers.rows(), codes.rows(), listed_words, joined)


class _Growing:
    """An array to which rows are appended; it is resized in place by the factor `GROWTH_FACTOR`."""

    def __init__(self, width: int, kind: Any) -> None:
        self.width, self.used = width, 0
        self._array: Array = np.empty((0, width), kind)

    def add(self, rows: Array) -> None:
        """Append rows."""
        wanted = self.used + rows.shape[0]
        if self._array.shape[0] < wanted:
            capacity = max(wanted, int(GROWTH_FACTOR * self._array.shape[0]))
            size = (capacity - self._array.shape[0]) * self.width * self._array.itemsize
            rows_of = f"{wanted:,} rows of {self.width:,} columns and more"
            check_memory(size, rows_of, todo=IN_PARTS)
            self._array.resize((capacity, self.width), refcheck=False)
        self._array[self.used : wanted] = rows
        self.used = wanted

    def clear(self) -> None:
        """Drop all rows and free their memory."""
        self._array, self.used = np.empty((0, self.width), self._array.dtype), 0

    def rows(self) -> Array:
        """The array, shrunk in place to the rows in use."""
        self._array.resize((self.used, self.width), refcheck=False)
        return self._array


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
        texts: dict[str, list[str]] = {name: [] for name in columns}
        for block in opened.blocks(kinds):
            for k, name in enumerate(order):
                words = [*block.words[k], ""]
                texts[name] += [words[code] for code in block.codes[:, k].tolist()]
        return texts
    finally:
        source.close()
