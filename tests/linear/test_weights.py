"""Weights of rows and classes."""

import numpy as np
import pytest
from sklearn.base import clone

from auctor import MetricClassifier
from tests.linear.fits import SURROGATES, fitted, same


@pytest.mark.sample(4)
@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("data", ["rows", "wide_rows"])
@pytest.mark.parametrize(("metric", "surrogate"), SURROGATES)
def test_weights_equal_repetition(request, store, data, penalty, metric, surrogate):
    rows = request.getfixturevalue(data)
    X, again = store(rows.X), rows.repeated()
    model = MetricClassifier(metric, surrogate=surrogate, penalty=penalty, strength=0.01)
    one = clone(model).fit(X, rows.y, sample_weight=rows.weight)
    other = clone(model).fit(X[again], rows.y[again])
    same(one, other)
    np.testing.assert_allclose(one.threshold_, other.threshold_, atol=1e-8)
    np.testing.assert_allclose(
        one.score(X, rows.y, rows.weight), other.score(X[again], rows.y[again]), atol=1e-12
    )


@pytest.mark.parametrize("penalty", ["l1", "elastic_net", "l2"])
def test_weights_equal_repetition_for_classes_trained_jointly(store, penalty):
    """The steps, too, are those of the repeated rows: no statistic of a solver depends on them."""
    rng = np.random.default_rng(42)
    X, y, weight = rng.random((15, 30)), rng.integers(0, 3, 15), rng.integers(0, 5, 15)
    again = np.repeat(np.arange(15), weight)
    model = MetricClassifier("log_loss", penalty=penalty)
    one = clone(model).fit(store(X), y, sample_weight=weight)
    other = clone(model).fit(store(X)[again], y[again])
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-7, atol=1e-9)


@pytest.mark.sample(4)
@pytest.mark.parametrize(("n", "d"), [(800, 40), (300, 700), (4000, 200)])
@pytest.mark.parametrize(
    ("metric", "surrogate"),
    [("log_loss", "auto"), ("error", "hinge"), ("error", "squared_hinge"), ("auc", "hinge")],
)
def test_weights_equal_repetition_on_more_rows(metric, surrogate, n, d):
    """Few and many columns, and rows enough for Hessians of sampled rows."""
    rng = np.random.default_rng(1)
    X, weight = rng.normal(size=(n, d)), rng.integers(0, 4, n)
    y = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n) > 0.7
    again = np.repeat(np.arange(n), weight)
    model = MetricClassifier(metric, surrogate=surrogate, strength=0.01)
    same(clone(model).fit(X, y, weight), clone(model).fit(X[again], y[again]))


@pytest.mark.parametrize(("metric", "surrogate"), SURROGATES)
def test_scale_of_weights_does_not_matter(rows, metric, surrogate):
    model = MetricClassifier(metric, surrogate=surrogate, strength=0.01)
    one = clone(model).fit(rows.X, rows.y, sample_weight=np.full(300, 1e-30))
    same(one, clone(model).fit(rows.X, rows.y, sample_weight=np.full(300, 1e60)))
    same(one, clone(model).fit(rows.X, rows.y, sample_weight=2.0))


@pytest.mark.parametrize("metric", ["error", "log_loss"])
def test_class_weight_multiplies_row_weights(rows, metric):
    base = rows.weight + 0.5
    for spec, factors in (
        ({0: 3.0, 1: 0.5}, (3.0, 0.5)),
        ({1: 7}, (1.0, 7.0)),
        ("balanced", [base.sum() / (2 * base[rows.y == k].sum()) for k in (0, 1)]),
    ):
        params = {"strength": 0.01, "standardise": False}  # scaling goes by sample weights alone
        named = MetricClassifier(metric, class_weight=spec, **params)
        weight = base * np.where(rows.y == 1, factors[1], factors[0])
        plain = MetricClassifier(metric, **params)
        same(
            named.fit(rows.X, rows.y, sample_weight=base),
            plain.fit(rows.X, rows.y, sample_weight=weight),
        )


def test_class_weight_does_not_move_a_ranking(rows):
    one = fitted(rows, "auc", surrogate="square")
    other = fitted(rows, "auc", surrogate="square", class_weight={0: 10.0})
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-12)
