"""The estimators: attributes, conventions, weights, scaling, choice of the strength."""

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import empirical_covariance
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from auctor.core.errors import DataWarning
from auctor.covariance import (
    SparseInverseCovariance,
    SparseInverseCovarianceCV,
    covariance_path,
    strength_of_empty_graph,
)
from auctor.covariance.estimators.covariance import refit


@pytest.mark.filterwarnings("ignore:.*still rises there")
@parametrize_with_checks([SparseInverseCovariance(), SparseInverseCovarianceCV(strengths=3, cv=2)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_attributes(chain_rows):
    X = chain_rows(12, 80)
    model = SparseInverseCovariance(0.1).fit(X)
    assert model.gap_ == model.solution_.gap <= 1e-4 * 12
    assert model.n_iter_ > 0
    np.testing.assert_allclose(model.covariance_ @ model.precision_, np.eye(12), atol=1e-10)
    partial = model.partial_correlation_
    root = np.sqrt(model.precision_.diagonal())
    np.testing.assert_allclose(partial[0, 1], -model.precision_[0, 1] / root[0] / root[1])
    assert (partial.diagonal() == 1.0).all()
    np.testing.assert_allclose(model.graph_.toarray(), partial - np.eye(12), atol=1e-15)
    assert model.graph_.nnz == np.count_nonzero(model.precision_) - 12
    expected = -0.5 * (
        12 * np.log(2 * np.pi)
        - np.linalg.slogdet(model.precision_)[1]
        + np.sum(empirical_covariance(X) * model.precision_)
    )
    assert model.score(X) == pytest.approx(expected)
    centred = X - X.mean(axis=0)
    distances = np.einsum("ij,jk,ik->i", centred, model.precision_, centred)
    np.testing.assert_allclose(model.mahalanobis(X), distances)
    assert model.error_norm(model.covariance_) == pytest.approx(0.0, abs=1e-12)


def test_rows_and_their_covariance_are_the_same(chain_rows):
    X = chain_rows(8, 50)
    one = SparseInverseCovariance(0.1).fit(X)
    two = SparseInverseCovariance(0.1).fit_covariance(empirical_covariance(X), 50)
    np.testing.assert_array_equal(one.precision_, two.precision_)
    assert two.n_samples_ == 50


def test_a_penalty_on_the_diagonal_is_added_to_the_variances(chain_rows):
    S = empirical_covariance(chain_rows(8, 50))
    one = SparseInverseCovariance(0.1, penalise_diagonal=True, tol=1e-8).fit_covariance(S)
    two = SparseInverseCovariance(0.1, tol=1e-8).fit_covariance(S + 0.1 * np.eye(8))
    np.testing.assert_allclose(one.precision_, two.precision_)
    np.testing.assert_allclose(one.covariance_.diagonal(), S.diagonal() + 0.1, rtol=1e-3)


def test_more_columns_than_rows(chain_rows):
    model = SparseInverseCovariance(0.2).fit(chain_rows(60, 15))
    assert model.gap_ <= 1e-4 * 60
    assert np.linalg.eigvalsh(model.precision_)[0] > 0.0


def test_zero_weights_are_not_penalised_and_infinite_ones_forbid(chain_rows, violation):
    X = chain_rows(10, 60)
    weights = np.ones((10, 10))
    weights[2, 7] = weights[7, 2] = 0.0
    weights[0, 1] = weights[1, 0] = np.inf
    model = SparseInverseCovariance(0.3, weights=weights, tol=1e-12).fit(X)
    S = empirical_covariance(X)
    assert model.covariance_[2, 7] == pytest.approx(S[2, 7], abs=1e-5)
    assert model.precision_[0, 1] == 0.0
    strengths = np.where(np.isinf(weights), np.inf, 0.3 * np.where(np.isinf(weights), 0, weights))
    np.fill_diagonal(strengths, 0.0)
    assert violation(S, strengths, model.precision_) < 1e-4


def test_adaptive_weights_keep_strong_edges_and_drop_weak_ones(chain_rows):
    X = chain_rows(30, 200)
    plain = SparseInverseCovariance(0.15).fit(X)
    adaptive = SparseInverseCovariance(0.15, weights="adaptive").fit(X)
    true = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) == 1
    wrong = ~true & ~np.eye(30, dtype=bool)
    assert np.count_nonzero(adaptive.precision_[wrong]) < np.count_nonzero(plain.precision_[wrong])
    assert (adaptive.precision_[true] != 0.0).all()
    shrunk = np.abs(plain.partial_correlation_[true]).mean()
    assert np.abs(adaptive.partial_correlation_[true]).mean() > shrunk


def test_standardized_columns_may_have_any_unit(chain_rows):
    X = chain_rows(8, 60)
    units = 10.0 ** np.arange(-4, 4)
    one = SparseInverseCovariance(0.2, standardise=True, tol=1e-8).fit(X)
    two = SparseInverseCovariance(0.2, standardise=True, tol=1e-8).fit(X * units)
    np.testing.assert_allclose(two.precision_ * units * units[:, None], one.precision_, atol=1e-6)
    S = empirical_covariance(X * units)
    three = SparseInverseCovariance(0.2, standardise=True, tol=1e-8).fit_covariance(S)
    np.testing.assert_allclose(three.precision_, two.precision_, rtol=1e-6, atol=1e-12)


def test_ranks_do_not_see_monotone_transformations(chain_rows):
    X = chain_rows(8, 60)
    one = SparseInverseCovariance(0.2, standardise="rank").fit(X)
    two = SparseInverseCovariance(0.2, standardise="rank").fit(np.exp(X))
    np.testing.assert_allclose(one.partial_correlation_, two.partial_correlation_, atol=1e-12)
    few = SparseInverseCovariance(0.2, standardise="rank").fit(chain_rows(30, 10))
    assert few.gap_ <= 1e-4 * 30


def test_the_strength_of_the_empty_graph(chain_rows):
    S = empirical_covariance(chain_rows(10, 60))
    top = strength_of_empty_graph(S)
    assert SparseInverseCovariance(top).fit_covariance(S).graph_.nnz == 0
    assert SparseInverseCovariance(0.999 * top).fit_covariance(S).graph_.nnz == 2
    weights = np.full((10, 10), 2.0)
    assert strength_of_empty_graph(S, weights) == pytest.approx(top / 2.0)
    assert strength_of_empty_graph(np.eye(3)) == 0.0


def test_a_path_is_its_points(chain_rows):
    S = empirical_covariance(chain_rows(30, 20))
    path = covariance_path(S, tol=1e-8)
    top = strength_of_empty_graph(S)
    assert len(path) == 20
    assert path[0].n_edges == 0
    assert all(solution.gap <= 1e-8 * 30 for solution in path)
    alone = covariance_path(S, [0.1 * top], tol=1e-8)[0]
    np.testing.assert_allclose(path[-1].precision, alone.precision, atol=1e-3)
    assert path[-1].value == pytest.approx(alone.value, abs=1e-6)


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore:.*still rises there")
@pytest.mark.parametrize("standardise", [False, True, "rank"])
@pytest.mark.parametrize("criterion", ["likelihood", "ebic", "stability"])
def test_the_choice_of_the_strength(chain_rows, criterion, standardise):
    X = chain_rows(30, 400)
    model = SparseInverseCovarianceCV(
        8, criterion=criterion, standardise=standardise, random_state=0
    ).fit(X)
    assert model.strength_ in model.strengths_
    assert model.criterion_values_.shape == (8,)
    true = np.abs(np.subtract.outer(np.arange(30), np.arange(30))) == 1
    assert (model.precision_[true] != 0.0).mean() > 0.9
    again = SparseInverseCovarianceCV(
        8, criterion=criterion, standardise=standardise, random_state=0, n_threads=2
    ).fit(X)
    np.testing.assert_array_equal(model.precision_, again.precision_)
    np.testing.assert_array_equal(model.criterion_values_, again.criterion_values_)


@pytest.mark.filterwarnings("ignore:.*still rises there")
def test_the_likelihood_is_that_of_the_rows_left_out(chain_rows):
    X = chain_rows(6, 40)
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    model = SparseInverseCovarianceCV([0.3, 0.1], cv=folds, tol=1e-3).fit(X)
    for at, strength in enumerate(model.strengths_):
        scores = [
            SparseInverseCovariance(strength, tol=1e-3).fit(X[train]).score(X[test])
            for train, test in folds
        ]
        constant = 3.0 * np.log(2.0 * np.pi)
        assert np.mean(scores) + constant == pytest.approx(model.criterion_values_[at], abs=1e-2)


def table_of_likelihoods(X, strengths, folds):
    """The mean log-likelihood of the rows left out for every strength, solved one by one."""
    return [
        np.mean([SparseInverseCovariance(s).fit(X[train]).score(X[test]) for train, test in folds])
        for s in strengths
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("n", [60, 150, 400])
def test_folds_that_follow_the_first_choose_as_all_of_them_would(chain_rows, n):
    X = chain_rows(12, n)
    folds = list(KFold(5).split(X))
    strengths = np.geomspace(0.5, 0.01, 15)
    model = SparseInverseCovarianceCV(strengths, cv=folds).fit(X)
    table = table_of_likelihoods(X, strengths, folds)
    chosen = strengths.tolist().index(model.strength_)
    assert 0 < chosen < 14
    assert max(table) - table[chosen] <= 0.005 * np.ptp(table)  # solves inside folds are loose
    tried = np.isfinite(model.criterion_values_)
    assert tried[chosen - 1 : chosen + 2].all()
    assert tried.sum() < 10  # the others are left out
    constant = 6.0 * np.log(2.0 * np.pi)
    expected = table[chosen] + constant
    assert model.criterion_values_[chosen] == pytest.approx(expected, abs=0.02 * np.ptp(table))


def test_the_end_of_the_grid_is_said(chain_rows):
    with pytest.warns(DataWarning, match="smallest strength that it tried, 0.3, and"):
        SparseInverseCovarianceCV([0.5, 0.4, 0.3]).fit(chain_rows(12, 150))


def test_refit_is_the_maximum_likelihood_on_the_graph(chain_rows):
    X = chain_rows(10, 300)
    S = empirical_covariance(X)
    model = SparseInverseCovarianceCV(criterion="ebic", refit_graph=True, tol=1e-8).fit(X)
    used = model.precision_ != 0.0
    np.testing.assert_allclose(model.covariance_[used], S[used], atol=1e-3)
    sparse = refit(S, model.graph_, tol=1e-8)
    np.testing.assert_allclose(sparse.precision, model.precision_, atol=1e-3)


def test_refit_needs_only_the_cliques_not_the_whole_to_be_regular(chain_rows):
    X = chain_rows(20, 8)  # singular, with strong neighbours
    X[:, 1:] += 2.0 * X[:, :-1]
    S = empirical_covariance(X)
    chain = np.abs(np.subtract.outer(np.arange(20), np.arange(20))) == 1
    found = refit(S, chain)
    np.testing.assert_allclose(found.covariance[chain], S[chain], rtol=1e-3)


@pytest.mark.filterwarnings("ignore:.*still rises there")
def test_the_choice_with_a_forbidden_edge(chain_rows):
    X = chain_rows(5, 100)
    weights = np.ones((5, 5))
    weights[0, 1] = weights[1, 0] = np.inf
    model = SparseInverseCovarianceCV(5, weights=weights).fit(X)
    assert model.precision_[0, 1] == 0.0
    assert model.precision_[1, 2] != 0.0


def test_names_of_columns(chain_rows):
    table = pd.DataFrame(chain_rows(3, 30), columns=["a", "b", "c"])
    model = SparseInverseCovariance(0.1).fit(table)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
