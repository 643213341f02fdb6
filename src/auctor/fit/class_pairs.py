"""Which classes the score functions of a classifier separate, and scores per class from them."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from auctor.core.types import FloatArray

#: Stands for all other classes in a pair of class codes.
REST = -1


@dataclass(frozen=True)
class ClassPairs:
    """The pairs of classes that binary classifiers separate, and their votes for a class.

    Parameters
    ----------
    multiclass : {"ovo", "ovr"}
        With more than two classes: every pair of classes, or every class against the rest.

    Examples
    --------
    >>> ClassPairs(3, "ovo").pairs, ClassPairs(3, "ovr").pairs
    ([(0, 1), (0, 2), (1, 2)], [(0, -1), (1, -1), (2, -1)])
    """

    n_classes: int
    multiclass: str

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Positive and negative class code of each score function, the latter `REST` or a class."""
        if self.against_the_rest:
            return [(code, REST) for code in self.scored]
        return list(itertools.combinations(range(self.n_classes), 2))

    @property
    def against_the_rest(self) -> bool:
        """Whether each score function separates one class from all others."""
        return self.n_classes == 2 or self.multiclass == "ovr"

    @property
    def scored(self) -> list[int]:
        """Codes of the classes with a score of their own: of two classes only the second."""
        return [1] if self.n_classes == 2 else list(range(self.n_classes))

    def scores(self, by_pair: FloatArray) -> FloatArray:
        """Scores (n, k) of the k scored classes from scores per pair of classes, by votes."""
        if self.against_the_rest:
            return by_pair
        votes = np.zeros((by_pair.shape[0], self.n_classes))
        total = np.zeros_like(votes)
        for k, (one, other) in enumerate(self.pairs):
            first = by_pair[:, k] > 0.0
            votes[first, one] += 1.0
            votes[~first, other] += 1.0
            total[:, one] += by_pair[:, k]
            total[:, other] -= by_pair[:, k]
        # The second term is below 1/3 in size, so that it only breaks ties between votes.
        joined: FloatArray = votes + total / (3.0 * (np.abs(total) + 1.0))
        return joined
