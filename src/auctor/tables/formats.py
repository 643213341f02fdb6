"""Formats of files: by the name of a file, and the class that reads each."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from auctor.core.checks import check_choice
from auctor.core.errors import DataError, ParameterError
from auctor.tables.arrays import npy_file, npz_file
from auctor.tables.arrow import ipc_file, parquet_file
from auctor.tables.blocks import TableFile
from auctor.tables.delimited import DelimitedFile
from auctor.tables.options import ReadOptions
from auctor.tables.source import Source


def _tsv_file(source: Source, options: ReadOptions) -> TableFile:
    return DelimitedFile(source, replace(options, delimiter=options.delimiter or "\t"))


#: Reader of each format with columns. Svmlight has no columns, and `npz_file` returns None for a
#: NPZ file with a sparse matrix.
TABLES: dict[str, Callable[[Source, ReadOptions], TableFile | None]] = {
    "csv": DelimitedFile,
    "tsv": _tsv_file,
    "parquet": parquet_file,
    "arrow": ipc_file,
    "npz": npz_file,
    "npy": npy_file,
}
FORMATS = ("auto", "svmlight", *TABLES)
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".npy": "npy",
}
#: Endings of tables that cannot be read, and what these files are called in messages.
FOREIGN = {
    ".xlsx": "Excel workbook",
    ".xlsm": "Excel workbook",
    ".xls": "Excel workbook",
    ".ods": "OpenDocument spreadsheet",
    ".json": "JSON file",
    ".jsonl": "JSON file",
    ".ndjson": "JSON file",
    ".dta": "Stata file",
    ".sav": "SPSS file",
    ".sas7bdat": "SAS file",
    ".db": "database",
    ".sqlite": "database",
}
#: Endings of compressed text.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
#: Endings of svmlight files. A file with an unknown ending is read as svmlight, but not written.
SVMLIGHT = ("", ".svm", ".svmlight", ".libsvm", ".txt", ".dat")


def format_of(name: str) -> str:
    """Format of a file by the ending of its name; svmlight for an unknown ending.

    Examples
    --------
    >>> [format_of(name) for name in ("a.csv.gz", "b.feather", "c")]
    ['csv', 'arrow', 'svmlight']
    """
    return SUFFIXES.get(_suffix(name), "svmlight")


def format_to_read(format: str, name: str) -> str:
    """The given format, or with "auto" that of the name; refuses tables that cannot be read.

    Examples
    --------
    >>> format_to_read("auto", "rows.xlsx")
    Traceback (most recent call last):
        ...
    auctor.core.errors.DataError: auctor needs a text, Parquet, Arrow or NumPy file; got the Excel workbook rows.xlsx. Save the table as CSV first, or pass ReadOptions(format=) if it is one of these.
    """  # noqa: E501
    if format != "auto":
        return format
    kind = FOREIGN.get(_suffix(name))
    if kind is not None:
        raise DataError(
            f"a text, Parquet, Arrow or NumPy file; got the {kind} {name}. Save the table as CSV "
            "first, or pass `ReadOptions(format=)` if it is one of these."
        )
    return format_of(name)


def format_to_write(name: str) -> str:
    """Format of a file to write, by its name; refuses an unknown ending.

    Examples
    --------
    >>> [format_to_write(name) for name in ("a.csv.gz", "b.txt", "c")]
    ['csv', 'svmlight', 'svmlight']
    """
    known_format = format_of(name)
    if known_format == "svmlight" and _suffix(name) not in SVMLIGHT:
        raise ParameterError(
            f"a name with the ending of a format, such as {', '.join(SUFFIXES)} or {SVMLIGHT[1]}; "
            f"got {name}. Pass `to=` with the format."
        )
    return known_format


def _suffix(name: str) -> str:
    """The ending of a name in lower case, without that of a compressed file."""
    stem, suffix = os.path.splitext(name.lower())
    return os.path.splitext(stem)[1] if suffix in COMPRESSED else suffix


def check_format(format: str) -> str:
    """The format; refuses an unknown one."""
    return check_choice("format", format, FORMATS)
