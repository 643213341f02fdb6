"""Choosing where to cut scores into predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import ParameterError
from auctor.core.types import FloatArray
from auctor.metrics.inputs import Classes, validate
from auctor.metrics.precision_recall import fbeta_along
from auctor.metrics.sweep import Sweep, sweep


class _Criterion(NamedTuple):
    """A loss at every threshold, and the classes without which it is undefined.

    ``loss`` takes the sweep and the costs of a false positive and of a false negative.
    """

    loss: Callable[[Sweep, float, float], FloatArray]
    needs: Classes
    has_costs: bool = False


def _cost(s: Sweep, cost_fp: float, cost_fn: float) -> FloatArray:
    return cost_fp * s.fp + cost_fn * (s.positives - s.tp)


def _balanced_error(s: Sweep, _fp: float, _fn: float) -> FloatArray:
    # Times 2 P N: products of counts are exact, so that equal errors compare equal.
    return s.positives * s.fp + s.negatives * (s.positives - s.tp)


def _minus_f1(s: Sweep, _fp: float, _fn: float) -> FloatArray:
    return -fbeta_along(s, 1.0)


def _imbalance(s: Sweep, _fp: float, _fn: float) -> FloatArray:
    return np.abs(s.depth - s.positives)


_CRITERIA = {
    "error": _Criterion(_cost, Classes.ANY),
    "balanced_error": _Criterion(_balanced_error, Classes.BOTH),
    "f1": _Criterion(_minus_f1, Classes.POSITIVE),
    "break_even": _Criterion(_imbalance, Classes.POSITIVE),
    "cost": _Criterion(_cost, Classes.ANY, has_costs=True),
}


def best_threshold(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    criterion: str = "error",
    *,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Threshold t for which the predictions ``scores > t`` are best on these rows.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive.
    scores : (n,) array_like
        Finite; greater means more positive.
    criterion : {"error", "balanced_error", "f1", "break_even", "cost"}
        What is best: least ``FP + FN``; least ``FP / N + FN / P``; greatest
        ``2 TP / (2 TP + FP + FN)``; as many predicted positives (by weight) as positives, tied rows
        kept together on the side that comes closer; least ``cost_fp FP + cost_fn FN``.
    cost_fp, cost_fn : float, optional
        Costs of a false positive and of a false negative, at least zero; for "cost" only.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    float
        Always finite: the middle between two adjacent distinct scores or, when the best is to
        predict everything or nothing, just beyond the extreme score. Among equally good
        thresholds (to 1e-13, relative) the one with the fewest predicted positives.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> y, scores = [0, 0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0, 6.0]
    >>> best_threshold(y, scores, "error")
    5.0
    >>> best_threshold(y, scores, "cost", cost_fp=1.0, cost_fn=10.0)
    2.5
    """
    check_choice("best_threshold", "criterion", criterion, tuple(_CRITERIA))
    costs = _costs(criterion, cost_fp, cost_fn)
    chosen = _CRITERIA[criterion]
    s = sweep(validate("best_threshold", y, scores, weight, chosen.needs))
    return s.best_cut(chosen.loss(s, *costs))[1]


def _costs(criterion: str, cost_fp: float | None, cost_fn: float | None) -> tuple[float, float]:
    """Both costs, where the criterion is the one that has them; otherwise one each."""
    given = [name for name, v in (("cost_fp", cost_fp), ("cost_fn", cost_fn)) if v is not None]
    if _CRITERIA[criterion].has_costs:
        return (
            check_real("best_threshold", "cost_fp", cost_fp, low=0.0),
            check_real("best_threshold", "cost_fn", cost_fn, low=0.0),
        )
    if given:
        raise ParameterError(
            f'best_threshold needs criterion="cost" to use {" and ".join(given)}; got '
            f"{criterion!r}. Pass the costs with that criterion only."
        )
    return 1.0, 1.0
