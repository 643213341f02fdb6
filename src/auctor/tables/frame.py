"""Tables in memory: what speaks the Arrow C stream protocol, and arrays, as Arrow tables."""

from __future__ import annotations

import math
from datetime import date
from numbers import Real
from typing import Any

import numpy as np

from auctor.core.checks import meant
from auctor.core.errors import DataError, DataTypeError
from auctor.core.optional import require
from auctor.core.types import Array
from auctor.data.coerce import refuse_lazy, refuse_masked
from auctor.data.matrices import is_sparse
from auctor.tables.arrow import ArrowFile
from auctor.tables.columns import check_names, default_names, listed
from auctor.tables.options import ReadOptions


def table_in_memory(
    table: Any, reading: ReadOptions, *, without: str | None = None, name: str = "the table"
) -> ArrowFile:
    """A table in memory behind the protocol of `auctor.tables.blocks.TableFile`.

    Numbers and bools are numbers, dates and times are dates, and everything else is text. Text that
    spells a number in every row is a column of numbers, as in a CSV file, unless its type is
    categorical.

    Parameters
    ----------
    table : object with ``__arrow_c_stream__``, or two-dimensional array
        pandas, polars, pyarrow, DuckDB. Columns of an array are called column_1, column_2 and so
        on.
    without : str, optional
        The label column, which is left out.
    name : str
        Name of the table in error messages.
    """
    names = _names(table)
    check_names(name, [one for one in names or () if one != without])
    arrow = _arrow(table, names)
    kept = [one for one in arrow.column_names if one != without]
    arrow = arrow.select(kept).combine_chunks()
    file = ArrowFile(
        name, arrow.schema, lambda used: arrow.select(used).to_batches(), without, reading
    )
    file.named = names is not None and not all(isinstance(one, int) for one in table.columns)
    return file


def _names(table: Any) -> list[str] | None:
    """Names of the columns as text; None for an array."""
    refuse_masked(table, "X")
    refuse_lazy(table)
    if is_sparse(table):
        raise DataTypeError(
            "a table or an array; got sparse data. Use MetricClassifier for sparse matrices."
        )
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return None if names is None else [str(one) for one in names]


def _arrow(table: Any, names: list[str] | None) -> Any:
    """The table as an Arrow table, by the C stream protocol where the table has it."""
    pa = require("pyarrow", extra="cli")
    if names is None:
        array = _array(table)
        columns = [_column(array[:, k]) for k in range(array.shape[1])]
        return pa.table(columns, names=default_names(len(columns)))
    if hasattr(table, "iloc"):  # pandas: its index is no column, and a column may hold any objects
        table = table.reset_index(drop=True).set_axis(names, axis=1)
        objects = [one for one, kind in table.dtypes.items() if kind == "object"]
        table = table.assign(**{one: _column(table[one].to_numpy(), one) for one in objects})
    try:
        arrow = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise _refused(" ".join(str(error).split())) from error
    days = pa.duration("us")
    for k, field in enumerate(arrow.schema):
        if pa.types.is_duration(field.type):
            number = arrow.column(k).cast(days).cast(pa.int64()).cast(pa.float64())
            arrow = arrow.set_column(k, field.name, pa.compute.divide(number, 86_400e6))
    return arrow


def _array(table: Any) -> Array:
    """A two-dimensional array of some rows and columns."""
    array = np.asarray(table)
    if array.ndim < 2 and array.dtype.kind in "OU" and not isinstance(table, np.ndarray):
        raise DataTypeError(
            f"a table with two dimensions; got an object of type {type(table).__name__}. Pass a "
            "pandas, polars or pyarrow table; pandas.DataFrame([row]) has one row."
        )
    if array.dtype.kind == "c":
        raise DataError("real numbers; got Complex data not supported. Drop them.")
    if array.ndim != 2:
        raise DataError(
            f"a table with two dimensions; got {array.ndim}. Reshape your data: X.reshape(-1, 1) "
            "for one column."
        )
    if not array.size:
        n, d = array.shape
        raise DataError(
            f"some rows and columns; got {n} sample(s) and {d} feature(s) (shape=({n}, {d})) while "
            "a minimum of 1 is required. Pass some data."
        )
    return array


def _column(values: Array, name: str = "X") -> Any:
    """A column as an Arrow array: numbers if all values are, otherwise text as CSV spells it."""
    import pyarrow as pa

    if values.dtype.kind in "biufmM":
        return pa.array(values)
    if values.dtype.kind not in "OUST":
        raise _refused(f"{values.dtype} in {name!r}")
    entries = [None if is_none(entry) else entry for entry in values.tolist()]
    if all(entry is None or isinstance(entry, Real) for entry in entries):
        return pa.array(
            [None if entry is None else float(entry) for entry in entries], pa.float64()
        )
    return pa.array([None if entry is None else _word(entry, name) for entry in entries])


def is_none(entry: Any) -> bool:
    """Whether an entry is a missing value: None, NaN, NaT or NA."""
    if entry is None or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, float) and math.isnan(entry)


def _word(entry: Any, name: str) -> str:
    """An entry as a CSV file would spell it."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, bool | np.bool_):
        return str(entry).lower()
    if isinstance(entry, float) and entry.is_integer():
        return str(int(entry))
    if isinstance(entry, Real | date):
        return str(entry)
    if isinstance(entry, bytes):
        return entry.decode(errors="replace")
    raise _refused(f"{type(entry).__name__} in {name!r}: argument must be a string or a number")


def _refused(what: str) -> DataTypeError:
    """The error for columns that have no meaning in a table."""
    return DataTypeError(f"columns of numbers, text or dates; got {what}. Encode or drop them.")


def labels_of(table: Any, name: str) -> Array:
    """The labels in a column of a table."""
    names = _names(table) or []
    if name not in names:
        raise DataError(
            f"a label column named {name!r}; got {listed(names) or 'an array'}. "
            f"{meant(name, names)}Pass the name of a column, or one label for each row."
        )
    if names.count(name) > 1:
        check_names("the table", names)
    if hasattr(table, "iloc"):
        column = table.iloc[:, names.index(name)]
    else:
        column = table[name] if hasattr(table, "to_arrow") else _arrow(table, names).column(name)
    entries = np.asarray(column.to_numpy())
    missing = sum(map(is_none, entries.tolist()))
    if missing:
        raise DataError(
            f"a label in every row; got {missing} missing in {name!r}. Drop those rows."
        )
    labels = np.array(entries.tolist()) if entries.dtype.kind == "O" else entries
    return labels
