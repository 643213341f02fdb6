"""Estimators that bad input is tried on, and the rows."""

import re

import numpy as np
import pytest

from auctor import AuctorError, LinearRegressor, MetricClassifier

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=40) > 0).astype(int)
T = X @ [1.0, 2.0, 3.0] + RNG.normal(size=40)

CLASSIFIERS = {
    "auc": lambda **p: MetricClassifier("auc", **p),
    "auc square": lambda **p: MetricClassifier("auc", surrogate="square", **p),
    "error": lambda **p: MetricClassifier("error", **p),
    "log_loss": lambda **p: MetricClassifier("log_loss", **p),
}
REGRESSORS = {
    "squared": lambda **p: LinearRegressor("squared", **p),
    "absolute": lambda **p: LinearRegressor("absolute", **p),
    "huber": lambda **p: LinearRegressor("huber", **p),
}
MAKERS = CLASSIFIERS | REGRESSORS
#: What is refused before a loss is looked at: one maker of each class stands for all of its losses
#: (`test_every_loss_goes_through_the_same_checks` shows that they share them).
CLASSES = {"classifier": CLASSIFIERS["auc"], "regressor": REGRESSORS["squared"]}


def every(makers):
    return pytest.mark.parametrize("make", makers.values(), ids=makers.keys())


def one_of_each():
    return [(MetricClassifier(), Y), (LinearRegressor(), T)]


def targets(model):
    return Y if isinstance(model, MetricClassifier) else T


def refuse(match, call, *args, kind=AuctorError, **kwargs):
    """The call raises the family's error: "<who> needs <what>; got <value>. <Advice>."""
    with pytest.raises(kind, match=match) as caught:
        call(*args, **kwargs)
    message = str(caught.value)
    assert re.search(r"\. [A-Z]", message), message
    assert message.rstrip().endswith("."), message
    assert ".." not in message.replace("...", ""), message
    return message


def assert_finite(model):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert np.isfinite(model.gap_)


def assert_same(a, b, tol=1e-7):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=tol, atol=tol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=tol, atol=tol)
