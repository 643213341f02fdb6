"""Dual coordinate ascent: losses, the intercept, gaps, blocks, shrinking, storages, refusals."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from auctor.core.errors import IncompatibleError, ParameterError
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
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2, Box, ElasticNet, GroupL2, NoPenalty, Sum
from auctor.problem import Problem
from auctor.solvers import Continuation, DualCoordinateAscent, Fista, Lbfgs
from auctor.solvers.choose import resolve

Dual = DualCoordinateAscent

LOSSES = [
    Logistic(),
    Hinge(),
    SmoothedHinge(0.5),
    SquaredHinge(),
    Exponential(),
    Squared(),
    Huber(0.5),
    Quantile(0.3),
    EpsilonInsensitive(0.2),
    Absolute(),
    Poisson(),
]
WITH_WIDTHS = [Quantile(0.8, width=0.3), EpsilonInsensitive(0.3, width=0.2), Absolute(0.4)]


def sample(n=60, d=6, seed=0, shift=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.exp(0.3 * rng.normal(size=d)) + shift
    s = X[:, :3] @ rng.normal(size=3)
    weight = rng.uniform(0.2, 2.0, size=n)
    weight[[3, 17]] = 0.0
    return X, s / s.std() + 0.5 + 0.5 * rng.normal(size=n), weight


def problem_of(loss, penalty, *, stored=np.asarray, fit_intercept=True, weighted=True, **options):
    X, y, weight = sample(**options)
    if isinstance(loss, Poisson):
        y = np.round(np.exp(np.clip(y, -2.0, 2.0)))
    elif loss.targets == "binary":
        y = np.where(y > 0.3, 1.0, -1.0)
    data = as_data(stored(X), y, weight=weight if weighted else None)
    return Problem(loss, penalty, data, fit_intercept=fit_intercept)


def solve(problem, solver=None, **options):
    settings = {"tol": 1e-7, "max_iter": 3000, "rng": 0, **options}
    return minimise(problem, solver or Dual(), **settings)


def other(problem, tol=1e-8):
    """The same problem by a solver that knows nothing of the dual."""
    if problem.loss.smooth:
        return minimise(problem, Fista(), tol=tol, max_iter=50000)
    inner = Lbfgs() if problem.penalty.smooth else Fista()
    return minimise(problem, Continuation(solver=inner), tol=max(tol, 1e-5), max_iter=50000)


def assert_same_optimum(found, wanted):
    """Both certified, and each within the gap of the other."""
    assert found.converged
    assert found.certified
    assert found.value <= wanted.value + found.gap * (1 + 1e-9) + 1e-13
    assert wanted.value <= found.value + wanted.gap * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("penalty", [L2(0.1), ElasticNet(0.15, 0.4)], ids=["l2", "net"])
@pytest.mark.parametrize("loss", LOSSES + WITH_WIDTHS, ids=repr)
def test_every_loss(loss, penalty, fit_intercept):
    problem = problem_of(loss, penalty, fit_intercept=fit_intercept)
    tol = 1e-8 if loss.smooth else 1e-5  # kinks: sublinear in the end
    found = solve(problem, tol=tol)
    assert_same_optimum(found, other(problem))
    assert found.gap <= problem.tolerance(tol)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("strength", [0.3, 0.01])
def test_linear_svc(loss, strength):
    X, y, _ = sample(n=80, d=5)
    y = np.where(y > 0.3, 1.0, -1.0)
    form = "hinge" if isinstance(loss, Hinge) else "squared_hinge"
    scale = 1.0 if isinstance(loss, Hinge) else 0.5  # theirs has no 1/2
    svc = LinearSVC(
        loss=form, dual=True, C=scale / (strength * 80), fit_intercept=False, tol=1e-10,
        max_iter=200000, random_state=0,
    ).fit(X, y)  # fmt: skip
    problem = Problem(loss, L2(strength), as_data(X, y), fit_intercept=False)
    found = solve(problem, tol=1e-8, max_iter=20000)
    theirs = problem.evaluate(svc.coef_[0].astype(float)).value
    assert abs(found.value - theirs) <= 2e-8
    np.testing.assert_allclose(found.coef, svc.coef_[0], atol=1e-3)


# --- the intercept ---------------------------------------------------------------------------


@pytest.mark.parametrize("strength", [0.1, 0.01])
@pytest.mark.parametrize("loss", [Hinge(), Quantile(0.2), Absolute()], ids=repr)
def test_kinks_and_an_intercept_are_certified_from_the_first_epochs(loss, strength):
    """A dual point with ``sum u = 0``; slopes at the weights alone would never certify."""
    problem = problem_of(loss, L2(strength), n=120, d=5)
    steps = []
    found = solve(problem, tol=0.0, max_iter=100, on_step=steps.append, on_failure="ignore")
    assert all(step.certified for step in steps[1:])
    assert found.gap <= 0.02 * problem.tolerance(1.0)
    assert found.gap == pytest.approx(min(step.gap for step in steps), rel=0.5, abs=1e-12)


def test_all_rows_at_rest_is_no_stall_while_the_intercept_moves():
    rng = np.random.default_rng(0)
    for n_positive in (51, 90):
        for strength in (100.0, 10.0):
            X = rng.normal(size=(100, 3))
            y = np.where(np.arange(100) < n_positive, 1.0, -1.0) + X[:, 0]
            problem = Problem(Quantile(0.3), L2(strength), as_data(X, y))
            assert solve(problem, tol=1e-8).converged


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Absolute()], ids=repr)
def test_columns_far_from_zero(loss):
    problem = problem_of(loss, L2(0.1), shift=3.0)
    assert_same_optimum(solve(problem, tol=1e-5, max_iter=6000), other(problem))


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), SquaredHinge()], ids=repr)
def test_one_class_and_no_columns_worth(loss):
    X, _, _ = sample()
    for y in (np.ones(60), np.where(np.arange(60) < 3, 1.0, -1.0)):
        problem = Problem(loss, L2(10.0), as_data(X, y))
        found = solve(problem, max_iter=500, on_failure="ignore")
        wanted = other(problem, tol=1e-6)
        assert found.value <= wanted.value + found.gap * (1 + 1e-9) + 1e-12
        assert wanted.value <= found.value + wanted.gap * (1 + 1e-9) + 1e-12


def test_data_without_entries_keeps_the_null_model():
    for fit_intercept in (False, True):
        for loss in (Logistic(), Hinge(), Squared(), Absolute()):
            y = np.array([1.0, 1.0, -1.0])
            problem = Problem(
                loss, L2(0.1), as_data(np.zeros((3, 2)), y), fit_intercept=fit_intercept
            )
            found = solve(problem)
            assert found.converged
            assert found.value == pytest.approx(problem.null.loss)


# --- gaps ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Quantile(0.3)], ids=repr)
def test_gaps_are_honest_and_fall(loss, fit_intercept):
    problem = problem_of(loss, L2(0.05), fit_intercept=fit_intercept)
    best = solve(problem, tol=1e-9, max_iter=20000, on_failure="ignore")
    steps = []
    found = solve(problem, tol=1e-6, on_step=steps.append)
    for step in steps:
        if step.certified:
            assert step.value - best.value <= step.gap * (1 + 1e-9) + 1e-12
    gaps = np.minimum.accumulate([step.gap for step in steps])
    assert gaps[-1] == found.gap
    quarter = [gaps[int(f * (len(gaps) - 1))] for f in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert (np.diff(quarter) <= 0.0).all()
    assert quarter[-1] < 1e-2 * quarter[0]
    loose = solve(problem, tol=1e-2)
    assert loose.value - best.value <= loose.gap


def test_the_dual_image_does_not_drift():
    problem = problem_of(Logistic(), L2(0.001), fit_intercept=False)
    solver = Dual()
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    for _ in range(300):
        state = solver.step(problem, state)
    work = state.work
    np.testing.assert_allclose(work.v, -problem.data.gradient(work.u), atol=1e-13)
    np.testing.assert_allclose(work.w, work.v / 0.001, rtol=1e-12)


# --- parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Hinge(), Squared()], ids=repr)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_blocks(loss, fit_intercept):
    def run():
        problem = problem_of(loss, L2(0.1), fit_intercept=fit_intercept, n=101)
        return solve(problem, Dual(blocks=2), tol=1e-6), problem

    (one, problem), (two, _) = run(), run()
    np.testing.assert_array_equal(one.coef, two.coef)
    assert one.intercept == two.intercept
    assert_same_optimum(one, solve(problem, tol=1e-7))
    five = solve(problem, Dual(blocks=5), tol=1e-5)
    assert_same_optimum(five, one)


def test_blocks_with_an_l1_part_and_more_blocks_than_rows():
    net = problem_of(Logistic(), ElasticNet(0.1, 0.5))
    assert_same_optimum(solve(net, Dual(blocks=2)), solve(net))
    few = Problem(Squared(), L2(0.1), as_data(np.eye(3), [1.0, 2.0, 3.0]), fit_intercept=False)
    assert solve(few, Dual(blocks=8)).coef == pytest.approx(np.arange(1, 4) / 1.3, rel=1e-3)


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), EpsilonInsensitive(0.5)], ids=repr)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_shrinking_changes_the_work_alone(loss, fit_intercept):
    problem = problem_of(loss, L2(0.1), fit_intercept=fit_intercept)
    always, rests = (solve(problem, Dual(shrinking=k), tol=1e-7) for k in (0, 4))
    assert_same_optimum(always, rests)


def test_rows_left_out_are_not_read():
    problem = problem_of(Hinge(), L2(0.01), n=400, fit_intercept=False)
    passes = []
    for rest in (0, 10):
        problem.counts.passes = 0.0
        found = solve(problem, Dual(shrinking=rest), tol=0.0, max_iter=100, on_failure="ignore")
        passes.append(found.passes)
    assert passes[1] < 0.8 * passes[0]


def test_bad_parameters():
    for options in ({"blocks": 0}, {"shrinking": -1}, {"blocks": 1.5}):
        with pytest.raises(ParameterError, match="DualCoordinateAscent needs"):
            Dual(**options)


# --- data ------------------------------------------------------------------------------------


def test_weights_are_repeated_rows():
    X, y, _ = sample()
    y = np.where(y > 0.3, 1.0, -1.0)
    times = np.random.default_rng(2).integers(0, 4, size=60)
    for loss in (Logistic(), Hinge()):
        weighted = Problem(loss, L2(0.1), as_data(X, y, weight=times.astype(float)))
        repeated = Problem(loss, L2(0.1), as_data(np.repeat(X, times, 0), np.repeat(y, times)))
        assert_same_optimum(solve(weighted), solve(repeated))


def test_a_row_without_weight_changes_nothing():
    X, y, weight = sample()
    y = np.where(y > 0.3, 1.0, -1.0)
    moved = X.copy()
    moved[weight == 0.0] = 1e6
    one, two = (
        solve(Problem(Logistic(), L2(0.1), as_data(Z, y, weight=weight), fit_intercept=False))
        for Z in (X, moved)
    )
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-3)
    assert one.value == pytest.approx(two.value, abs=one.gap + two.gap)


@pytest.mark.parametrize(
    "loss",
    [Logistic(), Hinge(), SquaredHinge(), Exponential(), Squared(), Absolute(), Quantile(0.3)],
    ids=repr,
)
def test_empty_rows_close_the_gap(loss):
    X = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 2.0], [0.5, 1.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    for stored in (X, sparse.csr_array(X)):
        problem = Problem(loss, L2(0.1), as_data(stored, y), fit_intercept=False)
        assert solve(problem, tol=1e-8).converged


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_weights_per_column(ratio):
    penalty = ElasticNet(0.1, ratio, weights=[0.3, 1.0, 2.0, 0.1, 5.0, 1.0])
    for fit_intercept in (False, True):
        problem = problem_of(Logistic(), penalty, fit_intercept=fit_intercept)
        assert_same_optimum(solve(problem), other(problem))
        hinge = problem_of(Hinge(), penalty, fit_intercept=fit_intercept)
        assert_same_optimum(solve(hinge, tol=1e-5), other(hinge, 1e-5))


@pytest.mark.sample(2)
@pytest.mark.parametrize("penalty", [L2(0.1), ElasticNet(0.1, 0.5)], ids=["l2", "net"])
def test_storages_agree(penalty):
    def thin(X):
        return np.where(np.abs(X) > 0.5, X, 0.0)

    kinds = [np.asfortranarray, sparse.csr_array, sparse.csc_array]
    for loss in (Logistic(), Hinge()):
        wanted = solve(problem_of(loss, penalty, stored=thin), max_iter=40, tol=0.0,
                       on_failure="ignore")  # fmt: skip
        for kind in kinds:
            found = solve(
                problem_of(loss, penalty, stored=lambda X, kind=kind: kind(thin(X))),
                max_iter=40, tol=0.0, on_failure="ignore",
            )  # fmt: skip
            np.testing.assert_allclose(found.coef, wanted.coef, atol=1e-10)
        half = solve(problem_of(loss, penalty, stored=lambda X: X.astype(np.float32)))
        whole = solve(problem_of(loss, penalty))
        np.testing.assert_allclose(half.coef, whole.coef, atol=2e-3)


def test_wide_sparse_data():
    rng = np.random.default_rng(0)
    X = sparse.random_array((150, 3000), density=0.01, rng=rng, format="csr")
    y = np.where(X[:, :40].sum(axis=1) > np.median(X[:, :40].sum(axis=1)), 1.0, -1.0)
    for loss in (Logistic(), SquaredHinge(), Hinge()):
        problem = Problem(loss, L2(1e-3), as_data(X, y))
        found = solve(problem, tol=1e-6, max_iter=300)
        assert found.converged
        assert found.n_iter < 120


# --- starts and seeds ------------------------------------------------------------------------


def test_seeds():
    problem = problem_of(Logistic(), L2(0.01))
    one, two, three = (
        solve(problem, max_iter=3, tol=0.0, rng=seed, on_failure="ignore") for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.coef, two.coef)
    assert (one.coef != three.coef).any()


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_start_at_the_optimum_is_used(fit_intercept):
    problem = problem_of(Logistic(), L2(0.01), fit_intercept=fit_intercept)
    cold = solve(problem, tol=1e-9)
    w0 = problem.join(cold.coef, cold.intercept)
    assert solve(problem, tol=1e-6, w0=w0).n_iter == 0
    near = solve(problem, tol=1e-7, w0=w0 + 1e-3)
    assert near.converged
    assert near.n_iter < cold.n_iter
    assert_same_optimum(near, cold)


@pytest.mark.parametrize("loss", [Hinge(), Squared(), Poisson()], ids=repr)
def test_a_bad_start_is_forgotten(loss):
    problem = problem_of(loss, L2(0.1))
    w0 = np.linspace(-2.0, 2.0, problem.n_params)
    steps = []
    found = solve(problem, tol=1e-6, w0=w0, on_step=steps.append, max_iter=20000)
    np.testing.assert_allclose(problem.coef(steps[0].w), problem.coef(w0))
    assert_same_optimum(found, solve(problem, tol=1e-6))


# --- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "penalty", "alternative"),
    [
        (Logistic(), L1(0.1), "proximal_newton"),
        (Logistic(), Box(-1.0, 1.0), "proximal_newton"),
        (Logistic(), NoPenalty(), "newton"),
        (Logistic(), L2(0.0), "newton"),
        (Logistic(), ElasticNet(0.1, 1.0), "proximal_newton"),
        (Logistic(), L2(0.1, weights=[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]), "newton"),
        (Logistic(), Sum(L2(0.1), Box(-1.0, 1.0)), "proximal_newton"),
        (Logistic(), GroupL2(0.1, groups=[[0, 1, 2], [3, 4, 5]]), "fista"),
        (PairwiseSquare(), L2(0.1), "exact"),
        (PairwiseHinge(), L2(0.1), "continuation"),
        (PairwiseHinge(0.5), L2(0.1), "newton"),
    ],
)  # fmt: skip
def test_refusals_name_alternatives(loss, penalty, alternative):
    problem = problem_of(loss, penalty)
    with pytest.raises(IncompatibleError, match="DualCoordinateAscent needs") as caught:
        resolve(Dual(), problem)
    assert alternative in str(caught.value)
    with pytest.raises(IncompatibleError):
        minimise(problem, Dual())
    assert problem.counts.passes == 0


def test_nothing_left_to_do_is_a_stall():
    found = solve(
        problem_of(Hinge(), L2(1.0), fit_intercept=False), tol=0.0, max_iter=5000,
        on_failure="ignore",
    )  # fmt: skip
    assert found.status in (Status.STALLED, Status.CONVERGED, Status.MAX_ITER)
    assert found.gap < 1e-12


@pytest.mark.parametrize(
    ("loss", "strength", "fit_intercept", "solver"),
    [
        (Logistic(), 1e-3, False, DualCoordinateAscent),
        (Logistic(), 1e-3, True, Lbfgs),
        (Logistic(), 1.0, False, Lbfgs),
        (SquaredHinge(), 1e-3, True, DualCoordinateAscent),
        (SquaredHinge(), 1.0, True, DualCoordinateAscent),
        (Hinge(), 1.0, True, DualCoordinateAscent),
    ],
)
def test_with_many_columns_it_is_the_default_where_it_pays(loss, strength, fit_intercept, solver):
    X = sparse.random_array((300, 1000), density=0.02, rng=np.random.default_rng(0), format="csr")
    y = np.where(np.arange(300) % 3 == 0, 1.0, -1.0)
    problem = Problem(loss, L2(strength), as_data(X, y), fit_intercept=fit_intercept)
    assert isinstance(resolve("auto", problem), solver)
