"""The comparison and the report of ``auctor demo``, on a table that ships with scikit-learn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from auctor import metrics
from auctor.contenders.baselines import baselines
from auctor.core.types import Array, FloatArray
from auctor.data import as_matrix
from auctor.evaluate.describe import ReportContext, describe, path_info
from auctor.evaluate.info import DataInfo, ReportInfo
from auctor.evaluate.scores import ScoredRows
from auctor.fit.folds import stratified_folds
from auctor.fit.parameters import SearchParameters
from auctor.fit.targets import Rows, encode
from auctor.fit.train_model import train_model
from auctor.linear.search import MetricClassifierCV
from auctor.tables.schema import Column, Schema

#: Cost of a false negative in false positives.
MISS_COST = 10.0
#: Outer folds: the usual 5. Every row is predicted once, by a model trained without it.
FOLDS = 5
#: Inner folds on which the tuned models pick strength and threshold.
INNER_FOLDS = 3
#: Number of strengths, on a logarithmic grid, that the tuned logistic regression tries.
STRENGTHS = 5
#: Iterations of logistic regression, at most.
ITERATIONS = 1000
#: Bootstrap samples for the 95 % intervals.
DRAWS = 1000
#: Names of two classifiers that the verdict mentions.
PLAIN = "logistic regression"
OURS = "auctor, trained on the metric"


class ShowTable(NamedTuple):
    """A table with two classes; ``hit`` marks the positive rows, ``reason`` says why this one."""

    title: str
    reason: str
    matrix: FloatArray
    hit: Array
    columns: tuple[str, ...]
    positive: str
    negative: str


class DemoRow(NamedTuple):
    """The metric of one classifier, with a 95 % bootstrap interval."""

    name: str
    value: float
    low: float
    high: float
    #: Value minus that of the best classifier, with its interval over the same bootstrap samples.
    behind: float
    behind_low: float
    behind_high: float

    @property
    def tied(self) -> bool:
        """Whether the difference from the best is not significant."""
        return self.behind_low <= 0.0 <= self.behind_high


@dataclass(frozen=True)
class ShownMetric:
    """A metric of the demo.

    Parameters
    ----------
    metric : str
        Its name in auctor.
    title : str
        Its description for people.
    measure : callable
        From the true and the predicted positives, boolean arrays, to the value.
    greater_is_better : bool
    """

    metric: str
    title: str
    measure: Callable[[Array, Array], float]
    greater_is_better: bool

    @property
    def scorer(self) -> Any:
        """The metric as a scorer of scikit-learn, greater is better."""
        return make_scorer(self.measure, greater_is_better=self.greater_is_better)


def cost_per_row(hit: Array, predicted: Array) -> float:
    """Cost per row: 1 for a false positive, `MISS_COST` for a false negative.

    Examples
    --------
    >>> cost_per_row(np.array([True, True, False, False]), np.array([True, False, True, False]))
    2.75
    """
    missed, alarms = np.sum(hit & ~predicted), np.sum(~hit & predicted)
    return float((MISS_COST * missed + alarms) / hit.size)


def _f1(hit: Array, predicted: Array) -> float:
    """F1: ``2 TP / (2 TP + FP + FN)``; 0 if nothing is positive or predicted positive."""
    marked = int(np.sum(hit)) + int(np.sum(predicted))
    return 2.0 * float(np.sum(hit & predicted)) / marked if marked else 0.0


GOALS = (
    ShownMetric("f1", "F1, greater is better", _f1, True),
    ShownMetric(
        f"cost({MISS_COST:g})",
        f"cost per row, smaller is better; a miss costs {MISS_COST:g} false alarms",
        cost_per_row,
        False,
    ),
)


def show_table() -> ShowTable:
    """Breast tumours, malignant or benign, by the cell nuclei of a sample.

    Examples
    --------
    >>> table = show_table()
    >>> table.matrix.shape, int(table.hit.sum())
    ((569, 30), 212)
    """
    table = load_breast_cancer()
    return ShowTable(
        "Breast tumours (Wisconsin), as they ship with scikit-learn",
        "It is the only table with two classes that is installed with scikit-learn, so it was not "
        "picked for its result; no row or column was changed.",
        table.data,
        table.target == 0,
        tuple(str(name) for name in table.feature_names),
        "malignant",
        "benign",
    )


def entrants(seed: int) -> Mapping[str, Callable[[ShownMetric], Any]]:
    """The classifiers by name, each as a function from a goal to an unfitted estimator."""

    def tuned_logistic(goal: ShownMetric) -> Any:
        search = LogisticRegressionCV(Cs=STRENGTHS, cv=INNER_FOLDS, max_iter=ITERATIONS)
        model = make_pipeline(StandardScaler(), search)
        return TunedThresholdClassifierCV(
            model, scoring=goal.scorer, cv=INNER_FOLDS, random_state=seed
        )

    def trees(goal: ShownMetric) -> Any:
        model = HistGradientBoostingClassifier(random_state=seed)
        return TunedThresholdClassifierCV(
            model, scoring=goal.scorer, cv=INNER_FOLDS, random_state=seed
        )

    def plain(goal: ShownMetric) -> Any:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=ITERATIONS))

    return {
        PLAIN: plain,
        f"{PLAIN}, tuned": tuned_logistic,
        "boosted trees, tuned cut": trees,
        OURS: lambda goal: MetricClassifierCV(goal.metric, random_state=seed),
    }


def held_out(make: Callable[[], Any], table: ShowTable, seed: int) -> Array:
    """Which rows are predicted positive, each by a model that was trained without it."""
    predicted = np.zeros(table.hit.size, dtype=bool)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Warnings of scikit-learn on future changes of its defaults, which do not matter here.
        warnings.simplefilter("ignore", FutureWarning)
        for train, test in folds.split(table.matrix, table.hit):
            model = make().fit(table.matrix[train], table.hit[train])
            predicted[test] = model.predict(table.matrix[test])
    return predicted


def measured(
    hit: Array, predicted: Mapping[str, Array], goal: ShownMetric, seed: int
) -> list[DemoRow]:
    """The classifiers by a metric, the best first, with bootstrap intervals."""
    rng = np.random.default_rng(seed)
    # The same bootstrap samples for all classifiers, so that differences are paired.
    draws = rng.integers(hit.size, size=(DRAWS, hit.size))
    values = {name: goal.measure(hit, scores) for name, scores in predicted.items()}
    drawn = {
        name: np.array([goal.measure(hit[rows], scores[rows]) for rows in draws])
        for name, scores in predicted.items()
    }
    order = sorted(values, key=values.__getitem__, reverse=goal.greater_is_better)
    best = order[0]
    rows = []
    for name in order:
        low, high = np.quantile(drawn[name], (0.025, 0.975)).tolist()
        below, above = np.quantile(drawn[name] - drawn[best], (0.025, 0.975)).tolist()
        rows.append(
            DemoRow(name, values[name], low, high, values[name] - values[best], below, above)
        )
    return rows


def show_report(table: ShowTable, goal: ShownMetric, seed: int) -> ReportInfo:
    """The report of our model for a metric, trained on half of the rows, measured on the others.

    Parameters
    ----------
    table : ShowTable
    goal : ShownMetric
    seed : int
        Random seed of the halves, the folds and the intervals.
    """
    # One split into halves: the report shows a single model, unlike the cross-validated tables.
    half, other = next(stratified_folds(table.hit.astype(np.int64), 2, seed))
    train, test = table.matrix[half], table.matrix[other]
    start = time.perf_counter()
    rows = Rows(as_matrix(train), *encode(table.hit[half], None))
    fitted = train_model(SearchParameters(goal.metric, random_state=seed), rows)
    seconds = time.perf_counter() - start
    model, search = fitted.model, fitted.search
    assert search is not None
    told = ReportContext(
        seconds=seconds,
        train_auc=metrics.auc(table.hit[half], model.decision_function(train)),
        train_score=model.score(train, table.hit[half]),
        path=path_info(search, model.metric),
        solution=fitted.solutions[0],
        command=f"auctor demo --seed {seed}",
        rivals=baselines(model, vars(fitted.params), train, table.hit[half], test, seed=seed),
        numbers=(other + 1).tolist(),
    )
    data = DataInfo(
        train_rows=half.size,
        train_positives=int(table.hit[half].sum()),
        test_rows=other.size,
        test_positives=int(table.hit[other].sum()),
        n_columns=len(table.columns),
        positive=table.positive,
        negative=table.negative,
    )
    return describe(
        f"auctor demo: {table.title}",
        model,
        ScoredRows(table.hit[other].astype(np.int64), model.decision_function(test), None, seed),
        test,
        Schema.of((Column(name, "number") for name in table.columns), None),
        told,
        data=data,
    )


def verdict(goal: ShownMetric, rows: list[DemoRow]) -> str:
    """A sentence that says which classifier to use for a metric, and why.

    Examples
    --------
    >>> ahead = DemoRow("trees", 0.9, 0.88, 0.92, 0.0, 0.0, 0.0)
    >>> behind = DemoRow(OURS, 0.8, 0.78, 0.82, -0.1, -0.12, -0.08)
    >>> verdict(GOALS[0], [ahead, behind])
    'For f1 use trees: it is best here, and auctor, trained on the metric is behind by 0.100.'
    """
    best, *others = rows
    # In this order: ours is clearly behind; one is clearly best; the simplest of those that tie.
    ours = next(row for row in rows if row.name == OURS)
    tied = [row.name for row in others if row.tied]
    if best is not ours and not ours.tied:
        return (
            f"For {goal.metric} use {best.name}: it is best here, and {OURS} is behind by "
            f"{abs(ours.behind):.3f}."
        )
    if not tied:
        return f"For {goal.metric} use {best.name}: it is best, by more than chance on these rows."
    if best.name == PLAIN:
        return f"For {goal.metric} use plain {PLAIN}: it is best here, and the simplest."
    linear = next((name for name in (best.name, *tied) if "trees" not in name), best.name)
    use, why = (
        (f"plain {PLAIN}", "it is the simplest")
        if PLAIN in tied
        else (linear, "a linear model is the easiest to explain")
    )
    if use == best.name:
        others_tied = f"{' or '.join(tied)} may be as good"
        return f"For {goal.metric} use {use}: it is best here, {others_tied}, and {why}."
    lead = abs(next(row.behind for row in others if row.name == use.removeprefix("plain ")))
    return (
        f"For {goal.metric} use {use}: {why}, and the lead of {best.name} ({lead:.3f}) may be "
        "chance."
    )


def where_trees_win(results: Mapping[str, list[DemoRow]]) -> str:
    """A sentence on the metrics for which boosted trees win here, and when they win elsewhere."""
    first = [metric for metric, rows in results.items() if "trees" in rows[0].name]
    here = f"for {' and '.join(first)}" if first else "for none of these metrics"
    return (
        f"Boosted trees come first {here} on this table. Where columns interact, so that the "
        "effect of one depends on the value of another, they are often far ahead of every linear "
        "model, including auctor's."
    )
