"""The guarded published algorithm, the one-pass form and the library's kernel agree."""

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.losses import Prbep
from tests.fixtures.reference import Anchor, anchored_flips, sorted_flips


def kernel_flips(scores, y, mu):
    loss = Prbep(mu * y.size / 2)
    return -y * loss.value_grad(scores, Target(y))[1] * y.size / 2


@pytest.mark.parametrize("find", [anchored_flips, sorted_flips])
def test_small_instances_with_every_guard(find):
    rng = np.random.default_rng(0)
    for trial in range(200):
        n = int(rng.integers(2, 12))
        y = np.where(rng.random(n) < (0.2, 0.5, 0.8)[trial % 3], 1.0, -1.0)
        y[:2] = 1.0, -1.0
        scores = (0.0, 1.0, 5.0)[int(rng.integers(3))] * rng.normal(size=n)
        scores = np.round(scores) if trial % 2 else scores
        mu = 10.0 ** rng.uniform(-3, 0.5) / n
        found = find(scores, y, mu)
        np.testing.assert_allclose(found.flip, kernel_flips(scores, y, mu), atol=1e-8)
        assert abs(found.flip @ y) <= 1e-8


def test_an_exact_margin_tie():
    """The negatives' kink falls on the positives': a piece of no length."""
    y, scores = np.array([1.0, -1.0]), np.array([0.0, -1.0])
    found = anchored_flips(scores, y, 0.1).flip
    np.testing.assert_allclose(found, kernel_flips(scores, y, 0.1), atol=1e-12)


def test_twenty_thousand_rows():
    rng = np.random.default_rng(1)
    n = 20_000
    y = np.where(rng.random(n) < 0.2, 1.0, -1.0)
    scores = rng.normal(size=n) + y
    mu = 0.02 / n
    anchored = anchored_flips(scores, y, mu)
    wanted = kernel_flips(scores, y, mu)
    np.testing.assert_allclose(anchored.flip, wanted, atol=1e-6)
    np.testing.assert_allclose(sorted_flips(scores, y, mu).flip, wanted, atol=1e-6)
    assert anchored.moves <= 20 * n


def test_an_anchor_answers_in_any_order():
    rng = np.random.default_rng(2)
    a = np.round(rng.normal(size=20), 1)
    anchor = Anchor(a, 0.3)
    for theta in [np.inf, *rng.normal(size=200), -np.inf, *np.sort(a), *(a - 0.3)]:
        wanted = -np.clip((a - theta) / 0.3, 0, 1).sum()
        assert anchor(theta) == pytest.approx(wanted, abs=1e-12)
