"""SPAM: lazy steps against plain ones, convergence to the exact minimiser, step rules."""

import contextlib

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import AuctorError, IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.lab.learners import RegSolam, Spam
from auctor.losses import PairwiseSquare
from auctor.minimise import minimise
from auctor.penalties import L1, L2, Box, ElasticNet, GroupL2, NonNegative, Sum
from auctor.problem import Problem
from auctor.solvers import Exact, Fista
from auctor.streaming.state import check_state


def plain(X, y, weight, spec, step, rate=10.0, known=None):
    """SPAM as it is written down: all columns in every step. Last and averaged iterate."""
    d = X.shape[1]
    l1, l2, lower, upper = (np.broadcast_to(level, d) for level in spec)
    w, total, mass = np.clip(np.zeros(d), lower, upper), np.zeros(d), 0.0
    sums, weights, lengths, t, rows = np.zeros((2, d)), np.zeros(2), 0.0, 0, 0
    for x, label, c in zip(X, y, weight, strict=True):
        if c == 0:
            continue
        rows += 1
        own = int(label > 0)
        sums[own] += c * x
        weights[own] += c
        lengths += c * np.sqrt(x @ x)
        if known is not None:
            p, *means = known
        elif weights.min() > 0:
            p, means = weights[1] / weights.sum(), sums / weights[:, None]
        else:
            continue
        if lengths == 0:
            continue
        t += 1
        q, size = p * (1 - p), (lengths / weights.sum()) ** 2
        if step == "inverse":
            eta = 1 / (q * l2.min() * t + 4 * size)
        else:
            power = {"sqrt": 0.5, "constant": 0.0}.get(step, step)
            eta = min(rate / t**power, 0.25) / size
        share = c * rows / weights.sum()
        if own:
            slope = 2 * (1 - p) * share * (w @ (x - means[0]) - 1)
        else:
            slope = 2 * p * share * (w @ (x - means[1]) + 1)
        length = min(eta, 0.25 / (share * (x @ x))) if x.any() else eta
        u = w - length * slope * x
        w = np.sign(u) * np.maximum(np.abs(u) - eta * q * l1, 0) / (1 + eta * q * l2)
        w = np.clip(w, lower, upper)
        total, mass = total + t * w, mass + t
    return w, total / mass


PENALTIES = [
    L2(0.0),
    L2(0.3),
    L2(300.0),
    L1(0.02),
    L1(5.0),
    L1(0.05, weights=np.linspace(0.0, 3.0, 40)),
    ElasticNet(0.1, 0.3),
    ElasticNet(100.0, 1e-3),
    Box(-0.05, 0.1),
    Box(0.01, 0.1),
    Sum(L1(0.02), NonNegative()),
    L2(0.5, weights=np.linspace(0.0, 3.0, 40)),
    Sum(L1(0.02), L2(0.5, weights=np.linspace(0.0, 3.0, 40)), Box(-0.3, 0.1)),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("step", ["inverse", "sqrt", "constant", 0.8])
def test_lazy_steps_are_the_plain_ones(penalty, step, thin):
    X, y, weight = thin(700)
    spec = penalty.separable(40)
    last, mean = plain(X, y, weight, spec, step, rate=0.1 if step == "constant" else 3.0)
    for rows in (X, sparse.csr_array(X)):
        learner = Spam(penalty=penalty, step=step, rate=0.1 if step == "constant" else 3.0)
        learner.fit(rows, y, weight)
        np.testing.assert_allclose(learner.coef_[0], mean, rtol=1e-10, atol=1e-11)
        learner.average = False
        np.testing.assert_allclose(learner.coef_[0], last, rtol=1e-10, atol=1e-11)
        np.testing.assert_array_equal(learner.coef_[0] == 0.0, last == 0.0)


@pytest.mark.slow  # long streams; short ones are tested above
def test_long_streams_stay_the_plain_ones(thin):
    """Scales and thresholds are written into the columns now and then; nothing drifts."""
    X, y, weight = thin(20000, 12)
    X[:, 6:] *= np.random.default_rng(1).random((20000, 6)) < 0.003  # alone for a thousand rows
    for penalty in (
        L2(1.0),
        L1(1.0),
        L1(1e-4),
        L1(1e-5),
        ElasticNet(0.5, 0.05),
        ElasticNet(0.1, 1e-3),
    ):
        last, mean = plain(X, y, weight, penalty.separable(12), "constant", rate=0.2)
        learner = Spam(penalty=penalty, step="constant", rate=0.2).fit(X, y, weight)
        np.testing.assert_allclose(learner.coef_[0], mean, rtol=1e-9, atol=1e-11)
        learner.average = False
        np.testing.assert_allclose(learner.coef_[0], last, rtol=1e-9, atol=1e-11)


@pytest.mark.sample(3)
@pytest.mark.parametrize("penalty", [L1(0.003), L1(0.03), ElasticNet(0.01, 0.4)], ids=repr)
def test_many_columns_that_come_and_go(penalty):
    """Most columns are zero again before a row has them the next time."""
    rng = np.random.default_rng(0)
    n, d = 3000, 1500
    X = np.zeros((n, d))
    for row in X:
        row[(d ** rng.random(10)).astype(int) % d] = rng.uniform(0.2, 1.0, size=10)
    y = np.where(X[:, :40].sum(axis=1) + 0.5 * rng.normal(size=n) > 2.0, 1, -1)
    last, mean = plain(X, y, np.ones(n), penalty.separable(d), "inverse")
    learner = Spam(penalty=penalty).fit(sparse.csr_array(X), y)
    check_state(learner, learner.state_, d)  # every column is in one bucket at most
    np.testing.assert_allclose(learner.coef_[0], mean, rtol=1e-9, atol=1e-11)
    learner.average = False
    np.testing.assert_allclose(learner.coef_[0], last, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(learner.coef_[0] == 0.0, last == 0.0)
    assert 0.1 < (last == 0.0).mean() < 1.0


@pytest.mark.parametrize("penalty", [L2(0.1), ElasticNet(0.1, 0.3), Box(0.01, 0.2)], ids=repr)
def test_known_means(penalty, thin):
    X, y, weight = thin()
    weight = np.ones_like(weight)
    known = ((y == 1).mean(), X[y == -1].mean(axis=0), X[y == 1].mean(axis=0))
    wanted = plain(X, y, weight, penalty.separable(40), "inverse", known=known)[1]
    given = Spam(penalty=penalty, means=known).fit(X, y)
    np.testing.assert_allclose(given.coef_[0], wanted, rtol=1e-9, atol=1e-11)
    found = Spam(penalty=penalty, means="data").fit(X, y)
    np.testing.assert_allclose(found.coef_, given.coef_, rtol=1e-9, atol=1e-11)
    with pytest.raises(ParameterError, match="partial_fit"):
        Spam(means="data").partial_fit(X, y)


def test_another_penalty_in_mid_stream(thin):
    """Written down differently, a penalty goes through another kernel to the same weights."""
    X, y, weight = thin(900)
    some = np.linspace(0.0, 1e-14, 40)
    same = [
        ElasticNet(0.1, 0.4),
        ElasticNet(0.1, 0.4, weights=np.ones(40)),
        Sum(L1(0.04), L2(0.06, weights=1.0 + some)),
        ElasticNet(0.1, 0.4),
    ]
    plainly = [L2(0.06), L2(0.06, weights=1.0 + some), L2(0.06), Sum(L2(0.06), Box(-9.0, 9.0))]
    for penalties in (same, plainly):
        whole = Spam(penalty=penalties[0]).partial_fit(X, y, sample_weight=weight)
        parts = Spam()
        for k, penalty in enumerate(penalties):
            low, high = 200 * k, 200 * (k + 1) if k < 3 else 900
            parts.set_params(penalty=penalty)
            parts.partial_fit(X[low:high], y[low:high], sample_weight=weight[low:high])
        for average in (True, False):
            found, wanted = (m.set_params(average=average).coef_ for m in (parts, whole))
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)
    ridge = Spam(0.1).partial_fit(X[:300], y[:300])
    before = ridge.coef_
    ridge.set_params(penalty="l1", strength=5.0)
    np.testing.assert_array_equal(ridge.coef_, before)
    ridge.set_params(average=False).partial_fit(X[300:], y[300:])
    assert (ridge.coef_ == 0.0).mean() > 0.8


def test_the_step_is_a_gradient_of_the_loss_on_average(thin):
    """The mean over rows of what they add is p(1-p) times minus the gradient of the loss."""
    X, y, _ = thin()
    known = ((y == 1).mean(), X[y == -1].mean(axis=0), X[y == 1].mean(axis=0))
    q = known[0] * (1 - known[0])
    total = np.zeros(40)
    for i in range(y.size):
        one = Spam(0.0, means=known, average=False, step="constant", rate=1e-12)
        if X[i].any():
            one.partial_fit(X[[i]], y[[i]], classes=[-1, 1])
            total += one.coef_[0] * (X[i] @ X[i]) / 1e-12 / y.size
    problem = Problem(PairwiseSquare(), L2(0.0), as_data(X, y))
    np.testing.assert_allclose(total, -q * problem.evaluate(np.zeros(40)).gradient, atol=1e-10)


# --- convergence ------------------------------------------------------------------------------


def exact(X, y, penalty, solver=None):
    problem = Problem(PairwiseSquare(), penalty, as_data(X, y))
    return problem, minimise(problem, solver or Exact(), tol=1e-13, max_iter=20000).coef


def error(w, wanted):
    return float(np.linalg.norm(w - wanted) / np.linalg.norm(wanted))


def drawn(X, y, count, seed=0):
    pick = np.random.default_rng(seed).integers(0, y.size, count)
    return X[pick], y[pick]


def test_the_last_iterate_converges_at_its_rate(two_gaussians):
    """A8: squared errors fall about like 1/T."""
    X, y = two_gaussians()
    _, wanted = exact(X, y, L2(0.1))
    known = ((y == 1).mean(), X[y == -1].mean(axis=0), X[y == 1].mean(axis=0))
    learner, errors, counts = Spam(0.1, average=False, means=known), [], []
    for count in (1000, 9000, 90000):
        learner.partial_fit(*drawn(X, y, count, count))
        counts.append(learner.rows_seen_)
        errors.append(error(learner.coef_[0], wanted) ** 2)
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope <= -0.7
    assert errors[-1] < 1e-3


def test_the_average_is_closer_and_the_sqrt_rule_needs_it(two_gaussians):
    X, y = two_gaussians()
    _, wanted = exact(X, y, L2(0.1))
    Z, labels = drawn(X, y, 100000)
    found = {}
    for step in ("inverse", "sqrt", "constant"):
        learner = Spam(0.1, step=step).fit(Z, labels)
        mean = error(learner.coef_[0], wanted) ** 2
        learner.average = False
        found[step] = mean, error(learner.coef_[0], wanted) ** 2
    assert max(mean for mean, _ in found.values()) < 2e-3
    assert all(found[step][0] < 0.2 * found[step][1] for step in ("sqrt", "constant"))


def test_one_pass_with_running_means_reaches_the_minimiser(two_gaussians):
    X, y = two_gaussians(100000)
    _, wanted = exact(X, y, L2(0.1))
    assert error(Spam(0.1, average=False).fit(X, y).coef_[0], wanted) ** 2 < 3e-3
    assert error(Spam(0.1).fit(X, y).coef_[0], wanted) ** 2 < 3e-3


def test_the_strength_is_that_of_the_batch_solvers(two_gaussians):
    """E1: not p(1-p) times smaller."""
    X, y = two_gaussians()
    Z, labels = drawn(X, y, 100000)
    w = Spam(0.1).fit(Z, labels).coef_[0]
    q = (y == 1).mean() * (y == -1).mean()
    assert error(w, exact(X, y, L2(0.1))[1]) < 0.05
    assert error(w, exact(X, y, L2(0.1 * q))[1]) > 0.1


def test_against_the_saddle_point_method(two_gaussians):
    """A9, generated data: a smaller gap than regSOLAM after as many rows."""
    X, y = two_gaussians()
    problem, wanted = exact(X, y, L2(0.1))
    best = problem.evaluate(wanted).value
    Z, labels = drawn(X, y, 10000)

    def gap(learner):
        return problem.evaluate(learner.fit(Z, labels).coef_[0]).value - best

    spam = gap(Spam(0.1, average=False))
    assert min(gap(RegSolam(0.1, rate=rate)) for rate in (1.0, 10.0)) >= 5 * spam


def test_the_elastic_net(two_gaussians):
    """A10: near the minimiser; exact zeros are not to be expected."""
    X, y = two_gaussians()
    penalty = ElasticNet(0.13, 8 / 13)
    _, wanted = exact(X, y, penalty, Fista())
    Z, labels = drawn(X, y, 150000)
    learner = Spam(0.13, penalty="elastic_net", l1_ratio=8 / 13, average=False).fit(Z, labels)
    assert error(learner.coef_[0], wanted) <= 0.05
    assert error(Spam(penalty=penalty).fit(Z, labels).coef_[0], wanted) <= 0.05


def test_sane_without_tuning_whatever_the_scale(two_gaussians):
    X, y = two_gaussians(5000, 20, 0.05, 3)
    _, w = exact(X, y, L2(1e-4))
    scores = X @ w
    best = (scores[y == 1][:, None] > scores[y == -1]).mean()
    for scale in (1e-3, 1.0, 1e3):
        learner = Spam(1e-4 * scale**2)
        assert learner.fit(scale * X, y).score(scale * X, y) > best - 0.01
    spoilt = X.copy()
    spoilt[100] *= 100
    assert Spam().fit(spoilt, y).score(X, y) > best - 0.02


def test_the_threshold_is_between_the_classes(two_gaussians):
    X, y = two_gaussians(4000, 10, 0.5, 2, shift=4.0)
    assert (Spam().fit(X, y).predict(X) == y).mean() > 0.85


def test_refusals():
    with pytest.raises(IncompatibleError, match="separates"):
        Spam(penalty=GroupL2(0.1, 2)).fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ParameterError, match="l1_ratio"):
        Spam(l1_ratio=0.5).fit(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("value", [np.inf, 1e308, np.nan])
def test_scalars_beyond_reason_stay_inside_the_buckets(value):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] > 0.0).astype(int)
    learner = Spam(0.01, penalty="l1").fit(X, y)
    for k in range(learner.state_["scalars"].size):
        learner.state_["scalars"][k] = value
        with contextlib.suppress(AuctorError), np.errstate(all="ignore"):
            learner.partial_fit(X, y)
        heads = learner.state_["heads"]
        assert ((heads >= 0) & (heads <= 5)).all()
