"""CSV and TSV tables of numbers with a label column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array
from auctor.data.readers.base import (
    CHUNK_ENTRIES,
    WHO,
    Chunk,
    Settings,
    Source,
    shown,
)
from auctor.data.readers.svmlight import as_number
from auctor.kernels import text as kernels

#: What stands for a missing number, in lower case.
MISSING = frozenset((b"", b"na", b"n/a", b"nan", b"null", b"none", b"?"))
_TRUTH = {b"true": 1.0, b"false": 0.0}
_BLANK_LINES = re.compile(rb"(?:[ \t\r]*(?:\n|$))*")
_DELIMITERS = (",", "\t", ";")
#: Names of the label column when none is given.
LABEL_NAMES = ("label", "target", "y", "class")


def table_chunks(source: Source, settings: Settings) -> Iterator[Chunk]:
    """Chunks of a CSV or TSV file; empty fields and the like become NaN.

    Labels are numbers if the first one is, otherwise text; a label of the other kind is refused.
    """
    blocks = source.blocks()
    lines_before = 0
    for first in blocks:
        start = _BLANK_LINES.match(first).end()  # type: ignore[union-attr]
        lines_before += first.count(b"\n", 0, start)
        if start < len(first):
            break
    else:
        return
    end = first.find(b"\n", start) + 1 or len(first)
    rows = _Table(source.name, first[start:end], settings)
    if rows.columns is not None:
        lines_before += 1
        start = end
    first = first[start:]
    for text in chain((first,), blocks):
        rows.start(text, lines_before)
        while not rows.read():
            yield rows.chunk()
        lines_before += text.count(b"\n")
    if rows.at[kernels.ROW]:
        yield rows.chunk()


class _Table:
    """Rows of the chunk in progress, in arrays that are reused."""

    def __init__(self, name: str, first_line: bytes, settings: Settings) -> None:
        self.name = name
        line = first_line.decode("utf-8", "replace")
        self.delimiter = settings.delimiter or max(_DELIMITERS, key=line.count)
        self.fields = [_unquoted(field) for field in _split(line, self.delimiter)]
        wants_name = isinstance(settings.label, str)
        header = settings.header
        if header is None:
            named = wants_name or any(f in LABEL_NAMES for f in self.fields)
            header = named or not any(_is_number(f) for f in self.fields)
        self.label = find_label(name, self.fields if header else None, settings, len(self.fields))
        rest = [f for k, f in enumerate(self.fields) if k != self.label]
        self.columns = tuple(rest) if header else None
        if settings.n_features is not None and len(rest) != settings.n_features:
            raise DataError(
                f"{WHO} needs n_features={settings.n_features} columns besides the label; got "
                f"{len(rest)} in {name}. Drop n_features."
            )
        self.most_rows = max(1, min(settings.chunk_rows, CHUNK_ENTRIES // len(self.fields)))
        self.matrix = np.empty((self.most_rows, len(rest)))
        self.labels, self.starts = np.empty(self.most_rows), np.empty(self.most_rows, np.int64)
        self.words: dict[int, str] = {}
        self.labels_are_text: bool | None = None
        self.late = np.empty((0, 4), np.int64)
        self.at = np.zeros(kernels.AT_SIZE, np.int64)

    def start(self, text: bytes, lines_before: int) -> None:
        self.text, self.lines_before = text, lines_before
        self.bytes: Array = np.frombuffer(text, np.uint8)
        self.at[kernels.POSITION] = 0
        if self.late.shape[0] < len(text) // 2 + 1:
            self.late = np.empty((len(text) // 2 + 1, 4), np.int64)

    def read(self) -> bool:
        """Read on; whether the text is used up (a chunk may be full all the same)."""
        first = int(self.at[kernels.ROW])
        kernels.table_rows(
            self.bytes,
            ord(self.delimiter),
            self.label,
            len(self.fields),
            self.most_rows,
            self.matrix,
            self.labels,
            self.starts,
            self.late,
            self.at,
        )
        stop = int(self.at[kernels.ROW])
        for row, field, begin, end in self.late[: self.at[kernels.LATE]].tolist():
            self._settle(row, field, begin, end)
        if self.at[kernels.CODE] == kernels.RAGGED:
            self._refuse_ragged(int(self.at[kernels.WHERE]))
        if stop > first:
            self._check_labels(first, stop)
        return bool(self.at[kernels.POSITION] == len(self.text))

    def chunk(self) -> Chunk:
        """The rows so far; the next ones start a new chunk."""
        n = int(self.at[kernels.ROW])
        labels: Array = self.labels[:n].copy()
        if self.labels_are_text:
            labels = np.array([self.words[i] for i in range(n)])
        self.words.clear()
        self.at[kernels.ROW] = 0
        return Chunk(self.matrix[:n].copy(), labels, columns=self.columns)

    def _settle(self, row: int, field: int, begin: int, end: int) -> None:
        """Give a field that is no plain number its meaning."""
        word = _unquoted(self.text[begin:end].decode("utf-8", "replace"))
        token = word.encode()
        small = token.lower()
        number = np.nan if small in MISSING else _TRUTH.get(small, as_number(token))
        if field == self.label:
            if number is None:
                self.words[row] = word
            else:
                self.labels[row] = number
        elif number is None:
            called = self._field(field)
            raise DataError(
                f"{WHO} needs numbers in {called}; got {shown(token)} in {self.name}, line "
                f"{self._line(begin)}. Encode text as numbers first."
            )
        else:
            self.matrix[row, field - (field > self.label)] = number

    def _check_labels(self, first: int, stop: int) -> None:
        """Labels are all numbers or all text, as the first one was."""
        if self.labels_are_text is None:
            self.labels_are_text = first in self.words
        if self.labels_are_text:
            wrong = next((i for i in range(first, stop) if i not in self.words), None)
        else:
            wrong = min(self.words, default=None)
        if wrong is None:
            return
        got = self.words.get(wrong, f"{self.labels[wrong]:g}")
        wanted = "text" if self.labels_are_text else "numbers"
        raise DataError(
            f"{WHO} needs labels of one type, {wanted} as the first one; got {got!r} in "
            f"{self.name}, line {self._line(int(self.starts[wrong]))}. Encode the labels the same "
            "way throughout."
        )

    def _refuse_ragged(self, where: int) -> None:
        line = self._line(where)
        start = self.text.rfind(b"\n", 0, where) + 1
        end = self.text.find(b"\n", start)
        words = self.text[start : len(self.text) if end < 0 else end].decode("utf-8", "replace")
        found = len(_split(words, self.delimiter))
        raise DataError(
            f"{WHO} needs {len(self.fields)} fields in each line; got {found} in {self.name}, line "
            f"{line}, column {where - start + 1}. Correct the line or the delimiter."
        )

    def _field(self, field: int) -> str:
        number = f"column {field + 1}"
        return number if self.columns is None else f"{number} ({self.fields[field]})"

    def _line(self, where: int) -> int:
        return self.lines_before + self.text.count(b"\n", 0, where) + 1


def find_label(name: str, columns: list[str] | None, settings: Settings, n_fields: int) -> int:
    """Position of the label column, by name or position."""
    label = settings.label
    if n_fields < 2:
        raise DataError(
            f"{WHO} needs a label and at least one more column; got {n_fields} column in {name}. "
            "Check the delimiter and the format."
        )
    if label is None and columns is not None:
        label = next((usual for usual in LABEL_NAMES if usual in columns), None)
    if label is None:
        known = "no names of columns" if columns is None else _listed(columns)
        raise DataError(
            f"{WHO} needs to know the label column; got {known} in {name}. "
            "Pass label= with its name or position."
        )
    if isinstance(label, str):
        if columns is None or columns.count(label) != 1:
            known = "no names of columns" if columns is None else _listed(columns)
            raise DataError(
                f"{WHO} needs one column named {label!r}; got {known} in {name}. "
                "Pass label= with one of these, or a position."
            )
        return columns.index(label)
    if not -n_fields <= label < n_fields:
        raise DataError(
            f"{WHO} needs label in [{-n_fields}, {n_fields}); got {label} for {n_fields} columns "
            f"of {name}. Pass a position in that range."
        )
    return label % n_fields


def _split(line: str, delimiter: str) -> list[str]:
    """Fields of a line; a delimiter between quotes is part of one."""
    fields: list[str] = []
    quoted = False
    for piece in line.split(delimiter):
        if quoted:
            fields[-1] += delimiter + piece
        else:
            fields.append(piece)
        quoted ^= piece.count('"') % 2 == 1
    return fields


def _unquoted(field: str) -> str:
    field = field.strip()
    if len(field) > 1 and field[0] == field[-1] == '"':
        field = field[1:-1].replace('""', '"').strip()
    return field


def _listed(columns: list[str]) -> str:
    more = ", ..." if len(columns) > 8 else ""
    return ", ".join(columns[:8]) + more


def _is_number(field: str) -> bool:
    token = field.encode()
    return token.lower() in MISSING - {b""} or as_number(token) is not None
