"""Columns scaled inside a fit: whatever the storage, in the units of the data outside."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV
from auctor.core.errors import ParameterError
from auctor.data.preparation import column_scaling, looks_scaled
from auctor.penalties import NonNegative, Separable

RNG = np.random.default_rng(0)
N = 240
NUMBERS = RNG.normal(size=(N, 3)) * [1e-5, 1.0, 1e6] + [3e-5, 50.0, 0.0]
FLAG = (RNG.random(N) < 0.3).astype(float)
CONSTANT = np.full(N, 7.0)
X = np.column_stack([NUMBERS, FLAG, CONSTANT])
Y = (X[:, 0] * 1e5 - X[:, 2] / 1e6 + FLAG + RNG.normal(size=N) > 3.0).astype(int)
STORES = [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]


@pytest.mark.parametrize("store", STORES)
def test_numbers_get_deviation_one_and_flags_stay(store):
    matrix = store(X)
    scaling = column_scaling(matrix, centre=True)
    np.testing.assert_allclose(scaling.factor[:3], 1.0 / NUMBERS.std(axis=0), rtol=1e-10)
    assert scaling.factor[3:].tolist() == [1.0, 1.0]
    scaled = scaling.apply(matrix)
    dense = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
    np.testing.assert_allclose(dense[:, :3].mean(axis=0), 0.0, atol=1e-9)  # all are stored
    np.testing.assert_array_equal(dense[:, 3], FLAG)
    np.testing.assert_allclose(dense[:, 4], 0.0, atol=1e-9)  # a constant is centred
    scaling.apply_in_place(matrix := store(X.copy()))
    again = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    np.testing.assert_array_equal(again, dense)


def test_a_huge_constant_beside_many_columns_does_not_slow_the_fit():
    """Without second derivatives, a column that dwarfs the others takes thousands of steps."""
    rng = np.random.default_rng(0)
    many = rng.normal(size=(900, 250))
    y = many[:, 0] + rng.normal(size=900) > 0.0
    plain = MetricClassifier("log_loss", strength=1e-3).fit(many, y)
    many[:, 7] = 1.7e9  # the second in which the table was written
    model = MetricClassifier("log_loss", strength=1e-3).fit(many, y)
    assert model.solution_.solver == plain.solution_.solver == "Lbfgs"
    assert model.solution_.converged
    assert model.n_iter_ < 2 * plain.n_iter_


def test_sparse_columns_with_zeros_are_not_centred():
    column = np.where(np.arange(N) % 4 == 0, NUMBERS[:, 1], 0.0)
    scaling = column_scaling(sparse.csr_array(column[:, None]), centre=True)
    assert scaling.mean[0] == 0.0
    assert scaling.factor[0] == pytest.approx(1.0 / column.std())


def test_weights_count_as_repetition():
    times = RNG.integers(0, 3, N)
    for store in STORES:
        one = column_scaling(store(X), centre=True, weight=times.astype(float))
        two = column_scaling(store(np.repeat(X, times, axis=0)), centre=True)
        np.testing.assert_allclose(one.factor, two.factor, rtol=1e-10)
        np.testing.assert_allclose(one.mean, two.mean, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("store", STORES)
def test_it_is_a_fit_to_scaled_columns(store, penalty):
    Z = X.copy()
    Z[:, :3] = StandardScaler().fit_transform(X[:, :3])
    params = {"penalty": penalty, "strength": 0.01, "tol": 1e-10}
    inside = MetricClassifier("log_loss", **params).fit(store(X), Y)
    outside = MetricClassifier("log_loss", standardise=False, **params).fit(Z, Y)
    np.testing.assert_allclose(inside.decision_function(X), outside.decision_function(Z), atol=1e-6)
    assert inside.solution_.value == pytest.approx(outside.solution_.value, rel=1e-9)
    np.testing.assert_array_equal(inside.solution_.coef, inside.coef_[0])
    if penalty == "l2":
        peer = LogisticRegression(C=1.0 / (N * 0.01), tol=1e-10, max_iter=1000).fit(Z, Y)
        np.testing.assert_allclose(
            inside.decision_function(X), peer.decision_function(Z), atol=1e-4
        )


@pytest.mark.parametrize("metric", ["auc", "log_loss", "error", "f1", "average_precision"])
@pytest.mark.parametrize("unit", [1e-5, 1e5])
def test_units_do_not_matter(metric, unit):
    table = X[:, :3] / NUMBERS.std(axis=0)
    one = MetricClassifier(metric, tol=1e-6).fit(table, Y)
    other = MetricClassifier(metric, tol=1e-6).fit(table * unit, Y)
    assert other.coef_.any()  # columns of size 1e-5 gave the empty model
    np.testing.assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-5, atol=1e-7)
    assert other.score(table * unit, Y) == pytest.approx(one.score(table, Y))


def test_regression_in_the_units_of_the_data():
    target = X[:, 1] * 3.0 + 1e-6 * X[:, 2] + 5.0
    model = LinearRegressor(strength=1e-9, tol=1e-12).fit(X, target)
    np.testing.assert_allclose(model.coef_[1:3], [3.0, 1e-6], rtol=1e-5)
    assert model.intercept_ == pytest.approx(5.0, abs=1e-3)


def test_a_warm_start_begins_where_the_last_fit_ended():
    model = MetricClassifier("log_loss", warm_start=True).fit(X, Y)
    assert model.n_iter_ > 0
    assert model.fit(X, Y).n_iter_ == 0


def test_auto_leaves_alone_what_looks_scaled():
    scaled = StandardScaler().fit_transform(NUMBERS)
    text = sparse.csr_array(np.abs(scaled) / np.linalg.norm(scaled, axis=1, keepdims=True))
    for matrix in (scaled, text, sparse.csr_array(FLAG[:, None])):
        assert looks_scaled(matrix, column_scaling(matrix, centre=True))
        params = {"strength": 0.01, "tol": 1e-9}
        auto = MetricClassifier("log_loss", **params).fit(matrix, Y)
        plain = MetricClassifier("log_loss", standardise=False, **params).fit(matrix, Y)
        np.testing.assert_array_equal(auto.coef_, plain.coef_)
    forced = MetricClassifier("log_loss", standardise=True, strength=0.01).fit(text, Y)
    assert (
        np.abs(forced.coef_ - MetricClassifier("log_loss", strength=0.01).fit(text, Y).coef_).max()
        > 0.01
    )


def test_auto_leaves_a_box_in_the_units_of_the_data():
    box = Separable(l2=1e-3, lower=-0.5, upper=0.5)
    model = MetricClassifier("log_loss", penalty=box).fit(1e-3 * X[:, 1:3], Y)
    assert np.abs(model.coef_).max() <= 0.5
    signs = MetricClassifier("log_loss", penalty=NonNegative()).fit(X, Y)
    assert (signs.coef_ >= 0.0).all()
    assert signs.coef_[0, 0] > 1.0  # scaled


def test_a_search_scores_in_the_units_of_the_data():
    seen = []

    def scoring(model, table, labels):
        seen.append(np.abs(table).max())
        return (model.predict(table) == labels).mean()

    model = MetricClassifierCV("log_loss", scoring=scoring, strengths=[0.1, 0.01], cv=2)
    model.fit(X, Y)
    assert min(seen) > 1e5
    assert model.scores_.min() > 0.5


@pytest.mark.parametrize("value", ["yes", 0.5, None])
def test_other_values_are_refused(value):
    with pytest.raises(ParameterError, match="standardise"):
        MetricClassifier(standardise=value).fit(X, Y)
