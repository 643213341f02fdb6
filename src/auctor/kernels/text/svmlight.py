"""Reading of svmlight text into compressed rows."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.text.ascii import (
    COLON,
    HASH,
    MINUS,
    NEWLINE,
    NINE,
    RETURN,
    SMALL_D,
    SMALL_I,
    SMALL_Q,
    SPACE,
    TAB,
    ZERO,
)
from auctor.kernels.text.numbers import read_number

# Positions in the state vector ``at``, with which a call continues where the last one stopped.
#: The next byte.
POSITION = 0
#: Rows of the chunk so far.
ROW = 1
#: Entries of the chunk so far.
ENTRY = 2
#: Largest column so far, counted from one.
LAST_COLUMN = 3
#: Numbers that are left to the caller to parse.
LATE = 4
#: Why the reader stopped: one of the codes below.
CODE = 5
#: The byte at which it stopped.
WHERE = 6
#: Length of the state vector.
AT_SIZE = 7

# Codes for why a reader stopped before the end of the text.
#: It did not stop early.
FINE = 0
#: No whole number before a colon.
NO_INDEX = 1
#: No colon after an index.
NO_COLON = 2
#: An index below the first.
LOW_INDEX = 3
#: An index above the last.
HIGH_INDEX = 4
#: No number after the colon.
NO_VALUE = 5
#: No whole number after ``qid:``.
NO_QUERY = 6

#: Digits of an index that always fit in 63 bits.
_INDEX_DIGITS = 18


@kernel
def _is_blank(byte: int) -> bool:
    return (byte == SPACE) | (byte == TAB) | (byte == RETURN)


@kernel
def _skip_blanks(text: Array, at: int, stop: int) -> int:
    while at < stop and _is_blank(text[at]):
        at += 1
    return at


@kernel
def _ends_token(text: Array, at: int, stop: int) -> bool:
    return at == stop or text[at] == HASH or text[at] <= SPACE


@kernel
def _token_end(text: Array, at: int, stop: int) -> int:
    while not _ends_token(text, at, stop):
        at += 1
    return at


@kernel
def svmlight_rows(
    text: Array,
    first_index: int,
    n_columns: int,
    most_rows: int,
    most_entries: int,
    labels: FloatArray,
    indptr: IntArray,
    indices: IntArray,
    values: FloatArray,
    starts: IntArray,
    sorted_rows: Array,
    late: IntArray,
    at: IntArray,
) -> None:
    """Read whole lines ``label [qid:number] index:value ... [# comment]`` into compressed rows.

    Continues from the state ``at`` and stops at the end of the text, after ``most_rows`` rows or
    ``most_entries`` entries, or at the first error. ``late`` lists the numbers left to the caller:
    entry (for a label: minus one minus the row), first byte and end. ``starts`` gets the first
    byte of each row, and ``sorted_rows`` whether its indices are in ascending order.
    """
    stop = text.shape[0]
    position, row, entry, width = at[POSITION], at[ROW], at[ENTRY], at[LAST_COLUMN]
    scratch = np.zeros(1, np.uint64)
    n_late = 0
    code = FINE
    begin = position
    while row < most_rows and entry < most_entries:
        # Blank lines and comment lines.
        position = _skip_blanks(text, position, stop)
        if position == stop:
            break
        if text[position] == HASH:
            while position < stop and text[position] != NEWLINE:
                position += 1
            continue
        if text[position] == NEWLINE:
            position += 1
            continue
        # The label.
        starts[row] = position
        value, after, known = read_number(text, position, stop, scratch)
        labels[row] = value
        if not (known and _ends_token(text, after, stop)):
            after = _token_end(text, position, stop)
            late[n_late, 0], late[n_late, 1], late[n_late, 2] = -1 - row, position, after
            n_late += 1
        position = _skip_blanks(text, after, stop)
        # The query number, which is checked and ignored.
        if (
            position + 4 < stop
            and text[position] == SMALL_Q
            and text[position + 1] == SMALL_I
            and text[position + 2] == SMALL_D
            and text[position + 3] == COLON
        ):
            begin = position
            position += 4
            while position < stop and ZERO <= text[position] <= NINE:
                position += 1
            if position == begin + 4 or not _ends_token(text, position, stop):
                code = NO_QUERY
                break
            position = _skip_blanks(text, position, stop)
        # The entries, up to the end of the line or a comment.
        previous = -1
        ascending = True
        while position < stop and text[position] != NEWLINE and text[position] != HASH:
            # index <- 10 index + digit
            begin = position
            index = 0
            while position < stop and ZERO <= text[position] <= NINE:
                index = index * 10 + (text[position] - ZERO)
                position += 1
            if position == begin:
                code = LOW_INDEX if text[begin] == MINUS else NO_INDEX
                break
            if position == stop or text[position] != COLON:
                code = NO_COLON
                break
            # Columns of the matrix count from zero.
            index -= first_index
            if position - begin > _INDEX_DIGITS or index >= n_columns:
                code = HIGH_INDEX
                break
            if index < 0:
                code = LOW_INDEX
                break
            position += 1
            # A value that `read_number` does not settle, such as 'nan' or 20 digits, goes to the
            # caller.
            value, after, known = read_number(text, position, stop, scratch)
            if not (known and _ends_token(text, after, stop)):
                after = _token_end(text, position, stop)
                if after == position:
                    code = NO_VALUE
                    break
                late[n_late, 0], late[n_late, 1], late[n_late, 2] = entry, position, after
                n_late += 1
            indices[entry] = index
            values[entry] = value
            entry += 1
            ascending = ascending and index > previous
            previous = index
            width = max(width, index + 1)
            position = _skip_blanks(text, after, stop)
        if code != FINE:
            break
        sorted_rows[row] = ascending
        row += 1
        indptr[row] = entry
    at[POSITION], at[ROW], at[ENTRY], at[LAST_COLUMN] = position, row, entry, width
    at[LATE], at[CODE], at[WHERE] = n_late, code, begin


@kernel
def sort_rows(
    indptr: IntArray,
    indices: IntArray,
    values: FloatArray,
    sorted_rows: Array,
    first: int,
    stop: int,
) -> int:
    """Sort the indices within each row; return the first row with a repeated index, or -1."""
    for i in range(first, stop):
        if sorted_rows[i]:
            continue
        a, b = indptr[i], indptr[i + 1]
        order = np.argsort(indices[a:b])
        indices[a:b] = indices[a:b][order]
        values[a:b] = values[a:b][order]
        for k in range(a + 1, b):
            if indices[k] == indices[k - 1]:
                return i
    return -1
