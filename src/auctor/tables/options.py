"""How to read a file: everything a user may say about it, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from auctor.core.checks import check_choice, check_int
from auctor.core.errors import ParameterError
from auctor.tables.schema import Schema

#: Rows per chunk unless asked otherwise: a few megabytes for tables of a hundred columns.
CHUNK_ROWS = 8192
#: Stored entries after which a chunk ends, however few rows these are: 32 MiB of 8-byte numbers.
CHUNK_ENTRIES = 1 << 22
#: What becomes of columns of text.
CATEGORICAL = ("one_hot", "hash", "refuse")
#: What becomes of missing values.
MISSING = ("auto", "refuse", "mean", "median", "zero", "most_frequent", "keep")
#: One more for a stream: missing numbers stay, so that its reader can pass over such rows.
SKIP = "skip"


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file; the parameters are those of `read_table` and `open_stream`.

    Parameters
    ----------
    who : str
        Name used in error messages.
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
        Columns to leave out, to take as categories, and to take as amounts such as $1,200.
    date : mapping
        How dates are written, by column, as in `datetime.strptime`.
    check : bool
        Whether to look for columns that are probably not meant as they are read.
    sample_rows : int
        Rows of a stream that the schema is found from; 0 if all columns are to be numbers.
    """

    who: str
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
    sample_rows: int = 0

    def __post_init__(self) -> None:
        check_int(self.who, "chunk_rows", self.chunk_rows, low=1)
        check_int(self.who, "buckets", self.buckets, low=1)
        if self.n_features is not None:
            check_int(self.who, "n_features", self.n_features, low=1)
        check_choice(self.who, "categorical", self.categorical, CATEGORICAL)
        check_int(self.who, "sample_rows", self.sample_rows, low=0)
        missing = (*MISSING, SKIP) if self.sample_rows else MISSING
        check_choice(self.who, "missing", self.missing, missing)
        check_choice(self.who, "decimal", self.decimal, (".", ","))
        _check_yes_no(self.who, "zero_based", self.zero_based)
        _check_yes_no(self.who, "header", self.header)
        _check_delimiter(self.who, self.delimiter)

    @property
    def label_column(self) -> str | int | None:
        """The label column that was asked for, or that of the schema."""
        if self.label is not None or self.schema is None:
            return self.label
        return self.schema.label

    @property
    def first_index(self) -> int | None:
        """Where indices start (svmlight); ``None`` if the text is to decide."""
        if isinstance(self.zero_based, str):
            return None if self.schema is None else self.schema.first_index
        return 0 if self.zero_based else 1

    @property
    def known_names(self) -> tuple[str, ...]:
        """Names of columns to expect."""
        return () if self.schema is None else tuple(c.name for c in self.schema.columns)

    def most_rows(self, n_fields: int) -> int:
        """Rows per chunk of a table."""
        return max(1, min(self.chunk_rows, CHUNK_ENTRIES // max(1, n_fields)))


def _check_yes_no(who: str, name: str, value: bool | str) -> None:
    if not isinstance(value, bool) and not (isinstance(value, str) and value == "auto"):
        raise ParameterError(
            who,
            needs=f"{name} to be True, False or 'auto'",
            got=f"{value!r}",
            todo="Pass one of these.",
        )


def _check_delimiter(who: str, delimiter: str | None) -> None:
    """Refuse what cannot stand between fields."""
    if delimiter is not None and (
        not isinstance(delimiter, str)
        or len(delimiter) != 1
        or not delimiter.isascii()
        or delimiter in '"\r\n'
    ):
        raise ParameterError(
            who,
            needs="delimiter to be one ASCII character",
            got=f"{delimiter!r}",
            todo="Pass ',' or ';'.",
        )
