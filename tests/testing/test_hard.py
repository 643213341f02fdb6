"""The lower-bound instances: every cut, iterate, objective and gap is the one that is known."""

import numpy as np
import pytest

from auctor.core.errors import ParameterError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Continuation
from tests.fixtures.hard import HardPrbep, HardRoc

INSTANCES = [HardPrbep(0.03), HardPrbep(0.01), HardRoc(0.03), HardRoc(0.01)]


@pytest.mark.parametrize("instance", INSTANCES, ids=repr)
def test_cutting_planes_follow_the_known_path(instance):
    """w_k minimises the model of the first k cuts, whose gap is the one stated."""
    slopes, offsets, best = [], [], np.inf
    w = instance.start
    for k in range(1, instance.n_steps):
        risk, a = instance.oracle(w)
        best = min(best, instance.objective(w))
        slopes.append(a)
        offsets.append(risk - a @ w)
        w = instance.iterate(k)
        # A dual point of the model that attains its value at w: both are optimal.
        mean = np.mean(slopes, axis=0)
        np.testing.assert_allclose(w, -mean, atol=1e-12)
        model = 0.5 * w @ w + max(b + a @ w for a, b in zip(slopes, offsets, strict=True))
        assert model == pytest.approx(np.mean(offsets) - 0.5 * mean @ mean, abs=1e-12)
        assert min(best, instance.objective(w)) - model == pytest.approx(instance.gap(k), abs=1e-8)


def test_the_stated_objectives():
    prbep, roc = HardPrbep(0.05), HardRoc(0.05)
    n = roc.n_negatives
    for k in (1, 2, 7, 15):
        assert prbep.objective(prbep.iterate(k)) == pytest.approx(0.25 * (2 + 1 / k))
        assert roc.objective(roc.iterate(k)) == pytest.approx(0.5 * (1 / n + 1 / k))
        assert prbep.objective(prbep.iterate(k)) - prbep.optimum > 0.25 / k
        assert roc.objective(roc.iterate(k)) - roc.optimum > 0.5 / k


@pytest.mark.parametrize("instance", INSTANCES, ids=repr)
def test_the_oracle_tells_the_risk_and_a_subgradient(instance):
    target, rng = Target(instance.y), np.random.default_rng(0)
    points = [instance.start, instance.iterate(3), *(rng.normal(size=(4, instance.X.shape[1])))]
    for w in points:
        risk, a = instance.oracle(w)
        assert risk == pytest.approx(instance.loss.value(instance.X @ w, target), abs=1e-9)
        for v in points:
            assert instance.oracle(v)[0] >= risk + a @ (v - w) - 1e-8


@pytest.mark.parametrize("instance", [HardPrbep(0.03), HardRoc(0.03), HardRoc(0.01)], ids=repr)
def test_smoothing_is_not_fooled(instance):
    """One percent within 15 steps, where cutting planes need one for every row."""
    problem = Problem(instance.loss, L2(1.0), as_data(instance.X, instance.y))
    solution = minimise(
        problem, Continuation(), w0=instance.start, tol=0.0, max_iter=15, on_failure="ignore"
    )
    assert instance.optimum <= solution.value + 1e-9
    assert solution.value <= 1.01 * instance.optimum


def test_bad_accuracy():
    with pytest.raises(ParameterError, match="HardPrbep needs accuracy in"):
        HardPrbep(0.0)
