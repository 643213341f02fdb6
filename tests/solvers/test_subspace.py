"""Newton on the subspace of a tree norm: optimality, groups, pair losses, storages, refusals."""

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.data import as_data
from auctor.losses import (
    FBeta,
    Hinge,
    Huber,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    PartialPairwiseHinge,
    Poisson,
    Squared,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, Box, ElasticNet, GroupL2, TreeL2
from auctor.problem import Problem
from auctor.solvers import (
    BlockCoordinateDescent,
    Continuation,
    Fista,
    ProximalNewton,
    SubspaceNewton,
    choose,
    regularisation_path,
    strength_max,
)
from auctor.solvers.sparse.subspace import subtree

D = 48


def design(n=150, d=D, seed=0):
    """Correlated columns of which a few runs matter, rows of several weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    w = np.zeros(d)
    w[:6], w[24:28] = rng.normal(size=6), rng.normal(size=4)
    s = X @ w
    return X + 0.3, s / s.std() + 0.5 * rng.normal(size=n) + 0.5, rng.uniform(0.2, 2.0, size=n)


def problem_of(loss, penalty, stored=np.asarray, fit_intercept=True, **options):
    X, y, weight = design(**options)
    if isinstance(loss, Poisson):
        y = np.round(np.abs(y))
    elif loss.targets != "real":
        y = np.where(y > 0.5, 1.0, -1.0)
    return Problem(loss, penalty, as_data(stored(X), y, weight=weight), fit_intercept=fit_intercept)


def relative(problem, share):
    """The problem at a share of the strength that empties the model."""
    top = strength_max(problem)
    return problem.with_penalty(problem.penalty.with_strength(share * top))


def nested(d=D, root=True, seed=1):
    """Runs of 4 columns in runs of 12 in one group of all, each with its own weight."""
    groups = [list(range(k, k + 4)) for k in range(0, d, 4)]
    groups += [list(range(k, k + 12)) for k in range(0, d, 12)]
    groups += [list(range(d))] if root else []
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(groups))
    return TreeL2.from_groups(1.0, groups, columns=d, weights=weights)


def heap(d=D):
    """Every column a node, two below each."""
    return TreeL2(1.0, (np.arange(d) - 1) // 2, weights=1.0 + np.arange(d) % 3)


PENALTIES = [nested(), nested(root=False), heap(), GroupL2(1.0, 4), GroupL2(1.0, 4, l1_ratio=0.4)]
NAMES = ["root", "forest", "heap", "groups", "sparse-groups"]


def distance_to_subdifferential(penalty, w, gradient, sweeps=3000):
    """Least ``|gradient + s|`` over subgradients s, by projections from the definition."""
    spec = penalty.tree(w.size)
    m = spec.weight.size
    groups = [[] for _ in range(m)]
    for t in range(w.size):
        above = t
        while above < m:
            groups[above].append(t)
            above = int(spec.parent[above])
    rest, free = gradient.copy(), []
    for k, group in enumerate(groups):
        norm = np.linalg.norm(w[group])
        if norm > 0.0:
            rest[group] += spec.weight[k] * w[group] / norm
        elif spec.weight[k] > 0.0:
            free.append((group, spec.weight[k], np.zeros(len(group))))
    for _ in range(sweeps):
        for k, (group, level, part) in enumerate(free):
            wanted = part - rest[group]
            new = wanted * min(1.0, level / max(np.linalg.norm(wanted), 1e-300))
            rest[group] += new - part
            free[k] = group, level, new
    return np.linalg.norm(rest)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "loss",
    [
        Logistic(),
        *(pytest.param(x, marks=pytest.mark.slow) for x in (Squared(), SquaredHinge())),
        *(pytest.param(x, marks=pytest.mark.slow) for x in (Huber(0.5), Poisson())),
    ],
)
@pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
@pytest.mark.parametrize(
    "fit_intercept", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["intercept", "plain"]
)
def test_optimality_from_the_definition(loss, penalty, fit_intercept):
    problem = relative(problem_of(loss, penalty, fit_intercept=fit_intercept), 0.15)
    found = minimise(problem, SubspaceNewton(), tol=1e-10, max_iter=200)
    assert found.certified
    assert found.coef.any()
    point = problem.evaluate(problem.join(found.coef, found.intercept))
    gradient = problem.coef(point.gradient)
    scale = np.linalg.norm(problem.coef(problem.evaluate(problem.start()).gradient))
    apart = distance_to_subdifferential(problem.penalty, found.coef, gradient)
    assert apart <= 1e-4 * scale
    if fit_intercept:
        assert abs(point.gradient[-1]) <= 1e-8


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
@pytest.mark.parametrize("share", [0.5, 0.02])
def test_agreement_with_long_fista(loss, penalty, share):
    problem = relative(problem_of(loss, penalty), share)
    found = minimise(problem, SubspaceNewton(), tol=1e-10, max_iter=200)
    slow = minimise(problem, Fista(), tol=1e-10, max_iter=50_000, on_failure="ignore")
    assert found.value <= slow.value * (1 + 1e-10)
    np.testing.assert_allclose(found.coef, slow.coef, atol=2e-3)


def test_gaps_on_the_way_are_honest_and_values_fall():
    problem = relative(problem_of(Logistic(), nested()), 0.05)
    best = minimise(problem, SubspaceNewton(), tol=1e-12, on_failure="ignore").value
    seen = []
    minimise(problem, SubspaceNewton(fewest=4), tol=1e-9, on_step=seen.append)
    assert all(s.value - best <= s.gap * (1 + 1e-9) + 1e-14 for s in seen if s.certified)
    assert np.all(np.diff([s.value for s in seen]) <= 1e-15)


def test_one_level_of_groups_is_the_group_lasso():
    groups = [list(range(k, k + 4)) for k in range(0, D, 4)]
    weights = np.linspace(0.5, 2.0, len(groups))
    tree = TreeL2.from_groups(0.03, groups, columns=D, weights=weights)
    flat = GroupL2(0.03, groups, weights=weights)
    one = minimise(problem_of(Logistic(), tree), SubspaceNewton(), tol=1e-11, on_failure="ignore")
    for solver in (BlockCoordinateDescent(), SubspaceNewton()):
        two = minimise(problem_of(Logistic(), flat), solver, tol=1e-11, on_failure="ignore")
        assert one.value == pytest.approx(two.value, rel=1e-10)
        np.testing.assert_allclose(one.coef, two.coef, atol=1e-4)
        np.testing.assert_array_equal(one.coef != 0.0, two.coef != 0.0)


def test_columns_alone_are_the_lasso():
    for penalty in (GroupL2(0.02, 1), TreeL2(0.02, np.full(D, -1))):
        found = minimise(problem_of(Squared(), penalty), SubspaceNewton(), tol=1e-10)
        wanted = problem_of(Squared(), L1(0.02))
        wanted = minimise(wanted, choose(wanted), tol=1e-10)
        np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-4)
        np.testing.assert_array_equal(found.coef != 0.0, wanted.coef != 0.0)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=repr)
def test_the_same_across_storages(loss):
    def thin(X):
        return np.where(np.abs(X) > 1.0, X, 0.0)

    kinds = [
        thin,
        lambda X: np.asfortranarray(thin(X)),
        lambda X: sparse.csr_array(thin(X)),
        lambda X: sparse.csc_array(thin(X)),
    ]
    found = []
    for kind in kinds:
        problem = relative(problem_of(loss, nested(), stored=kind), 0.1)
        found.append(minimise(problem, SubspaceNewton(fewest=8), tol=1e-11, on_failure="ignore"))
    for other in found[1:]:
        assert other.value == pytest.approx(found[0].value, rel=1e-10)
        np.testing.assert_allclose(other.coef, found[0].coef, atol=1e-4)


@pytest.mark.parametrize("loss", [PairwiseSquare(), PairwiseHinge().smoothed(0.1)], ids=repr)
@pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_pair_losses(loss, penalty, stored):
    problem = relative(problem_of(loss, penalty, stored=stored), 0.1)
    solver = choose(problem)
    assert isinstance(solver, SubspaceNewton)
    found = minimise(problem, solver, tol=1e-7, max_iter=300)
    slow = minimise(problem, Fista(), tol=1e-7, max_iter=30_000, on_failure="ignore")
    assert abs(found.value - slow.value) <= 3e-7


@pytest.mark.parametrize("penalty", [nested(), GroupL2(1.0, 4)], ids=["tree", "groups"])
def test_kinked_pair_losses(penalty):
    problem = relative(problem_of(PairwiseHinge(), penalty, n=60), 0.2)
    found = minimise(problem, choose(problem), tol=1e-3, max_iter=20_000)
    assert found.converged
    assert found.certified


def test_what_choose_picks():
    assert isinstance(choose(problem_of(Logistic(), nested())), SubspaceNewton)
    assert isinstance(choose(problem_of(Logistic(), GroupL2(0.1, 4))), BlockCoordinateDescent)


@pytest.mark.parametrize("root", [True, False], ids=["root", "forest"])
def test_far_fewer_passes_than_fista_on_sparse_data(root):
    d, n = 1200, 400
    rng = np.random.default_rng(3)
    X = sparse.random_array((n, d), density=0.03, rng=rng, format="csr")
    w = np.zeros(d)
    w[:12], w[600:612] = rng.normal(size=12), rng.normal(size=12)
    y = np.where(X @ w > np.median(X @ w), 1.0, -1.0)
    problem = relative(Problem(Logistic(), nested(d, root), as_data(X, y)), 0.1)
    fast = minimise(problem, SubspaceNewton(), tol=1e-6)
    slow = minimise(problem, Fista(), tol=1e-6, max_iter=20_000)
    assert fast.value <= slow.value * (1 + 1e-6)
    assert fast.passes < 0.4 * slow.passes


def test_zero_at_once_and_warm_starts():
    problem = problem_of(Logistic(), nested())
    zero = minimise(relative(problem, 1.001), SubspaceNewton())
    assert zero.n_iter == 0
    assert not zero.coef.any()
    problem = relative(problem, 0.1)
    cold = minimise(problem, SubspaceNewton(), tol=1e-8)
    warm = minimise(problem, SubspaceNewton(), tol=1e-8, w0=problem.join(cold.coef, cold.intercept))
    assert warm.n_iter <= 1


def test_paths():
    for penalty in (nested(), heap(), GroupL2(1.0, 4)):
        problem = problem_of(Logistic(), penalty)
        path = regularisation_path(problem, n=8, ratio=0.05, tol=1e-6)
        assert path.converged
        assert path.n_nonzero[0] == 0 < path.n_nonzero[-1]


def test_the_same_answer_twice():
    problems = [relative(problem_of(Logistic(), nested()), 0.05) for _ in range(2)]
    one, two = (minimise(p, SubspaceNewton(), tol=1e-6, rng=k) for k, p in enumerate(problems))
    np.testing.assert_array_equal(one.coef, two.coef)


def test_a_branch_is_the_norm_of_its_columns():
    rng = np.random.default_rng(4)
    for penalty in PENALTIES:
        spec = penalty.tree(D)
        for count in (1, 5, 30):
            inside = np.zeros(D, dtype=bool)
            inside[rng.choice(D, count, replace=False)] = True
            chosen, smaller = subtree(spec, inside)
            w = np.where(inside, rng.normal(size=D), 0.0)
            part = TreeL2(
                1.0,
                np.where(smaller.parent == smaller.weight.size, -1, smaller.parent.astype(int)),
                weights=smaller.weight,
                columns=chosen.size,
            )
            assert part.value(w[chosen]) == pytest.approx(penalty.value(w), rel=1e-13)
            np.testing.assert_allclose(part.prox(w[chosen], 0.1), penalty.prox(w, 0.1)[chosen])


def test_no_strength_on_separable_data_stays_finite():
    X = np.vstack((np.ones((5, 2)), -np.ones((5, 2)))) + 0.01 * np.arange(20).reshape(10, 2)
    problem = Problem(Logistic(), TreeL2(0.0, [-1, 0]), as_data(X, [1.0] * 5 + [-1.0] * 5))
    found = minimise(problem, SubspaceNewton(), tol=1e-12, max_iter=30, on_failure="ignore")
    assert np.isfinite(found.coef).all()
    assert found.value < 1e-2


@pytest.mark.parametrize(
    "penalty", [L1(0.02), ElasticNet(0.05, 0.3), L1(0.03, weights=[0.0, 1.0, 2.0] * 4)]
)
def test_columns_are_groups_of_one(penalty):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 12))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=80) > 0.0, 1.0, -1.0)
    problem = Problem(Logistic(), penalty, as_data(X, y))
    ours, theirs = (
        minimise(problem, solver, tol=1e-10, max_iter=200)
        for solver in (SubspaceNewton(), ProximalNewton())
    )
    assert ours.value == pytest.approx(theirs.value, abs=1e-10)
    np.testing.assert_allclose(ours.coef, theirs.coef, atol=1e-5)
    np.testing.assert_array_equal(ours.coef == 0.0, theirs.coef == 0.0)


@pytest.mark.parametrize("loss", [FBeta(), PairwiseHinge(), PartialPairwiseHinge(0.3)])
def test_smoothed_losses_with_l1_by_default(loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 15))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=400) > 1.0, 1.0, -1.0)
    problem = Problem(loss, L1(0.01), as_data(X, y))
    found = minimise(problem, choose(problem), tol=1e-3, max_iter=300)
    assert found.converged
    slow = minimise(problem, Continuation(Fista()), tol=1e-3, max_iter=3000, on_failure="ignore")
    unit = problem.null.loss
    assert found.value <= slow.value + 1e-3 * unit
    assert found.value - found.gap <= slow.value + 1e-12


def test_refusals():
    for loss, penalty, words in (
        (Logistic(), Box(-1.0, 1.0), "nested groups"),
        (Hinge(), nested(), "differentiable loss"),
    ):
        with pytest.raises(IncompatibleError, match=words):
            minimise(problem_of(loss, penalty), SubspaceNewton())
    for options in ({"fraction": 0.0}, {"fewest": 0}, {"max_moves": 0}, {"max_products": 0}):
        with pytest.raises(ParameterError):
            SubspaceNewton(**options)
