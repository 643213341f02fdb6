"""Records of delimited text: their positions, and their lines for error messages."""

from __future__ import annotations

import csv
import io
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import IntArray
from auctor.kernels.text.records import record_starts
from auctor.tables.source import shown

if TYPE_CHECKING:
    from auctor.tables.delimited import DelimitedFile


class Text:
    """A part of a file that consists of complete records.

    Parameters
    ----------
    lines_before : int
        Number of lines of the file before the text.
    """

    def __init__(self, file: DelimitedFile, text: bytes, lines_before: int) -> None:
        self.file, self.text, self.lines_before = file, text, lines_before
        if b"\0" in text:
            self.refuse_encoding(text.index(b"\0"))

    @cached_property
    def starts(self) -> IntArray:
        """Positions of the first bytes of the records that are not blank."""
        starts = all_starts(self.text, self.file.delimiter)
        ends = [*starts[1:].tolist(), len(self.text)]
        blank = self.file.blanks.encode()
        kept = [
            a for a, b in zip(starts.tolist(), ends, strict=True) if self.text[a:b].strip(blank)
        ]
        return np.array(kept, dtype=np.int64)

    def after_header(self) -> Text:
        """The text after its first record."""
        starts = all_starts(self.text, self.file.delimiter)
        begin = int(starts[1]) if len(starts) > 1 else len(self.text)
        lines = self.lines_before + line_ends(self.text, begin)
        return Text(self.file, self.text[begin:], lines)

    def line(self, row: int) -> int:
        """Number of the line in the file in which a record starts, from 1."""
        return self.lines_before + line_ends(self.text, int(self.starts[row])) + 1

    def place(self, row: int) -> str:
        """File and line of a record, for messages."""
        return f"{self.file.source.name}, line {self.line(row)}"

    def record(self, row: int) -> list[str]:
        """The fields of a record, stripped of blanks."""
        begin = int(self.starts[row])
        end = int(self.starts[row + 1]) if row + 1 < len(self.starts) else len(self.text)
        try:
            record = self.text[begin:end].decode()
        except UnicodeDecodeError as error:
            self.refuse_encoding(begin + error.start)
        return [field.strip() for field in split(record, self.file.delimiter)]

    def check_encoding(self) -> None:
        """Refuse text that is not UTF-8."""
        if self.text.isascii():
            return
        try:
            self.text.decode()
        except UnicodeDecodeError as error:
            self.refuse_encoding(error.start)

    def check_widths(self) -> None:
        """Refuse a record whose number of fields is not that of the columns."""
        wanted = len(self.file.fields)
        for row in range(len(self.starts)):
            width = len(self.record(row))
            if width != wanted:
                raise DataError(
                    f"{wanted} fields in each line; got {width} in {self.place(row)}. Correct the "
                    "line or the delimiter."
                )

    def refuse_encoding(self, where: int) -> NoReturn:
        """Refuse the text for a byte that is not UTF-8; the message quotes 20 bytes around it."""
        start = max(self.text.rfind(b"\n", 0, where) + 1, where - 20)
        line = self.lines_before + line_ends(self.text, where) + 1
        raise DataError(
            f"UTF-8 text; got {shown(self.text[start : where + 20])} in {self.file.source.name}, "
            f"line {line}. Save it again as CSV in UTF-8, or convert it with iconv -f cp1252 -t "
            "utf-8."
        )


def all_starts(text: bytes, delimiter: str) -> IntArray:
    """Positions of the first byte of every record, and of the rest after the last line end."""
    starts = np.empty(text.count(b"\n") + text.count(b"\r") + 1, np.int64)
    count = record_starts(np.frombuffer(text, np.uint8), ord(delimiter or ","), starts)
    return starts[:count]


def line_ends(text: bytes, stop: int) -> int:
    r"""Number of line ends before a position: line feeds, and carriage returns without one.

    Examples
    --------
    >>> line_ends(b"a\r\nb\rc\nd", 8)
    3
    """
    pairs = text.count(b"\r\n", 0, stop) if b"\r" in text else 0
    return text.count(b"\n", 0, stop) + text.count(b"\r", 0, stop) - pairs


def split(record: str, delimiter: str) -> list[str]:
    """The fields of a record; delimiters between quotes are part of a field.

    Examples
    --------
    >>> split('1,"red, or blue",5', ",")
    ['1', 'red, or blue', '5']
    """
    try:
        return next(csv.reader(io.StringIO(record, newline=""), delimiter=delimiter), [])
    except csv.Error:  # a field longer than the limit of the csv module
        return record.rstrip("\r\n").split(delimiter)
