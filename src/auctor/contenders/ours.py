"""auctor's own contenders: the metric with each of its surrogates, and log-loss."""

from __future__ import annotations

from functools import partial
from typing import Any

from auctor.core.errors import ConvergenceWarning, speaks_as
from auctor.core.result import Solution, Status
from auctor.core.types import Array, FloatArray
from auctor.evaluate.contest import OURS, Contender, Rules, TunedContender, TuningRows, tuned
from auctor.fit.metric import ALIASES, METRICS, Goal, parse, resolve_metric
from auctor.fit.registry import known
from auctor.fit.threshold import unweighted_cut
from auctor.linear.estimators.classifier import MetricClassifier
from auctor.linear.estimators.search import MetricClassifierCV
from auctor.solvers.registry import SOLVERS


@speaks_as("contest")
def our_contenders(
    metric: str, surrogates: list[str] | None = None, solvers: list[str] | None = None
) -> list[Contender]:
    """The metric with each surrogate and solver, then log-loss if none of these is logistic."""
    # Unknown metrics, surrogates and solvers raise here, before anything is trained.
    name, _ = parse("metric", ALIASES.get(metric, metric))
    resolve_metric(metric, "auto")
    pairs = [(metric, surrogate) for surrogate in surrogates or METRICS[name].surrogates]
    losses = {type(resolve_metric(*pair).loss) for pair in pairs}
    for solver in solvers or ():
        known("solver", solver, {"auto": None, **SOLVERS})
    plain = ("log_loss", "logistic")
    if not surrogates and type(resolve_metric(*plain).loss) not in losses:
        pairs.append(plain)
    return [
        Contender(
            ", ".join([*pair, *([] if solver == "auto" else [solver])]),
            OURS,
            partial(_fit_ours, *pair, solver),
            ConvergenceWarning,
        )
        for solver in solvers or ["auto"]
        for pair in pairs
    ]


def log_loss_contender() -> Contender:
    """Log-loss with a strength tuned by the metric, a baseline of reports."""
    return Contender("log_loss, logistic", OURS, partial(_fit_ours, "log_loss", "logistic", "auto"))


def _fit_ours(
    metric_name: str, surrogate: str, solver: str, part: TuningRows, rules: Rules
) -> TunedContender:
    """Tune a strength on the inner folds by the metric, then fit to all training rows."""
    metric = rules.objective
    # A threshold rule that is passed to an estimator ignores the class weights of the metric.
    cut = unweighted_cut(metric)
    params: dict[str, Any] = {
        "surrogate": surrogate,
        "standardise": False,  # the rows are scaled already, equally for all contenders
        "penalty": rules.penalty,
        "l1_ratio": rules.l1_ratio,
        "solver": solver,
        "threshold": "auto" if cut is None else _written(cut.criterion, cut.value),
        "tol": rules.tol,
        "max_seconds": rules.max_seconds,
        "n_threads": rules.n_threads,
        "random_state": rules.seed,
    }

    def judge(strengths: FloatArray) -> FloatArray:
        search = MetricClassifierCV(
            metric_name,
            **params,
            strengths=strengths,
            cv=part.inner,
            scoring=partial(_judge, metric),
            refit=False,
        )
        scores: FloatArray = search.fit(
            part.matrix, part.hits, sample_weight=part.weight
        ).scores_.mean(axis=0)
        return scores

    strength, on_edge = tuned(part.strengths, judge)
    # An interrupted fit returns its best point; the comparison must end instead.
    model = MetricClassifier(metric_name, **params, strength=strength)
    model.fit(part.matrix, part.hits, sample_weight=part.weight)
    if isinstance(model.solution_, Solution) and model.solution_.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return TunedContender(model.decision_function, strength, on_edge)


def _judge(metric: Goal, model: Any, X: Any, y: Array, sample_weight: Any = None) -> float:
    return metric.measure(y, model.decision_function(X), sample_weight)


def _written(criterion: str, value: float | None) -> str:
    """A threshold rule as the text that the estimators accept."""
    return criterion if value is None else f"{criterion}({value})"
