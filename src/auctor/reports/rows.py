"""Single test rows: those whose errors cost most, and why the model scored them so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray

#: Errors that a report lists: about a screen.
MAX_ERRORS = 15
#: Columns that are named as the reasons of a score.
MAX_REASONS = 3


class Reason(NamedTuple):
    """What a column adds to the score of a row, compared with its mean over the test rows.

    The value is a text where it is missing, or where two columns add something together.
    """

    name: str
    value: float | str
    part: float
    #: "day" for a date, "category" for one of the values of a column of text.
    unit: str = "1"


class CostlyRow(NamedTuple):
    """A test row that is predicted wrongly.

    Parameters
    ----------
    row : int
        Its place in the data, counted from 1.
    actual, predicted : str
        Labels.
    score : float
        Minus the threshold.
    probability : float
        Of the positive class; NaN for a model without.
    cost : float
    reasons : tuple of Reason
        The columns that moved the score most towards the wrong side.
    """

    row: int
    actual: str
    predicted: str
    score: float
    probability: float
    cost: float
    reasons: tuple[Reason, ...] = ()


class MeasuredRows(NamedTuple):
    """What is known of the test rows besides their scores.

    Parameters
    ----------
    numbers : sequence of int
        Place of each in the data, counted from 1.
    explain : callable, optional
        The strongest reasons of the score of a row in either direction, by its position.
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
    """Wrong predictions, the most expensive first, then those furthest from the threshold.

    Parameters
    ----------
    hit : (n,) bool array
        Which rows are positive.
    scores : (n,) array
        Above 0 where a positive is predicted.
    costs : pair of floats
        Of a false alarm and of a miss.
    labels : pair of str
        Of the negative and of the positive class.
    rows : MeasuredRows, optional
        By default rows are counted as they come.
    probabilities : (n,) array, optional
        Of the positive class.
    limit : int
        Most rows to return.

    Examples
    --------
    >>> hit, scores = np.array([True, False, True]), np.array([-0.5, 2.0, 1.0])
    >>> [(row.row, row.cost) for row in costly_rows(hit, scores, (1.0, 10.0), ("no", "yes"))]
    [(1, 10.0), (2, 1.0)]
    """
    wrong = np.flatnonzero((scores > 0.0) != hit)
    cost = np.where(hit[wrong], costs[1], costs[0])
    order = wrong[np.lexsort((-np.abs(scores[wrong]), -cost))][:limit]
    found = []
    for k in order.tolist():
        actual = int(hit[k])
        explain = None if rows is None else rows.explain
        found.append(
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
    return tuple(found)


def _misleading(reasons: Sequence[Reason], positive: bool) -> tuple[Reason, ...]:
    """The reasons that speak for the other class, the strongest first."""
    against = [one for one in reasons if (one.part < 0.0) == positive and one.part]
    return tuple(sorted(against, key=lambda one: -abs(one.part))[:MAX_REASONS])
