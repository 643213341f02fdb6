"""Parquet and Arrow (Feather) files, read a batch of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from auctor.core.errors import AuctorError, DataError
from auctor.core.files import AnyPath
from auctor.core.optional import require
from auctor.core.types import Array, FloatArray
from auctor.tables.blocks import Block
from auctor.tables.columns import (
    EXACT_LABELS,
    check_names,
    check_width,
    find_label,
    is_missing,
    listed,
    long_labels,
    no_number,
    parse_number,
    spelt_long_integers,
)
from auctor.tables.options import ReadOptions
from auctor.tables.source import Source, shown

#: First bytes of an Arrow IPC file; an Arrow IPC stream begins otherwise.
_IPC_MAGIC = b"ARROW1"


def parquet_file(source: Source, options: ReadOptions) -> ArrowFile:
    """Open a Parquet file; it is read one row group at a time."""
    _check_source(source, "Parquet")
    from pyarrow import parquet

    with _reading(source.name, "a Parquet file"):
        file = parquet.ParquetFile(source.raw())
        schema = file.schema_arrow

    def batches(names: list[str]) -> Iterator[Any]:
        rows = options.most_rows(len(schema))
        columns = None if len(names) == len(schema) else names
        yield from file.iter_batches(batch_size=rows, columns=columns, use_threads=False)

    return _table_file(source.name, options, schema, batches, "a Parquet file")


def dataset_file(folder: AnyPath, options: ReadOptions) -> ArrowFile:
    """Open a folder of Parquet files, in the order of their names, as one table."""
    require("pyarrow", extra="cli", to="read Parquet files")
    from pyarrow import dataset

    name = os.fspath(folder)
    files = sorted(str(path) for path in Path(folder).rglob("*.parquet"))
    if not files:
        raise DataError(
            "a file, or a folder of files that end in .parquet",
            got=f"the folder {name or '.'} without one",
            todo="Pass a file.",
        )
    with _reading(name, "Parquet files of the same columns"):
        found = dataset.dataset(files, format="parquet")
        schema = found.schema

    def batches(names: list[str]) -> Iterator[Any]:
        rows = options.most_rows(len(schema))
        yield from found.to_batches(
            columns=names,
            batch_size=rows,
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
        )

    return _table_file(name, options, schema, batches, "Parquet files")


def ipc_file(source: Source, options: ReadOptions) -> ArrowFile:
    """Open an Arrow IPC (Feather) file or stream."""
    _check_source(source, "Arrow")
    import pyarrow as pa

    with _reading(source.name, "an Arrow file"):
        raw = source.raw()
        start = raw.tell()
        is_file = raw.read(len(_IPC_MAGIC)) == _IPC_MAGIC  # otherwise a stream
        raw.seek(start)
        if is_file:
            file = pa.ipc.open_file(pa.OSFile(source.path) if source.path else raw)
            schema = file.schema
        else:
            schema = pa.ipc.open_stream(raw).schema

    def batches(names: list[str]) -> Iterator[Any]:
        rows = options.most_rows(len(schema))
        if is_file:  # random access to its batches; a stream is read again from its start
            parts = (file.get_batch(k) for k in range(file.num_record_batches))
        else:
            raw.seek(start)
            parts = iter(pa.ipc.open_stream(raw))
        for batch in parts:
            batch.validate(full=True)  # a damaged file may have offsets outside its buffers
            for low in range(0, batch.num_rows, rows):
                yield batch.slice(low, rows).select(names)

    return _table_file(source.name, options, schema, batches, "an Arrow file")


def _table_file(
    name: str,
    options: ReadOptions,
    schema: Any,
    batches: Callable[[list[str]], Iterator[Any]],
    kind: str,
) -> ArrowFile:
    """A file with a label column; refuses names that are empty or occur twice."""
    with _reading(name, kind):
        fields = check_names(name, list(schema.names))
    if fields != list(schema.names):
        raise DataError(
            f"a name for every column; got an empty name in {name}. Rename that column."
        )
    place = find_label(name, fields, options, len(fields))
    label = None if place is None else fields[place]
    file = ArrowFile(name, schema, batches, label, options, kind)
    check_width(name, len(file.names), options)
    return file


class ArrowFile:
    """Arrow record batches of a file or of a table in memory; null is a missing value.

    Parameters
    ----------
    name : str
        Name of the file or the table, for messages.
    batches : callable
        ``batches(names)`` gives the record batches of some columns, from the first one on.
    label : str, optional
        The label column; it may be a column that the batches do not have.
    kind : str
        What a file must be, for messages.
    """

    def __init__(
        self,
        name: str,
        schema: Any,
        batches: Callable[[list[str]], Iterable[Any]],
        label: str | None,
        options: ReadOptions,
        kind: str = "a table",
    ) -> None:
        self.name, self.label, self.options = name, label, options
        self._batches, self._kind = batches, kind
        self._fields = {field.name: field for field in schema}
        self.named = True
        self.names = tuple(one for one in self._fields if one != label)
        self.non_numeric: set[int] = set()
        self.first_non_numbers: dict[int, str] = {}
        self.text_columns = frozenset(
            k for k, one in enumerate(self.names) if _is_dictionary(self._fields[one].type)
        )
        self.float_columns = frozenset(
            k for k, one in enumerate(self.names) if _is_floating(self._fields[one].type)
        )

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """All rows, a block for each batch."""
        self.non_numeric = set()
        used = {one for one, kind in zip(self.names, kinds, strict=True) if kind != "skip"}
        used |= {self.label} & self._fields.keys()
        listed_names = [one for one in self._fields if one in used]
        self._check_types(listed_names)
        with _reading(self.name, f"{self._kind} that can be read to its end"):
            for batch in self._batches(listed_names):
                if batch.num_rows:
                    yield self._block(batch, kinds, strict)

    def long_integers(self, columns: Sequence[int]) -> dict[int, str]:
        """The first whole number beyond 2^53 in each of some columns that has one."""
        return spelt_long_integers(self, columns)

    def _block(self, batch: Any, kinds: Sequence[str], strict: bool) -> Block:
        """A record batch as numbers, codes of words and labels."""
        numbers = np.empty((batch.num_rows, list(kinds).count("number")))
        codes = np.empty((batch.num_rows, list(kinds).count("category")), np.int32)
        words: list[list[str]] = []
        n = 0
        for k, (name, kind) in enumerate(zip(self.names, kinds, strict=True)):
            if kind == "number":
                numbers[:, n] = self._numbers(batch.column(name), k, strict)
                n += 1
            elif kind == "category":
                codes[:, len(words)], known = coded(batch.column(name))
                words.append(known)
        labels = None
        if self.label in self._fields:
            labels = self._labels(batch.column(self.label))
        return Block(numbers, codes, words, labels)

    def _numbers(self, column: Any, k: int, strict: bool) -> FloatArray:
        """A column as numbers, with NaN for null.

        Text that is not a number is refused if ``strict``; otherwise the column is recorded in
        ``non_numeric``.
        """
        import pyarrow as pa

        if not _is_words(column.type):
            values: FloatArray = column.cast(pa.float64(), safe=False).to_numpy(
                zero_copy_only=False
            )
            return values
        if _is_text(column.type):
            plain = plain_numbers(column.cast(pa.large_string()), self.options.decimal)
            if plain is not None:
                return plain
        codes, words = coded(column)
        meanings = [parse_number(word, self.options.decimal) for word in words]
        if None in meanings:
            if strict:
                word = words[meanings.index(None)]
                place = f" of type {column.type} in {self.name}"
                name = self.names[k] if self.options.sample_rows else ""
                column_of = f"column {self.names[k]!r}"
                trained = self.options.schema is not None
                raise no_number(column_of, word, place, name, trained=trained)
            self.non_numeric.add(k)
            self.first_non_numbers.setdefault(k, shown(words[meanings.index(None)].encode()))
            return np.full(len(column), np.nan)
        numbers: FloatArray = np.array([*meanings, np.nan], dtype=np.float64)[codes]
        return numbers

    def _labels(self, column: Any) -> Array:
        """Labels as numbers, with NaN for null, or as text."""
        from pyarrow import types

        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if types.is_integer(column.type) or types.is_floating(column.type):
            labels = np.asarray(column.to_numpy(zero_copy_only=False))
            rounded = types.is_integer(column.type) and labels.dtype.kind == "f"  # by a null
            if rounded and self.options.labelled and long_labels(labels).size:
                raise DataError(
                    f"{EXACT_LABELS + ' beside null'}; got larger ones in {self.label!r} of "
                    f"{self.name}. Drop the rows without a label first."
                )
            return labels
        if column.null_count:
            raise DataError(
                f"a label in every row; got null in {self.label!r} of {self.name}. Drop those rows."
            )
        if types.is_boolean(column.type):
            return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.int64)
        words = [str(value) for value in column.to_pylist()]
        if any("\0" in word for word in words):
            raise DataError(
                f"text as labels; got a zero byte in {self.label!r} of {self.name}. Remove it."
            )
        return np.array(words)

    def _check_types(self, used: list[str]) -> None:
        """Refuse columns that are neither numbers nor text, such as lists."""
        bad = [
            f"{name!r} of type {self._fields[name].type}"
            for name in used
            if not _is_words(self._fields[name].type) and not _is_number(self._fields[name].type)
        ]
        if bad:
            raise DataError(
                f"columns of numbers or text; got {listed(bad, 3)} in {self.name}. Encode or drop "
                "such columns first."
            )


def _check_source(source: Source, kind: str) -> None:
    """Refuse a pipe, and a missing pyarrow."""
    require("pyarrow", extra="cli", to=f"read {kind}")
    if source.live:
        raise DataError(f"a file of {kind} with random access; got standard input. Pass a path.")


@contextmanager
def _reading(name: str, wanted: str) -> Iterator[None]:
    """Turn errors of pyarrow into a `DataError` that says what was needed."""
    import pyarrow as pa

    try:
        yield
    except AuctorError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(
            wanted, got=f"{said} in {name}", todo="Check that it is complete and of that format."
        ) from error


def _is_dictionary(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_dictionary(kind))


def _is_floating(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind))


def _is_number(kind: Any) -> bool:
    """Whether a type is read as numbers; a column of null has only missing numbers."""
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    """Whether a type is a string type."""
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in tests)


def _is_words(kind: Any) -> bool:
    """Whether a type is read as text: strings, dates, or a dictionary of strings or numbers."""
    if _is_dictionary(kind):
        kind = kind.value_type
        return _is_text(kind) or _is_number(kind)
    return _is_text(kind) or _is_time(kind)


def _is_time(kind: Any) -> bool:
    """Whether a type is a date or a timestamp, which are read as text."""
    from pyarrow import types

    return bool(types.is_date(kind) or types.is_timestamp(kind))


def coded(column: Any) -> tuple[Array, list[str]]:
    """A column as codes, which are positions in a list of distinct words; -1 is missing."""
    import pyarrow as pa

    if not _is_dictionary(column.type):
        if _is_text(column.type) or _is_time(column.type):
            column = column.cast(pa.large_string())
        column = column.dictionary_encode()
    # Several entries of the dictionary may be the same word once blanks are stripped.
    known: dict[str, int] = {}
    numbers = [
        -1 if word is None or is_missing(word) else known.setdefault(word, len(known))
        for word in map(_word, column.dictionary.to_pylist())
    ]
    places = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return np.array([*numbers, -1], dtype=np.int32)[places], list(known)


def plain_numbers(column: Any, decimal: str = ".") -> FloatArray | None:
    """A column of text as numbers, NaN for empty fields; None if there is any other text."""
    import pyarrow as pa
    from pyarrow import compute

    text = column
    if decimal == ",":
        if compute.any(compute.match_substring(text, ".")).as_py():
            return None
        text = compute.replace_substring(text, ",", ".")
    for tidied in (False, True):  # most columns have neither blanks nor empty fields
        if tidied:
            text = compute.ascii_trim_whitespace(text)
            text = compute.if_else(compute.equal(text, ""), pa.scalar(None, text.type), text)
        try:
            values: FloatArray = text.cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:
            continue
        return values
    return None


def _word(value: Any) -> str | None:
    """A value as a CSV file would spell it, None for null."""
    if value is None or isinstance(value, str):
        return None if value is None else value.strip()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
