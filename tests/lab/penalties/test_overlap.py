"""Groups that overlap: against quadratic programs, nested and disjoint groups, and certified."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimise

from auctor.core.errors import ParameterError
from auctor.data import as_data
from auctor.lab.penalties import OverlapL2
from auctor.losses import Logistic, Squared
from auctor.minimise import minimise
from auctor.penalties import GroupL2, TreeL2
from auctor.problem import Problem
from auctor.solvers import Fista, choose
from auctor.testing import PenaltySuite

CHAIN = [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 0]]


def slack_program(smooth, d, groups, levels, start):
    """Minimise a smooth function plus the penalty: the norms below variables of their own."""
    members = [np.array(g) for g in groups]
    limits = [
        {"type": "ineq", "fun": lambda z, k=k, g=g: z[d + k] ** 2 - z[g] @ z[g]}
        for k, g in enumerate(members)
    ] + [{"type": "ineq", "fun": lambda z: z[d:]}]
    top = np.concatenate((start, [np.linalg.norm(start[g]) + 0.1 for g in members]))
    found = scipy_minimise(
        lambda z: smooth(z[:d]) + levels @ z[d:], top, constraints=limits, method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )  # fmt: skip
    return found.fun, found.x[:d]


@pytest.mark.parametrize("seed", range(4))
def test_prox_against_a_program_with_cones(seed):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, 4)
    penalty, v = OverlapL2(0.6, CHAIN, weights=weights), 1.5 * rng.normal(size=8)
    x = penalty.prox(v, 0.7)
    value = 0.5 * (x - v) @ (x - v) + 0.7 * penalty.value(x)
    wanted, at = slack_program(lambda z: 0.5 * (z - v) @ (z - v), 8, CHAIN, 0.7 * 0.6 * weights, v)
    assert value <= wanted + 1e-9
    assert value == pytest.approx(wanted, abs=1e-5)
    np.testing.assert_allclose(x, at, atol=5e-3)


@pytest.mark.parametrize("seed", range(3))
def test_nested_and_disjoint_groups_are_those_with_closed_forms(seed):
    rng = np.random.default_rng(seed)
    nested = [[3], [0, 1], [0, 1, 2, 3], [4, 5], [0, 1, 2, 3, 4, 5]]
    weights, parts = rng.uniform(0.5, 1.5, 5), [[0, 3], [1, 2, 4], [5]]
    pairs = [
        (
            OverlapL2(0.4, nested, weights=weights),
            TreeL2.from_groups(0.4, nested, weights=weights, columns=6),
        ),
        (OverlapL2(0.4, parts), GroupL2(0.4, parts)),
    ]
    for ours, known in pairs:
        for scale in (0.5, 2.0, 8.0):
            v, grad = scale * rng.normal(size=6), rng.normal(size=6)
            w = known.prox(v, 1.0)
            np.testing.assert_allclose(ours.prox(v, 1.0), w, atol=1e-13)
            assert ours.value(v) == pytest.approx(known.value(v), rel=1e-14)
            far = np.linalg.norm(known.violation(w, grad))
            assert np.linalg.norm(ours.violation(w, grad)) == pytest.approx(far, rel=1e-9)
            assert ours.dual_scale(v) == pytest.approx(known.dual_scale(v), rel=1e-9)


def test_columns_in_no_group_are_free():
    penalty, v = OverlapL2(1.0, [[0, 1], [1, 2]]), np.array([0.1, 0.1, 0.1, 5.0])
    np.testing.assert_array_equal(penalty.prox(v, 1.0), [0.0, 0.0, 0.0, 5.0])
    assert penalty.conjugate(v) == np.inf
    assert penalty.dual_scale(v) == 0.0
    assert penalty.conjugate(np.array([0.1, 0.1, 0.1, 0.0])) == 0.0


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_fits_end_with_a_certificate(loss):
    rng = np.random.default_rng(0)
    groups = [list(range(3 * k, 3 * k + 5)) for k in range(9)] + [list(range(27, 31)), [30, 31]]
    X = rng.normal(size=(200, 32))
    s = X[:, :6] @ rng.normal(size=6) + 0.5 * rng.normal(size=200)
    y = s if loss.targets == "real" else np.where(s > 0.0, 1.0, -1.0)
    penalty = OverlapL2(0.08 if loss.targets == "real" else 0.02, groups)
    problem = Problem(loss, penalty, as_data(X, y))
    found = minimise(problem, choose(problem), tol=1e-7, max_iter=5000)
    assert found.certified
    assert found.converged
    zero = found.coef == 0.0
    assert 0 < zero.sum() < 32
    # What is zero is a union of groups; no other point has a lower objective.
    inside = np.zeros(32, dtype=bool)
    for group in groups:
        inside[group] |= zero[group].all()
    np.testing.assert_array_equal(inside, zero)
    best = minimise(problem, Fista(), tol=1e-11, max_iter=20_000, on_failure="ignore")
    assert found.value - best.value <= found.gap + 1e-12
    for size in (1e-6, 1e-3):
        w = problem.join(best.coef, best.intercept)
        near = w + size * rng.normal(size=(50, problem.n_params))
        assert min(problem.evaluate(one).value for one in near) >= best.value


def test_a_small_fit_against_a_program_with_cones():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 8)), rng.normal(size=40)
    penalty = OverlapL2(0.1, CHAIN)
    problem = Problem(Squared(), penalty, as_data(X, y), fit_intercept=False)
    found = minimise(problem, Fista(), tol=1e-10, max_iter=20_000)
    wanted, _ = slack_program(
        lambda w: 0.5 * ((X @ w - y) ** 2).mean(), 8, CHAIN, np.full(4, 0.1 * np.sqrt(3.0)),
        found.coef + 0.01,
    )  # fmt: skip
    assert found.value <= wanted + 1e-9
    assert found.value == pytest.approx(wanted, abs=1e-6)


@pytest.mark.slow  # `tests/test_contracts.py` runs the suite with one seed
@pytest.mark.parametrize("penalty", OverlapL2.examples(), ids=repr)
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_suite_with_other_vectors(penalty, seed):
    PenaltySuite(penalty, seed=seed).run()


@pytest.mark.parametrize(
    ("groups", "weights", "words"),
    [
        ([], None, "empty"),
        ([[0], []], None, "empty"),
        ([[0, -1]], None, "column numbers"),
        ([[0], [1]], [1.0], "one weight"),
        ([[0], [1]], [1.0, 0.0], "above 0"),
    ],
)
def test_wrong_groups_are_refused(groups, weights, words):
    with pytest.raises(ParameterError, match=f"OverlapL2 needs .*{words}"):
        OverlapL2(1.0, groups, weights=weights)
    with pytest.raises(ParameterError, match="column 5"):
        OverlapL2(1.0, [[0, 5]]).value(np.zeros(3))
