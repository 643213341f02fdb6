"""Statistics of the columns of a table, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.text.encode import column_facts
from auctor.tables.blocks import Block
from auctor.tables.schema import ColumnSummary


@dataclass
class ColumnStats:
    """Statistics of the columns of a table, updated block by block.

    Parameters
    ----------
    rows : int
        Number of rows so far.
    facts : (4, k) array
        Count of missing values, minimum, maximum and mean of the k columns of numbers.
    words : list of dict
        Counts of the words of each column of text.
    most_words : int, optional
        Words of a column that are counted, at most: see `frequent`.
    """

    rows: int = 0
    facts: FloatArray = field(default_factory=lambda: np.empty((4, 0)))
    words: list[dict[str, int]] = field(default_factory=list)
    most_words: int | None = None

    def add(self, block: Block) -> None:
        """Update the statistics with the rows of a block."""
        counts = []
        for k, words in enumerate(block.words):
            codes = block.codes[:, k]
            count = np.bincount(codes[codes >= 0], minlength=len(words)).tolist()
            # A part of a block may have words that none of its rows use.
            counts.append({word: n for word, n in zip(words, count, strict=True) if n})
        self.merge(ColumnStats(block.n_rows, column_facts(block.numbers), counts))

    def merge(self, other: ColumnStats) -> None:
        """Update the statistics with those of other rows."""
        if not self.rows:
            self.facts, self.words = other.facts, [{} for _ in other.words]
        else:
            self._merge(other.facts, other.rows)
        for known, counts in zip(self.words, other.words, strict=True):
            for word, count in counts.items():
                known[word] = known.get(word, 0) + count
        if self.most_words is not None:
            self.words = [frequent(known, self.most_words) for known in self.words]
        self.rows += other.rows

    def _merge(self, facts: FloatArray, rows: int) -> None:
        """Combine with the statistics of ``rows`` more rows; means by their numbers of values."""
        before, after = self.rows - self.facts[0], rows - facts[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            old = np.where(before > 0, self.facts[3] * (before / (before + after)), 0.0)
            new = np.where(after > 0, facts[3] * (after / (before + after)), 0.0)
        self.facts = np.array(
            [
                self.facts[0] + facts[0],
                np.fmin(self.facts[1], facts[1]),
                np.fmax(self.facts[2], facts[2]),
                np.where(before + after > 0, old + new, np.nan),
            ]
        )

    def number(self, name: str, k: int) -> ColumnSummary:
        """Summary of the k-th column of numbers."""
        low, high, mean = (None if np.isnan(x) else float(x) for x in self.facts[1:, k])
        return ColumnSummary(name, "number", int(self.facts[0, k]), None, low, high, mean)

    def category(self, name: str, k: int) -> ColumnSummary:
        """Summary of the k-th column of text."""
        missing = self.rows - sum(self.words[k].values())
        return ColumnSummary(name, "category", missing, len(self.words[k]))


def frequent(counts: dict[str, int], most: int) -> dict[str, int]:
    """At most so many of the counts, less that of the first word that is left out.

    However counts are merged, each is too small by at most a share ``1 / (most + 1)`` of all rows,
    and no word with a larger share is left out.

    References
    ----------
    Misra, Gries, Finding repeated elements, 1982; Agarwal et al., Mergeable summaries, 2013.

    Examples
    --------
    >>> frequent({"a": 5, "b": 3, "c": 1}, 2)
    {'a': 4, 'b': 2}
    """
    if len(counts) <= most:
        return counts
    least = sorted(counts.values(), reverse=True)[most]
    return {word: count - least for word, count in counts.items() if count > least}
