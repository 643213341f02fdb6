"""Positions at which the records of delimited text begin; a library parses the records."""

from __future__ import annotations

from auctor.core.types import Array, IntArray
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.text.ascii import NEWLINE, QUOTE, RETURN


@kernel
def record_starts(text: Array, delimiter: int, starts: IntArray) -> int:
    """Write the first byte of every record and of the rest after the last; return their number.

    A line ends with a line feed, or with a carriage return that no line feed follows. Between
    quotes it does not end a record. Quotes open only at the start of a field, and two of them
    within quotes stand for one. ``starts`` needs room for one more than there are such characters.
    """
    starts[0] = 0
    count = 1
    field_start = True
    quoted = False
    last = text.shape[0] - 1
    for at in range(text.shape[0]):
        byte = text[at]
        if quoted:
            # A quote within quotes closes them; a second one opens them again.
            if byte == QUOTE:
                quoted = False
                field_start = at + 1 < text.shape[0] and text[at + 1] == QUOTE
        elif byte == QUOTE and field_start:
            quoted = True
            field_start = False
        elif byte == NEWLINE or (byte == RETURN and text[min(at + 1, last)] != NEWLINE):
            starts[count] = at + 1
            count += 1
            field_start = True
        else:
            field_start = byte == delimiter
    return count
