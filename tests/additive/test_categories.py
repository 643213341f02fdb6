"""Categories of additive models: one column each, in tables, exports and figures."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.core.errors import DataError, NotOfferedError, ParameterError
from auctor.evaluate.curves_info import column_curves, pair_maps

CITIES = ["Bonn", "O'Brien", "Oslo", "Rome"]


@pytest.fixture(scope="module")
def rows():
    """Two numbers and a category with a rare level and missing values."""
    rng = np.random.default_rng(0)
    n = 600
    table = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n).round(),
            "income": rng.normal(size=n).round(3),
            "city": rng.choice(CITIES, n, p=[0.3, 0.005, 0.4, 0.295]),
        }
    )
    rome = table["city"] == "Rome"
    risk = np.abs(table["age"] - 45) / 10 + table["income"] * rome + rome
    table["late"] = np.where(risk + rng.normal(size=n) > 2.5, "yes", "no")
    table.loc[rng.random(n) < 0.1, "income"] = np.nan
    table.loc[rng.random(n) < 0.1, "city"] = None
    return table


@pytest.fixture(scope="module")
def model(rows):
    pairs = [("city", "income"), ("age", "income")]
    return auctor.TableClassifier(model="additive", members=2, interactions=pairs).fit(rows, "late")


@pytest.fixture(scope="module")
def new(rows):
    """Rows with a level that training did not have."""
    table = rows.drop(columns="late").head(60).copy()
    table.loc[table.index[:2], "city"] = "Paris"
    return table


def test_a_category_is_one_column_with_its_levels_by_name(model):
    assert model.get_feature_names_out().tolist() == ["age", "income", "city"]
    column = model.model_.bins_.columns[2]
    assert column.labels == ("Bonn", "Oslo", "Rome")
    assert column.share[-1] > 0.0  # the rare level
    assert {(pair.first, pair.second) for pair in model.model_.bins_.pairs} == {(0, 1), (1, 2)}


def test_unseen_and_rare_levels_have_the_same_score(model, new):
    new = new.head(15)  # too few unknown levels to warn of
    unseen, rare = new.assign(city="Paris"), new.assign(city="O'Brien")
    np.testing.assert_array_equal(model.decision_function(unseen), model.decision_function(rare))
    missing = model.decision_function(new.assign(city=None))
    assert np.ptp(missing - model.decision_function(rare)) > 0.0


def test_zeros_and_ones_remain_on_request(rows):
    reading = auctor.tables.ReadOptions(categorical="one_hot")
    model = auctor.TableClassifier(model="additive", members=1, strength=0.01, reading=reading)
    names = model.fit(rows, "late").get_feature_names_out()
    assert "city=Oslo" in names.tolist()


def test_a_linear_model_has_no_levels(rows):
    model = auctor.TableClassifier(
        model="linear", reading=auctor.tables.ReadOptions(categorical="levels")
    )
    with pytest.raises(ParameterError, match="model='additive'"):
        model.fit(rows, "late")


def test_a_file_keeps_levels(model, new, tmp_path):
    auctor.save(model, tmp_path / "model.auctor")
    again = auctor.load(tmp_path / "model.auctor")
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))


def test_sqlite_scores_alike(model, new):
    with sqlite3.connect(":memory:") as base:
        new.to_sql("rows", base, index=False)
        found = pd.read_sql(auctor.to_sql(model), base)
    np.testing.assert_allclose(found["score"], model.decision_function(new), atol=1e-12)
    np.testing.assert_allclose(found["probability"], model.predict_proba(new)[:, 1], atol=1e-12)


def test_duckdb_scores_alike(model, new):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as base:
        base.register("rows", new.astype({"city": "string"}))
        # NaN of pandas is NaN of DuckDB, where missing numbers are NULL.
        base.sql("CREATE TABLE t AS SELECT * REPLACE (nullif(income, 'nan') AS income) FROM rows")
        found = base.sql(auctor.to_sql(model, table="t")).df()
    np.testing.assert_allclose(found["score"], model.decision_function(new), atol=1e-12)


def test_onnx_scores_alike(model, new):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(auctor.to_onnx(model))
    given = {name: new[[name]].to_numpy(np.float64) for name in ("age", "income")}
    given["city"] = new[["city"]].fillna("").to_numpy(object)
    (scores,) = session.run(["scores"], given)
    np.testing.assert_allclose(scores, model.decision_function(new), atol=1e-12)


def test_scorecards_name_levels(model, new):
    card = model.scorecard(rounded=False)
    points = {}
    exec(card.to_python(), points)
    values = new.replace({np.nan: None}).to_dict("records")
    found = np.array([points["points"](row) for row in values])
    decision = (found - 600.0) / card.factor
    np.testing.assert_allclose(decision, model.decision_function(new), atol=1e-12)
    city = [row.text() for row in card.rows if row.columns == ("city",)]
    assert city == ["missing", "Bonn", "Oslo", "Rome", "other"]
    assert ("income", "city") in {row.columns for row in card.rows}


def test_figures_sort_levels_by_what_they_add(model):
    names = model.get_feature_names_out().tolist()
    curve = next(one for one in column_curves(model.model_, names=names) if one.name == "city")
    assert next(name for name in curve.labels if name != "other") == "Rome"
    assert (np.diff(curve.level) <= 0.0).all()
    assert sorted(curve.labels) == ["Bonn", "Oslo", "Rome", "other"]
    pair = next(one for one in pair_maps(model.model_, names=names) if "city" in one.names)
    assert set(", ".join(pair.starts[1]).split(", ")) == {"Bonn", "Oslo", "Rome", "other"}
    assert pair.share.shape == pair.level.shape


# --- what a table model says by its own names -----------------------------------------------------


def test_terms_have_the_names_of_the_table(model, new):
    names = ["age", "income", "city", "age x income", "income x city"]
    assert model.names_ == names
    assert model.importances_.shape == (5,)
    cities, level = model.curve("city")
    assert cities.tolist() == ["Bonn", "Oslo", "Rome"]
    parts = model.explain(new)
    rome = (new["city"] == "Rome").to_numpy()
    np.testing.assert_array_equal(parts[rome, 2], np.full(rome.sum(), level[2]))
    low, high = model.explain_bands(new)
    assert ((low <= parts) & (parts <= high)).all()
    assert model.pair_map(("city", "income")).shape == model.pair_map("income x city").shape
    with pytest.raises(DataError, match="'town'"):
        model.curve("town")


def test_an_edit_by_name_says_what_it_costs(rows, tmp_path):
    model = auctor.TableClassifier(model="additive", members=2, interactions=0, strength=0.003)
    model.fit(rows, "late")
    edit = model.edit("city", {"Rome": 0.0}, X=rows, y="late")
    assert edit.term == "city"
    assert edit.before == pytest.approx(model.model_.score_oof_)
    assert edit.cost > 0.0
    auctor.save(model, tmp_path / "model.auctor")
    assert auctor.load(tmp_path / "model.auctor").curve("city")[1][2] == 0.0


def test_linear_models_of_tables_have_no_curves(rows):
    model = auctor.TableClassifier(strength=0.01).fit(rows.drop(columns="city").dropna(), "late")
    assert not hasattr(model, "curve")
    assert not hasattr(model, "names_")
    with pytest.raises(NotOfferedError, match="additive"):
        model.explain(rows)


def test_pictures_are_a_table_and_json_too(model, new):
    pictures = auctor.reports.curve_pictures(model, new, rows=[0])
    table = pictures.to_dataframe()
    assert set(table["term"]) == set(model.names_)
    curve = table[(table["term"] == "city") & table["value"].isin(["Bonn", "Oslo", "Rome"])]
    np.testing.assert_allclose(
        curve.set_index("value")["adds"].loc[["Bonn", "Oslo", "Rome"]], model.curve("city")[1]
    )
    for term in ("age", "city"):
        assert table.loc[table["term"] == term, "share"].sum() == pytest.approx(1.0)
    assert json.loads(pictures.to_json())[0].keys() == set(table.columns)
    html = pictures.to_html()
    assert "Rome" in html
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pictures.plot()
    assert "income x city" in {ax.get_title() for ax in figure.axes}
    pyplot.close(figure)


def test_other_models_see_zeros_and_ones(model, new):
    matrix = model.encode(new)
    wide, _ = model.model_.bins_.expanded(matrix, matrix)
    np.testing.assert_array_equal(wide[:, :2], matrix[:, :2])
    assert wide.shape[1] == 2 + 4  # three levels, and all others
    np.testing.assert_array_equal(wide[:, 2:].sum(axis=1), new["city"].notna())
    np.testing.assert_array_equal(wide[:, 5], new["city"].isin(["Paris", "O'Brien"]))
