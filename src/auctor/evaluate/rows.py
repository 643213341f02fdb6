"""The most expensive wrong predictions, and the columns that led to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray

#: Largest number of errors in a report: about one screen.
MAX_ERRORS = 15
#: Largest number of columns that are named as reasons of a score.
MAX_REASONS = 3


class Reason(NamedTuple):
    """What a column adds to the score of a row, less its mean over the test rows.

    The value is text if it is missing, or of a category.
    """

    name: str
    value: float | str
    part: float
    #: "day" for a date.
    unit: str = "1"


class CostlyRow(NamedTuple):
    """A test row that is predicted wrongly.

    Parameters
    ----------
    row : int
        Number of the row in the data, from 1.
    actual, predicted : str
        True and predicted label.
    score : float
        Score minus threshold.
    probability : float
        Probability of the positive class; NaN if the model has none.
    cost : float
    reasons : tuple of Reason
        The columns that moved the score most towards the wrong class.
    """

    row: int
    actual: str
    predicted: str
    score: float
    probability: float
    cost: float
    reasons: tuple[Reason, ...] = ()


class MeasuredRows(NamedTuple):
    """Numbers of the test rows in the data, and explanations of their scores.

    Parameters
    ----------
    numbers : sequence of int
        Number of each row in the data, from 1.
    explain : callable, optional
        Function of the position of a row: the strongest reasons of its score.
    """

    numbers: Sequence[int]
    explain: Callable[[int], Sequence[Reason]] | None = None


def costly_rows(
    hit: Array,
    scores: FloatArray,
    costs: tuple[float, float],
    labels: tuple[str, str],
    *,
    rows: MeasuredRows | None = None,
    probabilities: FloatArray | None = None,
    limit: int = MAX_ERRORS,
) -> tuple[CostlyRow, ...]:
    """Wrong predictions by decreasing cost, and by decreasing distance from the threshold.

    Parameters
    ----------
    hit : (n,) bool array
        Which rows are positive.
    scores : (n,) array
        Scores, above 0 for rows that are predicted positive.
    costs : pair of floats
        Costs of a false positive and of a false negative.
    labels : pair of str
        Labels of the negative and of the positive class.
    rows : MeasuredRows, optional
        By default rows are numbered in their order.
    probabilities : (n,) array, optional
        Probabilities of the positive class.
    limit : int
        Largest number of rows to return.

    Examples
    --------
    >>> hit, scores = np.array([True, False, True]), np.array([-0.5, 2.0, 1.0])
    >>> [(row.row, row.cost) for row in costly_rows(hit, scores, (1.0, 10.0), ("no", "yes"))]
    [(1, 10.0), (2, 1.0)]
    """
    mistakes = []
    for k in costly_positions(hit, scores, costs, limit).tolist():
        actual = int(hit[k])
        explain = None if rows is None else rows.explain
        mistakes.append(
            CostlyRow(
                k + 1 if rows is None else int(rows.numbers[k]),
                labels[actual],
                labels[1 - actual],
                float(scores[k]),
                math.nan if probabilities is None else float(probabilities[k]),
                float(costs[actual]),
                () if explain is None else _misleading(explain(k), bool(actual)),
            )
        )
    return tuple(mistakes)


def costly_positions(
    hit: Array, scores: FloatArray, costs: tuple[float, float], limit: int = MAX_ERRORS
) -> IntArray:
    """Positions of the rows of `costly_rows`, in their order."""
    wrong = np.flatnonzero((scores > 0.0) != hit)
    cost = np.where(hit[wrong], costs[1], costs[0])
    order: IntArray = wrong[np.lexsort((-np.abs(scores[wrong]), -cost))][:limit]
    return order


def _misleading(reasons: Sequence[Reason], positive: bool) -> tuple[Reason, ...]:
    """The reasons that move the score towards the wrong class, the strongest first."""
    against = [one for one in reasons if (one.part < 0.0) == positive and one.part]
    return tuple(sorted(against, key=lambda one: -abs(one.part))[:MAX_REASONS])
