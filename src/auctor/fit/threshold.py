"""The threshold on the scores from which a row is predicted positive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from auctor import metrics
from auctor.core.errors import Option
from auctor.core.types import Array, FloatArray, Target
from auctor.fit.metric import Cut, Goal, check_count, resolve_cut
from auctor.fit.parameters import ClassifierParameters, states_cut
from auctor.metrics.capacity import capacity

#: Threshold criteria that are sums of errors.
ERRORS = ("error", "balanced_error", "cost")
#: Threshold criteria that count rows, by their sample weights.
COUNTS = ("top",)


def cut_of(params: ClassifierParameters, goal: Goal) -> Cut | float | None:
    """The threshold rule, or the threshold itself: the user's, else that of the metric.

    Without an intercept the metric's rule is not used, and ``None`` means a threshold of 0.
    """
    if states_cut(params):
        return resolve_cut(params.threshold)
    return goal.cut if params.fit_intercept else None


def check_cut(params: ClassifierParameters, goal: Goal, total: float) -> None:
    """Raise, before training, for a threshold rule that counts more rows than there are."""
    cut = cut_of(params, goal)
    if isinstance(cut, Cut) and cut.criterion in COUNTS:
        stated = Option("threshold", cut.criterion)
        check_count(cut.value, stated if states_cut(params) else Option("metric", bare=True), total)


def thresholds(
    params: ClassifierParameters,
    goal: Goal,
    scores: Callable[[], FloatArray],
    targets: Sequence[Target],
    weight: FloatArray | None,
) -> FloatArray:
    """The threshold of each score, shape (k,).

    Parameters
    ----------
    scores : callable
        Returns the scores (n, k) before any threshold; called only where a rule needs them.
    targets : sequence of k targets
        With training weights, which the metric's own rule uses unless it counts rows.
    weight : (n,) array, optional
        Sample weights, used by rules that count rows and by rules that the user passed.
    """
    cut, stated = cut_of(params, goal), states_cut(params)
    if isinstance(cut, Cut) and cut.criterion in ERRORS and len(targets) > 1 and not stated:
        cut = None
    groups = targets[0].groups
    if goal.per is not None and not stated and groups is not None and isinstance(cut, Cut):
        # As many rows in all as k rows of each group are.
        total = float(groups.size if weight is None else weight.sum())
        cut = Cut("top", min(1.0, capacity(cut.value or 1.0, groups, weight) / total))
    if not isinstance(cut, Cut):
        return np.full(len(targets), 0.0 if cut is None else cut)
    counted = stated or cut.criterion in COUNTS
    return np.array(
        [
            metrics.best_threshold(
                target.y, column, *cut, weight=weight if counted else target.weight
            )
            for target, column in zip(targets, scores().T, strict=True)
        ]
    )


def unweighted_cut(goal: Goal) -> Cut | None:
    """The threshold rule of a metric for rows without the class weights of the metric.

    auctor trains on "cost" by weighting positives, so that the threshold of least weighted error
    has the least cost. On unweighted rows that is the threshold of least cost.

    Examples
    --------
    >>> from auctor.fit.metric import resolve_metric
    >>> unweighted_cut(resolve_metric("cost(10)", "auto"))
    Cut(criterion='cost', value=10, confidence=None)
    """
    if goal.name == "cost" and goal.positive_weight is not None:
        return Cut("cost", goal.positive_weight(1.0))
    return goal.cut


def unweighted_threshold(
    goal: Goal, hits: Array, scores: FloatArray, weight: FloatArray | None = None
) -> float:
    """The threshold on the scores of rows by the rule of `unweighted_cut`; 0 without a rule."""
    cut = unweighted_cut(goal)
    return 0.0 if cut is None else float(metrics.best_threshold(hits, scores, *cut, weight=weight))
