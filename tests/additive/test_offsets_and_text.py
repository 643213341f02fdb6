"""Scores to add to, and tables with columns of text."""

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.core.errors import DataError
from auctor.core.types import Target
from auctor.losses import Logistic
from auctor.losses.smoothed import MovedScores


def _rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    base = 2.0 * rng.normal(size=n)
    return X, base, base + np.sin(2.0 * X[:, 0]) + 0.5 * rng.logistic(size=n) > 0.0


def test_a_model_learns_what_the_scores_leave_open():
    X, base, y = _rows()
    model = AdditiveClassifier(members=3).fit(X, y, init_score=base)
    plain = AdditiveClassifier(members=3).fit(X, y)
    joined = model.decision_function(X) + base
    assert np.mean((joined > 0.0) == y) > np.mean(plain.predict(X) == y) + 0.15
    assert model.score_oof_ > plain.score_oof_ + 0.1
    assert all(one.certified and one.gap <= one.tol for one in model.solution_)


def test_a_constant_score_is_taken_back_by_the_intercept():
    X, _, y = _rows()
    one = AdditiveClassifier(members=2, interactions=0, tol=1e-9).fit(X, y)
    two = AdditiveClassifier(members=2, interactions=0, tol=1e-9).fit(
        X, y, init_score=np.full(400, 3.0)
    )
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)


def test_exposures_of_counts():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 1))
    exposure = rng.uniform(0.2, 5.0, size=500)
    y = rng.poisson(exposure * np.exp(0.7 * X[:, 0])).astype(float)
    model = AdditiveRegressor("poisson", members=2).fit(X, y, init_score=np.log(exposure))
    rate = model.predict(np.array([[-1.0], [1.0]]))
    np.testing.assert_allclose(np.log(rate[1] / rate[0]), 1.4, atol=0.25)


@pytest.mark.parametrize("score", [np.zeros(3), np.full(400, np.nan), "text", np.zeros((400, 2))])
def test_bad_scores_are_refused(score):
    X, _, y = _rows()
    with pytest.raises(DataError, match="init_score"):
        AdditiveClassifier(members=2).fit(X, y, init_score=score)


def test_the_conjugate_of_a_moved_loss_is_the_supremum():
    rng = np.random.default_rng(2)
    target = Target(np.array([1.0, -1.0, 1.0, -1.0]), rng.random(4))
    shift = rng.normal(size=4)
    moved = MovedScores(Logistic(), shift)
    scores = rng.normal(size=4)
    value, slope = moved.value_grad(scores, target)
    # Equality of Fenchel and Young at the slopes of a point.
    assert moved.conjugate(slope, target) == pytest.approx(slope @ scores - value, abs=1e-12)


# --- columns of text ------------------------------------------------------------------------------


def _table(n=500, seed=3):
    rng = np.random.default_rng(seed)
    town = rng.choice(["Oslo", "Rome", "Bonn", "Bern"], n)
    effect = pd.Series({"Oslo": 1.5, "Rome": -1.5, "Bonn": 0.5, "Bern": -0.5})
    X = pd.DataFrame({"age": rng.normal(size=n), "town": town})
    y = effect[town].to_numpy() + X["age"].to_numpy() + 0.5 * rng.normal(size=n) > 0.0
    X.loc[rng.random(n) < 0.05, "town"] = None
    return X, y


@pytest.mark.parametrize("kind", ["object", "category"])
def test_text_is_one_column(kind, tmp_path):
    X, y = _table()
    X["town"] = X["town"].astype(kind)
    model = AdditiveClassifier(members=3).fit(X, y)
    assert model.score_oof_ > 0.9
    assert model.names_[:2] == ["age", "town"]
    assert model.bins_.columns[1].labels == ("Bern", "Bonn", "Oslo", "Rome")
    _, level = model.curve("town")
    assert level[2] > level[1] > level[0] > level[3]
    # The order of columns of text, other labels and missing values.
    rows = pd.DataFrame({"age": [0.0, 0.0, 0.0], "town": ["Rome", "Paris", None]})
    parts = model.explain(rows)
    assert parts[0, 1] == level[3]
    assert parts[1, 1] == 0.0
    auctor.save(model, tmp_path / "m.auctor")
    again = auctor.load(tmp_path / "m.auctor")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(model.model_.scores(rows), model.model_.scores(rows[:]))


def test_rare_labels_are_pooled():
    X, y = _table()
    X.loc[:2, "town"] = "Ulm"
    model = AdditiveClassifier(members=2).fit(X, y)
    assert "Ulm" not in model.bins_.columns[1].labels
    pooled = model.explain(pd.DataFrame({"age": [0.0, 0.0], "town": ["Ulm", "Paris"]}))
    assert pooled[0, 1] == pooled[1, 1]


@pytest.mark.parametrize("kind", ["String", "Categorical", "Enum"])
def test_tables_of_polars_are_read_alike(kind):
    polars = pytest.importorskip("polars")
    X, y = _table()
    towns = [town if isinstance(town, str) else None for town in X["town"]]
    rows = polars.DataFrame({"age": X["age"].to_numpy(), "town": towns})
    types = {"String": polars.String, "Categorical": polars.Categorical}
    types["Enum"] = polars.Enum(["Bern", "Bonn", "Oslo", "Rome"])
    rows = rows.with_columns(polars.col("town").cast(types[kind]))
    model = AdditiveClassifier(members=2, strength=0.01).fit(rows, y)
    expected = AdditiveClassifier(members=2, strength=0.01).fit(X, y)
    assert model.bins_.columns[1].labels == expected.bins_.columns[1].labels
    np.testing.assert_array_equal(model.decision_function(rows), expected.decision_function(X))
