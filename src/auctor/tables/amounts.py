"""Amounts in text, such as $1,200 or 45 %, as numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from auctor.core.types import FloatArray
from auctor.tables.columns import parse_number

#: Signs and short names that may stand before or after an amount.
_SIGN = r"(?:[$€£¥%]|USD|EUR|GBP|CHF|JPY|kr)"
_AMOUNT = re.compile(rf"([-+]?)\s*{_SIGN}?\s*([-+]?\d[\d.,'\s]*|[-+]?[.,]\d+)\s*{_SIGN}?")
_SIGNED = re.compile(_SIGN)
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")
#: Patterns of the digits of an amount, by decimal sign.
_DIGITS = {
    sign: re.compile(
        rf"[-+]?(?:\d+|[1-9]\d{{0,2}}(?:[{other}'\s]\d{{2,3}})*[{other}'\s]\d{{3}})?(?:\{sign}\d*)?"
    )
    for sign, other in ((".", ","), (",", "."))
}


def amount(word: str, decimal: str = ".") -> float:
    """The number in an amount, NaN if the text is not an amount; 45 % is 45.

    Examples
    --------
    >>> amount("$1,200.50"), amount("-45 %"), amount("1.200,5 EUR", ","), amount("15,32")
    (1200.5, -45.0, 1200.5, nan)
    """
    plain = parse_number(word.strip(), decimal)
    if plain is not None:
        return plain if np.isfinite(plain) else np.nan
    match = _AMOUNT.fullmatch(word.strip())
    if match is None:
        return np.nan
    sign, digits = match.group(1), match.group(2).strip()
    if _DIGITS[decimal].fullmatch(digits) is None:
        return np.nan
    other = "," if decimal == "." else "."
    number = parse_number(re.sub(rf"['\s{other}]", "", digits).replace(decimal, "."))
    if number is None:
        return np.nan
    return -number if sign == "-" else number


def all_amounts(words: Iterable[str], decimal: str = ".") -> FloatArray:
    """The numbers in some amounts, NaN for words that are not amounts."""
    return np.array([amount(word, decimal) for word in words], dtype=np.float64)


def decimal_sign(words: Iterable[str], usual: str = ".") -> str:
    """The decimal sign with which more of the words are amounts; ``usual`` if both are equal.

    Examples
    --------
    >>> decimal_sign(["15,32", "1,234"]), decimal_sign(["1,234"]), decimal_sign(["7.5 %"], ",")
    (',', '.', '.')
    """
    listed = list(words)
    other = "," if usual == "." else "."
    counts = {sign: int(np.isfinite(all_amounts(listed, sign)).sum()) for sign in (usual, other)}
    return other if counts[other] > counts[usual] else usual


def has_thousands(word: str) -> bool:
    """Whether a word is a whole number with a comma before every three digits."""
    return _THOUSANDS.fullmatch(word.strip()) is not None


def has_sign(word: str) -> bool:
    """Whether a word is an amount with a currency or percent sign."""
    return _SIGNED.search(word) is not None and _AMOUNT.fullmatch(word.strip()) is not None
