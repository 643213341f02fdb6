"""Parameters out of range, and calls before a fit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import auctor
from auctor import LinearRegressor, MetricClassifier
from auctor.core.errors import DataError, IncompatibleError, ParameterError
from auctor.losses import Logistic
from auctor.penalties import L1
from auctor.solvers import Newton
from tests.linear.makers import MAKERS, T, X, Y, every, one_of_each, refuse, targets

# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        *[({"strength": v}, "strength") for v in (-1.0, np.nan, np.inf, "x", None, True)],
        *[({"tol": v}, "tol") for v in (-1.0, np.nan, np.inf, "x", None)],
        *[({"max_iter": v}, "max_iter") for v in (0, -1, 1.5, None, "x")],
        *[({"max_seconds": v}, "max_seconds") for v in (-1.0, np.nan, "x")],
        *[({"n_threads": v}, "n_threads") for v in (0, -1, 1.5, "x")],
        *[({"verbose": v}, "verbose") for v in (-1, "x", None)],
        *[({"random_state": v}, "random_state") for v in (-1, 1.5, "x")],
        *[({"fit_intercept": v}, "fit_intercept") for v in (None, "yes", 1.5)],
        *[({"warm_start": v}, "warm_start") for v in (None, "yes")],
        *[({"penalty": v}, "'none', 'l2', 'l1', 'elastic_net'") for v in ("L2", "ridge")],
        *[({"penalty": v}, "none, l2, l1, elastic_net") for v in (3, L1)],
        ({"l1_ratio": 0.5}, "elastic_net"),
        ({"penalty": "elastic_net", "l1_ratio": 2.0}, "l1_ratio"),
        ({"penalty": "elastic_net", "l1_ratio": "x"}, "l1_ratio"),
        ({"solver": "no_such_solver"}, "'newton', 'lbfgs_then_newton', 'lbfgs'"),
    ],
)
def test_parameters_out_of_range(params, message):
    for model, y in one_of_each():
        refuse(message, model.set_params(**params).fit, X, y, kind=ParameterError)
        assert not hasattr(model, "coef_")


@pytest.mark.parametrize("solver", [None, 3, Newton])
def test_solvers_that_are_no_solvers(solver):
    for model, y in one_of_each():
        refuse("solver", model.set_params(solver=solver).fit, X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        *[({"metric": v}, "'auc', 'partial_auc'") for v in ("AUC", "gini")],
        *[({"metric": v}, "loss object") for v in (None, 3, Logistic, ["auc"])],
        *[({"surrogate": v}, "'hinge', 'squared_hinge'") for v in ("log", None, 3, ["hinge"])],
        ({"metric": Logistic(), "surrogate": "hinge"}, "surrogate"),
        *[({"threshold": v}, "threshold") for v in ("best", None, np.nan, np.inf, True, [1])],
        *[({"calibrate": v}, "'sigmoid', 'isotonic'") for v in ("platt", True, 3)],
        *[({"threshold_cv": v}, "threshold_cv") for v in (1, 2.5, "x")],
        *[({"average": v}, "'macro', 'micro', 'weighted'") for v in ("mean", None)],
        ({"strength": "auto"}, "MetricClassifierCV"),
    ],
)
def test_classifier_parameters_out_of_range(params, message):
    model = MetricClassifier().set_params(**params)
    refuse(message, model.fit, X, Y, kind=ParameterError)


def test_regressor_losses_out_of_range():
    listed = ", ".join(map(repr, ("squared", "huber", "absolute", "quantile")))
    refuse(listed, LinearRegressor("l2").fit, X, T, kind=ParameterError)
    for loss in (None, 3, Logistic, ["squared"]):
        refuse("loss object", LinearRegressor(loss).fit, X, T, kind=ParameterError)
    refuse("-1 and .1", LinearRegressor(Logistic()).fit, X, T, kind=DataError)


@pytest.mark.parametrize(
    ("model", "able"),
    [
        (MetricClassifier("log_loss", penalty="l1", solver="newton"), "fista, proximal_gradient"),
        (MetricClassifier("log_loss", penalty="l1", solver=Newton()), "fista, proximal_gradient"),
        (MetricClassifier("auc", surrogate="hinge", solver="newton"), "continuation"),
        (MetricClassifier("auc", surrogate="hinge", penalty="l1", solver="lbfgs"), "continuation"),
        (MetricClassifier("log_loss", solver="exact"), "newton, lbfgs"),
        (LinearRegressor(penalty="l1", solver="newton"), "fista, proximal_gradient"),
        (LinearRegressor("absolute", solver="exact"), "continuation"),
        (LinearRegressor(solver="continuation"), "exact, newton"),
    ],
)
def test_a_solver_that_cannot_names_those_that_can(model, able):
    refuse(able, model.fit, X, targets(model), kind=IncompatibleError)


# --- after fit ----------------------------------------------------------------------------------


@every(MAKERS)
def test_before_and_after_fit(make):
    model = make()
    with pytest.raises(NotFittedError):
        model.predict(X)
    if isinstance(model, MetricClassifier):
        with pytest.raises(NotFittedError):
            model.decision_function(X)
    model.fit(X, targets(model))
    refuse("2 features.*expecting 3", model.predict, X[:, :2], kind=DataError)
    refuse("4 features.*expecting 3", model.predict, sparse.csr_array(np.c_[X, X[:, :1]]))
    refuse("two dimensions", model.predict, X[0], kind=DataError)
    refuse("0 sample", model.predict, X[:0], kind=DataError)


def test_score_with_wrong_labels():
    for metric in ("auc", "log_loss"):
        model = MetricClassifier(metric).fit(X, Y)
        refuse("equal length", model.score, X, Y[:-1])
    refuse("labels among", MetricClassifier().fit(X, Y).score, X, Y + 5)
    refuse("negative row", MetricClassifier().fit(X, Y).score, X, np.ones(40))


def test_calibration_needs_two_rows_of_a_class():
    model = MetricClassifier(calibrate="sigmoid")
    refuse("two rows of every class", model.fit, X, np.arange(40) == 3, kind=DataError)


@pytest.mark.parametrize(
    "kind",
    [
        auctor.MetricClassifier,
        auctor.MetricClassifierCV,
        auctor.LinearRegressor,
        auctor.AdditiveClassifier,
        auctor.AdditiveRegressor,
        auctor.TableClassifier,
    ],
)
def test_an_unknown_parameter_is_refused_in_the_name_of_the_estimator(kind):
    with pytest.raises(TypeError, match=rf"^{kind.__name__} needs parameters .* got 'C'"):
        kind(C=1.0)
