"""How named columns become the numbers of a matrix."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from auctor.core.errors import DataError

#: Kinds of columns; a date is text, or a time, that becomes a number of days, and an amount text
#: with signs or separators, such as $1,200, that becomes its number.
KINDS = ("number", "category", "date", "amount")
#: Fill of a column of numbers whose missing values stay missing.
KEEP = "keep"
#: Bytes of an entry of a dense matrix.
_DENSE = 8
#: Bytes of an entry of a compressed row: a number and a 32-bit index.
_COMPRESSED = 12


class Column(NamedTuple):
    """One column of a table.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "amount"}
        A date becomes the days since 1 January 1970, an amount its number.
    fill : float or str, optional
        What a missing value counts as; ``None`` refuses one, "" stands for no category at all, and
        "keep" leaves a missing number missing.
    levels : tuple of str, optional
        Categories, each of which becomes a column of zeros and ones; others become zeros.
    buckets : int, optional
        Number of columns that hashed categories share, instead of ``levels``.
    pattern : str, optional
        How a date is written, as in `datetime.strptime`, by default year-month-day; the decimal
        sign of an amount.
    """

    name: str
    kind: str
    fill: float | str | None = None
    levels: tuple[str, ...] | None = None
    buckets: int | None = None
    pattern: str | None = None

    @property
    def width(self) -> int:
        """Columns of the matrix that it becomes."""
        if self.kind != "category":
            return 1
        return self.buckets or len(self.levels or ())

    @property
    def features(self) -> list[str]:
        """Names of these."""
        if self.kind != "category":
            return [self.name]
        if self.buckets:
            return [f"{self.name}#{k}" for k in range(self.buckets)]
        return [f"{self.name}={level}" for level in self.levels or ()]


class ColumnSummary(NamedTuple):
    """What a column holds.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "amount"}
    missing : int
    distinct : int, optional
        Categories.
    low, high, mean : float, optional
        Of numbers, or of days since 1 January 1970, that are not missing.
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
    """How named columns become numbers; what a model needs to read another file the same way.

    Parameters
    ----------
    columns : tuple of Column
        In the order of the matrix; empty for svmlight and other compressed rows.
    label : str, optional
        Name of the label column.
    n_features : int
        Columns of the matrix.
    feature_names : tuple of str, optional
        Names of these.
    first_index : int, optional
        Where indices start (svmlight).

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
        """Schema of some columns."""
        columns = tuple(columns)
        names = tuple(name for column in columns for name in column.features)
        return Schema(columns, label, len(names), names)

    @property
    def is_sparse(self) -> bool:
        """Whether compressed rows are smaller than dense ones."""
        categories = any(column.kind == "category" for column in self.columns)
        stored = _COMPRESSED * len(self.columns) + _DENSE
        return categories and stored < _DENSE * self.n_features

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values; `from_json` reads it."""
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
        """Schema that `to_json` wrote; anything else is refused."""
        try:
            columns = tuple(map(_column, content["columns"]))
            label, width = content["label"], content["n_features"]
            first_index = content.get("first_index")
            _check(label is None or isinstance(label, str), f"the label {label!r}")
            _check(type(width) is int and width >= 1, f"n_features={width!r}")
            _check(first_index in (None, 0, 1), f"first_index={first_index!r}")
            names = [column.name for column in columns]
            _check(len(set(names)) == len(names), "a column twice")
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
    _check(isinstance(content, dict) and content.keys() <= set(Column._fields), f"{content!r:.80}")
    column = Column(**content)
    _check(isinstance(column.name, str) and column.kind in KINDS, f"{content!r:.80}")
    worded = column.kind in ("date", "amount")
    pattern = column.pattern
    _check(pattern is None or (worded and isinstance(pattern, str)), f"pattern={pattern!r}")
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
    return DataError(
        "Schema", needs="a description that it wrote", got=got, todo="Save the model again."
    )
