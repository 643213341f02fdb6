"""Extremes of a problem: two rows, one positive, separable data, hardly any penalty."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from auctor import MetricClassifier
from auctor.losses import Exponential
from tests.linear.makers import CLASSIFIERS, MAKERS, X, Y, assert_finite, every, targets


@every(CLASSIFIERS)
def test_two_rows(make):
    model = make().fit([[0.0], [1.0]], ["no", "yes"])
    assert_finite(model)
    assert model.predict([[0.0], [1.0]]).tolist() == ["no", "yes"]


@every(CLASSIFIERS)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_one_positive_in_five_thousand(make, store):
    rng = np.random.default_rng(1)
    matrix, y = rng.normal(size=(5000, 4)), np.zeros(5000, int)
    y[7] = 1
    model = make().fit(store(matrix), y)
    assert_finite(model)
    assert model.solution_.converged
    assert model.predict(matrix).sum() <= 2
    if model.metric == "auc":
        assert model.predict(matrix).sum() == 1
        assert model.score(matrix, y) > 0.9


@every(CLASSIFIERS)
@pytest.mark.parametrize("strength", [1e-4, 1e3])
def test_a_column_that_is_the_label(make, strength):
    model = make(strength=strength).fit(np.c_[X, Y], Y)
    assert_finite(model)
    if strength < 1.0:
        assert np.array_equal(model.predict(np.c_[X, Y]), Y)
        assert np.abs(model.coef_).argmax() == 3


@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@pytest.mark.parametrize("params", [{"strength": 0.0}, {"penalty": "none"}])
@pytest.mark.parametrize(
    ("metric", "surrogate"),
    [
        ("auc", "hinge"),
        ("auc", "square"),
        ("error", "hinge"),
        ("error", "squared_hinge"),
        ("log_loss", "logistic"),
        (Exponential(), "auto"),
    ],
)
def test_separable_data_without_penalty(metric, surrogate, params):
    """No finite minimiser exists for log-loss; the fit stays bounded and says it is no bound."""
    y = (X[:, 0] > 0).astype(int)
    model = MetricClassifier(metric, surrogate=surrogate, **params)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    endless = metric == "log_loss" or isinstance(metric, Exponential)
    assert ["nothing bounds" in str(w.message) for w in caught] == [True] * endless
    assert_finite(model)
    assert np.abs(model.coef_).max() < 1e4
    assert np.array_equal(model.predict(X), y)
    assert not model.solution_.certified


@pytest.mark.parametrize("strength", [1e-14, 1e-30, 1e-300])
@every(MAKERS)
def test_hardly_any_penalty(make, strength):
    """Tiny strengths give the unpenalised answer, or a warning."""
    model, free = make(strength=strength, max_iter=200), make(strength=0.0)
    y = targets(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert_finite(model)
    assert model.solution_.converged == (not caught)
    found = model.solution_
    if found.converged:
        proved = found.gap if found.certified else 0.0
        least = free.fit(X, y).solution_.value
        assert found.value <= least + max(2e-4 * least, proved)
