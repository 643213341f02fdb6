"""The columns of a table behind those of its matrix: each has one name, one value and one part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray, IntArray
from auctor.tables.dates import day_text
from auctor.tables.schema import Column, Schema


def feature_name(names: Sequence[str] | None, first_index: int | None, position: int) -> str:
    """The name of a column; without names, its index in a file that starts at ``first_index``.

    Examples
    --------
    >>> feature_name(["age"], None, 0), feature_name(None, 1, 0), feature_name(None, None, 0)
    ('age', 'index 1', 'column 0')
    """
    if names is not None:
        return str(names[position])
    return f"column {position}" if first_index is None else f"index {position + first_index}"


class TableColumns(NamedTuple):
    """The columns of a table, each with its place among those of the matrix.

    Parameters
    ----------
    places : list of (Column, slice)
        Empty without a table; then every column of the matrix is one.
    owner : array
        For each column of the matrix, the number of its column of the table.
    names : sequence of str, optional
    first : int, optional
        Names of the columns of the matrix, or the index of the first.
    """

    places: list[tuple[Column, slice]]
    owner: IntArray
    names: Sequence[str] | None = None
    first: int | None = None

    @staticmethod
    def of(schema: Schema | None, names: Sequence[str] | None, width: int) -> TableColumns:
        """The columns of a schema; without a table, those of the matrix by their names.

        Examples
        --------
        >>> schema = Schema.of([Column("city", "category", levels=("Oslo", "Rome"))], None)
        >>> TableColumns.of(schema, None, 2).gathered(np.array([0.5, 1.0]))
        array([1.5])
        """
        if schema is None or not schema.columns:
            first = None if schema is None else schema.first_index
            return TableColumns([], np.arange(width), names, first)
        widths = [column.width for column in schema.columns]
        return TableColumns(schema.places, np.repeat(np.arange(len(widths)), widths))

    def column(self, k: int) -> tuple[Column, slice]:
        """Column number k of the table, and its place."""
        if self.places:
            return self.places[k]
        return Column(feature_name(self.names, self.first, k), "number"), slice(k, k + 1)

    def gathered(self, parts: FloatArray, pairs: Sequence[tuple[int, int]] = ()) -> FloatArray:
        """Parts of the columns of the table, from those of the matrix and of pairs of its columns.

        Half of the part of a pair counts for each of its columns, as with Shapley values.
        """
        width = self.owner.size
        total = np.zeros(len(self.places) or width)
        np.add.at(total, self.owner, parts[:width])
        for pair, part in zip(pairs, parts[width:].tolist(), strict=True):
            np.add.at(total, self.owner[list(pair)], 0.5 * part)
        return total

    def value(self, k: int, values: Sequence[float | str]) -> float | str:
        """The value of column number k in a row of the matrix: a number, or text."""
        column, place = self.column(k)
        if column.kind != "category" or column.numbered:
            return values[int(place.start)]
        # The name of a column of zeros and ones is that of the category, a sign and the level.
        texts = [name[len(column.name) + 1 :] for name in column.features]
        marked = [text for text, mark in zip(texts, values[place], strict=True) if mark]
        return ", ".join(marked) or "missing or new"

    def text(self, k: int, values: Sequence[float | str]) -> str:
        """The value of column number k as text; dates as year, month and day."""
        value = self.value(k, values)
        if isinstance(value, str):
            return value
        if self.column(k)[0].kind == "date":
            return day_text(value)
        return f"{value:.6g}"
