"""Rows that a metric counts: what an integer k means for a part of the rows, and what it allows."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from auctor.losses import PrecisionAtK, RecallAtK
from auctor.training.metric import ALIASES, METRICS, Chosen, parse, resolve_metric
from auctor.training.parameters import ClassifierParameters

Parameters = TypeVar("Parameters", bound=ClassifierParameters)


def per_row(who: str, metric: Any, total: float) -> Any:
    """A metric (or a threshold) that counts rows, for parts of a batch: as a share of its rows.

    ``k`` counts rows of the batch that a model is used on, taken to be as large as what it is
    trained on. A fold with a tenth of these rows stands for a tenth of the batch, so that a tenth
    of ``k`` is right for it: the share ``k / total``. Others come back as they are.

    Parameters
    ----------
    who : str
        Name used in error messages.
    metric : str or loss
    total : float
        Rows of the batch, by weight.

    Examples
    --------
    >>> per_row("MetricClassifier", "precision_at_k(100)", 400)
    'precision_at_k(0.25)'
    >>> per_row("MetricClassifier", "precision_at_k(0.1)", 400)
    'precision_at_k(0.1)'
    """
    if isinstance(metric, PrecisionAtK | RecallAtK):
        counts = isinstance(metric.k, Integral) and metric.k <= total
        return replace(metric, k=float(metric.k / total)) if counts else metric
    if not isinstance(metric, str):
        return metric
    name, value = parse(who, "metric", ALIASES.get(metric, metric))
    counted = name == "top" or (name in METRICS and METRICS[name].parameter == "k")
    if not counted or not isinstance(value, Integral) or not 1 <= value <= total:
        return metric
    return f"{name}({float(value / total)!r})"


def for_parts(who: str, given: Parameters, total: float) -> Parameters:
    """Parameters of a fit with every integer k as a share of its rows, for the folds inside it."""
    metric = per_row(who, given.metric, total)
    return replace(given, metric=metric, threshold=per_row(who, given.threshold, total))


def counted_rows(who: str, metric: Any, total: float, y: Any = None) -> str:
    """What an integer k means for parts of the rows, in words; empty where there is none.

    Parameters
    ----------
    who : str
        Name used in error messages.
    metric : str or loss
    total : float
        Rows of the batch.
    y : (n,) bool array, optional
        Labels of a part of it that is measured on, for the best possible value there.

    Examples
    --------
    >>> counted_rows("auctor train", "precision_at_k(100)", 400)
    'precision_at_k(100) counts 100 of 400 rows: 0.25 of any part of them'
    >>> counted_rows("auctor train", "precision_at_k(100)", 400, [True] * 6 + [False] * 74)
    'precision_at_k(100) counts 100 of 400 rows: 20 of the 80 measured on, best possible 0.3'
    >>> counted_rows("auctor train", "auc", 400)
    ''
    """
    share = per_row(who, metric, total)
    if not isinstance(metric, str) or share == metric:
        return ""
    (_, k), (_, part) = parse(who, "metric", metric), parse(who, "metric", share)
    assert part is not None
    text = f"{metric} counts {k} of {total:,.12g} rows: "
    if y is None:
        return f"{text}{part:.4g} of any part of them"
    best = best_possible(resolve_metric(who, share, "auto"), y)
    rows = round(part * len(y), 1)
    about = "" if rows == part * len(y) else "about "
    return f"{text}{about}{rows:,.12g} of the {len(y):,} measured on, best possible {best:.4g}"


def best_possible(chosen: Chosen, y: Any, weight: Any = None) -> float:
    """The metric of a perfect ranking of these rows: 6 positives give a precision at 100 of 0.06.

    Examples
    --------
    >>> y = [True] * 6 + [False] * 194
    >>> best_possible(resolve_metric("metric", "precision_at_k(100)", "auto"), y)
    0.06
    >>> best_possible(resolve_metric("metric", "recall_at_k(3)", "auto"), y)
    0.5
    """
    hits = np.asarray(y) > 0
    return float(chosen.measure(hits, np.where(hits, 1.0, -1.0), weight))
