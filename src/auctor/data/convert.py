"""The one place that looks at what kind of object a user passed in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from auctor.core.checks import check_vector
from auctor.core.errors import DataError, DataTypeError
from auctor.core.types import Array, FloatArray, Target
from auctor.data.memory import Dense, Sparse

#: Squares and sums of larger entries overflow.
LARGEST = 1e100


def as_data(
    X: Any,
    y: Any,
    *,
    weight: Any = None,
    n_threads: int | None = None,
    who: str = "auctor",
) -> Dense | Sparse:
    """Put a matrix and its target behind the `Data` protocol, without a copy where none is needed.

    Parameters
    ----------
    X : array, CSR/CSC/other sparse matrix, pandas, polars or pyarrow table, shape (n, d)
        float32 and float64 are kept; other numbers become float64.
    y : (n,) numbers
        Encoded target.
    weight : (n,) non-negative numbers, optional
    n_threads : int, optional
    who : str
        Name used in error messages.

    Examples
    --------
    >>> import numpy as np
    >>> as_data(np.ones((2, 3)), [1, -1]).n_columns
    3
    """
    matrix = as_matrix(X, who=who)
    n = matrix.shape[0]
    target = Target(
        check_vector(who, "y", y, size=n),
        None if weight is None else check_weight(weight, n, who=who),
    )
    return wrap(matrix, target, n_threads=n_threads)


def wrap(matrix: Any, target: Target, *, n_threads: int | None = None) -> Dense | Sparse:
    """Data over a matrix that `as_matrix` returned."""
    kind = Dense if isinstance(matrix, np.ndarray) else Sparse
    return kind(matrix, target, n_threads=n_threads)


def as_matrix(X: Any, *, who: str = "auctor") -> Any:
    """A float32 or float64 array, C or Fortran contiguous, or a canonical CSR or CSC matrix."""
    matrix = _as_sparse(X, who) if sparse.issparse(X) else _as_array(X, who)
    if matrix.ndim != 2:
        raise DataError(
            f"{who} needs X with two dimensions; got {matrix.ndim}. "
            "Reshape your data: X.reshape(-1, 1) for one column."
        )
    n, d = matrix.shape
    if n < 1 or d < 1:
        raise DataError(
            f"{who} needs some rows and columns; got {n} sample(s) and {d} feature(s) "
            f"(shape=({n}, {d})) while a minimum of 1 is required. Pass some data."
        )
    _check_finite(matrix if isinstance(matrix, np.ndarray) else matrix.data, who)
    return matrix


def feature_names(X: Any) -> list[str] | None:
    """Column names of a table, ``None`` for an array; refuses duplicates."""
    names = getattr(X, "columns", None)
    if names is None:
        names = getattr(X, "column_names", None)
    if names is None:
        return None
    listed = [str(name) for name in names]
    twice = (
        sorted({name for name in listed if listed.count(name) > 1})
        if len(set(listed)) < len(listed)
        else []
    )
    if twice:
        raise DataError(
            f"auctor needs distinct column names; got {', '.join(twice[:5])} more than once. "
            "Rename or drop the repeated columns."
        )
    return listed


def check_weight(weight: Any, n: int, *, who: str) -> FloatArray:
    """Non-negative finite weights with a positive sum."""
    checked = check_vector(who, "sample_weight", weight, size=n)
    if (checked < 0).any():
        raise DataError(
            f"{who} needs sample_weight >= 0; got {checked.min():g}. Remove or clip such weights."
        )
    if not checked.any():
        raise DataError(
            f"{who} needs some positive sample_weight; got zeros only. Pass weights that are not "
            "all zero."
        )
    return checked


def _as_sparse(X: Any, who: str) -> Any:
    if np.iscomplexobj(X):
        raise DataError(f"{who} needs real numbers; got Complex data not supported. Drop them.")
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _as_array(X: Any, who: str) -> Array:
    array = _table_to_array(X, who) if _is_table(X) else np.asarray(X)
    if np.iscomplexobj(array):
        raise DataError(f"{who} needs real numbers; got Complex data not supported. Drop them.")
    if array.dtype not in (np.float32, np.float64):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            kind = DataTypeError if isinstance(error, TypeError) else DataError
            raise kind(
                f"{who} needs numeric columns; got a value that is no number ({error}: argument "
                "must be a string or a number). Encode text and categories first."
            ) from error
    if array.ndim == 2 and not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    return array


def _is_table(X: Any) -> bool:
    return hasattr(X, "columns") or hasattr(X, "column_names")


def _table_to_array(X: Any, who: str) -> Array:
    """Columns of a pandas, polars or pyarrow table as one array; names the column that fails."""
    array = X.to_numpy() if hasattr(X, "to_numpy") else None
    if array is None or array.dtype == object:
        bad = [name for name in _names(X) if not _is_numeric(_column(X, name))]
        if bad:
            raise DataError(
                f"{who} needs numeric columns; got non-numeric {', '.join(map(repr, bad[:5]))}. "
                "Encode text and categories first."
            )
        array = np.column_stack([np.asarray(_column(X, n), dtype=np.float64) for n in _names(X)])
    return np.asarray(array)


def _names(X: Any) -> list[Any]:
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _column(X: Any, name: Any) -> Array:
    column = X[name]
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _is_numeric(column: Array) -> bool:
    if column.dtype != object:
        return bool(np.issubdtype(column.dtype, np.number) or column.dtype == bool)
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return not any(isinstance(value, str) for value in column)


def _check_finite(values: Array, who: str) -> None:
    """Refuse NaN, infinity and entries whose squares would overflow, strip by strip."""
    low = high = 0.0
    if values.size:
        low, high = float(values.min()), float(values.max())
    if np.isnan(low) or np.isnan(high):
        raise DataError(
            f"{who} needs finite values in X; got NaN. Input X contains NaN: impute or drop them."
        )
    extreme = max(-low, high)
    if np.isinf(extreme):
        raise DataError(
            f"{who} needs finite values in X; got infinity. Input X contains infinity: "
            "replace such entries."
        )
    if extreme > LARGEST:
        raise DataError(
            f"{who} needs entries of X below {LARGEST:g} in size; got {extreme:g}. "
            "Rescale that column."
        )
