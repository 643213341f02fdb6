"""Options for reading a file, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from auctor.core.checks import check_choice, check_int
from auctor.core.errors import ParameterError, speaks
from auctor.tables.schema import Schema

#: Default rows per chunk: 6.5 MB for a table of 100 columns of 8-byte numbers.
CHUNK_ROWS = 8192
#: Largest number of stored entries of a chunk of several rows. 32 MiB of 8-byte numbers.
CHUNK_ENTRIES = 1 << 22
#: Ways to encode columns of text.
CATEGORICAL = ("one_hot", "hash", "refuse")
#: Rules for missing values.
MISSING = ("auto", "refuse", "mean", "median", "zero", "most_frequent", "keep")
#: Another rule, for streams: missing numbers stay NaN, so that the learner can skip such rows.
SKIP = "skip"
#: Advice for a file that does not fit into memory.
IN_PARTS = "Write it as shards with auctor convert: they are read in parts."
#: What to do with values of new rows that the schema cannot read: count and warn, or raise.
UNREADABLE = ("warn", "refuse")


class ReadKeywords(TypedDict, total=False):
    """`ReadOptions` as keywords of a function that passes them on."""

    format: str
    n_threads: int | None
    chunk_rows: int
    label: str | int | None
    schema: Schema | None
    labelled: bool
    n_features: int | None
    zero_based: bool | str
    header: bool | str
    delimiter: str | None
    decimal: str
    columns: Sequence[str] | None
    categorical: str
    buckets: int
    missing: str
    drop: Sequence[str]
    as_category: Sequence[str]
    as_number: Sequence[str]
    date: Mapping[str, str]
    check: bool
    unreadable: str
    sample_rows: int


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; `read_table`, `open_stream` and `convert` take these as keywords.

    Parameters
    ----------
    format : str
        Name of a format, or "auto".
    n_threads : int, optional
        Threads that parse svmlight text.
    chunk_rows : int
    label : str or int, optional
    schema : Schema, optional
    labelled : bool
    n_features : int, optional
    zero_based : bool or "auto"
    header : bool or "auto"
    delimiter : str, optional
    decimal : {".", ","}
    columns : sequence of str, optional
    categorical, missing : str
    buckets : int
    drop, as_category, as_number : sequence of str
        Columns to leave out, to read as categories, and to read as amounts such as $1,200.
    date : mapping
        Patterns of dates by column, as in `datetime.strptime`.
    check : bool
        Whether to check for ids, dates as text, leaks of the label and the like.
    unreadable : {"warn", "refuse"}
        What to do with values of new rows that the schema cannot read.
    sample_rows : int
        Number of first rows of a stream from which the schema is inferred; 0 if all columns must
        be numbers.
    """

    format: str = "auto"
    n_threads: int | None = None
    chunk_rows: int = CHUNK_ROWS
    label: str | int | None = None
    schema: Schema | None = None
    labelled: bool = True
    n_features: int | None = None
    zero_based: bool | str = "auto"
    header: bool | str = "auto"
    delimiter: str | None = None
    decimal: str = "."
    columns: Sequence[str] | None = None
    categorical: str = "one_hot"
    buckets: int = 1024
    missing: str = "refuse"
    drop: Sequence[str] = ()
    as_category: Sequence[str] = ()
    as_number: Sequence[str] = ()
    date: Mapping[str, str] = field(default_factory=dict)
    check: bool = False
    unreadable: str = "warn"
    sample_rows: int = 0

    @speaks
    def __post_init__(self) -> None:
        check_int("chunk_rows", self.chunk_rows, low=1)
        check_int("buckets", self.buckets, low=1)
        if self.n_features is not None:
            check_int("n_features", self.n_features, low=1)
        check_choice("categorical", self.categorical, CATEGORICAL)
        check_int("sample_rows", self.sample_rows, low=0)
        missing = (*MISSING, SKIP) if self.sample_rows else MISSING
        check_choice("missing", self.missing, missing)
        check_choice("decimal", self.decimal, (".", ","))
        _check_yes_no("zero_based", self.zero_based)
        _check_yes_no("header", self.header)
        check_choice("unreadable", self.unreadable, UNREADABLE)
        _check_delimiter(self.delimiter)

    def by_schema(self, schema: Schema | None, *, labelled: bool = True) -> ReadOptions:
        """The same options for rows that a schema describes, or whose columns are read as text.

        Only what says how the file is written is kept: the schema says which columns are used, and
        how they are encoded.
        """
        return ReadOptions(
            format=self.format,
            n_threads=self.n_threads,
            chunk_rows=self.chunk_rows,
            label=self.label,
            schema=schema,
            labelled=labelled,
            n_features=self.n_features,
            zero_based=self.zero_based,
            header=self.header,
            delimiter=self.delimiter,
            decimal=self.decimal,
            unreadable=self.unreadable,
        )

    @property
    def label_column(self) -> str | int | None:
        """The label column of the options, by default that of the schema."""
        if self.label is not None or self.schema is None:
            return self.label
        return self.schema.label

    @property
    def first_index(self) -> int | None:
        """First index of svmlight rows, 0 or 1; None if it is to be found from the text."""
        if isinstance(self.zero_based, str):
            return None if self.schema is None else self.schema.first_index
        return 0 if self.zero_based else 1

    @property
    def known_names(self) -> tuple[str, ...]:
        """Names of the columns of the schema."""
        return () if self.schema is None else tuple(c.name for c in self.schema.columns)

    def most_rows(self, n_fields: int) -> int:
        """Rows per chunk of a table of ``n_fields`` columns."""
        return max(1, min(self.chunk_rows, CHUNK_ENTRIES // max(1, n_fields)))


def _check_yes_no(name: str, value: bool | str) -> None:
    """Refuse a value other than True, False and "auto"."""
    if not isinstance(value, bool) and not (isinstance(value, str) and value == "auto"):
        raise ParameterError(
            "{option} to be True, False or 'auto'",
            got=f"{value!r}",
            todo="Pass one of these.",
            option=name,
        )


def _check_delimiter(delimiter: str | None) -> None:
    """Refuse a delimiter that is not one ASCII character, or is a quote or a line end."""
    if delimiter is not None and (
        not isinstance(delimiter, str)
        or len(delimiter) != 1
        or not delimiter.isascii()
        or delimiter in '"\r\n'
    ):
        raise ParameterError(
            "{option} to be one ASCII character",
            got=f"{delimiter!r}",
            todo="Pass ',' or ';'.",
            option="delimiter",
        )
