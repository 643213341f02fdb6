"""MetricClassifier against other solvers, and in scikit-learn's ways."""

import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import auctor
from auctor import ConvergenceWarning, MetricClassifier
from auctor.core.result import Status
from auctor.solvers import Lbfgs
from tests.linear.fits import SURROGATES, fitted, same

# --- against other solvers ----------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("strength", [1e-3, 0.3])
def test_log_loss_is_logistic_regression(rows, store, fit_intercept, weighted, strength):
    weight = rows.weight.astype(float) if weighted else None
    total = rows.weight.sum() if weighted else rows.y.size
    ours = MetricClassifier(
        "log_loss", strength=strength, fit_intercept=fit_intercept, standardise=False, tol=1e-12
    ).fit(store(rows.X), rows.y, sample_weight=weight)
    theirs = LogisticRegression(
        C=1.0 / (total * strength), fit_intercept=fit_intercept, tol=1e-12, max_iter=10_000
    ).fit(rows.X, rows.y, sample_weight=weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    assert np.array_equal(ours.predict(rows.X), theirs.predict(rows.X))
    np.testing.assert_allclose(
        ours.decision_function(rows.X), theirs.decision_function(rows.X), atol=1e-4
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_error_is_a_support_vector_machine(rows, loss):
    strength = 0.01
    params = {"strength": strength, "fit_intercept": False, "standardise": False, "tol": 1e-11}
    ours = fitted(rows, "error", surrogate=loss, **params)
    # Its squared hinge has no half.
    C = 1.0 / (rows.y.size * strength) * (0.5 if loss == "squared_hinge" else 1.0)
    theirs = LinearSVC(
        loss=loss, C=C, fit_intercept=False, tol=1e-10, max_iter=1_000_000, random_state=0
    ).fit(rows.X, rows.y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_hinge_with_a_free_intercept_is_a_linear_programme(rows):
    """With l1 the problem is an LP; liblinear penalises the intercept, so it cannot judge."""
    X, y, strength = rows.X, 2.0 * rows.y - 1.0, 0.02
    n, d = X.shape
    cost = np.r_[np.full(2 * d, strength), 0.0, 0.0, np.full(n, 1.0 / n)]
    A = -np.c_[y[:, None] * np.c_[X, -X, np.ones(n), -np.ones(n)], np.eye(n)]
    best = linprog(cost, A_ub=A, b_ub=-np.ones(n)).fun
    ours = fitted(rows, "error", penalty="l1", strength=strength, standardise=False)
    assert best <= ours.solution_.value + 1e-9
    assert ours.solution_.value - best <= ours.gap_ + 1e-9
    assert ours.gap_ <= 1e-4


def pair_differences(rows):
    positive, negative = rows.X[rows.y == 1], rows.X[rows.y == 0]
    return (positive[:, None, :] - negative[None, :, :]).reshape(-1, rows.X.shape[1])


def test_auc_square_is_the_closed_form(rows, store):
    strength = 0.05
    model = MetricClassifier("auc", surrogate="square", strength=strength, standardise=False)
    model.fit(store(rows.X), rows.y)
    Z = pair_differences(rows)
    # Mean of (1 - z.w)^2 + strength/2 |w|^2, pair by pair.
    closed = np.linalg.solve(Z.T @ Z / len(Z) + 0.5 * strength * np.eye(Z.shape[1]), Z.mean(axis=0))
    np.testing.assert_allclose(model.coef_[0], closed, atol=1e-9)
    assert model.n_iter_ == 1


def test_auc_hinge_is_optimal_pair_by_pair(rows):
    strength = 0.05
    model = fitted(rows, "auc", surrogate="hinge", strength=strength, standardise=False, tol=1e-6)
    Z = pair_differences(rows)
    # The same problem as a support vector machine on the differences.
    svm = LinearSVC(
        loss="hinge", C=1.0 / (len(Z) * strength), fit_intercept=False, tol=1e-9, random_state=0
    )
    signs = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SklearnConvergenceWarning)
        svm.fit(Z * signs[:, None], signs)

    def objective(w):
        return np.maximum(0.0, 1.0 - Z @ w).mean() + 0.5 * strength * w @ w

    assert objective(model.coef_[0]) == pytest.approx(model.solution_.value, rel=1e-12)
    assert objective(model.coef_[0]) <= objective(svm.coef_[0]) + model.gap_
    np.testing.assert_allclose(model.coef_[0], svm.coef_[0], atol=0.02)


# --- classes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "surrogate"), [pair for pair in SURROGATES if pair[0] != "log_loss"]
)
def test_one_against_the_rest(metric, surrogate):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = MetricClassifier(metric, surrogate=surrogate, strength=1e-2).fit(X, names)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == model.threshold_.shape == (3,)
    assert model.decision_function(X).shape == (150, 3)
    assert len(model.solution_) == 3
    assert model.gap_ == max(s.gap for s in model.solution_)
    assert model.n_iter_ == max(s.n_iter for s in model.solution_)
    for k, name in enumerate(model.classes_):
        binary = MetricClassifier(metric, surrogate=surrogate, strength=1e-2)
        binary.fit(X, names == name)
        np.testing.assert_array_equal(binary.coef_[0], model.coef_[k])
        uncut = [m.intercept_ + m.threshold_ for m in (binary, model)]
        np.testing.assert_allclose(uncut[0][0], uncut[1][k], rtol=1e-12)
    predicted = model.predict(X)
    assert np.array_equal(predicted, model.classes_[model.decision_function(X).argmax(axis=1)])
    assert (predicted == names).mean() > 0.8


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (("no", "yes"), None),
        (("no", "yes"), object),
        ((False, True), None),
        ((-7, 3), None),
        ((0.0, 1.0), None),
        ((4, 9), np.uint8),
    ],
)
def test_labels_of_any_kind(rows, labels, dtype):
    y = np.array([labels[k] for k in rows.y], dtype=dtype)
    model = MetricClassifier("log_loss").fit(rows.X, y)
    same(model, fitted(rows, "log_loss"), tol=0.0)
    assert model.classes_.tolist() == sorted(labels)
    assert model.predict(rows.X).dtype == y.dtype
    assert set(model.predict(rows.X).tolist()) <= set(labels)
    assert model.score(rows.X, y) == fitted(rows, "log_loss").score(rows.X, rows.y)


# --- scikit-learn's ways ------------------------------------------------------------------------


@pytest.mark.parametrize(("metric", "surrogate"), SURROGATES)
def test_warm_start(rows, metric, surrogate):
    params = {"surrogate": surrogate, "strength": 0.01, "tol": 1e-7}
    cold = fitted(rows, metric, **params)
    model = MetricClassifier(metric, warm_start=True, **params).fit(rows.X, rows.y)
    first = model.n_iter_
    model.fit(rows.X, rows.y)
    # A continuation starts at its widest smoothing again, so it need not be shorter.
    assert model.n_iter_ < first or surrogate == "hinge"
    assert abs(model.solution_.value - cold.solution_.value) <= model.gap_ + cold.gap_
    same(model, cold, tol=1e-3)
    # A start of another shape is dropped, not misused.
    model.set_params(metric="auc", surrogate="square").fit(rows.X[:, :3], rows.y)
    assert model.coef_.shape == (1, 3)


def test_without_warm_start_fits_do_not_depend_on_each_other(rows):
    model = fitted(rows, "auc", strength=1.0)
    same(model.set_params(strength=1e-3).fit(rows.X, rows.y), fitted(rows, strength=1e-3), tol=0)


def test_clone_pickle_params(rows):
    solver = Lbfgs(memory=7)
    model = MetricClassifier("log_loss", solver=solver, calibrate="sigmoid").fit(rows.X, rows.y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(rows.X), model.predict_proba(rows.X))
    assert again.solution_.trace.value == model.solution_.trace.value
    copy = clone(model)
    assert not hasattr(copy, "coef_")
    assert copy.get_params() | {"solver": solver} == model.get_params()
    copy.set_params(strength=0.5, metric="auc", solver="auto")
    assert copy.get_params()["strength"] == 0.5
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(C=1.0)
    assert repr(MetricClassifier("error", strength=0.1)) == (
        "MetricClassifier(metric='error', strength=0.1)"
    )


def test_pipeline_search_and_cross_validation(rows):
    pipe = make_pipeline(StandardScaler(), MetricClassifier("auc", surrogate="square"))
    scores = cross_val_score(pipe, rows.X, rows.y, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.6).all()
    judged = cross_val_score(pipe, rows.X, rows.y, cv=3, scoring="roc_auc")
    np.testing.assert_allclose(scores, judged, atol=1e-12)
    search = GridSearchCV(pipe, {"metricclassifier__strength": [1e-4, 1e3]}, cv=3)
    search.fit(rows.X, rows.y)
    assert search.best_params_["metricclassifier__strength"] in (1e-4, 1e3)
    assert search.predict(rows.X).shape == (300,)


def tables(X, names):
    pandas, polars, pyarrow = (
        pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow")
    )
    columns = dict(zip(names, X.T, strict=True))
    return pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)


def test_tables(rows):
    expected = fitted(rows, "log_loss")
    names, moved = list("abcde"), list("bacde")
    for table, other in zip(tables(rows.X, names), tables(rows.X, moved), strict=True):
        model = MetricClassifier("log_loss").fit(table, rows.y)
        same(model, expected, tol=1e-12)
        assert model.feature_names_in_.tolist() == names
        assert model.n_features_in_ == 5
        assert np.array_equal(model.predict(table), expected.predict(rows.X))
        with pytest.raises(auctor.AuctorError, match="feature names"):
            model.predict(other)
        with pytest.warns(UserWarning, match="valid feature names"):
            model.predict(rows.X)
    assert not hasattr(expected, "feature_names_in_")


def test_labels_and_weights_from_tables(rows):
    expected = MetricClassifier("log_loss").fit(rows.X, rows.y, sample_weight=rows.weight)
    pandas, polars, pyarrow = (
        pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow")
    )
    for make in (pandas.Series, polars.Series, pyarrow.array):
        model = MetricClassifier("log_loss").fit(
            rows.X, make(rows.y), sample_weight=make(rows.weight)
        )
        same(model, expected, tol=0.0)
    text = pandas.Series(rows.y).map({0: "a", 1: "b"})
    for y in (text, text.astype("category"), text.astype("string")):
        assert MetricClassifier("log_loss").fit(rows.X, y).classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
def test_storage_does_not_matter(rows, metric):
    """The way to the solution may depend on what a storage makes cheap, the solution not."""
    tol = 1e-12 if metric == "log_loss" else 1e-8
    expected = fitted(rows, metric, tol=tol, strength=0.01)
    for X in (
        np.asfortranarray(rows.X),
        sparse.csr_array(rows.X),
        sparse.csc_matrix(rows.X),
        sparse.coo_array(rows.X),
        rows.X.tolist(),
    ):
        same(MetricClassifier(metric, tol=tol, strength=0.01).fit(X, rows.y), expected, tol=1e-7)


@pytest.mark.sample(3)
@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
def test_threads_do_not_matter(store, metric):
    rng = np.random.default_rng(0)
    X = store(rng.normal(size=(6000, 20)))  # enough work for two threads
    y = rng.random(6000) < 1 / (1 + np.exp(-(X @ rng.normal(size=20))))
    one, two = (MetricClassifier(metric, n_threads=k, tol=1e-3).fit(X, y) for k in (1, 2))
    same(one, two, tol=0.0)
    assert np.array_equal(one.decision_function(X), two.decision_function(X))


# --- stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["auc", "error", "log_loss"])
def test_stopping_early_warns_and_returns_a_model(rows, metric):
    model = MetricClassifier(metric, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_iter") as caught:
        model.fit(rows.X, rows.y)
    assert len(caught) == 1
    assert issubclass(caught[0].category, SklearnConvergenceWarning)
    assert caught[0].filename == __file__
    assert f"{model.gap_:.3g}" in str(caught[0].message)
    assert model.n_iter_ == 1
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.gap_)
    assert not model.solution_.converged
    assert model.score(rows.X, rows.y) > {"log_loss": -0.69}.get(metric, 0.6)


def test_time_budget(rows):
    model = MetricClassifier(max_seconds=0.0)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model.fit(rows.X, rows.y)
    assert model.n_iter_ == 0
    assert model.solution_.status is Status.MAX_SECONDS
    assert model.solution_.value == model.solution_.trace.value[0]
    assert fitted(rows, max_seconds=60.0).solution_.converged


def test_one_warning_per_class():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as caught:
        MetricClassifier("error", surrogate="logistic", max_iter=1, tol=1e-12).fit(X, y)
    assert len(caught) == 3
    with pytest.warns(ConvergenceWarning) as caught:  # all classes at once
        MetricClassifier("log_loss", max_iter=1, tol=1e-12).fit(X, y)
    assert len(caught) == 1


def test_verbose_writes_to_the_error_stream_only(rows, capsys):
    quiet = fitted(rows, "log_loss")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "")
    model = fitted(rows, "log_loss", verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == len(model.solution_.trace) == model.n_iter_ + 1
    assert re.match(r"auctor +0 +objective", err)
    same(model, quiet, tol=0.0)


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize(("metric", "surrogate"), SURROGATES)
def test_the_gap_is_honest(rows, metric, surrogate, penalty):
    params = {"surrogate": surrogate, "penalty": penalty, "strength": 0.02}
    best = fitted(rows, metric, tol=1e-10, **params).solution_.value
    for stop in ({"max_iter": 2}, {"tol": 0.1}, {"tol": 1e-2}, {"tol": 1e-4}):
        model = fitted(rows, metric, **params, **stop)
        assert model.solution_.certified
        assert model.gap_ == model.solution_.gap
        # Rounding of the objective, which is of the order of one.
        assert model.solution_.value - best <= model.gap_ + 1e-13
