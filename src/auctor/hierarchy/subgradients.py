"""Weights of the hierarchical norm by subgradients: a smooth objective through the prox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.hierarchy.taxonomy import Taxonomy

#: Entry of the prox that counts as half a label, at the first step and at the last. Where it is
#: large, far rows have a slope, but what is kept hardly counts; where it is small, soft sets are
#: the sets. Source: from .02 to .002 the learned objective was highest, or next to it, on rcv1-dev,
#: Enron and cellcycle, of starts at .1, .02, .005 and .002.
HALF_FIRST, HALF_LAST = 0.02, 0.002
#: Steps of the ascent; each costs three passes over the scores. Source: set by hand.
STEPS = 60
#: First step of every coordinate, as a share of the way to the bound; it falls to 0 in a line.
#: Source: of .02 and .05, the better one on the same sets.
STEP = 0.05
#: Share of the last step's mean of squared slopes that is kept. Source: usual, not tuned.
MEMORY = 0.9


class Surrogate(NamedTuple):
    """An objective of label sets with soft sets in their place.

    The prox v of a row becomes ``s = v / (v + half)``, between 0 and 1, and the counts of the
    objective are sums of s. A row without labels has ``max(1 - sum s, 0)``.
    """

    objective: str
    scores: FloatArray
    truth: Array
    taxonomy: Taxonomy
    weight: FloatArray | None
    half: float = HALF_LAST

    def value(self, decoder: Any) -> float:
        """The soft objective of a decoder with a prox."""
        return self._value_slope(decoder.prox(self.scores, self.taxonomy)[0])[0]

    def phi_gradient(self, decoder: Any) -> FloatArray:
        """A subgradient of the soft objective in the weight of every label's group."""
        shrunk, _ = decoder.prox(self.scores, self.taxonomy)
        slope = self._value_slope(shrunk)[1]
        gradient: FloatArray = decoder.phi_gradient(self.scores, slope, self.taxonomy)
        return gradient

    def _value_slope(self, shrunk: FloatArray) -> tuple[float, FloatArray]:
        """The soft objective and its slope in the entries of the prox."""
        n, size = shrunk.shape
        soft = shrunk / (shrunk + self.half)
        share = np.full(n, 1.0 / n) if self.weight is None else self.weight / self.weight.sum()
        on = np.asarray(self.truth, dtype=np.float64)
        if self.objective == "hamming":
            value = -float(share @ np.abs(on - soft).sum(axis=1)) / size
            in_soft = share[:, None] * (2.0 * on - 1.0) / size
        else:
            hits, said, there = (on * soft).sum(axis=1), soft.sum(axis=1), on.sum(axis=1)
            if self.objective == "micro_f1":
                hits, said, there = (np.array([share @ one]) for one in (hits, said, there))
            whole = share if self.objective != "micro_f1" else np.ones(1)
            # twice: 2 h / (a + s) for F1, h / (a + s - h) for Jaccard
            twice, less = (1.0, 1.0) if self.objective == "jaccard" else (2.0, 0.0)
            below = there + said - less * hits
            known = there > 0.0
            safe = np.where(known, below, 1.0)
            value = float(whole @ np.where(known, twice * hits / safe, np.maximum(1.0 - said, 0.0)))
            per_hit = np.where(known, twice / safe + less * twice * hits / safe**2, 0.0)
            per_said = np.where(known, -twice * hits / safe**2, -(said < 1.0).astype(np.float64))
            in_soft = share[:, None] * (per_hit[:, None] * on + per_said[:, None])
        return value, in_soft * self.half / (shrunk + self.half) ** 2


def ascend(
    start: FloatArray, slope: Callable[[FloatArray, float], FloatArray]
) -> Iterator[FloatArray]:
    """Points of a projected subgradient ascent in [-1, 1].

    ``slope(place, half)`` is a subgradient. Every coordinate is divided by the root of the mean of
    its squared slopes, so that no scale of the objective is needed.
    """
    place, squares = start.copy(), np.zeros(start.size)
    for k in range(STEPS):
        done = k / STEPS
        gradient = slope(place, HALF_FIRST * (HALF_LAST / HALF_FIRST) ** done)
        squares = MEMORY * squares + (1.0 - MEMORY) * gradient**2
        scale = np.sqrt(np.maximum(squares / (1.0 - MEMORY ** (k + 1)), 1e-300))
        place = np.clip(place + STEP * (1.0 - done) * gradient / scale, -1.0, 1.0)
        yield place
