"""OPAUC, its sketch, AdaOAM and MBA against the exact minimiser."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import sqrtm
from scipy.optimize import brentq, minimize
from sklearn.base import clone

from auctor import MetricClassifier, metrics
from auctor.core import memory
from auctor.core.errors import DataError, DataWarning, ParameterError
from auctor.lab.kernels.opauc import add_covariance, pair_slope, project_ball
from auctor.lab.kernels.reservoir import keep_row
from auctor.lab.learners import (
    AdaOam,
    Fsauc,
    MiniBatchAuc,
    OnlineGaussianAuc,
    Opauc,
    RegSolam,
    Solam,
)


def sphere(n=2000, d=10, p=0.1, seed=0):
    """Two Gaussian classes with a common covariance, rows of length one."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < p, 1.0, -1.0)
    shift = rng.normal(size=d) / np.sqrt(d)
    X = (rng.normal(size=(n, d)) + 1.5 * (y[:, None] > 0) * shift) @ (
        np.eye(d) + 0.3 * rng.normal(size=(d, d))
    )
    return X / np.linalg.norm(X, axis=1)[:, None], y


def exact(X, y, strength=1e-4):
    return (
        MetricClassifier("auc", surrogate="square", strength=strength, standardise=False)
        .fit(X, y)
        .coef_[0]
    )


def test_slope_of_a_row_is_the_gradient_of_its_mean_loss_over_pairs():
    X, y = sphere(n=60, d=4)
    negative, x = X[y < 0], X[y > 0][0]
    w, ridge = np.arange(4.0) - 1.0, 0.3
    mean = negative.mean(axis=0)
    centred = negative - mean
    slope = np.empty(4)
    size = pair_slope(x, 1.0, ridge, w, mean, slope)
    add_covariance(centred.T @ centred, float(len(negative)), w, slope)
    assert size == pytest.approx(((x - mean) ** 2).sum())

    def loss(w):
        return 0.5 * ((1.0 - (x - negative) @ w) ** 2).mean() + 0.5 * ridge * w @ w

    h = 1e-6
    for j, unit in enumerate(np.eye(4)):
        numeric = (loss(w + h * unit) - loss(w - h * unit)) / (2 * h)
        assert slope[j] == pytest.approx(numeric, abs=1e-7)


@pytest.mark.parametrize(
    "model",
    [Opauc(), Opauc(rank=50), AdaOam(), AdaOam(scaling="euclidean"), MiniBatchAuc()],
    ids=lambda m: repr(m),
)
@pytest.mark.parametrize("seed", [0, 1])
def test_one_pass_ranks_nearly_as_well_as_the_exact_minimiser(model, seed):
    X, y = sphere(n=20_000, seed=seed)
    best = metrics.auc(y, X @ exact(X, y))
    assert model.fit(X, y).score(X, y) >= best - 0.01


@pytest.mark.parametrize("model", [Opauc(strength=0.1), AdaOam(strength=0.1)], ids=repr)
def test_many_passes_come_close_to_the_exact_minimiser(model):
    X, y = sphere()
    w = exact(X, y, 0.1)
    found = model.set_params(passes=30).fit(X, y).coef_[0]
    assert np.linalg.norm(found - w) < 0.15 * np.linalg.norm(w)


def test_mba_comes_close_to_the_exact_minimiser():
    X, y = sphere()
    w = exact(X, y, 0.1)
    found = MiniBatchAuc(strength=0.1, buffer=2000, passes=15).fit(X, y).coef_[0]
    assert np.linalg.norm(found - w) < 0.05 * np.linalg.norm(w)


def test_mba_with_l1_minimises_its_objective():
    X, y = sphere()
    model = MiniBatchAuc(strength=0.05, l1=0.05, passes=2).fit(X, y)
    state, w = model.state_, model.coef_[0]
    squares = (np.triu(state["squares"]) + np.triu(state["squares"], 1).T) / state["mass"]
    slope = 2.0 * (squares @ w - state["contrast"] / state["mass"]) + 0.05 * w
    assert 0 < np.count_nonzero(w) < w.size
    np.testing.assert_allclose(slope[w != 0], -0.05 * np.sign(w[w != 0]), atol=1e-8)
    assert (np.abs(slope[w == 0]) <= 0.05 + 1e-8).all()


def test_a_drawn_pair_weighs_as_many_as_it_stands_for():
    rows = {1: np.array([1.0, 2.0]), -1: np.array([0.5, -1.0])}  # so that no draw matters
    cost, y = {1: 2.0, -1: 0.5}, np.array([-1, -1, 1, -1, 1, 1, 1, -1])
    weight = np.array([cost[label] for label in y])
    model = MiniBatchAuc(pairs=3).partial_fit([rows[label] for label in y], y, None, weight)
    earlier = [np.count_nonzero(y[:i] == -y[i]) for i in range(y.size)]
    mass = 3 * cost[1] * cost[-1] * sum(earlier)
    assert model.state_["mass"][0] == pytest.approx(mass)
    np.testing.assert_allclose(model.state_["contrast"], mass * (rows[1] - rows[-1]))


def test_rounds_of_pairs_have_the_moments_of_all_pairs():
    X, y = sphere(n=60, d=3, p=0.3)
    weight = np.linspace(0.0, 2.0, y.size)
    # Few rows and many draws: the moments come close to those of all weighted pairs.
    model = MiniBatchAuc(0.1, pairs=50, rounds=4000, buffer=500).fit(X, y, weight)
    up, down = X[y > 0], X[y < 0]
    share = np.outer(weight[y > 0], weight[y < 0])
    apart = up[:, None] - down
    mean = np.einsum("ij,ijk->k", share, apart) / share.sum()
    square = np.einsum("ij,ijk,ijl->kl", share, apart, apart) / share.sum()
    state = model.state_
    assert state["mass"][0] == pytest.approx(share.sum())
    np.testing.assert_allclose(state["contrast"] / state["mass"], mean, atol=0.005)
    drawn = (np.triu(state["squares"]) + np.triu(state["squares"], 1).T) / state["mass"]
    np.testing.assert_allclose(drawn, square, atol=0.005)
    # The weights are those of Algorithm 16, (Sigma + lambda_2 I)^-1 mu.
    wanted = np.linalg.solve(drawn + 0.05 * np.eye(3), state["contrast"] / state["mass"])
    np.testing.assert_allclose(model.coef_[0], wanted, rtol=1e-9)
    w = model.coef_[0]
    parts = [(up, weight[y > 0]), (down, weight[y < 0])]
    middle = np.mean([np.average(rows @ w, weights=some) for rows, some in parts])
    assert model.intercept_[0] == pytest.approx(-middle, abs=0.05)
    # Calls of partial_fit draw from their own rows, and weigh like their pairs.
    chunks = clone(model).partial_fit(X[:30], y[:30], None, weight[:30])
    chunks.partial_fit(X[30:], y[30:], None, weight[30:])
    inside = [share_of(weight[part], y[part]) for part in (slice(30), slice(30, 60))]
    assert chunks.state_["mass"][0] == pytest.approx(sum(inside))


def share_of(weight, y):
    return weight[y > 0].sum() * weight[y < 0].sum()


def test_one_pair_of_rows_in_rounds():
    model = MiniBatchAuc(pairs=3, rounds=2).fit([[1.0, 2.0], [0.5, -1.0]], [1, 0], [2.0, 0.5])
    np.testing.assert_allclose(model.state_["contrast"], [0.5, 3.0])
    assert model.partial_fit([[1.0, 1.0]], [1]).state_["mass"][0] == 1.0  # no pair in this call
    with pytest.raises(ParameterError, match="rounds"):
        MiniBatchAuc(rounds=0).fit(np.eye(2), [0, 1])


def test_reservoir_keeps_every_row_with_equal_probability():
    counts = np.zeros(50)
    for seed in range(1, 2001):
        rows, weights = np.zeros((5, 1)), np.zeros(5)
        seen, random = np.zeros(2, dtype=np.int64), np.array([seed * 7919], dtype=np.uint64)
        for i in range(50):
            keep_row(np.array([float(i)]), 1.0, rows, weights, seen, 0, random)
        counts[rows[:, 0].astype(int)] += 1
    np.testing.assert_allclose(counts / 2000, 0.1, atol=0.03)


def test_projection_in_a_metric():
    rng = np.random.default_rng(0)
    u, metric = rng.normal(size=5), rng.random(5) + 0.1
    found = u.copy()
    project_ball(found, metric, 0.7)
    best = minimize(
        lambda w: metric @ (w - u) ** 2,
        0.5 * u,
        constraints={"type": "ineq", "fun": lambda w: 0.49 - w @ w},
        options={"ftol": 1e-14},
    )
    np.testing.assert_allclose(found, best.x, atol=1e-5)
    assert np.linalg.norm(found) == pytest.approx(0.7)
    inside = 0.1 * u
    project_ball(inside, metric, 0.7)
    np.testing.assert_array_equal(inside, 0.1 * u)


def plain_ada_oam(X, y, strength, step, damping, scaling):
    """Algorithm 9, and with the full matrix, with numpy alone; rows without weights."""
    d, radius = X.shape[1], np.sqrt(2.0 / strength)
    w, outer = np.zeros(d), np.zeros((d, d))

    def onto_ball(u, H):
        if np.linalg.norm(u) <= radius:
            return u

        def excess(nu):
            return np.linalg.norm(np.linalg.solve(H + nu * np.eye(d), H @ u)) - radius

        nu = brentq(excess, 0.0, 1e6 * np.trace(H), xtol=1e-14, rtol=1e-14)
        return np.linalg.solve(H + nu * np.eye(d), H @ u)

    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        others = X[:t][y[:t] == -label]
        if not len(others):
            continue
        u = x - others
        g = 0.5 * strength * w - label * u.mean(axis=0) + (u @ w) @ u / len(u)
        outer += np.outer(g, g)
        root = np.real(sqrtm(outer)) if scaling == "full" else np.diag(np.sqrt(np.diag(outer)))
        H = root + damping * np.sqrt(np.trace(outer) / d) * np.eye(d)
        step_to = w - step * np.linalg.solve(H, g)
        w = onto_ball(step_to, np.eye(d) if scaling == "euclidean" else H)
    return w


@pytest.mark.parametrize("strength", [0.05, 3.0])
@pytest.mark.parametrize("scaling", ["diagonal", "euclidean", "full"])
def test_ada_oam_as_written_down(scaling, strength):
    X, y = sphere(n=120, d=4, p=0.4)
    # The first matrices are singular: with a small damping their rounding errors would count.
    learner = AdaOam(strength, step=0.7, damping=0.01, scaling=scaling)
    wanted = plain_ada_oam(X, y, strength, 0.7, 0.01, scaling)
    np.testing.assert_allclose(learner.fit(X, y).coef_[0], wanted, atol=1e-7)
    state = learner.partial_fit(X, y).state_
    again = clone(learner).fit(X, y)
    for x, label in zip(X, y, strict=True):
        again.partial_fit(x[None], [label])
    np.testing.assert_array_equal(again.state_["w"], state["w"])


def test_full_scaling_goes_by_the_directions_of_the_rows():
    """Turned columns turn w, which steps by column do not."""
    X, y = sphere(n=300)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]
    for scaling, same in (("full", True), ("diagonal", False)):
        learner = AdaOam(0.1, damping=0.01, scaling=scaling)
        first, second = (learner.fit(rows, y).coef_[0].copy() for rows in (X, X @ turn))
        assert np.allclose(first @ turn, second, atol=1e-6) == same
    grown = AdaOam(scaling="full", grow=True).fit(X[:, :4], y).partial_fit(X, y)
    assert grown.state_["squares"].shape == (10, 10)


def test_ada_oam_stays_in_the_ball_that_holds_the_minimiser():
    X, y = sphere()
    w = AdaOam(strength=2.0, step=50.0).fit(X, y).coef_[0]
    assert np.linalg.norm(w) <= 1.0 + 1e-9


def test_the_damping_of_ada_oam_is_relative_to_the_data():
    X, y = sphere(n=300)
    # Scores are next to zero at these scales: the slopes are the rows, and the units cancel.
    small, smaller = (AdaOam(0.0, damping=0.1).fit(c * X, y).coef_[0] for c in (1e-6, 1e-9))
    np.testing.assert_allclose(small, smaller, rtol=1e-4)
    assert np.abs(small).max() > 0.1
    assert not AdaOam().fit(np.zeros((4, 2)), [0, 1, 0, 1]).coef_.any()


SQUARE = [Opauc(), AdaOam(), MiniBatchAuc(), OnlineGaussianAuc()]


@pytest.mark.parametrize("model", SQUARE, ids=repr)
def test_too_many_columns_are_refused_before_memory_is_taken(model, monkeypatch):
    X = sparse.csr_array(([1.0], ([0], [61_999])), shape=(2, 62_000))
    monkeypatch.setattr(memory, "available_bytes", lambda: 16 * 2**30)
    wanted = r"GB of memory.* 62000 columns; got 17.2 GB.*(StreamingAUC|rank)"
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "fresh_state", lambda *_: pytest.fail("memory is taken"))
        with pytest.raises(DataError, match=wanted):
            model.fit(X, [0, 1])
    grown = clone(model).set_params(grow=True).fit(np.eye(2), [0, 1])
    with pytest.raises(DataError, match="62000 columns"):
        grown.partial_fit(X, [0, 1])
    np.testing.assert_array_equal(grown.n_features_in_, 2)
    Opauc(rank=2).fit(X, [0, 1])


def test_memory_that_the_system_does_not_give_is_the_same_error(monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(Opauc, "fresh_state", refuse)
    with pytest.raises(DataError, match="more memory for a state for 2 columns"):
        Opauc().fit(np.eye(2), [0, 1])


RUINED = [Opauc(), Opauc(rank=4), Fsauc(), Solam(), RegSolam()]


@pytest.mark.parametrize("model", RUINED, ids=repr)
def test_one_huge_row_is_warned_about_once(model):
    X, y = sphere(n=400)
    clone(model).fit(X, y)  # no warning
    X[200] *= 1e12
    learner = clone(model).partial_fit(X[:200], y[:200])
    with pytest.warns(DataWarning, match="one row"):
        learner.partial_fit(X[200:300], y[200:300])
    learner.partial_fit(X[300:], y[300:])  # said already
    assert np.isfinite(learner.coef_).all()
