"""Group penalties: closed forms, the dual ball, certificates, bad input."""

import math

import numpy as np
import pytest

from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.data import as_data
from auctor.lab.solvers import ProximalGradient
from auctor.losses import Logistic, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, GroupL2, TreeL2
from auctor.problem import Problem
from auctor.solvers import BlockCoordinateDescent, Fista

W = np.array([3.0, 4.0, -1.0, 0.0, 0.0, 2.0])


def soft(v, level):
    return np.sign(v) * np.maximum(np.abs(v) - level, 0.0)


@pytest.mark.parametrize(
    ("penalty", "value"),
    [
        (GroupL2(1.0, 2), math.sqrt(2) * (5 + 1 + 2)),
        (GroupL2(0.5, 3, weights=[1.0, 2.0]), 0.5 * (math.sqrt(26) + 2 * 2)),
        (GroupL2(2.0, [[0, 5], [1, 2, 3, 4]], weights=[1, 1]), 2 * (math.sqrt(13) + math.sqrt(17))),
        (GroupL2(1.0, 2, weights=[1, 1, 1], l1_ratio=0.25), 0.75 * 8 + 0.25 * 10),
        (GroupL2(1.0, [[0, 1]], weights=[1], free=[2, 3, 4, 5]), 5.0),
    ],
)
def test_values_by_hand(penalty, value):
    assert penalty.value(W) == pytest.approx(value, rel=1e-15)


def test_the_prox_is_the_closed_form():
    rng = np.random.default_rng(0)
    groups = [[0, 3, 5], [1], [2, 4, 6, 7]]
    for ratio in (0.0, 0.3, 1.0):
        penalty = GroupL2(0.7, groups, weights=[1.0, 0.5, 2.0], l1_ratio=ratio)
        for _ in range(30):
            v, step = 3 * rng.normal(size=8), rng.uniform(0.1, 2.0)
            wanted = soft(v, step * 0.7 * ratio)
            for group, weight in zip(groups, [1.0, 0.5, 2.0], strict=True):
                level = step * 0.7 * (1 - ratio) * weight
                norm = np.linalg.norm(wanted[group])
                wanted[group] *= max(1 - level / norm, 0.0) if norm else 0.0
            np.testing.assert_allclose(penalty.prox(v, step), wanted, rtol=0, atol=1e-15)


def test_three_ways_to_name_the_groups_agree():
    sized, labelled = GroupL2(0.3, 3), GroupL2(0.3, np.array([4, 4, 4, 9, 9, 9]))
    listed = GroupL2(0.3, [[0, 1, 2], [3, 4, 5]])
    tabled = GroupL2(0.3, np.arange(6).reshape(2, 3))
    for other in (labelled, listed, tabled):
        assert other.value(W) == sized.value(W)
        np.testing.assert_array_equal(other.prox(W, 0.7), sized.prox(W, 0.7))
    shuffled = GroupL2(0.3, [7, 1, 7, 1, 7, 1])
    np.testing.assert_array_equal(
        shuffled.prox(W, 0.7), GroupL2(0.3, [[1, 3, 5], [0, 2, 4]]).prox(W, 0.7)
    )


def test_groups_of_one_are_the_lasso():
    penalty, lasso = GroupL2(0.4, 1), L1(0.4)
    v = np.random.default_rng(1).normal(size=9)
    np.testing.assert_allclose(penalty.prox(v, 0.9), lasso.prox(v, 0.9), atol=1e-16)
    np.testing.assert_allclose(penalty.violation(v, -v), lasso.violation(v, -v), atol=1e-15)
    assert penalty.dual_scale(9 * v) == pytest.approx(lasso.dual_scale(9 * v), rel=1e-14)


@pytest.mark.parametrize("ratio", [0.0, 0.4])
def test_the_dual_scale_is_where_the_prox_leaves_zero(ratio):
    """``prox(v, 1) = 0`` exactly in the dual ball."""
    rng = np.random.default_rng(2)
    penalty = GroupL2(0.3, [[0, 2], [1, 3, 4]], weights=[1.0, 0.2], l1_ratio=ratio)
    for _ in range(50):
        v = rng.normal(size=5) * 10 ** rng.uniform(-1, 2)
        c = penalty.dual_scale(v)
        assert np.abs(penalty.prox(c * v, 1.0)).max() <= 1e-15 * np.abs(v).max()
        assert penalty.conjugate(c * v) == 0.0
        if c < 1.0:
            assert penalty.prox(c * (1 + 1e-9) * v, 1.0).any()
            assert penalty.conjugate(c * (1 + 1e-9) * v) == math.inf


def test_violations_of_a_group_have_its_distance_as_norm():
    penalty = GroupL2(1.0, 2, weights=[1.0, 1.0])
    w, grad = np.array([0.0, 0.0, 3.0, 4.0]), np.array([3.0, -4.0, -0.6, -0.8])
    found = penalty.violation(w, grad)
    assert np.linalg.norm(found[:2]) == pytest.approx(4.0)
    np.testing.assert_allclose(found[2:], 0.0, atol=1e-15)


def problem_of(loss, penalty, seed=0, n=60, d=12, fit_intercept=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.3
    y = X[:, :4] @ [1.0, -1.0, 0.5, 0.5] + rng.normal(size=n)
    if isinstance(loss, Logistic):
        y = np.where(y > 0, 1.0, -1.0)
    return Problem(loss, penalty, as_data(X, y), fit_intercept=fit_intercept)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("ratio", [0.0, 0.3])
@pytest.mark.parametrize("solver", [Fista(), ProximalGradient()], ids=lambda s: type(s).__name__)
def test_certificates_bound_the_true_gap(loss, ratio, solver):
    penalty = GroupL2(0.05, 4, l1_ratio=ratio)
    best = minimise(problem_of(loss, penalty), BlockCoordinateDescent(), tol=1e-11)
    seen = []
    problem = problem_of(loss, penalty)
    minimise(problem, solver, tol=1e-9, max_iter=5000, on_step=seen.append)
    assert len(seen) > 5
    certified = [s for s in seen if s.certified]
    assert certified
    for step in certified:
        assert step.value - best.value <= step.gap * (1 + 1e-9) + 1e-12


def test_an_unpenalised_column_is_not_shrunk():
    """As in a model with that column and the penalised ones' optimality."""
    penalty = GroupL2(0.3, [[1, 2, 3], [4, 5, 6, 7, 8, 9, 10, 11]], free=[0])
    problem = problem_of(Squared(), penalty)
    solution = minimise(problem, BlockCoordinateDescent(), tol=1e-9)
    point = problem.evaluate(problem.join(solution.coef, solution.intercept))
    assert not solution.certified  # no dual bound for a free column; the violation instead
    assert abs(point.gradient[0]) < 1e-8
    assert abs(solution.coef[0]) > 0.5


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1], [1, 2]], "share no column; got column 1 twice"),
        ([[0, 0], [1]], "column 0 twice"),
        ([[0, 1], []], "group 1 is empty"),
        ([], "no group at all"),
        ([[0], [2]], "missing"),
        ([[0, 1], [-1]], "column numbers from 0"),
        ([[0, 1.5]], "column numbers from 0"),
        ([[0, "a"]], "column numbers from 0"),
        ([0.0, 1.0], "integer labels"),
        (["a", "b"], "integer labels"),
        (0, "at least 1"),
        (-2, "at least 1"),
        (True, "at least 1"),
        (2.5, "size, labels or lists"),
        (None, "size, labels or lists"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ParameterError, match=message):
        GroupL2(1.0, groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0]}, "one weight per group"),
        ({"weights": [1.0, -1.0]}, "weights >= 0"),
        ({"weights": [1.0, math.nan]}, "finite"),
        ({"l1_ratio": 1.5}, "l1_ratio"),
        ({"free": [0]}, "column 0 twice"),
        ({"free": [7]}, "groups of the columns 0 to 4"),
        ({"free": [-1]}, "free"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(AuctorError, match=message):
        GroupL2(1.0, [[0, 1], [2, 3]], **options)


@pytest.mark.parametrize("strength", [-1.0, math.inf, math.nan, "1", None])
def test_bad_strengths_are_refused(strength):
    with pytest.raises(ParameterError, match="strength"):
        GroupL2(strength, 2)


def test_groups_for_other_columns_are_refused_before_any_work():
    for penalty, message in (
        (GroupL2(1.0, 5), "multiple of 5"),
        (GroupL2(1.0, [[0, 1], [2]]), "got none for column 3"),
        (GroupL2(1.0, list(range(13))), "columns 0 to 11"),
    ):
        problem = problem_of(Squared(), penalty)
        with pytest.raises(ParameterError, match=message):
            minimise(problem, Fista())
        assert problem.counts.passes == 0
    with pytest.raises((DataError, ParameterError), match="free"):
        GroupL2(1.0, 3, free=[0])


def test_another_strength_shares_the_groups():
    rng = np.random.default_rng(8)
    for penalty in GroupL2.examples():
        before = penalty.blocks(4)
        other = penalty.with_strength(0.9)
        fresh = GroupL2(
            0.9,
            penalty.groups,
            weights=penalty.weights,
            l1_ratio=penalty.l1_ratio,
            free=penalty.free,
        )
        assert other.blocks(4).indices is before.indices
        assert repr(other) == repr(fresh)
        for _ in range(5):
            v, w = rng.normal(size=4), rng.normal(size=4)
            assert other.value(w) == fresh.value(w)
            assert other.dual_scale(v) == fresh.dual_scale(v)
            np.testing.assert_array_equal(other.prox(v, 0.3), fresh.prox(v, 0.3))
        np.testing.assert_array_equal(penalty.blocks(4).weight, before.weight)
    with pytest.raises(ParameterError, match="strength"):
        GroupL2(1.0, 2).with_strength(-1.0)


def test_groups_as_a_tree():
    """With a node above each group the tree kernels give the same norm."""
    rng = np.random.default_rng(9)
    for penalty in GroupL2.examples():
        spec = penalty.tree(4)
        assert penalty.tree(4) is spec
        parents = np.where(spec.parent == spec.weight.size, -1, spec.parent.astype(int))
        tree = TreeL2(1.0, parents, weights=spec.weight, columns=4)
        for _ in range(5):
            v, w = rng.normal(size=4), rng.normal(size=4)
            assert tree.value(w) == pytest.approx(penalty.value(w), rel=1e-14)
            np.testing.assert_allclose(tree.prox(v, 0.3), penalty.prox(v, 0.3), atol=1e-15)
            assert tree.dual_scale(v) == pytest.approx(penalty.dual_scale(v), rel=1e-12)
