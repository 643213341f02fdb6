"""Tuned models that people use: scaled one-hot logistic regression, and LightGBM."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from auctor import metrics

#: ``measure(hits, scores)``, greater is better; a row is predicted positive above 0.
Measure = Callable[[np.ndarray, np.ndarray], float]


class Spec(NamedTuple):
    """How a metric is measured, and the rule of its cut where it judges labels."""

    measure: Measure
    cut: tuple[str, float] | None = None


#: Every metric as the command line takes it.
METRICS: dict[str, Spec] = {
    "auc": Spec(metrics.auc),
    "f1": Spec(lambda hits, scores: metrics.fbeta(hits, scores > 0.0), ("fbeta", 1.0)),
    "average_precision": Spec(metrics.average_precision),
}


def _logistic(C: float) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(columns, LogisticRegression(C=C, max_iter=1000))


def _trees(leaves: int, count: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        num_leaves=leaves, n_estimators=count, learning_rate=0.05, n_jobs=1, verbose=-1
    )


class Method(NamedTuple):
    """A model with its settings, the number of inner folds, and how rows are scored."""

    settings: list[Callable[[], Any]]
    folds: int
    scores: Callable[[Any, pd.DataFrame], np.ndarray]


METHODS = {
    # From a nearly empty model to next to no penalty.
    "logistic": Method(
        [partial(_logistic, C) for C in np.geomspace(1e-4, 1e3, 8).tolist()],
        5,
        lambda model, rows: model.decision_function(rows),
    ),
    # The settings of the section additive_tables.
    "trees": Method(
        [partial(_trees, *setting) for setting in product((4, 15, 31), (100, 300))],
        3,
        lambda model, rows: model.predict(rows, raw_score=True),
    ),
}


class Reference:
    """A method on a table: a fit for every inner fold and setting, for all metrics."""

    def __init__(self, method: str, train: Path, test: Path, label: str, rare: str) -> None:
        table, held = pd.read_csv(train), pd.read_csv(test)
        self._method = METHODS[method]
        self.hits = (table.pop(label).astype(str) == rare).to_numpy()
        self.truth = (held.pop(label).astype(str) == rare).to_numpy()
        if method == "trees":
            for column in table.select_dtypes(exclude="number"):
                table[column] = table[column].astype("category")
                held[column] = pd.Categorical(held[column], table[column].cat.categories)
        self._table, self._held = table, held
        self._fitted: dict[int, np.ndarray] = {}
        start = time.process_time()
        folds = StratifiedKFold(self._method.folds, shuffle=True, random_state=0)
        self._folds = list(folds.split(table, self.hits))
        self._inner = np.zeros((len(self._method.settings), len(self.hits)))
        for inner, make in zip(self._inner, self._method.settings, strict=True):
            for fit, judge in self._folds:
                inner[judge] = self._scores(make, fit, table.iloc[judge])
        #: CPU seconds of the inner folds.
        self.tuning = time.process_time() - start

    def scores(self, spec: Spec) -> np.ndarray:
        """Scores of the test rows at the setting that is best for a metric, less the cut."""
        found = []
        for inner in self._inner:
            cut = self._cut(spec, inner)
            values = [spec.measure(self.hits[f], inner[f] - cut) for _, f in self._folds]
            found.append(float(np.mean(values)))
        best = int(np.argmax(found))
        if best not in self._fitted:
            every = np.arange(len(self.hits))
            self._fitted[best] = self._scores(self._method.settings[best], every, self._held)
        return np.asarray(self._fitted[best] - self._cut(spec, self._inner[best]))

    def _scores(self, make: Callable[[], Any], fit: np.ndarray, new: pd.DataFrame) -> np.ndarray:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            model = make().fit(self._table.iloc[fit], self.hits[fit])
            return self._method.scores(model, new)

    def _cut(self, spec: Spec, inner: np.ndarray) -> float:
        return 0.0 if spec.cut is None else metrics.best_threshold(self.hits, inner, *spec.cut)
