"""The worked examples X1 to X22 and checks T-01 to T-23 of the lecture notes: where each is tested.

Those that belong to no other file are here: X1, X2, X13, X14, X16, X17, X21, X22, and parts of
T-06, T-09, T-11, T-12 and T-20.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from auctor.core.errors import DataError
from auctor.data import as_data
from auctor.lab.least_squares import GaussNewton, LevenbergMarquardt, PoissonNetwork, solve
from auctor.lab.least_squares.poisson import exact
from auctor.lab.maps import CallableMap, MapProblem, Mlp
from auctor.lab.qp import hard_margin, soft_margin
from auctor.lab.solvers import GradientDescent, Sgd
from auctor.lab.solvers.stochastic import Batches, Iterate
from auctor.losses import Hinge, Logistic, Squared
from auctor.minimise import minimise
from auctor.penalties import L2, NoPenalty
from auctor.problem import Problem
from auctor.solvers import choose

HERE, QP, SVM = "test_lecture_notes.py", "lab/qp/test_solver.py", "lab/qp/test_margin.py"
STEPS, NOISE = "solvers/test_notes.py", "lab/solvers/test_stochastic.py"
SQUARES, POISSON = "lab/least_squares/test_solver.py", "lab/least_squares/test_poisson.py"
LINEAR, MAPS, KERNEL = (
    "lab/least_squares/test_linear.py",
    "lab/maps/test_maps.py",
    "kernel/test_estimators.py",
)

#: Example or check, and a test of it: its file below this folder, and its name.
INDEX = {
    "X1": (HERE, "test_more_columns_than_rows_can_be_separated"),
    "X2": (HERE, "test_how_often_two_clouds_can_be_separated"),
    "X3": (SVM, "test_soft_margin_of_the_notes"),
    "X4": (QP, "test_newton_steps_over_a_hexagon"),
    "X5": (NOISE, "test_gradients_of_the_ten_integers"),
    "X6": (HERE, "test_sgd_ends_at_the_floor_of_its_step"),
    "X7": (NOISE, "test_sgd_takes_the_halving_steps_of_the_notes"),
    "X8": (STEPS, "test_exact_line_search_zigzags"),
    "X9": (STEPS, "test_exact_line_search_zigzags"),
    "X10": (STEPS, "test_order_of_methods_on_rosenbrock"),
    "X11": (STEPS, "test_order_of_methods_on_rosenbrock"),
    "X12": (POISSON, "test_gradient_descent_gives_every_printed_digit"),
    "X13": (HERE, "test_gauss_newton_stays_among_equal_units"),
    "X14": (HERE, "test_levenberg_marquardt_from_equal_units"),
    "X15": (POISSON, "test_gradient_descent_gives_every_printed_digit"),
    "X16": (HERE, "test_gauss_newton_stays_among_equal_units"),
    "X17": (HERE, "test_levenberg_marquardt_from_equal_units"),
    "X18": (LINEAR, "test_shortest_point_has_no_zero_where_the_shortest_in_the_1_norm_has_one"),
    "X19": (SVM, "test_the_twist_decides_whether_angles_separate_the_swiss_roll"),
    "X20": (SVM, "test_the_twist_decides_whether_angles_separate_the_swiss_roll"),
    "X21": (HERE, "test_a_network_of_eight_layers"),
    "X22": (HERE, "test_convex_but_not_strongly"),
    "T-01": (POISSON, "test_jacobian_is_the_derivative"),
    "T-02": (QP, "test_nocedal_wright_example"),
    "T-03": (QP, "test_the_saddle_matrix_has_d_positive_and_m_negative_eigenvalues"),
    "T-04": (QP, "test_farkas_exactly_one_alternative"),
    "T-05": (SVM, "test_hard_margin_primal_and_dual_agree"),
    "T-06": (HERE, "test_soft_margin_is_the_minimum_of_hinge_and_ridge"),
    "T-07": (SVM, "test_weak_duality_and_concavity"),
    "T-08": (SVM, "test_chunks_are_exact_where_one_pass_is_not"),
    "T-09": (MAPS, "test_adam_separates_the_swiss_roll"),
    "T-10": (STEPS, "test_second_order_methods_do_not"),
    "T-11": (NOISE, "test_nesterov_keeps_his_bound_and_beats_gradients"),
    "T-12": (HERE, "test_sgd_ends_at_the_floor_of_its_step"),
    "T-13": (NOISE, "test_cost_does_not_grow_with_the_rows"),
    "T-14": (NOISE, "test_first_step_of_adam_is_its_step_size"),
    "T-15": (STEPS, "test_compact_lbfgs_is_the_dense_recursion"),
    "T-16": (NOISE, "test_curvature_helps_where_scales_differ"),
    "T-17": (NOISE, "test_curvature_helps_where_scales_differ"),
    "T-18": (SQUARES, "test_trust_region_step_is_exact"),
    "T-19": (POISSON, "test_levenberg_marquardt_leaves_the_symmetric_start"),
    "T-20": (POISSON, "test_boundary_values_hold_for_all_weights"),
    "T-21": (LINEAR, "test_equals_the_pseudo_inverse"),
    "T-22": (STEPS, "test_coordinate_descent_on_a_sparse_lasso"),
    "T-23": (STEPS, "test_random_coordinates_keep_their_bound"),
}


def test_every_example_and_check_has_its_test():
    wanted = [f"X{k}" for k in range(1, 23)] + [f"T-{k:02}" for k in range(1, 24)]
    assert list(INDEX) == wanted
    for file, name in INDEX.values():
        tree = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def clouds(seed, each, spread):
    """Two Gaussian clouds with means 0.5 and 1.5, the class -1 drawn first."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(centre, spread, (each, 2)) for centre in (0.5, 1.5)])
    return X, np.repeat([-1.0, 1.0], each)


def separable(X, y, form="primal"):
    try:
        found = hard_margin(X, y, form=form)
    except DataError:
        return False
    assert (y * found.decision_function(X)).min() > 0.0
    return True


def test_more_columns_than_rows_can_be_separated():
    """X1: why every category of a text collection can be told from the rest by a hyperplane."""
    rng = np.random.default_rng(0)
    X = sparse.random(60, 300, 0.1, random_state=0, data_rvs=rng.standard_normal).toarray()
    assert separable(X, np.where(rng.random(60) < 0.5, 1.0, -1.0), form="dual")


@pytest.mark.parametrize(
    ("each", "spread", "low", "high"),
    [(5, 1.0, 0.22, 0.50), (10, 1.0, 0.0, 0.10), (20, 1.0, 0.0, 0.0), (50, 0.2, 1.0, 1.0)],
)
def test_how_often_two_clouds_can_be_separated(each, spread, low, high):
    """X2, E-08: with a spread of 1 in 36, 3 and 0 of 100 cases; with 0.2 always."""
    share = np.mean([separable(*clouds(seed, each, spread)) for seed in range(100)])
    assert low <= share <= high


def test_soft_margin_is_the_minimum_of_hinge_and_ridge():
    """T-06: the program with slacks and the loss without them have the same minimum."""
    X, y = clouds(2, 20, 1.0)
    margin = soft_margin(X, y, C=1.0)
    problem = Problem(Hinge(), L2(1.0 / 40), as_data(X, y))
    best = minimise(problem, choose(problem), tol=1e-9)
    assert margin.value == pytest.approx(40 * best.value, rel=1e-7)
    np.testing.assert_allclose(margin.coef, best.coef, atol=1e-4)
    # Only rows with the full multiplier pay, and rows without any are beyond the margin.
    np.testing.assert_allclose(margin.multipliers[margin.slack > 1e-6], 1.0, atol=1e-6)
    scores = X @ best.coef + best.intercept
    assert (y * scores)[margin.multipliers < 1e-6].min() > 1.0 - 1e-4


@pytest.fixture
def integers():
    """``(1/20) sum (x - i)^2`` over i = 1..10, whose slopes by single rows are x - i."""
    data = as_data(np.ones((10, 1)), np.arange(1.0, 11.0))
    return Problem(Squared(), NoPenalty(), data, fit_intercept=False)


def test_sgd_ends_at_the_floor_of_its_step(integers):
    """X6, T-12: rows drawn independently, step 0.3; the mean gap is 0.3 8.25 / (2 (2 - 0.3))."""
    rng, iterate, gaps = np.random.default_rng(0), Iterate.at(np.array([-5.0])), []
    solver = Sgd(step_size=0.3, batch=1, schedule="constant")
    for _ in range(2500):
        solver.advance(Batches(integers, rng), iterate, 1, 0.3)
        gaps.append(0.5 * (iterate.w[0] - 5.5) ** 2)
    assert np.mean(gaps[100:]) == pytest.approx(0.727941, rel=0.2)


def test_both_ways_to_write_nesterovs_momentum_are_one(integers):
    """T-11: (110) from two points and (114) from a velocity, which is what `Sgd` keeps."""
    solver = Sgd(step_size=0.1, batch=10, schedule="constant", nesterov="momentum")
    batches, iterate = Batches(integers, np.random.default_rng(0)), Iterate.at(np.array([-5.0]))
    x = before = -5.0
    for k in range(1, 41):
        mu = 1.0 - 3.0 / (5.0 + k)
        y = (1.0 + mu) * x - mu * before
        x, before = y - 0.1 * (y - 5.5), x
        iterate.k += 1
        solver.advance(batches, iterate, 10, 0.1)
        assert iterate.w[0] == pytest.approx(x, rel=1e-12)


EQUAL_UNITS = pytest.mark.parametrize("activation", ["tanh", "sigmoid"])


def from_ones(activation, method):
    equation = PoissonNetwork(activation=activation)
    found = solve(
        equation.residuals, np.ones(40), equation.jacobian, method=method, tol=1e-4, max_iter=120
    )
    return found, equation.largest_error(found.x)


@EQUAL_UNITS
def test_gauss_newton_stays_among_equal_units(activation):
    """X13, X16, E-24: shortest steps keep the ten units alike, so that one unit is fitted.

    The notes' counts and errors come from rounding that a shift of 1e-12 has amplified.
    """
    found, error = from_ones(activation, GaussNewton())
    units = found.x.reshape(4, 10)
    assert np.ptp(units, axis=1).max() <= 1e-6 * np.abs(units).max()
    assert 1e-3 < error < 1e-2


@EQUAL_UNITS
def test_levenberg_marquardt_from_equal_units(activation):
    """X14, X17: errors of 1.3e-6 and 1.9e-5 in the notes, after 109 and 44 steps."""
    found, error = from_ones(activation, LevenbergMarquardt())
    assert error <= 2.5e-5
    assert found.value <= 1e-5
    assert found.n_iter <= 120


def test_the_exact_solution_satisfies_the_equation():
    """T-20: the Laplacian of u is the right-hand side."""
    x, y = np.random.default_rng(0).uniform(0.1, 0.9, (2, 50))
    h = 1e-4
    laplacian = (
        exact(x + h, y) + exact(x - h, y) + exact(x, y + h) + exact(x, y - h) - 4.0 * exact(x, y)
    ) / h**2
    np.testing.assert_allclose(laplacian, np.exp(-x) * (x - 2 + y**3 + 6 * y), atol=1e-6)


def test_a_linear_rule_cannot_follow_the_twist():
    """T-09: sine and cosine of three times the angle, and the radius, at twist 1."""
    rng = np.random.default_rng(0)
    r, petal = rng.random(600), np.repeat(np.arange(6), 100)
    angle = petal * np.pi / 3 + r
    X = r[:, None] * np.column_stack((np.cos(angle), np.sin(angle)))
    X += 0.1 * r[:, None] * rng.normal(size=X.shape)
    turn = 3.0 * np.arctan2(X[:, 1], X[:, 0])
    Z = np.column_stack((np.sin(turn), np.cos(turn), np.hypot(*X.T)))
    y = np.where(petal % 2, -1.0, 1.0)
    order = rng.permutation(600)
    train, test = order[:300], order[300:]
    found = soft_margin(Z[train], y[train], C=10.0, form="dual")
    share = np.mean(np.sign(found.decision_function(Z[test])) == y[test])
    assert 0.85 < share <= 0.95


def test_a_network_of_eight_layers():
    """X21: as deep as the first of the networks that the notes name; the product is exact."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), np.where(np.arange(12) % 2, 1.0, -1.0)
    problem = MapProblem(Logistic(), L2(0.01), Mlp(X, y, hidden=(4,) * 8, activation="tanh"))
    w, h = problem.start() + 0.1 * rng.normal(size=problem.start().size), 1e-5
    direction = rng.normal(size=w.size)
    slope = problem.total_gradient(problem.evaluate(w)) @ direction
    ahead, behind = (problem.evaluate(w + s * h * direction).value for s in (1.0, -1.0))
    assert slope == pytest.approx((ahead - behind) / (2.0 * h), rel=1e-6)


def test_convex_but_not_strongly():
    """X22: the curvature of sqrt(x^2 + 1) falls to zero, so unit gradient steps from far are slow.

    Its square root, doubled, is the residual whose halved square it is.
    """
    root = CallableMap(
        lambda x: np.sqrt(2.0) * (1.0 + x**2) ** 0.25,
        lambda x: (x / np.sqrt(2.0) * (1.0 + x**2) ** -0.75)[:, None],
        y=[0.0],
        start=[30.0],
    )
    problem = MapProblem(Squared(), NoPenalty(), root, fit_intercept=False)
    assert problem.evaluate(np.array([2.0])).value == pytest.approx(np.sqrt(5.0))
    steps = {}
    for x in (100.0, 1.0):
        found = minimise(
            problem,
            GradientDescent(),
            w0=np.array([x]),
            tol=0.0,
            max_iter=500,
            on_step=lambda step: bool(abs(step.w[0]) < 1e-3),
            on_failure="ignore",
        )
        assert abs(found.coef[0]) < 1e-3
        steps[x] = found.n_iter
    assert steps[100.0] > 3 * steps[1.0]
