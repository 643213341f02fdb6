"""Where the records of delimited text begin; what they hold is parsed by a library."""

from __future__ import annotations

from auctor.core.types import Array, IntArray
from auctor.kernels.runtime.compiled import kernel

#: Bytes with a meaning.
_NEWLINE = 10
_QUOTE = 34


@kernel
def record_starts(text: Array, delimiter: int, starts: IntArray) -> int:
    """First byte of every record, and of what follows the last one; returns their number.

    A line end between quotes does not end a record. Quotes open at the start of a field only, and
    two of them within quotes stand for one. ``starts`` needs room for one more than the line ends.
    """
    starts[0] = 0
    count = 1
    field_start = True
    quoted = False
    for at in range(text.shape[0]):
        byte = text[at]
        if quoted:
            # A quote within quotes closes them; a second one opens them again.
            if byte == _QUOTE:
                quoted = False
                field_start = at + 1 < text.shape[0] and text[at + 1] == _QUOTE
        elif byte == _QUOTE and field_start:
            quoted = True
            field_start = False
        elif byte == _NEWLINE:
            starts[count] = at + 1
            count += 1
            field_start = True
        else:
            field_start = byte == delimiter
    return count
