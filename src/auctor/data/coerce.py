"""Conversion of the objects that users pass (arrays, sparse matrices, tables) to data."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from scipy import sparse

from auctor.core.checks import check_vector
from auctor.core.errors import DataError, DataTypeError
from auctor.core.types import Array, FloatArray, Target
from auctor.data.binned import Binned, BinnedMatrix
from auctor.data.dense import Dense
from auctor.data.sharded import Sharded
from auctor.data.sparse import Sparse, unsigned
from auctor.kernels.linalg.products import increasing
from auctor.kernels.runtime.parallel import in_parallel

#: The data classes that a matrix or shards become.
StoredData: TypeAlias = Dense | Sparse | Binned | Sharded

#: Largest absolute entry of X.
LARGEST = 1e100

#: Entries that are checked at once: 256 KB of float64, which fits into a second-level cache.
CHECKED_ENTRIES = 1 << 15
#: Entries whose squares one task adds: 8 MB of float64.
SQUARED_ENTRIES = 1 << 20

#: Kinds of numpy dtypes that convert to float although they are not numbers: text, dates, records.
NOT_NUMBERS = "USmMV"


def as_data(X: Any, y: Any, *, weight: Any = None, n_threads: int | None = None) -> Dense | Sparse:
    """A matrix and its target as `Data`, without a copy if the types allow it.

    Parameters
    ----------
    X : array, CSR/CSC/other sparse matrix, pandas, polars or pyarrow table, shape (n, d)
        float32 and float64 are kept; other numbers become float64.
    y : (n,) numbers
        Encoded target: -1 and +1, or real numbers.
    weight : (n,) non-negative numbers, optional

    Examples
    --------
    >>> import numpy as np
    >>> as_data(np.ones((2, 3)), [1, -1]).n_columns
    3
    """
    matrix = as_matrix(X)
    n = matrix.shape[0]
    target = Target(
        check_vector("y", y, size=n), None if weight is None else check_weight(weight, n)
    )
    return wrap(matrix, target, n_threads=n_threads)


def in_shards(matrix: Any) -> TypeGuard[Sharded]:
    """Whether a result of `as_matrix` is data in shards, whose rows cannot be taken one by one."""
    return isinstance(matrix, Sharded)


def stored(matrix: Any, target: Target, *, n_threads: int | None = None) -> StoredData:
    """Data for a result of `as_matrix` or a `BinnedMatrix`."""
    if isinstance(matrix, BinnedMatrix):
        return Binned(matrix, target, n_threads=n_threads)
    if isinstance(matrix, Sharded):
        return matrix.with_target(target)
    return wrap(matrix, target, n_threads=n_threads)


def wrap(matrix: Any, target: Target, *, n_threads: int | None = None) -> Dense | Sparse:
    """Data for an array or sparse matrix that `as_matrix` returned."""
    kind = Dense if isinstance(matrix, np.ndarray) else Sparse
    return kind(matrix, target, n_threads=n_threads)


def as_matrix(X: Any, *, finite: bool = True) -> Any:
    """A float32 or float64 array, C or Fortran contiguous, or a canonical CSR or CSC matrix.

    NaN and infinity are an error unless ``finite`` is False. `Sharded` data are returned unchanged.
    """
    if isinstance(X, Sharded):
        return X
    matrix = _as_sparse(X) if sparse.issparse(X) else _as_array(X)
    if matrix.ndim != 2:
        raise DataError(
            f"X with two dimensions; got {matrix.ndim}. Reshape your data: X.reshape(-1, 1) for "
            "one column."
        )
    n, d = matrix.shape
    if n < 1 or d < 1:
        raise DataError(
            f"some rows and columns; got {n} sample(s) and {d} feature(s) (shape=({n}, {d})) while "
            "a minimum of 1 is required. Pass some data."
        )
    if finite:
        _check_finite(matrix if isinstance(matrix, np.ndarray) else matrix.data)
    return matrix


def refuse_swapped(X: Any, y: Any) -> None:
    """Raise if X has the shape of labels and y that of rows."""
    shapes = [one.shape for one in (X, y) if isinstance(one, np.ndarray) or hasattr(one, "iloc")]
    if [len(shape) for shape in shapes] == [1, 2] and shapes[1][1] > 1:
        raise DataError(
            f"X with two dimensions, then y with one; got the shapes {shapes[0]} and {shapes[1]}. "
            "Pass X first: fit(X, y)."
        )


def feature_names(X: Any) -> list[str] | None:
    """Column names of a table, ``None`` for an array; an error if a name occurs twice."""
    if not _is_table(X):
        return None
    listed = [str(name) for name in _names(X)]
    twice = (
        sorted({name for name in listed if listed.count(name) > 1})
        if len(set(listed)) < len(listed)
        else []
    )
    if twice:
        raise DataError(
            f"distinct column names; got {', '.join(twice[:5])} more than once. Rename them."
        )
    return listed


def check_weight(weight: Any, n: int, *, zeros: bool = False) -> FloatArray:
    """Row weights as float64; an error unless they are finite, >= 0 and of a moderate sum.

    Weights that are all zero are an error unless ``zeros`` is True.
    """
    refuse_masked(weight, "sample_weight")
    if np.asarray(weight).dtype.kind == "c":
        raise DataError("`sample_weight` to be real; got complex numbers. Pass their real part.")
    checked = check_vector("sample_weight", weight, size=n)
    if (checked < 0).any():
        raise DataError(f"`sample_weight` >= 0; got {checked.min():g}. Drop or clip them.")
    if not checked.any():
        if zeros:
            return checked
        raise DataError("some positive sample_weight; got zeros only. Pass other weights.")
    with np.errstate(over="ignore"):
        total = float(checked.sum())
    if not 1.0 / LARGEST <= total <= LARGEST:
        raise DataError(
            f"`sample_weight` with a sum in [{1.0 / LARGEST:g}, {LARGEST:g}]; got {total:g}. "
            "Divide the weights by their mean."
        )
    return checked


def refuse_masked(values: Any, name: str) -> None:
    """Raise `DataError` for a masked array with masked entries; numpy would ignore the mask."""
    if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
        raise DataError(
            f"{name} without missing entries; got a masked array with "
            f"{int(np.ma.getmaskarray(values).sum())} of them. Fill or drop them."
        )


def refuse_lazy(X: Any) -> None:
    """Raise `DataTypeError` for a lazy table, whose rows are not computed yet."""
    if hasattr(type(X), "collect"):
        raise DataTypeError(f"a table in memory; got a lazy {type(X).__name__}. Call .collect().")


def _as_sparse(X: Any) -> Any:
    """A canonical CSR or CSC matrix of float32 or float64."""
    if np.iscomplexobj(X):
        raise DataError("real numbers; got Complex data not supported. Pass the real part.")
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if not _canonical(X):
        X = X.copy()
        X.sum_duplicates()
    return X


def _canonical(X: Any) -> bool:
    """The same as ``X.has_canonical_format``, by a faster kernel for large matrices."""
    if X.indices.size < CHECKED_ENTRIES:
        return bool(X.has_canonical_format)
    return increasing(*unsigned(X)[:2])


def _as_array(X: Any) -> Array:
    """A contiguous float32 or float64 array; an error for anything that is not numeric."""
    refuse_masked(X, "X")
    refuse_lazy(X)
    try:
        array = _table_to_array(X) if _is_table(X) else np.asarray(X)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            "X with rows of equal length", got=str(error), todo="Pad or drop the short rows."
        ) from error
    if np.iscomplexobj(array):
        raise DataError("real numbers; got Complex data not supported. Pass the real part.")
    # Text, dates and records convert to float silently: an error instead.
    if array.dtype.kind in NOT_NUMBERS:
        raise DataError(
            f"numeric columns; got values of type {array.dtype}. Convert text and dates first."
        )
    if array.dtype not in (np.float32, np.float64):
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            kind = DataTypeError if isinstance(error, TypeError) else DataError
            raise kind(
                "numeric columns",
                got=(
                    f"a value that is not a number ({error}: argument must be a string or a number)"
                ),
                todo="Encode text and categories first.",
            ) from error
    if array.ndim == 2 and not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = np.ascontiguousarray(array)
    return array


def _is_table(X: Any) -> bool:
    return hasattr(X, "columns") or hasattr(X, "column_names")


def _table_to_array(X: Any) -> Array:
    """Columns of a pandas, polars or pyarrow table as one array; names the column that fails."""
    feature_names(X)
    bad = [name for name in _names(X) if not _is_numeric(X, name)]
    if bad:
        raise DataError(
            f"numeric columns; got non-numeric {', '.join(map(repr, bad[:5]))}. Drop them, "
            "encode text, categories and dates first, or use TableClassifier, which does."
        )
    array = X.to_numpy() if hasattr(X, "to_numpy") else None
    if array is None or array.dtype == object:
        array = np.column_stack([_floats(X, name) for name in _names(X)])
    return np.asarray(array)


def _names(X: Any) -> list[Any]:
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def _column(X: Any, name: Any) -> Array:
    column = X[name]
    return np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)


def _floats(X: Any, name: Any) -> FloatArray:
    """A numeric column as float64, its missing values as NaN."""
    if hasattr(X[name], "isna"):
        return np.asarray(X[name].to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(_column(X, name), dtype=np.float64)


def _is_numeric(X: Any, name: Any) -> bool:
    """Whether a column holds numbers; reads its values only if its dtype is object."""
    # No rows: only the dtype.
    column = _column(X[:0], name)
    if column.dtype != object:
        return column.ndim == 1 and column.dtype.kind not in NOT_NUMBERS
    column = _column(X, name)
    try:
        column.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return not any(isinstance(value, str) for value in column)


def _check_finite(values: Array) -> None:
    """Raise `DataError` for NaN, infinity and entries above `LARGEST`."""
    flat = values.ravel(order="K")

    def squares(low: int) -> float:
        with np.errstate(all="ignore"):
            strip = flat[low : low + SQUARED_ENTRIES]
            return float(np.dot(strip, strip))

    starts = range(0, flat.size, SQUARED_ENTRIES)
    # A fast sufficient test: NaN and infinity fail it.
    if sum(in_parallel(partial(squares, low) for low in starts)) < LARGEST:
        return
    # Find the reason: the extremes, a strip at a time, so that no copy of X is made.
    low = high = 0.0
    for start in range(0, flat.size, CHECKED_ENTRIES):
        strip = flat[start : start + CHECKED_ENTRIES]
        low = float(np.minimum(low, strip.min()))
        high = float(np.maximum(high, strip.max()))
    if np.isnan(low) or np.isnan(high):
        raise DataError("finite values in X; got NaN. Input X contains NaN: impute or drop them.")
    extreme = max(-low, high)
    if np.isinf(extreme):
        raise DataError("finite values in X; got infinity. Input X contains infinity: replace it.")
    if extreme > LARGEST:
        raise DataError(f"entries of X below {LARGEST:g} in size; got {extreme:g}. Rescale it.")
