"""Cutting planes: exact optima, the published bounds, both hard instances."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC, LinearSVC

from auctor.core.errors import IncompatibleError, ParameterError
from auctor.core.types import Target
from auctor.data import Dense, as_data
from auctor.losses import (
    Absolute,
    FBeta,
    Hinge,
    Logistic,
    PairwiseExponential,
    PairwiseHinge,
    Poisson,
    Prbep,
    PrecisionAtK,
    Quantile,
    RankOpt,
)
from auctor.minimise import minimise
from auctor.penalties import L1, L2, ElasticNet, NoPenalty
from auctor.problem import Problem
from auctor.solvers import Bmrm, Continuation, Lbfgs
from auctor.solvers.base import SolverMemory
from auctor.solvers.kinked.bundle import Bundle
from auctor.solvers.kinked.cuts import balanced
from auctor.testing.solvers import NanBeyond
from tests.fixtures.hard import HardPrbep, HardRoc

RNG = np.random.default_rng(8)
X = RNG.normal(size=(100, 4))
Y = np.where(X[:, 0] + 0.5 * RNG.normal(size=100) > 0.3, 1.0, -1.0)
REAL = X @ [1.0, -0.5, 0.0, 0.0] + RNG.standard_t(2, size=100)
BOTH = pytest.mark.parametrize(
    "solver", [Bmrm(line_search=False), Bmrm(line_search=True)], ids=["plain", "search"]
)


def make_data(n, p, share, seed):
    """Gaussian rows of unit length with noisy linear labels."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    scores = rows @ rng.normal(size=p) + 0.3 * rng.normal(size=n)
    return rows, np.where(scores > np.quantile(scores, 1.0 - share), 1.0, -1.0)


# --- optima -----------------------------------------------------------------------------------


@BOTH
def test_hinge_equals_linear_svc(solver):
    strength = 0.01
    model = LinearSVC(
        loss="hinge", C=1 / (100 * strength), fit_intercept=False, tol=1e-10, max_iter=1_000_000
    ).fit(X, Y)
    problem = Problem(Hinge(), L2(strength), as_data(X, Y), fit_intercept=False)
    found = minimise(problem, solver, tol=1e-10)
    assert found.converged
    assert found.certified
    assert found.value == pytest.approx(problem.evaluate(model.coef_[0].copy()).value, abs=1e-9)
    np.testing.assert_allclose(found.coef, model.coef_[0], atol=1e-4)


@BOTH
@pytest.mark.parametrize("strength", [1.0, 0.02, 1e-4])
def test_the_intercept_is_exact(solver, strength):
    """`SVC` leaves its intercept out of the penalty, as we do."""
    model = SVC(kernel="linear", C=1 / (100 * strength), tol=1e-9).fit(X, Y)
    problem = Problem(Hinge(), L2(strength), as_data(X, Y))
    found = minimise(problem, solver, tol=1e-9)
    wanted = problem.evaluate(np.append(model.coef_[0], model.intercept_[0])).value
    assert found.certified
    assert found.value <= wanted + 1e-9
    assert found.value >= wanted - 1e-6


@BOTH
@pytest.mark.parametrize(
    ("loss", "target"),
    [
        (PairwiseHinge(), Y),
        (Prbep(), Y),
        (FBeta(), Y),
        (Hinge(), Y),
        (Absolute(), REAL),
        (Quantile(0.8), REAL),
    ],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("strength", [0.3, 1e-3])
def test_equals_continuation_with_a_strength_per_column(solver, loss, target, strength):
    penalty = L2(strength, weights=[1.0, 0.5, 3.0, 1.0])
    problem = Problem(loss, penalty, as_data(X, target))
    found = minimise(problem, solver, tol=1e-7)
    other = minimise(problem, Continuation(), tol=1e-4, max_iter=100, on_failure="ignore")
    assert found.converged
    assert other.certified
    assert found.value - other.value <= found.gap + 1e-12
    assert other.value - found.value <= other.gap + 1e-12


@BOTH
@pytest.mark.parametrize("loss", [Logistic(), PairwiseHinge(0.3)], ids=repr)
def test_smooth_losses_too(solver, loss):
    problem = Problem(loss, L2(0.01), as_data(X, Y))
    best = minimise(problem, Lbfgs(), tol=1e-12)
    assert minimise(problem, solver, tol=1e-8).value == pytest.approx(best.value, abs=1e-8)


@BOTH
def test_steps_into_overflow_are_shortened(solver):
    counts = np.random.default_rng(0).poisson(np.exp(X[:, 0])).astype(float)
    problem = Problem(Poisson(), L2(1e-4), as_data(100.0 * X, counts))
    with np.errstate(over="ignore"):
        found = minimise(problem, solver, tol=1e-3, max_iter=200, on_failure="ignore")
    assert found.value < problem.null.loss
    assert math.isfinite(found.gap)


@BOTH
@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=repr)
def test_a_loss_that_is_not_a_number_far_away(solver, loss):
    """With an intercept, whose search must not leave the finite region unnoticed."""
    problem = Problem(NanBeyond(loss, 1.5), L2(0.01), as_data(X, Y))
    best = minimise(Problem(loss, L2(0.01), as_data(X, Y)), Bmrm(line_search=False), tol=1e-8).value
    found = minimise(problem, solver, tol=1e-6, max_iter=100, on_failure="ignore")
    assert np.isfinite(found.coef).all()
    assert found.value < problem.null.loss
    assert found.value - best <= found.gap


def test_two_passes_a_step_and_gaps_that_never_grow():
    """The solver's own bound is the certificate, so that none is computed besides."""
    problem = Problem(PairwiseHinge(), L2(1e-3), as_data(X, Y))
    trace = minimise(problem, Bmrm(line_search=False), tol=1e-6).trace
    np.testing.assert_array_equal(np.diff(trace.passes), [1] + [2] * (len(trace) - 2))
    np.testing.assert_array_equal(np.diff(trace.evaluations), 1)
    assert (np.diff(trace.gap) <= 1e-15).all()


@BOTH
def test_weights_are_repetition(solver):
    count = np.random.default_rng(5).integers(1, 4, size=100)
    rows = np.repeat(np.arange(100), count)
    weighted = Problem(PairwiseHinge(), L2(0.01), as_data(X, Y, weight=count.astype(float)))
    repeated = Problem(PairwiseHinge(), L2(0.01), as_data(X[rows], Y[rows]))
    one, two = (minimise(problem, solver, tol=1e-9) for problem in (weighted, repeated))
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-4)


def test_a_warm_start_is_used():
    problem = Problem(PairwiseHinge(), L2(1e-4), as_data(X, Y))
    cold = minimise(problem, Bmrm(line_search=False), tol=1e-6)
    warm = minimise(problem, Bmrm(line_search=False), w0=cold.coef, tol=1e-6)
    assert warm.trace.value[0] == pytest.approx(cold.value)
    again = minimise(problem, Bmrm(line_search=True), w0=cold.coef, tol=1e-6)
    first = minimise(problem, Bmrm(line_search=True), tol=1e-6)
    assert again.n_iter <= first.n_iter


def test_cuts_serve_other_strengths():
    """Cuts are of the loss alone, so a path hands them on."""
    path = Problem(PairwiseHinge(), L2(1e-2), as_data(X, Y)).with_memory(SolverMemory())
    first = minimise(path, Bmrm(line_search=False), tol=1e-6)
    lighter = path.with_penalty(L2(3e-3))
    helped = minimise(lighter, Bmrm(line_search=False), w0=first.coef, tol=1e-6)
    alone = minimise(
        Problem(PairwiseHinge(), L2(3e-3), as_data(X, Y)), Bmrm(line_search=False), tol=1e-6
    )
    assert helped.value == pytest.approx(alone.value, abs=1e-6)
    assert helped.n_iter < alone.n_iter


# --- cuts -------------------------------------------------------------------------------------


def test_the_gram_matrix_grows_row_by_row():
    rng = np.random.default_rng(0)
    l2 = rng.uniform(0.5, 2.0, size=5)
    bundle, slopes = Bundle(l2, 10**6), rng.normal(size=(100, 5))
    for slope in slopes:
        bundle.add(slope, float(rng.uniform()))
        bundle.lowest()
    np.testing.assert_allclose(bundle.gram[:100, :100], (slopes / l2) @ slopes.T, atol=1e-12)
    lowest = bundle.lowest()
    model = (slopes @ lowest.w + bundle.offset[:100]).max() + 0.5 * l2 @ lowest.w**2
    assert model == pytest.approx(lowest.value, abs=1e-12)


def test_cuts_stay_few_and_their_bound_never_falls():
    rng = np.random.default_rng(0)
    bundle, bounds = Bundle(np.ones(3), 10**6, most=20), []
    for _ in range(200):
        bundle.add(rng.normal(size=3), float(rng.uniform()))
        bounds.append(bundle.lowest().value)
    assert bundle.count < 40
    assert min(np.diff(bounds)) > -1e-12
    assert bounds[-1] > bounds[40]


def test_cuts_move_to_another_strength():
    rng = np.random.default_rng(0)
    l2, slopes = rng.uniform(0.5, 2.0, size=5), rng.normal(size=(40, 5))
    first, second, afresh = Bundle(l2, 10**6), Bundle(3.0 * l2, 10**6), Bundle(3.0 * l2, 10**6)
    for slope in slopes:
        first.add(slope, 1.0)
        first.lowest()
        afresh.add(slope, 1.0)
    second.take(first)
    np.testing.assert_allclose(second.gram[:40, :40], afresh.gram[:40, :40], atol=1e-12)
    assert (first.count, second.count) == (0, 40)
    second.add(slopes[0] + slopes[1], 2.0)
    afresh.add(slopes[0] + slopes[1], 2.0)
    one, two = second.lowest(), afresh.lowest()
    np.testing.assert_allclose(one.w, two.w, atol=1e-9)
    assert one.value == pytest.approx(two.value, abs=1e-12)


def test_idle_cuts_are_dropped_and_the_bound_never_falls():
    problem = Problem(PairwiseHinge(), L2(1e-4), as_data(X, Y))
    solver = Bmrm(line_search=False, patience=5)
    state, bounds = solver.init(problem, problem.start(), RNG), []
    for _ in range(60):
        state = solver.step(problem, state)
        bounds.append(state.lower)
    assert state.bundle.count < 50
    assert (np.diff(bounds) >= 0.0).all()
    best = minimise(problem, Bmrm(line_search=False), tol=1e-9)
    assert max(bounds) <= best.value + 1e-12
    few = minimise(problem, solver, tol=1e-6)
    assert few.value == pytest.approx(best.value, abs=1e-6)


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), FBeta()], ids=repr)
def test_a_cut_at_a_kink_of_the_intercept_bounds_the_loss(loss):
    problem = Problem(loss, L2(1.0), as_data(X, REAL if loss.targets == "real" else Y))
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = rng.normal(size=5)
        query = balanced(problem, problem.evaluate(w), 0.0)
        assert abs(query.dscores.sum()) <= 1e-12
        at = query.offset + float(query.dscores @ query.point.scores)
        assert at == pytest.approx(query.point.loss, abs=1e-10)
        for _ in range(20):
            other = problem.evaluate(rng.normal(size=5) * 3.0)
            assert query.offset + float(query.dscores @ other.scores) <= other.loss + 1e-12


# --- theory -----------------------------------------------------------------------------------


def steps_to(problem, solver, epsilon):
    """Steps until the solver's own gap is below epsilon, and the largest subgradient met."""
    state = solver.init(problem, problem.start(), RNG)
    steps = 0
    while state.gap >= epsilon:
        state, steps = solver.step(problem, state), steps + 1
    cuts = state.bundle.cuts[: state.bundle.count] * state.bundle.root
    return steps, float(np.linalg.norm(cuts, axis=1).max())


@pytest.mark.parametrize("loss", [PairwiseHinge(), Prbep()], ids=["auc", "prbep"])
@pytest.mark.parametrize("strength", [1e-1, 1e-2, 1e-3])
def test_steps_are_within_theorem_3(loss, strength):
    cancer = load_breast_cancer()
    scaled = (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0)
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    sets = [make_data(1000, 20, 0.2, 0), (scaled, np.where(cancer.target, 1.0, -1.0))]
    for rows, y in sets:
        problem = Problem(loss, L2(strength), as_data(np.ascontiguousarray(rows), y))
        for epsilon in (1e-2, 1e-3):
            steps, slope = steps_to(problem, Bmrm(line_search=False, patience=10**6), epsilon)
            start = problem.evaluate(problem.start()).value
            assert epsilon < 4.0 * slope**2 / strength
            bound = math.log2(strength * start / slope**2) + 8.0 * slope**2 / (strength * epsilon)
            assert steps <= bound - 1.0


def hard_problem(hard):
    return Problem(hard.loss, L2(hard.strength), Dense(hard.X, Target(hard.y)))


@pytest.mark.parametrize(
    "hard",
    [HardPrbep(0.03), HardPrbep(0.01), HardRoc(0.03), HardRoc(0.01), HardRoc(1 / 300)],
    ids=repr,
)
def test_hard_instances_go_exactly_as_published(hard):
    """Iterates, values and gaps of Theorems 4 and 5 at every step, and the last step's number."""
    problem, solver = hard_problem(hard), Bmrm(line_search=False, oracle=hard.oracle)
    state = solver.init(problem, hard.start, RNG)
    for k in range(1, hard.n_steps):
        state = solver.step(problem, state)
        np.testing.assert_allclose(state.query.point.w, hard.iterate(k), atol=1e-8)
        assert state.point.value == pytest.approx(hard.objective(hard.iterate(k)), abs=1e-8)
        assert state.gap == pytest.approx(hard.gap(k), abs=1e-8)
    state = solver.step(problem, state)
    assert state.gap <= 1e-12
    assert state.point.value == pytest.approx(hard.optimum, abs=1e-10)
    assert minimise(problem, solver, w0=hard.start, tol=1e-10).n_iter == hard.n_steps


@pytest.mark.parametrize("n", [33, 100, 300])
def test_only_ties_make_the_auc_instance_hard(n):
    """An ordinary oracle needs two steps; smoothing needs few from the same start."""
    hard = HardRoc(1 / n)
    problem, solver = hard_problem(hard), Bmrm(line_search=False)
    state = solver.init(problem, hard.start, RNG)
    for _ in range(2):
        state = solver.step(problem, state)
    assert state.gap <= 1e-12
    reached = []
    minimise(
        problem.with_loss(PairwiseHinge(0.005 / n)), Lbfgs(), w0=hard.start, tol=0.0, max_iter=15,
        on_failure="ignore",
        on_step=lambda step: reached.append(hard.objective(step.w) <= 1.01 * hard.optimum),
    )  # fmt: skip
    assert any(reached)


# --- refusals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [L1(0.1), ElasticNet(0.1, 0.5), NoPenalty()], ids=repr)
def test_other_penalties_are_refused(penalty):
    problem = Problem(PairwiseHinge(), penalty, as_data(X, Y))
    with pytest.raises(IncompatibleError, match="Bmrm needs"):
        minimise(problem, Bmrm(line_search=False))
    assert problem.counts.passes == 0


def test_a_loss_that_is_not_convex_is_refused():
    with pytest.raises(IncompatibleError, match="convex loss"):
        minimise(Problem(RankOpt(), L2(0.1), as_data(X, Y)), Bmrm(line_search=False))


def test_parameters_that_cannot_work_are_refused():
    with pytest.raises(ParameterError):
        Bmrm(patience=0)


def test_a_minimum_at_zero_is_certified():
    # Line searches from zero find nothing; their steps must not shrink until none can be seen.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 20))
    score = X @ rng.normal(size=20) + 6.7 * rng.normal(size=500)
    y = np.where(score > np.quantile(score, 0.95), 1.0, -1.0)
    found = minimise(Problem(FBeta(), L2(1e-4), as_data(X, y)), Bmrm(), tol=1e-4)
    assert found.converged
    assert found.value == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("strength", [1e-12, 1e-20, 1e-30, 1e-300])
def test_no_false_certificate_where_the_penalty_is_rounding(strength):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.0, 1.0, -1.0)
    problem = Problem(PairwiseHinge(), L2(strength), as_data(X, y))
    known = minimise(problem, Continuation(), tol=1e-3, on_failure="ignore").value
    found = minimise(problem, Bmrm(), on_failure="ignore")
    assert found.value - found.gap <= known


def test_bounds_allow_for_scores_of_any_size():
    rng = np.random.default_rng(0)
    X = 1e4 * rng.normal(size=(100, 300))
    signal = X[:, :20].sum(axis=1)
    noisy = signal + signal.std() * rng.normal(size=100)
    y = np.where(noisy > np.quantile(noisy, 0.8), 1.0, -1.0)
    problem = Problem(PrecisionAtK(20), L2(1e-4), as_data(X, y))
    found = minimise(problem, Bmrm(), tol=1e-4, max_iter=300, on_failure="ignore")
    w = np.linalg.lstsq(X, 2.0 * y, rcond=None)[0]
    known = min(problem.evaluate(f * w).value for f in np.logspace(-1, 4, 30))
    assert found.value - found.gap <= known + 1e-12


def test_cuts_hold_for_every_intercept_where_scores_tie_up_to_rounding():
    # Sorted once and moved together, these rows have another worst labelling than sorted again.
    low, up, top = -1.2446213686663061, 0.5605265053749593, 0.6888187478919885
    ulp = 1.1e-16
    scores = [
        1.0662820712472594, top + ulp, up, top, low, 0.42813233573262166, up - 2 * ulp, low,
        up - ulp, 1.066282071247259, low, up - ulp, low, low - 2 * ulp, up + ulp, low - 2 * ulp,
        up + ulp, top - ulp, top - ulp, low - 2 * ulp,
    ]  # fmt: skip
    y = [1, -1, 1, -1, -1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1]
    weight = [
        0.3, 0.3, 0.3, 1, 0.1, 2.7, 0.1, 0.1, 2.7, 0.1, 2.7, 0.3, 1, 1, 1, 0.1, 0.1, 0.3, 2.7, 0.3,
    ]  # fmt: skip
    data = as_data(np.array(scores)[:, None], np.array(y, float), weight=np.array(weight))
    problem = Problem(FBeta(), L2(0.1), data)
    query = balanced(problem, problem.evaluate(np.array([1.0, 0.0])), 1e-7)
    assert abs(query.dscores.sum()) < 1e-12
    found = minimise(problem, Bmrm(), w0=np.array([1.0, 0.0]))
    other = minimise(problem, Bmrm())
    assert found.value - found.gap <= other.value + 1e-12
    assert found.value == pytest.approx(other.value, abs=1e-4)


@pytest.mark.parametrize("line_search", [True, False])
@pytest.mark.parametrize("strength", [3e-3, 0.1])
def test_losses_that_overflow(line_search, strength):
    """Cuts where an exponential loss is astronomical are not taken."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    score = X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2] + rng.normal(size=300)
    data = as_data(X, np.where(score > np.quantile(score, 0.95), 1.0, -1.0))
    problem = Problem(PairwiseExponential(), L2(strength), data)
    found = minimise(problem, Bmrm(line_search=line_search), tol=1e-4)
    assert found.converged
    assert found.value <= minimise(problem, Lbfgs(), tol=1e-8).value + found.gap
