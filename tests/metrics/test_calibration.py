"""The calibration error: near 0 for true probabilities, with an interval that covers."""

import numpy as np
import pytest

from auctor.core.errors import DataError
from auctor.metrics import calibration_error


def test_a_known_error_is_covered():
    covered, repeats = 0, 200
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        stated = rng.random(1500) ** 3
        true = np.clip(stated + 0.06, 0.0, 1.0)
        found = calibration_error(rng.random(1500) < true, stated)
        covered += found.low <= np.sqrt(np.mean((true - stated) ** 2)) <= found.high
    assert covered >= 0.92 * repeats


def test_true_probabilities_have_an_interval_down_to_zero():
    zeros = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        p = rng.random(1000)
        zeros += calibration_error(rng.random(1000) < p, p).low == 0.0
    assert zeros >= 95


def test_bins_by_hand_and_weights_as_repetitions():
    p = np.repeat([0.2, 0.6], [40, 60])
    y = np.r_[np.repeat([1, 0], [12, 28]), np.repeat([1, 0], [30, 30])]
    gap = np.array([0.3 - 0.2, 0.5 - 0.6])
    noise = np.array([0.3 * 0.7 / 39, 0.25 / 59])
    theta = np.array([0.4, 0.6]) @ (gap**2 - noise)
    assert calibration_error(y, p).error == pytest.approx(np.sqrt(theta))
    doubled = calibration_error(y, p, weight=np.full(100, 2.0))
    assert doubled == pytest.approx(calibration_error(y, p))


def test_scores_are_refused():
    with pytest.raises(DataError, match=r"probability in \[0, 1\]"):
        calibration_error([0, 1], [-1.0, 2.0])
