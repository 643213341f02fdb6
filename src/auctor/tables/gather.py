"""The rows of a table in memory, all or the first ones, and the schema that they suggest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.core.types import Array
from auctor.tables.blocks import Block, TableFile
from auctor.tables.check import check_columns, leave_out_unique
from auctor.tables.infer import (
    Look,
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
from auctor.tables.options import ReadOptions
from auctor.tables.schema import ColumnSummary, Schema

#: Room is made for this many times the rows so far when an array is full.
_GROWTH = 1.25


def find_schema(
    file: TableFile,
    name: str,
    options: ReadOptions,
    notes: list[Note],
    labels: Array | None = None,
) -> tuple[Block, Schema, tuple[ColumnSummary, ...]]:
    """The rows of a table, how its columns become numbers, and what they hold.

    With ``options.sample_rows`` the first rows only. Adds to ``notes`` what the user should be
    warned of. ``labels`` are those of a table that has none of its own, for the check of its
    columns.
    """
    kinds = first_kinds(file, options, name)
    rows = None
    if options.sample_rows:
        rows = min(options.sample_rows, options.most_rows(len(file.names)))
    whole = gathered(file, kinds, strict=False, rows=rows)
    if file.surprises:
        for k in file.surprises:
            kinds[k] = "category"
        whole = gathered(file, kinds, rows=rows)
    look = _look_at(whole)
    if options.missing != "zero" and leave_out_empty(look, file, kinds, name, notes):
        whole = gathered(file, kinds, rows=rows)
        look = _look_at(whole)
    if options.check and leave_out_unique(look, file, kinds, options, notes):
        whole = gathered(file, kinds, rows=rows)
        look = _look_at(whole)
    if options.check:
        known = whole.labels if labels is None else labels
        found = check_columns(whole, look, file, kinds, known, options)
        notes += [finding.note for finding in found]
    notes += note_text(look, file, kinds, name, options.decimal)
    if rows is None:
        notes += note_long_integers(look, file, kinds, name)
    schema, summary = infer(look, file, kinds, options, name, whole.numbers)
    notes += note_dates(schema, name) + note_amounts(schema, options)
    if options.missing == "auto":
        notes += note_filled(summary, name)
    return whole, schema, summary


def _look_at(block: Block) -> Look:
    look = Look()
    look.add(block)
    return look


def gathered(
    file: TableFile, kinds: Sequence[str], *, strict: bool = True, rows: int | None = None
) -> Block:
    """All rows of a file as one block, or the first; none if columns are of another kind."""
    numbers = _Growing(list(kinds).count("number"), np.float64)
    codes = _Growing(list(kinds).count("category"), np.int32)
    words: list[dict[str, int]] = [{} for _ in range(codes.width)]
    labels: list[Array] = []
    for block in file.blocks(kinds, strict=strict):
        if file.surprises:
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
    """An array that rows are added to; it grows in place."""

    def __init__(self, width: int, kind: Any) -> None:
        self.width, self.used = width, 0
        self._array: Array = np.empty((0, width), kind)

    def add(self, rows: Array) -> None:
        wanted = self.used + rows.shape[0]
        if self._array.shape[0] < wanted:
            room = max(wanted, int(_GROWTH * self._array.shape[0]))
            self._array.resize((room, self.width), refcheck=False)
        self._array[self.used : wanted] = rows
        self.used = wanted

    def clear(self) -> None:
        self._array, self.used = np.empty((0, self.width), self._array.dtype), 0

    def rows(self) -> Array:
        self._array.resize((self.used, self.width), refcheck=False)
        return self._array
