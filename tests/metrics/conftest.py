"""Random ranking problems with ties and weights, shared by the metric tests."""

from typing import NamedTuple

import numpy as np
import pytest


class Case(NamedTuple):
    y: np.ndarray
    scores: np.ndarray
    weight: np.ndarray  # integers, some zero
    real_weight: np.ndarray  # positive reals

    def repeated(self):
        """The same rows, each as often as its integer weight says."""
        count = self.weight.astype(int)
        return np.repeat(self.y, count), np.repeat(self.scores, count)


def make_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    y = rng.integers(0, 2, n)
    scores = rng.standard_normal(n) + 0.7 * y
    if seed % 3:
        scores = np.round(scores * (1 + seed % 4))  # heavy ties, and -0.0 beside 0.0
    weight = rng.integers(0, 4, n).astype(float)
    y[:2], weight[:2] = (0, 1), 1.0  # both classes present
    if seed % 2:
        y = 2 * y - 1
    return Case(y, scores, weight, rng.uniform(0.1, 3.0, n))


@pytest.fixture(scope="session")
def cases():
    return [make_case(seed) for seed in range(60)]
