"""Writing rows to a file of any format, a chunk at a time; a failure leaves no file."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from auctor.core.checks import check_choice
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.files import AnyPath, replacing
from auctor.core.optional import require
from auctor.core.types import Array
from auctor.data.coerce import as_matrix
from auctor.data.matrices import compressed_rows, dense_array, is_dense, is_sparse
from auctor.tables.columns import LABEL_NAMES, check_names, default_names
from auctor.tables.formats import COMPRESSED, FORMATS, format_of
from auctor.tables.options import CHUNK_ROWS
from auctor.tables.parts import Column, Names, RowBatch

#: Largest number of columns of a dense file or a table.
MOST_DENSE_COLUMNS = 20_000


@speaks_as("write_table")
def write_table(
    path: AnyPath,
    matrix: Any,
    labels: Any = None,
    *,
    columns: Sequence[str] | None = None,
    format: str = "auto",
) -> None:
    r"""Write a matrix and its labels to a file that `read_table` reads.

    If writing fails, no file is left. Text is compressed if the name ends in .gz, .bz2, .xz or
    .zst. A svmlight file has no names, and its last columns are lost if they are all zero. A NPY
    file has the labels in its last column. A NPZ file has X, or the arrays of
    `scipy.sparse.save_npz`, and y.

    Parameters
    ----------
    matrix : (n, d) array, CSR matrix or table
    labels : (n,) numbers or text, optional
    columns : sequence of str, optional
        Names of the columns.
    format : {"auto", "svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy"}
        "auto" chooses by the name of the file, svmlight for an unknown ending.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "rows.csv"
    >>> write_table(path, [[1.5, 2.0]], ["yes"], columns=["a", "b"])
    >>> path.read_text()
    'label,a,b\nyes,1.5,2\n'
    """
    matrix = as_matrix(matrix, finite=False)
    if not is_dense(matrix):
        matrix = matrix.tocsr()
    n, d = matrix.shape
    known = None if labels is None else np.asarray(labels)
    if known is not None and known.shape != (n,):
        raise DataError(
            f"one label per row; got shape {known.shape} for {n} rows. Pass as many labels as rows."
        )
    names = None if columns is None else check_names(str(path), list(columns))
    if names is not None and len(names) != d:
        raise DataError(f"one name per column; got {len(names)} for {d} columns. Pass as many.")
    parts = (
        RowBatch(
            matrix[low : low + CHUNK_ROWS], None if known is None else known[low : low + CHUNK_ROWS]
        )
        for low in range(0, n, CHUNK_ROWS)
    )
    write_parts(path, parts, Names(names, free_name(names or ())), format)


def write_parts(path: AnyPath, parts: Iterator[RowBatch], names: Names, format: str) -> None:
    """Write parts one after the other; a file that exists is replaced when all are written."""
    check_choice("format", format, FORMATS)
    file_format = format_of(str(path).lower()) if format == "auto" else format
    with packed_file(path, file_format) as body:
        first = next(parts, None)
        if first is None:
            raise DataError("some rows; got none. Check the source.")
        WRITERS[file_format](body, chain((first,), parts), names)


@contextmanager
def packed_file(path: AnyPath, format: str) -> Iterator[BinaryIO]:
    """A file to write in a format; text is compressed by the ending of the name.

    A file that exists is replaced at the end; after an error no new file is left.
    """
    suffix = next((suffix for suffix in COMPRESSED if str(path).lower().endswith(suffix)), None)
    if suffix and format not in ("svmlight", "csv", "tsv"):
        raise ParameterError(f"a name without {suffix} for {format} files; got {path}. Drop it.")
    if format in ("parquet", "arrow"):
        require("pyarrow", extra="cli", to=f"write {format}")
    if suffix == ".zst":
        require("zstandard", extra="cli", to=f"write {path}")
    with replacing(path) as file, _packing(file, suffix) as body:
        yield body


@contextmanager
def _packing(file: BinaryIO, suffix: str | None) -> Iterator[BinaryIO]:
    """The file, or one that compresses what is written to it, by the ending of the name."""
    if suffix is None:
        yield file
        return
    if suffix == ".gz":
        packed: Any = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    elif suffix == ".bz2":
        packed = bz2.BZ2File(file, "wb")
    elif suffix == ".xz":
        packed = lzma.LZMAFile(file, "wb")  # noqa: SIM115
    else:
        zstandard = require("zstandard", extra="cli")
        packed = zstandard.ZstdCompressor().stream_writer(file, closefd=False)
    with packed:
        yield packed


def _write_svmlight(file: BinaryIO, parts: Iterator[RowBatch], names: Names) -> None:
    """Write ``label index:value ...`` lines with indices from 1."""
    for part in parts:
        rows = compressed_rows(part.matrix)
        labels = _number_labels(part.labels)
        entries = [
            f"{index}:{_short(value)}"
            for index, value in zip((rows.indices + 1).tolist(), rows.data.tolist(), strict=True)
        ]
        ends = rows.indptr.tolist()
        lines = [
            " ".join([_short(label), *entries[low:high]])
            for label, low, high in zip(labels.tolist(), ends, ends[1:], strict=False)
        ]
        file.write("\n".join([*lines, ""]).encode())


def _write_delimited(delimiter: str) -> Callable[[BinaryIO, Iterator[RowBatch], Names], None]:
    """A function that writes CSV or TSV, with the label as the first column."""

    def write(file: BinaryIO, parts: Iterator[RowBatch], names: Names) -> None:
        header = True
        for part in parts:
            columns = part.columns
            if header:
                fields = _fields(names, part)
                file.write(_joined([[field] for field in fields], delimiter))
                header = False
            if part.labels is not None:
                columns = [part.labels, *columns]
            file.write(_joined([_texts(column) for column in columns], delimiter))

    return write


def _write_arrow(kind: str) -> Callable[[BinaryIO, Iterator[RowBatch], Names], None]:
    """A function that writes Parquet or Arrow; the first part sets the types of the columns."""

    def write(file: BinaryIO, parts: Iterator[RowBatch], names: Names) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        writer = schema = None
        try:
            for part in parts:
                columns = [_arrow(column) for column in part.columns]
                if part.labels is not None:
                    columns.insert(0, pa.array(part.labels))
                batch = pa.table(columns, names=_fields(names, part))
                if writer is None:
                    opener = parquet.ParquetWriter if kind == "parquet" else pa.ipc.new_file
                    schema = batch.schema
                    writer = opener(file, schema)
                writer.write_table(batch.cast(schema))
        finally:
            if writer is not None:
                writer.close()

    return write


def _write_npy(file: BinaryIO, parts: Iterator[RowBatch], names: Names) -> None:
    """Write a dense float64 array, with the labels as its last column."""
    rows = width = 0
    for part in parts:
        block = _narrow(part.matrix)
        if part.labels is not None:
            block = np.column_stack([block, _number_labels(part.labels)])
        if not rows:
            width = block.shape[1]
            _npy_header(file, (0, width), np.float64)
        file.write(np.ascontiguousarray(block, np.float64).tobytes())
        rows += block.shape[0]
    # Only now the number of rows is known; numpy pads the header, so it has the same length.
    file.seek(0)
    _npy_header(file, (rows, width), np.float64)
    file.seek(0, 2)


def _write_npz(file: BinaryIO, parts: Iterator[RowBatch], names: Names) -> None:
    """Write X, or the arrays of `scipy.sparse.save_npz`, with y; readers hold them in memory."""
    batches = list(parts)
    labels = [part.labels for part in batches if part.labels is not None]
    arrays: dict[str, Any] = {}
    if is_sparse(batches[0].matrix):
        width = max(part.matrix.shape[1] for part in batches)
        rows = [compressed_rows(part.matrix) for part in batches]
        entries = np.cumsum([0, *(matrix.nnz for matrix in rows)])
        ends = [matrix.indptr[1:] + before for matrix, before in zip(rows, entries, strict=False)]
        arrays["indices"] = np.concatenate([matrix.indices for matrix in rows]).astype(np.int64)
        arrays["indptr"] = np.concatenate([[0], *ends]).astype(np.int64)
        arrays["format"] = np.array(b"csr")
        arrays["shape"] = np.array([sum(matrix.shape[0] for matrix in rows), width])
        arrays["data"] = np.concatenate([matrix.data for matrix in rows]).astype(np.float64)
    else:
        arrays["X"] = np.concatenate([dense_array(part.matrix) for part in batches])
    if labels:
        arrays["y"] = np.concatenate(labels)
    if names.columns is not None:
        arrays["columns"] = np.array(names.columns)
    np.savez(file, **arrays)


def _npy_header(file: Any, shape: tuple[int, ...], kind: Any) -> None:
    """Write the header of a C-ordered NPY array."""
    description = np.lib.format.dtype_to_descr(np.dtype(kind))
    np.lib.format.write_array_header_1_0(
        file, {"descr": description, "fortran_order": False, "shape": shape}
    )


#: Writer of each format.
WRITERS: dict[str, Callable[[BinaryIO, Iterator[RowBatch], Names], None]] = {
    "svmlight": _write_svmlight,
    "csv": _write_delimited(","),
    "tsv": _write_delimited("\t"),
    "parquet": _write_arrow("parquet"),
    "arrow": _write_arrow("arrow"),
    "npz": _write_npz,
    "npy": _write_npy,
}


def free_name(columns: Sequence[str]) -> str:
    """A name for the label that differs from all names of columns."""
    taken = set(columns)
    usual = (name for name in LABEL_NAMES if name not in taken)
    return next(usual, "_".join([*LABEL_NAMES, str(len(taken))]))


def _fields(names: Names, part: RowBatch) -> list[str]:
    """Names of the columns of a table, the label first."""
    width = len(part.columns)
    if width > MOST_DENSE_COLUMNS:
        raise ParameterError(
            f"at most {MOST_DENSE_COLUMNS} columns for a table; got {width}. Write svmlight or NPZ."
        )
    columns = default_names(width) if names.columns is None else names.columns
    return columns if part.labels is None else [names.label, *columns]


def _narrow(matrix: Any) -> Array:
    """A dense matrix; refuses sparse rows of more than `MOST_DENSE_COLUMNS` columns."""
    if matrix.shape[1] > MOST_DENSE_COLUMNS and not is_dense(matrix):
        raise ParameterError(
            f"at most {MOST_DENSE_COLUMNS} columns for a dense file; got {matrix.shape[1]}. Write "
            "svmlight or NPZ."
        )
    return dense_array(matrix)


def _number_labels(labels: Array | None) -> Array:
    """Labels as numbers, for formats without text."""
    if labels is None:
        raise DataError("labels for this format; got none. Write CSV or NPZ.")
    if labels.dtype.kind not in "biuf":
        raise DataError(
            f"numbers as labels for this format; got text such as {str(labels[0])!r}. Encode the "
            "labels as 0 and 1 first."
        )
    return labels.astype(np.float64)


def _short(value: float) -> str:
    """The shortest decimal that is read back as the same number."""
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def _texts(column: Column) -> list[str]:
    """A column as text; a missing value is ""."""
    if isinstance(column, tuple):
        codes, words = column
        texts = [*words, ""]
        return [texts[code] for code in codes.tolist()]
    if column.dtype.kind == "f":
        return ["" if value != value else _short(value) for value in column.tolist()]
    return [str(value) for value in column.tolist()]


def _joined(columns: list[list[str]], delimiter: str) -> bytes:
    """Lines of fields, quoted if they need it, as bytes."""
    quoted = [[_field(text, delimiter) for text in column] for column in columns]
    lines = [delimiter.join(row) for row in zip(*quoted, strict=True)]
    return "\n".join([*lines, ""]).encode()


def _field(text: str, delimiter: str) -> str:
    """A field of a CSV file, quoted if it has a delimiter, a quote or blanks at its ends."""
    if text.isalnum():
        return text
    if "\n" in text:
        raise DataError(
            f"text without line ends for this format; got {text[:40]!r}. Write Parquet, or remove "
            "the line ends."
        )
    if delimiter in text or '"' in text or "\r" in text or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def _arrow(column: Column) -> Any:
    """A column as an Arrow array; missing values are null."""
    import pyarrow as pa

    if isinstance(column, tuple):
        codes, words = column
        places = pa.array(codes, mask=codes < 0)
        return pa.DictionaryArray.from_arrays(
            places, pa.array(words, pa.string())
        ).dictionary_decode()
    return pa.array(column, from_pandas=True)
