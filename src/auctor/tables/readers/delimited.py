"""CSV and TSV tables with a label column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array
from auctor.kernels.text import parsing as kernels
from auctor.tables.readers.base import Block, Settings, Source, shown
from auctor.tables.readers.columns import (
    LABEL_NAMES,
    as_number,
    check_names,
    check_width,
    find_label,
    is_missing,
    is_position,
    made_up,
    meaning,
)

_BLANK_LINES = re.compile(rb"(?:[ \t\r]*(?:\n|$))*")
_DELIMITERS = (",", "\t", ";")


class DelimitedFile:
    """A CSV or TSV file.

    Empty fields and the like are missing. Labels are numbers if the first one is, otherwise text; a
    label of the other kind is refused. A line end between quotes ends the line all the same.
    """

    def __init__(self, source: Source, settings: Settings) -> None:
        self.source, self.settings = source, settings
        self.names: tuple[str, ...] = ()
        self.label: str | None = None
        self.named = False
        self.word_columns: frozenset[int] = frozenset()
        self.floats: frozenset[int] = frozenset()
        self.surprises: set[int] = set()
        self.first_words: dict[int, str] = {}
        self.fields: list[str] = []
        self.label_field = -1
        self._fresh = True
        line = self._start()
        if line is not None:
            self._read_header(line)

    def blocks(self, kinds: Sequence[str], *, strict: bool = True) -> Iterator[Block]:
        """Rows from the first one on."""
        if not self._fresh:
            self.source.rewind()
            self._start()
        self._fresh = False
        self.surprises = set()
        if not self.fields:
            return
        rows = _Rows(self, kinds, strict)
        skipped = self._header_end if self.named else 0
        lines = self._lines + int(self.named)
        for text in chain((self._text[skipped:],), self._blocks):
            rows.start(text, lines)
            while not rows.read():
                yield rows.block()
            lines += text.count(b"\n")
        if rows.at[kernels.ROW]:
            yield rows.block()

    def field(self, k: int) -> str:
        """A column in words."""
        return f"column {k + 1} ({self.fields[k]})" if self.named else f"column {k + 1}"

    def decoded(self, token: bytes, line: Callable[[], int]) -> str:
        """A token as text; ``line`` counts its line if it must be refused."""
        try:
            text = token.decode()
        except UnicodeDecodeError:
            text = "\0"
        if "\0" in text:
            raise DataError(
                self.settings.who,
                needs="UTF-8 text",
                got=f"{shown(token)} in {self.source.name}, line {line()}",
                todo="Convert the file to UTF-8.",
            )
        return text

    def _start(self) -> bytes | None:
        """Go to the first line that is not blank, and return it."""
        self._blocks = self.source.blocks()
        self._text, self._lines = b"", 0
        for text in self._blocks:
            start = _BLANK_LINES.match(text).end()  # type: ignore[union-attr]
            self._lines += text.count(b"\n", 0, start)
            if start < len(text):
                self._text = text[start:]
                end = self._text.find(b"\n") + 1 or len(self._text)
                self._header_end = end
                return self._text[:end]
        return None

    def _read_header(self, first: bytes) -> None:
        settings = self.settings
        line = self.decoded(first, lambda: self._lines + 1)
        self.delimiter = settings.delimiter or max(_DELIMITERS, key=line.count)
        fields = [_unquoted(field) for field in split(line, self.delimiter)]
        header = settings.header
        if header is None:
            by_position = is_position(settings.label, len(fields))
            asked = set() if by_position else {settings.label} - {None}
            expected = {*LABEL_NAMES, *settings.known}
            named = bool(asked.difference(made_up(len(fields)))) or not expected.isdisjoint(fields)
            header = named or not any(map(_is_number, fields)) or self._names_numbers(fields)
        self.named = header
        if header:
            fields = check_names(self.source.name, fields, settings.who)
        names = fields if header else None
        if not header:
            fields = made_up(len(fields))
            if isinstance(settings.label, str) and settings.label in fields:
                names = fields
        label = find_label(self.source.name, names, settings, len(fields))
        self.fields = fields
        self.label_field = -1 if label is None else label
        self.label = None if label is None else fields[label]
        self.names = tuple(name for k, name in enumerate(fields) if k != label)
        check_width(self.source.name, len(self.names), settings)

    def _names_numbers(self, fields: list[str]) -> bool:
        """Whether the first line has a word above a number of the second."""
        while not self._text[self._header_end :].strip() and (more := next(self._blocks, None)):
            self._text += more
        second = self._text[self._header_end :].lstrip(b"\r\n ").partition(b"\n")[0]
        below = map(_unquoted, split(second.decode("utf-8", "replace"), self.delimiter))
        return any(
            field and not _is_number(field) and not is_missing(under) and _is_number(under)
            for field, under in zip(fields, below, strict=False)
        )


class _Rows:
    """Rows of the block in progress, in arrays that are reused."""

    def __init__(self, file: DelimitedFile, kinds: Sequence[str], strict: bool) -> None:
        self.file, self.strict = file, strict
        self.roles = np.empty(len(file.fields), np.int64)
        self.columns = np.empty(len(file.fields), np.int64)
        numbers = words = column = 0
        for k in range(len(file.fields)):
            self.columns[k] = column
            if k == file.label_field:
                self.roles[k] = kernels.LABEL
                continue
            kind = kinds[column]
            column += 1
            if kind == "number":
                self.roles[k] = numbers
                numbers += 1
            elif kind == "category":
                self.roles[k] = kernels.WORD - words
                words += 1
            else:
                self.roles[k] = kernels.SKIP
        n = self.most_rows = file.settings.most_rows(len(file.fields))
        self.numbers = np.empty((n, numbers))
        self.codes = np.empty((n, words), np.int32)
        self.spans = np.empty((n, words, 2), np.int64)
        self.first = np.empty(n, np.int64)
        self.slots = np.empty(1 << (2 * n).bit_length(), np.int64) if words else self.first
        self.words: list[dict[str, int]] = [{} for _ in range(words)]
        self.labels, self.starts = np.empty(n), np.empty(n, np.int64)
        self.label_words: dict[int, str] = {}
        self.labels_are_text: bool | None = None
        self.missing_label = ""  # the first one, and where it is
        self.late = np.empty((0, 4), np.int64)
        self.at = np.zeros(kernels.AT_SIZE, np.int64)

    def start(self, text: bytes, lines_before: int) -> None:
        self.text, self.lines_before = text, lines_before
        self.bytes: Array = np.frombuffer(text, np.uint8)
        self.at[kernels.POSITION] = 0
        if self.late.shape[0] < len(text) // 2 + 1:
            self.late = np.empty((len(text) // 2 + 1, 4), np.int64)

    def read(self) -> bool:
        """Read on; whether the text is used up (a block may be full all the same)."""
        first = int(self.at[kernels.ROW])
        kernels.table_rows(
            self.bytes,
            ord(self.file.delimiter),
            self.roles,
            self.most_rows,
            self.numbers,
            self.labels,
            self.spans,
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
            for k in range(len(self.words)):
                self._number_words(k, first, stop)
            if self.file.label is not None:
                self._check_labels(first, stop)
        return bool(self.at[kernels.POSITION] == len(self.text))

    def block(self) -> Block:
        """The rows so far; the next ones start a new block."""
        n = int(self.at[kernels.ROW])
        labels: Array | None = None
        if self.labels_are_text:
            labels = np.array([self.label_words[i] for i in range(n)])
        elif self.file.label is not None:
            labels = self.labels[:n].copy()
        words = [list(known) for known in self.words]
        self.words = [{} for _ in words]
        self.label_words.clear()
        self.at[kernels.ROW] = 0
        return Block(self.numbers[:n].copy(), self.codes[:n].copy(), words, labels)

    def _settle(self, row: int, field: int, begin: int, end: int) -> None:
        """Give a field that is no plain number its meaning."""
        column = int(self.columns[field])
        if column in self.file.surprises and field != self.file.label_field:
            return
        word = self._word(begin, end)
        number = meaning(word)
        if field == self.file.label_field:
            if number is None:
                self.label_words[row] = word
            else:
                self.labels[row] = number
        elif number is not None:
            self.numbers[row, self.roles[field]] = number
        elif self.strict:
            raise DataError(
                self.file.settings.who,
                needs=f"numbers in {self.file.field(field)}",
                got=f"{shown(word.encode())} in {self._place(begin)}",
                todo="Encode text as numbers first.",
            )
        else:
            self.file.surprises.add(column)
            found = f"{shown(word.encode())} in line {self._line(begin)}"
            self.file.first_words.setdefault(column, found)

    def _number_words(self, k: int, first: int, stop: int) -> None:
        """Number the words of one column of the rows that were just read."""
        codes = self.codes[first:stop, k]
        spans = self.spans[first:stop, k]
        found = kernels.distinct_words(self.bytes, spans, self.slots, codes, self.first)
        numbers = np.empty(found, np.int32)
        known = self.words[k]
        for i, row in enumerate(self.first[:found].tolist()):
            begin, end = spans[row].tolist()
            word = self._word(begin, end)
            numbers[i] = -1 if is_missing(word) else known.setdefault(word, len(known))
        codes[:] = numbers[codes]

    def _check_labels(self, first: int, stop: int) -> None:
        """Labels are all numbers or all text, as the first one was; no text is missing."""
        words = self.label_words
        if self.labels_are_text is None:
            known = (i for i in range(first, stop) if i in words or not np.isnan(self.labels[i]))
            decides = next(known, None)
            self.labels_are_text = None if decides is None else decides in words
        if self.labels_are_text is False:
            wrong = min(words, default=None)
        else:
            wrong = next((i for i in range(first, stop) if i not in words), None)
            if wrong is not None and np.isnan(self.labels[wrong]) and not self.missing_label:
                self.missing_label = self._missing_label(int(self.starts[wrong]))
            if self.labels_are_text and self.missing_label:
                raise DataError(
                    self.file.settings.who,
                    needs="a label in every row",
                    got=f"{self.missing_label} (read as missing)",
                    todo="Write another word, or drop such rows.",
                )
        if wrong is None or self.labels_are_text is None:
            return
        got = words.get(wrong, f"{self.labels[wrong]:g}")
        wanted = "text" if self.labels_are_text else "numbers"
        raise DataError(
            self.file.settings.who,
            needs=f"labels of one type, {wanted} as the first one",
            got=f"{got!r} in {self._place(int(self.starts[wrong]))}",
            todo="Encode the labels the same way throughout.",
        )

    def _missing_label(self, start: int) -> str:
        line = self.text[start:].partition(b"\n")[0].decode("utf-8", "replace")
        word = _unquoted(split(line, self.file.delimiter)[self.file.label_field])
        return f"{word!r} in {self._place(start)}"

    def _refuse_ragged(self, where: int) -> None:
        line = self._line(where)
        start = self.text.rfind(b"\n", 0, where) + 1
        end = self.text.find(b"\n", start)
        words = self.text[start : len(self.text) if end < 0 else end].decode("utf-8", "replace")
        found = len(split(words, self.file.delimiter))
        raise DataError(
            self.file.settings.who,
            needs=f"{len(self.file.fields)} fields in each line",
            got=(f"{found} in {self.file.source.name}, line {line}, column {where - start + 1}"),
            todo="Correct the line or the delimiter.",
        )

    def _word(self, begin: int, end: int) -> str:
        return _unquoted(self.file.decoded(self.text[begin:end], lambda: self._line(begin)))

    def _place(self, where: int) -> str:
        return f"{self.file.source.name}, line {self._line(where)}"

    def _line(self, where: int) -> int:
        return self.lines_before + self.text.count(b"\n", 0, where) + 1


def split(line: str, delimiter: str) -> list[str]:
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


def _is_number(field: str) -> bool:
    return (bool(field) and is_missing(field)) or as_number(field.encode()) is not None
