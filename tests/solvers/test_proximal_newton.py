"""ProximalNewton gives the answers of other solvers, on every storage and penalty."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import ElasticNet as TheirNet
from sklearn.linear_model import Lasso, LogisticRegression

from auctor.core.errors import ConvergenceWarning, IncompatibleError
from auctor.core.result import Status
from auctor.data import as_data
from auctor.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    PairwiseHinge,
    PairwiseSquare,
    PairwiseSquaredHinge,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2, Box, ElasticNet, GroupL2, NonNegative, Sum
from auctor.problem import Problem
from auctor.solvers import Lhac, ProximalNewton, choose
from auctor.solvers.choose import resolve
from tests.solvers.newton import (
    FEW,
    MANY,
    assert_close,
    other,
    problem_of,
    sample,
    solve,
    thin,
    with_share,
)

LOSSES = [
    Logistic(),
    SquaredHinge(),
    SmoothedHinge(0.5),
    SmoothedHinge(2.0),
    Exponential(),
    Squared(),
    Huber(0.5),
    Quantile(0.3, width=0.3),
    EpsilonInsensitive(0.2, width=0.3),
    Absolute(0.5),
    Poisson(),
    PairwiseSquare(),
]


# --- answers ---------------------------------------------------------------------------------


@pytest.mark.sample(3)
@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_every_smooth_loss(loss, d, ratio):
    problem = with_share(loss, 0.2, ratio=ratio, d=d)
    assert_close(solve(problem), other(problem))


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [FEW, MANY])
def test_intercept_and_weights(d, weighted, fit_intercept):
    for loss in (Logistic(), Squared()):
        problem = with_share(loss, 0.1, d=d, weighted=weighted, fit_intercept=fit_intercept)
        found = solve(problem)
        assert_close(found, other(problem))
        assert fit_intercept or found.intercept == 0.0


def test_weights_are_repeated_rows():
    X, y, _ = sample(60, MANY)
    y = np.where(y > 0, 1.0, -1.0)
    times = np.random.default_rng(1).integers(0, 4, size=60)
    once = Problem(Logistic(), L1(0.05), as_data(X, y, weight=times.astype(float)))
    often = Problem(Logistic(), L1(0.05), as_data(np.repeat(X, times, 0), np.repeat(y, times)))
    assert_close(solve(once), solve(often))


@pytest.mark.parametrize(("n", "d"), [(150, 20), (80, 1500)])
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_liblinear(n, d, share):
    problem = with_share(Logistic(), share, n=n, d=d, weighted=False, fit_intercept=False)
    strength = problem.penalty.strength
    X, y, _ = sample(n, d)
    theirs = LogisticRegression(
        l1_ratio=1.0, C=1.0 / (n * strength), solver="liblinear", tol=1e-8, max_iter=20000,
        fit_intercept=False,
    ).fit(X, np.where(y > 0.2, 1, -1))  # fmt: skip
    wanted = problem.evaluate(theirs.coef_[0].astype(float)).value
    found = solve(problem)
    assert found.value == pytest.approx(wanted, rel=1e-7)
    assert found.value <= wanted + found.gap
    np.testing.assert_array_equal(found.coef != 0.0, np.abs(theirs.coef_[0]) > 1e-9)


@pytest.mark.parametrize("d", [FEW, MANY])
def test_lasso_and_elastic_net(d):
    X, y, weight = sample(100, d)
    for ratio, theirs in (
        (1.0, Lasso(alpha=0.05, tol=1e-14, max_iter=100000)),
        (0.4, TheirNet(alpha=0.08, l1_ratio=0.4, tol=1e-14, max_iter=100000)),
    ):
        theirs.fit(X, y, sample_weight=weight)
        problem = problem_of(Squared(), ElasticNet(theirs.alpha, ratio), d=d)
        w = problem.join(theirs.coef_, theirs.intercept_)
        found = solve(problem, tol=1e-9)
        assert found.value == pytest.approx(problem.evaluate(w).value, rel=1e-9)
        np.testing.assert_allclose(found.coef, theirs.coef_, atol=1e-4)


def test_saga_with_an_intercept():
    X, y, weight = sample(100, 10)
    y = np.where(y > 0.2, 1, -1)
    strength = 0.02
    theirs = LogisticRegression(
        l1_ratio=0.5, C=1.0 / (weight.sum() * strength), solver="saga", tol=1e-12, max_iter=50000,
    ).fit(X, y, sample_weight=weight)  # fmt: skip
    problem = Problem(Logistic(), ElasticNet(strength, 0.5), as_data(X, y * 1.0, weight=weight))
    wanted = problem.evaluate(np.append(theirs.coef_[0], theirs.intercept_[0])).value
    assert solve(problem).value == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize("d", [FEW, 3000])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_storages_agree(d, fit_intercept):
    options = {"n": 200, "d": d, "fit_intercept": fit_intercept}
    wanted = solve(with_share(Logistic(), 0.3, stored=thin, **options), tol=1e-10)
    for kind in (np.asfortranarray, sparse.csr_array, sparse.csc_array):
        problem = with_share(Logistic(), 0.3, stored=lambda X, kind=kind: kind(thin(X)), **options)
        found = solve(problem, tol=1e-10)
        np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-6)
        assert_close(found, wanted, rel=1e-9)
    half = with_share(Logistic(), 0.3, stored=lambda X: thin(X).astype(np.float32), **options)
    assert_close(solve(half), wanted, rel=1e-5)
    halves = sparse.csr_array
    half = with_share(
        Logistic(), 0.3, stored=lambda X: halves(thin(X).astype(np.float32)), **options
    )
    assert_close(solve(half), wanted, rel=1e-5)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_wide_data_against_fista(kind):
    shape = {"n": 80, "d": 1500} if kind is np.asarray else {"n": 200, "d": 3000}
    for share in (0.5, 0.1):
        problem = with_share(Logistic(), share, stored=lambda X: kind(thin(X)), **shape)
        assert_close(solve(problem), other(problem))


# --- penalties -------------------------------------------------------------------------------


def levels(d, *, zeros=3):
    weights = np.random.default_rng(4).uniform(0.5, 2.0, size=d)
    weights[:zeros] = 0.0
    return weights


@pytest.mark.sample(2)
@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("loss", [Logistic(), Squared(), Huber(0.5)], ids=repr)
def test_weights_per_column(loss, d):
    for penalty in (
        L1(0.05, weights=levels(d)),
        L1(0.05, weights=levels(d, zeros=0)),
        ElasticNet(0.08, 0.5, weights=levels(d)),
        Sum(L1(0.05, weights=levels(d)), L2(0.01)),
    ):
        problem = problem_of(loss, penalty, d=d)
        found = solve(problem)
        # Where columns are free there is no certificate, and the violation must do.
        assert_close(found, other(problem, 1e-8), rel=1e-6)
        if penalty.separable(d).l1[0] == 0.0:
            assert found.coef[:3].all()


BOXES = [
    NonNegative(),
    Box(-0.1, 0.2),
    Box(-np.inf, 0.13),
    Box(0.02, 0.05),
    Sum(L1(0.01), Box(-0.03, 0.1)),
    Sum(ElasticNet(0.02, 0.5), NonNegative()),
]


@pytest.mark.parametrize("loss", [Logistic(), Squared()], ids=repr)
@pytest.mark.parametrize("penalty", BOXES, ids=lambda p: type(p).__name__)
def test_boxes_in_a_matrix_model(loss, penalty):
    problem = problem_of(loss, penalty)
    found = solve(problem)
    assert_close(found, other(problem), rel=1e-7)
    spec = penalty.separable(FEW)
    assert ((found.coef >= spec.lower) & (found.coef <= spec.upper)).all()


@pytest.mark.sample(4)
@pytest.mark.parametrize("loss", [Logistic(), Squared()], ids=repr)
@pytest.mark.parametrize("penalty", [*BOXES, Box(-0.03, 0.07)], ids=lambda p: type(p).__name__)
def test_boxes_with_many_columns(loss, penalty):
    """Also where ``w + (bound - w)`` lands one rounding outside the bound."""
    for seed in range(3):
        problem = problem_of(loss, penalty, d=MANY, n=200, seed=seed)
        found = solve(problem, tol=1e-7)
        wanted = other(problem, 1e-6)
        assert found.converged
        assert abs(found.value - wanted.value) <= 2e-6 * problem.null.loss
        spec = penalty.separable(MANY)
        assert ((found.coef >= spec.lower) & (found.coef <= spec.upper)).all()


# --- trouble ---------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [FEW, MANY])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_no_penalty_on_separable_data(d, fit_intercept):
    """Bounded, warned, finite: the infimum 0 is at infinity."""
    problem = problem_of(
        Logistic(), L1(0.0), n=20, d=d, weighted=False, fit_intercept=fit_intercept
    )
    with pytest.warns(ConvergenceWarning, match="ProximalNewton stopped after"):
        found = solve(problem, max_iter=15, tol=1e-12)
    assert np.isfinite(found.coef).all()
    assert np.isfinite(found.value)
    assert found.value < problem.null.loss
    assert not found.converged


@pytest.mark.parametrize("d", [FEW, MANY])
def test_no_tolerance_ends_as_a_stall(d):
    for loss in (Logistic(), Squared()):
        found = solve(with_share(loss, 0.2, d=d), tol=0.0, on_failure="ignore", max_iter=300)
        assert found.status in (Status.STALLED, Status.CONVERGED)
        assert found.n_iter < 100
        assert found.gap <= 1e-9


def test_large_scores_do_not_overflow():
    for loss in (Exponential(), Poisson(), Logistic()):
        for d in (FEW, MANY):
            problem = with_share(loss, 0.3, d=d, stored=lambda X: 300.0 * X)
            found = solve(problem, on_failure="ignore")
            assert found.value < problem.null.loss
            # Weights 300 times smaller have the same scores, and the strength is a share.
            same = solve(with_share(loss, 0.3, d=d))
            assert found.value == pytest.approx(same.value, rel=1e-7)


@pytest.mark.parametrize(
    ("loss", "penalty", "alternative"),
    [
        (Hinge(), L1(0.1), "continuation"),
        (Absolute(), L1(0.1), "continuation"),
        (PairwiseHinge(), L1(0.1), "continuation"),
        (PairwiseHinge(0.5), L1(0.1), "lhac"),
        (Logistic(), GroupL2(0.1, groups=[list(range(10)), list(range(10, MANY))]), "block"),
    ],
)
def test_refusals_name_alternatives(loss, penalty, alternative):
    problem = problem_of(loss, penalty, d=MANY)
    with pytest.raises(IncompatibleError, match="ProximalNewton needs") as caught:
        resolve(ProximalNewton(), problem)
    assert alternative in str(caught.value)
    with pytest.raises(IncompatibleError):
        minimise(problem, ProximalNewton())
    assert problem.counts.passes == 0


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()], ids=repr)
def test_columns_that_add_up_to_others_take_few_steps(loss):
    """Shares of one constant: where the l1 norm alone decides, coordinates would crawl."""
    rng = np.random.default_rng(2)
    often = np.geomspace(1.0, 0.01, 20)
    kinds = np.eye(20)[rng.choice(20, size=4000, p=often / often.sum())]
    Z = np.column_stack([kinds, rng.normal(size=(4000, 4))])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    y = np.where(Z @ rng.normal(size=24) + 2.0 * rng.normal(size=4000) > 0.5, 1.0, -1.0)
    problem = Problem(loss, L1(1.0 / (1000 * 4000)), as_data(Z, y))
    found = minimise(problem, ProximalNewton(), max_iter=50)
    assert found.converged
    assert found.certified


def test_rough_samples_give_way_to_all_rows():
    """Few rows hold the rare columns, and a sample of them moves with every draw."""
    rng = np.random.default_rng(3)
    Z = (rng.random((12_000, 120)) < np.geomspace(0.3, 1e-3, 120)) * 1.0
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    score = Z @ rng.normal(size=120)
    y = np.where(score + score.std() * rng.normal(size=12_000) > 0.0, 1.0, -1.0)
    problem = Problem(SquaredHinge(), L1(1.0 / 12_000), as_data(Z, y))
    assert problem.hessian(problem.evaluate(problem.start())).sampled
    assert minimise(problem, ProximalNewton(), max_iter=40).converged


def test_pairs_take_a_matrix_while_a_dense_copy_is_small(monkeypatch):
    small = problem_of(PairwiseSquaredHinge(), L1(0.01))
    assert isinstance(choose(small), ProximalNewton)
    found, wanted = minimise(small, ProximalNewton(), tol=1e-8), minimise(small, Lhac(), tol=1e-8)
    np.testing.assert_allclose(found.value, wanted.value, rtol=1e-7)
    monkeypatch.setattr("auctor.problem.needs.PAIR_ENTRIES", 100)
    assert isinstance(choose(problem_of(PairwiseSquaredHinge(), L1(0.01))), Lhac)
