"""Amounts in text as numbers: currency and percent signs, thousands, decimal commas."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from auctor.core.types import FloatArray
from auctor.tables.columns import meaning

#: Signs and short names that may stand before or after an amount.
_SIGN = r"(?:[$€£¥%]|USD|EUR|GBP|CHF|JPY|kr)"
_AMOUNT = re.compile(rf"([-+]?)\s*{_SIGN}?\s*([-+]?\d[\d.,'\s]*|[-+]?[.,]\d+)\s*{_SIGN}?")
_SIGNED = re.compile(_SIGN)


def amount(word: str, decimal: str = ".") -> float:
    """The number in an amount, NaN for text that is none; 45 % is 45.

    Examples
    --------
    >>> amount("$1,200.50"), amount("-45 %"), amount("1.200,5 EUR", ","), amount("ten")
    (1200.5, -45.0, 1200.5, nan)
    """
    found = _AMOUNT.fullmatch(word.strip())
    if found is None:
        return np.nan
    sign, digits = found.groups()
    digits = re.sub(r"['\s]", "", digits)
    other = "," if decimal == "." else "."
    number = meaning(digits.replace(other, "").replace(decimal, "."))
    if number is None:
        return np.nan
    return -number if sign == "-" else number


def all_amounts(words: Iterable[str], decimal: str = ".") -> FloatArray:
    """The same for some words."""
    return np.array([amount(word, decimal) for word in words], dtype=np.float64)


def has_sign(word: str) -> bool:
    """Whether a word is an amount with a currency or percent sign."""
    return _SIGNED.search(word) is not None and _AMOUNT.fullmatch(word.strip()) is not None
