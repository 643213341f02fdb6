"""What the estimators share: checks of arguments, fitted attributes, data of clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from numbers import Real
from typing import Any, Generic, Self, TypeVar, cast, overload

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from auctor.core.errors import ConvergenceWarning, DataError, DataTypeError, warn
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray
from auctor.data import as_matrix
from auctor.data.coerce import LARGEST, NOT_NUMBERS, check_weight, in_shards, refuse_masked
from auctor.fit.result import FitOptions


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Store the names and number of columns in an estimator, or check that they are those of `fit`.

    scikit-learn's check, with errors of auctor that contain its words, as its checks of estimators
    demand; values are not looked at.
    """
    try:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
    except ValueError as error:
        raise DataError(
            f"the columns of fit; got others: {_one_line(error)}. Pass the columns used in fit."
        ) from error
    except TypeError as error:
        raise DataTypeError(
            f"names of columns, all text; got others: {_one_line(error)}. Rename the columns."
        ) from error


def read_matrix(estimator: Any, X: Any, *, reset: bool) -> Any:
    """The matrix of X; names and number of columns are stored, or checked against `fit`."""
    if not reset:
        check_is_fitted(estimator)
    matrix = as_matrix(X)
    if not in_shards(matrix):
        # The values were checked by `as_matrix`.
        check_columns(estimator, X if hasattr(X, "shape") else matrix, reset=reset)
    elif reset:
        estimator.n_features_in_ = matrix.n_columns
        if matrix.names is not None:
            estimator.feature_names_in_ = np.array(matrix.names, dtype=object)
    elif matrix.n_columns != estimator.n_features_in_:
        raise DataError(
            f"{estimator.n_features_in_} columns, as in fit; got {matrix.n_columns}. Pass those."
        )
    return matrix


def column_names(estimator: Any) -> tuple[str, ...] | None:
    """Names of the columns, if the data of `fit` had names."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def read_target(y: Any, n: int) -> Array:
    """One label or number per row."""
    if y is None:  # the wording in brackets is that of scikit-learn's check of estimators
        raise DataError(
            "targets; got None (it requires y to be passed, but the target y is None). Pass y."
        )
    refuse_masked(y, "y")
    try:
        flat: Array = column_or_1d(y, warn=True)
    except (TypeError, ValueError) as error:
        raise DataError(
            "one target per row", got=sentence(error), todo="Pass a one-dimensional y."
        ) from error
    if flat.shape[0] != n:
        raise DataError(
            f"as many targets as rows; got {flat.shape[0]} and {n}. Pass X and y of equal length."
        )
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise DataError(
            "finite targets; got NaN or infinity. Input y contains NaN or infinity: drop those "
            "rows."
        )
    return flat


def read_numbers(y: Any, n: int, *, classifier: str) -> FloatArray:
    """Finite targets whose squares do not overflow; errors name the ``classifier`` for labels."""
    target = read_target(y, n)
    try:
        if target.dtype.kind in NOT_NUMBERS:
            raise TypeError
        numbers = np.ascontiguousarray(target, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"numeric targets; got {target.dtype}. Use {classifier} for labels."
        ) from error
    largest = float(np.abs(numbers).max())
    if not largest <= LARGEST:
        raise DataError(f"finite targets below {LARGEST:g} in size; got {largest:g}. Rescale them.")
    return numbers


def read_labels(y: Any, n: int, *, regressor: str) -> Array:
    """One class label per row, of at least two rows; errors name the ``regressor`` for numbers."""
    labels = read_target(y, n)
    if missing := int(sum(one is None for one in labels.tolist()) if labels.dtype == object else 0):
        raise DataError(
            f"labels without None; got {missing} of {n} that are None. Drop rows without a label."
        )
    if n < 2:
        raise DataError(f"at least two rows; got {n} sample. Pass more rows.")
    try:
        check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise DataError(
            "class labels of one type", got=sentence(error), todo=f"Use {regressor} for numbers."
        ) from error
    return labels


def read_weight(sample_weight: Any, n: int) -> FloatArray | None:
    """Checked row weights; a single number is the weight of every row."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n, sample_weight, dtype=np.float64)
    return check_weight(sample_weight, n)


# --- fitted attributes ----------------------------------------------------------------------------

T = TypeVar("T")


class OfFit(Generic[T]):
    """A fitted attribute of an estimator, read from ``result_``, the result of its last `fit`.

    It does not exist before `fit`, nor where ``read`` gives ``None``.
    """

    def __init__(self, read: Callable[[Any], T | None]) -> None:
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, estimator: None, owner: type) -> Self: ...

    @overload
    def __get__(self, estimator: object, owner: type) -> T: ...

    def __get__(self, estimator: object | None, owner: type) -> Self | T:
        if estimator is None:
            return self
        result = vars(estimator).get("result_")
        value = None if result is None else self._read(result)
        if value is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return value

    def __set__(self, estimator: object, value: object) -> None:
        raise AttributeError(f"{self._name} is that of the last fit and cannot be set")


class OfModel(OfFit[T]):
    """A fitted attribute that is read from the model, which a search without ``refit`` has not."""

    def __init__(self, read: Callable[[Any], T | None]) -> None:
        super().__init__(lambda result: None if result.model is None else read(result.model))


def one_or_all(solutions: list[Solution]) -> Solution | list[Solution] | None:
    """A single solution by itself, several as a list."""
    return solutions if len(solutions) > 1 else next(iter(solutions), None)


def taken(estimator: Any, name: str) -> Any:
    """An attribute that is used once, and then deleted; ``None`` without it."""
    value = vars(estimator).get(name)
    if name in vars(estimator):
        delattr(estimator, name)
    return value


def take_start(estimator: Any) -> FitOptions:
    """Names of the columns, and what the fit starts from: `continue_from`, or the last fit.

    What `continue_from` has set is used once: later fits start from their own solutions.
    """
    start = taken(estimator, "_start")
    names = column_names(estimator)
    if start is not None and not isinstance(start, list):
        return FitOptions(names=names, resume=start)
    last = vars(estimator).get("result_")
    if start is None and last is not None:
        start = last.solutions
    return FitOptions(names=names, previous=start or None)


def start_of(other: Any) -> Any:
    """What `continue_from` keeps of another estimator, or a checkpoint itself."""
    if not isinstance(other, BaseEstimator):
        return other
    return vars(other)["result_"].solutions if "result_" in vars(other) else None


def sentence(error: Exception) -> str:
    """First line of another library's message, without its full stop."""
    return str(error).partition("\n")[0].rstrip(".")


def _one_line(error: Exception) -> str:
    """Another library's message on one line, without its full stop."""
    return " ".join(str(error).split()).rstrip(".")


class FitWarning(ConvergenceWarning, SklearnConvergenceWarning):  # type: ignore[misc]
    """A fit stopped before its tolerance; caught as auctor's or scikit-learn's warning."""


def issue_warnings(warned: Iterable[Warning]) -> None:
    """Issue warnings that point at the line that called `fit`; only `fit` may call this.

    A warning on convergence can also be caught as scikit-learn's ConvergenceWarning.
    """
    for warning in warned:
        if isinstance(warning, ConvergenceWarning):
            warning = warning.of_kind(FitWarning)
        warn(warning)


Own = TypeVar("Own")

#: Rooms that handle the collections of a cluster, by an attribute that such collections have.
ENGINES = {"__dask_graph__": "auctor.dask"}


def as_shards(X: Any, y: Any, *, missing: bool = False) -> tuple[Any, Any]:
    """A cluster's collection as data in shards, with its labels; other data unchanged.

    Entries may be ``missing``, or are refused if they are.
    """
    for mark, room in ENGINES.items():
        if hasattr(X, mark):
            data, labels = import_module(f"{room}.workers").with_labels(X, y, missing=missing)
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
