"""Scorecards: an additive model as a table of points, in Python, SQL, CSV or HTML."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from auctor.additive.bins import Bins, PairBins
from auctor.additive.card_rows import CardRow, cross_table, part_rows
from auctor.additive.cross import CrossTable, markdown
from auctor.additive.directed import told_apart
from auctor.additive.model import AdditiveModel, AdditiveRegressionModel
from auctor.additive.ranges import Interval, LevelSet, sql_name
from auctor.additive.rounding import RoundingJudge, best_shift, judged_shifts
from auctor.core.checks import check_real
from auctor.core.errors import DataError, speaks_as
from auctor.core.markup import table
from auctor.core.types import FloatArray
from auctor.data.matrices import column_values
from auctor.fit.targets import sign_of

#: Points up to which whole numbers are exact.
LARGEST_POINTS = 2.0**53


@dataclass(frozen=True, eq=False)
class Scorecard:
    """A table of points: a row scores ``start`` plus the points of the ranges its values are in.

    Parameters
    ----------
    rows : list of CardRow
        Column by column, the range of missing values first.
    start : float
        Points to which those of the ranges are added.
    points_to_double_odds : float
        Number of points that doubles the odds of the positive class.
    rounded : bool
        Whether points are whole numbers.
    largest_error : float
        Largest possible change of a row's points by rounding.
    factor : float
        Points per unit of the decision value; negative where the positive class is the first.
    metric : (float, float), optional
        The metric of the model's scores and of the points, on rows passed by the user.
    maps : list of CrossTable
        The points of pairs of columns as cross tables.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import AdditiveClassifier
    >>> X = np.arange(40.0)[:, None]
    >>> model = AdditiveClassifier(strength=1e-3, n_bins=4).fit(X, X[:, 0] > 25)
    >>> card = model.scorecard(X=X, y=X[:, 0] > 25)
    >>> card.metric
    (1.0, 1.0)
    >>> [type(row.points).__name__ for row in card.rows][:1]
    ['int']
    """

    rows: list[CardRow] = field(repr=False)
    start: float
    points_to_double_odds: float
    rounded: bool
    largest_error: float
    factor: float = 1.0
    metric: tuple[float, float] | None = None
    maps: list[CrossTable] = field(default_factory=list, repr=False)

    @property
    def metric_loss(self) -> float | None:
        """Decrease of the metric by rounding, if it was measured."""
        return None if self.metric is None else self.metric[0] - self.metric[1]

    def renamed(self, names: Mapping[str, str]) -> Scorecard:
        """The card with other names of columns."""
        rows = [
            row._replace(columns=tuple(map(names.__getitem__, row.columns))) for row in self.rows
        ]
        maps = [
            one._replace(columns=(names[one.columns[0]], names[one.columns[1]]))
            for one in self.maps
        ]
        return replace(self, rows=rows, maps=maps)

    def records(self) -> list[dict[str, Any]]:
        """One dictionary per line of the table, the start first."""
        lines = [{"column": "(start)", "range": "", "points": self.start}]
        lines += [
            {"column": row.column, "range": row.text(), "points": row.points} for row in self.rows
        ]
        return lines

    def _single(self) -> list[list[str]]:
        """The start and the lines of single columns: column, range and points as text."""
        lines = [["(start)", "", str(self.start)]]
        singles = (row for row in self.rows if len(row.columns) == 1)
        return lines + [[row.column, row.text(), str(row.points)] for row in singles]

    def __str__(self) -> str:
        lines = self._single()
        wide = [max(len(line[k]) for line in lines) for k in range(3)]
        texts = [
            f"{line[0]:{wide[0]}}  {line[1]:{wide[1]}}  {line[2]:>{wide[2]}}" for line in lines
        ]
        return "\n".join(texts + [f"\n{one}" for one in self.maps])

    def to_dataframe(self) -> Any:
        """All lines as a pandas DataFrame; `CrossTable.to_dataframe` has those of a pair."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def to_csv(self) -> str:
        """All lines as comma-separated text."""
        out = io.StringIO()
        writer = csv.DictWriter(out, ["column", "range", "points"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return out.getvalue()

    def to_html(self) -> str:
        """The lines of columns and the cross tables of pairs as HTML, without styles."""
        columns = table(("Column", "Range", "Points"), self._single())
        return columns + "".join(one.to_html() for one in self.maps)

    def to_markdown(self) -> str:
        """The lines of columns and the cross tables of pairs in Markdown."""
        parts = [markdown([["column", "range", "points"], *self._single()])]
        return "\n\n".join(parts + [one.to_markdown() for one in self.maps]) + "\n"

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_python(self, name: str = "points") -> str:
        """Source of a Python function, without imports, from a dictionary of values to points."""
        lines = [
            f"def {name}(row):",
            '    """Points of a row: a dictionary from column to number, None where missing."""',
            f"    total = {self.start!r}",
        ]
        for group in self._groups():
            names = [f"v{k}" for k in range(len(group[0].columns))]
            for short, column in zip(names, group[0].columns, strict=True):
                lines.append(f"    {short} = row.get({column!r})")
                # A value that differs from itself is NaN, which counts as missing.
                lines.append(
                    f"    {short} = None if {short} is None or {short} != {short} else {short}"
                )
            for k, row in enumerate(group):
                tests = [
                    _guarded(interval, short)
                    for interval, short in zip(row.ranges, names, strict=True)
                ]
                word = "if" if k == 0 else "elif"
                lines.append(f"    {word} {' and '.join(tests)}:")
                lines.append(f"        total += {row.points!r}")
        return "\n".join([*lines, "    return total"]) + "\n"

    def to_sql(self, columns: Mapping[str, str] | None = None) -> str:
        """An SQL expression for the points; missing values are NULL.

        ``columns`` maps columns that the database does not have to SQL expressions for them.
        """
        return "\n  + ".join([repr(self.start), *self.sql_parts(columns).values()])

    def sql_parts(self, columns: Mapping[str, str] | None = None) -> dict[tuple[str, ...], str]:
        """The SQL expressions for the points of each column, and of each pair."""
        columns = columns or {}
        parts = {}
        for group in self._groups():
            names = [columns.get(column, sql_name(column)) for column in group[0].columns]
            cases = []
            for row in group:
                tests = [
                    f"{name} IS NULL"
                    if interval.missing
                    else interval.test(name, "AND") or f"{name} IS NOT NULL"
                    for interval, name in zip(row.ranges, names, strict=True)
                ]
                cases.append(f"WHEN {' AND '.join(tests)} THEN {row.points!r}")
            parts[group[0].columns] = "CASE " + " ".join(cases) + " ELSE 0 END"
        return parts

    def _groups(self) -> list[list[CardRow]]:
        """The lines of the card, grouped by their columns."""
        groups: dict[tuple[str, ...], list[CardRow]] = {}
        for row in self.rows:
            groups.setdefault(row.columns, []).append(row)
        return list(groups.values())


def _guarded(interval: Interval | LevelSet, short: str) -> str:
    """A condition in Python that is safe for ``None``: it tests for missing values first."""
    if interval.missing:
        return f"{short} is None"
    test = interval.test(short)
    return f"{short} is not None" + (f" and {test}" if test else "")


def card_points(card: Scorecard, bins: Bins, names: Sequence[str], matrix: Any) -> FloatArray:
    """Points (n,) of the rows of a matrix, by the lines of the card."""
    values = np.column_stack(list(column_values(matrix)))
    where = {name: k for k, name in enumerate(names[: len(bins.columns)])}
    total = np.full(values.shape[0], float(card.start))
    for row in card.rows:
        inside = np.ones(values.shape[0], dtype=bool)
        for column, interval in zip(row.columns, row.ranges, strict=True):
            inside &= interval.holds(values[:, where[column]])
        total[inside] += row.points
    return total


@speaks_as("scorecard")
def make_scorecard(
    model: AdditiveModel,
    names: Sequence[str],
    slope: float,
    *,
    points_to_double_odds: float = 20.0,
    base: float = 600.0,
    rounded: bool = True,
    judge: RoundingJudge | None = None,
) -> Scorecard:
    """The scorecard of an additive classifier of two classes.

    Parameters
    ----------
    model : AdditiveModel
    names : sequence of str
        Names of the columns.
    slope : float > 0
        Increase of the log-odds of the positive class per unit of score.
    points_to_double_odds : float > 0
    base : float
        Points of a row at the threshold of the model, where the decision value is 0.
    rounded : bool
        Whether to round points to whole numbers.
    judge : RoundingJudge, optional
        Rows and a metric to choose the rounding by; by default the rounding with the least mean
        squared change of the training rows' points.
    """
    check_real("points_to_double_odds", points_to_double_odds, low=0.0, open_low=True)
    check_real("base", base)
    if not model.binary:
        raise DataError(
            "a model of two classes", got=model.classes.size, todo="Fit one class against the rest."
        )
    # Points are linear in the log-odds: log(2) more of these are points_to_double_odds.
    factor = slope * points_to_double_odds / math.log(2.0)
    factor *= sign_of(model.classes, model.positive)
    start, error = base + factor * float(model.intercept[0]), 0.0
    rows: list[CardRow] = []
    tables = model.bins.tables(model.coef[0])
    signs = int(model.sign) * model.signs
    exact = [factor * table for table in told_apart(model.bins, tables, signs)]
    shifts = np.zeros(len(exact))
    largest = max(abs(start), *(float(np.abs(points).max(initial=0.0)) for points in exact))
    if rounded and not largest < LARGEST_POINTS:
        raise DataError(f"points below 2^53 to round; got {largest:.3g}. Pass rounded=False.")
    # Shifts that round well, then better ones by the metric.
    if rounded:
        shifts[:] = [
            best_shift(points, part.share)
            for points, part in zip(exact, model.bins.parts, strict=True)
        ]
        if judge is not None:
            shifts = judged_shifts(exact, shifts, start, judge, base, factor)
    # Lines of the card; the start takes the shifts of the columns back.
    maps = []
    for k in range(len(exact)):
        points = exact[k]
        if rounded:
            whole = np.round(points + shifts[k])
            error += float(np.abs(whole - points - shifts[k]).max(initial=0.0))
            start, points = start - shifts[k], whole
        rows += part_rows(model.bins, k, points, names)
        part = model.bins.parts[k]
        if isinstance(part, PairBins):
            whole = points.astype(np.int64) if rounded else points
            maps.append(cross_table(part, whole, model.bins.columns, names))
    if rounded:
        error += abs(round(start) - start)
        start = round(start)
        rows = [row._replace(points=round(row.points)) for row in rows]
    return Scorecard(rows, start, points_to_double_odds, rounded, error, factor, maps=maps)


def score_table(
    model: AdditiveModel | AdditiveRegressionModel, names: Sequence[str], k: int = 0
) -> Scorecard:
    """Score number k of a model, of the positive one of two classes, as a card of exact points."""
    sign = model.sign
    tables = model.bins.tables(sign * model.coef[k])
    rows = [row for j, table in enumerate(tables) for row in part_rows(model.bins, j, table, names)]
    return Scorecard(rows, sign * float(model.intercept[k]), math.log(2.0), False, 0.0)
