"""Options for reading a file, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, field, fields
from typing import Any

from auctor.core.checks import check_choice, check_int
from auctor.core.errors import Option, ParameterError, speaks
from auctor.tables.schema import Schema

#: Default rows per chunk: 6.5 MB for a table of 100 columns of 8-byte numbers.
CHUNK_ROWS = 8192
#: Largest number of stored entries of a chunk of several rows. 32 MiB of 8-byte numbers.
CHUNK_ENTRIES = 1 << 22
#: Ways to encode columns of text.
CATEGORICAL = ("auto", "one_hot", "levels", "hash", "refuse")
#: Rules for missing values.
MISSING = ("auto", "refuse", "mean", "median", "zero", "most_frequent", "keep")
#: Another rule, for streams: missing numbers stay NaN, so that the learner can skip such rows.
SKIP = "skip"
#: Advice for a file that does not fit into memory.
IN_PARTS = "Write it as shards with auctor convert: they are read in parts."
#: Options of tables in memory; the others are about files and streams.
OF_TABLES = (
    "columns", "drop", "as_category", "as_words", "as_number", "date", "categorical", "buckets",
    "missing", "decimal", "unreadable",
)  # fmt: skip
#: What to do with values of new rows that the schema cannot read: count and warn, or raise.
UNREADABLE = ("warn", "refuse")


def reading_option(name: str, value: object = None) -> Option:
    """A field of `ReadOptions`, for messages."""
    return Option(name, value, of="ReadOptions")


@dataclass(frozen=True, repr=False)
class ReadOptions:
    """How to read rows; the ``reading`` of `read_table`, `open_stream` and all that reads tables.

    A column whose values all spell numbers is a column of numbers, and true and false are 1 and 0;
    a column of dates becomes the days since 1 January 1970; any other column is a category.

    Parameters
    ----------
    format : {"auto", "svmlight", "csv", "tsv", "parquet", "arrow", "npz", "npy"}
        "auto" chooses by the name of the file, svmlight for an unknown ending.
    label : str or int, optional
        Name or position of the label column; by default that of the schema, or the one called
        label, target, y or class (NPY: the last column). A position may be text, if no column has
        that name.
    labelled : bool
        Whether there must be labels; if not, missing labels are NaN.
    schema : Schema, optional
        The schema of another table, by which this one is encoded. Columns may have another order,
        and further columns are ignored; unknown categories become zeros.
    unreadable : {"warn", "refuse"}
        With a schema: text that is no date or amount in a column of these, and columns whose
        categories are all unknown. "warn" takes such values as missing or no category.
    columns : str or sequence of str, optional
        Names of the columns to use; by default all.
    drop, as_category : str or sequence of str
        Columns to leave out, and columns to read as categories even if they spell numbers.
    as_words : str or sequence of str
        Columns of free text, of which each frequent word becomes a column of zeros and ones, named
        "comment:refund": at most 200 words, each in at least five rows and at most half of them.
    as_number : str or sequence of str
        Columns of amounts such as $1,200 or 45 %, to read as numbers.
    date : mapping
        Patterns of dates by column, as in `datetime.strptime`: "%d/%m/%Y".
    categorical : {"auto", "one_hot", "levels", "hash", "refuse"}
        "one_hot": a column of zeros and ones for each category, in the order of their names.
        "levels": one column of the numbers of categories, for additive models, in which each level
        has an effect of its own. "auto": "levels" for additive models, else "one_hot".
        "hash": ``buckets`` columns, which categories share by their hash
        (`auctor.tables.encode.bucket`). "refuse": columns of text are an error.
    missing : {"refuse", "auto", "mean", "median", "zero", "most_frequent", "keep"}, optional
        What a missing number or date becomes; "auto" is the median, with a warning. "keep" leaves
        it missing, for models that accept that. Missing categories become the most frequent one, or
        with "auto", "zero" and "keep" no category at all. Sparse files accept only "refuse", "zero"
        and "keep". "skip", for streams with ``sample_rows``, leaves numbers NaN for a learner that
        skips such rows. By default `TableClassifier` takes "auto", and all others "refuse".
    check : bool
        Whether to warn of columns such as ids and leaks of the label; text that differs in every
        row is then left out.
    sample_rows : int
        If above 0, the schema of a stream is inferred from this number of first rows, as
        `read_table` infers it from all rows. Later categories become zeros and are counted. The
        first of several files decides. The first chunk of a pipe waits for these rows. At 0 and
        without a schema every column of a stream must hold numbers.
    chunk_rows : int
        Largest number of rows per chunk of a stream; those of rows with many entries are smaller.
    header : bool or "auto"
        Whether the first line of a CSV file has the names of the columns. "auto": it has if none of
        its fields is a number, one of them is a known name, or a word is above a number.
    delimiter : str, optional
        Character between the fields of a CSV file; by default the most frequent of comma, tab,
        semicolon and vertical bar in the first line.
    decimal : {".", ","}
        Decimal sign of numbers in text.
    n_features : int, optional
        Number of columns of svmlight rows; a larger index is refused. By default chunks become
        wider with larger indices; with a schema, indices that it does not have are left out.
    zero_based : bool or "auto"
        Whether svmlight indices start from 0. "auto": as in the schema; without one from 1, unless
        the first MiB of text has an index 0. A later index 0 is refused.
    n_threads : int, optional
        Threads that parse svmlight text.

    Examples
    --------
    >>> ReadOptions(label="bought", drop="id")
    ReadOptions(label='bought', drop='id')
    """

    format: str = "auto"
    label: str | int | None = None
    labelled: bool = True
    schema: Schema | None = None
    unreadable: str = "warn"
    columns: str | Sequence[str] | None = None
    drop: str | Sequence[str] = ()
    as_category: str | Sequence[str] = ()
    as_words: str | Sequence[str] = ()
    as_number: str | Sequence[str] = ()
    date: Mapping[str, str] = field(default_factory=dict)
    categorical: str = "auto"
    buckets: int = 1024
    missing: str | None = None
    check: bool = False
    sample_rows: int = 0
    chunk_rows: int = CHUNK_ROWS
    header: bool | str = "auto"
    delimiter: str | None = None
    decimal: str = "."
    n_features: int | None = None
    zero_based: bool | str = "auto"
    n_threads: int | None = None

    def __repr__(self) -> str:
        changed = (f"{name}={value!r}" for name, value in self.changed().items())
        return f"ReadOptions({', '.join(changed)})"

    def __hash__(self) -> int:
        return hash(repr(self))

    @speaks
    def __post_init__(self) -> None:
        if not isinstance(self.date, Mapping):
            raise ParameterError(
                f"`date` to map columns to formats; got {self.date!r}. Pass a dict such as "
                "{'sold': '%d/%m/%Y'}."
            )
        check_int("chunk_rows", self.chunk_rows, low=1)
        check_int("buckets", self.buckets, low=1)
        if self.n_features is not None:
            check_int("n_features", self.n_features, low=1)
        check_choice("categorical", self.categorical, CATEGORICAL)
        check_int("sample_rows", self.sample_rows, low=0)
        missing = (*MISSING, SKIP) if self.sample_rows else MISSING
        if self.missing is not None:
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

    def listed(self, option: str) -> tuple[str, ...]:
        """The columns that an option names; one name is a list of one."""
        value = getattr(self, option)
        return (value,) if isinstance(value, str) else tuple(value or ())

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        usual = {one.name: {} if one.default is NO_DEFAULT else one.default for one in fields(self)}
        return {name: value for name, value in values.items() if value != usual[name]}

    def of_table(self) -> ReadOptions:
        """Those of the options that a table in memory has."""
        return ReadOptions(**{name: getattr(self, name) for name in OF_TABLES})

    @property
    def missing_rule(self) -> str:
        """The rule for missing values."""
        return self.missing or "refuse"

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
            f"`{name}` to be True, False or 'auto'; got {value!r}. Pass one of these."
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
            f"`delimiter` to be one ASCII character; got {delimiter!r}. Pass ',' or ';'."
        )


#: The options that readers have without others.
DEFAULTS = ReadOptions()
