"""Who takes part in a comparison: our metrics and surrogates, scikit-learn's classifiers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as TheirWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC

from auctor import metrics
from auctor.core.errors import ConvergenceWarning
from auctor.core.result import Solution, Status
from auctor.core.types import Array, FloatArray
from auctor.estimators.search import MetricClassifierCV
from auctor.losses import Logistic
from auctor.solvers.choose import SOLVERS
from auctor.training.contest import OURS, THEIRS, WHO, Contender, Fitted, Part, Rules
from auctor.training.metric import ALIASES, METRICS, Chosen, parse, resolve_metric
from auctor.training.registry import known

#: Most iterations of scikit-learn's solvers. Their defaults (100 to 1,000) stop before the
#: tolerance on many sets, which would be unfair to them.
MAX_ITER = 10_000
#: The same for saga, whose passes over the data are many times slower.
SAGA_ITER = 1_000


# --- ours -----------------------------------------------------------------------------------


def our_contenders(
    metric: str, surrogates: list[str] | None = None, solvers: list[str] | None = None
) -> list[Contender]:
    """The metric with each of its surrogates and each solver, and log-loss beside them."""
    name, _ = parse(WHO, "metric", ALIASES.get(metric, metric))
    resolve_metric(WHO, metric, "auto")
    pairs = [(metric, surrogate) for surrogate in surrogates or METRICS[name].surrogates]
    trained = [resolve_metric(WHO, *pair).loss for pair in pairs]
    for solver in solvers or ():
        known(WHO, "solver", solver, {"auto": None, **SOLVERS})
    if not surrogates and not any(isinstance(loss, Logistic) for loss in trained):
        pairs.append(("log_loss", "logistic"))
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


def _fit_ours(trained: str, surrogate: str, solver: str, part: Part, rules: Rules) -> Fitted:
    chosen = rules.chosen
    model = MetricClassifierCV(
        trained,
        surrogate=surrogate,
        penalty=rules.penalty,
        l1_ratio=rules.l1_ratio,
        solver=solver,
        standardise=False,  # everybody's columns were scaled, or nobody's
        strengths=part.strengths,
        cv=part.inner,
        scoring=partial(_judge, chosen),
        threshold="auto" if chosen.cut is None else _written(*chosen.cut),
        tol=rules.tol,
        max_seconds=rules.max_seconds,
        n_threads=rules.n_threads,
        random_state=rules.seed,
    ).fit(part.matrix, part.hits)
    if isinstance(model.solution_, Solution) and model.solution_.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return Fitted(model.decision_function, model.strength_)


def _judge(chosen: Chosen, model: Any, X: Any, y: Array) -> float:
    return chosen.measure(y, model.decision_function(X), None)


def _written(criterion: str, value: float | None) -> str:
    """A rule for the threshold as the estimators take it."""
    return criterion if value is None else f"{criterion}({value})"


# --- scikit-learn's -------------------------------------------------------------------------

#: A classifier for a strength, a number of rows and the rules.
Maker = Callable[[float, int, Rules], Any]


def their_contenders(penalty: str) -> list[Contender]:
    """scikit-learn's linear classifiers that have the penalty."""
    named: dict[str, tuple[Maker, tuple[str, ...]]] = {
        "LogisticRegression lbfgs": (partial(_logistic, "lbfgs"), ("l2",)),
        "LogisticRegression liblinear": (partial(_logistic, "liblinear"), ("l2", "l1")),
        "LogisticRegression saga": (partial(_logistic, "saga"), ("l1", "elastic_net")),
        "LinearSVC": (_linear_svc, ("l2", "l1")),
        "SGDClassifier log_loss": (partial(_sgd, "log_loss"), ("l2", "l1", "elastic_net")),
        "SGDClassifier hinge": (partial(_sgd, "hinge"), ("l2", "l1", "elastic_net")),
        "RidgeClassifier": (_ridge, ("l2",)),
    }
    return [
        Contender(name, THEIRS, partial(_fit_theirs, make), TheirWarning)
        for name, (make, has) in named.items()
        if penalty in has
    ]


def _logistic(solver: str, strength: float, n: int, rules: Rules) -> LogisticRegression:
    ratio = {"l2": 0.0, "l1": 1.0}.get(rules.penalty, _ratio(rules))
    if LogisticRegression().penalty == "deprecated":  # since 1.8
        penalty: dict[str, Any] = {"l1_ratio": ratio}
    else:
        kind = {"elastic_net": "elasticnet"}.get(rules.penalty, rules.penalty)
        penalty = {"penalty": kind, "l1_ratio": ratio if kind == "elasticnet" else None}
    return LogisticRegression(
        C=1.0 / (n * strength),
        solver=solver,
        max_iter=SAGA_ITER if solver == "saga" else MAX_ITER,
        warm_start=solver != "liblinear",
        random_state=rules.seed,
        **penalty,
    )


def _linear_svc(strength: float, n: int, rules: Rules) -> LinearSVC:
    return LinearSVC(
        C=1.0 / (n * strength),
        penalty=rules.penalty,
        dual="auto" if rules.penalty == "l2" else False,
        max_iter=MAX_ITER,
        random_state=rules.seed,
    )


def _sgd(loss: str, strength: float, n: int, rules: Rules) -> SGDClassifier:
    return SGDClassifier(
        loss=loss,
        penalty={"elastic_net": "elasticnet"}.get(rules.penalty, rules.penalty),
        alpha=strength,
        l1_ratio=_ratio(rules),
        max_iter=MAX_ITER,
        random_state=rules.seed,
    )


def _ridge(strength: float, n: int, rules: Rules) -> RidgeClassifier:
    return RidgeClassifier(alpha=n * strength)


def _ratio(rules: Rules) -> float:
    return 0.5 if rules.l1_ratio is None else rules.l1_ratio


def _fit_theirs(make: Maker, part: Part, rules: Rules) -> Fitted:
    """Tune by the metric on the inner folds, then fit to all training rows."""
    chosen = rules.chosen
    total = np.zeros(part.strengths.size)
    for train, test in part.inner:
        X, y = part.matrix[train], part.hits[train]
        held, truth = part.matrix[test], part.hits[test]
        model = make(1.0, y.size, rules)
        for k, strength in enumerate(part.strengths):
            # The same object throughout, so that those that can start from the last strength do.
            model.set_params(**_strength_of(make(float(strength), y.size, rules)))
            model.fit(X, y)
            cut = _cut(chosen, y, model.decision_function(X))
            total[k] += chosen.measure(truth, model.decision_function(held) - cut, None)
    strength = float(part.strengths[int(np.argmax(total))])  # of equal ones the largest
    final = make(strength, part.hits.size, rules).fit(part.matrix, part.hits)
    cut = _cut(chosen, part.hits, final.decision_function(part.matrix))
    return Fitted(lambda X: np.asarray(final.decision_function(X) - cut), strength)


def _strength_of(model: Any) -> dict[str, float]:
    return {k: v for k, v in model.get_params().items() if k in ("C", "alpha")}


def _cut(chosen: Chosen, hits: Array, scores: FloatArray) -> float:
    if chosen.cut is None:
        return 0.0
    return float(metrics.best_threshold(hits, scores, *chosen.cut))
