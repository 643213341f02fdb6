"""Writing results, such as predictions: named columns of numbers or text, a chunk at a time.

Unlike rows to train on, which `auctor.tables.write` writes, columns keep their types: whole numbers
stay whole in NPY, and in CSV the float 1 is written as 1.0. Text may have line ends.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np

from auctor.core.checks import check_choice
from auctor.core.errors import ParameterError, speaks_as
from auctor.core.files import AnyPath
from auctor.core.types import Array
from auctor.tables.formats import format_of
from auctor.tables.parts import Names, RowBatch
from auctor.tables.write import WRITERS, packed_file

#: Delimiter of each format of text.
DELIMITERS = {"csv": ",", "tsv": "\t"}
#: Formats of results.
FORMATS = (*DELIMITERS, "parquet", "npy")


@speaks_as("write_columns")
def write_columns(
    path: AnyPath, names: list[str], chunks: Iterable[list[Array]], *, format: str = "auto"
) -> None:
    r"""Write columns to a file; CSV and Parquet hold one chunk in memory at a time.

    If writing fails, no file is left. CSV and TSV are compressed if the name ends in .gz, .bz2, .xz
    or .zst. An array in a NPY file has the shape (n,) or (n, columns).

    Parameters
    ----------
    names : list of str
        Names of the columns.
    chunks : iterable of lists of arrays
        The columns of some rows, and of the rows after them.
    format : {"auto", "csv", "tsv", "parquet", "npy"}
        "auto" chooses by the name of the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> write_columns(path, ["id", "score"], [[np.array([7, 8]), np.array([0.5, 1.0])]])
    >>> path.read_text()
    'id,score\n7,0.5\n8,1.0\n'
    """
    file_format = format_of(str(path).lower()) if format == "auto" else format
    check_choice("format", file_format, FORMATS)
    with packed_file(path, file_format) as file:
        if file_format in DELIMITERS:
            for text in delimited_text(names, chunks, DELIMITERS[file_format]):
                file.write(text.encode())
        elif file_format == "npy":
            _write_npy(file, names, chunks)
        else:
            parts = (RowBatch(columns, None) for columns in chunks)
            WRITERS[file_format](file, parts, Names(names, ""))


def delimited_text(
    names: list[str], chunks: Iterable[list[Array]], delimiter: str = ","
) -> Iterator[str]:
    """The text of a table, a chunk at a time; numbers have all the digits to read them back."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(names)
    for columns in chunks:
        writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _write_npy(file: BinaryIO, names: list[str], chunks: Iterable[list[Array]]) -> None:
    """Write an (n,) or (n, columns) array; it is in memory as a whole, as its header needs n."""
    parts = []
    for columns in chunks:
        if len(columns) > 1 and any(column.dtype.kind not in "iufb" for column in columns):
            raise ParameterError(
                f"columns of numbers to write several into a .npy file; got {', '.join(names)}. "
                "Write one of them, or use CSV or Parquet."
            )
        parts.append(columns[0] if len(columns) == 1 else np.column_stack(columns))
    array = np.concatenate(parts)
    np.save(file, array.astype(str) if array.dtype.kind == "O" else array, allow_pickle=False)
