"""Tables of the metrics, from the registry that `fit` and the command line read."""

from auctor.fit import metric as registry
from auctor.fit.metric_parts import Metric

#: What a threshold rule does, by its criterion in `auctor.metrics.best_threshold`.
RULES = {
    None: "0: probability one half",
    "break_even": "as many predicted positives as there are",
    "top": "the k top rows",
    "fbeta": "best F-beta",
    "error": "fewest errors, by their cost",
    "balanced_error": "least balanced error",
}
#: The number in the brackets of a metric without a default.
EXAMPLE = 10


def metrics() -> list[list[str]]:
    """What each metric measures, its name, its surrogates and its threshold, after the heading."""
    head = [
        "what it measures",
        "`metric=`",
        "`surrogate=`, the default first",
        "threshold of `predict`",
    ]
    return [head, *([one.summary, *_typed(name, one), _rule(one)] for name, one in _all())]


def metric_guide() -> list[list[str]]:
    """The use of each metric, its name and its surrogates, after the heading."""
    head = ["how the scores are used", "`metric=`", "surrogates, the default first"]
    return [head, *([one.use or one.summary, *_typed(name, one)] for name, one in _all())]


def _all() -> list[tuple[str, Metric]]:
    return list(registry.METRICS.items())


def _value(metric: Metric) -> float | None:
    """The number of a metric in the tables; ``None`` if it has none."""
    if not metric.parameter:
        return None
    return EXAMPLE if metric.default is None else metric.default


def _typed(name: str, metric: Metric) -> list[str]:
    """The metric and its surrogates as users type them."""
    value = _value(metric)
    shown = name if value is None else f"{name}({value:g})"
    return [f'`"{shown}"`', ", ".join(f"`{one}`" for one in metric.surrogates)]


def _rule(metric: Metric) -> str:
    """What its threshold rule does."""
    cut = metric.cut(_value(metric))
    criterion = None if cut is None else cut.criterion
    return RULES.get(criterion, str(criterion))
