"""The contenders of a comparison: auctor's surrogates, and the usual models of scikit-learn.

The latter are logistic regression (default, tuned, balanced), LinearSVC, boosted trees and a
constant score; `auctor.boosting` adds LightGBM.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning as TheirWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from auctor import metrics
from auctor.core.errors import ConvergenceWarning, DataError
from auctor.core.result import Solution, Status
from auctor.core.types import Array, FloatArray
from auctor.data.matrices import dense_array, is_dense
from auctor.estimators.classifier import MetricClassifier
from auctor.estimators.search import MetricClassifierCV
from auctor.solvers.registry import SOLVERS
from auctor.training.contest import OURS, THEIRS, WHO, Contender, Fitted, Part, Rules, tuned
from auctor.training.metric import ALIASES, METRICS, Chosen, Cut, parse, resolve_metric
from auctor.training.registry import known
from auctor.training.verdict import CONSTANT, TREES

#: Iterations of scikit-learn's solvers, at most. Set by hand: their defaults (100 to 1,000) stop
#: before the tolerance on many sets, which would be unfair to them.
MAX_ITER = 10_000
#: Iterations of the solver saga, at most. Set by hand: each is a pass over the data, many times
#: slower than an iteration of the other solvers.
SAGA_ITER = 1_000
#: Entries of a dense matrix for trees, at most: 1.6 GB of floats. Set by hand; larger ones may not
#: fit into memory.
MOST_ENTRIES = 200_000_000


# --- ours -----------------------------------------------------------------------------------


def our_contenders(
    metric: str, surrogates: list[str] | None = None, solvers: list[str] | None = None
) -> list[Contender]:
    """The metric with each surrogate and solver, then log-loss if none of these is logistic."""
    # Unknown metrics, surrogates and solvers raise here, before anything is trained.
    name, _ = parse(WHO, "metric", ALIASES.get(metric, metric))
    resolve_metric(WHO, metric, "auto")
    pairs = [(metric, surrogate) for surrogate in surrogates or METRICS[name].surrogates]
    trained = {type(resolve_metric(WHO, *pair).loss) for pair in pairs}
    for solver in solvers or ():
        known(WHO, "solver", solver, {"auto": None, **SOLVERS})
    plain = ("log_loss", "logistic")
    if not surrogates and type(resolve_metric(WHO, *plain).loss) not in trained:
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


def _fit_ours(trained: str, surrogate: str, solver: str, part: Part, rules: Rules) -> Fitted:
    """Tune a strength on the inner folds by the metric, then fit to all training rows."""
    chosen = rules.chosen
    # A threshold rule that is passed to an estimator ignores the class weights of the metric.
    cut = unweighted_cut(chosen)
    given: dict[str, Any] = {
        "surrogate": surrogate,
        "standardise": False,  # the rows are scaled already, equally for all contenders
        "penalty": rules.penalty,
        "l1_ratio": rules.l1_ratio,
        "solver": solver,
        "threshold": "auto" if cut is None else _written(*cut),
        "tol": rules.tol,
        "max_seconds": rules.max_seconds,
        "n_threads": rules.n_threads,
        "random_state": rules.seed,
    }

    def judge(strengths: FloatArray) -> FloatArray:
        search = MetricClassifierCV(
            trained,
            **given,
            strengths=strengths,
            cv=part.inner,
            scoring=partial(_judge, chosen),
            refit=False,
        )
        found: FloatArray = search.fit(part.matrix, part.hits).scores_.mean(axis=0)
        return found

    strength, on_edge = tuned(part.strengths, judge)
    # An interrupted fit returns its best point; the comparison must end instead.
    model = MetricClassifier(trained, **given, strength=strength).fit(part.matrix, part.hits)
    if isinstance(model.solution_, Solution) and model.solution_.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return Fitted(model.decision_function, strength, on_edge)


def _judge(chosen: Chosen, model: Any, X: Any, y: Array) -> float:
    return chosen.measure(y, model.decision_function(X), None)


def _written(criterion: str, value: float | None) -> str:
    """A threshold rule as the text that the estimators accept."""
    return criterion if value is None else f"{criterion}({value})"


# --- scikit-learn's -------------------------------------------------------------------------

#: Makes an unfitted classifier from a strength, a number of rows and the rules.
Maker = Callable[[float, int, Rules], Any]


def their_contenders(penalty: str) -> list[Contender]:
    """Models of scikit-learn: linear classifiers with the penalty, trees, a constant score."""
    logistic = partial(_logistic, None)
    named: dict[str, Maker] = {
        "LogisticRegression, tuned": logistic,
        "LogisticRegression, balanced": partial(_logistic, "balanced"),
    }
    if penalty != "elastic_net":
        named["LinearSVC"] = _linear_svc
    linear = [
        Contender(name, THEIRS, partial(_fit_theirs, make), TheirWarning)
        for name, make in named.items()
    ]
    untuned = Contender("LogisticRegression", THEIRS, _fit_untuned, TheirWarning)
    return [untuned, *linear, _trees(), _constant()]


def baseline_contenders() -> dict[str, Contender]:
    """The baselines that every model should beat, by their name in a report."""
    log_loss = partial(_fit_ours, "log_loss", "logistic", "auto")
    return {
        "constant score": _constant(),
        "log-loss": Contender("log_loss, logistic", OURS, log_loss),
        "boosted trees": _trees(),
    }


def _constant() -> Contender:
    return Contender("constant", THEIRS, _fit_constant, kind=CONSTANT)


def _trees() -> Contender:
    return tree_contender("HistGradientBoosting", THEIRS, _hist_boosting)


def tree_contender(name: str, library: str, make: Callable[[Rules], Any]) -> Contender:
    """Boosted trees with default parameters; ``make`` returns an unfitted classifier."""
    return Contender(name, library, partial(_fit_trees, make), TheirWarning, TREES)


def _hist_boosting(rules: Rules) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(random_state=rules.seed)


def _fit_trees(make: Callable[[Rules], Any], part: Part, rules: Rules) -> Fitted:
    """Fit trees; the threshold is picked on inner folds, because trees overfit training scores."""
    X, chosen = _dense(part.matrix), rules.chosen
    with warnings.catch_warnings():
        # LightGBM names the columns of an array and later warns that the names are missing.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        # Out-of-fold scores for the threshold, then the model of all training rows.
        scores = np.zeros(part.hits.size)
        for train, test in part.inner if chosen.cut is not None else ():
            scores[test] = _log_odds(make(rules).fit(X[train], part.hits[train]), X[test])
        cut = _cut(chosen, part.hits, scores)
        model = make(rules).fit(X, part.hits)
    return Fitted(lambda new: _log_odds(model, _dense(new)) - cut)


def _log_odds(model: Any, X: FloatArray) -> FloatArray:
    """Log-odds by boosted trees, from `decision_function` or from LightGBM's raw scores."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(X), dtype=np.float64)
        return np.asarray(model.predict(X, raw_score=True), dtype=np.float64)


def _dense(matrix: Any) -> FloatArray:
    """The matrix as a dense array; raises if it has more than `MOST_ENTRIES` entries."""
    if is_dense(matrix):
        return np.asarray(matrix)
    if math.prod(matrix.shape) > MOST_ENTRIES:
        raise DataError(
            WHO,
            needs=f"at most {MOST_ENTRIES:,} entries to grow trees",
            got=f"{math.prod(matrix.shape):,}",
            todo="Use fewer columns.",
        )
    return dense_array(matrix)


def _fit_constant(part: Part, rules: Rules) -> Fitted:
    """The same score for every row, with the threshold by the same rule.

    For metrics of log-odds the score is the log-odds of the share of positives.
    """
    share = float(np.mean(part.hits))
    score = math.log(share / (1.0 - share)) if rules.chosen.by_level else 0.0
    cut = _cut(rules.chosen, part.hits, np.full(part.hits.size, score))
    return Fitted(lambda X: np.full(X.shape[0], score - cut))


def _fit_untuned(part: Part, rules: Rules) -> Fitted:
    """Default logistic regression, C = 1, with the threshold of the metric if it has one."""
    n = part.hits.size
    model = _logistic(None, 1.0 / n, n, rules).fit(part.matrix, part.hits)
    cut = _cut(rules.chosen, part.hits, model.decision_function(part.matrix))
    return Fitted(lambda X: np.asarray(model.decision_function(X) - cut))


def _logistic(weight: str | None, strength: float, n: int, rules: Rules) -> LogisticRegression:
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


def _linear_svc(strength: float, n: int, rules: Rules) -> LinearSVC:
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


def _fit_theirs(make: Maker, part: Part, rules: Rules) -> Fitted:
    """Tune by the metric on the inner folds, then fit to all training rows."""
    chosen = rules.chosen

    def judge(strengths: FloatArray) -> FloatArray:
        # A path of strengths on every inner fold, with the threshold from its training rows.
        found = np.zeros((len(part.inner), strengths.size))
        for row, (train, test) in zip(found, part.inner, strict=True):
            X, y = part.matrix[train], part.hits[train]
            held, truth = part.matrix[test], part.hits[test]
            model = make(1.0, y.size, rules)
            for k, strength in enumerate(strengths):
                # One object for all strengths, so that models with warm_start can use it.
                model.set_params(**_strength_of(make(float(strength), y.size, rules)))
                model.fit(X, y)
                cut = _cut(chosen, y, model.decision_function(X))
                row[k] = chosen.measure(truth, model.decision_function(held) - cut, None)
        return np.asarray(found.mean(axis=0))

    strength, on_edge = tuned(part.strengths, judge)
    final = make(strength, part.hits.size, rules).fit(part.matrix, part.hits)
    cut = _cut(chosen, part.hits, final.decision_function(part.matrix))
    return Fitted(lambda X: np.asarray(final.decision_function(X) - cut), strength, on_edge)


def _strength_of(model: Any) -> dict[str, float]:
    return {"C": model.get_params()["C"]}


def _cut(chosen: Chosen, hits: Array, scores: FloatArray) -> float:
    """The threshold on the scores by the metric's rule; 0 if it has none."""
    cut = unweighted_cut(chosen)
    return 0.0 if cut is None else float(metrics.best_threshold(hits, scores, *cut))


def unweighted_cut(chosen: Chosen) -> Cut | None:
    """The threshold rule of a metric for rows without the class weights of the metric.

    auctor trains on "cost" by weighting positives, so that the threshold of least weighted error
    has the least cost. On unweighted rows that is the threshold of least cost.

    Examples
    --------
    >>> unweighted_cut(resolve_metric("compare", "cost(10)", "auto"))
    Cut(criterion='cost', value=10)
    """
    if chosen.name == "cost" and chosen.positive_weight is not None:
        return Cut("cost", chosen.positive_weight(1.0))
    return chosen.cut
