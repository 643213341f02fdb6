"""The hierarchical norm: one-pass prox, its dual ball, certificates, what is not a tree."""

import math
import time

import numpy as np
import pytest

from auctor.core.errors import AuctorError, ParameterError
from auctor.data import as_data
from auctor.lab.solvers import ProximalGradient
from auctor.losses import Logistic, Squared
from auctor.minimise import minimise
from auctor.penalties import L1, GroupL2, TreeL2
from auctor.problem import Problem
from auctor.solvers import Fista


def descendants(parents):
    """Members of every node's group, by walking up from each column."""
    groups = [[] for _ in parents]
    for t in range(len(parents)):
        above = t
        while above >= 0:
            groups[above].append(t)
            above = parents[above]
    return groups


def random_tree(rng, d, relabel=True):
    """Parents of a random tree or forest, nodes in no particular order."""
    parents = np.array([rng.integers(-1, t) if t else -1 for t in range(d)])
    name = rng.permutation(d) if relabel else np.arange(d)
    out = np.empty(d, dtype=int)
    for t in range(d):
        out[name[t]] = name[parents[t]] if parents[t] >= 0 else -1
    return out


def dual_descent(u, groups, levels, sweeps=4000):
    """The prox by block ascent on the dual: cycle ``zeta_g = projection of (v + zeta)_g``."""
    zeta = np.zeros((len(groups), u.size))
    v = u.copy()
    for _ in range(sweeps):
        moved = 0.0
        for k, group in enumerate(groups):
            free = v[group] + zeta[k, group]
            norm = np.linalg.norm(free)
            new = free * min(1.0, levels[k] / norm) if norm > 0 else free
            moved = max(moved, np.abs(new - zeta[k, group]).max())
            v[group] = free - new
            zeta[k, group] = new
        if moved < 1e-15:
            break
    return v


@pytest.mark.parametrize("trees", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_one_pass_equals_dual_descent(trees):
    rng = np.random.default_rng(0)
    for _ in range(trees):
        d = int(rng.integers(1, 12))
        parents = random_tree(rng, d)
        weights = rng.uniform(0.0, 1.5, size=d)
        u, step = rng.normal(size=d), rng.uniform(0.1, 1.0)
        found = TreeL2(1.0, parents, weights=weights).prox(u, step)
        wanted = dual_descent(u, descendants(parents), step * weights)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)


def test_the_value_is_the_sum_over_descendants():
    rng = np.random.default_rng(1)
    for _ in range(50):
        d = int(rng.integers(1, 20))
        parents, weights, w = random_tree(rng, d), rng.uniform(size=d), rng.normal(size=d)
        wanted = sum(
            weight * np.linalg.norm(w[group])
            for weight, group in zip(weights, descendants(parents), strict=True)
        )
        found = TreeL2(0.7, parents, weights=weights).value(w)
        assert found == pytest.approx(0.7 * wanted, rel=1e-13)


@pytest.mark.parametrize(
    ("u", "kept", "value"),
    [
        ([0.3, 0.9, 0.8], [1, 1, 1], [0.0428, 0.0571, 0.0428]),
        # Passing the square times the shrinkage upwards, not its square, would keep column 2.
        ([0.3, 0.3, 0.8], [0, 0, 0], [0.0, 0.0, 0.0]),
    ],
)
def test_toy_vectors(u, kept, value):
    found = TreeL2(0.5, [-1, 0, 0]).prox(np.array(u), 1.0)
    np.testing.assert_array_equal(found != 0.0, np.array(kept, dtype=bool))
    np.testing.assert_allclose(found, value, atol=1e-4)


def test_supports_are_closed_under_ancestors():
    rng = np.random.default_rng(2)
    mixed = 0
    for _ in range(200):
        d = 30
        parents = random_tree(rng, d)
        on = TreeL2(rng.uniform(0.05, 0.6), parents).prox(rng.normal(size=d), 1.0) != 0.0
        below = np.flatnonzero(parents >= 0)
        assert not (on[below] & ~on[parents[below]]).any()
        mixed += 0 < on.sum() < d
    assert mixed > 50


def test_singletons_and_stars_are_the_known_penalties():
    rng = np.random.default_rng(3)
    v = rng.normal(size=7)
    flat, lasso = TreeL2(0.3, np.full(7, -1)), L1(0.3)
    np.testing.assert_allclose(flat.prox(v, 0.8), lasso.prox(v, 0.8), atol=1e-16)
    assert flat.dual_scale(5 * v) == pytest.approx(lasso.dual_scale(5 * v), rel=1e-14)
    # A free root over leaves is one group only if leaves are free and the root is not.
    star = TreeL2(0.3, [-1, 0, 0, 0, 0, 0, 0], weights=[2.0, 0, 0, 0, 0, 0, 0])
    group = GroupL2(0.3, 7, weights=[2.0])
    np.testing.assert_allclose(star.prox(v, 0.8), group.prox(v, 0.8), atol=1e-15)
    np.testing.assert_allclose(star.violation(v, -v), group.violation(v, -v), atol=1e-15)
    assert star.dual_scale(5 * v) == pytest.approx(group.dual_scale(5 * v), rel=1e-14)


def test_the_dual_scale_is_where_the_prox_leaves_zero():
    rng = np.random.default_rng(4)
    for _ in range(200):
        d = int(rng.integers(1, 25))
        parents = random_tree(rng, d)
        weights = np.exp(rng.normal(size=d) * rng.uniform(0, 4))
        penalty = TreeL2(0.3, parents, weights=weights)
        v = rng.normal(size=d) * 10 ** rng.uniform(-1, 3)
        c = penalty.dual_scale(v)
        assert penalty.conjugate(c * v) == 0.0
        inside = np.linalg.norm(penalty.prox(c * (1 - 1e-9) * v, 1.0))
        assert inside <= 1e-15 * np.abs(v).max()
        if c < 1.0:
            assert penalty.prox(c * (1 + 1e-9) * v, 1.0).any()
            assert penalty.conjugate(c * (1 + 1e-6) * v) == math.inf


def test_a_free_column_at_the_top_has_no_dual_bound():
    penalty = TreeL2(1.0, [-1, 0, 0], weights=[0.0, 1.0, 1.0])
    assert penalty.dual_scale(np.array([1e-9, 0.0, 0.0])) == 0.0
    assert penalty.dual_scale(np.array([0.0, 2.0, 0.5])) == pytest.approx(0.5)
    assert penalty.conjugate(np.array([0.0, 1.0, 1.0])) == 0.0


def problem_of(loss, penalty, d=12, n=80):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d)) + 0.2
    y = X[:, :3] @ [1.0, 1.0, -0.5] + rng.normal(size=n)
    return Problem(loss, penalty, as_data(X, y if isinstance(loss, Squared) else np.sign(y)))


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("solver", [Fista(), ProximalGradient()], ids=lambda s: type(s).__name__)
def test_certificates_bound_the_true_gap(loss, solver):
    parents = [-1, 0, 1, 0, 2, 2, 3, 3, -1, 8, 8, 9]
    penalty = TreeL2(0.06, parents)
    best = minimise(problem_of(loss, penalty), Fista(), tol=1e-11, max_iter=20000)
    assert best.certified
    support = best.coef != 0.0
    assert 0 < support.sum() < 12
    below = [t for t in range(12) if parents[t] >= 0]
    assert not any(support[t] and not support[parents[t]] for t in below)
    seen = []
    minimise(problem_of(loss, penalty), solver, tol=1e-9, max_iter=5000, on_step=seen.append)
    for step in seen:
        if step.certified:
            assert step.value - best.value <= step.gap * (1 + 1e-9) + 1e-12
    # At the optimum the violation vanishes.
    problem = problem_of(loss, penalty)
    point = problem.evaluate(problem.join(best.coef, best.intercept))
    assert penalty.violation(best.coef, point.gradient[:12]).max() < 1e-5


def test_cost_grows_with_the_number_of_columns():
    """A chain, where walking up from every column would be quadratic."""
    seconds = []
    for d in (20_000, 200_000):
        penalty = TreeL2(1e-3, np.arange(-1, d - 1))
        v = np.random.default_rng(6).normal(size=d)
        penalty.prox(v, 1.0)
        best = math.inf
        for _ in range(5):
            start = time.process_time()
            penalty.prox(v, 1.0)
            best = min(best, time.process_time() - start)
        seconds.append(best)
    assert seconds[1] <= 40 * seconds[0]


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([1, 0], "cycle"),
        ([-1, 2, 3, 1], "cycle"),
        ([0], "cycle"),
        ([-1, 1], "cycle that leads back to column 1"),
        ([-1, 2], "from -1 to 1; got 2 for column 1"),
        ([-2, 0], "from -1 to 1; got -2 for column 0"),
        ([], "one integer per column"),
        ([-1.0, 0.0], "one integer per column"),
        ([[-1, 0]], "one integer per column"),
        ([[-1], [0, 1]], "several lengths"),
        (3, "one integer per column"),
        (["a"], "one integer per column"),
    ],
)
def test_what_is_not_a_tree_is_refused(parents, message):
    with pytest.raises(ParameterError, match=message):
        TreeL2(1.0, parents)


def test_bad_options_are_refused():
    for weights in ([1.0], [1.0, -1.0], [1.0, math.nan]):
        with pytest.raises(AuctorError, match="weight"):
            TreeL2(1.0, [-1, 0], weights=weights)
    for strength in (-1.0, math.inf, "1"):
        with pytest.raises(ParameterError, match="strength"):
            TreeL2(strength, [-1, 0])
    problem = problem_of(Squared(), TreeL2(1.0, [-1, 0]))
    with pytest.raises(ParameterError, match=r"one parent per column \(12\); got 2"):
        minimise(problem, Fista())


def test_nested_groups_from_the_definition():
    rng = np.random.default_rng(7)
    groups = [[4, 5], [0, 1, 2], [0, 1, 2, 3, 4, 5], [1], [6, 7]]
    weights = rng.uniform(0.2, 1.0, size=5)
    penalty = TreeL2.from_groups(0.8, groups, columns=9, weights=weights)
    for _ in range(50):
        w = rng.normal(size=9)
        wanted = 0.8 * sum(k * np.linalg.norm(w[g]) for k, g in zip(weights, groups, strict=True))
        assert penalty.value(w) == pytest.approx(wanted, rel=1e-13)
        found = penalty.prox(w, 0.7)
        np.testing.assert_allclose(found, dual_descent(w, groups, 0.56 * weights), atol=1e-10)
        assert found[8] == w[8]
    # A column in no group has no dual bound; without it the ball is where the prox is zero.
    assert penalty.dual_scale(np.ones(9)) == 0.0
    v = np.append(rng.normal(size=8), 0.0)
    c = penalty.dual_scale(50 * v)
    assert penalty.conjugate(c * 50 * v) == 0.0
    assert not penalty.prox(c * (1 - 1e-9) * 50 * v, 1.0).any()
    assert penalty.prox(c * (1 + 1e-9) * 50 * v, 1.0).any()


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1], [1, 2]], "nested or disjoint"),
        ([[0, 1, 2], [2, 3]], "nested or disjoint"),
        ([[0, 1], []], "each once"),
        ([[0, 4]], "columns 0 to 3"),
        ([[1, 1]], "each once"),
        ([[-1, 0]], "column numbers"),
    ],
)
def test_groups_that_are_not_nested_are_refused(groups, message):
    with pytest.raises(ParameterError, match=message):
        TreeL2.from_groups(1.0, groups, columns=4)


def test_columns_come_first():
    with pytest.raises(ParameterError, match=r"one parent per column \(3\); got 2"):
        TreeL2(1.0, [-1, 0], columns=3)
    with pytest.raises(ParameterError, match="columns"):
        TreeL2(1.0, [-1, 0], columns=0)
    with pytest.raises(ParameterError, match="one weight"):
        TreeL2.from_groups(1.0, [[0, 1]], columns=2, weights=[1.0, 2.0])


def test_another_strength_shares_the_tree():
    rng = np.random.default_rng(8)
    for penalty in TreeL2.examples():
        d = 4
        other = penalty.with_strength(0.9)
        fresh = type(penalty)(
            0.9, penalty.parents, weights=penalty.weights, columns=penalty.columns
        )
        assert other.tree(d).parent is penalty.tree(d).parent
        assert repr(other) == repr(fresh)
        for _ in range(5):
            v, w = rng.normal(size=d), rng.normal(size=d)
            assert other.value(w) == fresh.value(w)
            assert other.dual_scale(v) == fresh.dual_scale(v)
            np.testing.assert_array_equal(other.prox(v, 0.3), fresh.prox(v, 0.3))
        assert penalty.strength != 0.9
    with pytest.raises(ParameterError, match="strength"):
        TreeL2(1.0, [-1]).with_strength(-1.0)
