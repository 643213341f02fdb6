"""Problem: evaluation, exact intercepts, certificates, counted work."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.data import as_data
from auctor.losses import (
    Absolute,
    ExpectedAuc,
    Exponential,
    GaussianAuc,
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
from auctor.metrics import auc
from auctor.minimise import minimise
from auctor.penalties import L1, L2, Box, ElasticNet, NonNegative, NoPenalty
from auctor.problem import Problem
from auctor.problem.needs import Need
from auctor.problem.objective import BALANCE
from auctor.solvers import strength_max
from auctor.solvers.choose import choose
from auctor.testing.differences import slope
from auctor.testing.problems import references

RNG = np.random.default_rng(5)
X = RNG.normal(size=(31, 4)) * [1.0, 3.0, 0.3, 1.0]
LABEL = np.where(X[:, 0] + RNG.normal(size=31) > 0.8, 1.0, -1.0)
REAL = X @ [1.0, 0.0, -1.0, 0.5] + RNG.normal(size=31) + 4.0
COUNT = RNG.poisson(3.0, size=31).astype(float)
WEIGHT = RNG.uniform(0.2, 3.0, size=31)
CERTIFIABLE = [r for r in references() if r.problem().certifiable]


def target_of(loss):
    if isinstance(loss, Poisson):
        return COUNT
    return LABEL if loss.targets == "binary" else REAL


def make(loss, penalty=None, *, weight=WEIGHT, fit_intercept=True, scale=1.0):
    penalty = L2(0.1) if penalty is None else penalty
    data = as_data(scale * X, target_of(loss), weight=weight)
    return Problem(loss, penalty, data, fit_intercept=fit_intercept)


# --- the intercept ------------------------------------------------------------------------------

SMOOTH = [
    Logistic(),
    SmoothedHinge(0.3),
    SmoothedHinge(1e-4),
    SquaredHinge(),
    Exponential(),
    Squared(),
    Huber(0.2),
    Poisson(),
    Quantile(0.2, width=0.1),
    Absolute(width=1e-3),
]
KINKED = [Hinge(), Quantile(0.3), Absolute()]


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_centred_point_has_an_optimal_intercept(loss, scale):
    problem = make(loss, scale=scale)
    w = np.array([0.3, -0.2, 0.5, 0.1, 7.0])
    if isinstance(loss, Exponential | Poisson):
        w[:4] /= scale
    point = problem.evaluate(w)
    centred = problem.with_best_intercept(point)
    assert abs(centred.dscores.sum()) <= BALANCE * np.abs(centred.dscores).sum()
    assert centred.imbalance == 0.0
    assert centred.value <= point.value
    np.testing.assert_array_equal(problem.coef(centred.w), problem.coef(w))
    np.testing.assert_allclose(
        centred.scores, scale * X @ w[:4] + problem.intercept(centred.w), rtol=1e-12, atol=1e-11
    )


@pytest.mark.parametrize("loss", [*SMOOTH, *KINKED], ids=repr)
def test_the_null_model_is_the_best_constant(loss):
    problem = make(loss)
    target = problem.data.target
    best = minimize_scalar(
        lambda t: loss.value(np.full(31, t), target), bounds=(-20, 20), options={"xatol": 1e-12}
    )
    assert problem.null.loss <= best.fun + 1e-10 * (1 + abs(best.fun))
    assert problem.null.loss == pytest.approx(
        loss.value(np.full(31, problem.null.intercept), target), rel=1e-15
    )


def test_null_intercepts_in_closed_form():
    share = WEIGHT / WEIGHT.sum()
    up = float(share @ (LABEL > 0))
    assert make(Logistic()).null.intercept == pytest.approx(math.log(up / (1 - up)), rel=1e-10)
    assert make(Squared()).null.intercept == pytest.approx(float(share @ REAL), rel=1e-12)
    assert make(Poisson()).null.intercept == pytest.approx(math.log(share @ COUNT), rel=1e-10)


@pytest.mark.parametrize("mean", [1e3, 1e6, 1e15, 1e-9])
def test_counts_of_any_size_have_a_null_model(mean):
    """A Newton step on exp overshoots into overflow from far away."""
    y = mean * np.array([0.5, 1.0, 1.5, 1.0])
    problem = Problem(Poisson(), L2(0.1), as_data(np.eye(4), y))
    assert problem.null.intercept == pytest.approx(math.log(mean), rel=1e-9)
    assert math.isfinite(problem.null.loss)


def test_targets_of_any_size_have_a_null_model():
    for loss in (Squared(), Huber(0.5), Absolute(), Quantile(0.3)):
        for size in (1e-12, 1e9, 1e50):
            problem = Problem(loss, L2(0.1), as_data(X, size * REAL))
            grid = [loss.value(np.full(31, t), problem.data.target) for t in size * REAL]
            assert problem.null.loss <= min(grid) * (1 + 1e-9)


def test_shift_invariant_losses_and_fit_intercept_false_have_no_intercept():
    for problem in (make(PairwiseSquare()), make(Logistic(), fit_intercept=False)):
        assert not problem.has_intercept
        assert problem.n_params == 4
        assert problem.intercept(np.ones(4)) == 0.0
        point = problem.evaluate(np.ones(4))
        assert problem.with_best_intercept(point) is point


# --- evaluation and derivatives -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        (Logistic(), L2(0.3)),
        (Poisson(), L2(0.1, weights=[1.0, 0.0, 2.0, 1.0])),
        (PairwiseSquare(), L2(0.2)),
        (PairwiseHinge(1.5), L2(0.2)),
        (Squared(), NoPenalty()),
    ],
    ids=repr,
)
def test_gradient_and_hessian_by_differences(loss, penalty):
    problem = make(loss, penalty)
    w = 0.1 * RNG.normal(size=problem.n_params)
    point = problem.evaluate(w)
    gradient = problem.total_gradient(point)
    hessian = problem.hessian(point)
    for direction in np.eye(problem.n_params):
        value = slope(lambda v: problem.evaluate(v).value, w, direction, 1e-4)
        assert value == pytest.approx(gradient @ direction, rel=1e-7, abs=1e-9)
        change = slope(lambda v: problem.total_gradient(problem.evaluate(v)), w, direction, 1e-5)
        np.testing.assert_allclose(hessian.matvec(direction), change, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", [Logistic(), PairwiseSquare(), Squared()], ids=repr)
def test_the_hessian_matrix_and_diagonal_agree_with_its_products(loss):
    problem = make(loss)
    hessian = problem.hessian(problem.evaluate(0.1 * np.ones(problem.n_params)))
    matrix = np.array([hessian.matvec(unit) for unit in np.eye(problem.n_params)])
    np.testing.assert_allclose(hessian.matrix(), matrix, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(hessian.diagonal(), np.diag(matrix), rtol=1e-12)


def test_value_is_loss_plus_penalty_and_never_penalises_the_intercept():
    problem = make(Squared(), ElasticNet(0.4, 0.5))
    w = np.array([1.0, -1.0, 0.0, 2.0, 100.0])
    share = WEIGHT / WEIGHT.sum()
    loss = 0.5 * share @ (X @ w[:4] + 100.0 - REAL) ** 2
    assert problem.evaluate(w).value == pytest.approx(loss + 0.2 * 4 + 0.1 * 6, rel=1e-13)
    np.testing.assert_array_equal(problem.prox(w, 100.0)[-1], 100.0)
    assert problem.ridge[-1] == 0.0


def test_targets_outside_the_loss_are_refused_when_built():
    with pytest.raises(DataError, match="both classes"):
        Problem(PairwiseSquare(), L2(1.0), as_data(X, np.ones(31)))
    with pytest.raises(DataError, match="-1 and"):
        Problem(Logistic(), L2(1.0), as_data(X, REAL))


def test_a_bad_start_is_refused_and_a_good_one_copied():
    problem = make(Logistic())
    for bad in (np.zeros(4), np.zeros((5, 1)), np.full(5, np.nan), ["a"] * 5):
        with pytest.raises(DataError, match="w0"):
            problem.start(bad)
    w0 = np.arange(5.0)
    assert not np.shares_memory(problem.start(w0), w0)


# --- certificates -------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", CERTIFIABLE, ids=lambda r: r.name)
def test_certified_gaps_bound_the_distance_to_the_optimum_anywhere(reference):
    problem = reference.problem()
    rng = np.random.default_rng(0)
    starts = [problem.start(), reference.w]
    starts += [rng.normal(size=problem.n_params) * size for size in (0.01, 0.3, 2.0)]
    for w in starts:
        w = problem.prox(w, 1e-9)  # into the box
        point = problem.evaluate(w)
        for moved, certificate in (problem.certify(point), (point, problem.certificate(point))):
            if certificate.certified:
                excess = moved.value - reference.optimum
                assert excess <= certificate.gap * (1 + 1e-9) + 1e-12
        better, certificate = problem.certify(point)
        assert certificate.certified
        assert better.value <= point.value + 1e-15


@pytest.mark.parametrize(
    "reference", [r for r in CERTIFIABLE if r.loss.smooth], ids=lambda r: r.name
)
def test_the_gap_closes_at_the_optimum_of_smooth_problems(reference):
    problem = reference.problem()
    point, certificate = problem.certify(problem.evaluate(reference.w))
    assert certificate.gap <= 1e-8 * problem.null.loss
    assert point.value == pytest.approx(reference.optimum, rel=1e-10)


def test_an_intercept_that_is_not_optimal_is_never_certified():
    problem = make(Logistic())
    point = problem.evaluate(np.array([0.1, 0.2, 0.0, 0.0, 2.0]))
    assert point.imbalance > 0
    assert not problem.certificate(point).certified
    moved, certificate = problem.certify(point)
    assert certificate.certified
    assert problem.intercept(moved.w) != 2.0


@pytest.mark.parametrize(
    ("penalty", "certifiable"),
    [
        (L2(0.1), True),
        (L1(0.1), True),
        (Box(), True),
        (ElasticNet(0.1, 0.5), True),
        (NoPenalty(), False),
        (NonNegative(), False),
        (L2(0.0), False),
        (L1(0.1, weights=[1.0, 1.0, 0.0, 1.0]), False),
    ],
)
def test_certificates_exist_where_the_penalty_bounds_every_column(penalty, certifiable):
    problem = make(Logistic(), penalty)
    assert problem.certifiable is certifiable
    _, certificate = problem.certify(problem.evaluate(problem.start()))
    assert certificate.certified is certifiable


def test_the_violation_is_the_gradient_where_there_is_no_penalty():
    problem = make(Squared(), NoPenalty())
    point = problem.evaluate(np.ones(5))
    gap, certified = problem.certificate(point)
    assert not certified
    assert gap == pytest.approx(np.abs(point.gradient).max(), rel=1e-14)


def test_tolerances_do_not_depend_on_constants_in_the_loss():
    """At a mean count of e the Poisson loss of the null model is 0; its deviance is not."""
    rng = np.random.default_rng(0)
    y = rng.poisson(3.0, size=31).astype(float)
    units = []
    for factor in (1.0, math.e / y.mean()):
        problem = Problem(Poisson(), L2(0.1), as_data(X, factor * y))
        units.append(problem.tolerance(1.0) / factor)
    assert units[0] == pytest.approx(units[1], rel=1e-6)


# --- needs and counts ---------------------------------------------------------------------------


def test_provides_says_what_the_parts_offer():
    logistic = make(Logistic()).provides
    for need in (Need.SMOOTH_LOSS, Need.CURVATURE, Need.ROW_LOSS, Need.SMOOTH_PENALTY, Need.PROX):
        assert need in logistic
    assert Need.QUADRATIC_LOSS not in logistic
    assert Need.SMOOTHABLE_LOSS not in logistic
    hinge = make(Hinge(), L1(0.1)).provides
    assert Need.SMOOTHABLE_LOSS in hinge
    assert not hinge & (Need.SMOOTH_LOSS | Need.CURVATURE | Need.SMOOTH_PENALTY)
    assert Need.ROW_LOSS not in make(PairwiseSquare()).provides
    assert Need.QUADRATIC_LOSS in make(PairwiseSquare()).provides


def test_work_is_counted():
    problem = make(Logistic())
    counts = problem.counts
    point = problem.evaluate(np.zeros(5))
    assert (counts.passes, counts.evaluations) == (0, 1)  # zero weights need no product
    point = problem.evaluate(np.ones(5))
    assert (counts.passes, counts.evaluations) == (1, 2)
    assert point.gradient is point.gradient
    assert counts.passes == 2
    problem.evaluate(point.w, scores=point.scores)
    assert (counts.passes, counts.evaluations) == (2, 3)
    problem.hessian(point).matvec(np.ones(5))
    assert counts.passes == 4
    problem.with_best_intercept(point)
    assert counts.passes == 4  # moving the intercept needs no product
    other = problem.with_loss(SquaredHinge())
    other.evaluate(np.ones(5))
    assert counts.passes == 5
    assert other.counts is counts


def test_zero_weight_rows_and_target_views():
    """A problem with rows of weight zero equals the one without them."""
    weight = np.where(np.arange(31) % 3 == 0, 0.0, WEIGHT)
    kept = weight > 0
    w = np.array([0.3, -0.1, 0.2, 0.0, 0.4])
    for loss in (Logistic(), Squared(), PairwiseHinge(0.4)):
        y = target_of(loss)
        full = Problem(loss, L2(0.1), as_data(X, y, weight=weight))
        part = Problem(loss, L2(0.1), as_data(X[kept], y[kept], weight=weight[kept]))
        a, b = full.evaluate(w[: full.n_params]), part.evaluate(w[: part.n_params])
        assert a.value == pytest.approx(b.value, rel=1e-13)
        np.testing.assert_allclose(a.gradient, b.gradient, rtol=1e-10, atol=1e-14)
        assert full.null.loss == pytest.approx(part.null.loss, rel=1e-12)


def test_a_target_takes_rows_with_their_weights():
    target = Target(REAL, WEIGHT).take(np.array([3, 3, 0]))
    np.testing.assert_array_equal(target.y, REAL[[3, 3, 0]])
    np.testing.assert_allclose(target.share, WEIGHT[[3, 3, 0]] / WEIGHT[[3, 3, 0]].sum())


# --- units ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("penalty", [L2(1e-3), L1(0.9)], ids=["l2", "l1"])
@pytest.mark.parametrize(
    "loss",
    [Squared(), Logistic(), SquaredHinge(), GaussianAuc(), PairwiseSquare()],
    ids=lambda loss: type(loss).__name__,
)
def test_tiny_columns_do_not_end_in_the_empty_model(loss, penalty, scale):
    """The null model is within 1e-4 of its own loss of the optimum, but says nothing."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 5))
    y = np.where(rows @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=200) > 0.5, 1.0, -1.0)
    problem = Problem(loss, penalty, as_data(scale * rows, y))
    if isinstance(penalty, L1):
        top = strength_max(problem)
        problem = problem.with_penalty(L1(0.999 * top))
    found = minimise(problem, choose(problem))
    assert found.converged
    assert found.coef.any()
    if isinstance(penalty, L2):
        auc_of = as_data(rows, y).scores(found.coef)
        assert auc(y, auc_of) > 0.85


def test_the_unit_of_a_tolerance_is_at_most_the_null_loss():
    for scale in (1.0, 1e-4):
        problem = make(Logistic(), L2(1e-3), scale=scale)
        assert 0.0 < problem.tolerance(1.0) <= problem.null.excess
    assert make(Logistic(), L2(1e-3)).tolerance(1.0) == problem.null.excess


@pytest.mark.parametrize("penalty", [L2(1e-2), NoPenalty()], ids=["certified", "violation"])
def test_the_gradient_of_the_null_model_is_computed_once(penalty):
    X, y = np.random.default_rng(0).normal(size=(60, 5)), np.resize([1.0, -1.0, -1.0], 60)
    problem = Problem(Logistic(), penalty, as_data(X, y))
    point = problem.evaluate(problem.start())
    problem.certificate(point)
    assert problem.counts.passes == 1
    unit = problem.unit  # the gap of the null model, or its largest gradient entry
    # The violation's unit also takes the squares of the columns, for the rounding error.
    assert problem.counts.passes == (1 if problem.certifiable else 2)
    alone = Problem(Logistic(), penalty, as_data(X, y))
    assert alone.unit == unit


def test_a_ratio_is_a_kind_of_objective_of_its_own():
    """The objective alone says what problems with a loss of ratios lack, and which columns stay."""
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    data = as_data(X, [1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    usual, ratio = (Problem(loss, L2(0.0), data) for loss in (PairwiseSquare(), ExpectedAuc()))
    needs = Need.PROX | Need.SEPARABLE_PENALTY
    assert usual.provides & needs == needs
    assert not ratio.provides & needs
    assert usual.loss.shift_invariant
    assert ratio.loss.shift_invariant
    assert usual.dropped.tolist() == [0]
    assert ratio.dropped.tolist() == []
