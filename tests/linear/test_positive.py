"""Which of two classes the metric is about, and that scikit-learn's conventions hold beside it."""

import numpy as np
import pytest
from sklearn.base import clone

from auctor import MetricClassifier, MetricClassifierCV, load, metrics, save
from auctor.core.errors import ParameterError


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    hit = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=300) > 0.7
    return X, hit


def labels(hit, positive, negative):
    return np.where(hit, positive, negative)


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        (1, 0), (1, -1), (True, False), ("yes", "no"), ("TRUE", "false"), ("1", "0"),
        ("Yes", "nein"),
    ],
)  # fmt: skip
def test_one_true_and_yes_are_positive_even_if_they_are_common(rows, positive, negative):
    X, hit = rows
    model = MetricClassifier("f1", surrogate="logistic").fit(X, labels(~hit, positive, negative))
    assert model.pos_label_ == positive


@pytest.mark.parametrize(("rare", "common"), [("bad", "good"), ("zebra", "horse"), (1, 2), (2, 1)])
def test_else_the_rarer_class_is_positive(rows, rare, common):
    X, hit = rows
    model = MetricClassifier("log_loss").fit(X, labels(hit, rare, common))
    assert model.pos_label_ == rare
    assert model.classes_.tolist() == sorted([rare, common])


def test_rarer_goes_by_weight_and_equal_classes_leave_the_second(rows):
    X, hit = rows
    y = labels(hit, "a", "b")
    heavy = np.where(hit, 100.0, 1.0)
    assert MetricClassifier("log_loss").fit(X, y, heavy).pos_label_ == "b"
    even = np.where(hit, 1.0 / hit.sum(), 1.0 / (~hit).sum())
    assert MetricClassifier("log_loss").fit(X, y, even).pos_label_ == "b"


@pytest.mark.parametrize("metric", ["f1", "precision_at_k(0.4)", "prbep", "cost(5)", "auc"])
def test_the_name_of_the_positive_class_does_not_matter(rows, metric):
    """Flipped labels train the same model; decision values keep scikit-learn's sign."""
    X, hit = rows
    usual = MetricClassifier(metric, calibrate="sigmoid").fit(X, labels(hit, "yes", "no"))
    first = MetricClassifier(metric, calibrate="sigmoid").fit(X, labels(hit, "bad", "good"))
    assert first.pos_label_ == "bad"
    np.testing.assert_allclose(first.coef_, -usual.coef_, atol=1e-12)
    np.testing.assert_allclose(first.decision_function(X), -usual.decision_function(X), atol=1e-12)
    assert ((first.predict(X) == "bad") == (usual.predict(X) == "yes")).all()
    assert ((first.decision_function(X) > 0) == (first.predict(X) == first.classes_[1])).all()
    np.testing.assert_allclose(first.predict_proba(X)[:, 0], usual.predict_proba(X)[:, 1])
    assert first.score(X, labels(hit, "bad", "good")) == pytest.approx(
        usual.score(X, labels(hit, "yes", "no"))
    )


def test_score_is_about_the_class_that_was_asked_for(rows):
    X, hit = rows
    y = labels(hit, "yes", "no")
    model = MetricClassifier("f1", pos_label="no").fit(X, y)
    predicted = model.predict(X)
    assert model.score(X, y) == pytest.approx(metrics.fbeta(y == "no", predicted == "no"))


def test_search_picks_by_the_positive_class(rows):
    X, hit = rows
    common = dict(n_strengths=4, cv=3)
    usual = MetricClassifierCV("f1", **common).fit(X, labels(hit, "yes", "no"))
    first = MetricClassifierCV("f1", **common).fit(X, labels(hit, "bad", "good"))
    np.testing.assert_allclose(first.scores_, usual.scores_)
    np.testing.assert_allclose(first.coef_, -usual.coef_, atol=1e-12)
    assert clone(first).pos_label is None


def test_a_file_keeps_the_positive_class(rows, tmp_path):
    X, hit = rows
    model = MetricClassifier("f1", penalty="l1").fit(X, labels(hit, "bad", "good"))
    save(model, tmp_path / "model.auctor")
    back = load(tmp_path / "model.auctor")
    assert back.pos_label_ == "bad"
    y = labels(hit, "bad", "good")
    assert back.score(X, y) == model.score(X, y)
    assert (back.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize(("classes", "given"), [(("a", "b"), "c"), (("a", "b", "c"), "a")])
def test_a_class_that_cannot_be_positive_is_refused(classes, given):
    y = np.repeat(classes, 5)
    X = np.arange(y.size, dtype=float)[:, None]
    with pytest.raises(ParameterError, match="pos_label"):
        MetricClassifier("log_loss", pos_label=given).fit(X, y)
