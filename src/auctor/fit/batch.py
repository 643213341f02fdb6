"""Metrics with an integer k: what k means for a part of the rows, and the best possible value."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from auctor.core.errors import DataWarning
from auctor.fit.metric import ALIASES, METRICS, Goal, parse, resolve_metric, second_entry
from auctor.fit.parameters import ClassifierParameters
from auctor.losses.contingency import AtK

Parameters = TypeVar("Parameters", bound=ClassifierParameters)


def per_row(metric: Any, total: float) -> Any:
    """The metric or threshold with an integer k replaced by the share ``k / total`` of the rows.

    ``k`` counts rows of the batch that the model will be used on, which is taken to be as large as
    the training set. A fold with a tenth of the rows stands for a tenth of that batch, so that
    ``k / 10`` rows of the fold are counted. Other metrics are returned unchanged.

    Parameters
    ----------
    total : float
        Rows of the batch, by weight.

    Examples
    --------
    >>> per_row("precision_at_k(100)", 400)
    'precision_at_k(0.25)'
    >>> per_row("precision_at_k(0.1)", 400)
    'precision_at_k(0.1)'
    >>> per_row("precision_at_k(5, per=day)", 400)
    'precision_at_k(5, per=day)'
    """
    if isinstance(metric, AtK):
        return metric.per_row(total)
    if not isinstance(metric, str):
        return metric
    name, value = parse("metric", ALIASES.get(metric, metric))
    counted = name == "top" or (name in METRICS and METRICS[name].parameter == "k")
    if second_entry(metric, "per")[1] is not None:
        return metric  # k rows of each group, which folds keep whole
    if not counted or not isinstance(value, Integral) or not 1 <= value <= total:
        return metric
    return f"{name}({float(value / total)!r})"


def for_parts(params: Parameters, total: float) -> Parameters:
    """The parameters with every integer k as a share of the rows, for fits of single folds."""
    metric = per_row(params.metric, total)
    return replace(params, metric=metric, threshold=per_row(params.threshold, total))


def counted_rows(metric: Any, total: float, y: Any = None) -> DataWarning | None:
    """A warning of what an integer k means for parts of the rows; None without such a k.

    Parameters
    ----------
    total : float
        Rows of the batch.
    y : (n,) bool array, optional
        Labels of the rows that are measured on; adds the best possible value on these rows.

    Examples
    --------
    >>> counted_rows("precision_at_k(100)", 400).does
    'counts 100 of 400 rows: 0.25 of any part of them'
    >>> counted_rows("precision_at_k(100)", 400, [True] * 6 + [False] * 74).does
    'counts 100 of 400 rows: 20 of the 80 measured on, best possible 0.3'
    >>> counted_rows("auc", 400) is None
    True
    """
    share = per_row(metric, total)
    if not isinstance(metric, str) or share == metric:
        return None
    (_, k), (_, part) = parse("metric", metric), parse("metric", share)
    assert part is not None
    text = f"counts {k} of {total:,.12g} rows: "
    todo = "Pass a share, such as 0.1, to choose it yourself."
    if y is None:
        return DataWarning(does=f"{text}{part:.4g} of any part of them", todo=todo, part=metric)
    best = best_possible(resolve_metric(share, "auto"), y)
    rows = round(part * len(y), 1)
    about = "" if rows == part * len(y) else "about "
    text += f"{about}{rows:,.12g} of the {len(y):,} measured on, best possible {best:.4g}"
    return DataWarning(does=text, todo=todo, part=metric)


def best_possible(goal: Goal, y: Any, weight: Any = None) -> float:
    """The metric of a perfect ranking of these rows; it can be below 1.

    With 6 positives the precision at 100 is at most 0.06.

    Examples
    --------
    >>> y = [True] * 6 + [False] * 194
    >>> best_possible(resolve_metric("precision_at_k(100)", "auto"), y)
    0.06
    >>> best_possible(resolve_metric("recall_at_k(3)", "auto"), y)
    0.5
    """
    hits = np.asarray(y) > 0
    return float(goal.measure(hits, np.where(hits, 1.0, -1.0), weight))
