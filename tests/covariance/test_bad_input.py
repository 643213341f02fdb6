"""What cannot be fitted is refused, with a reason and one thing to do."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import empirical_covariance

from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.covariance import SparseInverseCovariance, SparseInverseCovarianceCV, covariance_path
from auctor.covariance.estimators.covariance import refit

GOOD = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.0]])


def changed(i, j, value):
    matrix = GOOD.copy()
    matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (changed(0, 1, 0.5), "symmetric"),
        (changed(0, 0, np.nan), "NaN"),
        (changed(1, 1, np.inf), "infinity"),
        (changed(1, 1, -1.0), "negative variance, number 1"),
        (changed(2, 2, 0.0), "constant column, number 2"),
        (GOOD[:2], "square"),
        (np.ones(3), "square"),
        (np.empty((0, 0)), "square"),
        ("text", "numbers"),
        ([[1.0, "a"], ["a", 1.0]], "numbers"),
    ],
)
def test_matrices_that_are_no_covariances(matrix, message):
    for call in (SparseInverseCovariance().fit_covariance, covariance_path):
        with pytest.raises(DataError, match=message):
            call(matrix)
    with pytest.raises(DataError, match=message):
        refit(matrix, np.eye(3))


def weighted(i, j, value, mirror=None):
    matrix = np.ones((3, 3))
    matrix[i, j] = value
    matrix[j, i] = value if mirror is None else mirror
    return matrix


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones((2, 2)), re.escape("shape (3, 3)")),
        (np.ones(3), re.escape("shape (3, 3)")),
        (weighted(0, 1, -1.0), ">= 0"),
        (weighted(0, 1, np.nan), ">= 0"),
        (weighted(0, 1, 2.0, 1.0), "columns 0 and 1 given two different weights"),
        (weighted(0, 2, np.inf, 0.0), "columns 0 and 2 both free.*forbidden"),
        (weighted(1, 1, np.inf), "diagonal"),
        ([["a"]], "numbers"),
        ("other", "adaptive"),
    ],
)
def test_weights_that_make_no_sense(weights, message):
    with pytest.raises(AuctorError, match=message):
        SparseInverseCovariance(weights=weights).fit_covariance(GOOD)


def test_a_constant_column_is_named():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:, 1] = 7.0
    with pytest.raises(DataError, match="constant column, number 1"):
        SparseInverseCovariance().fit(X)
    with pytest.raises(DataError, match="constant column, 'b'"):
        SparseInverseCovarianceCV().fit(pd.DataFrame(X, columns=["a", "b", "c"]))


def test_one_row():
    with pytest.raises(ValueError, match="minimum of 2"):
        SparseInverseCovariance().fit(np.ones((1, 3)))
    with pytest.raises(ParameterError, match="n"):
        SparseInverseCovariance().fit_covariance(GOOD, n=1)


def named_strength(error):
    return float(re.search(r"try ([\d.e+-]+)\.", str(error.value)).group(1))


def test_no_penalty_and_a_singular_covariance():
    S = empirical_covariance(np.random.default_rng(0).normal(size=(5, 20)))
    with pytest.raises(DataError, match=r"without bound.*strength= above 0 works") as error:
        SparseInverseCovariance(0.0).fit_covariance(S)
    assert SparseInverseCovariance(named_strength(error)).fit_covariance(S).solution_.converged
    with pytest.raises(DataError, match="without bound"):
        refit(S, np.ones((20, 20)))


def test_no_penalty_and_a_regular_covariance():
    S = empirical_covariance(np.random.default_rng(0).normal(size=(50, 6)))
    model = SparseInverseCovariance(0.0, tol=1e-10).fit_covariance(S)
    np.testing.assert_allclose(model.precision_, np.linalg.inv(S), atol=1e-5)


def test_an_indefinite_covariance_with_too_small_a_penalty():
    S = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.raises(DataError, match="without bound") as error:
        SparseInverseCovariance(0.01).fit_covariance(S)
    assert SparseInverseCovariance(named_strength(error)).fit_covariance(S).solution_.converged


def test_one_pair_without_a_penalty_in_a_singular_covariance():
    S = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])  # the first two columns are equal
    weights = weighted(0, 1, 0.0)
    with pytest.raises(DataError, match="without bound"):
        SparseInverseCovariance(0.1, weights=weights).fit_covariance(S)
    assert SparseInverseCovariance(0.1).fit_covariance(S).solution_.converged


@pytest.mark.parametrize(
    "parameters",
    [
        {"strength": -1.0},
        {"strength": np.nan},
        {"strength": "a"},
        {"tol": -1.0},
        {"max_iter": -1},
        {"max_seconds": -1.0},
        {"n_threads": 0},
        {"standardise": "ranks"},
        {"standardise": 2},
        {"solver": "sgd"},
    ],
)
def test_parameters_out_of_range(parameters):
    with pytest.raises(AuctorError):
        SparseInverseCovariance(**parameters).fit_covariance(GOOD)


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "aic"},
        {"ebic_gamma": 2.0},
        {"strengths": []},
        {"strengths": [-1.0]},
        {"strengths": [np.nan]},
        {"strengths": 0},
    ],
)
def test_parameters_of_the_choice_out_of_range(parameters):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(AuctorError):
        SparseInverseCovarianceCV(**parameters).fit(X)


def test_ranks_need_rows():
    with pytest.raises(ParameterError, match="rows"):
        SparseInverseCovariance(standardise="rank").fit_covariance(GOOD)


@pytest.mark.parametrize("strengths", [[0.1, 0.2], [], [0.2, -0.1], [np.nan]])
def test_strengths_of_a_path(strengths):
    with pytest.raises(AuctorError):
        covariance_path(GOOD, strengths)


@pytest.mark.parametrize("graph", [np.ones((2, 2)), np.triu(np.ones((3, 3)))])
def test_graphs_that_do_not_fit(graph):
    with pytest.raises(DataError, match="graph"):
        refit(GOOD, graph)


@pytest.mark.parametrize("solver", ["newton_cd", "lhac"])
@pytest.mark.parametrize("unit", [2.0**-480, 2.0**166, 2.0**480])
def test_units_far_from_one_change_nothing_but_the_units(solver, unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6))
    near, far = (
        SparseInverseCovariance(0.1 * one**2, solver=solver, tol=1e-8, max_iter=1000).fit(X * one)
        for one in (1.0, unit)
    )
    assert far.solution_.converged
    np.testing.assert_allclose(far.precision_ * unit**2, near.precision_, atol=1e-3)
    moved = 12.0 * np.log(unit)
    assert far.solution_.value - moved == pytest.approx(near.solution_.value, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e-155, 1e160, 1e200])
def test_squares_beyond_the_numbers_are_refused_without_other_warnings(unit):
    X = np.random.default_rng(0).normal(size=(60, 6))
    with pytest.raises(DataError, match="columns of variances between 1e-300 and 1e\\+300"):
        SparseInverseCovariance(0.1).fit(X * unit)


@pytest.mark.parametrize(
    ("rows", "words"),
    [([[1.0, 2.0]], "minimum of 2 is required"), ([[1.0, np.nan], [2.0, 3.0]], "contains NaN")],
)
def test_rows_that_cannot_be_read_are_refused_by_the_name_of_the_estimator(rows, words):
    needs = "SparseInverseCovariance needs at least two rows of finite numbers"
    with pytest.raises(DataError, match=f"{needs}.*{words}"):
        SparseInverseCovariance().fit(rows)
