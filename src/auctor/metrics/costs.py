"""Costs of mistakes that differ from row to row: their sum, the savings, the best thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.errors import DataError, speaks_as
from auctor.core.types import FloatArray
from auctor.metrics.inputs import validate_predicted


class Savings(NamedTuple):
    """Total costs of some predictions, of flagging nothing and of flagging everything.

    ``share`` is 1 minus the cost over that of the cheaper one of the two: 1 is perfect, 0 as good
    as no model.
    """

    share: float
    cost: float
    flag_none: float
    flag_all: float


@speaks_as("savings")
def savings(
    y: npt.ArrayLike,
    predicted: npt.ArrayLike,
    *,
    cost_fp: npt.ArrayLike = 1.0,
    cost_fn: npt.ArrayLike = 1.0,
    weight: npt.ArrayLike | None = None,
) -> Savings:
    """What predictions save, where each row has its own costs.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive.
    predicted : (n,) array_like
        Predicted labels, or booleans.
    cost_fp, cost_fn : float or (n,) array_like
        Cost of a false alarm and of a missed positive, for each row; right predictions cost
        nothing. Where they cost something, pass the differences.
    weight : (n,) array_like, optional

    Returns
    -------
    Savings

    Examples
    --------
    >>> savings([1, 1, 0], [True, False, True], cost_fp=2.0, cost_fn=[100.0, 5.0, 40.0])
    Savings(share=-2.5, cost=7.0, flag_none=105.0, flag_all=2.0)

    References
    ----------
    Bahnsen, Aouada, Ottersten, Example-dependent cost-sensitive logistic regression for credit
    scoring, 2014.
    """
    n = np.asarray(y).shape[0]
    fp, fn = (
        costs_of_rows(name, one, n) for name, one in (("cost_fp", cost_fp), ("cost_fn", cost_fn))
    )
    mass = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    positive, flagged, _ = validate_predicted(y, predicted, None, weight)
    kept = mass > 0.0
    alarm, miss = (mass * fp)[kept] * ~positive, (mass * fn)[kept] * positive
    none, everything = float(miss.sum()), float(alarm.sum())
    cost = float(alarm[flagged].sum() + miss[~flagged].sum())
    base = min(none, everything)
    share = 1.0 - cost / base if base > 0.0 else float("nan") if cost == 0.0 else -np.inf
    return Savings(share, cost, none, everything)


@speaks_as("bayes_threshold")
def bayes_threshold(cost_fp: npt.ArrayLike, cost_fn: npt.ArrayLike) -> FloatArray:
    """The probability above which flagging a row costs less than not: ``fp / (fp + fn)``.

    Parameters
    ----------
    cost_fp, cost_fn : float or (n,) array_like
        As in `savings`. Rows that cost nothing either way have 1.

    Examples
    --------
    >>> bayes_threshold(1.0, [1.0, 99.0])
    array([0.5 , 0.01])

    References
    ----------
    Elkan, The foundations of cost-sensitive learning, 2001.
    """
    shape = np.broadcast_shapes(np.shape(cost_fp), np.shape(cost_fn), (1,))
    fp, fn = (
        costs_of_rows(name, one, shape[0])
        for name, one in (("cost_fp", cost_fp), ("cost_fn", cost_fn))
    )
    return np.divide(fp, fp + fn, out=np.ones(shape[0]), where=fp + fn > 0.0)


def costs_of_rows(name: str, values: npt.ArrayLike, n: int) -> FloatArray:
    """A cost for each row; raises for negative or missing ones."""
    try:
        costs = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"numbers as `{name}`; got {values!r:.80}. Pass some.") from error
    if costs.shape not in ((), (1,), (n,)):
        raise DataError(
            f"`{name}` as a number, or one per row; got shape {costs.shape} for {n} rows. Pass {n}."
        )
    if not (np.isfinite(costs) & (costs >= 0.0)).all():
        raise DataError(
            f"`{name}` of at least 0 in every row; got negative or missing ones. Correct the costs."
        )
    return np.broadcast_to(costs, (n,))
