"""Fit and score of one candidate on one fold, with a time limit and warm starts."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from auctor.core.types import IntArray

T = TypeVar("T")
#: Latest fitted models that each fold keeps as warm starts. Set by hand: most candidates are near
#: the best so far, and a model of many columns takes memory.
KEPT_MODELS = 4


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """The result of a call; raises `TimeoutError` after ``seconds``.

    A call that takes longer continues in a background thread, because Python cannot stop a thread.

    Examples
    --------
    >>> within(1.0, lambda: 3)
    3
    """
    if seconds is None:
        return call()
    found: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not found:
        raise TimeoutError(f"it took longer than {seconds:g} seconds")
    return found[0]


def take_rows(table: Any, index: IntArray) -> Any:
    """The rows of an index, of an array, a sparse matrix, a data frame or a list.

    Examples
    --------
    >>> take_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if hasattr(table, "iloc"):
        return table.iloc[index]
    if hasattr(table, "shape"):
        return table[index]
    return [table[i] for i in index]


def rows_of_each(given: Mapping[str, Any], index: IntArray, n_rows: int) -> dict[str, Any]:
    """Parameters of `fit`; those with one entry per row are reduced to the rows of an index."""
    return {
        name: take_rows(value, index)
        if hasattr(value, "__len__") and not isinstance(value, str | Mapping)
        and len(value) == n_rows
        else value
        for name, value in given.items()
    }  # fmt: skip


@dataclass(frozen=True)
class FoldResult:
    """Times and scores by their names in ``cv_results_``, the error if any, and the fitted model.

    A failed fold has no scores. The model is kept only if another fit can be warm-started from it.
    """

    scores: dict[str, float]
    error: str | None = None
    model: Any = None


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
        warm = _continued(model, parameters, start)
        begin = time.perf_counter()
        X, y = self._part(train, train)
        given = rows_of_each(self.fit_params, train, self.n_rows)
        model.fit(X, **given) if y is None else model.fit(X, y, **given)
        fitted = time.perf_counter()
        scores = self._scores("test", model, *self._part(test, train), test)
        scored = time.perf_counter()
        error = _not_finite(scores, self.lead)
        if self.train_score:
            scores |= self._scores("train", model, X, y, train)
        times = {"fit_time": fitted - begin, "score_time": scored - fitted}
        return FoldResult(times | scores, error, warm)

    def _part(self, rows: IntArray, train: IntArray) -> tuple[Any, Any]:
        """X and y of some rows; a kernel matrix is reduced to the columns of training rows."""
        X = take_rows(self.X, rows)
        if get_tags(self.estimator).input_tags.pairwise:
            X = X[:, train]
        return X, None if self.y is None else take_rows(self.y, rows)

    def _scores(self, part: str, model: Any, X: Any, y: Any, rows: IntArray) -> dict[str, float]:
        """Scores of a fitted model, named ``test_<metric>`` or ``train_<metric>``."""
        given = rows_of_each(self.score_params, rows, self.n_rows)
        found = self.scorer(model, X, **given) if y is None else self.scorer(model, X, y, **given)
        if not isinstance(found, Mapping):
            found = {"score": found}
        # A scorer of several metrics returns the text of the error for each that failed.
        failed = self.error_score
        return {
            f"{part}_{name}": float(failed if isinstance(value, str) else value)
            for name, value in found.items()
        }


def _not_finite(scores: Mapping[str, float], lead: str | None) -> str | None:
    """An error text if the leading metric is not finite."""
    name = next(iter(scores)) if lead is None else f"test_{lead}"
    value = scores.get(name, math.nan)
    return None if math.isfinite(value) else f"{name} is {value}"


# --- warm starts ----------------------------------------------------------------------------------


def strength_name(parameters: Mapping[str, Any]) -> str | None:
    """The name of the tuned parameter that is a ``strength``, possibly of a pipeline step.

    None if there is none, or more than one.

    Examples
    --------
    >>> strength_name({"svc__C": 1.0, "model__strength": 0.1})
    'model__strength'
    """
    named = [
        name
        for name, value in parameters.items()
        if name.rpartition("__")[2] == "strength" and isinstance(value, Real)
    ]
    return named[0] if len(named) == 1 else None


def _continued(model: Any, parameters: Mapping[str, Any], start: Any) -> Any:
    """Warm-start a model from an earlier one; returns the part that later ones can start from.

    None for estimators without `continue_from`, which only auctor's estimators have.
    """
    name = strength_name(parameters)
    if name is None:
        return None
    prefix = name.rpartition("__")[0]
    part = model.get_params(deep=True)[prefix] if prefix else model
    if not hasattr(part, "continue_from"):
        return None
    if start is not None:
        part.set_params(warm_start=True).continue_from(start)
    return part


class Starts:
    """Fitted models of each fold, for warm starts from the nearest strength."""

    def __init__(self, n_folds: int) -> None:
        self._kept: list[list[tuple[float, Any]]] = [[] for _ in range(n_folds)]

    def keep(self, fold: int, parameters: Mapping[str, Any], model: Any) -> None:
        """Keep a fitted model, and drop the oldest if there are more than `KEPT_MODELS`."""
        name = strength_name(parameters)
        if model is not None and name is not None:
            self._kept[fold] = [*self._kept[fold], (_log(parameters[name]), model)][-KEPT_MODELS:]

    def nearest(self, fold: int, parameters: Mapping[str, Any]) -> Any:
        """The model of the nearest strength on a fold; None if there is none."""
        name = strength_name(parameters)
        if name is None or not self._kept[fold]:
            return None
        at = _log(parameters[name])
        return min(self._kept[fold], key=lambda one: abs(one[0] - at))[1]


def _log(strength: float) -> float:
    return math.log(max(float(strength), float(np.finfo(float).tiny)))
