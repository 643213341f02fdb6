"""The conclusion of a comparison of classifiers: paired tests and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from auctor.core.types import FloatArray
from auctor.metrics.delong import AucComparison, compare_auc
from auctor.metrics.inputs import Inputs

#: Kinds of models, for the recommendation; ours by the names that models have.
CONSTANT = "constant"
LINEAR = "linear"
CURVED = "curves"
PAIRED = "curves with pairs"
TREES = "trees"
#: What can be read of each kind of model, the simplest kind first.
READABLE = {
    CONSTANT: "",
    LINEAR: "a linear model, a weight for each column, can be read",
    CURVED: "a curve for each column can be read",
    PAIRED: "curves and maps of pairs of columns can be read",
    TREES: "trees cannot be read",
}
#: A difference is significant if its corrected p-value is below this.
SIGNIFICANCE = 0.05
#: P-value from which a lag would hardly become significant with more folds.
UNDECIDED = 0.5


class Row(NamedTuple):
    """Results of a contender over the test folds.

    ``difference`` and ``p_value`` compare it with the contender of the best mean. The p-value is
    corrected for the number of contenders (Holm) and NaN where the best strength of one of the two
    is at the end of its grid. ``stopped_early`` is the number of folds in which a fit missed its
    tolerance, ``on_edge`` the number of folds whose best strength is at the end of the grid.
    ``refused`` is the reason why there are no numbers. ``delong`` is, where the metric is the AUC,
    the p-value of DeLong's test on the held-out rows against the best, corrected in the same way.
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
    delong: float = math.nan


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


def delong_over_folds(tests: Sequence[AucComparison], folds: int) -> float:
    """P-value of DeLong's paired tests on the test rows of folds, taken together.

    The rows of the folds of one drawing are independent, so variances of their mean difference add
    up. Every drawing has the same rows: more of them average the difference, not the variance. The
    fitted models are taken as they are; `corrected_t_test` also counts the choice of their rows.

    Examples
    --------
    >>> test = AucComparison(0.02, 0.01, 0.0455)
    >>> round(delong_over_folds([test], 1), 3), round(delong_over_folds([test] * 4, 4), 6)
    (0.046, 6.3e-05)
    """
    difference = float(np.mean([test.difference for test in tests]))
    error = math.sqrt(float(np.mean([test.standard_error**2 for test in tests])) / folds)
    if error == 0.0:
        return 1.0 if difference == 0.0 else math.nan
    return float(2.0 * stats.norm.sf(abs(difference) / error))


def with_delong(
    rows: Sequence[Row], best: str, held: Mapping[str, Sequence[Inputs]], folds: int
) -> list[Row]:
    """The rows with the p-values of DeLong's test against the best, by the held-out rows of each.

    ``held`` has classes, scores and weights of the test rows of every fold by name of the model.
    """

    def p_value(row: Row) -> float:
        if row.refused or row.name == best:
            return math.nan
        pairs = zip(held[row.name], held[best], strict=True)
        tests = [compare_auc(a.positive, a.scores, b.scores, weight=a.weight) for a, b in pairs]
        return delong_over_folds(tests, folds)

    found = holm([p_value(row) for row in rows]) if best else [math.nan] * len(rows)
    return [row._replace(delong=p) for row, p in zip(rows, found, strict=True)]


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
    constant = next((row for row in present if row.kind == CONSTANT), None)
    if first.kind == CONSTANT:
        return (
            "Take none of these yet: no model is better than a constant score; "
            f"{model_name(rest[0])} comes closest, {abs(rest[0].difference):.4f} behind. Look at "
            "the columns and the labels first."
        )
    if constant is not None and not constant.p_value < SIGNIFICANCE:
        return (
            f"Take none of these yet: {model_name(first)} is the best, but "
            f"{_chance(constant)} a constant score. More rows or other columns may help."
        )
    taken = simplest(present)
    readable = READABLE[taken.kind]
    if taken is first:
        nearest = next((row for row in rest if row.kind != CONSTANT), None)
        simpler = [row for row in rest if _rank(row) < _rank(first) and row.kind != CONSTANT]
        lead = ""
        if simpler or nearest is not None:
            other = simpler[0] if simpler else nearest
            assert other is not None
            lead = f", {abs(other.difference):.4f} ahead of {model_name(other)}"
            lead += f" (p = {other.p_value:.3f})" if other.p_value < SIGNIFICANCE else ""
        return f"Take {model_name(first)}: it is the best{lead}; {readable}."
    return (
        f"Take {model_name(taken)}: {model_name(first)} is ahead of it by "
        f"{abs(taken.difference):.4f}, which {_why_not(taken)}; {readable}."
    )


def verdict_on_rows(
    models: Sequence[tuple[str, str]], values: FloatArray, drawn: FloatArray
) -> str:
    """The recommendation by the values of models on the same rows; empty without another model.

    Parameters
    ----------
    models : sequence of pairs
        Name and kind of each model.
    values : (models,) array
        Greater is better.
    drawn : (samples, models) array
        The values on bootstrap samples of the rows; their spread gives the p-values.

    Examples
    --------
    >>> drawn = np.random.default_rng(0).normal([0.8, 0.5, 0.81], 0.01, size=(200, 3))
    >>> models = [("this model", LINEAR), ("constant score", CONSTANT), ("trees", TREES)]
    >>> verdict_on_rows(models, np.array([0.8, 0.5, 0.81]), drawn)[:51]
    'Take this model: trees is ahead of it by 0.0100, wh'
    """
    if sum(kind != CONSTANT for _, kind in models) < 2 or len(drawn) < 2 or np.isnan(values).any():
        return ""
    best = int(np.argmax(values))
    lag = values - values[best]
    error = (drawn - drawn[:, [best]]).std(axis=0, ddof=1)
    p = [
        math.nan
        if k == best
        else float(2.0 * stats.norm.sf(-lag[k] / error[k]))
        if error[k]
        else float(lag[k] == 0.0)
        for k in range(len(models))
    ]
    rows = [
        Row(name, "", kind, mean=value, difference=behind, p_value=corrected)
        for (name, kind), value, behind, corrected in zip(
            models, values.tolist(), lag.tolist(), holm(p), strict=True
        )
    ]
    return recommendation(rows, rows[best].name)


def simplest(present: Sequence[Row]) -> Row:
    """The simplest model whose lag behind the best, the first row, may be chance.

    Of several of one kind that with the best mean.
    """
    level = [row for row in present if row is present[0] or not row.p_value < SIGNIFICANCE]
    return min((row for row in level if row.kind != CONSTANT), key=_rank)


def is_clear(rows: Sequence[Row], best: str) -> bool:
    """Whether more folds would hardly change the verdict: no lag is near to being significant."""
    present = sorted((row for row in rows if not row.refused), key=_merit, reverse=True)
    if not best or present[0].kind == CONSTANT:
        return True
    taken = simplest(present)
    return taken is present[0] or taken.p_value > UNDECIDED


def _rank(row: Row) -> int:
    """Place of the kind of a model in the order of simplicity."""
    return list(READABLE).index(row.kind)


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
