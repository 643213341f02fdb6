"""Edits of additive models by hand, what they cost on held-out rows, and bands of explanations."""

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.core.errors import DataError
from auctor.saved.describe import describe_file
from tests.additive.directions import steps_back


def _rows():
    rng = np.random.default_rng(0)
    n = 500
    X = pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "income": rng.normal(size=n),
            "town": rng.choice(["Oslo", "Rome", "Bonn"], n),
        }
    )
    score = X["age"] + X["age"] * X["income"] + 1.5 * (X["town"] == "Rome")
    return X, score.to_numpy() + 0.5 * rng.normal(size=n) > 0.5


@pytest.fixture
def fitted():
    X, y = _rows()
    model = AdditiveClassifier(
        members=3, interactions=[("age", "income")], monotone={"town": 0}, strength=0.003
    )
    return model.fit(X, y), X, y


def test_a_dropped_term_costs_what_held_out_rows_say(fitted):
    model, X, y = fitted
    parts, scores = model.explain(X), model.decision_function(X)
    edit = model.edit("town", drop=True, X=X, y=y)
    assert edit.before == pytest.approx(model.score_oof_)
    assert edit.cost > 0.01
    assert "before" in str(edit)
    np.testing.assert_allclose(model.decision_function(X), scores - parts[:, 2], atol=1e-12)
    np.testing.assert_allclose(edit.moved, np.abs(parts[:, 2]).mean(), atol=1e-12)
    # A further edit is measured from the edited model on.
    again = model.edit("age", drop=True, X=X, y=y)
    assert again.before == pytest.approx(edit.after)


def test_files_keep_edits(fitted, tmp_path):
    model, X, y = fitted
    model.edit(("income", "age"), drop=True)
    auctor.save(model, tmp_path / "m.auctor")
    again = auctor.load(tmp_path / "m.auctor")
    assert not again.pair_map(("age", "income")).any()
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(DataError, match="training=False"):
        again.edit("town", drop=True, X=X, y=y)
    assert again.edit("town", drop=True, X=X, y=y, training=False).cost > 0.0


def test_values_of_bins_levels_and_cells(fitted):
    model, X, _ = fitted
    values, level = model.curve("income")
    level[values > 0.0] = 0.25
    model.edit("income", level)
    np.testing.assert_array_equal(model.curve("income")[1], level)
    towns, level = model.curve("town")
    model.edit("town", {"Rome": 0.5, "missing": -1.0})
    assert model.curve("town")[1].tolist() == [*level[:2], 0.5]
    assert towns.tolist() == ["Bonn", "Oslo", "Rome"]
    gone = X.assign(town=None)
    np.testing.assert_array_equal(model.explain(gone)[:, 2], np.full(len(X), -1.0))
    cells = model.pair_map("age x income")
    model.edit("age x income", 0.5 * cells)
    np.testing.assert_array_equal(model.pair_map("age x income"), 0.5 * cells)


def test_a_flat_region_has_its_mean(fitted):
    model, X, _ = fitted
    before = model.explain(X)[:, 0]
    inside = (X["age"] > -0.5) & (X["age"] < 0.5)
    model.edit("age", flat=(-0.5, 0.5))
    after = model.explain(X)[:, 0]
    assert np.unique(after[inside]).size == 1
    np.testing.assert_allclose(after.mean(), before.mean(), atol=1e-12)
    outside = (X["age"] < -1.0) | (X["age"] > 1.0)
    np.testing.assert_array_equal(after[outside], before[outside])
    bands = model.explain_bands(X)
    assert bands.shape == (2, len(X), 4)
    assert (bands[0] <= model.explain(X)).all()
    assert (bands[1] >= model.explain(X)).all()


def test_importances_have_bands(fitted):
    model = fitted[0]
    low, high = model.importance_bands_
    assert ((low >= 0.0) & (low < model.importances_) & (model.importances_ < high)).all()
    strong, weak = model.names_.index("town"), model.names_.index("income")
    assert low[strong] > high[weak]  # the target depends on the town, not on the income alone


def test_bands_hold_the_importances_of_fits_to_other_folds():
    X, y = _rows()
    model = AdditiveClassifier(members=8, interactions=0, strength=0.003).fit(X, y)
    low, high = model.importance_bands_
    for seed in range(3):  # fits to other folds differ by less than the band
        other = AdditiveClassifier(
            members=8, interactions=0, strength=0.003, random_state=seed
        ).fit(X, y)
        assert ((low <= other.importances_) & (other.importances_ <= high)).all()


@pytest.mark.parametrize(
    ("term", "change", "words"),
    [
        ("nobody", {"drop": True}, "column or pair"),
        ("age", {}, "one of values"),
        ("age", {"values": [1.0]}, "shape"),
        ("age", {"flat": (1.0, 0.0)}, "range"),
        ("town", {"flat": (0.0, 1.0)}, "column of numbers"),
        ("town", {"values": {"Paris": 1.0}}, "levels"),
        ("town", {"values": {"Rome": np.nan}}, "finite"),
    ],
)
def test_what_cannot_be_edited_is_refused(fitted, term, change, words):
    model = fitted[0]
    before = model.coef_.copy()
    with pytest.raises(DataError, match=words):
        model.edit(term, **change)
    np.testing.assert_array_equal(model.coef_, before)


def test_a_monotone_column_keeps_its_direction():
    X, y = _rows()
    model = AdditiveClassifier(members=2, monotone={"age": 1}, strength=0.01, interactions=0).fit(
        X, y
    )
    level = model.curve("age")[1]
    with pytest.raises(DataError, match="direction"):
        model.edit("age", level[::-1])
    model.edit("age", 0.5 * level)


def test_a_monotone_curve_is_dropped_after_its_pairs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = X[:, 0] * (1.0 + (X[:, 1] > 0.0)) + 0.3 * rng.normal(size=600)
    model = AdditiveRegressor(members=2, monotone={0: 1}, interactions=[(0, 1)], strength=1e-4).fit(
        X, y
    )
    with pytest.raises(DataError, match=r"direction of 'x0'.*Drop its pairs first: 'x0 x x1'"):
        model.edit("x0", drop=True)
    assert steps_back(model, X, 0, 1) == 0
    model.edit("x0 x x1", drop=True)
    assert steps_back(model, X, 0, 1) == 0
    model.edit("x0", drop=True)
    assert not model.explain(X)[:, 0].any()


def test_regressions_are_edited_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] ** 2
    model = AdditiveRegressor(members=3).fit(X, y)
    edit = model.edit(0, drop=True, X=X, y=y)
    assert edit.before == pytest.approx(model.score_oof_)
    assert edit.cost > 0.3


def test_files_keep_the_edits_with_their_costs(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=300), "city": rng.choice(["Oslo", "Rome"], 300)})
    table["late"] = table["age"] + rng.normal(size=300) > 0
    model = auctor.TableClassifier(model="additive", members=2, interactions=0).fit(table, "late")
    assert model.edits_ == ()
    first = model.edit("age", flat=(-0.5, 0.5), X=table, y="late")
    second = model.edit("city", {"Oslo": 0.1})
    assert first.cost is not None
    assert second.cost is None
    assert model.edits_ == (first, second)
    auctor.save(model, tmp_path / "model.auctor")
    assert auctor.load(tmp_path / "model.auctor").edits_ == (first, second)
    told = describe_file(str(tmp_path / "model.auctor"), top=3)["edits"]
    assert told == [str(first), str(second)]
    assert model.fit(table, "late").edits_ == ()
