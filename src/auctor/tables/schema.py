"""The schema of a table: how its named columns become the columns of a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from auctor.core.errors import DataError

#: Kinds of columns.
KINDS = ("number", "category", "date", "amount")
#: Value of `Column.fill` for numbers whose missing values stay missing.
KEEP = "keep"
#: Bytes of an entry of a dense matrix.
_DENSE = 8
#: Bytes of an entry of a compressed row: a number and a 32-bit index.
_COMPRESSED = 12


class Column(NamedTuple):
    """One column of a table.

    Parameters
    ----------
    kind : {"number", "category", "date", "amount"}
        A date becomes the days since 1 January 1970, an amount its number.
    fill : float or str, optional
        The value of missing entries: None refuses them, "" means no category, and "keep" leaves
        numbers missing.
    levels : tuple of str, optional
        The categories, each of which becomes a column of zeros and ones; others become zeros.
    buckets : int, optional
        Number of columns that hashed categories share, instead of ``levels``.
    numbered : bool, optional
        Whether the column becomes one of the numbers of its ``levels``, from 0, instead of zeros
        and ones; other categories have the number behind the last, and missing ones stay missing.
    pattern : str, optional
        Of a date, its pattern as in `datetime.strptime`, by default year-month-day; of an amount,
        its decimal sign.
    words : bool, optional
        Whether the ``levels`` are words: a row of free text has a one in the column of each word
        that it contains.
    """

    name: str
    kind: str
    fill: float | str | None = None
    levels: tuple[str, ...] | None = None
    buckets: int | None = None
    pattern: str | None = None
    numbered: bool | None = None
    words: bool | None = None

    @property
    def width(self) -> int:
        """Number of columns of the matrix that the column becomes."""
        if self.kind != "category" or self.numbered:
            return 1
        return self.buckets or len(self.levels or ())

    @property
    def features(self) -> list[str]:
        """Names of the columns of the matrix that the column becomes."""
        if self.kind != "category" or self.numbered:
            return [self.name]
        if self.buckets:
            return [f"{self.name}#{k}" for k in range(self.buckets)]
        sign = ":" if self.words else "="
        return [f"{self.name}{sign}{level}" for level in self.levels or ()]


class ColumnSummary(NamedTuple):
    """Summary of the values of a column.

    Parameters
    ----------
    kind : {"number", "category", "date", "amount"}
    missing : int
        Number of missing values.
    distinct : int, optional
        Number of different words of a column of text.
    low, high, mean : float, optional
        Minimum, maximum and mean of the numbers, or of the days since 1 January 1970.
    """

    name: str
    kind: str
    missing: int
    distinct: int | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None


@dataclass(frozen=True)
class Schema:
    """How named columns become numbers; a model keeps it to read other files the same way.

    Parameters
    ----------
    columns : tuple of Column
        The columns in the order of the matrix; empty for svmlight and other sparse rows.
    label : str, optional
        Name of the label column.
    n_features : int
        Number of columns of the matrix.
    feature_names : tuple of str, optional
        Names of the columns of the matrix.
    first_index : int, optional
        First index of svmlight rows: 0 or 1.

    Examples
    --------
    >>> columns = (Column("age", "number"), Column("city", "category", levels=("Oslo", "Rome")))
    >>> Schema.of(columns, "bought").feature_names
    ('age', 'city=Oslo', 'city=Rome')
    """

    columns: tuple[Column, ...]
    label: str | None
    n_features: int
    feature_names: tuple[str, ...] | None = None
    first_index: int | None = None

    @staticmethod
    def of(columns: Iterable[Column], label: str | None) -> Schema:
        """The schema of some columns."""
        columns = tuple(columns)
        names = tuple(name for column in columns for name in column.features)
        return Schema(columns, label, len(names), names)

    @property
    def numbered_levels(self) -> dict[int, tuple[str, ...]]:
        """The levels of the columns of the matrix that have the numbers of levels."""
        return {
            place.start: column.levels or () for column, place in self.places if column.numbered
        }

    @property
    def places(self) -> list[tuple[Column, slice]]:
        """The columns of the table, each with its place among the columns of the matrix."""
        ends = list(accumulate((column.width for column in self.columns), initial=0))
        return list(zip(self.columns, map(slice, ends, ends[1:]), strict=True))

    @property
    def is_sparse(self) -> bool:
        """Whether a CSR matrix takes less memory than a dense one."""
        if any(column.numbered for column in self.columns):  # missing levels are NaN
            return False
        categories = any(column.kind == "category" for column in self.columns)
        stored = _COMPRESSED * len(self.columns) + _DENSE
        return categories and stored < _DENSE * self.n_features

    def to_json(self) -> dict[str, Any]:
        """The schema as plain values, which `from_json` reads."""
        return {
            "columns": [
                {key: value for key, value in column._asdict().items() if value is not None}
                for column in self.columns
            ],
            "label": self.label,
            "n_features": self.n_features,
            "first_index": self.first_index,
        }

    @staticmethod
    def from_json(content: Any) -> Schema:
        """The schema that `to_json` wrote; refuses anything else."""
        try:
            columns = tuple(map(_column, content["columns"]))
            label, width = content["label"], content["n_features"]
            first_index = content.get("first_index")
            _check(label is None or isinstance(label, str), f"the label {label!r}")
            _check(type(width) is int and width >= 1, f"n_features={width!r}")
            _check(first_index in (None, 0, 1), f"first_index={first_index!r}")
            names = [column.name for column in columns]
            _check(len(set(names)) == len(names), "two columns of one name")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise _broken(f"an incomplete one ({error!r})") from error
        if not columns:
            return Schema((), label, width, None, first_index)
        schema = Schema.of(columns, label)
        _check(schema.n_features == width, f"{width} columns for {schema.n_features}")
        return schema


def _column(content: Any) -> Column:
    """A column from plain values; refuses contradictory ones."""
    _check(isinstance(content, dict) and content.keys() <= set(Column._fields), f"{content!r:.80}")
    column = Column(**content)
    _check(isinstance(column.name, str) and column.kind in KINDS, f"{content!r:.80}")
    has_pattern = column.kind in ("date", "amount")
    pattern = column.pattern
    numbered = column.kind == "category" and column.numbered is True and not column.buckets
    _check(numbered or column.numbered is None, f"numbered={column.numbered!r}")
    words = column.kind == "category" and column.words is True and column.levels is not None
    _check((words and not numbered) or column.words is None, f"words={column.words!r}")
    _check(pattern is None or (has_pattern and isinstance(pattern, str)), f"pattern={pattern!r}")
    if column.kind != "category":
        fill = column.fill
        _check(column.levels is None and column.buckets is None, f"levels in {column.name!r}")
        if fill is None or fill == KEEP:
            return column
        plain = isinstance(fill, int | float) and not isinstance(fill, bool)
        _check(plain and math.isfinite(fill), f"fill={fill!r}")  # type: ignore[arg-type]
        return column._replace(fill=float(fill))
    _check(column.fill is None or isinstance(column.fill, str), f"fill={column.fill!r}")
    _check((column.levels is None) != (column.buckets is None), f"levels of {column.name!r}")
    if column.levels is None:
        _check(type(column.buckets) is int and column.buckets >= 1, f"buckets={column.buckets!r}")
        return column
    _check(isinstance(column.levels, list | tuple), f"levels of {column.name!r}")
    _check(all(isinstance(level, str) for level in column.levels), f"levels of {column.name!r}")
    levels = tuple(column.levels)
    _check(len(set(levels)) == len(levels), f"levels of {column.name!r}")
    return column._replace(levels=levels)


def _check(good: bool, got: str) -> None:
    if not good:
        raise _broken(got)


def _broken(got: str) -> DataError:
    todo = "Save the model again."
    return DataError("the JSON that to_json writes", got=got, todo=todo, part="Schema")
