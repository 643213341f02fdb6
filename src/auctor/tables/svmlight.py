"""Svmlight (libsvm) text: ``label [qid:number] index:value ... [# comment]``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from auctor.core.errors import DataError, Option
from auctor.core.types import Array
from auctor.kernels.text import svmlight as kernels
from auctor.tables.blocks import Chunk
from auctor.tables.columns import as_number
from auctor.tables.options import CHUNK_ENTRIES, ReadOptions
from auctor.tables.source import Source, place, shown

#: The largest index that fits 64 bits with room for arithmetic.
MOST_COLUMNS = 1 << 62
_INT32 = np.iinfo(np.int32).max
_INDEX_ZERO = re.compile(rb"^[^#\n]*[ \t]0+:", re.MULTILINE)
_ENTRY = re.compile(rb"(?<=[ \t])(\d+):")

_COMPLAINTS = {
    kernels.NO_INDEX: "an index before a colon",
    kernels.NO_COLON: "a colon after the index",
    kernels.LOW_INDEX: "indices of at least {first_index}",
    kernels.HIGH_INDEX: "indices of at most {last_index}",
    kernels.NO_VALUE: "a number after the colon",
    kernels.NO_QUERY: "a whole number after qid:",
}
_CORRECT = "Correct the line, or pass {option} with the format of the file, such as csv."
_ADVICE = {
    kernels.LOW_INDEX: "Pass {option} if counting starts at 0.",
    kernels.HIGH_INDEX: "Pass a larger {option}, or none.",
}
#: The parameter that a piece of advice names.
_OPTIONS = {
    _ADVICE[kernels.LOW_INDEX]: Option("zero_based", True),
    _ADVICE[kernels.HIGH_INDEX]: Option("n_features"),
    _CORRECT: Option("format"),
}


@dataclass
class Indices:
    """What the files of a stream decide for those after them.

    Parameters
    ----------
    first_index : int, optional
        Where indices start, 0 or 1; ``None`` until the first block of text decides.
    width : int
        Columns seen so far.
    """

    first_index: int | None
    width: int = 0


def svmlight_chunks(
    source: Source, options: ReadOptions, indices: Indices | None = None
) -> Iterator[Chunk]:
    """Chunks of svmlight text; their width is the largest index so far, or ``n_features``."""
    indices = indices or Indices(options.first_index)
    rows = Rows(options, indices)
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
    """Where counting starts: at 0 if the text has an index 0."""
    may = b" 0" in text or b"\t0" in text  # much faster, and mostly all there is to do
    return 0 if may and _INDEX_ZERO.search(text) else 1


class Rows:
    """Rows of the chunk in progress, in arrays that are reused."""

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
        self.at = np.zeros(kernels.AT_SIZE, np.int64)
        n = self.most_rows
        self.labels, self.starts = np.empty(n), np.empty(n, np.int64)
        self.ascending = np.empty(n, np.bool_)
        self.indptr = np.zeros(n + 1, np.int64)
        self.indices, self.values = np.empty(0, np.int64), np.empty(0)
        self.late = np.empty((0, 3), np.int64)
        self.text = b""

    def reset(self) -> None:
        """Forget the rows so far."""
        self.at[:] = 0

    def start(self, text: bytes) -> None:
        """Go on with the next text."""
        self.text = text
        self.bytes: Array = np.frombuffer(text, np.uint8)
        self.at[kernels.POSITION] = 0
        if self.late.shape[0] < len(text) // 2 + 1:
            self.late = np.empty((len(text) // 2 + 1, 3), np.int64)

    def read(self, name: str, lines_before: int) -> bool:
        """Read on; whether the text is used up (a chunk may be full all the same)."""
        first = int(self.at[kernels.ROW])
        self._make_room()
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
        wrong = [*self._settle(), *self._complaint(n_columns)]
        if not self.ascending[first:stop].all():
            twice = kernels.sort_rows(
                self.indptr, self.indices, self.values, self.ascending, first, stop
            )
            if twice >= 0:
                where = self._second(int(self.starts[twice]))
                wrong.append((where, "every index once per line", _CORRECT))
        if wrong:
            self._refuse(*min(wrong), name, lines_before)
        return bool(self.at[kernels.POSITION] == len(self.text))

    def _settle(self) -> Iterator[tuple[int, str, str]]:
        """Read the numbers that were left over; the first token that is not a number is wrong."""
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

    def _complaint(self, n_columns: int) -> Iterator[tuple[int, str, str]]:
        """Why the rows end before the text does."""
        code = int(self.at[kernels.CODE])
        if code != kernels.FINE:
            start = self.known.first_index or 0
            wanted = _COMPLAINTS[code].format(first_index=start, last_index=n_columns - 1 + start)
            yield int(self.at[kernels.WHERE]), wanted, _ADVICE.get(code, _CORRECT)

    def chunk(self) -> Chunk:
        """The rows so far; the next ones start a new chunk."""
        n, entries = int(self.at[kernels.ROW]), int(self.at[kernels.ENTRY])
        self.known.width = max(self.known.width, int(self.at[kernels.WIDTH]), 1)
        width = self.options.n_features or self.known.width
        kind = np.int32 if max(width, entries) <= _INT32 else np.int64
        matrix = sparse.csr_array(
            (
                self.values[:entries].copy(),
                self.indices[:entries].astype(kind),
                self.indptr[: n + 1].astype(kind),
            ),
            shape=(n, width),
        )
        matrix.has_canonical_format = True
        self.at[kernels.ROW] = self.at[kernels.ENTRY] = 0
        return Chunk(matrix, self.labels[:n].copy(), first_index=self.known.first_index)

    def _make_room(self) -> None:
        """An entry takes four bytes of text: a digit, a colon, a digit and a space."""
        used = int(self.at[kernels.ENTRY])
        left = len(self.text) - int(self.at[kernels.POSITION])
        wanted = used + left // 4 + 1
        if self.indices.shape[0] < wanted:
            size = max(wanted, min(2 * self.indices.shape[0], CHUNK_ENTRIES))
            self.indices = _longer(self.indices, used, size)
            self.values = _longer(self.values, used, size)

    def _second(self, start: int) -> int:
        """Where a line says an index that it said before."""
        end = self.text.find(b"\n", start)
        seen: set[int] = set()
        for entry in _ENTRY.finditer(self.text, start, len(self.text) if end < 0 else end):
            index = int(entry[1])
            if index in seen:
                return entry.start()
            seen.add(index)
        return start

    def _refuse(self, where: int, wanted: str, advice: str, name: str, lines_before: int) -> None:
        token = re.compile(rb"[^\s#]*").match(self.text, where)
        got = shown(token[0] if token else b"")
        raise DataError(
            self.options.who,
            needs=wanted,
            got=f"{got} in {name}, {place(self.text, where, lines_before)}",
            todo=advice,
            option=_OPTIONS.get(advice, ()),
        )


def _longer(array: Array, used: int, size: int) -> Array:
    longer = np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer
