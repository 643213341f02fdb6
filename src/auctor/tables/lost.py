"""Values of new rows that a model cannot use: unknown categories, text that is no date or amount.

Such a value becomes no category, or what training filled missing values with. Both change
predictions, so they are counted, and refused on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from auctor.core.errors import DataError, DataWarning
from auctor.tables.columns import listed
from auctor.tables.options import reading_option
from auctor.tables.schema import Column
from auctor.tables.source import shown

#: Smallest number of values of a column of which all may be unknown: fewer may be new categories.
FEW_VALUES = 20
_REFUSE = reading_option("unreadable", "refuse")


class Lost(NamedTuple):
    """The values of one column that its schema cannot use.

    Parameters
    ----------
    column : Column
        The column of the schema: a category, a date or an amount.
    rows : int
        Rows with such a value.
    values : int
        Rows with any value.
    example : str
        The most frequent such value of the first rows that have one.
    """

    column: Column
    rows: int
    values: int
    example: str

    @property
    def wanted(self) -> str:
        """What the column should hold."""
        pattern = self.column.pattern
        if self.column.kind == "date":
            return "dates year-month-day" if pattern is None else f"dates {pattern}"
        if self.column.kind == "amount":
            return "amounts with a decimal " + ("comma" if pattern == "," else "point")
        return f"categories such as {', '.join(map(repr, (self.column.levels or ())[:2]))}"

    @property
    def unreadable(self) -> bool:
        """Whether text is no date or amount, or none of many values is a category of training."""
        if self.column.kind == "category":
            return FEW_VALUES <= self.rows == self.values
        return self.rows > 0

    def __str__(self) -> str:
        name, example = repr(self.column.name), shown(self.example.encode())
        return (
            f"{self.rows:,} of {self.values:,} values of {name} such as {example}, "
            f"where the model has {self.wanted}"
        )


def add_lost(total: dict[str, Lost], more: Mapping[str, Lost]) -> None:
    """Add the counts of further rows to ``total``, by column."""
    for name, lost in more.items():
        known = total.get(name, lost._replace(rows=0, values=0))
        total[name] = known._replace(
            rows=known.rows + lost.rows,
            values=known.values + lost.values,
            example=known.example or lost.example,
        )


def lost_rows(lost: Mapping[str, Lost]) -> dict[str, dict[str, int]]:
    """Rows with unknown categories, and with dates or amounts that cannot be read, by column."""
    values: dict[str, dict[str, int]] = {"unseen": {}, "unreadable": {}}
    for name, one in lost.items():
        if one.rows:
            values["unseen" if one.column.kind == "category" else "unreadable"][name] = one.rows
    return values


def lost_warnings(
    lost: Mapping[str, Lost], rows: int, of: str = "training", *, unseen: bool = True
) -> Iterator[DataWarning]:
    """Warnings of values that cannot be used.

    Parameters
    ----------
    lost : mapping
        Counts by column.
    rows : int
        Number of rows that were read.
    of : str
        The rows that decided the schema.
    unseen : bool
        Whether to warn also of single categories that are unknown.

    Examples
    --------
    >>> city = Column("city", "category", levels=("Oslo", "Rome"))
    >>> for warning in lost_warnings({"city": Lost(city, 3, 99, "Bonn")}, 100):
    ...     print(warning)
    auctor treats categories that training did not have as no category; got 3 of 100 rows with such a category of 'city'. Train with ReadOptions(categorical='hash') to use categories that appear later.
    >>> sold = Column("sold", "date", fill=18000.0)
    >>> for warning in lost_warnings({"sold": Lost(sold, 9, 9, "31/12/2020")}, 9):
    ...     print(warning)
    auctor takes values that it cannot read as missing; got 9 of 9 values of 'sold' such as '31/12/2020', where the model has dates year-month-day. Write them as in training, or pass ReadOptions(unreadable='refuse') to refuse such rows.
    """  # noqa: E501
    bad = [str(one) for one in lost.values() if one.unreadable]
    if bad:
        yield DataWarning(
            does=f"takes values that it cannot read as missing; got {listed(bad)}. Write them as "
            f"in {of}, or pass {{option}} to refuse such rows.",
            option=_REFUSE,
        )
    new = [
        f"{one.rows:,} of {rows:,} rows with such a category of {name!r}"
        for name, one in lost.items()
        if one.rows and one.column.kind == "category" and not one.unreadable
    ]
    if unseen and new:
        yield DataWarning(
            does=f"treats categories that {of} did not have as no category; got {listed(new)}. "
            "Train with `ReadOptions(categorical='hash')` to use categories that appear later."
        )


def refuse_lost(lost: Mapping[str, Lost], name: Any) -> None:
    """Raise `DataError` if a column has values that cannot be read."""
    bad = [str(one) for one in lost.values() if one.unreadable]
    if bad:
        raise DataError(
            f"values that the model can read; got {listed(bad)}, in {name}. Write them as in "
            "training, or leave fields empty that have no value."
        )
