"""Collections of a cluster that are passed to an estimator, such as Dask's arrays and frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

from sklearn.utils.validation import check_is_fitted

T = TypeVar("T")
Own = TypeVar("Own")

#: Rooms that handle the collections of a cluster, by an attribute that such collections have.
ENGINES = {"__dask_graph__": "auctor.dask"}


def as_shards(X: Any, y: Any) -> tuple[Any, Any]:
    """A cluster's collection as data in shards, with its labels; other data unchanged."""
    for mark, room in ENGINES.items():
        if hasattr(X, mark):
            data, labels = import_module(f"{room}.workers").with_labels(X, y)
            return data, labels
    return X, y


def by_partition(method: Callable[[Own, Any], T]) -> Callable[[Own, Any], T]:
    """Decorator of a predicting method: a cluster's collection is predicted lazily, in place."""

    @wraps(method)
    def answer(self: Own, X: Any) -> T:
        for mark, room in ENGINES.items():
            if hasattr(X, mark):
                check_is_fitted(self)
                predict = import_module(f"{room}.predict")
                return cast(T, predict.lazily(self, method.__name__, X))
        return method(self, X)

    return answer
