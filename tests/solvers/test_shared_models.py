"""Eliminating the intercept and growing Gram matrices, against plain linear algebra."""

import numpy as np
import pytest

from auctor.solvers.sparse.models.shared import InterceptRow, grown_gram


@pytest.fixture
def model():
    """A positive definite matrix over four weights and an intercept, and a gradient."""
    rng = np.random.default_rng(3)
    factor = rng.normal(size=(9, 5))
    return factor.T @ factor, rng.normal(size=5)


def test_the_reduced_model_has_the_minimiser_of_the_whole(model):
    matrix, gradient = model
    row = InterceptRow(matrix[:4, 4], float(matrix[4, 4]))
    reduced = matrix[:4, :4].copy()
    row.eliminate(reduced)
    moved = -np.linalg.solve(reduced, row.gradient(gradient[:4], gradient[4]))
    whole = -np.linalg.solve(matrix, gradient)
    np.testing.assert_allclose(moved, whole[:4], rtol=1e-10)
    assert row.change(moved, gradient[4]) == pytest.approx(whole[4], rel=1e-10)
    np.testing.assert_allclose(np.diag(matrix)[:4] - row.taken(), np.diag(reduced), rtol=1e-12)


def test_part_of_the_weights_takes_part_of_the_row(model):
    matrix, _ = model
    row = InterceptRow(matrix[:4, 4], float(matrix[4, 4])).of(np.array([2, 0]))
    np.testing.assert_array_equal(row.side, matrix[[2, 0], 4])
    assert row.corner == matrix[4, 4]


@pytest.mark.parametrize("row", [InterceptRow.absent(4), InterceptRow(np.ones(4), 0.0)])
def test_without_curvature_the_intercept_stays(model, row):
    matrix, gradient = model
    reduced = matrix[:4, :4].copy()
    row.eliminate(reduced)
    np.testing.assert_array_equal(reduced, matrix[:4, :4])
    np.testing.assert_array_equal(row.gradient(gradient[:4], 2.0), gradient[:4])
    np.testing.assert_array_equal(row.taken(), np.zeros(4))
    assert not row.present
    assert row.change(np.ones(4), 2.0) == 0.0


@pytest.mark.parametrize("old", [0, 2, 3])
def test_a_grown_gram_is_the_gram_of_all_columns(old):
    X = np.random.default_rng(5).normal(size=(7, 5))
    gram = X.T @ X
    np.testing.assert_array_equal(grown_gram(gram[:old, :old], gram[:, old:]), gram)
