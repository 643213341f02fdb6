"""Smoothed AUC: acceptance checks C2, C3, C5, C6, C7 and C22 of the specification."""

import numpy as np
import pytest

from auctor.core.types import Target
from auctor.data import as_data
from auctor.losses import (
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Bmrm, Continuation, Newton
from auctor.testing.differences import slope


def make_data(n, d, share, seed):
    """Rows of unit norm with noisy linear labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    noisy = X @ rng.normal(size=d) + 0.3 * rng.normal(size=n)
    return X, np.where(noisy > np.quantile(noisy, 1 - share), 1.0, -1.0)


def corrected_sweep(scores, y, width):
    """The published sweep with its count corrected: value and both marginals of pair weights."""
    a, b = np.sort(scores[y > 0] - 0.5) / width, np.sort(scores[y < 0] + 0.5) / width
    m, n = a.size, b.size
    gamma_pos, squares = np.empty(m), 0.0
    j = k = 0
    s = t = 0.0
    for i in range(m):
        while j < n and b[j] < a[i]:
            s, t = s - b[j], t - b[j] ** 2
            if k == j:  # never entered the window
                s, t, k = s + b[j], t + b[j] ** 2, k + 1
            j += 1
        while k < n and b[k] <= a[i] + 1:
            s, t, k = s + b[k], t + b[k] ** 2, k + 1
        gamma_pos[i] = (n - k) + s - (k - j) * a[i]
        squares += (n - k) + (k - j) * a[i] ** 2 - 2 * a[i] * s + t
    inside = np.clip(b[:, None] - a[None, :], 0.0, 1.0)
    gamma_neg = inside.sum(axis=1)
    value = width / (m * n) * (b @ gamma_neg - a @ gamma_pos - 0.5 * squares)
    return value, gamma_pos / (m * n), gamma_neg / (m * n)


@pytest.mark.parametrize("kind", ["generic", "ties", "zero", "one positive"])
@pytest.mark.parametrize("width", [0.02, 0.5, 3.0])
def test_c2_value_and_marginals_equal_the_published_sweep(kind, width):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.4, 1.0, -1.0)
    scores = {"ties": np.round(rng.normal(size=60)), "zero": np.zeros(60)}.get(
        kind, rng.normal(size=60)
    )
    if kind == "one positive":
        y[:] = -1.0
        y[7] = 1.0
    value, grad = PairwiseHinge(width).value_grad(scores, Target(y))
    wanted, pos, neg = corrected_sweep(scores, y, width)
    assert value == pytest.approx(wanted, abs=1e-10)
    np.testing.assert_allclose(np.sort(-grad[y > 0]), np.sort(pos), atol=1e-12)
    np.testing.assert_allclose(np.sort(grad[y < 0]), np.sort(neg), atol=1e-12)
    assert -grad[y > 0].sum() == pytest.approx(grad[y < 0].sum(), rel=1e-12)


LOSSES = [
    PairwiseHinge(0.05),
    PairwiseSquaredHinge(),
    PairwiseLogistic(),
    PartialPairwiseHinge(0.2, 0.05),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_c3_gradients_by_central_differences(loss):
    X, y = make_data(300, 6, 0.3, 1)
    problem = Problem(loss, L2(1e-3), as_data(X, y))
    rng = np.random.default_rng(2)
    for size in (0.0, 1.0, 5.0):
        w = size * rng.normal(size=6)
        gradient = problem.total_gradient(problem.evaluate(w))
        for direction in rng.normal(size=(4, 6)):
            found = slope(lambda v: problem.evaluate(v).value, w, direction, 1e-5)
            scale = np.linalg.norm(gradient) * np.linalg.norm(direction)
            assert abs(float(found) - gradient @ direction) <= 1e-6 * scale


def test_c5_smoothing_is_below_by_at_most_half_the_width():
    rng = np.random.default_rng(3)
    y = np.where(rng.random(80) < 0.3, 1.0, -1.0)
    for width in (1e-3, 0.1, 2.0):
        for size in (0.0, 0.3, 3.0):
            scores = size * rng.normal(size=80)
            error = PairwiseHinge().value(scores, Target(y))
            error -= PairwiseHinge(width).value(scores, Target(y))
            assert -1e-14 <= error <= width / 2 + 1e-14
        # Every margin beyond the width: the bound is attained.
        exact, smooth = (loss.value(-9 * y, Target(y)) for loss in map(PairwiseHinge, (0.0, width)))
        assert exact - smooth == pytest.approx(width / 2, rel=1e-10)


def pair_columns(X, y):
    """The map A from pair weights to gradients, one column per pair."""
    pos, neg = X[y > 0], X[y < 0]
    differences = (neg[None, :, :] - pos[:, None, :]).reshape(-1, X.shape[1])
    return differences.T / differences.shape[0]


@pytest.mark.parametrize("n", [50, 200, 600])
def test_c6_the_constant_of_the_pair_design_does_not_grow(n):
    X, y = make_data(n, 5, 0.5 if n < 600 else 0.05, n)
    A = pair_columns(X, y)
    root = np.sqrt(A.shape[1] / 2)
    assert root * np.linalg.norm(A, 2) <= np.sqrt(2) + 1e-12


def test_c6_the_constant_of_the_marginal_design_grows_with_one_negative():
    """The rejected design smooths the marginals; its constant is n / sqrt(2 n_pos n_neg)."""
    constants = []
    for n_pos in (10, 100, 1000):
        n, m = n_pos + 1, n_pos
        signs = np.append(-np.ones(n_pos), 1.0)
        # All rows on one line of unit length, opposite in the two classes: the norm is attained.
        A = (signs * signs)[None, :] / m
        diameter = 0.5 * (n_pos + n_pos**2)
        constants.append(np.sqrt(diameter) * np.linalg.norm(A, 2))
        assert constants[-1] == pytest.approx(n / np.sqrt(2 * n_pos))
    assert constants[0] == pytest.approx(2.46, abs=0.01)
    assert constants[2] == pytest.approx(22.4, abs=0.02)


@pytest.mark.parametrize(
    ("loss", "stiffness"),
    [
        (PairwiseHinge(0.05), 20.0),
        (PairwiseHinge(1.0), 1.0),
        (PairwiseSquaredHinge(), 2.0),
        (PairwiseLogistic(), 0.25),
    ],
    ids=repr,
)
def test_c7_the_gradient_is_lipschitz(loss, stiffness):
    X, y = make_data(120, 5, 0.4, 5)
    A, target = pair_columns(X, y), Target(y)
    bound = stiffness * A.shape[1] * np.linalg.norm(A, 2) ** 2
    rng = np.random.default_rng(6)
    for _ in range(100):
        u, v = rng.normal(size=(2, 5)) * 10.0 ** rng.uniform(-2, 1)
        first, second = (X.T @ loss.value_grad(X @ w, target)[1] for w in (u, v))
        assert np.linalg.norm(first - second) <= bound * np.linalg.norm(u - v) * (1 + 1e-9)


def test_c22_the_certificate_holds_and_is_tight_at_the_smoothed_optimum():
    X, y = make_data(2000, 20, 0.3, 7)
    problem = Problem(PairwiseHinge(), L2(1e-4), as_data(X, y))
    best = minimise(problem, Continuation(), tol=1e-6, max_iter=500)
    # The optimum by a method that shares nothing with smoothing, and its own lower bound.
    cuts = minimise(problem, Bmrm(), tol=1e-3, max_iter=500)
    assert cuts.converged
    assert cuts.value - cuts.gap <= best.value <= cuts.value + 1e-9
    smoothed = problem.with_loss(PairwiseHinge(0.02))
    found = minimise(smoothed, Newton(), tol=1e-10, max_iter=200, on_failure="ignore")
    point, dual = problem.evaluate(found.coef), smoothed.evaluate(found.coef)
    assert problem.certificate(point, dual).gap <= 1e-4
    rng = np.random.default_rng(0)
    for size in (0.01, 1.0, 30.0):
        w = found.coef + size * rng.normal(size=20)
        point, dual = problem.evaluate(w), smoothed.evaluate(w)
        assert problem.certificate(point, dual).gap >= point.value - best.value
