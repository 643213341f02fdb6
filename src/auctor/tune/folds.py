"""One fold of one candidate: fit on its training rows, score on the others, in limited time."""

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
#: Fitted models that each fold keeps as starts of later candidates, the latest ones. Set by hand:
#: most candidates lie near the best so far, and a model of many columns takes memory.
KEPT_MODELS = 4


def within(seconds: float | None, call: Callable[[], T]) -> T:
    """What a call returns; `TimeoutError` after so many seconds.

    A call that takes longer goes on in a thread that is left alone, since Python cannot end it.

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
    """Some rows of an array, a sparse matrix, a data frame or a list.

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
    """Parameters of `fit` with those that have an entry for each row cut to some rows."""
    return {
        name: take_rows(value, index)
        if hasattr(value, "__len__") and not isinstance(value, str | Mapping)
        and len(value) == n_rows
        else value
        for name, value in given.items()
    }  # fmt: skip


@dataclass(frozen=True)
class FoldResult:
    """Times and scores under the names of ``cv_results_``, what went wrong, and the fitted model.

    A failed fold has no scores. The model is kept only where another fit can start from it.
    """

    scores: dict[str, float]
    error: str | None = None
    model: Any = None


@dataclass(frozen=True)
class Fitting:
    """What the folds of one search share.

    ``fit_params`` go to `fit` and ``score_params`` to the scorer, cut to the rows of each fold.
    ``lead`` is the metric that candidates are compared by; None takes the scorer's first.
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
        """Fit and score one fold; an exception, a time-out or a score of NaN marks it failed."""
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
        """Some rows; of a matrix of kernel values also the columns of the training rows."""
        X = take_rows(self.X, rows)
        if get_tags(self.estimator).input_tags.pairwise:
            X = X[:, train]
        return X, None if self.y is None else take_rows(self.y, rows)

    def _scores(self, part: str, model: Any, X: Any, y: Any, rows: IntArray) -> dict[str, float]:
        given = rows_of_each(self.score_params, rows, self.n_rows)
        found = self.scorer(model, X, **given) if y is None else self.scorer(model, X, y, **given)
        if not isinstance(found, Mapping):
            found = {"score": found}
        # A scorer of several metrics gives the text of the error of each that failed.
        failed = self.error_score
        return {
            f"{part}_{name}": float(failed if isinstance(value, str) else value)
            for name, value in found.items()
        }


def _not_finite(scores: Mapping[str, float], lead: str | None) -> str | None:
    name = next(iter(scores)) if lead is None else f"test_{lead}"
    value = scores.get(name, math.nan)
    return None if math.isfinite(value) else f"{name} is {value}"


# --- warm starts ----------------------------------------------------------------------------------


def strength_name(parameters: Mapping[str, Any]) -> str | None:
    """The tuned parameter that is the strength of a penalty, also as the step of a pipeline.

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
    """Let a model start from an earlier one, and give the part that later ones can start from.

    That is None for estimators without `continue_from`: only those of auctor have it.
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
    """Fitted models of each fold; a new candidate starts from the one of the nearest strength."""

    def __init__(self, n_folds: int) -> None:
        self._kept: list[list[tuple[float, Any]]] = [[] for _ in range(n_folds)]

    def keep(self, fold: int, parameters: Mapping[str, Any], model: Any) -> None:
        """Remember a fitted model, and forget the oldest beyond the most that are kept."""
        name = strength_name(parameters)
        if model is not None and name is not None:
            self._kept[fold] = [*self._kept[fold], (_log(parameters[name]), model)][-KEPT_MODELS:]

    def nearest(self, fold: int, parameters: Mapping[str, Any]) -> Any:
        """The model to start from; None where there is none."""
        name = strength_name(parameters)
        if name is None or not self._kept[fold]:
            return None
        at = _log(parameters[name])
        return min(self._kept[fold], key=lambda one: abs(one[0] - at))[1]


def _log(strength: float) -> float:
    return math.log(max(float(strength), float(np.finfo(float).tiny)))
