"""Reading numbers and words from bytes: svmlight lines and delimited tables.

A decimal number becomes the nearest double. Up to 2^53 and 10^22 one product or quotient is exact;
beyond that the leading 128 bits of the power of five decide (Lemire, doi:10.1002/spe.2984). What is
neither is left to the caller, who gets the place of the token.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel

#: Places in the array ``at`` that a reader goes on from, and leaves where it stopped.
POSITION, ROW, ENTRY, WIDTH, LATE, CODE, WHERE = range(7)
AT_SIZE = 7

#: Why a reader stopped before the end.
FINE, NO_INDEX, NO_COLON, LOW_INDEX, HIGH_INDEX, NO_VALUE, NO_QUERY, RAGGED = range(8)

#: What a field of a table is, besides a number: column c of words is ``WORD - c``.
LABEL, SKIP, WORD = -1, -2, -3

_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE, _HASH, _COLON = 9, 10, 13, 32, 34, 35, 58
_PLUS, _MINUS, _DOT, _NINE, _ZERO = 43, 45, 46, 57, 48
#: More digits than this overflow 64 bits.
_DIGITS = 19
_INDEX_DIGITS = 18

_TENS = 10.0 ** np.arange(23)
_LOWEST, _HIGHEST = -342, 308
_ONE = np.uint64(1)
_TEN = np.uint64(10)
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOP = np.uint64(63)
_SPARE = np.uint64(9)  # of the 64 leading bits, 55 make the mantissa, the rounding bit and a guard
_SPARE_BITS = np.uint64((1 << 9) - 1)
_MANTISSA = np.uint64(52)
_EXACT = np.uint64(1 << 53)
_HASH_START = np.uint64(14695981039346656037)
_HASH_FACTOR = np.uint64(1099511628211)


def _powers_of_five() -> Array:
    """Leading 128 bits of the powers of five from `_LOWEST` to `_HIGHEST`, as two words each."""
    words = np.empty((_HIGHEST - _LOWEST + 1, 2), np.uint64)
    for q in range(_LOWEST, _HIGHEST + 1):
        power = 5 ** abs(q)
        if q >= 0:
            shift = power.bit_length() - 128
            bits = power >> shift if shift > 0 else power << -shift
        else:
            # Divisors below 2^64 can divide a mantissa: rounded up, such a product comes out exact.
            bits = (1 << ((power - 1).bit_length() + 127)) // power + int(q >= -27)
        words[q - _LOWEST] = bits >> 64, bits & 0xFFFFFFFFFFFFFFFF
    return words


_FIVES = _powers_of_five()


@kernel
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """High and low word of ``a * b``."""
    a_low, a_high = a & _LOW_HALF, a >> _HALF
    b_low, b_high = b & _LOW_HALF, b >> _HALF
    low = a_low * b_low
    middle = a_high * b_low + (low >> _HALF)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF), a * b


@kernel
def _leading_zeros(x: np.uint64) -> np.uint64:
    """Zero bits above the highest one of a positive number."""
    zeros = np.uint64(0)
    step = np.uint64(32)
    while step:
        if not x >> (np.uint64(64) - step):
            zeros += step
            x <<= step
        step >>= _ONE
    return zeros


@kernel
def scaled(mantissa: np.uint64, power: int) -> tuple[np.uint64, bool]:
    """Bits of the double nearest to ``mantissa * 10**power``, and whether they are certain."""
    none = np.uint64(0)
    if mantissa == none:
        return none, True
    if power < _LOWEST or power > _HIGHEST:
        return none, False
    zeros = _leading_zeros(mantissa)
    w = mantissa << zeros
    high, low = _product(w, _FIVES[power - _LOWEST, 0])
    if high & _SPARE_BITS == _SPARE_BITS:
        more, _ = _product(w, _FIVES[power - _LOWEST, 1])
        low += more
        if low < more:
            high += _ONE
    if low == _ALL and (power < -27 or power > 55):
        return none, False
    upper = high >> _TOP
    bits = high >> (upper + _SPARE)
    binary = ((217706 * power) >> 16) + 63 + np.int64(upper) - np.int64(zeros) + 1023
    if binary <= 0 or binary >= 2046:
        return none, False
    # Exactly between two doubles: the even one.
    if low <= _ONE and -4 <= power <= 23 and bits & np.uint64(3) == _ONE:  # noqa: SIM102
        if bits << (upper + _SPARE) == high:
            bits &= ~_ONE
    bits = (bits + (bits & _ONE)) >> _ONE
    if bits >> (_MANTISSA + _ONE):
        bits >>= _ONE
        binary += 1
    bits &= ~(_ONE << _MANTISSA)
    return bits | (np.uint64(binary) << _MANTISSA), True


@kernel
def read_number(text: Array, at: int, stop: int, scratch: Array) -> tuple[float, int, bool]:
    """Number that starts at a byte, the byte after it, and whether it is one that was read.

    ``scratch`` is one 64-bit word.
    """
    sign = 1.0
    if at < stop and (text[at] == _MINUS or text[at] == _PLUS):
        if text[at] == _MINUS:
            sign = -1.0
        at += 1
    begin = at
    mantissa = np.uint64(0)
    while at < stop and _ZERO <= text[at] <= _NINE:
        mantissa = mantissa * _TEN + np.uint64(text[at] - _ZERO)
        at += 1
    digits = at - begin
    power = 0
    if at < stop and text[at] == _DOT:
        at += 1
        first = at
        while at < stop and _ZERO <= text[at] <= _NINE:
            mantissa = mantissa * _TEN + np.uint64(text[at] - _ZERO)
            at += 1
        power = first - at
        digits -= power
    if digits == 0:
        return 0.0, at, False
    if digits > _DIGITS:
        k = begin
        while k < at and (text[k] == _ZERO or text[k] == _DOT):
            digits -= text[k] == _ZERO
            k += 1
        if digits > _DIGITS:
            return 0.0, at, False
    if at < stop and (text[at] == 101 or text[at] == 69):  # e, E
        at += 1
        down = at < stop and text[at] == _MINUS
        if at < stop and (text[at] == _MINUS or text[at] == _PLUS):
            at += 1
        first = at
        exponent = 0
        while at < stop and _ZERO <= text[at] <= _NINE and at - first < 5:
            exponent = exponent * 10 + (text[at] - _ZERO)
            at += 1
        if at == first:
            return 0.0, at, False
        power += -exponent if down else exponent
    if mantissa <= _EXACT and -22 <= power <= 22:
        value = float(np.int64(mantissa))
        value = value * _TENS[power] if power >= 0 else value / _TENS[-power]
        return sign * value, at, True
    bits, certain = scaled(mantissa, power)
    scratch[0] = bits
    return sign * scratch.view(np.float64)[0], at, certain


@kernel
def _is_blank(byte: int) -> bool:
    return (byte == _SPACE) | (byte == _TAB) | (byte == _RETURN)


@kernel
def _skip_blanks(text: Array, at: int, stop: int) -> int:
    while at < stop and _is_blank(text[at]):
        at += 1
    return at


@kernel
def _ends_token(text: Array, at: int, stop: int) -> bool:
    return at == stop or text[at] == _HASH or text[at] <= _SPACE


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

    Goes on from ``at`` and stops at the end, after enough rows or entries, or at what it cannot
    read. ``late`` gets, for numbers it leaves to the caller, the entry (a label: minus one minus
    the row), first byte and end. ``starts`` gets the first byte of each row, and ``sorted_rows``
    whether its indices ascend.
    """
    stop = text.shape[0]
    position, row, entry, width = at[POSITION], at[ROW], at[ENTRY], at[WIDTH]
    scratch = np.zeros(1, np.uint64)
    n_late = 0
    code = FINE
    begin = position
    while row < most_rows and entry < most_entries:
        position = _skip_blanks(text, position, stop)
        if position == stop:
            break
        if text[position] == _HASH:
            while position < stop and text[position] != _NEWLINE:
                position += 1
            continue
        if text[position] == _NEWLINE:
            position += 1
            continue
        starts[row] = position
        value, after, known = read_number(text, position, stop, scratch)
        labels[row] = value
        if not (known and _ends_token(text, after, stop)):
            after = _token_end(text, position, stop)
            late[n_late, 0], late[n_late, 1], late[n_late, 2] = -1 - row, position, after
            n_late += 1
        position = _skip_blanks(text, after, stop)
        if (
            position + 4 < stop
            and text[position] == 113  # qid:
            and text[position + 1] == 105
            and text[position + 2] == 100
            and text[position + 3] == _COLON
        ):
            begin = position
            position += 4
            while position < stop and _ZERO <= text[position] <= _NINE:
                position += 1
            if position == begin + 4 or not _ends_token(text, position, stop):
                code = NO_QUERY
                break
            position = _skip_blanks(text, position, stop)
        previous = -1
        ascending = True
        while position < stop and text[position] != _NEWLINE and text[position] != _HASH:
            begin = position
            index = 0
            while position < stop and _ZERO <= text[position] <= _NINE:
                index = index * 10 + (text[position] - _ZERO)
                position += 1
            if position == begin:
                code = LOW_INDEX if text[begin] == _MINUS else NO_INDEX
                break
            if position == stop or text[position] != _COLON:
                code = NO_COLON
                break
            index -= first_index
            if position - begin > _INDEX_DIGITS or index >= n_columns:
                code = HIGH_INDEX
                break
            if index < 0:
                code = LOW_INDEX
                break
            position += 1
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
    at[POSITION], at[ROW], at[ENTRY], at[WIDTH] = position, row, entry, width
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
    """Put the indices of each row in order; returns the first row that has one twice, or -1."""
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


@kernel
def _field_end(text: Array, at: int, stop: int, delimiter: int) -> int:
    """End of a field; a delimiter between quotes is part of it, a line end is not."""
    quoted = False
    while at < stop and text[at] != _NEWLINE:
        if text[at] == _QUOTE:
            quoted = not quoted
        elif text[at] == delimiter and not quoted:
            break
        at += 1
    return at


@kernel
def _skip_spaces(text: Array, at: int, stop: int, delimiter: int) -> int:
    while at < stop and _is_blank(text[at]) and text[at] != delimiter:
        at += 1
    return at


@kernel
def table_rows(
    text: Array,
    delimiter: int,
    roles: IntArray,
    most_rows: int,
    numbers: FloatArray,
    labels: FloatArray,
    spans: IntArray,
    starts: IntArray,
    late: IntArray,
    at: IntArray,
) -> None:
    """Read whole lines of fields between delimiters.

    ``roles`` says of each field: the column of ``numbers`` that it goes to, `LABEL`, `SKIP`, or
    ``WORD - c`` for words, whose first byte and end go to ``spans[row, c]``. Empty numbers become
    NaN. ``late`` gets, for fields left to the caller, the row, field, first byte and end;
    ``starts`` gets the first byte of each row.
    """
    stop = text.shape[0]
    n_fields = roles.shape[0]
    position, row = at[POSITION], at[ROW]
    scratch = np.zeros(1, np.uint64)
    n_late = 0
    code = FINE
    while row < most_rows and code == FINE:
        position = _skip_spaces(text, position, stop, delimiter)
        if position == stop:
            break
        if text[position] == _NEWLINE:
            position += 1
            continue
        starts[row] = position
        for field in range(n_fields):
            role = roles[field]
            begin = _skip_spaces(text, position, stop, delimiter)
            if role <= SKIP:
                after = _field_end(text, begin, stop, delimiter)
                if role <= WORD:
                    end = after
                    while end > begin and _is_blank(text[end - 1]):
                        end -= 1
                    spans[row, WORD - role, 0], spans[row, WORD - role, 1] = begin, end
            else:
                value, after, known = read_number(text, begin, stop, scratch)
                after = _skip_spaces(text, after, stop, delimiter)
                if not (
                    known and (after == stop or text[after] == delimiter or text[after] == _NEWLINE)
                ):
                    after = _field_end(text, begin, stop, delimiter)
                    value = np.nan
                    if after > begin:
                        late[n_late, 0], late[n_late, 1] = row, field
                        late[n_late, 2], late[n_late, 3] = begin, after
                        n_late += 1
                if role == LABEL:
                    labels[row] = value
                else:
                    numbers[row, role] = value
            position = after
            ended = position == stop or text[position] == _NEWLINE
            if ended != (field == n_fields - 1):
                code = RAGGED
                at[WHERE] = position
                break
            position = min(position + 1, stop)
        if code == FINE:
            row += 1
    at[POSITION], at[ROW], at[LATE], at[CODE] = position, row, n_late, code


@kernel
def hash_bytes(text: Array, begin: int, end: int) -> np.uint64:
    """64-bit hash of some bytes: FNV-1a, its halves folded together.

    Start at 14695981039346656037; for each byte, exclusive or with it and multiply by
    1099511628211 modulo 2^64; at last, exclusive or with itself shifted right by 32.
    """
    value = _HASH_START
    for k in range(begin, end):
        value = (value ^ np.uint64(text[k])) * _HASH_FACTOR
    return value ^ (value >> _HALF)


@kernel
def distinct_words(
    text: Array, spans: IntArray, slots: IntArray, codes: Array, first: Array
) -> int:
    """Number the distinct words in the order they come; returns how many there are.

    ``codes`` gets the number of each word, ``first`` the place of each number's first word.
    ``slots`` is scratch space of a power of two entries, more than there are words.
    """
    mask = np.uint64(slots.shape[0] - 1)
    slots[:] = -1
    found = 0
    for i in range(spans.shape[0]):
        begin, end = spans[i, 0], spans[i, 1]
        slot = hash_bytes(text, begin, end) & mask
        while True:
            code = slots[slot]
            if code < 0:
                slots[slot] = code = found
                first[found] = i
                found += 1
                break
            other = spans[first[code], 0]
            if spans[first[code], 1] - other == end - begin:
                same = True
                for k in range(end - begin):
                    if text[begin + k] != text[other + k]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + _ONE) & mask
        codes[i] = code
    return found
