"""What is known about rows besides their columns: times, customers and costs of mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.data.coerce import check_weight
from auctor.fit.folds import SplitBy
from auctor.metrics.costs import costs_of_rows
from auctor.metrics.grouped import group_codes

#: Start of the days that times are counted in.
EPOCH = np.datetime64("1970-01-01")


def read_split(apart: Any, times: Any, gap: float, n: int) -> SplitBy | None:
    """How splits separate n rows, beyond classes; ``None`` where nothing says so."""
    check_real("gap", gap, low=0.0)
    if times is None and gap:
        raise DataError(
            f"the time of each row for `gap`; got a gap of {gap:g} alone. Pass `times=`."
        )
    if apart is None and times is None:
        return None
    codes = None if apart is None else group_codes(apart, n)
    if codes is not None and n > 1:
        several = int(codes.max()) + 1
        if several in (1, n):
            raise DataError(
                f"at least two rows that stay together and two groups; got {several} groups of {n} "
                "rows. Pass a coarser column, or none."
            )
    if times is None:
        return SplitBy(codes)
    read, plain = read_times(times, n), np.asarray(times).dtype.kind in "iuf"
    dates = not plain and not is_number(str(np.asarray(times)[0]))
    return SplitBy(codes, read, float(gap), dates)


def read_times(values: Any, n: int) -> FloatArray:
    """Times as numbers; dates, also those of ISO text, as days since 1 January 1970.

    Examples
    --------
    >>> read_times(["1970-01-02", "1970-01-02 12:00"], 2)
    array([1. , 1.5])
    """
    times = np.asarray(values)
    if times.shape != (n,):
        raise DataError(f"one time per row; got shape {times.shape} for {n} rows. Pass as many.")
    if times.dtype.kind not in "iufM":
        times = _from_text(np.array([str(one).strip() for one in times.tolist()]))
    if times.dtype.kind == "M":
        days = (times - EPOCH) / np.timedelta64(1, "D")
        times = np.where(np.isnat(times), np.nan, days)
    numbers = times.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        raise DataError(
            f"a time in every row; got none in {wrong.size} of {n}, such as row {wrong[0] + 1}. "
            "Drop those rows, or fill in their times."
        )
    return numbers


def _from_text(texts: Array) -> Array:
    """Numbers or dates from text; raises for the first that is neither."""
    try:
        return texts.astype(np.float64)
    except ValueError:
        pass
    try:
        return texts.astype("datetime64[us]")
    except ValueError:
        wrong = next(text for text in texts.tolist() if not _is_date(text))
        raise DataError(
            f"times as numbers or dates like 2026-01-31; got {wrong!r}. Convert them first."
        ) from None


def _is_date(text: str) -> bool:
    try:
        np.datetime64(text)
    except ValueError:
        return False
    return True


def read_costs(cost_fp: Any, cost_fn: Any, hits: Array) -> FloatArray | None:
    """Cost of a wrong prediction of each row: of a false alarm, or of a positive that is missed.

    A number counts for all rows; the other cost is 1 where only one is given.

    Examples
    --------
    >>> read_costs(1.0, [50.0, 20.0], np.array([True, False]))
    array([50.,  1.])
    """
    if cost_fp is None and cost_fn is None:
        return None
    both = [
        costs_of_rows(name, 1.0 if values is None else values, hits.size)
        for name, values in (("cost_fp", cost_fp), ("cost_fn", cost_fn))
    ]
    cost = np.where(hits, both[1], both[0])
    for name, own in (("false alarms", ~hits), ("missed positives", hits)):
        if not (cost[own] > 0.0).any():
            raise DataError(f"a cost above 0 of some {name}; got only zeros. Correct the costs.")
    return cost


@dataclass(frozen=True, eq=False)
class RowFacts:
    """What columns of a file say about its rows besides the columns of the model.

    Parameters
    ----------
    weight : (n,) array, optional
    groups : (n,) int array, optional
        Groups in each of which k of a metric counts rows.
    by : SplitBy, optional
    cost_fp, cost_fn : (n,) array or float, optional
    """

    weight: FloatArray | None = None
    groups: IntArray | None = None
    by: SplitBy | None = None
    cost_fp: Any = None
    cost_fn: Any = None

    def take(self, index: IntArray) -> RowFacts:
        """Those of some rows."""

        def part(values: Any) -> Any:
            return values[index] if isinstance(values, np.ndarray) else values

        return RowFacts(
            part(self.weight),
            part(self.groups),
            None if self.by is None else self.by.take(index),
            part(self.cost_fp),
            part(self.cost_fn),
        )

    def costs(self, hits: Array) -> FloatArray | None:
        """Cost of a wrong prediction of each row, given which are positive."""
        return read_costs(self.cost_fp, self.cost_fn, hits)

    def judged(self, hits: Array) -> FloatArray | None:
        """Weights with which a metric counts the rows: sample weights times costs."""
        cost = self.costs(hits)
        if cost is None or self.weight is None:
            return self.weight if cost is None else cost
        return self.weight * cost


def facts_of_columns(
    roles: Mapping[str, str | None], words: Mapping[str, Sequence[str]], gap: float
) -> RowFacts:
    """The facts in some columns of text.

    Parameters
    ----------
    roles : mapping
        Columns of "weight", "group", "time", "per", "cost_fp" and "cost_fn", or numbers for costs.
    words : mapping
        The columns by name.
    gap : float
        As in `SplitBy`.

    Examples
    --------
    >>> facts_of_columns({"weight": "w"}, {"w": ["1", "2"]}, 0.0).weight
    array([1., 2.])
    """

    def column(role: str) -> Sequence[str] | None:
        name = roles.get(role)
        return None if name is None else words[name]

    def costs(role: str) -> FloatArray | float | None:
        name = roles.get(role)
        values = float(name) if name is not None and name not in words else numbers(role)
        if values is not None:
            costs_of_rows(role, values, np.size(values))
        return values

    def numbers(role: str) -> FloatArray | None:
        texts = column(role)
        if texts is None:
            return None
        try:
            return np.array([float(text) for text in texts])
        except ValueError:
            wrong = next(text for text in texts if not is_number(text))
            raise DataError(
                f"numbers in column {roles[role]!r}; got {wrong!r}. Correct or drop those rows."
            ) from None

    n = max(map(len, words.values()), default=0)
    weight, per, apart = numbers("weight"), column("per"), column("group")
    if roles.get("time") is None and gap:
        raise DataError(f"`time=` for `gap`; got a gap of {gap:g} alone. Pass both.")
    return RowFacts(
        None if weight is None else check_weight(weight, n),
        None if per is None else group_codes(np.array(per), n),
        read_split(None if apart is None else np.array(apart), column("time"), gap, n),
        costs("cost_fp"),
        costs("cost_fn"),
    )


def described_rows(facts: RowFacts) -> dict[str, float | str]:
    """Numbers of groups and times, the range of times, and the sum of the weights."""
    by = facts.by
    descriptions: dict[str, float | str] = {}
    if facts.weight is not None:
        descriptions["total weight"] = float(facts.weight.sum())
    if by is not None and by.apart is not None:
        descriptions["groups"] = int(by.apart.max()) + 1
    if by is not None and by.times is not None:
        descriptions["different times"] = np.unique(by.times).size
        ends = float(by.times.min()), float(by.times.max())
        descriptions["first time"], descriptions["last time"] = map(by.shown, ends)
    return descriptions


def is_number(text: str) -> bool:
    """Whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
