"""Scaled one-hot logistic regression, tuned, its cut tuned for the metric: the usual way."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

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
#: Inverse strengths that are tried: from a nearly empty model to next to no penalty.
INVERSE_STRENGTHS = np.geomspace(1e-4, 1e3, 8)
#: Inner folds.
FOLDS = 5


def _minus_cost(ratio: float) -> Measure:
    def measure(hits: np.ndarray, scores: np.ndarray) -> float:
        table = metrics.confusion(hits, scores > 0.0)
        return -(table.fp + ratio * table.fn) / sum(table)

    return measure


class Spec(NamedTuple):
    """How a metric is measured, and the rule of its cut where it judges labels."""

    measure: Measure
    cut: tuple[str, float] | None = None


#: Every metric as the command line takes it.
METRICS: dict[str, Spec] = {
    "auc": Spec(metrics.auc),
    "f1": Spec(lambda hits, scores: metrics.fbeta(hits, scores > 0.0), ("fbeta", 1.0)),
    "precision_at_k(0.05)": Spec(lambda hits, scores: metrics.precision_at_k(hits, scores, 0.05)),
    "recall_at_k(0.2)": Spec(lambda hits, scores: metrics.recall_at_k(hits, scores, 0.2)),
    "partial_auc(0.1)": Spec(lambda hits, scores: metrics.partial_auc(hits, scores, 0.1)),
    "average_precision": Spec(metrics.average_precision),
    "prbep": Spec(metrics.prbep),
    "cost(5)": Spec(_minus_cost(5.0), ("cost", 5.0)),
}


class Reference:
    """Logistic regression on a table: a fit for every inner fold and strength, for all metrics."""

    def __init__(self, train: Path, test: Path, label: str, rare: str) -> None:
        table, held = pd.read_csv(train), pd.read_csv(test)
        self.hits = (table.pop(label).astype(str) == rare).to_numpy()
        self.truth = (held.pop(label).astype(str) == rare).to_numpy()
        start = time.process_time()
        pd.read_csv(train)
        _pipeline(1.0).fit(table, self.hits)
        #: CPU seconds of reading the file and a single fit.
        self.single = time.process_time() - start
        self._tune(table, held)

    def _tune(self, table: pd.DataFrame, held: pd.DataFrame) -> None:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        self._folds = list(folds.split(table, self.hits))
        self._inner = np.zeros((len(INVERSE_STRENGTHS), len(self.hits)))
        self._held = []
        start = time.process_time()
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            for j, C in enumerate(INVERSE_STRENGTHS.tolist()):
                for fit, judge in self._folds:
                    model = _pipeline(C).fit(table.iloc[fit], self.hits[fit])
                    self._inner[j, judge] = model.decision_function(table.iloc[judge])
                self._held.append(_pipeline(C).fit(table, self.hits).decision_function(held))
        self.tuning = time.process_time() - start

    def scores(self, spec: Spec) -> np.ndarray:
        """Scores of the test rows at the strength that is best for a metric, less the cut."""
        found = []
        for inner in self._inner:
            cut = self._cut(spec, inner)
            values = [spec.measure(self.hits[f], inner[f] - cut) for _, f in self._folds]
            found.append(float(np.mean(values)))
        best = int(np.argmax(found))
        return np.asarray(self._held[best] - self._cut(spec, self._inner[best]))

    def _cut(self, spec: Spec, inner: np.ndarray) -> float:
        return 0.0 if spec.cut is None else metrics.best_threshold(self.hits, inner, *spec.cut)


def _pipeline(C: float) -> Pipeline:
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
