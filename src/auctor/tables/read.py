"""Whole files of any format as a matrix, its labels, and how columns became numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_choice, check_int
from auctor.core.errors import DataError, Option, ParameterError
from auctor.core.types import Array
from auctor.tables.encode import Encoder, fit_width, refuse_missing
from auctor.tables.formats import TABLES, check_delimiter, check_format, format_of
from auctor.tables.infer import (
    CATEGORICAL,
    EXACT,
    MISSING,
    Look,
    Rules,
    first_kinds,
    infer,
    leave_out_empty,
    warn_of_long_integers,
    warn_of_text,
)
from auctor.tables.readers.arrays import npz_chunks
from auctor.tables.readers.base import Block, Settings, Source, TableFile, yes_no
from auctor.tables.readers.svmlight_matrix import svmlight_matrix
from auctor.tables.schema import ColumnSummary, Schema
from auctor.tables.stream import CHUNK_ROWS, check_unnamed, first_index, is_file

WHO = "read_table"
_GROWTH = 1.25


class Table(NamedTuple):
    """A file in memory.

    Parameters
    ----------
    matrix : (n, d) array or CSR matrix
    labels : (n,) array, optional
        Numbers (whole ones as integers) or text.
    schema : Schema
    summary : tuple of ColumnSummary
        One for each column of the schema; empty for compressed rows.
    """

    matrix: Any
    labels: Array | None
    schema: Schema
    summary: tuple[ColumnSummary, ...]


def read_table(
    source: Any,
    format: str = "auto",
    *,
    label: str | int | None = None,
    schema: Schema | None = None,
    columns: Sequence[str] | None = None,
    categorical: str = "one_hot",
    buckets: int = 1024,
    missing: str = "refuse",
    labelled: bool = True,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
    header: bool | str = "auto",
    delimiter: str | None = None,
    dtype: npt.DTypeLike | None = None,
    n_threads: int | None = None,
) -> Table:
    r"""Read a file into memory, its categories as numbers.

    A column whose values all spell numbers (true and false are 1 and 0) is a number, any other a
    category. In text, an empty field, NA, N/A, NaN, null, None and ? are missing; in Parquet and
    Arrow files null is missing too. A `DataWarning` says which columns are left out because they
    hold nothing (not with ``missing="zero"``), which are categories because of a few values among
    numbers, and which hold whole numbers beyond 2^53.

    Parameters
    ----------
    source : path, "-" or file object
        "-" is standard input. Text may be compressed (gz, bz2, xz; zst with zstandard).
    format : {"auto", "svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy"}
        "auto" goes by the name of the file; what it does not know is svmlight.
    label : str or int, optional
        Name or position of the label column; by default that of the schema, or the one that is
        called label, target, y or class (NPY: the last one). A position may be text, as long as no
        column has that name.
    schema : Schema, optional
        How columns become numbers, as another call found it. Columns may come in another order and
        among others; categories that it does not know become zeros.
    columns : sequence of str, optional
        Names of the columns to use; by default all.
    categorical : {"one_hot", "hash", "refuse"}
        One column of zeros and ones per category, in the order of their names; or ``buckets``
        columns that the categories of a column share by their hash (`auctor.tables.encode.bucket`).
    buckets : int
    missing : {"refuse", "mean", "median", "zero", "most_frequent"}
        What a missing number becomes. Missing categories become the most frequent one, or with
        "zero" no category at all. Compressed rows have "refuse" and "zero" only.
    labelled : bool
        Whether there must be labels.
    n_features : int, optional
        Number of columns (svmlight): a larger index is refused.
    zero_based, header, delimiter
        As in `open_stream`.
    dtype : float64 or float32, optional
        Of the matrix; float64 by default.
    n_threads : int, optional
        Threads that read svmlight text.

    Examples
    --------
    >>> import io
    >>> text = io.BytesIO(b"age,city,bought\n31,Oslo,1\n45,Rome,0\n")
    >>> table = read_table(text, "csv", label="bought")
    >>> table.matrix.tolist(), table.labels.tolist()
    ([[31.0, 1.0, 0.0], [45.0, 0.0, 1.0]], [1, 0])
    >>> table.schema.feature_names
    ('age', 'city=Oslo', 'city=Rome')
    """
    check_format(WHO, format)
    check_choice(WHO, "categorical", categorical, CATEGORICAL)
    check_choice(WHO, "missing", missing, MISSING)
    rules = Rules(categorical, check_int(WHO, "buckets", buckets, low=1), missing, columns)
    kind = np.dtype(np.float64 if dtype is None else dtype)
    if kind not in (np.float32, np.float64):
        raise ParameterError(
            WHO, needs="dtype to be float64 or float32", got=kind, todo="Pass one of these."
        )
    if not is_file(source):
        raise DataError(
            WHO,
            needs="a path, '-' or a file",
            got=f"{type(source).__name__}",
            todo="Pass one of these.",
        )
    settings = Settings(
        CHUNK_ROWS,
        label if label is not None or schema is None else schema.label,
        None if n_features is None else check_int(WHO, "n_features", n_features, low=1),
        first_index(WHO, zero_based, schema),
        yes_no(WHO, "header", header),
        check_delimiter(WHO, delimiter),
        labelled,
        schema,
        WHO,
    )
    file = Source(source, WHO)
    try:
        found = format_of(file.name) if format == "auto" else format
        if found == "svmlight":
            return _svmlight(file, settings, rules, kind, n_threads)
        file.keep()
        opened = TABLES[found](file, settings)
        if opened is None:
            return _sparse(file, settings, rules, kind)
        return _columns(opened, file.name, settings, rules, kind)
    finally:
        file.close()


def _svmlight(
    file: Source, settings: Settings, rules: Rules, kind: Any, n_threads: int | None
) -> Table:
    start: bool | str = "auto" if settings.first_index is None else settings.first_index == 0
    matrix, labels, first = svmlight_matrix(file, WHO, settings.n_features, start, kind, n_threads)
    return _unnamed(matrix, labels, file.name, settings, rules, first)


def _sparse(file: Source, settings: Settings, rules: Rules, kind: Any) -> Table:
    (chunk,) = npz_chunks(file, settings, whole=True)
    matrix = chunk.matrix.astype(kind, copy=False)
    labels = chunk.labels
    if labels.dtype.kind == "f" and not settings.labelled and np.isnan(labels).all():
        return _unnamed(matrix, None, file.name, settings, rules, None)
    return _unnamed(matrix, labels, file.name, settings, rules, None)


def _unnamed(
    matrix: Any, labels: Array | None, name: str, settings: Settings, rules: Rules,
    first: int | None,
) -> Table:  # fmt: skip
    """Compressed rows, whose columns have no names."""
    if rules.columns is not None:
        raise ParameterError(
            WHO,
            needs="columns with names to choose some of them",
            got=name,
            todo="Drop {option}.",
            option="columns",
        )
    if matrix.nnz and np.isnan(matrix.data.min()):
        if rules.missing == "zero":
            np.nan_to_num(matrix.data, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
        else:
            where = matrix.indices[np.isnan(matrix.data)]
            found, counts = np.unique(where, return_counts=True)
            shift = 1 if first is None else first
            refuse_missing(
                {str(int(j) + shift): int(c) for j, c in zip(found, counts, strict=True)},
                name,
                WHO,
                advice="Pass {option}, or fill or drop them first.",
                option=Option("missing", "zero"),
            )
    schema = settings.schema
    if schema is None:
        schema = Schema((), None, matrix.shape[1], None, first)
    else:
        check_unnamed(schema)
        matrix = fit_width(matrix, schema.n_features)
    return Table(matrix, _finished(labels, name, settings), schema, ())


def _columns(file: TableFile, name: str, settings: Settings, rules: Rules, kind: Any) -> Table:
    """A file with columns."""
    if not file.names:
        raise DataError(WHO, needs="some rows", got=f"none in {name}", todo="Check the file.")
    look = Look()
    if settings.schema is not None:
        encode = Encoder(settings.schema, file, name, WHO)
        whole = _gathered(file, encode.kinds)
        look.add(whole)
        summary = tuple(
            look.number(column.name, place)
            if place >= 0
            else look.category(column.name, -1 - place)
            for column, place in zip(encode.columns, encode.places.tolist(), strict=True)
        )
    else:
        kinds = first_kinds(file, rules, name, WHO)
        whole = _gathered(file, kinds, strict=False)
        if file.surprises:
            for k in file.surprises:
                kinds[k] = "category"
            whole = _gathered(file, kinds)
        look.add(whole)
        if rules.missing != "zero" and leave_out_empty(look, file, kinds, name, WHO):
            whole, look = _gathered(file, kinds), Look()
            look.add(whole)
        warn_of_text(look, file, kinds, name, WHO)
        warn_of_long_integers(look, file, kinds, name, WHO)
        schema, summary = infer(look, file, kinds, rules, name, WHO, whole.numbers)
        encode = Encoder(schema, file, name, WHO)
    if not whole.n_rows:
        raise DataError(WHO, needs="some rows", got=f"none in {name}", todo="Check the file.")
    labels = _finished(whole.labels, name, settings)
    with np.errstate(over="ignore"):
        matrix = encode(whole).astype(kind, copy=False)
    return Table(matrix, labels, encode.schema, summary)


def _gathered(file: TableFile, kinds: Sequence[str], *, strict: bool = True) -> Block:
    """All rows of a file as one block; none if columns turned out to be of another kind."""
    numbers = _Growing(list(kinds).count("number"), np.float64)
    codes = _Growing(list(kinds).count("category"), np.int32)
    words: list[dict[str, int]] = [{} for _ in range(codes.width)]
    labels: list[Array] = []
    for block in file.blocks(kinds, strict=strict):
        if file.surprises:
            numbers.clear()
            codes.clear()
            labels.clear()
            continue
        numbers.add(block.numbers)
        for k, known in enumerate(words):
            found = [known.setdefault(word, len(known)) for word in block.words[k]]
            block.codes[:, k] = np.array([*found, -1], dtype=np.int32)[block.codes[:, k]]
        codes.add(block.codes)
        if block.labels is not None:
            labels.append(block.labels)
    listed_words = [list(known) for known in words]
    joined = np.concatenate(labels) if labels else None
    return Block(numbers.rows(), codes.rows(), listed_words, joined)


class _Growing:
    """An array that rows are added to; it grows in place."""

    def __init__(self, width: int, kind: Any) -> None:
        self.width, self._used = width, 0
        self._array: Array = np.empty((0, width), kind)

    def add(self, rows: Array) -> None:
        wanted = self._used + rows.shape[0]
        if self._array.shape[0] < wanted:
            room = max(wanted, int(_GROWTH * self._array.shape[0]))
            self._array.resize((room, self.width), refcheck=False)
        self._array[self._used : wanted] = rows
        self._used = wanted

    def clear(self) -> None:
        self._array, self._used = np.empty((0, self.width), self._array.dtype), 0

    def rows(self) -> Array:
        self._array.resize((self._used, self.width), refcheck=False)
        return self._array


def _finished(labels: Array | None, name: str, settings: Settings) -> Array | None:
    """Labels without missing ones, whole numbers as integers."""
    if labels is None:
        return None
    if labels.dtype.kind == "f":
        missing = int(np.isnan(labels).sum())
        if missing and not settings.labelled:
            return None
        if missing:
            raise DataError(
                WHO,
                needs="a label in every row",
                got=f"{missing} missing in {name}",
                todo="Drop such rows first.",
            )
        if (np.trunc(labels) == labels).all() and (np.abs(labels) <= EXACT).all():
            return labels.astype(np.int64)
    elif labels.dtype.kind == "b":
        return labels.astype(np.int64)
    return labels
