"""Subgradient ascent for the weights of the hierarchical norm, on a smooth objective."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.hierarchy.taxonomy import Taxonomy

#: Entry of the prox that counts as half a label, at the first step.
HALF_FIRST = 0.02
#: Entry of the prox that counts as half a label, at the last step.
HALF_LAST = 0.002
#: Steps of the ascent; each costs three passes over the scores.
ASCENT_STEPS = 60
#: Size of the first step of every coordinate in [-1, 1]; it falls linearly to 0.
FIRST_STEP = 0.05
#: Factor on the running mean of squared gradients at each step.
SQUARES_DECAY = 0.9


class SetSurrogate(NamedTuple):
    """A smooth approximation of an objective of label sets.

    An entry v of the prox becomes the membership ``s = v / (v + half)`` in [0, 1), and counts of
    labels become sums of s. The objective of a row without labels is ``max(1 - sum s, 0)``.
    """

    objective: str
    scores: FloatArray
    truth: Array
    taxonomy: Taxonomy
    weight: FloatArray | None
    half: float = HALF_LAST

    def value(self, decoder: Any) -> float:
        """The smooth objective at the weights of a decoder."""
        return self._value_slope(decoder.prox(self.scores, self.taxonomy)[0])[0]

    def phi_gradient(self, decoder: Any) -> FloatArray:
        """A subgradient of the smooth objective in the group weights, one per label."""
        shrunk, _ = decoder.prox(self.scores, self.taxonomy)
        slope = self._value_slope(shrunk)[1]
        gradient: FloatArray = decoder.phi_gradient(self.scores, slope, self.taxonomy)
        return gradient

    def _value_slope(self, shrunk: FloatArray) -> tuple[float, FloatArray]:
        """The smooth objective and its gradient in the entries of the prox."""
        n, size = shrunk.shape
        soft = shrunk / (shrunk + self.half)
        share = np.full(n, 1.0 / n) if self.weight is None else self.weight / self.weight.sum()
        on = np.asarray(self.truth, dtype=np.float64)
        if self.objective == "hamming":
            value = -float(share @ np.abs(on - soft).sum(axis=1)) / size
            in_soft = share[:, None] * (2.0 * on - 1.0) / size
        else:
            hits, n_predicted, n_true = (on * soft).sum(axis=1), soft.sum(axis=1), on.sum(axis=1)
            if self.objective == "micro_f1":
                hits, n_predicted, n_true = (
                    np.array([share @ one]) for one in (hits, n_predicted, n_true)
                )
            whole = share if self.objective != "micro_f1" else np.ones(1)
            # twice * h / (a + s - less * h): 2 h / (a + s) for F1, h / (a + s - h) for Jaccard,
            # with h common, a true and s predicted labels.
            twice, less = (1.0, 1.0) if self.objective == "jaccard" else (2.0, 0.0)
            below = n_true + n_predicted - less * hits
            known = n_true > 0.0
            safe = np.where(known, below, 1.0)
            value = float(
                whole @ np.where(known, twice * hits / safe, np.maximum(1.0 - n_predicted, 0.0))
            )
            per_hit = np.where(known, twice / safe + less * twice * hits / safe**2, 0.0)
            per_said = np.where(
                known, -twice * hits / safe**2, -(n_predicted < 1.0).astype(np.float64)
            )
            in_soft = share[:, None] * (per_hit[:, None] * on + per_said[:, None])
        # Chain rule: ds/dv = half / (v + half)^2.
        return value, in_soft * self.half / (shrunk + self.half) ** 2


def ascend(
    start: FloatArray, slope: Callable[[FloatArray, float], FloatArray]
) -> Iterator[FloatArray]:
    """Iterates of a projected subgradient ascent in the box [-1, 1], with RMSProp's scaling.

    ``slope(place, half)`` is a subgradient. Every coordinate is divided by the root mean square of
    its gradients, so that the scale of the objective does not matter.
    """
    place, squares = start.copy(), np.zeros(start.size)
    for k in range(ASCENT_STEPS):
        done = k / ASCENT_STEPS
        gradient = slope(place, HALF_FIRST * (HALF_LAST / HALF_FIRST) ** done)
        squares = SQUARES_DECAY * squares + (1.0 - SQUARES_DECAY) * gradient**2
        scale = np.sqrt(np.maximum(squares / (1.0 - SQUARES_DECAY ** (k + 1)), 1e-300))
        place = np.clip(place + FIRST_STEP * (1.0 - done) * gradient / scale, -1.0, 1.0)
        yield place
