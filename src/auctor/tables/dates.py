"""Dates in text as numbers: days since 1 January 1970."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import numpy as np

from auctor.core.types import FloatArray

#: Year, month and day, optionally with a time and a time zone.
_DATE = re.compile(
    r"(\d{4})[-/](\d{2})[-/](\d{2})"
    r"(?:[ T](\d{2}:\d{2})(:\d{2})?(?:[.,](\d{1,9}))?)?"
    r"\s?(Z|UTC|[+-]\d{2}:?\d{2})?"
)
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


def day_text(days: float) -> str:
    """A date from its days since 1 January 1970; the number itself outside the calendar.

    Examples
    --------
    >>> day_text(19723.5), day_text(1e9)
    ('2024-01-01', '1e+09')
    """
    try:
        return (date(1970, 1, 1) + timedelta(days=math.floor(days))).isoformat()
    except (OverflowError, ValueError):
        return f"{days:.4g}"


def days(word: str, pattern: str | None = None) -> float:
    """Days from 1 January 1970 to a date, NaN if the text is not a date.

    ``pattern`` says how the date is written, as in `datetime.strptime`; by default year-month-day.
    A time without a zone is UTC.

    Examples
    --------
    >>> days("1970-01-03"), days("1970-01-01 12:00"), days("3 May")
    (2.0, 0.5, nan)
    >>> days("03/01/1970", "%d/%m/%Y")
    2.0
    """
    if pattern is not None:
        return _by_pattern(word, pattern)
    match = _DATE.fullmatch(word)
    if match is None:
        return np.nan
    year, month, day, time, seconds, fraction, zone = match.groups()
    text = f"{year}-{month}-{day}T{time or '00:00'}{seconds or ':00'}"
    text += f".{(fraction or '0')[:6].ljust(6, '0')}"
    text += "+00:00" if zone in (None, "Z", "UTC") else zone
    try:
        return float((datetime.fromisoformat(text) - _FIRST) / _DAY)
    except (ValueError, OverflowError):  # such as month 13, or a time before the year 1
        return np.nan


def _by_pattern(word: str, pattern: str) -> float:
    """Days from 1 January 1970 to a date of a pattern, NaN for other text."""
    try:
        moment = datetime.strptime(word.strip(), pattern)
    except ValueError:
        return np.nan
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return float((zoned - _FIRST) / _DAY)


def all_days(words: Iterable[str], pattern: str | None = None) -> FloatArray:
    """Days from 1 January 1970 to some dates, NaN for words that are not dates."""
    return np.array([days(word, pattern) for word in words], dtype=np.float64)


#: Common patterns of dates besides year-month-day, the more common first.
USUAL = (
    *(f"{first}{sign}{second}{sign}{year}"
      for sign in "./-"
      for year in ("%Y", "%y")
      for first, second in (("%d", "%m"), ("%m", "%d"))),
    *("%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y"),
)  # fmt: skip


def patterns_of(words: Iterable[str]) -> list[str]:
    """The patterns of `USUAL` that all words have; two if day and month may be exchanged.

    Examples
    --------
    >>> patterns_of(["31/12/2024", "01/02/2024"]), patterns_of(["01/02/2024"])
    (['%d/%m/%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    listed = list(words)
    return [p for p in USUAL if listed and not any(np.isnan(_by_pattern(w, p)) for w in listed)]


def are_dates(words: Iterable[str]) -> bool:
    """Whether all words are dates of the form year-month-day, and there is at least one."""
    readable = [not np.isnan(days(word)) for word in words]
    return bool(readable) and all(readable)
