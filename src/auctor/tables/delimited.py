"""CSV and TSV tables: pyarrow parses the records, a block of text at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.memory import check_memory
from auctor.core.optional import require
from auctor.core.types import Array, FloatArray, IntArray
from auctor.tables.arrow import coded, plain_numbers
from auctor.tables.blocks import Block, cut
from auctor.tables.columns import (
    EXACT_LABELS,
    LABEL_NAMES,
    check_names,
    check_width,
    default_names,
    find_label,
    is_missing,
    is_position,
    long_labels,
    no_number,
    parse_number,
    spelt_long_integers,
)
from auctor.tables.options import ReadOptions
from auctor.tables.records import Text, all_starts, line_ends
from auctor.tables.source import Source, shown

#: The beginning of a file: lines without text, and the line with which Excel names the delimiter.
_OPENING = re.compile(
    rb"(?:[ \t]*(?:\r\n?|\n|$))*"
    rb'(?:(?i:"?sep=(?P<delimiter>[,;|\t])"?)[ \t]*(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n|$))*)?'
)
#: Delimiters to choose from if none is given.
_DELIMITERS = (",", "\t", ";", "|")
#: Bytes of the longest record, 64 MiB.
LONGEST_RECORD = 1 << 26
#: Address space that pyarrow takes for each column of a text, in bytes; it aborts without.
COLUMN_BYTES = 10_000


class DelimitedFile:
    """A CSV or TSV file.

    Empty fields and the words of `MISSING` are missing values. Labels are numbers if the first one
    is, otherwise text; a label of the other kind is refused. Delimiters and line ends between
    quotes are text. A first line such as ``sep=;``, which Excel writes, names the delimiter.
    """

    def __init__(self, source: Source, options: ReadOptions) -> None:
        require("pyarrow", extra="cli", to="read CSV")
        self.source, self.options = source, options
        self.names: tuple[str, ...] = ()
        self.label: str | None = None
        self.named = False
        self.text_columns: frozenset[int] = frozenset()
        self.float_columns: frozenset[int] = frozenset()
        self.non_numeric: set[int] = set()
        self.first_non_numbers: dict[int, str] = {}
        self.fields: list[str] = []
        self.label_field = -1
        self.delimiter = options.delimiter or ""
        self._fresh = True  # nothing is read yet but the header
        self._start()
        if self._text is not None:
            self._read_header(self._text)

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """All rows, in blocks of ``options.most_rows``."""
        if not self._fresh:
            self.source.rewind()
            self._start()
        self._fresh = False
        self.non_numeric = set()
        if self._text is None:
            return
        texts = chain((self._text.after_header() if self.named else self._text,), self._rest)
        rows = _BlockReader(self, kinds, strict)
        rows_of_texts = (rows.read(text) for text in texts)
        most = self.options.most_rows(len(self.fields))
        yield from cut((block for block in rows_of_texts if block.n_rows), most)

    @property
    def blanks(self) -> str:
        """Characters of a blank line, which is skipped; with one column, a space is a field."""
        return "\r\n" if len(self.fields) == 1 else " \t\r\n".replace(self.delimiter, "")

    def long_integers(self, columns: Sequence[int]) -> dict[int, str]:
        """The first whole number beyond 2^53 in each of some columns that has one."""
        return spelt_long_integers(self, columns)

    def field(self, k: int) -> str:
        """Position, and name if there is one, of a column for messages."""
        return f"column {k + 1} ({self.fields[k]})" if self.named else f"column {k + 1}"

    def parse_number(self, word: str) -> float | None:
        """Parse a word as a number with the file's decimal sign; None if it is none."""
        return parse_number(word, self.options.decimal)

    def _start(self) -> None:
        """Read up to the first record that is not blank."""
        self._rest = self._texts()
        self._text = next(self._rest, None)

    def _texts(self) -> Iterator[Text]:
        """The text in parts that end with a complete record, without `_OPENING`."""
        # ``lines`` counts the lines before a part; ``waiting`` is an incomplete record at its end.
        lines, waiting, begun = 0, b"", False
        for block in self.source.blocks():
            text = waiting + block
            if not begun:
                opening = _OPENING.match(text)
                assert opening is not None  # it matches the empty text
                lines += line_ends(text, opening.end())
                text = text[opening.end() :]
                begun = bool(text)
                declared = (opening["delimiter"] or b"").decode()
                self.delimiter = self.delimiter or declared or self._usual_delimiter(text)
            whole = self._records_end(text)
            if whole:
                yield Text(self, text[:whole], lines)
                lines += line_ends(text, whole)
            waiting = text[whole:]
            if len(waiting) > LONGEST_RECORD:
                self._refuse_open_quote(waiting, lines)
        if waiting:
            if self._records_end(waiting + b"\n") <= len(waiting):
                self._refuse_open_quote(waiting, lines)
            yield Text(self, waiting, lines)

    def _usual_delimiter(self, text: bytes) -> str:
        """The most frequent delimiter of the first line; the decimal sign only if no other is."""
        line = re.split(rb"[\r\n]", text, maxsplit=1)[0].decode("utf-8", "replace")
        if not line:
            return ""
        return max(_DELIMITERS, key=lambda sign: self._rank(sign, line))

    def _rank(self, sign: str, line: str) -> tuple[bool, bool, int]:
        """Sort key of a delimiter: in the line, not the decimal sign, and how often."""
        return sign in line, sign != self.options.decimal, line.count(sign)

    def _records_end(self, text: bytes) -> int:
        """Position of the end of the last complete record."""
        if b'"' not in text:
            return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        return int(all_starts(text, self.delimiter)[-1])

    def _refuse_open_quote(self, text: bytes, lines: int) -> None:
        """Refuse a record whose quotes are not closed."""
        raise DataError(
            f"quotes that are closed; got an open one in the record of {self.source.name} that "
            f"starts in line {lines + 1}. Close it, or double a quote that is part of the text."
        )

    def _read_header(self, text: Text) -> None:
        """Decide whether the first record has names, and find the label column."""
        options = self.options
        fields = text.record(0)
        header: bool | str = options.header
        if header == "auto":
            # There are names if the label is given by one, if an expected name is among the fields,
            # if no field is a number, or if there is a word above a number.
            by_position = is_position(options.label_column, len(fields))
            label_names = set() if by_position else {options.label_column} - {None}
            expected = {*LABEL_NAMES, *options.known_names}
            named = bool(label_names.difference(default_names(len(fields))))
            named = named or not expected.isdisjoint(fields)
            numbers = any(map(self._is_number, fields))
            header = named or not numbers or self._names_numbers(text, fields)
        self.named = bool(header)
        if self.named:
            fields = check_names(self.source.name, fields)
        names = fields if self.named else None
        if not self.named:
            fields = default_names(len(fields))
            if isinstance(options.label_column, str) and options.label_column in fields:
                names = fields
        label = find_label(self.source.name, names, options, len(fields))
        self.fields = fields
        self.label_field = -1 if label is None else label
        self.label = None if label is None else fields[label]
        self.names = tuple(name for k, name in enumerate(fields) if k != label)
        check_width(self.source.name, len(self.names), options)

    def _names_numbers(self, text: Text, fields: list[str]) -> bool:
        """Whether some column has a word in the first record and a number in the second."""
        second: list[str] = []
        if len(text.starts) > 1:
            second = text.record(1)
        elif (more := next(self._rest, None)) is not None:
            second = more.record(0) if len(more.starts) else []
            self._rest = chain((more,), self._rest)
        return any(
            field
            and not self._is_number(field)
            and not is_missing(under)
            and self._is_number(under)
            for field, under in zip(fields, second, strict=False)
        )

    def _is_number(self, field: str) -> bool:
        """Whether a field of the first records is a number; true and false may be names."""
        word = field.lower()
        return (
            bool(field) and word not in ("true", "false") and self.parse_number(field) is not None
        )


class _BlockReader:
    """Turns parts of a text into blocks of rows.

    pyarrow parses the records, without a meaning for any field: what is missing and what is a
    number is decided here, for files and tables in memory alike.
    """

    def __init__(self, file: DelimitedFile, kinds: Sequence[str], strict: bool) -> None:
        self.file, self.strict = file, strict
        places = [k for k in range(len(file.fields)) if k != file.label_field]
        self.numbers = [k for k, kind in zip(places, kinds, strict=True) if kind == "number"]
        self.words = [k for k, kind in zip(places, kinds, strict=True) if kind == "category"]
        self.column = {field: column for column, field in enumerate(places)}
        self.labels_are_text: bool | None = None
        self.missing_label = ""  # the first missing label and its place, for a message

    def read(self, text: Text) -> Block:
        """A block with all rows of a text."""
        table = self._table(text)
        matrix = np.full((table.num_rows, len(self.numbers)), np.nan)
        for place, k in enumerate(self.numbers):
            if self.column[k] not in self.file.non_numeric:
                matrix[:, place] = self._numbers(text, table.column(str(k)), k)
        codes = np.empty((table.num_rows, len(self.words)), np.int32)
        words = []
        for place, k in enumerate(self.words):
            codes[:, place], known = coded(table.column(str(k)).combine_chunks())
            words.append(known)
        labels = None
        if self.file.label is not None:
            labels = self._labels(text, table.column(str(self.file.label_field)))
        return Block(matrix, codes, words, labels)

    def _table(self, text: Text) -> Any:
        """The text of the columns that are used, as pyarrow parses it, without blank lines."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        file = self.file
        check_memory(
            COLUMN_BYTES * len(file.fields),
            f"{len(file.fields):,} columns of text in {file.source.name}",
            todo="Write them as svmlight or NPZ, which have no cost per column.",
        )
        used = self.numbers + ([] if file.label is None else [file.label_field])
        types = {str(k): pa.string() for k in used}
        types |= {str(k): pa.dictionary(pa.int32(), pa.string()) for k in self.words}
        blanks = file.blanks
        if not text.text.strip(blanks.encode()):
            return pa.table({name: pa.array([], kind) for name, kind in types.items()})
        text.check_encoding()  # an undecodable row would stop `invalid_row_handler`
        names = list(map(str, range(len(file.fields))))
        try:
            return arrow_csv.read_csv(
                pa.BufferReader(text.text),
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, column_names=names, block_size=len(text.text) + 1
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=file.delimiter,
                    newlines_in_values=True,
                    invalid_row_handler=lambda row: "error" if row.text.strip(blanks) else "skip",
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types, include_columns=list(types) or names[:1], null_values=[]
                ),
            )
        except pa.ArrowInvalid as error:
            text.check_widths()
            raise DataError(
                f"text that is CSV; got {error} in {file.source.name}. Save the table again."
            ) from error

    def _meanings(self, column: Any) -> tuple[Array, list[str], list[float | None]]:
        """Codes of a column of words, the words, and the number that each word spells or None."""
        codes, words = coded(column.combine_chunks())
        return codes, words, [self.file.parse_number(word) for word in words]

    def _numbers(self, text: Text, column: Any, field: int) -> FloatArray:
        """A column as numbers, with NaN for missing values.

        A word that is not a number is refused if ``strict``; otherwise the column is recorded in
        ``non_numeric``.
        """
        values = plain_numbers(column, self.file.options.decimal)
        if values is not None:
            return values
        codes, words, meanings = self._meanings(column)
        if None in meanings:
            wrong = [k for k, number in enumerate(meanings) if number is None]
            row = int(np.flatnonzero(np.isin(codes, wrong))[0])
            word = words[codes[row]]
            if self.strict:
                place = f" in {text.place(row)}"
                options, column_of = self.file.options, self.file.field(field)
                name = self.file.fields[field] if options.sample_rows else ""
                trained = options.schema is not None
                raise no_number(column_of, word, place, name, trained=trained)
            got = shown(word.encode())
            number = self.column[field]
            self.file.non_numeric.add(number)
            self.file.first_non_numbers.setdefault(number, f"{got} in line {text.line(row)}")
        return _looked_up(meanings, codes)

    def _labels(self, text: Text, column: Any) -> Array:
        """Labels, all of the type of the first one: numbers, or text without missing values."""
        # ``values``: labels as numbers, NaN for words and missing ones; ``is_word``: the words.
        values = plain_numbers(column, self.file.options.decimal)
        if values is None:
            codes, words, meanings = self._meanings(column)
            values = _looked_up(meanings, codes)
            is_word = np.array([number is None for number in meanings] + [False])[codes]
        else:
            codes, words = np.empty(0, np.int32), []
            is_word = np.zeros(values.shape, bool)
        # The first label that is not missing decides the type of all.
        if self.labels_are_text is None:
            known = np.flatnonzero(is_word | ~np.isnan(values))
            self.labels_are_text = None if not known.size else bool(is_word[known[0]])
        if self.labels_are_text is False:
            self._refuse_label(text, np.flatnonzero(is_word))
            long = long_labels(values)
            if long.size and self.file.options.labelled:
                row = int(long[0])
                raise DataError(
                    EXACT_LABELS,
                    got=f"{text.record(row)[self.file.label_field]} in {text.place(row)}",
                    todo="Put a letter before the numbers to make them text.",
                )
            return values
        others = np.flatnonzero(~is_word)
        if others.size and np.isnan(values[others[0]]) and not self.missing_label:
            row = int(others[0])
            word = text.record(row)[self.file.label_field]
            self.missing_label = f"{word!r} in {text.place(row)}"
        if not self.labels_are_text:
            return values
        if self.missing_label:
            raise DataError(
                f"a label in every row; got {self.missing_label} (read as missing). Use another "
                "word for that class, or drop such rows."
            )
        self._refuse_label(text, others)
        return np.array(words)[codes] if words else np.empty(0, "U1")

    def _refuse_label(self, text: Text, wrong: IntArray) -> None:
        """Refuse the first of some labels whose type differs from that of the first label."""
        if wrong.size:
            row = int(wrong[0])
            wanted = "text" if self.labels_are_text else "numbers"
            raise DataError(
                f"labels of one type, {wanted} like the first one; got "
                f"{text.record(row)[self.file.label_field]!r} in {text.place(row)}. Encode the "
                "labels the same way throughout."
            )


def _looked_up(meanings: list[float | None], codes: Array) -> FloatArray:
    """The number of each code, NaN for missing values and words that are not numbers."""
    numbers = [np.nan if number is None else number for number in meanings]
    values: FloatArray = np.array([*numbers, np.nan], dtype=np.float64)[codes]
    return values
