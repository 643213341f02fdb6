"""Columns of a table in a report: each is named once; training rows against test rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from auctor import TableClassifier
from auctor.data.preparation import column_scaling
from auctor.evaluate.curves_info import striking_rows
from auctor.evaluate.drift import differs, drifts
from auctor.evaluate.scores import ScoredRows
from auctor.evaluate.terms import CurveTerms, LinearTerms
from auctor.reports import curve_pictures
from auctor.tables.options import ReadOptions


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    city = rng.choice(["Oslo", "Rome", "Bonn", None], p=[0.5, 0.3, 0.1, 0.1], size=600)
    sex = rng.choice(["f", "m"], size=600)
    age = rng.normal(40.0, 10.0, size=600)
    sold = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 600), unit="D")
    frame = pd.DataFrame({"age": age, "city": city, "sex": sex, "sold": sold})
    tilt = 0.1 * (age - 40.0) + 1.5 * (city == "Oslo") - (sex == "m")
    frame["bought"] = np.where(tilt + rng.logistic(size=600) > 0.0, "yes", "no")
    return frame


def terms_of(model, frame, kind):
    matrix = model.encode(frame)
    rows = ScoredRows(np.zeros(len(frame), int), model.decision_function(frame), None, 0)
    return kind(model.model_.model_, matrix, model.schema_, rows), matrix


def test_features_of_a_linear_model_are_columns_of_the_table(table):
    model = TableClassifier("log_loss", strength=1e-3).fit(table, "bought")
    terms, matrix = terms_of(model, table, LinearTerms)
    names = [one.name for one in terms.features]
    assert sorted(names) == ["age", "city", "sex", "sold"]
    added = {}  # what each column adds, from the columns of the matrix by their names
    dense = np.asarray(matrix.todense() if hasattr(matrix, "todense") else matrix)
    for name, weight, values in zip(
        model.get_feature_names_out(), model.coef_[0], dense.T, strict=True
    ):
        column = name.partition("=")[0]
        added[column] = added.get(column, 0.0) + weight * values
    for one in terms.features:
        assert abs(one.effect) == pytest.approx(added[one.name].std(), rel=1e-9)
    assert names == sorted(names, key=lambda name: -added[name].std())
    charts = {chart.name: chart for chart in terms.curves.columns}
    assert set(charts) == {"city", "sex"}
    city = charts["city"]
    assert city.missing is not None
    assert (np.diff(city.level) <= 0.0).all()
    mean = city.share @ city.level + (1.0 - city.share.sum()) * city.missing
    assert mean == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ({"model": "linear", "strength": 1e-3}, LinearTerms),
        ({"model": "additive", "interactions": [("age", "city")], "members": 2}, CurveTerms),
        (
            {
                "model": "additive",
                "interactions": 0,
                "members": 1,
                "reading": ReadOptions(categorical="one_hot"),
            },
            CurveTerms,
        ),
    ],
    ids=["linear", "levels and a pair", "columns of zeros and ones"],
)
def test_explanations_name_each_column_once_and_add_up(table, how, kind):
    model = TableClassifier("log_loss", **how).fit(table, "bought")
    terms, _ = terms_of(model, table, kind)
    scores = model.decision_function(table)
    for row, (title, k) in zip(terms.curves.rows, striking_rows(scores).items(), strict=True):
        assert row.title == title
        assert row.score == pytest.approx(scores[k])
        assert row.average + row.parts.sum() == pytest.approx(scores[k])
        assert len(set(row.names)) == len(row.names)
        assert set(row.names) <= {"age", "city", "sex", "sold"}
        shown = dict(zip(row.names, row.values, strict=True))
        assert shown.get("sold", "2020") == str(table["sold"][k])[: len(shown.get("sold", "2020"))]
        assert shown.get("sex", table["sex"][k]) == table["sex"][k]
        reasons = terms.reasons(k)
        assert len({one.name for one in reasons}) == len(reasons)
        parts = dict(zip(row.names, row.parts, strict=True))
        assert all(one.part == pytest.approx(parts.get(one.name, 0.0)) for one in reasons)
    charts = {chart.name: chart for chart in terms.curves.columns}
    assert set(charts) <= {"age", "city", "sex", "sold"}
    assert charts["sex"].labels is not None
    assert sorted(charts["sex"].labels)[:1] == ["f"]


def test_columns_of_zeros_and_ones_are_the_chart_of_their_levels(table):
    """A level adds what its own column adds, and what the columns of the others add at zero."""
    reading = ReadOptions(categorical="one_hot")
    model = TableClassifier(
        "log_loss", model="additive", interactions=0, members=1, reading=reading
    )
    model.fit(table, "bought")
    pictures = curve_pictures(model)
    chart = next(one for one in pictures.info.columns if one.name == "city")
    parts = model.explain(table)
    own = [k for k, name in enumerate(model.names_) if name.startswith("city=")]
    added = parts[:, own].sum(axis=1)
    for level, label in zip(chart.level, chart.labels, strict=True):
        rows = (table["city"] == label).to_numpy()
        np.testing.assert_allclose(added[rows], level, atol=1e-12)
    np.testing.assert_allclose(added[table["city"].isna().to_numpy()], chart.missing, atol=1e-12)


def test_drift_is_the_distance_of_the_distributions(table):
    model = TableClassifier("log_loss", strength=1e-3).fit(table, "bought")
    rng = np.random.default_rng(1)
    train, test = table.iloc[:300], table.iloc[300:].copy()
    test["age"] += 8.0
    test["city"] = rng.choice(["Oslo", "Rome", "Bonn"], p=[0.1, 0.1, 0.8], size=300)
    one, two = (
        np.asarray(
            model.encode(side).todense()
            if hasattr(model.encode(side), "todense")
            else model.encode(side)
        )
        for side in (train, test)
    )
    found = drifts(model.schema_, one, two)
    wanted = stats.ks_2samp(train["age"], test["age"])
    assert found["age"].distance == pytest.approx(wanted.statistic)
    shares = [side["city"].fillna("?").value_counts(normalize=True) for side in (train, test)]
    gap = shares[0].subtract(shares[1], fill_value=0.0).abs().sum() / 2.0
    assert found["city"].distance == pytest.approx(gap)
    assert [name for name, drift in found.items() if differs(drift, 4)] == ["age", "city"]
    # Training rows that were scaled in place are compared with test rows that are scaled alike.
    scaling = column_scaling(one, centre=True)
    scaled = drifts(model.schema_, scaling.apply(one), two, scaling)
    assert scaled == found


def test_equal_rows_do_not_drift(table):
    model = TableClassifier("log_loss", model="additive", members=1).fit(table, "bought")
    matrix = model.encode(table)
    found = drifts(model.schema_, matrix, matrix)
    assert all(drift.distance == 0.0 and not differs(drift, 4) for drift in found.values())
    lost = matrix.copy()
    lost[:200, 0] = np.nan  # missing values alone are a difference
    assert differs(drifts(model.schema_, matrix, lost)["age"], 4)
