"""More than two classes: all at once for log-loss, each against the rest otherwise."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import auctor
from auctor import MetricClassifier, MetricClassifierCV


def halves(load, seed=0):
    X, y = load(return_X_y=True)
    A, B, a, b = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(A)
    return scaler.transform(A), scaler.transform(B), a, b


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_log_loss_is_multinomial_regression(load, fit_intercept, weighted):
    A, B, a, b = halves(load)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=a.size) if weighted else None
    strength = 1.0 / (a.size if weight is None else weight.sum())
    theirs = LogisticRegression(
        C=1.0, fit_intercept=fit_intercept, solver="newton-cg", tol=1e-10, max_iter=1000
    ).fit(A, a, weight)
    ours = MetricClassifier(
        "log_loss",
        standardise=False,
        strength=strength,
        fit_intercept=fit_intercept,
        tol=1e-13,
        max_iter=5000,
    ).fit(A, a, weight)
    found = ours.predict_proba(B)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found, theirs.predict_proba(B), atol=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.score(B, b) == pytest.approx(-log_loss(b, found), abs=1e-12)
    again = np.linspace(1.0, 3.0, b.size)
    wanted = -log_loss(b, found, sample_weight=again)
    assert ours.score(B, b, again) == pytest.approx(wanted, abs=1e-12)


def test_the_gap_of_all_classes_is_certified():
    A, _, a, _ = halves(load_wine)
    for penalty in ("l2", "l1", "elastic_net"):
        model = MetricClassifier("log_loss", standardise=False, penalty=penalty, strength=0.01).fit(
            A, a
        )
        assert all(solution.certified for solution in model.solution_)
        assert model.coef_.shape == (3, A.shape[1])
    exact = MetricClassifier("log_loss", standardise=False, strength=0.01, tol=1e-10).fit(A, a)
    loose = MetricClassifier("log_loss", standardise=False, strength=0.01, tol=1e-2).fit(A, a)
    apart = loose.solution_[0].value - exact.solution_[0].value
    assert -1e-12 <= apart <= loose.gap_


def test_labels_weights_and_warm_starts_of_all_classes():
    A, B, a, _ = halves(load_wine)
    names = np.array(["a", "b", "c"])[a]
    plain = MetricClassifier("log_loss", standardise=False, strength=0.01, tol=1e-10).fit(A, a)
    named = MetricClassifier("log_loss", standardise=False, strength=0.01, tol=1e-10).fit(A, names)
    assert np.array_equal(np.array(["a", "b", "c"])[plain.predict(B)], named.predict(B))
    count = np.random.default_rng(0).integers(1, 4, size=a.size)
    weighted = MetricClassifier("log_loss", standardise=False, strength=0.01, tol=1e-10).fit(
        A, a, count
    )
    repeated = MetricClassifier("log_loss", standardise=False, strength=0.01, tol=1e-10)
    repeated.fit(np.repeat(A, count, axis=0), np.repeat(a, count))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    plain.set_params(warm_start=True).fit(A, a)
    assert plain.n_iter_ <= 1


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_the_strength_of_all_classes_is_searched(penalty):
    A, B, a, b = halves(load_wine)
    model = MetricClassifierCV("log_loss", penalty=penalty, n_strengths=6, cv=3).fit(A, a)
    assert model.score(B, b) > -0.2
    assert model.score(B, b) == pytest.approx(-log_loss(b, model.predict_proba(B)), abs=1e-12)


def test_calibrated_log_loss_scores_its_probabilities():
    A, B, a, b = halves(load_wine)
    model = MetricClassifier("log_loss", standardise=False, calibrate="sigmoid", strength=0.01).fit(
        A, a
    )
    assert model.score(B, b) == pytest.approx(-log_loss(b, model.predict_proba(B)), abs=1e-12)


def test_all_classes_survive_a_file(tmp_path):
    A, B, a, b = halves(load_iris)
    model = MetricClassifier("log_loss", standardise=False, strength=0.01).fit(A, a)
    auctor.save(model, tmp_path / "model.auctor")
    same = auctor.load(tmp_path / "model.auctor")
    np.testing.assert_array_equal(same.predict_proba(B), model.predict_proba(B))
    assert same.score(B, b) == model.score(B, b)


def test_digits_are_recognised_as_by_scikit_learn():
    A, B, a, b = halves(load_digits)
    theirs = LogisticRegression(C=1.0, max_iter=2000).fit(A, a).score(B, b)
    ours = MetricClassifier("log_loss", standardise=False, strength=1.0 / a.size).fit(A, a)
    assert np.mean(ours.predict(B) == b) >= theirs - 0.002


def test_auc_ranks_digits_better_than_multinomial_regression_and_labels_them_nearly_as_well():
    """Each class is ranked against the rest; that scores of two classes compare is not asked."""
    A, B, a, b = halves(load_digits)
    theirs = LogisticRegression(C=1.0, max_iter=2000).fit(A, a)
    ours = MetricClassifier("auc", strength=1.0 / a.size).fit(A, a)
    truth = np.eye(10)[b]
    assert ours.score(B, b) > roc_auc_score(truth, theirs.decision_function(B)) + 0.001
    assert np.mean(ours.predict(B) == b) > theirs.score(B, b) - 0.015
    hinge = MetricClassifier("auc", surrogate="hinge", strength=1.0 / a.size).fit(A, a)
    assert np.mean(hinge.predict(B) == b) < np.mean(ours.predict(B) == b)
