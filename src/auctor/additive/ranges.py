"""The values that a line of a scorecard is about: an interval of numbers, or some categories."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray


class Interval(NamedTuple):
    """Values above ``low`` and up to ``high``, or missing ones."""

    low: float
    high: float
    missing: bool = False

    def text(self) -> str:
        """The range as text, such as "above 1, up to 2"."""
        if self.missing:
            return "missing"
        if math.isinf(self.low) and math.isinf(self.high):
            return "any value"
        if math.isinf(self.low):
            return f"up to {self.high:.6g}"
        if math.isinf(self.high):
            return f"above {self.low:.6g}"
        return f"above {self.low:.6g}, up to {self.high:.6g}"

    def short(self) -> str:
        """The range as text for a narrow column, such as "(1, 2]"."""
        if self.missing or (math.isinf(self.low) and math.isinf(self.high)):
            return self.text()
        if math.isinf(self.low):
            return f"<= {self.high:.6g}"
        if math.isinf(self.high):
            return f"> {self.low:.6g}"
        return f"({self.low:.6g}, {self.high:.6g}]"

    def holds(self, values: FloatArray) -> Array:
        """Which values are in the range."""
        if self.missing:
            return np.isnan(values)
        inside: Array = (values > self.low) & (values <= self.high)
        return inside

    def test(self, name: str, joint: str = "and") -> str:
        """The condition for values that are not missing, in Python, or in SQL with "AND"."""
        parts = [] if math.isinf(self.low) else [f"{name} > {self.low!r}"]
        parts += [] if math.isinf(self.high) else [f"{name} <= {self.high!r}"]
        return f" {joint} ".join(parts)


class LevelSet(NamedTuple):
    """Some levels of a category, or all levels but some.

    Parameters
    ----------
    shown : str
        The levels as text.
    labels : tuple of str or float
        The levels, or those that are left out.
    values : array
        The numbers that stand for them in a matrix.
    others : bool
        Whether ``labels`` are left out.
    """

    shown: str
    labels: tuple[Any, ...]
    values: FloatArray
    others: bool
    missing: bool = False

    def text(self) -> str:
        """The levels as text."""
        return self.shown

    def short(self) -> str:
        """The levels as text."""
        return self.shown

    def holds(self, values: FloatArray) -> Array:
        """Which numbers stand for one of the levels."""
        inside: Array = np.isin(values, self.values, invert=self.others) & ~np.isnan(values)
        return inside

    def test(self, name: str, joint: str = "and") -> str:
        """The condition for values that are not missing, in Python, or in SQL with "AND"."""
        if not self.labels:
            return ""
        sql = joint.isupper()
        words = ", ".join(map(sql_literal if sql else repr, self.labels))
        if sql:
            return f"{name} {'NOT IN' if self.others else 'IN'} ({words})"
        return f"{name} {'not in' if self.others else 'in'} ({words},)"


#: The range of missing values.
MISSING_VALUES = Interval(0.0, 0.0, True)


def sql_name(column: str) -> str:
    """The name of a column as a quoted SQL identifier."""
    return '"' + column.replace('"', '""') + '"'


def sql_literal(value: Any) -> str:
    """A value as an SQL literal."""
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    text = value.decode() if isinstance(value, bytes) else str(value)
    return "'" + text.replace("'", "''") + "'"
