"""Decimal numbers in bytes to doubles.

A decimal number becomes the nearest double. With a mantissa up to 2^53 and a power up to 10^22 a
single product or quotient rounds correctly; beyond that the leading 128 bits of the power of five
decide (Lemire, doi:10.1002/spe.2984). A number that neither way settles is left to the caller, who
gets the position of its token.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.text.ascii import DOT, LARGE_E, MINUS, NINE, PLUS, SMALL_E, ZERO

#: Decimal digits that 64 bits hold, whatever the digits are.
_DIGITS = 19
#: Powers of ten that doubles hold exactly.
_TENS = 10.0 ** np.arange(23)
#: Smallest power of ten that a mantissa of 19 digits can have and still be a positive double.
_LOWEST = -342
#: Largest power of ten that is a double.
_HIGHEST = 308

# Words of 64 bits, so that arithmetic with them stays in 64 bits.
_ONE = np.uint64(1)
_TEN = np.uint64(10)
#: Bits of half a word.
HALF_WORD = np.uint64(32)
#: The lower half of a word.
_LOW_HALF = np.uint64(0xFFFFFFFF)
#: All bits of a word.
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
#: Position of the highest bit of a word.
_TOP = np.uint64(63)
#: Lowest bits of a product that are dropped.
_SPARE = np.uint64(9)
#: A word with just these bits.
_SPARE_BITS = np.uint64((1 << 9) - 1)
#: Stored bits of the mantissa of a double.
_MANTISSA = np.uint64(52)
#: Whole numbers up to this one are doubles.
_EXACT = np.uint64(1 << 53)


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
    a_low, a_high = a & _LOW_HALF, a >> HALF_WORD
    b_low, b_high = b & _LOW_HALF, b >> HALF_WORD
    low = a_low * b_low
    middle = a_high * b_low + (low >> HALF_WORD)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> HALF_WORD) + (other >> HALF_WORD), a * b


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
    """Bits of the double nearest to ``mantissa * 10**power``, and whether that is proven."""
    none = np.uint64(0)
    if mantissa == none:
        return none, True
    if power < _LOWEST or power > _HIGHEST:
        return none, False
    # 10^p = 5^p 2^p: multiply the mantissa, shifted to fill 64 bits, by the leading bits of 5^p.
    zeros = _leading_zeros(mantissa)
    w = mantissa << zeros
    high, low = _product(w, _FIVES[power - _LOWEST, 0])
    # A carry from the next 64 bits of 5^p could reach the mantissa: add their product too.
    if high & _SPARE_BITS == _SPARE_BITS:
        more, _ = _product(w, _FIVES[power - _LOWEST, 1])
        low += more
        if low < more:
            high += _ONE
    if low == _ALL and (power < -27 or power > 55):
        return none, False
    # Keep 54 bits; floor(p log2(10)) = (217706 p) >> 16 gives the exponent, biased by 1023.
    upper = high >> _TOP
    bits = high >> (upper + _SPARE)
    binary = ((217706 * power) >> 16) + 63 + np.int64(upper) - np.int64(zeros) + 1023
    if binary <= 0 or binary >= 2046:
        return none, False
    # Exactly between two doubles: the even one.
    if low <= _ONE and -4 <= power <= 23 and bits & np.uint64(3) == _ONE:  # noqa: SIM102
        if bits << (upper + _SPARE) == high:
            bits &= ~_ONE
    # Round to 53 bits; a carry out of the mantissa raises the exponent by one.
    bits = (bits + (bits & _ONE)) >> _ONE
    if bits >> (_MANTISSA + _ONE):
        bits >>= _ONE
        binary += 1
    bits &= ~(_ONE << _MANTISSA)
    return bits | (np.uint64(binary) << _MANTISSA), True


@kernel
def read_number(text: Array, at: int, stop: int, scratch: Array) -> tuple[float, int, bool]:
    """Number that starts at byte ``at``, the byte after it, and whether it could be read.

    The number is ``sign * mantissa * 10**power``, with the mantissa in 64 bits. ``scratch`` is one
    64-bit word.
    """
    # The sign.
    sign = 1.0
    if at < stop and (text[at] == MINUS or text[at] == PLUS):
        if text[at] == MINUS:
            sign = -1.0
        at += 1
    # mantissa <- 10 mantissa + digit, for digits before and after the point; those after it lower
    # the power.
    begin = at
    mantissa = np.uint64(0)
    while at < stop and ZERO <= text[at] <= NINE:
        mantissa = mantissa * _TEN + np.uint64(text[at] - ZERO)
        at += 1
    digits = at - begin
    power = 0
    if at < stop and text[at] == DOT:
        at += 1
        first = at
        while at < stop and ZERO <= text[at] <= NINE:
            mantissa = mantissa * _TEN + np.uint64(text[at] - ZERO)
            at += 1
        power = first - at
        digits -= power
    if digits == 0:
        return 0.0, at, False
    # Leading zeros do not count as digits; more digits than 64 bits hold go to the caller.
    if digits > _DIGITS:
        k = begin
        while k < at and (text[k] == ZERO or text[k] == DOT):
            digits -= text[k] == ZERO
            k += 1
        if digits > _DIGITS:
            return 0.0, at, False
    # The exponent, of at most five digits.
    if at < stop and (text[at] == SMALL_E or text[at] == LARGE_E):
        at += 1
        down = at < stop and text[at] == MINUS
        if at < stop and (text[at] == MINUS or text[at] == PLUS):
            at += 1
        first = at
        exponent = 0
        while at < stop and ZERO <= text[at] <= NINE and at - first < 5:
            exponent = exponent * 10 + (text[at] - ZERO)
            at += 1
        if at == first:
            return 0.0, at, False
        power += -exponent if down else exponent
    # One product or quotient of numbers that doubles hold is rounded once, so it is the nearest.
    if mantissa <= _EXACT and -22 <= power <= 22:
        value = float(np.int64(mantissa))
        value = value * _TENS[power] if power >= 0 else value / _TENS[-power]
        return sign * value, at, True
    bits, certain = scaled(mantissa, power)
    scratch[0] = bits
    return sign * scratch.view(np.float64)[0], at, certain
