"""Linear classifiers of scikit-learn as contenders: logistic regression and LinearSVC."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning as TheirWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from auctor.core.types import FloatArray
from auctor.evaluate.contest import THEIRS, Contender, Rules, TunedContender, TuningRows, tuned
from auctor.fit.threshold import unweighted_threshold

#: Iterations of scikit-learn's solvers, at most.
MAX_ITER = 10_000
#: Iterations of the solver saga, at most.
SAGA_ITER = 1_000

#: Makes an unfitted classifier from a strength, a number of rows and the rules.
Maker = Callable[[float, int, Rules], Any]


def linear_contenders(penalty: str) -> list[Contender]:
    """Logistic regression (default, tuned, balanced) and LinearSVC, with the penalty."""
    named: dict[str, Maker] = {
        "LogisticRegression, tuned": partial(logistic, None),
        "LogisticRegression, balanced": partial(logistic, "balanced"),
    }
    if penalty != "elastic_net":
        named["LinearSVC"] = linear_svc
    return [
        Contender("LogisticRegression", THEIRS, _fit_untuned, TheirWarning),
        *(
            Contender(name, THEIRS, partial(_fit_tuned, make), TheirWarning)
            for name, make in named.items()
        ),
    ]


def _fit_untuned(part: TuningRows, rules: Rules) -> TunedContender:
    """Default logistic regression, C = 1, with the threshold of the metric if it has one."""
    n = part.hits.size
    model = logistic(None, 1.0 / n, n, rules).fit(part.matrix, part.hits, part.weight)
    scores = model.decision_function(part.matrix)
    cut = unweighted_threshold(rules.objective, part.hits, scores, part.weight)
    return TunedContender(lambda X: np.asarray(model.decision_function(X) - cut))


def logistic(weight: str | None, strength: float, n: int, rules: Rules) -> LogisticRegression:
    """An unfitted logistic regression of the penalty; ``C = 1 / (n strength)``."""
    # The quickest solver of scikit-learn for each penalty; only saga has the elastic net.
    solver = {"l2": "lbfgs", "l1": "liblinear"}.get(rules.penalty, "saga")
    ratio = {"l2": 0.0, "l1": 1.0}.get(rules.penalty, _ratio(rules))
    if LogisticRegression().penalty == "deprecated":  # since scikit-learn 1.8
        penalty: dict[str, Any] = {"l1_ratio": ratio}
    else:
        kind = {"elastic_net": "elasticnet"}.get(rules.penalty, rules.penalty)
        penalty = {"penalty": kind, "l1_ratio": ratio if kind == "elasticnet" else None}
    return LogisticRegression(
        C=1.0 / (n * strength),
        class_weight=weight,
        solver=solver,
        max_iter=SAGA_ITER if solver == "saga" else MAX_ITER,
        warm_start=solver != "liblinear",
        random_state=rules.seed,
        **penalty,
    )


def linear_svc(strength: float, n: int, rules: Rules) -> LinearSVC:
    """An unfitted LinearSVC of the penalty; ``C = 1 / (n strength)``."""
    return LinearSVC(
        C=1.0 / (n * strength),
        penalty=rules.penalty,
        dual="auto" if rules.penalty == "l2" else False,
        max_iter=MAX_ITER,
        random_state=rules.seed,
    )


def _ratio(rules: Rules) -> float:
    return 0.5 if rules.l1_ratio is None else rules.l1_ratio


def _fit_tuned(make: Maker, part: TuningRows, rules: Rules) -> TunedContender:
    """Tune by the metric on the inner folds, then fit to all training rows."""
    metric = rules.objective

    def judge(strengths: FloatArray) -> FloatArray:
        # A path of strengths on every inner fold, with the threshold from its training rows.
        scores = np.zeros((len(part.inner), strengths.size))
        for row, (train, test) in zip(scores, part.inner, strict=True):
            X, y = part.matrix[train], part.hits[train]
            held, truth = part.matrix[test], part.hits[test]
            mass, counted = part.weight_of(train), part.weight_of(test)
            model = make(1.0, y.size, rules)
            for k, strength in enumerate(strengths):
                # One object for all strengths, so that models with warm_start can use it.
                model.set_params(**_strength_of(make(float(strength), y.size, rules)))
                model.fit(X, y, sample_weight=mass)
                cut = unweighted_threshold(metric, y, model.decision_function(X), mass)
                row[k] = metric.measure(truth, model.decision_function(held) - cut, counted)
        return np.asarray(scores.mean(axis=0))

    strength, on_edge = tuned(part.strengths, judge)
    final = make(strength, part.hits.size, rules)
    final.fit(part.matrix, part.hits, sample_weight=part.weight)
    own_scores = final.decision_function(part.matrix)
    cut = unweighted_threshold(metric, part.hits, own_scores, part.weight)
    return TunedContender(lambda X: np.asarray(final.decision_function(X) - cut), strength, on_edge)


def _strength_of(model: Any) -> dict[str, float]:
    return {"C": model.get_params()["C"]}
