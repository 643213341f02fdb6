"""Columns of free text: which of their frequent words a row has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array

#: Words of a column, at most: the most frequent ones.
MOST_WORDS = 200
#: Rows that have a word, at least.
FEWEST_ROWS = 5
#: Share of the rows up to which a word tells rows apart; "the" and "and" are in more.
COMMON = 0.5
#: A word: two or more letters, digits or underscores.
_WORD = re.compile(r"\w\w+")


def words_of(text: str) -> set[str]:
    """The words of a text, in lower case.

    Examples
    --------
    >>> sorted(words_of("Refund, please: a REFUND!"))
    ['please', 'refund']
    """
    return set(_WORD.findall(text.lower()))


def frequent_words(name: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """The words of a column to keep, in the order of the alphabet.

    Parameters
    ----------
    name : str
        Name of the column.
    counts : mapping
        Number of rows of each text.
    """
    rows: Counter[str] = Counter()
    for text, count in counts.items():
        rows.update(dict.fromkeys(words_of(text), count))
    most = COMMON * sum(counts.values())
    kept = [word for word, count in rows.items() if FEWEST_ROWS <= count <= most]
    if not kept:
        raise DataError(
            f"words that at least {FEWEST_ROWS} rows of {name!r} have, but not most of them; got "
            f"{len(rows)} words, each in fewer rows or in more. Leave `as_words` out for that "
            "column."
        )
    return tuple(sorted(sorted(kept, key=lambda word: (-rows[word], word))[:MOST_WORDS]))


def word_table(words: Sequence[str], texts: Sequence[str]) -> Array:
    """Which words each text has, (texts + 1, words); the last row is that of a missing text.

    Examples
    --------
    >>> word_table(("late", "refund"), ["Refund!", "ok"]).astype(int).tolist()
    [[0, 1], [0, 0], [0, 0]]
    """
    places = {word: k for k, word in enumerate(words)}
    table = np.zeros((len(texts) + 1, len(words)), dtype=bool)
    for row, text in enumerate(texts):
        table[row, [places[word] for word in words_of(str(text)) if word in places]] = True
    return table
