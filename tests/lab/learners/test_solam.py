"""SOLAM, regSOLAM and FSAUC: lazy steps against plain ones, convergence, errata."""

import numpy as np
import pytest
import scipy.optimize
from scipy import sparse

from auctor.data import as_data
from auctor.lab.learners import Fsauc, RegSolam, Solam
from auctor.lab.learners.fsauc import stages
from auctor.losses import PairwiseSquare
from auctor.metrics import auc
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Exact


def slopes(x, positive, p, w, a, b, alpha):
    s, q = w @ x, p * (1 - p)
    if positive:
        on_w = 2 * (1 - p) * (s - a - 1 - alpha) * x
        return on_w, -2 * (1 - p) * (s - a), 0.0, -2 * (1 - p) * s - 2 * q * alpha
    return 2 * p * (s - b + 1 + alpha) * x, 0.0, -2 * p * (s - b), 2 * p * s - 2 * q * alpha


def plain(X, y, weight, l2, radius, rate, power=0.5, ascent=1.0):
    """Averages of w and of (a, b, alpha), all columns in every step."""
    w, abc, total, sums, mass = np.zeros(X.shape[1]), np.zeros(3), 0.0, np.zeros(3), 0.0
    weights, squares, longest, t, rows = np.zeros(2), 0.0, 0.0, 0, 0
    for x, label, c in zip(X, y, weight, strict=True):
        if c == 0:
            continue
        rows += 1
        weights[int(label > 0)] += c
        squares += c * (x @ x)
        longest = max(longest, np.linalg.norm(x))
        if not weights.min() > 0 or squares == 0:
            continue
        t += 1
        p, gamma, share = weights[1] / weights.sum(), rate / t**power, c * rows / weights.sum()
        length = gamma * weights.sum() / squares
        on_w, on_a, on_b, on_alpha = slopes(x, label > 0, p, w, *abc)
        total, sums, mass = total + gamma * w, sums + gamma * abc, mass + gamma
        w = max(1 - length * p * (1 - p) * l2, 0) * w - length * share * on_w
        w = w * min(1, radius / (np.linalg.norm(w) or 1))
        abc = abc - gamma * share * np.array([on_a, on_b, -ascent * on_alpha])
        bound = radius * longest * np.array([1, 1, 2])
        abc = np.clip(abc, -bound, bound)
    return total / mass, sums / mass


@pytest.mark.parametrize(
    ("learner", "l2", "radius", "power"),
    [
        (Solam(10.0), 0.0, 10.0, 0.5),
        (Solam(0.05, rate=3.0), 0.0, 0.05, 0.5),
        (Solam(1.0, rate=0.1, step="constant"), 0.0, 1.0, 0.0),
        (RegSolam(0.1), 0.1, np.sqrt(20.0), 0.5),
        (RegSolam(30.0, rate=10.0), 30.0, np.sqrt(2 / 30), 0.5),
        (RegSolam(0.1, rate=0.2, step="constant"), 0.1, np.sqrt(20.0), 0.0),
        (RegSolam(0.1, step=0.7), 0.1, np.sqrt(20.0), 0.7),
    ],
    ids=repr,
)
def test_lazy_steps_are_the_plain_ones(learner, l2, radius, power, thin):
    X, y, weight = thin(700)
    mean, others = plain(X, y, weight, l2, radius, learner.rate, power)
    for rows in (X, sparse.csr_array(X)):
        learner.fit(rows, y, weight)
        np.testing.assert_allclose(learner.coef_[0], mean, rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(learner.saddle_, others, rtol=1e-10, atol=1e-11)


def exact(X, y, strength):
    problem = Problem(PairwiseSquare(), L2(strength), as_data(X, y))
    return problem, minimise(problem, Exact(), tol=1e-13).coef


def test_convergence_of_the_average(two_gaussians):
    """A7: the gap at least halves with ten times the rows; alpha is the difference of means."""
    X, y = two_gaussians()
    problem, wanted = exact(X, y, 0.1)
    pick = np.random.default_rng(0).integers(0, y.size, 100000)
    learner, gaps, done = RegSolam(0.1, rate=10.0), [], 0
    for count in (1000, 10000, 100000):
        some = pick[done:count]
        learner.partial_fit(X[some], y[some])
        done = count
        gaps.append(problem.evaluate(learner.coef_[0]).value - problem.evaluate(wanted).value)
    assert gaps[1] <= gaps[0] / 2
    assert gaps[2] <= gaps[1] / 2
    w = learner.coef_[0]
    apart = w @ (X[y == -1].mean(axis=0) - X[y == 1].mean(axis=0))
    a, b, alpha = learner.saddle_
    assert alpha == pytest.approx(apart, rel=0.1)
    assert alpha == pytest.approx(b - a, rel=0.1)


def test_the_printed_sign_of_alpha_fails(two_gaussians):
    """E2: descent in alpha ends at its bound, far from the minimiser."""
    X, y = two_gaussians()
    problem, wanted = exact(X, y, 0.1)
    best, ones = problem.evaluate(wanted).value, np.ones(y.size)
    printed, others = plain(X, y, ones, 0.1, np.sqrt(20.0), 10.0, ascent=-1.0)
    assert abs(others[2]) > 0.8 * 2 * np.sqrt(20.0)
    right = problem.evaluate(RegSolam(0.1, rate=10.0).fit(X, y).coef_[0]).value - best
    assert problem.evaluate(printed).value - best > 10 * right


def test_duality_gap_against_the_saddle_function():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), rng.integers(1, 3, 60)
    X[y > 0] += 0.5
    learner = RegSolam(0.3, rate=2.0).fit(X, y)
    rows, labels = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    p = labels.mean()

    def saddle(v, alpha):
        """1 + E F / p(1-p) + strength/2 |w|^2, row by row."""
        s = rows @ v[:3]
        up = (1 - p) * (s - v[3]) ** 2 - 2 * (1 + alpha) * (1 - p) * s
        down = p * (s - v[4]) ** 2 + 2 * (1 + alpha) * p * s
        mean = np.where(labels > 0, up, down).mean() - p * (1 - p) * alpha**2
        return 1 + mean / (p * (1 - p)) + 0.15 * v[:3] @ v[:3]

    v, alpha = np.append(learner.coef_[0], learner.saddle_[:2]), learner.saddle_[2]
    top = -scipy.optimize.minimize(lambda one: -saddle(v, one[0]), [alpha]).fun
    bottom = scipy.optimize.minimize(lambda v: saddle(v, alpha), v, options={"gtol": 1e-9}).fun
    gap = learner.duality_gap(X, y, weight)
    assert gap == pytest.approx(top - bottom, rel=1e-7)
    problem, wanted = exact(rows, np.where(labels > 0, 1.0, -1.0), 0.3)
    best = problem.evaluate(wanted).value
    assert gap >= problem.evaluate(learner.coef_[0]).value - best >= 0.0
    for rate, steps in ((1.0, "sqrt"), (0.05, "constant")):
        later = RegSolam(0.3, rate=rate, step=steps, passes=300).fit(X, y)
        assert later.duality_gap(X, y) < 0.05 * learner.duality_gap(X, y)


# --- stages -------------------------------------------------------------------------------------


def onto_l1(w, radius):
    """Projection on ``|w|_1 <= radius``, by sorting."""
    if np.abs(w).sum() <= radius:
        return w
    size = np.sort(np.abs(w))[::-1]
    levels = (np.cumsum(size) - radius) / np.arange(1, size.size + 1)
    return np.sign(w) * np.maximum(np.abs(w) - levels[np.flatnonzero(size > levels)[-1]], 0)


def plain_stages(X, y, weight, radius, rate, length, growth, theory=False, l1=False):
    """FSAUC with all columns in every step: centre of the stage, how many there were, its average.

    And how often the ball around the centre and the bound of alpha around its own were reached.
    """
    reached = np.zeros(2, dtype=int)
    d = X.shape[1]
    v, centre, alpha, alpha0, total = np.zeros(d + 2), np.zeros(d + 2), 0.0, 0.0, 0.0
    sums, weights, squares, kappa, rows = np.zeros((2, d)), np.zeros(2), 0.0, 0.0, 0
    stage, done, extra, beta = 0, 0, 0.0, None
    for x, label, c in zip(X, y, weight, strict=True):
        if c == 0:
            continue
        rows += 1
        own = int(label > 0)
        sums[own] += c * x
        weights[own] += c
        squares += c * (x @ x)
        kappa = max(kappa, np.linalg.norm(x))
        if not weights.min() > 0 or squares == 0:
            continue
        p, share, gamma = weights[1] / weights.sum(), c * rows / weights.sum(), rate / 2**stage
        ball = 2 * np.sqrt(1 + 2 * kappa**2) * radius / 2**stage
        on_w, *rest, on_alpha = slopes(x, label > 0, p, v[:d], *v[d:], alpha)
        step = np.append(on_w * weights.sum() / squares, rest)
        if theory:
            bounds = (
                (1 + 4 * kappa) * kappa * (radius + 1),
                2 * kappa * (2 * radius + 1 + 2 * radius * kappa),
                2 * kappa * (4 * kappa * radius + 11 * radius + 1),
            )
            root = np.sqrt((beta or 1 + 8 * kappa**2) / (2 * length))
            step, gamma = np.append(on_w, rest), rate * root * ball / max(bounds)
        v = v - gamma * share * step
        for _ in range(2):
            if l1:
                v[:d] = onto_l1(v[:d], radius)
            v[:d] *= min(1, radius / (np.linalg.norm(v[:d]) or 1))
            v[d:] = np.clip(v[d:], -radius * kappa, radius * kappa)
            reached[0] += np.linalg.norm(v - centre) > 1.01 * ball
            v = centre + (v - centre) * min(1, ball / (np.linalg.norm(v - centre) or 1))
        reach = 2 * np.sqrt(2) * kappa * ball + extra
        alpha += gamma * share * on_alpha
        reached[1] += (
            1.01 * reach < abs(alpha - alpha0) and abs(alpha0) + reach < 2 * radius * kappa
        )
        alpha = np.clip(alpha, alpha0 - reach, alpha0 + reach)
        alpha = np.clip(alpha, -2 * radius * kappa, 2 * radius * kappa)
        total, done = total + v, done + 1
        if done >= length:
            centre = v = total / done
            means = sums / weights[:, None]
            alpha = alpha0 = (means[0] - means[1]) @ v[:d]
            log = np.log(120)
            few = min(p, 1 - p) * done - np.sqrt(2 * done * log)
            wide = 4 * np.sqrt(2) * kappa * (2 + np.sqrt(2 * log)) * (1 + 2 * kappa) * radius
            extra = wide / np.sqrt(few) if few > 0 else np.inf
            few = min(p, 1 - p) - np.sqrt(2 * log / done)
            if few > 0:
                wide = 32 * kappa**2 * (1 + 2 * kappa) ** 2 * (2 + np.sqrt(2 * log)) ** 2
                beta = 1 + 8 * kappa**2 + wide / few
            total, done, stage, length = 0.0, 0, stage + 1, int(length * growth)
    return centre[:d], stage, total[:d] / done, reached


@pytest.mark.parametrize("radius", [0.1, 10.0])
@pytest.mark.parametrize("rate", [0.3, 3.0])
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("step", ["halving", "theory"])
def test_lazy_stages_are_the_plain_ones(radius, rate, norm, step, thin):
    X, y, weight = thin(1200)
    how = step == "theory", norm == "l1"
    wanted, stage, *_ = plain_stages(X, y, weight, radius, rate, 60, 2, *how)
    assert stage >= 3
    for rows in (X, sparse.csr_array(X)):
        learner = Fsauc(radius, norm=norm, step=step, rate=rate, stage=60)
        learner.partial_fit(rows, y, sample_weight=weight)
        np.testing.assert_allclose(learner.state_["table"][:, 2], wanted, rtol=1e-9, atol=1e-11)


def test_stages_stay_in_their_ball_and_alpha_in_its_interval():
    rng, n, radius, rate = np.random.default_rng(0), 12_000, 1.0, 30.0
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = 0.02 * (rng.normal(size=(n, 3)) + 0.3 * y[:, None]).clip(-2.0, 2.0)
    *_, wanted, reached = plain_stages(X, y, np.ones(n), radius, rate, n // stages(n), 1)
    assert reached.min() > 50  # else a kernel without one of these bounds would pass
    found = Fsauc(radius, rate=rate).fit(X, y).coef_[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


def test_one_pass_of_stages_is_near_the_optimum(two_gaussians):
    """A19, with a known number of rows and without."""
    X, y = two_gaussians(60000)
    _, w = exact(X, y, 1e-3)
    wanted = auc(y == 1, X @ w)
    assert stages(y.size) == 5
    assert Fsauc(float(np.linalg.norm(w))).fit(X, y).score(X, y) > wanted - 0.01
    assert Fsauc().fit(X, y).score(X, y) > wanted - 0.01
    found = Fsauc(float(np.abs(w).sum()), norm="l1").fit(X, y)
    assert found.score(X, y) > wanted - 0.01
    assert np.abs(found.coef_).sum() <= np.abs(w).sum() * (1 + 1e-9)
    assert Fsauc().partial_fit(X, y).score(X, y) > wanted - 0.01
