"""Maximum margins: primal, dual and chunks agree; what cannot be separated is said."""

import itertools
from functools import partial

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.svm import SVC

from auctor.core.errors import AuctorError, ConvergenceWarning, DataError
from auctor.lab.least_squares import lasso
from auctor.lab.qp import (
    QpStatus,
    QuadraticProgram,
    by_chunks,
    find_feasible,
    hard_margin,
    soft_margin,
    solve,
    svm_dual,
)


def two_clouds(seed, each, spread, d=2):
    """Two Gaussian clouds with means 0.5 and 1.5, the class -1 drawn first."""
    rng = np.random.default_rng(seed)
    X = np.vstack((rng.normal(0.5, spread, (each, d)), rng.normal(1.5, spread, (each, d))))
    return X, np.repeat([-1.0, 1.0], each)


@pytest.mark.parametrize("seed", range(5))
def test_hard_margin_primal_and_dual_agree(seed):
    X, y = two_clouds(seed, 50, 0.2)
    primal, dual = hard_margin(X, y), hard_margin(X, y, form="dual")
    np.testing.assert_allclose(primal.coef, dual.coef, atol=1e-6)
    assert primal.intercept == pytest.approx(dual.intercept, abs=1e-6)
    assert primal.value == pytest.approx(dual.dual_value, rel=1e-8)
    assert dual.multipliers.sum() == pytest.approx(primal.coef @ primal.coef, rel=1e-8)
    assert 2 <= primal.support.size <= 3
    assert (y * primal.decision_function(X)).min() == pytest.approx(1.0, abs=1e-9)
    assert primal.width == pytest.approx(2.0 / np.linalg.norm(primal.coef))


def test_the_dual_without_its_equation_has_the_same_solution():
    """The n - 1 variables of the notes (C6): H = Z'DZ with Z = [I; -y'/y_n]."""
    X, y = two_clouds(1, 20, 0.2)
    signed = y[:, None] * X
    Z = np.vstack((np.eye(39), -y[:-1] / y[-1]))
    program = QuadraticProgram(
        Z.T @ (signed @ signed.T) @ Z, -Z.sum(axis=0), Z[-1:], [0.0], lower=0.0
    )
    found = solve(program)
    assert found.residual.largest < 1e-9
    coef = signed.T @ (Z @ found.x)
    np.testing.assert_allclose(coef, hard_margin(X, y).coef, atol=1e-6)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_hard_margin_that_does_not_exist_is_said(form):
    X, y = two_clouds(0, 20, 1.0)
    with pytest.raises(DataError, match="classes that a hyperplane separates"):
        hard_margin(X, y, form=form)


def test_soft_margin_of_the_notes():
    """X3: seed 2, 20 + 20 points of spread 1."""
    X, y = two_clouds(2, 20, 1.0)
    for C, wanted in ((1e3, 20014.21), (1.0, 20.735327)):
        primal, dual = soft_margin(X, y, C=C), soft_margin(X, y, C=C, form="dual")
        assert primal.value == pytest.approx(wanted, rel=1e-6)
        assert dual.dual_value == pytest.approx(primal.value, rel=1e-9)
        np.testing.assert_allclose(primal.coef, dual.coef, rtol=1e-6)
        # Complementary slackness: rows inside the margin cost the full price.
        late = primal.slack > 1e-6
        np.testing.assert_allclose(primal.multipliers[late], C, rtol=1e-6)
        assert primal.n_iter < 200


def test_a_high_price_leaves_the_least_possible_slack():
    X, y = two_clouds(2, 20, 1.0)
    signed = y[:, None] * np.column_stack((X, np.ones(40)))
    least = linprog(
        np.append(np.zeros(3), np.ones(40)),
        np.hstack((-signed, -np.eye(40))),
        -np.ones(40),
        bounds=[(None, None)] * 3 + [(0, None)] * 40,
    )
    assert least.fun == pytest.approx(20.01330, abs=1e-5)
    assert soft_margin(X, y, C=1e5).slack.sum() == pytest.approx(least.fun, abs=1e-3)


@pytest.mark.parametrize("n", [60, 300])
def test_the_dual_equals_libsvm(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] ** 2 + 0.5 * rng.normal(size=n) > 0.5, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    a, b, _ = svm_dual(K, y, C=3.0)
    other = SVC(C=3.0, kernel="precomputed", tol=1e-9).fit(K, y)
    beta = np.zeros(n)
    beta[other.support_] = other.dual_coef_[0]
    np.testing.assert_allclose(K @ (y * a), K @ beta, atol=1e-6)
    assert b == pytest.approx(other.intercept_[0], abs=1e-6)


def test_weak_duality_and_concavity():
    X, y = two_clouds(3, 15, 1.0)
    K = X @ X.T
    rng = np.random.default_rng(0)

    def dual(a):
        return a.sum() - 0.5 * (y * a) @ K @ (y * a)

    best = soft_margin(X, y, C=1.0).value
    points = []
    for _ in range(20):
        a = rng.random(30)
        a[y > 0] *= a[y < 0].sum() / a[y > 0].sum()
        a /= a.max()
        assert dual(a) <= best + 1e-9
        points.append(a)
    for one, other in itertools.pairwise(points):
        assert dual(0.3 * one + 0.7 * other) >= 0.3 * dual(one) + 0.7 * dual(other) - 1e-9


def one_pass(X, y, order, chunks):
    """Chunking as the notes have it: rows that do not support are forgotten for good."""
    kept = np.zeros(0, dtype=int)
    for part in np.array_split(order, chunks):
        kept = np.append(kept, part)
        found = hard_margin(X[kept], y[kept])
        kept = kept[found.support]
    return found


@pytest.mark.parametrize("d", [2, 5, 10])
def test_chunks_are_exact_where_one_pass_is_not(d):
    failed = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = 40 * d
        X, y = rng.normal(size=(n, d)), np.repeat([-1.0, 1.0], n // 2)
        X[:, 0] += 4.0 * y
        if (y * X[:, 0]).min() <= 0:
            X[:, 0] = y * np.abs(X[:, 0])
        whole = hard_margin(X, y)
        parts = by_chunks(X, y, size=n // 5)
        np.testing.assert_allclose(parts.coef, whole.coef, atol=1e-6)
        assert parts.value == pytest.approx(whole.value, rel=1e-8)
        single = one_pass(X, y, rng.permutation(n), 5)
        failed += (y * single.decision_function(X)).min() < 1.0 - 1e-3
    assert d == 2 or failed > 0


def test_chunks_with_slack():
    X, y = two_clouds(4, 100, 0.5)
    whole = soft_margin(X, y, C=2.0, form="dual")
    parts = by_chunks(X, y, C=2.0, size=30)
    assert parts.value == pytest.approx(whole.value, rel=1e-8)
    assert parts.slack.sum() > 0.1


@pytest.mark.parametrize(
    ("y", "words"), [([1.0, 1.0, 1.0], "both of them"), ([0.0, 1.0, 1.0], "-1 and \\+1")]
)
def test_labels_are_checked(y, words):
    with pytest.raises(DataError, match=words):
        soft_margin(np.eye(3), y)


def test_a_kernel_that_is_not_square_is_refused():
    with pytest.raises(DataError, match="square K"):
        svm_dual(np.ones((2, 3)), [-1.0, 1.0])


def petals(seed, twist):
    """Six petals of 100 points with alternating labels, noise of spread 0.1 r (spec E-13)."""
    rng = np.random.default_rng(seed)
    r, petal = rng.random(600), np.repeat(np.arange(6), 100)
    angle = petal * np.pi / 3 + twist * r
    X = r[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    return X + 0.1 * r[:, None] * rng.normal(size=X.shape), np.where(petal % 2, -1.0, 1.0)


@pytest.mark.parametrize("seed", range(10))
def test_the_twist_decides_whether_angles_separate_the_swiss_roll(seed):
    """Spec X19 and X20: separable at twist 0.5, not at 1.0, with the radius or without it."""
    for twist, columns in ((0.5, 2), (1.0, 2), (1.0, 3)):
        X, y = petals(seed, twist)
        angle = 3.0 * np.arctan2(X[:, 1], X[:, 0])
        Z = np.column_stack((np.sin(angle), np.cos(angle), np.hypot(*X.T)))[:, :columns]
        rows = y[:, None] * np.column_stack((Z, np.ones(600)))
        size = columns + 1
        program = QuadraticProgram(np.zeros((size, size)), np.zeros(size), rows, np.ones(600))
        found = find_feasible(program)
        assert (found.status is QpStatus.INFEASIBLE) == (twist == 1.0)
        if found.converged:
            assert (rows @ found.x).min() > 1.0 - 1e-9
        else:
            assert np.abs(rows.T @ found.multipliers).max() < 1e-8 * found.multipliers.sum()


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize(("shift", "scale"), [(1e5, 1.0), (1e8, 1.0), (0.0, 1e-7), (-1e3, 1e7)])
def test_margins_travel_with_the_rows(form, shift, scale):
    """``x = shift + scale z`` has the margin of z: ``w = v / scale``, prices by ``1 / scale^2``."""
    Z, y = two_clouds(0, 50, 0.2)
    # Both margins see the same rows: those that are left after rounding.
    X = shift + scale * Z
    Z = (X - shift) / scale
    near, far = hard_margin(Z, y), hard_margin(X, y, form=form)
    assert (y * far.decision_function(X)).min() > 1.0 - 1e-6
    np.testing.assert_allclose(far.coef * scale, near.coef, rtol=1e-6)
    assert far.value == pytest.approx(near.value / scale**2, rel=1e-6)
    y = np.where(np.arange(y.size) % 9, y, -y)
    soft, other = soft_margin(Z, y, C=2.0), soft_margin(X, y, C=2.0 / scale**2, form=form)
    assert other.value == pytest.approx(soft.value / scale**2, rel=1e-6)
    np.testing.assert_allclose(other.coef * scale, soft.coef, rtol=1e-5)


def test_classes_that_only_rounding_separates_are_refused():
    X = 1e5 + np.repeat(np.linspace(0.0, 1.0, 10), 2)[:, None]
    with pytest.raises(DataError, match="hard_margin needs classes that a hyperplane separates"):
        hard_margin(X, np.tile([-1.0, 1.0], 10))


def test_a_program_that_stops_early_is_said(monkeypatch):
    X, y = two_clouds(2, 20, 1.0)
    early = partial(solve, max_iter=2)
    monkeypatch.setattr("auctor.lab.qp.margin.solve", early)
    with pytest.warns(ConvergenceWarning, match="soft_margin leaves the optimality conditions"):
        soft_margin(X, y)
    monkeypatch.setattr("auctor.lab.qp.margin.EXACT_ROUNDS", 0)
    with pytest.warns(ConvergenceWarning, match="svm_dual leaves"):
        svm_dual(X @ X.T, y, C=1.0)
    monkeypatch.setattr("auctor.lab.least_squares.linear.solve_program", early)
    with pytest.warns(ConvergenceWarning, match="lasso leaves"):
        lasso(X, y, strength=0.1)


@pytest.mark.parametrize(
    ("K", "C", "words"),
    [
        (np.eye(4), -1.0, "C finite and above 0; got -1"),
        (np.eye(4), np.nan, "C finite and above 0; got nan"),
        (np.eye(4), [1.0, 2.0, 0.0, 1.0], "C finite and above 0; got 0"),
        (np.eye(4), [1.0, 2.0], r"one for every row; got shape \(2,\) for 4 rows"),
        (np.diag([1.0, 1.0, 1.0, -2.0]), 1.0, "semi-definite kernel; got the eigenvalue -2"),
        (np.triu(np.ones((4, 4))), 1.0, "symmetric kernel; got a difference of 1"),
        (np.full((4, 4), np.nan), 1.0, "finite kernel values"),
    ],
)
def test_a_dual_that_is_no_program_is_refused(K, C, words):
    with pytest.raises(AuctorError, match=words):
        svm_dual(K, [-1.0, 1.0, -1.0, 1.0], C=C)
