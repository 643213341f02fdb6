"""OAM, passive-aggressive and univariate exponential learning."""

import numpy as np
import pytest
from scipy import sparse

from auctor.data import as_data
from auctor.kernels.descent.coordinate import next_random
from auctor.lab.kernels.aggressive import reservoir_slot
from auctor.lab.learners import Oam, PassiveAggressive, UniExp
from auctor.losses import PairwiseSquare
from auctor.metrics import auc
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Exact


def plain(X, y, weight, C, method, size, random):
    """Last and averaged iterate, pair by pair."""
    w, total, count, rows, mass = np.zeros(X.shape[1]), 0.0, 0, 0, 0.0
    kept, seen = {-1: [], 1: []}, {-1: 0, 1: 0}
    for x, k, c in zip(X, y, weight, strict=True):
        if c == 0:
            continue
        rows, mass = rows + 1, mass + c
        seen[k] += 1
        if len(kept[k]) < size:
            kept[k].append(x)
        else:
            slot = int(next_random(random) % np.uint64(seen[k]))
            if slot < size:
                kept[k][slot] = x
        if not kept[-k]:
            continue
        most = 0.5 * C * max(1, seen[-k] / size) * c * rows / mass
        pairs = [k * (x - z) for z in kept[-k]]
        if method == "gradient":
            w = w + most * sum((u for u in pairs if w @ u <= 1), np.zeros_like(w))
        else:
            for u in pairs:
                lack = 1 - w @ u
                if lack > 0 and u @ u > 0:
                    w = w + min(most, lack / (u @ u)) * u
        total, count = total + w, count + 1
    return w, total / count


@pytest.mark.parametrize("method", ["sequential", "gradient"])
@pytest.mark.parametrize("C", [1e-4, 0.1])
def test_pairs_at_once_are_the_plain_ones(method, C, thin):
    X, y, weight = thin(400)
    learner = Oam(C, method=method, buffer=9, random_state=3)
    random = learner.fresh_state(40, np.random.default_rng(3))["random"]
    last, mean = plain(X, y, weight, C, method, 9, random)
    for rows in (X, sparse.csr_array(X)):
        learner.fit(rows, y, weight)
        np.testing.assert_allclose(learner.coef_[0], mean, rtol=1e-9, atol=1e-11)
        assert not learner.state_["scratch"].any()
    learner.set_params(average=False).fit(X, y, weight)
    np.testing.assert_allclose(learner.coef_[0], last, rtol=1e-9, atol=1e-11)


def test_every_row_is_kept_with_the_same_chance():
    """A16: N of T rows, each with probability N/T."""
    size, count, trials = 10, 50, 20000
    random = np.array([12345], dtype=np.uint64)
    kept = np.zeros(count)
    for _ in range(trials):
        buffer = np.zeros(size, dtype=int)
        for row in range(count):
            slot = reservoir_slot(row + 1, size, random)
            if slot < size:
                buffer[slot] = row
        kept[buffer] += 1
    assert np.abs(kept / trials - size / count).max() < 0.012
    assert kept.sum() == size * trials


def test_costs_make_the_buffer_stand_for_all_rows():
    """A16, E5: the subgradient of the buffer is, on average, that of all earlier rows."""
    rng = np.random.default_rng(0)
    before, x = rng.normal(size=(60, 3)), rng.normal(size=3)
    X, y = np.vstack([before, x]), np.append(-np.ones(60), 1.0)
    found = np.zeros(3)
    for seed in range(1500):
        learner = Oam(2e-6, method="gradient", buffer=12, average=False, random_state=seed)
        found += learner.partial_fit(X, y).coef_[0] / 1500
    np.testing.assert_allclose(found, 1e-6 * (x - before).sum(axis=0), rtol=0.05, atol=1e-6)


def test_a_sequential_step_is_the_proximal_one():
    """E6: the minimiser of ``|w' - w|^2 + C max(0, 1 - w'.u)``."""
    rng = np.random.default_rng(1)
    for C in (0.01, 10.0):
        x, z = rng.normal(size=(2, 4))
        w = Oam(C, average=False).fit([z, x], [0, 1]).coef_[0]
        u = x - z

        def cost(v, u=u, C=C):
            return v @ v + C * max(0.0, 1 - v @ u)

        assert all(cost(w) <= cost(w + 1e-3 * rng.normal(size=4)) + 1e-12 for _ in range(200))


@pytest.mark.parametrize("method", ["sequential", "gradient"])
def test_near_the_least_squares_optimum(method, two_gaussians):
    X, y = two_gaussians()
    problem = Problem(PairwiseSquare(), L2(0.1), as_data(X, y))
    wanted = auc(y == 1, X @ minimise(problem, Exact()).coef)
    assert Oam(method=method).fit(X, y).score(X, y) > wanted - 0.05


# --- rows alone ---------------------------------------------------------------------------------


def test_the_nearest_weights_without_loss(thin):
    X, y, _ = thin(60)
    learner = PassiveAggressive(None, average=False)
    w = np.zeros(40)
    for x, label in zip(X, y, strict=True):
        learner.partial_fit(x[None], [label], classes=[-1, 1])
        if x.any():
            w = w + label * max(0.0, 1 - label * (w @ x)) / (x @ x) * x
            assert label * (learner.coef_[0] @ x) >= 1 - 1e-9
        np.testing.assert_allclose(learner.coef_[0], w, atol=1e-11)


def test_bounded_steps_and_their_average(thin):
    X, y, weight = thin(300)
    w, total, count, rows, mass = np.zeros(40), 0.0, 0, 0, 0.0
    for x, label, c in zip(X, y, weight, strict=True):
        if c == 0:
            continue
        rows, mass = rows + 1, mass + c
        if x.any():
            lack = max(0.0, 1 - label * (w @ x)) / (x @ x)
            w = w + label * min(lack, 0.05 * c * rows / mass) * x
        total, count = total + w, count + 1
    learner = PassiveAggressive(0.05).fit(X, y, weight)
    np.testing.assert_allclose(learner.coef_[0], total / count, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("strength", [0.0, 0.1, 100.0])
def test_exponential_steps_are_the_plain_ones(strength, thin):
    X, y, weight = thin(500)
    w, total, mass = np.zeros(40), 0.0, 0.0
    weights, squares, t, rows = np.zeros(2), 0.0, 0, 0
    for x, label, c in zip(X, y, weight, strict=True):
        if c == 0:
            continue
        rows += 1
        weights[int(label > 0)] += c
        squares += c * (x @ x)
        if not weights.min() > 0:
            continue
        t += 1
        eta = 2.0 / np.sqrt(t) * weights.sum() / squares
        share = c * rows / weights.sum() / 2 / (weights[int(label > 0)] / weights.sum())
        move = eta * share * np.exp(-label * (w @ x))
        move = min(move, 1 / (x @ x)) if x.any() else 0.0
        w = (w + label * move * x) / (1 + eta * strength)
        total, mass = total + t * w, mass + t
    learner = UniExp(strength, rate=2.0).fit(X, y, weight)
    np.testing.assert_allclose(learner.coef_[0], total / mass, rtol=1e-9, atol=1e-11)


def test_exponential_loss_ranks_like_least_squares(two_gaussians):
    X, y = two_gaussians(20000)
    problem = Problem(PairwiseSquare(), L2(0.01), as_data(X, y))
    wanted = auc(y == 1, X @ minimise(problem, Exact()).coef)
    assert UniExp().fit(X, y).score(X, y) > wanted - 0.01
