"""The conclusion of a comparison of classifiers: paired tests and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

#: Kinds of models, for the recommendation.
LINEAR = "linear"
TREES = "trees"
CONSTANT = "constant"
#: A difference is significant if its corrected p-value is below this.
SIGNIFICANCE = 0.05
#: A linear model that is not significantly worse than trees is recommended.
SMALL_LEAD = 0.1


class Row(NamedTuple):
    """Results of a contender over the test folds.

    ``difference`` and ``p_value`` compare it with the contender of the best mean. The p-value is
    corrected for the number of contenders (Holm) and NaN where the best strength of one of the two
    is at the end of its grid. ``stopped_early`` is the number of folds in which a fit missed its
    tolerance, ``on_edge`` the number of folds whose best strength is at the end of the grid.
    ``refused`` is the reason why there are no numbers.
    """

    name: str
    library: str
    kind: str = LINEAR
    mean: float = math.nan
    deviation: float = math.nan
    auc: float = math.nan
    prbep: float = math.nan
    f1: float = math.nan
    seconds: float = math.nan
    strength: float = math.nan
    difference: float = math.nan
    p_value: float = math.nan
    stopped_early: int = 0
    on_edge: int = 0
    refused: str = ""
    values: tuple[float, ...] = ()


def in_own_units(row: Row, base: float | None) -> Row:
    """A row with values of the metric itself instead of scores.

    Contenders are compared by scores, of which more is better. The score of a cost, an error or a
    loss is ``base`` minus its value; ``base`` is None if the score is the value of the metric.

    Examples
    --------
    >>> row = in_own_units(Row("a", "b", mean=-0.5, difference=-0.25, values=(-0.25, -0.75)), 0.0)
    >>> row.mean, row.difference, row.values
    (0.5, 0.25, (0.25, 0.75))
    """
    if base is None:
        return row
    values = tuple(base - value for value in row.values)
    # Not -row.difference: the difference of equal means would be printed as -0.0000.
    return row._replace(mean=base - row.mean, difference=0.0 - row.difference, values=values)


# --- tests ----------------------------------------------------------------------------------------


def corrected_t_test(
    values: Sequence[float], others: Sequence[float], folds: int
) -> tuple[float, float]:
    """Mean difference over the folds of cross-validation and its two-sided p-value.

    The corrected resampled t-test of Nadeau and Bengio (2003): because training sets overlap, the
    variance of the mean of J differences is taken as their variance times
    ``1 / J + test / train``, which is ``1 / J + 1 / (folds - 1)`` for cross-validation.

    Examples
    --------
    >>> difference, p = corrected_t_test((0.9, 0.8, 0.9), (0.7, 0.7, 0.6), 3)
    >>> round(difference, 3), round(p, 3)
    (0.2, 0.16)
    """
    differences = np.subtract(values, others)
    count, mean = differences.size, float(differences.mean())
    variance = float(differences.var(ddof=1)) * (1.0 / count + 1.0 / (folds - 1))
    if variance == 0.0:
        return mean, 1.0 if mean == 0.0 else 0.0
    return mean, float(2.0 * stats.t.sf(abs(mean) / math.sqrt(variance), count - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method; NaN stays NaN and is not counted.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.array(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * np.arange(order.size, 0, -1)
    p[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return [float(value) for value in p]


def compared(rows: Sequence[Row], folds: int) -> tuple[list[Row], str]:
    """The rows with difference and p-value against the best mean, and the name of the best.

    There is no test where the best strength of one of the two is at the end of its grid: that model
    is not fully tuned, and the difference says nothing about the methods.
    """
    present = [row for row in rows if not row.refused]
    if len(present) < 2:
        return list(rows), ""
    best = max(present, key=_merit)
    tests = {
        row.name: corrected_t_test(row.values, best.values, folds)
        for row in present
        if row is not best
    }
    raw = [
        math.nan if row.name not in tests or row.on_edge or best.on_edge else tests[row.name][1]
        for row in rows
    ]
    return [
        row._replace(difference=tests[row.name][0], p_value=p) if row.name in tests else row
        for row, p in zip(rows, holm(raw), strict=True)
    ], best.name


# --- recommendation -------------------------------------------------------------------------------


def recommendation(rows: Sequence[Row], best: str) -> str:
    """A sentence that says which model to take, and why.

    Parameters
    ----------
    rows : sequence of Row
        From `compared`.
    best : str
        Name of the best row, from `compared`.
    """
    present = sorted((row for row in rows if not row.refused), key=_merit, reverse=True)
    if not best:
        return "Nothing to recommend: fewer than two models could be measured."
    first, *rest = present
    # Rows that are not significantly worse than the best; an untested one (NaN) is among them.
    level = [row for row in rest if not row.p_value < SIGNIFICANCE]
    constant = next((row for row in present if row.kind == CONSTANT), None)
    if first.kind == CONSTANT:
        return (
            "Take none of these yet: no model is better than a constant score; "
            f"{model_name(rest[0])} comes closest, {abs(rest[0].difference):.4f} behind. Look at "
            "the columns and the labels first."
        )
    if constant is not None and constant in level:
        return (
            f"Take none of these yet: {model_name(first)} has the best mean, but "
            f"{_chance(constant)} a constant score. More rows or other columns may help."
        )
    if first.kind == TREES:
        return _trees(first, rest, level)
    told = _reason(first, rest, level)
    trees = next((row for row in rest if row.kind == TREES), None)
    nothing = trees is not None and trees not in level
    return f"Take {model_name(first)}: {told}{'; trees find nothing more here' if nothing else ''}."


def _trees(first: Row, rest: Sequence[Row], level: Sequence[Row]) -> str:
    """The sentence where boosted trees have the best mean."""
    linear = next((row for row in rest if row.kind == LINEAR), None)
    if linear is None:
        return f"Take {model_name(first)}: no linear model could be measured."
    ahead = f"{abs(linear.difference):.4f} ahead of the best linear model, {model_name(linear)}"
    if linear not in level:
        return (
            f"Take {model_name(first)}: trees win here, {ahead} (p = {linear.p_value:.3f}); they "
            "fit curves and interactions of the columns that a linear model cannot."
        )
    lead = max((-row.difference for row in rest if row.kind == CONSTANT), default=math.inf)
    if -linear.difference > SMALL_LEAD * lead:
        return (
            f"Take {model_name(first)}: trees are {ahead}, which {_why_not(linear)}; more "
            "--repeats would tell."
        )
    return (
        f"Take {model_name(linear)}: {model_name(first)} is ahead of it by "
        f"{abs(linear.difference):.4f}, which {_why_not(linear)}, and a linear model can be read."
    )


def _reason(first: Row, rest: Sequence[Row], level: Sequence[Row]) -> str:
    """The reason to take the model with the best mean, a linear one."""
    models = [row for row in level if row.kind != CONSTANT]
    if not models:
        return (
            f"it is ahead of the next best, {model_name(rest[0])}, by "
            f"{abs(rest[0].difference):.4f} (p = {rest[0].p_value:.3f})"
        )
    nearest = models[0]
    others = f" and {len(models) - 1} more" if len(models) > 1 else ""
    text = (
        f"it has the best mean, though {model_name(nearest)}{others} may be as good "
        f"({abs(nearest.difference):.4f} behind, which {_why_not(nearest)})"
    )
    quick = min(models, key=lambda row: row.seconds)
    if quick.seconds < 0.5 * first.seconds:
        text += f"; {model_name(quick)} is the quickest of these"
    return text


def _why_not(row: Row) -> str:
    """Why a difference from the best is not significant."""
    if math.isnan(row.p_value):
        return "was not tested, because the best strength is at the end of its grid"
    return f"may be chance, p = {row.p_value:.3f}"


def _chance(constant: Row) -> str:
    """Why the best model is not significantly better than a constant score."""
    if math.isnan(constant.p_value):
        return "it was not tested against"
    return f"chance alone (p = {constant.p_value:.3f}) may explain its lead over"


def _merit(row: Row) -> tuple[float, float]:
    """Sort key of rows: the metric, then the AUC for ties."""
    return row.mean, row.auc


def model_name(row: Row) -> str:
    """The name of a model, with "auctor" in front if it is auctor's."""
    return f"auctor {row.name}" if row.library == "auctor" else row.name
