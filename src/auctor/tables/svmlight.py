"""Svmlight (libsvm) text: ``label [qid:number] index:value ... [# comment]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array
from auctor.data.matrices import join_compressed
from auctor.kernels.text import svmlight as kernels
from auctor.tables.blocks import INT32_MAX, Chunk
from auctor.tables.columns import EXACT_LABELS, as_number, long_labels
from auctor.tables.options import CHUNK_ENTRIES, ReadOptions, reading_option
from auctor.tables.source import Source, place, shown

#: Largest number of columns: their indices have at most 18 digits, which always fit in 63 bits.
MOST_COLUMNS = 10**18 - 1
_INDEX_ZERO = re.compile(rb"^[^#\n]*[ \t]0+:", re.MULTILINE)
_ENTRY = re.compile(rb"(?<=[ \t])(\d+):")

#: What a line needs, by the error code of the parser.
_NEEDS = {
    kernels.NO_INDEX: "an index before a colon",
    kernels.NO_COLON: "a colon after the index",
    kernels.LOW_INDEX: "indices of at least {first_index}",
    kernels.HIGH_INDEX: "indices of at most {last_index}",
    kernels.NO_VALUE: "a number after the colon",
    kernels.NO_QUERY: "a whole number after qid:",
}
_CORRECT = "Correct the line, or pass {option} with the format of the file, such as csv."
_RENAME = "Number the classes from 0."
_ADVICE = {
    kernels.LOW_INDEX: "Pass {option} if counting starts at 0.",
    kernels.HIGH_INDEX: "Pass a larger {option}, or none.",
}
#: The parameter that a piece of advice names.
_OPTIONS = {
    _ADVICE[kernels.LOW_INDEX]: reading_option("zero_based", True),
    _ADVICE[kernels.HIGH_INDEX]: reading_option("n_features"),
    _CORRECT: reading_option("format"),
}


@dataclass
class Indices:
    """The first index and the number of columns, which the files of a stream share.

    Parameters
    ----------
    first_index : int, optional
        First index, 0 or 1; None until the first block of text is read.
    width : int
        Largest number of columns so far.
    """

    first_index: int | None
    width: int = 0


def svmlight_chunks(
    source: Source, options: ReadOptions, indices: Indices | None = None
) -> Iterator[Chunk]:
    """Chunks of svmlight text; their width is the largest index so far, or ``n_features``."""
    indices = indices or Indices(options.first_index)
    rows = SvmlightParser(options, indices)
    lines_before = 0
    undecided = indices.first_index is None
    for text in source.blocks(whole_first=undecided):
        if indices.first_index is None:
            indices.first_index = first_index(text)
        rows.start(text)
        while not rows.read(source.name, lines_before):
            yield rows.chunk()
        lines_before += text.count(b"\n")
    if rows.at[kernels.ROW]:
        yield rows.chunk()


def first_index(text: bytes) -> int:
    """The first index: 0 if the text has an index 0, otherwise 1."""
    possible = b" 0" in text or b"\t0" in text  # a quick test that rules out most files
    return 0 if possible and _INDEX_ZERO.search(text) else 1


class SvmlightParser:
    """Parses svmlight text into arrays that are reused from chunk to chunk.

    Parameters
    ----------
    most_rows, most_entries : int, optional
        Rows and entries after which a chunk is full; by default those of the options.
    """

    def __init__(
        self,
        options: ReadOptions,
        indices: Indices,
        most_rows: int | None = None,
        most_entries: int | None = None,
    ) -> None:
        self.options, self.known = options, indices
        self.most_rows = most_rows or options.chunk_rows
        self.most_entries = most_entries or CHUNK_ENTRIES
        self.at = np.zeros(kernels.AT_SIZE, np.int64)  # state of the parser: position, row, ...
        n = self.most_rows
        self.labels, self.starts = np.empty(n), np.empty(n, np.int64)
        self.ascending = np.empty(n, np.bool_)
        self.indptr = np.zeros(n + 1, np.int64)
        self.indices, self.values = np.empty(0, np.int64), np.empty(0)
        # Numbers that the kernel leaves to Python: place of the value, and the bytes of the token.
        self.late = np.empty((0, 3), np.int64)
        self.text = b""

    def reset(self) -> None:
        """Drop the rows so far."""
        self.at[:] = 0

    def start(self, text: bytes) -> None:
        """Set the next text to parse."""
        self.text = text
        self.bytes: Array = np.frombuffer(text, np.uint8)
        self.at[kernels.POSITION] = 0
        if self.late.shape[0] < len(text) // 2 + 1:
            self.late = np.empty((len(text) // 2 + 1, 3), np.int64)

    def read(self, name: str, lines_before: int) -> bool:
        """Parse until the text ends or the chunk is full; returns whether the text has ended.

        The first error in the text is raised, with its line and column.
        """
        first = int(self.at[kernels.ROW])
        self._reserve()
        first_index = self.known.first_index or 0
        n_columns = self.options.n_features or MOST_COLUMNS
        kernels.svmlight_rows(
            self.bytes,
            first_index,
            n_columns,
            self.most_rows,
            self.most_entries,
            self.labels,
            self.indptr,
            self.indices,
            self.values,
            self.starts,
            self.ascending,
            self.late,
            self.at,
        )
        stop = int(self.at[kernels.ROW])
        errors = [*self._read_late(), *self._parser_error(n_columns)]
        long = long_labels(self.labels[first:stop])
        if long.size and self.options.labelled:
            errors.append((int(self.starts[first + long[0]]), EXACT_LABELS, _RENAME))
        if not self.ascending[first:stop].all():
            twice = kernels.sort_rows(
                self.indptr, self.indices, self.values, self.ascending, first, stop
            )
            if twice >= 0:
                where = self._repeated(int(self.starts[twice]))
                errors.append((where, "every index once per line", _CORRECT))
        if errors:  # positions come first: the smallest is the first in the text
            self._refuse(*min(errors), name, lines_before)
        return bool(self.at[kernels.POSITION] == len(self.text))

    def _read_late(self) -> Iterator[tuple[int, str, str]]:
        """Read the numbers that the kernel left to Python; gives the first error, if there is one.

        An error is its position, what is needed there, and advice.
        """
        for slot, begin, end in self.late[: self.at[kernels.LATE]].tolist():
            number = as_number(self.text[begin:end])
            if number is None:
                wanted = "a number as label" if slot < 0 else "a number after the colon"
                yield begin, wanted, _CORRECT
                return
            if slot < 0:
                self.labels[-1 - slot] = number
            else:
                self.values[slot] = number

    def _parser_error(self, n_columns: int) -> Iterator[tuple[int, str, str]]:
        """The error at which the kernel stopped, if there is one, as in `_read_late`."""
        code = int(self.at[kernels.CODE])
        if code != kernels.FINE:
            start = self.known.first_index or 0
            wanted = _NEEDS[code].format(first_index=start, last_index=n_columns - 1 + start)
            limited = code != kernels.HIGH_INDEX or self.options.n_features is not None
            advice = _ADVICE.get(code, _CORRECT) if limited else _CORRECT
            yield int(self.at[kernels.WHERE]), wanted, advice

    def chunk(self) -> Chunk:
        """A chunk with a copy of the rows so far, which are then dropped."""
        n, entries = int(self.at[kernels.ROW]), int(self.at[kernels.ENTRY])
        self.known.width = max(self.known.width, int(self.at[kernels.LAST_COLUMN]), 1)
        width = self.options.n_features or self.known.width
        kind = np.int32 if max(width, entries) <= INT32_MAX else np.int64
        matrix = join_compressed(
            self.values[:entries].copy(),
            self.indices[:entries].astype(kind),
            self.indptr[: n + 1].astype(kind),
            (n, width),
        )
        matrix.has_canonical_format = True
        self.at[kernels.ROW] = self.at[kernels.ENTRY] = 0
        return Chunk(matrix, self.labels[:n].copy(), first_index=self.known.first_index)

    def _reserve(self) -> None:
        """Enlarge the arrays for the rest of the text: an entry such as "1:2 " has four bytes."""
        used = int(self.at[kernels.ENTRY])
        left = len(self.text) - int(self.at[kernels.POSITION])
        wanted = used + left // 4 + 1
        if self.indices.shape[0] < wanted:
            size = max(wanted, min(2 * self.indices.shape[0], CHUNK_ENTRIES))
            self.indices = _longer(self.indices, used, size)
            self.values = _longer(self.values, used, size)

    def _repeated(self, start: int) -> int:
        """Position of the first index that occurs twice in a line."""
        end = self.text.find(b"\n", start)
        seen: set[int] = set()
        for entry in _ENTRY.finditer(self.text, start, len(self.text) if end < 0 else end):
            index = int(entry[1])
            if index in seen:
                return entry.start()
            seen.add(index)
        return start

    def _refuse(self, where: int, wanted: str, advice: str, name: str, lines_before: int) -> None:
        """Raise an error about the token at a position."""
        token = re.compile(rb"[^\s#]*").match(self.text, where)
        got = shown(token[0] if token else b"")
        raise DataError(
            wanted,
            got=f"{got} in {name}, {place(self.text, where, lines_before)}",
            todo=advice,
            option=_OPTIONS.get(advice, ()),
        )


def _longer(array: Array, used: int, size: int) -> Array:
    """A copy of the first ``used`` entries of an array with ``size`` entries."""
    longer = np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer
