"""Fit and score of one candidate on one fold, with a time limit and a warm start."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.utils import get_tags

from auctor.core.types import IntArray
from auctor.tune.table import FoldResult
from auctor.tune.time_limit import within
from auctor.tune.warm_starts import continue_from


def take_rows(table: Any, index: IntArray) -> Any:
    """The rows of an index, of an array, a sparse matrix, a data frame or a list.

    Examples
    --------
    >>> import numpy as np
    >>> take_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if hasattr(table, "iloc"):
        return table.iloc[index]
    if hasattr(table, "shape"):
        return table[index]
    return [table[i] for i in index]


def rows_of_each(values: Mapping[str, Any], index: IntArray, n_rows: int) -> dict[str, Any]:
    """Parameters of `fit`; those with one entry per row are reduced to the rows of an index."""
    return {
        name: take_rows(value, index)
        if hasattr(value, "__len__") and not isinstance(value, str | Mapping)
        and len(value) == n_rows
        else value
        for name, value in values.items()
    }  # fmt: skip


@dataclass(frozen=True)
class Fitting:
    """The settings that all folds of a search share.

    ``fit_params`` are passed to `fit` and ``score_params`` to the scorer, reduced to the rows of
    each fold. ``lead`` is the metric by which candidates are compared; None is the scorer's first.
    """

    estimator: Any
    scorer: Any
    lead: str | None
    X: Any
    y: Any
    n_rows: int
    fit_params: Mapping[str, Any]
    score_params: Mapping[str, Any]
    error_score: Any
    train_score: bool
    timeout: float | None

    def run(
        self, parameters: Mapping[str, Any], split: tuple[IntArray, IntArray], start: Any = None
    ) -> FoldResult:
        """Fit and score one fold; it fails by an exception, a time-out or a score of NaN."""
        begin = time.perf_counter()
        try:
            return within(self.timeout, lambda: self._fit_and_score(parameters, split, start))
        except Exception as error:
            if self.error_score == "raise":
                raise
            spent = {"fit_time": time.perf_counter() - begin, "score_time": 0.0}
            return FoldResult(spent, f"{type(error).__name__}: {error}")

    def _fit_and_score(
        self, parameters: Mapping[str, Any], split: tuple[IntArray, IntArray], start: Any
    ) -> FoldResult:
        """Fit a clone of the estimator on the training rows and score it on the test rows."""
        train, test = split
        model = clone(self.estimator).set_params(**clone(dict(parameters), safe=False))
        warm = continue_from(model, parameters, start)
        begin = time.perf_counter()
        X, y = self._part(train, train)
        fit_arguments = rows_of_each(self.fit_params, train, self.n_rows)
        model.fit(X, **fit_arguments) if y is None else model.fit(X, y, **fit_arguments)
        fit_end = time.perf_counter()
        scores = self._scores("test", model, *self._part(test, train), test)
        scored = time.perf_counter()
        error = _not_finite(scores, self.lead)
        if self.train_score:
            scores |= self._scores("train", model, X, y, train)
        times = {"fit_time": fit_end - begin, "score_time": scored - fit_end}
        return FoldResult(times | scores, error, warm)

    def _part(self, rows: IntArray, train: IntArray) -> tuple[Any, Any]:
        """X and y of some rows; a kernel matrix is reduced to the columns of training rows."""
        X = take_rows(self.X, rows)
        if get_tags(self.estimator).input_tags.pairwise:
            X = X[:, train]
        return X, None if self.y is None else take_rows(self.y, rows)

    def _scores(self, part: str, model: Any, X: Any, y: Any, rows: IntArray) -> dict[str, float]:
        """Scores of a fitted model, named ``test_<metric>`` or ``train_<metric>``."""
        score_arguments = rows_of_each(self.score_params, rows, self.n_rows)
        scores = (
            self.scorer(model, X, **score_arguments)
            if y is None
            else self.scorer(model, X, y, **score_arguments)
        )
        if not isinstance(scores, Mapping):
            scores = {"score": scores}
        # A scorer of several metrics returns the text of the error for each that failed.
        failed = self.error_score
        return {
            f"{part}_{name}": float(failed if isinstance(value, str) else value)
            for name, value in scores.items()
        }


def _not_finite(scores: Mapping[str, float], lead: str | None) -> str | None:
    """An error text if the leading metric is not finite."""
    name = next(iter(scores)) if lead is None else f"test_{lead}"
    value = scores.get(name, math.nan)
    return None if math.isfinite(value) else f"{name} is {value}"
