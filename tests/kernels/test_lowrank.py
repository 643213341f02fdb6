"""Coordinate descent on the low-rank model, against dense algebra."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from auctor.kernels.descent import lowrank
from auctor.kernels.penalties.separable import separable_violation

ORDERS = [lowrank.CYCLIC, lowrank.SHUFFLED, lowrank.IID]


def seed(value=1):
    return np.array([value], dtype=np.uint64)


class Model:
    """A random model with its matrix written out."""

    def __init__(self, k, r, rng=0, *, l1=3.0, l2=0.1, lower=-np.inf, upper=np.inf):
        rng = np.random.default_rng(rng)
        self.w, self.gradient = 0.3 * rng.normal(size=k), 5.0 * rng.normal(size=k)
        self.rows = 0.3 * rng.normal(size=(k, r))
        core = rng.normal(size=(r, r))
        self.hats = self.rows @ (core @ core.T / max(r, 1))
        self.base = rng.uniform(1.0, 2.0, size=k) + np.linalg.norm(self.rows @ self.hats.T, 2)
        self.diagonal = self.base - (self.rows * self.hats).sum(axis=1)
        self.spec = tuple(np.full(k, level) for level in (l1, l2, lower, upper))
        self.scale, self.extra = 0.7, 0.2
        low_rank = np.diag(self.base) - self.rows @ self.hats.T
        self.H = self.scale * low_rank + self.extra * np.diag(self.base)

    def run(self, *, order=lowrank.CYCLIC, passes=1, tiny=0.0, state=None):
        u = np.clip(self.w, self.spec[2], self.spec[3])
        project = (u - self.w) @ self.hats
        parts = (self.w, self.gradient, self.base, self.diagonal, self.rows, self.hats)
        taken = lowrank.sweeps(
            *parts,
            *self.spec,
            self.scale,
            self.extra,
            order,
            passes,
            tiny,
            seed() if state is None else state,
            u,
            project,
        )
        return u, project, taken

    def value(self, u):
        d = u - self.w
        penalty = (self.spec[0] * np.abs(u) + 0.5 * self.spec[1] * u * u).sum()
        return self.gradient @ d + 0.5 * d @ self.H @ d + penalty

    def violation(self, u):
        out = np.empty_like(u)
        separable_violation(u, self.gradient + self.H @ (u - self.w), *self.spec, out)
        return out.max()


@pytest.mark.parametrize("box", [{}, {"lower": -0.2, "upper": 0.4}], ids=["free", "box"])
def test_a_pass_is_exact_minimisation_one_coordinate_at_a_time(box):
    model = Model(6, 4, **box)
    u, _, taken = model.run()
    wanted = np.clip(model.w, *model.spec[2:])
    for j in range(6):

        def along(x, j=j):
            v = wanted.copy()
            v[j] = x
            return model.value(v)

        low, high = max(-20.0, model.spec[2][j]), min(20.0, model.spec[3][j])
        parts = [(low, min(0.0, high)), (max(0.0, low), high)]  # either side of the kink
        found = [minimize_scalar(along, bounds=p, options={"xatol": 1e-12}) for p in parts]
        x = min(found, key=lambda one: one.fun).x
        wanted[j] = min((x, 0.0), key=along)
    assert taken == 6
    np.testing.assert_allclose(u, wanted, atol=1e-7)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("box", [{}, {"lower": -0.2, "upper": 0.4}], ids=["free", "box"])
def test_many_passes_reach_the_minimiser(order, box):
    model = Model(40, 10, **box)
    u, project, _ = model.run(order=order, passes=20_000, tiny=1e-30)
    assert model.violation(u) <= 1e-12
    assert (u == 0.0).any()
    np.testing.assert_allclose(project, (u - model.w) @ model.hats, atol=1e-12)
    free = (u != 0.0) & (u > model.spec[2]) & (u < model.spec[3])
    l1, l2 = model.spec[0][free], model.spec[1][free]
    fixed = np.where(free, 0.0, u)
    H = model.H
    right = (H @ model.w - model.gradient - H @ fixed)[free] - l1 * np.sign(u[free])
    exact = np.linalg.solve(H[np.ix_(free, free)] + np.diag(l2), right)
    np.testing.assert_allclose(u[free], exact, atol=1e-10)


def test_the_running_product_stays_accurate():
    model = Model(50, 20, l1=0.0)
    u, project, taken = model.run(order=lowrank.IID, passes=200)
    assert taken == 10_000
    np.testing.assert_allclose(project, (u - model.w) @ model.hats, atol=1e-10)


def test_model_change():
    model = Model(9, 4)
    u, project, _ = model.run(passes=2)
    linear, curve = lowrank.model_change(
        model.w, u, model.gradient, model.base, model.rows, project, model.scale, model.extra
    )
    d = u - model.w
    assert linear == pytest.approx(model.gradient @ d, rel=1e-12)
    assert curve == pytest.approx(0.5 * d @ model.H @ d, rel=1e-12)
    assert model.value(u) < model.value(model.w)


def test_a_diagonal_model_is_one_prox():
    model = Model(7, 0)
    u, _, _ = model.run(passes=1)
    assert model.violation(u) <= 1e-12
    assert model.run(passes=50, tiny=1e-28)[2] <= 3 * 7


def test_shrinking_saves_steps_and_changes_nothing():
    """Most coordinates rest at 0; passes must not keep visiting them."""
    model = Model(400, 10, l1=10.0)
    model.w[:] = 0.0
    u, _, _ = model.run(passes=5000, tiny=1e-30)
    assert model.violation(u) <= 1e-12
    assert 0 < (u != 0.0).sum() < 100
    full = Model(400, 10, l1=0.0)
    full.w[:] = 0.0
    every = full.run(passes=20)[2]
    assert every == 20 * 400
    assert model.run(passes=20)[2] < 0.6 * every


def test_orders_repeat_with_the_same_seed_and_differ_with_another():
    model = Model(30, 6)
    for order in (lowrank.SHUFFLED, lowrank.IID):
        one, two, three = (model.run(order=order, state=seed(s))[0] for s in (5, 5, 6))
        assert np.array_equal(one, two)
        assert not np.array_equal(one, three)
    assert np.array_equal(*(model.run(state=seed(s))[0] for s in (5, 6)))


def test_shuffle_is_a_fair_permutation():
    state, counts = seed(3), np.zeros((5, 5))
    for _ in range(4000):
        index = np.arange(5, dtype=np.uint64)
        lowrank.shuffle(index, 5, state)
        assert sorted(index) == list(range(5))
        counts[np.arange(5), index.astype(int)] += 1
    assert np.abs(counts / 4000 - 0.2).max() < 0.03


def test_random_coordinate_descent_contracts_as_promised():
    """E[Q_r - Q*] <= (1 - m/(4 M n))^r (Q_0 - Q*), m and M the extreme eigenvalues."""
    model, n = Model(12, 4), 12
    best = model.value(model.run(passes=5000, tiny=1e-30)[0])
    low, high = np.linalg.eigvalsh(model.H)[[0, -1]]
    start = model.value(model.w) - best
    for passes in (1, 3, 6):
        runs = [
            model.run(order=lowrank.IID, passes=passes, state=seed(s + 1))[0] for s in range(60)
        ]
        mean = np.mean([model.value(u) - best for u in runs])
        assert mean <= (1.0 - low / (4.0 * high * n)) ** (passes * n) * start


def test_classify():
    w = np.array([0.0, 0.0, 1.0, 1.0, -1.0, 0.5, 0.5, 0.0])
    gradient = np.array([0.5, -2.0, 0.3, -2.0, 0.3, 0.2, -0.2, 0.7])
    l1 = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    lower, upper = np.full(8, -np.inf), np.full(8, np.inf)
    upper[5:7] = 0.5
    steepest, kind = np.empty(8), np.empty(8, dtype=np.uint8)
    lowrank.classify(w, gradient, l1, np.zeros(8), lower, upper, steepest, kind)
    np.testing.assert_allclose(steepest, [0.0, -1.0, 1.3, -1.0, -0.7, 0.2, 0.0, 0.7])
    P, S, G = lowrank.PINNED, lowrank.SHRINKING, lowrank.GROWING
    assert kind.tolist() == [P, G, S, G, S, G, P, G]
