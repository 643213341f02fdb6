"""Conversion of a file to another format, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from auctor.core.checks import check_choice
from auctor.core.errors import DataError, speaks_as, warn
from auctor.core.files import AnyPath, check_destination
from auctor.tables.arrays import npz_chunks
from auctor.tables.blocks import TableFile
from auctor.tables.columns import listed
from auctor.tables.encode import Encoder
from auctor.tables.formats import TABLES, check_format, format_to_read, format_to_write
from auctor.tables.infer import (
    WHOLE_COLUMN,
    Note,
    infer,
    leave_out_empty,
    long_integers,
    note_dates,
    note_text,
    scan_columns,
)
from auctor.tables.options import DEFAULTS, ReadOptions
from auctor.tables.parts import Names, RowBatch, block_part
from auctor.tables.read import read_source
from auctor.tables.source import Source
from auctor.tables.stats import ColumnStats
from auctor.tables.stream import check_file
from auctor.tables.svmlight import svmlight_chunks
from auctor.tables.write import free_name, write_parts, write_table

#: Formats that can hold text and missing values.
_WITH_WORDS = ("csv", "tsv", "parquet", "arrow")


class Converted(NamedTuple):
    """What `convert` wrote.

    Parameters
    ----------
    rows, columns : int
        Size of the new file.
    source, destination : str
        Formats of the two files.
    """

    rows: int
    columns: int
    source: str
    destination: str


@speaks_as("convert")
def convert(
    source: Any, destination: AnyPath, reading: ReadOptions = DEFAULTS, *, to: str = "auto"
) -> Converted:
    r"""Write the rows of a file to a file of another format, chunk by chunk.

    CSV, TSV, Parquet and Arrow files keep text and missing values. In svmlight, NPZ and NPY files
    categories become numbers, and missing values are refused or filled, as in `read_table`; the
    file is then read twice, and the rules "auto", "median" and "most_frequent" hold it in memory.
    Whole numbers beyond 2^53 are refused, as they would be rounded. If anything fails, no file is
    written.

    Parameters
    ----------
    to : str
        Format of the destination; "auto" chooses by its name, and refuses an unknown ending.

    Examples
    --------
    >>> import io, tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "rows.svm"
    >>> convert(io.BytesIO(b"y,a,b\n1,2,red\n0,0,blue\n"), path, ReadOptions(format="csv"))
    Converted(rows=2, columns=3, source='csv', destination='svmlight')
    >>> path.read_text()
    '1 1:2 3:1\n0 2:1\n'
    """
    check_format(reading.format)
    check_choice("to", to, ("auto", "svmlight", *TABLES))
    check_file(source)
    path = check_destination(destination)
    wanted = format_to_write(path.name) if to == "auto" else to
    notes: list[Note] = []
    file = Source(source)
    try:
        file_format = format_to_read(reading.format, file.name)
        file.keep()
        opened = None if file_format == "svmlight" else TABLES[file_format](file, reading)
        counter = _Counter()
        # Sparse rows, tables that need all rows for their fills, and all other tables.
        if opened is None:
            parts = _unnamed(file, file_format, reading, wanted)
            names = Names(None, "label")
        elif wanted not in _WITH_WORDS and reading.missing_rule in WHOLE_COLUMN:
            stats, kinds = scan_columns(opened, reading, file.name)
            _refuse_long_integers(stats, opened, kinds, file.name)
            return _in_memory(file, path, file_format, wanted, reading, notes)
        else:
            names, parts = _named(opened, file.name, wanted, reading, notes)
        write_parts(path, counter.count(parts), names, wanted)
        return Converted(counter.rows, counter.columns, file_format, wanted)
    finally:  # notes are given even if the conversion fails
        file.close()
        for note in notes:
            warn(note.warning())


class _Counter:
    """Counts the rows and columns of parts that are written."""

    rows = columns = 0

    def count(self, parts: Iterator[RowBatch]) -> Iterator[RowBatch]:
        """Pass parts on and count them."""
        for part in parts:
            rows, columns = part.shape
            self.rows += rows
            self.columns = max(self.columns, columns)
            yield part


def _named(
    file: TableFile, name: str, wanted: str, options: ReadOptions, notes: list[Note]
) -> tuple[Names, Iterator[RowBatch]]:
    """Names and rows of a table, as text or encoded by the format; adds warnings to ``notes``."""
    stats, kinds = scan_columns(file, options, name)
    _refuse_long_integers(stats, file, kinds, name)
    if wanted in _WITH_WORDS:
        used = [c for c, kind in zip(file.names, kinds, strict=True) if kind != "skip"]
        if not stats.rows or not used:
            raise DataError(f"some rows; got none in {name}. Check the file.")
        notes += note_text(stats, file, kinds, name, options.decimal)
        parts = (block_part(block, kinds) for block in file.blocks(kinds))
        return _names(used, file), parts
    if options.missing_rule != "zero" and leave_out_empty(stats, file, kinds, name, notes):
        stats = ColumnStats()  # again, without the columns that are now left out
        for block in file.blocks(kinds):
            stats.add(block)
    notes += note_text(stats, file, kinds, name, options.decimal)
    schema, _ = infer(stats, file, kinds, options, name)
    notes += note_dates(schema, name)
    encode = Encoder(schema, file, name)
    rows = (RowBatch(encode(block), block.labels) for block in file.blocks(encode.kinds))
    return _names(list(schema.feature_names or ()), file), rows


def _refuse_long_integers(
    stats: ColumnStats, file: TableFile, kinds: Sequence[str], name: str
) -> None:
    """Refuse whole numbers that 64-bit floats would round."""
    if columns := long_integers(stats, file, kinds):
        raise DataError(
            f"whole numbers up to 2^53, which floats hold exactly; got {listed(columns)} of "
            f"{name}. Drop such columns, or put a letter before the numbers."
        )


def _names(columns: list[str], file: TableFile) -> Names:
    """Names of the columns and of the label, which must differ from them."""
    if file.named and file.label is not None and file.label not in columns:
        return Names(columns, file.label)
    return Names(columns, free_name(columns))


def _unnamed(
    file: Source, file_format: str, options: ReadOptions, wanted: str
) -> Iterator[RowBatch]:
    """Sparse rows without column names; dense formats need one width for all rows."""
    if (
        file_format == "svmlight"
        and wanted not in ("svmlight", "npz")
        and options.n_features is None
    ):
        width = 1  # svmlight text does not say how many columns it has: read it once for that
        for chunk in svmlight_chunks(file, options):
            width = max(width, chunk.matrix.shape[1])
        options = replace(options, n_features=width)
    file.rewind()
    chunks = svmlight_chunks if file_format == "svmlight" else npz_chunks
    for chunk in chunks(file, options):
        yield RowBatch(chunk.matrix, chunk.labels)


def _in_memory(
    file: Source, path: Any, file_format: str, wanted: str, options: ReadOptions, notes: list[Note]
) -> Converted:
    """Convert by way of a table in memory, for fills that need whole columns."""
    file.rewind()
    table = read_source(file, file_format, options, notes)
    write_table(path, table.matrix, table.labels, columns=table.schema.feature_names, format=wanted)
    rows, columns = table.matrix.shape
    return Converted(rows, columns, file_format, wanted)
