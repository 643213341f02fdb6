"""One row at a time, as dicts."""

import numpy as np
import pytest
from scipy import sparse

from auctor import StreamingAUC
from auctor.core.errors import DataError, ParameterError
from auctor.lab.learners import Oam, Spam
from auctor.streaming import Riverlike


def make_rows(n=120, seed=0):
    """Rows whose later ones have more features."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        y = bool(rng.random() < 0.4)
        known = 3 + 5 * k // n
        names = rng.choice(known, size=int(rng.integers(0, known + 1)), replace=False)
        rows.append(({f"f{j}": float(rng.normal() + y) for j in names}, y))
    return rows


@pytest.mark.sample(3)
@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("make", [Spam, Oam, StreamingAUC])
def test_it_is_the_learner_on_a_table(make, batch):
    rows = make_rows()
    model = Riverlike(make(grow=True), batch=batch)
    for x, y in rows:
        assert model.learn_one(x, y) is None
    place = {name: k for k, name in enumerate(model.features)}
    X = np.zeros((len(rows), len(place)))
    for k, (x, _) in enumerate(rows):
        for name, value in x.items():
            X[k, place[name]] = value
    y = np.array([y for _, y in rows])
    learner = make(grow=True).partial_fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(model.learner.coef_, learner.coef_, rtol=1e-12, atol=1e-14)
    assert model.learner.classes_.tolist() == [False, True]
    scores = [model.score_one(x) for x, _ in rows]
    np.testing.assert_allclose(scores, learner.decision_function(X), rtol=1e-12, atol=1e-12)
    labels = [model.predict_one(x) for x, _ in rows]
    assert labels == [score > 0 for score in scores]
    assert all(isinstance(label, bool) for label in labels)


@pytest.mark.parametrize("batch", [7, 1000])
def test_batches_do_not_change_what_is_predicted(batch):
    one, many = Riverlike(Spam(grow=True)), Riverlike(Spam(grow=True), batch=batch)
    for k, (x, y) in enumerate(make_rows()):
        if k % 5 == 0:
            assert one.score_one(x) == many.score_one(x)
        one.learn_one(x, y)
        many.learn_one(x, y)


def test_before_the_first_row():
    model = Riverlike(Spam(grow=True))
    assert model.predict_one({"a": 1.0}) is None
    assert model.score_one({"a": 1.0}) == 0.0
    assert not hasattr(model, "predict_proba_one")


def test_probabilities_where_the_learner_has_them():
    class Sure(Spam):
        def predict_proba(self, X):
            return np.array([[0.25, 0.75]])

    model = Riverlike(Sure(grow=True))
    assert model.predict_proba_one({"a": 1}) == {}
    model.learn_one({"a": 1}, True)
    assert model.predict_proba_one({"a": 1}) == {False: 0.25, True: 0.75}


def test_features_never_learned_have_no_weight():
    model = Riverlike(Spam(grow=True))
    for x, y in make_rows():
        model.learn_one(x, y)
    known = model.features
    assert model.score_one({"f0": 1.0, "new": 1e9}) == model.score_one({"f0": 1.0})
    assert model.features == known


def test_listed_features():
    model = Riverlike(Spam(), features=["a", "b"])
    model.learn_one({"b": 1.0}, 1)
    model.learn_one({"a": 1.0}, 0)
    assert model.learner.n_features_in_ == 2
    with pytest.raises(DataError, match="'c'"):
        model.learn_one({"c": 1.0}, 1)
    with pytest.raises(ParameterError, match="grow=True"):
        Riverlike(Spam())


@pytest.mark.parametrize(
    ("first", "classes"), [(True, [False, True]), (1, [1]), (0, [0, 1]), (-1, [-1, 1])]
)
def test_usual_classes(first, classes):
    model = Riverlike(Spam(grow=True))
    model.learn_one({"a": 1.0}, first)
    assert model.learner.classes_.tolist() == classes


@pytest.mark.parametrize("negative", [0, -1])
@pytest.mark.parametrize("batch", [1, 2, 9])
def test_a_one_waits_for_its_negative(negative, batch):
    model = Riverlike(Spam(grow=True, missing="skip"), batch=batch)
    for label in (1, None, 1):
        model.learn_one({"a": 1.0}, label)
    assert model.predict_one({"a": 1.0}) == 1
    model.learn_one({"b": 1.0}, negative)
    assert model.learner.classes_.tolist() == [negative, 1]
    assert model.learner.skipped_rows_ == 1


@pytest.mark.parametrize("batch", [1, 4])
def test_a_one_does_not_wait_for_others(batch):
    model = Riverlike(Spam(grow=True), batch=batch)
    for label in (1,) * (2 * batch - 1):
        model.learn_one({"a": 1.0}, label)
    with pytest.raises((DataError, ParameterError), match="as classes in"):
        model.learn_one({"a": 1.0}, 5)


def test_other_classes_are_given():
    with pytest.raises(ParameterError, match="classes="):
        Riverlike(Spam(grow=True)).learn_one({"a": 1.0}, "ham")
    model = Riverlike(Spam(grow=True), classes=["ham", "spam"])
    for _ in range(5):
        model.learn_one({"a": 1.0}, "spam", w=2.0)
        model.learn_one({"b": 1.0}, "ham")
    assert model.predict_one({"a": 5.0}) == "spam"
    with pytest.raises(DataError, match="ham"):
        model.learn_one({"a": 1.0}, True)


def test_bad_values():
    model = Riverlike(Spam(grow=True))
    with pytest.raises(DataError, match="'red' for 'colour'"):
        model.learn_one({"colour": "red"}, True)
    assert model.features == ()
    with pytest.raises(DataError, match="NaN"):
        model.learn_one({"a": np.nan}, True)
    skipping = Riverlike(Spam(grow=True, missing="skip"))
    skipping.learn_one({"a": np.nan}, True)
    assert skipping.learner.skipped_rows_ == 1
