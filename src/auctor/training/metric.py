"""The metrics one can train on: what stands in for each, how it is measured, where to cut."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

from auctor import metrics
from auctor.core.checks import check_real
from auctor.core.errors import DataError, ParameterError
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray
from auctor.losses import (
    ExpectedError,
    FBeta,
    GaussianAuc,
    Hinge,
    Logistic,
    PairwiseExponential,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquare,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
    Prbep,
    PrecisionAtK,
    RecallAtK,
    SquaredHinge,
)
from auctor.losses.fscore import LARGEST_BETA, SMALLEST_BETA
from auctor.metrics.thresholds import check_criterion
from auctor.training.registry import as_loss, known


class Cut(NamedTuple):
    """A rule of `auctor.metrics.best_threshold`."""

    criterion: str
    value: float | None = None


#: ``measure(y, scores, weight)``, greater is better; labels are those of ``scores > 0``.
Measure = Callable[[Any, FloatArray, Any], float]


class Metric(NamedTuple):
    """A metric with the losses that stand in for it.

    Parameters
    ----------
    surrogates : mapping from name to a maker of losses, the default first
        A maker takes the metric's value, where it has one.
    measure : callable
        Takes the value first, ``None`` where there is none.
    cut : callable
        The rule for the threshold, from the value; ``None`` leaves it at 0.
    summary : str
    parameter : str
        What the number in ``name(number)`` means; empty where the metric takes none.
    default : float, optional
        Value of a bare name; without one the number must be given.
    least, most : float
        The range of the number; a least of 0 is not in it.
    by_label : bool
        Whether the metric judges predicted labels, not the ranking.
    positive_weight : callable, optional
        Factor on the weight of positives in training, from (negatives / positives, value).
    """

    surrogates: Mapping[str, Callable[..., Loss]]
    measure: Callable[..., float]
    cut: Callable[[float | None], Cut | None]
    summary: str
    parameter: str = ""
    default: float | None = None
    least: float = 0.0
    most: float = math.inf
    by_label: bool = False
    positive_weight: Callable[[float, float], float] | None = None


class Chosen(NamedTuple):
    """What `fit` and `score` need of a metric."""

    name: str
    loss: Loss
    measure: Measure
    cut: Cut | None
    by_label: bool
    positive_weight: Callable[[float], float] | None


def _ranking(function: Callable[..., float]) -> Callable[..., float]:
    """A measure of the ranking alone."""

    def measure(value: float | None, y: Any, scores: FloatArray, weight: Any) -> float:
        return function(y, scores, *(() if value is None else (value,)), weight=weight)

    return measure


def _minus_log_loss(_: None, y: Any, scores: FloatArray, weight: Any) -> float:
    return -metrics.log_loss(y, scores, weight=weight)


def _accuracy(_: None, y: Any, scores: FloatArray, weight: Any) -> float:
    return 1.0 - metrics.error_rate(y, scores > 0.0, weight=weight)


def _balanced(_: None, y: Any, scores: FloatArray, weight: Any) -> float:
    return 1.0 - metrics.balanced_error(y, scores > 0.0, weight=weight)


def _minus_cost(ratio: float, y: Any, scores: FloatArray, weight: Any) -> float:
    table = metrics.confusion(y, scores > 0.0, weight=weight)
    return -(table.fp + ratio * table.fn) / sum(table)


def _fbeta(beta: float, y: Any, scores: FloatArray, weight: Any) -> float:
    return metrics.fbeta(y, scores > 0.0, beta, weight=weight)


def _rule(criterion: str) -> Callable[[float | None], Cut]:
    """A rule without a value of its own."""
    return lambda _: Cut(criterion)


def _plain(loss: Callable[[], Loss]) -> Callable[..., Loss]:
    """A maker that has no use for the metric's value."""
    return lambda *_: loss()


_BY_ROW = {
    "hinge": _plain(Hinge),
    "logistic": _plain(Logistic),
    "squared_hinge": _plain(SquaredHinge),
}
_LOGISTIC = {"logistic": _plain(Logistic)}

METRICS: dict[str, Metric] = {
    "log_loss": Metric(
        _LOGISTIC, _minus_log_loss, lambda _: None, "probabilities: logistic regression"
    ),
    "error": Metric(
        _BY_ROW | {"gaussian": ExpectedError},
        _accuracy,
        _rule("error"),
        "share of wrong predictions",
        by_label=True,
    ),
    "balanced_error": Metric(
        _BY_ROW,
        _balanced,
        _rule("balanced_error"),
        "mean of the error rates of the two classes",
        by_label=True,
        positive_weight=lambda odds, _: odds,
    ),
    "cost": Metric(
        _BY_ROW,
        _minus_cost,
        _rule("error"),
        "cost per row, when a missed positive costs as much as so many false alarms",
        parameter="ratio",
        by_label=True,
        positive_weight=lambda _, ratio: ratio,
    ),
    "auc": Metric(
        {
            "hinge": PairwiseHinge,
            "squared_hinge": PairwiseSquaredHinge,
            "square": PairwiseSquare,
            "logistic": PairwiseLogistic,
            "exponential": PairwiseExponential,
            "gaussian": GaussianAuc,
        },
        _ranking(metrics.auc),
        _rule("break_even"),
        "share of (positive, negative) pairs in the right order",
    ),
    "partial_auc": Metric(
        {"hinge": PartialPairwiseHinge},
        lambda fpr, y, scores, weight: metrics.partial_auc(y, scores, fpr, weight=weight),
        _rule("break_even"),
        "area under the ROC curve up to a false positive rate",
        parameter="max_fpr",
        default=0.1,
        most=1.0,
    ),
    "prbep": Metric(
        {"max_margin": Prbep} | _LOGISTIC,
        _ranking(metrics.prbep),
        _rule("break_even"),
        "precision where it equals recall",
    ),
    "precision_at_k": Metric(
        {"max_margin": PrecisionAtK} | _LOGISTIC,
        _ranking(metrics.precision_at_k),
        lambda k: Cut("top", k),
        "share of positives among the k top rows (k < 1: a share of all rows)",
        parameter="k",
    ),
    "recall_at_k": Metric(
        {"max_margin": RecallAtK} | _LOGISTIC,
        _ranking(metrics.recall_at_k),
        lambda k: Cut("top", k),
        "share of the positives that is among the k top rows",
        parameter="k",
    ),
    "fbeta": Metric(
        {"max_margin": FBeta} | _LOGISTIC,
        _fbeta,
        lambda beta: Cut("fbeta", beta),
        "harmonic mean of precision and recall, recall counting beta times",
        parameter="beta",
        default=1.0,
        least=SMALLEST_BETA,
        most=LARGEST_BETA,
        by_label=True,
    ),
}

#: Other names of metrics.
ALIASES = {"f1": "fbeta(1.0)", "roc_auc": "auc", "accuracy": "error"}

_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*(?:(\w+)\s*=\s*)?([-+.\w]+)\s*\))?\s*")


def parse(who: str, what: str, text: str) -> tuple[str, float | None]:
    """Name and number of ``name`` or ``name(number)``; an integer stays one.

    ``name(parameter=number)`` is the same where that is the parameter's name.

    Examples
    --------
    >>> parse("MetricClassifier", "metric", "precision_at_k(100)")
    ('precision_at_k', 100)
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise ParameterError(
            who,
            needs=f"{what} to be a name or name(number)",
            got=f"{text!r}",
            todo='Write it like "precision_at_k(100)".',
        )
    name, parameter, number = match.groups()
    if number is None:
        return name, None
    if name in METRICS and parameter not in (None, METRICS[name].parameter):
        wanted = METRICS[name].parameter
        example = f"{name}({number})" if wanted else name
        raise ParameterError(
            who,
            needs=f"{what}={name!r} with {wanted or 'nothing in brackets'}",
            got=f"{parameter!r}",
            todo=f'Write it like "{example}".',
        )
    for kind in (int, float):
        try:
            return name, kind(number)
        except ValueError:
            continue
    raise ParameterError(
        who,
        needs=f"a number in {what}={text!r}",
        got=f"{number!r}",
        todo='Write it like "precision_at_k(100)".',
    )


def resolve_metric(who: str, metric: object, surrogate: str) -> Chosen:
    """The loss to train on and what comes with it, for a metric's name or a loss object."""
    if not isinstance(metric, str):
        loss = as_loss(who, "metric", metric)
        if surrogate != "auto":
            raise ParameterError(
                who,
                needs="surrogate='auto' when metric is a loss object",
                got=f"{surrogate!r}",
                todo="Drop one of the two.",
            )
        name = "auc" if loss.shift_invariant else "error"
        like = METRICS[name]
        cut = like.cut(None) if loss.shift_invariant else None
        return Chosen(name, loss, partial(like.measure, None), cut, like.by_label, None)
    name, value = parse(who, "metric", ALIASES.get(metric, metric))
    spec = METRICS[known(who, "metric", name, METRICS)]
    value = _value(who, name, spec, value)
    makers = spec.surrogates
    stand_in = next(iter(makers)) if surrogate == "auto" else surrogate
    make = makers[known(who, f"surrogate for metric={metric!r}", stand_in, makers)]
    weigh = spec.positive_weight
    return Chosen(
        name,
        make() if value is None else make(value),
        partial(spec.measure, value),
        spec.cut(value),
        spec.by_label,
        None if weigh is None else lambda odds: weigh(odds, 0.0 if value is None else value),
    )


def _value(who: str, name: str, spec: Metric, value: float | None) -> float | None:
    """The metric's number, or its default."""
    if not spec.parameter:
        if value is not None:
            raise ParameterError(
                who, needs=f"metric={name!r} alone", got=f"a number, {value}", todo="Drop it."
            )
        return None
    if value is None and spec.default is None:
        raise ParameterError(
            who,
            needs=f"{spec.parameter} with metric={name!r}",
            got="none",
            todo=f'Write it like "{name}(10)".',
        )
    value = spec.default if value is None else value
    what = f"{spec.parameter} of metric={name!r}"
    check_real(who, what, value, low=spec.least, high=spec.most, open_low=spec.least == 0.0)
    if spec.parameter == "k":
        check_count(who, value)
    return value


def check_count(who: str, k: float | None, total: float = math.inf, of: str = "the rows") -> None:
    """Refuse a number of top rows that is no integer, or above the weight of those there are."""
    if k is not None and k > 1 and not isinstance(k, Integral):
        raise ParameterError(
            who,
            needs="k to be an integer or a fraction in (0, 1]",
            got=f"{k!r}",
            todo="Pass one of these.",
        )
    if k is not None and k > 1 and k > total * (1.0 + 1e-12):
        raise DataError(
            who,
            needs=f"k of at most the total weight of {of}, {total:g}",
            got=k,
            todo="Pass a smaller k or a fraction in (0, 1).",
        )


def resolve_cut(who: str, threshold: object) -> Cut | float:
    """A threshold given as a number or as a rule such as ``"precision(0.9)"``."""
    if not isinstance(threshold, str):
        return check_real(who, "threshold", threshold)
    name, value = parse(who, "threshold", ALIASES.get(threshold, threshold))
    check_criterion(who, name, value, what="threshold")
    if name == "top":
        check_count(who, value)
    return Cut(name, value)
