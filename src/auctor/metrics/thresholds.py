"""Choosing the threshold at which scores become predictions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import DataWarning, Option, ParameterError, speaks_as, warn
from auctor.core.types import FloatArray
from auctor.metrics.guarantee import check_confidence, guaranteed_cut
from auctor.metrics.inputs import Classes, validate
from auctor.metrics.precision_recall import depth_of, fbeta_along
from auctor.metrics.sweep import Sweep, sweep


class _Criterion(NamedTuple):
    """A loss at every threshold, the classes it needs, and the range of its value, if it has one.

    ``loss`` takes the sweep and the value of the criterion, such as beta.
    """

    loss: Callable[[Sweep, float], FloatArray]
    needs: Classes
    low: float | None = None
    high: float = math.inf


def _cost(s: Sweep, ratio: float) -> FloatArray:
    return s.fp + ratio * (s.positives - s.tp)


def _balanced_error(s: Sweep, _: float) -> FloatArray:
    # Times 2 P N: products of counts are exact, so that equal errors compare equal.
    return s.positives * s.fp + s.negatives * (s.positives - s.tp)


def _minus_fbeta(s: Sweep, beta: float) -> FloatArray:
    return -fbeta_along(s, beta)


def _away_from(depth: Callable[[Sweep, float], float]) -> Callable[[Sweep, float], FloatArray]:
    return lambda s, value: np.abs(s.depth - depth(s, value))


def _precision(s: Sweep) -> FloatArray:
    # -1 where nothing is predicted positive: such a threshold is never the best.
    return np.divide(s.tp, s.depth, out=np.full_like(s.tp, -1.0), where=s.depth > 0.0)


def _at_precision(s: Sweep, least: float) -> FloatArray:
    precision = _precision(s)
    met = precision >= least * (1.0 - _SLACK)
    if met.any():
        # Most true positives among the thresholds that are precise enough; the others get the worst
        # loss.
        return np.where(met, -s.tp, s.positives)
    warning = DataWarning(
        f"a threshold with precision {least:g}; got at most {precision.max():.4g} on these rows, "
        "and takes that. Pass a lower value."
    )
    warn(warning)
    return -precision


def _at_fpr(s: Sweep, most: float) -> FloatArray:
    # Most true positives among the thresholds with few false positives; the others get the worst.
    return np.where(s.fp <= most * s.negatives * (1.0 + _SLACK), -s.tp, s.positives)


def _at_recall(s: Sweep, least: float) -> FloatArray:
    # Highest precision among the thresholds with enough recall; the others get the worst loss, 1.
    return np.where(s.tp >= least * s.positives * (1.0 - _SLACK), -_precision(s), 1.0)


#: Relative rounding error by which a required precision or recall may be missed.
_SLACK = 1e-12

_CRITERIA = {
    "error": _Criterion(lambda s, _: _cost(s, 1.0), Classes.ANY),
    "balanced_error": _Criterion(_balanced_error, Classes.BOTH),
    "cost": _Criterion(_cost, Classes.ANY, 0.0),
    "fbeta": _Criterion(_minus_fbeta, Classes.POSITIVE, 0.0),
    "break_even": _Criterion(_away_from(lambda s, _: s.positives), Classes.POSITIVE),
    "top": _Criterion(_away_from(lambda s, k: depth_of(k, s)), Classes.ANY, 0.0),
    "precision": _Criterion(_at_precision, Classes.POSITIVE, 0.0, 1.0),
    "recall": _Criterion(_at_recall, Classes.POSITIVE, 0.0, 1.0),
    "fpr": _Criterion(_at_fpr, Classes.BOTH, 0.0, 1.0),
}


@speaks_as("best_threshold")
def best_threshold(
    y: npt.ArrayLike,
    scores: npt.ArrayLike,
    criterion: str = "error",
    value: float | None = None,
    confidence: float | None = None,
    *,
    weight: npt.ArrayLike | None = None,
) -> float:
    """Threshold t for which the predictions ``scores > t`` are best on these rows.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive.
    scores : (n,) array_like
        Finite; greater means more positive.
    criterion : str
        What is optimised:

        ================  ===============================================================
        "error"           least ``FP + FN``
        "balanced_error"  least ``FP / N + FN / P``
        "cost"            least ``FP + value FN``: a miss costs ``value`` false alarms
        "fbeta"           greatest F-beta with ``beta = value``
        "break_even"      as many predicted positives (by weight) as there are positives
        "top"             ``value`` predicted positives: an int, or a float in (0, 1] for
                          that share of the rows
        "precision"       greatest recall with a precision of at least ``value``
        "recall"          greatest precision with a recall of at least ``value``
        "fpr"             greatest recall with a false positive rate of at most ``value``
        ================  ===============================================================

        Tied rows are kept together; "break_even" and "top" choose the nearer number of rows.
    value : float, optional
        For the criteria that name it.
    confidence : float in (0, 1), optional
        For "precision", "recall" and "fpr": the probability, over the draw of these rows, that the
        rate also holds on new rows from the same source. The scores must be those of a model that
        was not trained on these rows. Too few rows are refused, with the number that is needed.
    weight : (n,) array_like, optional
        Row weights of at least zero; a row of weight zero counts as absent.

    Returns
    -------
    float
        Always finite: the middle between two adjacent distinct scores or, when the best is to
        predict everything or nothing, just beyond the extreme score. Among equally good
        thresholds (to 1e-13, relative) the one with the fewest predicted positives. Where no
        threshold has the stated precision, the one that comes closest, with a warning.

    Notes
    -----
    O(n).

    Examples
    --------
    >>> y, scores = [0, 0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0, 6.0]
    >>> best_threshold(y, scores, "error")
    5.0
    >>> best_threshold(y, scores, "cost", 10.0)
    2.5
    >>> best_threshold(y, scores, "recall", 0.5)
    5.0

    References
    ----------
    For ``confidence``: Clopper, Pearson, Biometrika 1934; Tong, Feng, Li, Science Advances 2018.
    """
    check_criterion(criterion, value, confidence)
    rule = _CRITERIA[criterion]
    inputs = validate(y, scores, weight, rule.needs)
    if confidence is not None and value is not None:
        return guaranteed_cut(inputs, criterion, value, confidence)
    s = sweep(inputs)
    return s.best_cut(rule.loss(s, 0.0 if value is None else value))[1]


def check_criterion(
    criterion: object, value: object, confidence: object = None, *, what: str = "criterion"
) -> None:
    """Raise unless the criterion exists and has the value it needs, and no other."""
    rule = _CRITERIA[check_choice(what, criterion, tuple(_CRITERIA))]
    if rule.low is not None:
        check_real("the value", value, low=rule.low, high=rule.high, of=Option(what, criterion))
    elif value is not None:
        raise ParameterError(f"no value with `{what}={criterion!r}`; got {value!r}. Drop it.")
    if confidence is not None:
        check_confidence(criterion, value, confidence, what)
