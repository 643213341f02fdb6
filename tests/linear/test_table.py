"""`TableClassifier`: raw tables in, the model of `auctor train` out."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from auctor import DataWarning, MetricClassifier, MetricClassifierCV, TableClassifier, load, save
from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.tables import ReadOptions

QUICK = {"strength": 1e-2, "surrogate": "logistic"}


def frame(n=240, seed=0):
    """Numbers in all units, text, dates and truth values, some of them missing."""
    rng = np.random.default_rng(seed)
    age, city = rng.integers(18, 80, n).astype(float), rng.choice(["Oslo", "Rome", "Bonn"], n)
    income = rng.lognormal(10.0, 1.0, n)
    when = np.datetime64("2020-01-01") + rng.integers(0, 700, n)
    member = rng.random(n) < 0.3
    score = (age - 50) / 15 + (city == "Oslo") + rng.normal(size=n)
    age[::11] = np.nan
    table = pd.DataFrame(
        {"age": age, "city": city, "income": income, "when": when, "member": member}
    )
    table.loc[::13, "city"] = None
    table["risk"] = np.where(score > 1.0, "bad", "good")
    return table


@pytest.fixture
def table():
    return frame()


def test_fit_with_the_name_of_the_label_or_with_labels(table):
    named = TableClassifier("auc", **QUICK).fit(table, "risk")
    given = TableClassifier("auc", **QUICK).fit(table.drop(columns="risk"), table["risk"])
    np.testing.assert_array_equal(named.coef_, given.coef_)
    names = ["age", "city=Bonn", "city=Oslo", "city=Rome", "income", "when", "member"]
    assert named.get_feature_names_out().tolist() == names
    assert named.coef_.shape == (1, 7)
    assert named.feature_names_in_.tolist() == ["age", "city", "income", "when", "member"]
    assert named.pos_label_ == "bad"
    assert named.score(table, "risk") == given.score(table, table["risk"]) > 0.7
    assert any("'when' of the table as dates" in note for note in named.notes_)
    assert any("in 'age'" in note and "median" in note for note in named.notes_)


def test_the_model_is_that_of_the_encoded_columns(table):
    model = TableClassifier("f1", **QUICK).fit(table, "risk")
    matrix = model.encode(table)
    assert matrix.shape == (240, 7)
    median = np.nanmedian(table["age"])
    assert matrix[0, 0] == median
    assert matrix[0, 1:4].tolist() == [0.0, 0.0, 0.0]
    days = (table["when"].to_numpy() - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    np.testing.assert_array_equal(matrix[:, 5], days)
    own = MetricClassifier("f1", **QUICK).fit(matrix, table["risk"].to_numpy())
    np.testing.assert_allclose(own.decision_function(matrix), model.decision_function(table))


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "text", "nullable", "object"])
def test_other_kinds_of_tables_give_the_same_model(table, kind):
    expected = TableClassifier("auc", **QUICK).fit(table, "risk")
    other = {
        "polars": lambda: pl.from_pandas(table),
        "pyarrow": lambda: pa.Table.from_pandas(table, preserve_index=False),
        "text": lambda: table.assign(when=table["when"].astype(str)),
        "nullable": lambda: table.convert_dtypes(),
        "object": lambda: table.astype(object),
    }[kind]()
    model = TableClassifier("auc", **QUICK).fit(other, "risk")
    assert model.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(expected.decision_function(other), model.decision_function(other))


def test_columns_in_any_order_unseen_levels_and_missing_values(table):
    model = TableClassifier("auc", **QUICK).fit(table, "risk")
    order = ["member", "when", "city", "income", "age"]
    mixed = table[order].assign(more="x")
    np.testing.assert_array_equal(model.decision_function(mixed), model.decision_function(table))
    new = table.head(2).assign(city=["Paris", None], age=[None, None])
    values = model.decision_function(new)
    blank = table.head(2).assign(city=None, age=np.nanmedian(table["age"]))
    np.testing.assert_allclose(values, model.decision_function(blank))


def test_categories_that_spell_numbers_stay_categories(table):
    codes = pd.Categorical(np.where(table["member"], 7, 12))
    model = TableClassifier("auc", **QUICK).fit(table.assign(member=codes), "risk")
    assert model.get_feature_names_out().tolist()[-2:] == ["member=12", "member=7"]


def test_arrays_go_by_position():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    model = TableClassifier("log_loss", **QUICK).fit(X, y)
    assert model.predict_proba(X).shape == (60, 2)
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(DataError, match="expecting 3 features"):
        model.predict(X[:, :2])


def test_scikit_learn_tools_take_it(table):
    X, y = table.drop(columns="risk"), table["risk"]
    search = GridSearchCV(TableClassifier("auc", **QUICK), {"strength": [1e-3, 1.0]}, cv=3).fit(
        X, y
    )
    alone = [
        cross_val_score(TableClassifier("auc", **QUICK | {"strength": s}), X, y, cv=3).mean()
        for s in (1e-3, 1.0)
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], alone)
    assert search.best_score_ == max(alone) > 0.75
    weight = np.where(y == "bad", 2.0, 1.0)
    twice = pd.concat([table, table[y == "bad"]])
    weighted = TableClassifier(
        "log_loss", reading=ReadOptions(missing="zero"), **QUICK, tol=1e-9
    ).fit(X, y, weight)
    repeated = TableClassifier(
        "log_loss", reading=ReadOptions(missing="zero"), **QUICK, tol=1e-9
    ).fit(twice, "risk")
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-8)


def test_auto_strength_searches(table):
    model = TableClassifier("auc", surrogate="logistic", n_strengths=4, cv=3).fit(table, "risk")
    search = MetricClassifierCV("auc", surrogate="logistic", n_strengths=4, cv=3)
    search.fit(model.encode(table), table["risk"].to_numpy())
    assert model.model_.strengths_.size == 4
    np.testing.assert_allclose(model.model_.strengths_, search.strengths_)
    assert model.model_.strength_ == pytest.approx(search.strength_)
    np.testing.assert_allclose(model.coef_, search.coef_, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::auctor.ConvergenceWarning")
def test_every_check_of_scikit_learn_passes():
    results = check_estimator(
        TableClassifier("log_loss", strength=1e-3), on_skip=None, on_fail=None
    )
    failed = [(r["check_name"], str(r["exception"])) for r in results if r["status"] == "failed"]
    assert failed == []
    assert len(results) > 50


def test_save_and_load(table, tmp_path):
    model = TableClassifier("f1", **QUICK, calibrate="sigmoid").fit(table, "risk")
    save(model, tmp_path / "model.auctor")
    back = load(tmp_path / "model.auctor")
    assert type(back) is TableClassifier
    assert back.get_params() == model.get_params()
    assert back.schema_ == model.schema_
    np.testing.assert_array_equal(back.predict_proba(table), model.predict_proba(table))
    assert (back.predict(table) == model.predict(table)).all()
    assert back.score(table, "risk") == model.score(table, "risk")


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: (t.drop(columns="risk"), "risk"), "label column named 'risk'"),
        (lambda t: (t.assign(risk="good"), "risk"), "at least two classes"),
        (lambda t: (t.assign(risk=t["risk"].where(t["age"] > 30)), "risk"), "a label in every row"),
        (lambda t: (t.head(0), "risk"), "some rows"),
        (lambda t: (t[["risk"]], "risk"), "some rows"),
        (lambda t: (t.set_axis(["a", "a", "b", "c", "d", "risk"], axis=1), "risk"), "distinct"),
        (lambda t: (t.assign(age=[[1]] * len(t)), "risk"), "list in 'age'"),
    ],
)
def test_tables_that_cannot_be_fitted(table, change, words):
    with pytest.raises(AuctorError, match=words):
        TableClassifier("auc", **QUICK).fit(*change(table))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"pos_label": "ugly"}, "pos_label"),
        ({"model": "cubic"}, "model"),
        ({"strength": "much"}, "strength"),
        ({"missing": "mean"}, "got 'missing'"),
        ({"reading": {"drop": ["age"]}}, "reading"),
    ],
)
def test_parameters_that_are_refused(table, params, words):
    with pytest.raises((ParameterError, TypeError), match=words):
        TableClassifier("auc", **QUICK | params).fit(table, "risk")


def test_missing_values_can_be_refused(table):
    with pytest.raises(DataError, match="'age'"):
        TableClassifier("auc", reading=ReadOptions(missing="refuse"), **QUICK).fit(table, "risk")


def test_a_column_without_any_value_is_left_out(table):
    with pytest.warns(DataWarning, match="leaves out 'empty'"):
        model = TableClassifier("auc", **QUICK).fit(table.assign(empty=None), "risk")
    assert "empty" not in model.get_feature_names_out().tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table)


def test_a_table_without_a_needed_column_is_refused_by_name(table):
    model = TableClassifier("auc", **QUICK).fit(table, "risk")
    with pytest.raises(DataError, match="none named city"):
        model.predict(table.drop(columns="city"))
    with pytest.raises(DataError, match="0 sample"):
        model.predict(table.head(0))


def test_text_in_a_column_of_numbers_is_refused_by_name(table):
    model = TableClassifier("auc", **QUICK).fit(table, "risk")
    with pytest.raises(DataError, match="numbers in column 'income'"):
        model.predict(table.astype({"income": object}).assign(income="high"))


def test_notes_name_what_is_probably_not_meant():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 60)
    table = pd.DataFrame(
        {
            "id": np.arange(60),
            "name": [f"person {k}" for k in range(60)],
            "paid": [f"${k}.50" for k in range(60)],
            "after": label * 10 + rng.random(60),
            "age": rng.normal(40, 9, 60),
            "bought": label,
        }
    )
    with pytest.warns(
        DataWarning, match=r"keeps 'after'.*Pass ReadOptions\(drop=\['after'\]\) unless"
    ):
        plain = TableClassifier("auc", strength=0.1).fit(table, "bought")
    said = " ".join(plain.notes_)
    for column in ("id", "name", "paid", "after"):
        assert repr(column) in said
    assert "'age'" not in said
    settled = TableClassifier(
        "auc",
        reading=ReadOptions(drop=["id", "after"], as_category="name", as_number=["paid"]),
        strength=0.1,
    ).fit(table, "bought")
    assert settled.notes_ == []
    assert settled.get_feature_names_out()[-2:].tolist() == ["paid", "age"]


def test_check_counts_categories_that_fit_has_not_seen():
    table = pd.DataFrame({"city": ["Oslo", "Rome"] * 10, "age": np.arange(20.0) % 7})
    model = TableClassifier("auc", strength=0.1).fit(table, [0, 1] * 10)
    assert model.check(table) == []
    new = pd.DataFrame({"city": ["Bonn", None, "Rome"], "age": [1.0, 2.0, 3.0]})
    (said,) = model.check(new)
    assert "got 1 of 3 rows with such a category of 'city'" in said


def test_decimal_commas_of_a_table_are_read_when_asked():
    rng = np.random.default_rng(0)
    width = rng.normal(5, 2, 60).round(2)
    words = [f"{x:.2f}".replace(".", ",") for x in width]
    table = pd.DataFrame({"width": words, "bought": width + rng.normal(size=60) > 5})
    as_text = TableClassifier("auc", strength=0.1).fit(table, "bought")
    (said,) = as_text.notes_
    assert "'width'" in said
    assert said.endswith("Pass ReadOptions(decimal=',') to read them.")
    model = TableClassifier("auc", reading=ReadOptions(decimal=","), strength=0.1).fit(
        table, "bought"
    )
    assert model.encode(table)[:, 0].tolist() == width.tolist()
    with pytest.raises(
        DataError, match=r"got '5,5' .* the table\. Pass ReadOptions\(decimal=','\) if"
    ):
        model.set_params(reading=ReadOptions()).predict(pd.DataFrame({"width": ["5,5"]}))


def test_tables_of_the_arrow_stream_protocol(table):
    duckdb = pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    expected = TableClassifier("auc", **QUICK).fit(table, "risk")
    arrow = pa.table(table)

    class Stream:
        """What any library offers whose tables speak the protocol."""

        columns = tuple(arrow.column_names)

        def __arrow_c_stream__(self, requested_schema=None):
            return arrow.__arrow_c_stream__(requested_schema)

    for other in (duckdb.sql("select * from arrow"), Stream(), arrow):
        model = TableClassifier("auc", **QUICK).fit(other, "risk")
        assert model.schema_ == expected.schema_
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
        np.testing.assert_array_equal(model.predict(other), expected.predict(table))


def test_an_index_is_no_column_and_objects_are_text_or_numbers():
    n = 40
    frame = pd.DataFrame(
        {
            "count": pd.array([*range(n - 1), None], dtype="Int64"),
            "mixed": [1, "a", 2.0, True] * (n // 4),
            "whole": np.array([*range(n - 1), None], dtype=object),
            "wait": pd.to_timedelta(range(n), unit="h"),
            "when": pd.date_range("2024-01-01", periods=n, tz="Europe/Rome"),
        },
        index=range(100, 100 + n),
    )
    y = np.arange(n) % 3 == 0
    model = TableClassifier("auc", **QUICK).fit(frame, y)
    names = ["count", "mixed=1", "mixed=2", "mixed=a", "mixed=true", "whole", "wait", "when"]
    assert model.get_feature_names_out().tolist() == names
    rows = model.encode(frame)
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    np.testing.assert_allclose(rows[:2, 6], [0, 1 / 24])
    np.testing.assert_allclose(rows[:2, 7], [19722 + 23 / 24, 19723 + 23 / 24])
    with pytest.raises(TypeError, match="columns of numbers, text or dates; got dict in 'mixed'"):
        model.predict(frame.assign(mixed=[{}] * n))


def test_a_file_keeps_how_the_table_is_read(tmp_path):
    days = [f"{k % 28 + 1:02}/03/2024" for k in range(60)]
    table = pd.DataFrame({"id": range(60), "when": days, "job": ["x", "y"] * 30})
    reading = ReadOptions(
        drop="id", as_category=["job"], date={"when": "%d/%m/%Y"}, categorical="hash", buckets=4,
        unreadable="refuse",
    )  # fmt: skip
    model = TableClassifier("auc", **QUICK, reading=reading).fit(table, [0, 1, 1] * 20)
    save(model, tmp_path / "model.auctor")
    again = load(tmp_path / "model.auctor")
    assert again.reading == reading
    np.testing.assert_array_equal(again.decision_function(table), model.decision_function(table))
    with pytest.raises(DataError, match=r"60 of 60 values of 'when' .* dates %d/%m/%Y"):
        again.predict(table.assign(when="2024-03-01"))


def test_an_additive_model_speaks_of_the_columns_of_the_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"Age": rng.integers(18, 80, 300), "Home town": rng.choice(list("ab"), 300)}
    )
    frame["Fare, paid"] = rng.lognormal(size=300)
    late = (frame["Age"] > 50) ^ (rng.random(300) < 0.2)
    model = TableClassifier("auc", model="additive", members=2, interactions=0).fit(frame, late)
    assert model.names_ == list(frame.columns)
    values, adds = model.curve("Age")
    assert values.min() >= 18
    assert adds[values > 60].mean() > adds[values < 40].mean()
    assert set(model.curve("Home town")[0]) == {"a", "b"}
    parts = model.explain(frame)
    np.testing.assert_allclose(
        parts.sum(axis=1) - parts.sum(axis=1).mean(),
        model.decision_function(frame) - model.decision_function(frame).mean(),
        atol=1e-10,
    )
    assert "Age" in str(model.scorecard())
    pictures = model.curve_pictures(frame, rows=[3])
    assert {curve.name for curve in pictures.info.columns} <= set(frame.columns)
    assert "Age" in dict(
        zip(pictures.info.rows[0].names, pictures.info.rows[0].values, strict=True)
    )
    assert "Age" in pictures.to_html()
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = model.plot()
    assert "Age" in [ax.get_title() for ax in figure.axes]
    pyplot.close(figure)
    line = TableClassifier("auc", strength=0.1).fit(frame, late)
    assert not any(hasattr(line, name) for name in ("curve", "plot", "curve_pictures", "scorecard"))


def test_columns_of_weights_customers_times_and_costs():
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "filed": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 50, n), "D"),
            "who": rng.integers(0, 80, n).astype(str),
            "w": rng.choice([1.0, 2.0], n),
            "amount": rng.lognormal(3.0, 1.0, n),
        }
    )
    table["fraud"] = (table["a"] + 0.5 * rng.normal(size=n) > 1.0).astype(int)
    how = {"sample_weight": "w", "apart": "who", "times": "filed", "gap": 2.0, "cost_fn": "amount"}
    model = TableClassifier("cost(1)", model="linear", cv=3).fit(table, "fraud", **how)
    assert model.get_feature_names_out().tolist() == ["a", "b", "amount"]
    arrays = {key: table[name] if isinstance(name, str) else name for key, name in how.items()}
    columns = table[["a", "b", "amount"]]
    same = TableClassifier("cost(1)", model="linear", cv=3).fit(columns, table["fraud"], **arrays)
    assert np.array_equal(model.coef_, same.coef_)
    auto = TableClassifier("auc").fit(table, "fraud", **how)
    assert auto.score(table, "fraud") > 0.8
