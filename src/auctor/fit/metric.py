"""The metrics that models can be trained on, with their surrogates, measures and thresholds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from numbers import Integral
from typing import Any

from auctor import metrics
from auctor.core.checks import check_real, is_number, meant
from auctor.core.errors import DataError, Option, ParameterError
from auctor.core.protocols import Loss
from auctor.fit import measures
from auctor.fit.metric_parts import EXACT, Cut, Goal, Measure, Metric, Several, Surrogate
from auctor.fit.registry import as_loss, known
from auctor.losses import (
    AveragePrecision,
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
    TwoWayPairwiseHinge,
)
from auctor.losses.contingency import AtK
from auctor.losses.fscore import LARGEST_BETA, SMALLEST_BETA
from auctor.losses.per_group import PerGroup
from auctor.losses.softmax import Softmax
from auctor.metrics.thresholds import check_criterion

__all__ = [
    "ALIASES",
    "EXACT",
    "METRICS",
    "Cut",
    "Goal",
    "Measure",
    "Metric",
    "Several",
    "Surrogate",
    "check_count",
    "parse",
    "resolve_cut",
    "resolve_metric",
]


def _rule(criterion: str) -> Callable[[float | None], Cut]:
    """A threshold rule that does not depend on the metric's value."""
    return lambda _: Cut(criterion)


def _plain(loss: Callable[[], Loss]) -> Surrogate:
    """A surrogate that does not depend on the metric's value."""
    return Surrogate(lambda *_: loss())


def _max_margin(loss: Callable[..., Loss]) -> dict[str, Surrogate]:
    """The cheap surrogates, then the max-margin loss over sets of rows."""
    return _CHEAP | {"max_margin": Surrogate(loss, can_be_vacuous=True)}


def _max_margin_at_k(loss: type[AtK]) -> dict[str, Surrogate]:
    """The same for a metric at k, which may be per group."""
    grouped = Surrogate(loss, can_be_vacuous=True, with_second=lambda k, _: PerGroup(loss(k)))
    return _CHEAP | {"max_margin": grouped}


#: Smooth surrogates, quick to solve, that do not depend on the value of the metric.
_CHEAP = {"logistic": _plain(Logistic), "pairwise": _plain(PairwiseSquaredHinge)}
#: Surrogates that cross-validation chooses from, the cheapest first, for metrics of the top rows.
_TOP = ("logistic", "pairwise", "max_margin")
#: Surrogates that cross-validation chooses from, the cheapest first, for metrics of single rows.
_ROWS = ("logistic", "hinge")

#: Surrogates that are sums over single rows.
_BY_ROW = {
    "hinge": _plain(Hinge),
    "logistic": _plain(Logistic),
    "squared_hinge": _plain(SquaredHinge),
}


#: The metrics by the names that users type, in the order of the tables and of ``auctor list``.
METRICS: dict[str, Metric] = {
    "auc": Metric(
        {  # The default is never clearly below logistic regression: benchmarks/results/metrics.md.
            "logistic": Surrogate(PairwiseLogistic),
            "hinge": Surrogate(PairwiseHinge),
            "squared_hinge": Surrogate(PairwiseSquaredHinge),
            "square": Surrogate(PairwiseSquare),
            "exponential": Surrogate(PairwiseExponential),
            "gaussian": Surrogate(GaussianAuc, shrinks=True),
            "pointwise": _plain(Logistic),
        },
        measures.ranking(metrics.auc),
        _rule("break_even"),
        "share of (positive, negative) pairs in the right order",
        contest=("pointwise", "squared_hinge", "hinge"),
        use="rows are ranked, and the whole order matters",
    ),
    "partial_auc": Metric(
        _CHEAP
        | {
            "hinge": Surrogate(
                PartialPairwiseHinge, can_be_vacuous=True, with_second=TwoWayPairwiseHinge
            )
        },
        measures.partial_auc,
        _rule("break_even"),
        "AUC up to a false positive rate: 1 is perfect, 0.5 random, as in scikit-learn; "
        "``partial_auc(0.1, min_tpr=0.5)`` also needs a true positive rate",
        parameter="max_fpr",
        second="min_tpr",
        default=0.1,
        most=1.0,
        contest=("logistic", "pairwise", "hinge"),
        use="only few false positives are acceptable",
    ),
    "average_precision": Metric(
        # The default ranks better on more sets: benchmarks/results/average_precision.md.
        {"logistic": _plain(Logistic)} | _max_margin(AveragePrecision),
        measures.ranking(metrics.average_precision),
        _rule("break_even"),
        "mean over the positives of the precision down to each: the area of precision and recall",
        contest=_TOP,
        use="a list is read from the top, all positives are wanted",
    ),
    "prbep": Metric(
        _max_margin(Prbep),
        measures.ranking(metrics.prbep),
        _rule("break_even"),
        "precision where it equals recall",
        contest=_TOP,
        use="as many are flagged as there are positives",
    ),
    "precision_at_k": Metric(
        _max_margin_at_k(PrecisionAtK),
        measures.ranking(metrics.precision_at_k),
        lambda k: Cut("top", k),
        "share of positives among the k top rows (k < 1: a share of all rows); "
        '``precision_at_k(100, per="day")`` has k rows for each day',
        parameter="k",
        second="per",
        contest=_TOP,
        use="a team reads the first k",
    ),
    "recall_at_k": Metric(
        _max_margin_at_k(RecallAtK),
        measures.ranking(metrics.recall_at_k),
        lambda k: Cut("top", k),
        "share of the positives that is among the k top rows",
        parameter="k",
        second="per",
        contest=_TOP,
        use="the first k should contain most positives",
    ),
    "fbeta": Metric(
        _max_margin(FBeta),
        measures.fbeta,
        lambda beta: Cut("fbeta", beta),
        "harmonic mean of precision and recall, recall counting beta times",
        parameter="beta",
        default=1.0,
        least=SMALLEST_BETA,
        most=LARGEST_BETA,
        by_label=True,
        needs_positives=True,
        contest=_TOP,
        use="a yes or no, judged by precision and recall",
    ),
    "error": Metric(
        _BY_ROW | {"gaussian": Surrogate(ExpectedError, shrinks=True)},
        measures.accuracy,
        _rule("error"),
        "share of wrong predictions",
        by_label=True,
        contest=_ROWS,
        use="a yes or no, all mistakes equal",
    ),
    "balanced_error": Metric(
        _BY_ROW,
        measures.balanced,
        _rule("balanced_error"),
        "mean of the error rates of the two classes",
        by_label=True,
        contest=_ROWS,
        positive_weight=lambda odds, _: odds,
        use="a yes or no, both classes equally important",
    ),
    "cost": Metric(
        _BY_ROW,
        measures.minus_cost,
        _rule("error"),
        "cost per row, when a missed positive costs as much as this number of false alarms",
        parameter="ratio",
        by_label=True,
        contest=_ROWS,
        positive_weight=lambda _, ratio: ratio,
        use="a yes or no, a miss costs as much as a given number of false alarms",
    ),
    "log_loss": Metric(
        {"logistic": _plain(Logistic)},
        measures.minus_log_loss,
        lambda _: None,
        "probabilities: logistic regression",
        by_level=True,
        several=Softmax,
        use="a probability is used further on",
    ),
}

#: Metrics of which less is better: their score, of which more is better, is this number minus them.
FALLING = {"error": 1.0, "balanced_error": 1.0, "cost": 0.0, "log_loss": 0.0}

#: Other names of metrics.
ALIASES = {"f1": "fbeta(1.0)", "roc_auc": "auc", "accuracy": "error"}

_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*(?:(\w+)\s*=\s*)?([-+.\w]+)\s*\))?\s*")
#: The second entry in brackets: "confidence" in ``recall(0.9, confidence=0.95)``.
_SECOND = r",\s*{}\s*=\s*([^,()]+?)\s*\)\s*$"


def falling_base(metric: str) -> float | None:
    """The number from which the score of a metric is subtracted to get its value.

    ``None`` for metrics of which more is better: their score is their value.

    Examples
    --------
    >>> falling_base("cost(10)"), falling_base("error"), falling_base("auc")
    (0.0, 1.0, None)
    """
    return FALLING.get(metric.partition("(")[0].strip())


def parse(what: str, text: str) -> tuple[str, float | None]:
    """Name and number of ``name`` or ``name(number)``; an integer stays an integer.

    ``name(parameter=number)`` is allowed, too, with the metric's own name of the parameter.

    Examples
    --------
    >>> parse("metric", "precision_at_k(100)")
    ('precision_at_k', 100)
    """
    known_name = METRICS.get(text.partition("(")[0].strip())
    if known_name is not None and known_name.second:
        text = second_entry(text, known_name.second)[0]
    match = _CALL.fullmatch(text)
    if match is None and what == "threshold" and is_number(text):
        raise ParameterError(
            f"`threshold` as a number or a rule; got the text {text!r}. Pass {text} without quotes."
        )
    if match is None:
        near = meant(text.replace("-", "_").replace(" ", "_"), [*METRICS, *ALIASES])
        raise ParameterError(
            f"`{what}` to be a name or name(number); got {text!r}. {near}Write it like "
            "'precision_at_k(100)'."
        )
    name, parameter, number = match.groups()
    if number is None:
        return name, None
    # In ``name(parameter=number)`` the parameter must be that of the metric.
    if name in METRICS and parameter not in (None, METRICS[name].parameter):
        wanted = METRICS[name].parameter
        example = f"{name}({number})" if wanted else name
        raise ParameterError(
            f"{{option}} with {wanted or 'nothing in brackets'}",
            got=repr(parameter),
            todo=f'Write it like "{example}".',
            option=Option(what, name),
        )
    for kind in (int, float):  # "100" is a number of rows, "0.1" or "1.0" a share
        try:
            return name, kind(number)
        except ValueError:
            continue
    raise ParameterError(
        f'a number in `{what}={text!r}`; got {number!r}. Write it like "precision_at_k(100)".'
    )


def second_entry(text: str, key: str) -> tuple[str, str | None]:
    """The text without its second entry in brackets, ``key=entry``, and that entry or ``None``.

    Examples
    --------
    >>> second_entry("recall(0.9, confidence=0.95)", "confidence")
    ('recall(0.9)', '0.95')
    """
    entry = re.search(_SECOND.format(key), text)
    return (text, None) if entry is None else (text[: entry.start()] + ")", entry[1].strip("\"'"))


def resolve_metric(metric: object, surrogate: str) -> Goal:
    """The loss, the measure and the threshold rule of a metric's name or a loss object."""
    if not isinstance(metric, str):
        # A loss object: measured by AUC if the loss ignores a common offset of the scores (it is
        # about pairs), else by accuracy.
        loss = as_loss("metric", metric)
        if surrogate != "auto":
            raise ParameterError(
                f"`surrogate='auto'` when `metric` is a loss object; got {surrogate!r}. Drop one."
            )
        name = "auc" if loss.shift_invariant else "error"
        like = METRICS[name]
        cut = like.cut(None) if loss.shift_invariant else None
        row = _surrogate_of(loss)
        return Goal(
            name,
            loss,
            partial(like.measure, None),
            cut,
            like.by_label,
            None,
            can_be_vacuous=row.can_be_vacuous,
            shrinks=row.shrinks,
        )
    name, value = parse("metric", ALIASES.get(metric, metric))
    spec = METRICS[known("metric", name, METRICS, ALIASES)]
    value, second = _value(name, spec, value), _second(name, spec, metric)
    measure = partial(spec.measure, value)
    if isinstance(second, float):
        measure = partial(spec.measure, value, **{spec.second: second})
    table = spec.surrogates
    # The exact metric is searched from the solution of the default surrogate.
    exact = surrogate == EXACT and not (spec.by_label or spec.by_level)
    stand_in = next(iter(table)) if surrogate == "auto" or exact else surrogate
    row = table[known("surrogate", stand_in, table, to=Option("metric", metric))]
    weigh = spec.positive_weight
    return Goal(
        name,
        _loss(row, value, second),
        measure,
        spec.cut(value),
        spec.by_label,
        None if weigh is None else lambda odds: weigh(odds, 0.0 if value is None else value),
        spec.by_level,
        spec.needs_positives,
        row.can_be_vacuous and not exact,
        row.shrinks,
        spec.several,
        exact,
        second if isinstance(second, str) else None,
    )


def _loss(row: Surrogate, value: float | None, second: float | str | None) -> Loss:
    """The loss of a surrogate for the numbers of its metric."""
    if second is not None and row.with_second is not None:
        return row.with_second(value, second)
    return row.make() if value is None else row.make(value)


def _second(name: str, spec: Metric, metric: str) -> float | str | None:
    """The second entry of a metric: the name of a column of groups, or a number in [0, 1)."""
    entry = second_entry(metric, spec.second)[1] if spec.second else None
    if entry is None or spec.second == "per":
        return entry
    number: object = entry
    with suppress(ValueError):
        number = float(entry)
    return check_real(
        spec.second, number, low=0.0, high=1.0, open_high=True, of=Option("metric", name)
    )


def _surrogate_of(loss: Loss) -> Surrogate:
    """The table's surrogate with a loss of this class; if there is none, one with defaults."""
    rows = (row for metric in METRICS.values() for row in metric.surrogates.values())
    return next((row for row in rows if row.make is type(loss)), Surrogate(type(loss)))


def _value(name: str, spec: Metric, value: float | None, what: str = "metric") -> float | None:
    """The checked number of a metric (or of a threshold of that name), or its default."""
    if not spec.parameter:
        if value is not None:
            raise ParameterError(f"`{what}={name!r}` alone; got a number, {value}. Drop it.")
        return None
    if value is None and spec.default is None:
        raise ParameterError(
            f'{spec.parameter} with `{what}={name!r}`; got none. Write it like "{name}(10)".'
        )
    value = spec.default if value is None else value
    check_real(
        spec.parameter,
        value,
        low=spec.least,
        high=spec.most,
        open_low=spec.least == 0.0,
        of=Option(what, name),
    )
    if spec.parameter == "k":
        check_count(value, Option(what, name))
    return value


def check_count(
    k: float | None, of: Option, total: float = math.inf, rows: str = "the rows"
) -> None:
    """Raise if k, a part of the parameter ``of``, is a count that is no integer or too large.

    ``total`` is the weight of ``rows``, the most that can be counted.
    """
    if k is not None and k > 1 and not isinstance(k, Integral):
        raise ParameterError(
            f"k of {{option}} to be an integer or a fraction in (0, 1]; got {k!r}. Pass one of "
            "these.",
            option=of,
        )
    if k is not None and k > 1 and k > total * (1.0 + 1e-12):  # up to rounding of the sum
        raise DataError(
            f"k of {{option}} to be at most the total weight of {rows}, {total:g}; got {k}. Pass "
            "a smaller k or a fraction in (0, 1].",
            option=of,
        )


def resolve_cut(threshold: object) -> Cut | float:
    """A threshold given as a number or as a rule such as ``"precision(0.9)"``."""
    if not isinstance(threshold, str):
        return check_real("threshold", threshold)
    rule, entry = second_entry(threshold, "confidence")
    name, value = parse("threshold", ALIASES.get(rule, rule))
    confidence: Any = entry
    if entry is not None:
        with suppress(ValueError):
            confidence = float(entry)
    check_criterion(name, value, confidence, what="threshold")
    if name == "top":
        check_count(value, Option("threshold", name))
    if name in METRICS:  # its number has the range of the metric's number
        _value(name, METRICS[name], value, what="threshold")
    return Cut(name, value, confidence)
