"""Bad input of additive models: an error that says what is needed, or a model and a warning."""

import warnings

import numpy as np
import pandas as pd
import pytest

from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.core.errors import AuctorError, DataError, ParameterError

N = 60
RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {"age": RNG.normal(size=N), "income": RNG.normal(size=N), "town": RNG.choice(["a", "b"], N)}
)
SCORE = (X["age"] * X["income"] + X["age"]).to_numpy() + 0.3 * RNG.normal(size=N)
Y = SCORE > 0.0
NUMBERS = X[["age", "income"]].to_numpy()
THIRDS = [
    (np.flatnonzero(np.arange(N) % 3 != k), np.flatnonzero(np.arange(N) % 3 == k)) for k in range(3)
]
FEW = {"members": 2, "strength": 0.01}


def _text(error):
    """The message, of which the sentences are: what is needed, what was got, what to do."""
    text = str(error.value)
    assert "needs" in text, text
    assert "; got " in text, text
    assert text.rstrip().endswith((".", "?")), text
    return text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        # columns by name
        ({"monotone": {"nobody": 1}}, "nobody"),
        ({"monotone": {"agee": 1}}, "Did you mean 'age'"),
        ({"monotone": {9: 1}}, "one of the columns age"),
        ({"shape": {"nobody": "convex"}}, "nobody"),
        ({"cuts": {"nobody": [1.0]}}, "nobody"),
        ({"categorical": ["nobody"]}, "nobody"),
        ({"interactions": [("age", "nobody")]}, "nobody"),
        ({"exclude": [("age", "agee")]}, "Did you mean 'age'"),
        # values
        ({"monotone": {"age": 2}}, "direction"),
        ({"monotone": [1, 0]}, "3 columns"),
        ({"monotone": "age"}, "dict"),
        ({"shape": {"age": "round"}}, "concave"),
        ({"shape": {"age": 3}}, "concave"),
        ({"shape": {"age": ("flat", 2.0, 1.0)}}, "flat"),
        ({"shape": {"age": ("flat", np.nan, 1.0)}}, "flat"),
        ({"shape": "convex"}, "dict"),
        ({"cuts": {"age": []}}, "cuts"),
        ({"cuts": {"age": [1.0, np.inf]}}, "cuts"),
        ({"cuts": {"age": ["x"]}}, "cuts"),
        ({"cuts": [1.0]}, "dict"),
        ({"interactions": -1}, "interactions"),
        ({"interactions": 1.5}, "integer"),
        ({"interactions": None}, "two different columns; got None"),
        ({"interactions": "some"}, "auto"),
        ({"interactions": ["age"]}, "two different"),
        ({"interactions": ("age", "income")}, "two different"),
        ({"interactions": [("age", "age")]}, "two different"),
        ({"interactions": [("age", "income", "town")]}, "two different"),
        ({"exclude": 3}, "exclude to be pairs"),
        ({"exclude": "age"}, "exclude to be pairs"),
        ({"categorical": 3}, "categorical"),
        ({"categorical": "age"}, "auto"),
        ({"members": 0}, "members"),
        ({"n_bins": 1}, "n_bins"),
        ({"n_bins": 1000}, r"n_bins in \[2, 254\]"),
        ({"penalty": "l1"}, "penalty"),
        ({"strength": "strong"}, "strength"),
        ({"strength": -1.0}, "strength"),
        ({"n_strengths": 0}, "n_strengths"),
        ({"pair_penalty": "l1"}, "pair_penalty to be"),
        ({"cv": 1}, "cv"),
        ({"surrogate": "exact"}, "gradient"),
        # contradictions
        ({"monotone": {"town": 1}}, "'town', a category"),
        ({"shape": {"town": "convex"}}, "'town', a category"),
        ({"cuts": {"town": [0.5]}}, "'town', a category"),
        ({"categorical": ["age"], "monotone": {"age": 1}}, "'age', a category"),
        ({"categorical": ["age"], "shape": {"age": "convex"}}, "'age', a category"),
        ({"cuts": {"age": [1.0]}, "shape": {"age": ("flat", 0.0, 1.0)}}, "one of the two"),
        ({"interactions": [("age", "income")], "shape": {"age": "convex"}}, "without a shape"),
        ({"interactions": [("age", "town")], "exclude": [("town", "age")]}, "not in both"),
    ],
)
def test_bad_parameters_are_named(changes, words):
    with pytest.raises((ParameterError, AuctorError), match=words) as error:
        AdditiveClassifier(**changes).fit(X, Y)
    _text(error)


ROWS = [
    (np.ones((N, 2)), {}, "two values"),
    (np.full((N, 2), np.nan), {}, "two values"),
    (pd.DataFrame({"town": ["a"] * N}), {}, "two values"),
    (pd.DataFrame({"town": [None] * N}), {}, "two values"),
    (X.assign(age=np.inf), {}, "infinity"),
    (np.where(np.arange(N)[:, None] == 3, -np.inf, NUMBERS), {}, "infinity"),
    (NUMBERS * 1e200, {}, "below"),
    (NUMBERS[:1], {"y": Y[:1]}, "two rows"),
    (NUMBERS[:, :0], {}, "rows and columns"),
    (X[[]], {}, "rows and columns"),
    (NUMBERS[:0], {"y": Y[:0]}, "rows and columns"),
    (X, {"sample_weight": np.zeros(N)}, "positive sample_weight"),
    (X, {"sample_weight": -np.ones(N)}, ">= 0"),
]


@pytest.mark.parametrize("kind", [AdditiveClassifier, AdditiveRegressor])
@pytest.mark.parametrize(("rows", "given", "words"), ROWS)
def test_rows_that_cannot_be_learned_from_are_refused(kind, rows, given, words):
    given = {"y": Y, **given}
    with pytest.raises(DataError, match=words) as error:
        kind().fit(rows, given["y"].astype(float), given.get("sample_weight"))
    _text(error)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": np.ones(N)}, "two classes"),
        ({"y": Y, "sample_weight": Y.astype(float)}, "two classes"),
        ({"y": Y, "groups": np.zeros(N - 1)}, "one group per row"),
        ({"y": np.where(Y, np.nan, 1.0)}, "finite targets"),
        ({"y": Y[:5]}, "as many targets"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(given, words):
    with pytest.raises(DataError, match=words) as error:
        AdditiveClassifier().fit(X, **given)
    _text(error)


def test_directions_and_shapes_are_for_two_classes():
    for wish in ({"monotone": {"age": 1}}, {"shape": {"age": "convex"}}):
        with pytest.raises(DataError, match="two classes for monotone curves") as error:
            AdditiveClassifier(**wish).fit(X, np.arange(N) % 3)
        _text(error)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"age": np.inf}, "infinity"), ({"age": "old"}, "numbers in the column 'age'")],
)
def test_rows_to_predict_are_those_of_the_fit(change, words):
    model = AdditiveClassifier(**FEW).fit(X, Y)
    with pytest.raises(DataError, match=words) as error:
        model.predict(X.head(3).assign(**change))
    _text(error)
    with pytest.raises(DataError):
        model.predict(X[["age", "town"]])


def _fitted(kind, rows, y, given, **params):
    """A model and the warnings of its fit; its scores are finite."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = kind(**params).fit(rows, y, **given)
    scores = model.predict(rows) if kind is AdditiveRegressor else model.decision_function(rows)
    assert np.isfinite(scores).all()
    return model, [str(one.message) for one in seen]


def _members(model):
    return len(model.solution_) if isinstance(model.solution_, list) else 1


@pytest.mark.parametrize(
    ("given", "params", "members", "words"),
    [
        ({"y": np.sort(SCORE)[-3] < SCORE}, {}, 2, "uses 2 members instead of 8"),
        ({"y": np.sort(SCORE)[-2] < SCORE}, {}, 1, "uses 1 members instead of 8"),
        ({"y": np.where(np.arange(N) < 2, 2, Y)}, {}, 2, "uses 2 members instead of 8"),
        ({"groups": np.where(Y, -1, np.arange(N))}, {"members": 3}, 2, "uses 2 members instead"),
        ({"groups": np.zeros(N)}, {"members": 3}, 1, "uses 1 members instead of 3"),
        ({"sample_weight": np.arange(N) % 3 != 2}, {"cv": THIRDS}, 2, "uses 2 of 3 folds: the oth"),
        ({}, {"cv": [(np.flatnonzero(Y), np.flatnonzero(~Y)), *THIRDS]}, 3, "train without a cl"),
        ({}, {"members": 2, "max_seconds": 0}, 2, "ran out of time"),
    ],
)
def test_fewer_members_are_said(given, params, members, words):
    given = {"y": Y, **given}
    model, said = _fitted(AdditiveClassifier, X, given.pop("y"), given, **params)
    assert _members(model) == members
    assert any(words in text for text in said)


def test_folds_without_weight_are_no_members_of_a_regression():
    weight = np.arange(N) % 3 != 2
    model, said = _fitted(AdditiveRegressor, X, SCORE, {"sample_weight": weight}, cv=THIRDS)
    assert _members(model) == 2
    assert np.isfinite(model.score_oof_)
    assert any("uses 2 of 3 folds" in text for text in said)


@pytest.mark.parametrize(
    ("rows", "params", "pairs"),
    [
        (X.assign(same=1.0, word="x", gone=np.nan, none=None), {"interactions": 50}, 3),
        ((NUMBERS > 0.0).astype(float), {"interactions": 50}, 1),
        (X, {"interactions": 50}, 3),
        (X, {"interactions": [("age", "town"), ("town", "age")]}, 1),
        (X, {"interactions": 50, "exclude": [("age", "town"), ("income", "town")]}, 1),
        (X, {"interactions": []}, 0),
        (NUMBERS * 1e-300, {"interactions": 1}, 1),
        (X, {"monotone": {"age": 1}, "shape": {"age": "concave"}, "interactions": 50}, 1),
        (X, {"monotone": {"age": 1}, "shape": {"age": ("flat", 0.0, 1.0)}, "interactions": 50}, 1),
    ],
)
def test_odd_columns_and_wishes_have_a_model(rows, params, pairs):
    model, said = _fitted(AdditiveClassifier, rows, Y, {}, **FEW, **params)
    assert len(model.bins_.pairs) == pairs
    assert not said
    assert model.gap_ <= max(one.tol for one in model.solution_)


@pytest.mark.parametrize(("loss", "value"), [("squared", 2.0), ("poisson", 0.0), ("huber", 0.0)])
def test_a_constant_target_is_predicted(loss, value):
    model, _ = _fitted(AdditiveRegressor, X, np.full(N, value), {}, loss=loss, members=2)
    np.testing.assert_allclose(model.predict(X), value, atol=1e-2)
    assert not model.bins_.pairs


def test_levels_that_are_new_or_missing_count_as_the_mean_row():
    model = AdditiveClassifier(**FEW, interactions=0).fit(X, Y)
    parts = model.explain(X.head(2).assign(town=["new", None]))
    np.testing.assert_allclose(parts[:, 2], 0.0, atol=1e-12)


@pytest.mark.slow
def test_two_thousand_columns_pair_the_fifty_strongest():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(150, 2000)).round(1)
    y = wide[:, 7] * wide[:, 11] + wide[:, 7] + wide[:, 11] > 0.5
    model = AdditiveClassifier(members=2, n_bins=4).fit(wide, y)
    columns = {j for pair in model.bins_.pairs for j in (pair.first, pair.second)}
    assert 0 < len(columns) <= 50
    assert {7, 11} <= columns
