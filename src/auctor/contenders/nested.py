"""Nested cross-validation of any classifiers with scikit-learn's API, with paired tests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from auctor import metrics
from auctor.core.checks import check_int
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.types import Array, FloatArray
from auctor.evaluate.contest import Rules, outer_folds
from auctor.evaluate.verdict import READABLE, Row, compared, recommendation, with_delong
from auctor.fit.targets import positive_rows
from auctor.linear.estimators.base import read_target, read_weight
from auctor.metrics.inputs import Inputs


class NestedResult(NamedTuple):
    """Outcome of `nested_cv`: a row per model, the name of the best, and the advice, if any.

    A `Row` has the mean and the ``values`` of the metric on the test folds (greater is better), the
    ``difference`` from the best with its ``p_value`` and, for the AUC, ``delong``.
    """

    rows: tuple[Row, ...]
    best: str
    advice: str

    @property
    def level(self) -> tuple[str, ...]:
        """The best model, and those whose lag may be chance."""
        fine = (row for row in self.rows if row.name == self.best or not row.p_value < 0.05)
        return tuple(row.name for row in fine)


@speaks_as("nested_cv")
def nested_cv(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    metric: str = "auc",
    folds: int = 5,
    repeats: int = 1,
    kinds: Mapping[str, str] | None = None,
    pos_label: Any = None,
    sample_weight: Any = None,
    random_state: int = 0,
) -> NestedResult:
    """Compare classifiers on the same outer folds; each tunes itself within the training rows.

    Inner folds are those of the models: `MetricClassifierCV`, or ``GridSearchCV`` of scikit-learn.
    The lag behind the best mean is tested by the corrected resampled t-test (Nadeau, Bengio, 2003)
    and, for the AUC, by DeLong's test on the held-out rows, both with Holm's correction.

    Parameters
    ----------
    models : mapping
        Classifiers by name, which are cloned, with ``decision_function`` or ``predict_proba``. They
        are fitted to labels False and True.
    X : array, sparse matrix or data frame
    y : (n,) array_like
        Labels of two classes.
    metric : str
        Of `MetricClassifier`.
    folds, repeats : int
        Number of outer folds, and how often they are drawn.
    kinds : mapping, optional
        "constant", "linear", "curves", "curves with pairs" or "trees" for every model: then the
        result advises the simplest one whose lag may be chance, as ``auctor compare`` does.
    pos_label : label, optional
    sample_weight : (n,) array_like, optional
        Passed to ``fit`` and to the metric.
    random_state : int

    Returns
    -------
    NestedResult
        ``rows``, ``best``, ``level``, ``advice``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X[:, 0] + rng.normal(size=300) > 0.0
    >>> found = nested_cv({"logistic": LogisticRegression(), "bayes": GaussianNB()}, X, y)
    >>> sorted(found.level)
    ['bayes', 'logistic']
    """
    if len(models) < 2 or (kinds is not None and kinds.keys() != models.keys()):
        raise ParameterError(
            f"at least two models, and a kind for each or none; got {len(models)} models and "
            f"{len(kinds or {})} kinds. Name them alike."
        )
    unknown = set((kinds or {}).values()) - set(READABLE)
    if unknown:
        raise ParameterError(
            f"`kinds` among {', '.join(READABLE)}; got {min(unknown)!r}. Correct it."
        )
    check_int("folds", folds, low=2)
    check_int("repeats", repeats, low=1)
    X = X if hasattr(X, "shape") else np.asarray(X)
    n = int(X.shape[0])
    hits, _ = positive_rows(read_target(y, n), pos_label)
    if min(int(hits.sum()), n - int(hits.sum())) < folds:
        raise DataError(
            f"at least {folds} rows of each class for as many folds; got {int(hits.sum())} "
            f"positive and {n - int(hits.sum())} negative ones. Set fewer `folds`."
        )
    weight = read_weight(sample_weight, n)
    rules = Rules(metric=metric, folds=folds, repeats=repeats, seed=random_state)
    held: dict[str, list[Inputs]] = {name: [] for name in models}
    seconds = dict.fromkeys(models, 0.0)
    for train, test in outer_folds(hits, rules):
        own = {} if weight is None else {"sample_weight": weight[train]}
        part, rest = (X.iloc[rows] if hasattr(X, "iloc") else X[rows] for rows in (train, test))
        for name, model in models.items():
            begin = time.perf_counter()
            fitted = clone(model).fit(part, hits[train], **own)
            seconds[name] += (time.perf_counter() - begin) / (folds * repeats)
            counted = None if weight is None else weight[test]
            held[name].append(Inputs(hits[test], _scores(fitted, rest), counted))
    rows = [
        _row(name, found, rules, seconds[name])._replace(kind=(kinds or {}).get(name, "linear"))
        for name, found in held.items()
    ]
    table, best = compared(rows, folds)
    if metric == "auc":
        table = with_delong(table, best, held, folds)
    advice = recommendation(table, best) if kinds is not None else ""
    return NestedResult(tuple(table), best, advice)


def _scores(model: Any, X: Any) -> FloatArray:
    """Scores of rows, above 0 where the model predicts True."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64) - 0.5


def _row(name: str, folds: list[Inputs], rules: Rules, seconds: float) -> Row:
    """Means over the folds."""
    goal = rules.objective
    values = np.array([goal.measure(one.positive, one.scores, one.weight) for one in folds])

    def mean(measure: Any, cut: bool = False) -> float:
        scores: list[Array] = [one.scores > 0.0 if cut else one.scores for one in folds]
        found = [
            measure(one.positive, score, weight=one.weight)
            for one, score in zip(folds, scores, strict=True)
        ]
        return float(np.mean(found))

    return Row(
        name,
        "",
        mean=float(values.mean()),
        deviation=float(values.std(ddof=1)),
        auc=mean(metrics.auc),
        prbep=mean(metrics.prbep),
        f1=mean(metrics.fbeta, cut=True),
        seconds=seconds,
        values=tuple(values.tolist()),
    )
