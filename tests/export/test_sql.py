"""SQL queries give the scores, labels and probabilities of the model, in SQLite."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor import AdditiveClassifier, LinearRegressor, MetricClassifier, TableClassifier
from auctor.cli.main import main
from auctor.core.errors import ParameterError
from auctor.tables import ReadOptions, Schema

rng = np.random.default_rng(0)
N = 300


def customers():
    """Numbers, words that need quotes, missing values and a date as days."""
    age, city = rng.normal(40, 10, N), rng.choice(["Oslo", "L'Aquila", 'a "b"', None], N)
    frame = pd.DataFrame({"age": age, "the city": city, "day": rng.integers(19000, 19900, N)})
    frame.loc[::9, "age"] = np.nan
    score = 0.1 * (age - 40) + 1.5 * (city == "Oslo") + 0.002 * (frame["day"] - 19400)
    return frame, np.where(score + rng.normal(size=N) > 0.8, "it's", "no")


def answer(query, frame, table="rows"):
    """Rows of a query on a table in memory."""
    with sqlite3.connect(":memory:") as base:
        frame.to_sql(table, base, index=False)
        return pd.read_sql_query(query, base)


def check(model, frame, found, positive):
    """Scores, labels and probabilities are those of the model, whichever class is positive."""
    sign = 1.0 if positive == model.classes_[1] else -1.0
    np.testing.assert_allclose(found["score"], sign * model.decision_function(frame), rtol=1e-9)
    assert found["predicted"].tolist() == model.predict(frame).tolist()
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(frame)[:, int(sign > 0)]
        np.testing.assert_allclose(found["probability"], chances, rtol=1e-9, atol=1e-12)


#: Members of the models; linear ones have the default.
MEMBERS = {"linear": 8, "additive": 2}


@pytest.mark.sample(3)
@pytest.mark.parametrize("positive", ["it's", "no"])
@pytest.mark.parametrize("calibrate", [None, "sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", ["linear", "additive"])
def test_a_table(kind, calibrate, positive):
    frame, y = customers()
    model = TableClassifier(
        "f1",
        model=kind,
        strength=0.01,
        members=MEMBERS[kind],
        calibrate=calibrate,
        pos_label=positive,
    ).fit(frame, y)
    found = answer(auctor.to_sql(model), frame)
    assert list(found)[:3] == list(frame)
    # Curves are trained by the log-loss: their scores are log-odds.
    assert ("probability" in found) == (calibrate is not None or kind == "additive")
    check(model, frame, found, positive)


def test_categories_that_are_new_or_filled_in():
    frame, y = customers()
    model = TableClassifier("auc", reading=ReadOptions(missing="most_frequent"), strength=0.01).fit(
        frame, y
    )
    new = frame.assign(**{"the city": ["Bonn", None, *frame["the city"][2:]]})
    check(model, new, answer(auctor.to_sql(model), new), model.pos_label_)


def test_missing_values_that_the_model_refuses_are_null():
    frame, y = customers()
    frame = frame[["day"]]
    model = TableClassifier("auc", reading=ReadOptions(missing="refuse"), strength=0.01).fit(
        frame, y
    )
    found = answer(auctor.to_sql(model), frame.assign(day=[None, *frame["day"][1:]]))
    assert found.loc[0, ["score", "predicted"]].isna().all()
    assert found["score"][1:].notna().all()


def test_many_columns_and_classes():
    X = rng.normal(size=(N, 1500))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MetricClassifier("log_loss", strength=0.1).fit(X, y)
    frame = pd.DataFrame(X[:5], columns=[f"x{j}" for j in range(1500)])
    query = auctor.to_sql(model, table='"my rows"')
    assert query.splitlines()[0].endswith(": MetricClassifier")  # no class is the positive one
    found = answer(query, frame, "my rows")
    scores = found[["score_0", "score_1", "score_2"]].to_numpy()
    np.testing.assert_allclose(scores, model.decision_function(X[:5]), rtol=1e-9)
    assert found["predicted"].tolist() == model.predict(X[:5]).tolist()


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_regressors(loss):
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    model = LinearRegressor(loss).fit(frame, np.abs(frame["a"]) + 1.0)
    found = answer(auctor.to_sql(model), frame)
    np.testing.assert_allclose(found["prediction"], model.predict(frame), rtol=1e-9)


def test_curves_and_learners():
    frame = pd.DataFrame(rng.normal(size=(N, 2)), columns=["a", "b"])
    y = (frame["a"].abs() > 0.7).to_numpy()
    model = AdditiveClassifier("auc", strength=0.01, members=2, n_bins=8).fit(frame, y)
    found = answer(auctor.to_sql(model), frame)
    np.testing.assert_allclose(found["score"], model.decision_function(frame), rtol=1e-9)
    assert found["predicted"].tolist() == model.predict(frame).astype(int).tolist()
    learner = auctor.StreamingAUC().partial_fit(frame, y.astype(int), classes=[0, 1])
    found = answer(auctor.to_sql(learner), frame)
    np.testing.assert_allclose(found["score"], learner.decision_function(frame), rtol=1e-9)


@pytest.mark.filterwarnings("default")
def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame, y = customers()
    frame = frame.drop(columns="day").assign(y=np.where(y == "no", 0, 1))
    frame.to_csv("rows.csv", index=False)
    train = ["train", "rows.csv", "--label", "y", "--strength", "0.01", "--calibrate", "sigmoid"]
    assert main([*train, "--out", "a.auctor", "--quiet"]) == 0
    assert main(["stream", "rows.csv", "--label", "y", "--missing", "auto", "--out=b.auctor"]) == 0
    for name in ("a", "b"):
        assert main(["convert", f"{name}.auctor", "model.sql", "--table", "clients"]) == 0
        assert main(["predict", f"{name}.auctor", "rows.csv", "--out", "p.csv"]) == 0
        found = answer((tmp_path / "model.sql").read_text(), frame, "clients")
        wanted = pd.read_csv("p.csv")
        assert list(found)[3:] == ["score", *[c for c in wanted if c != "score"]]
        np.testing.assert_allclose(found["score"], wanted["score"], rtol=1e-9)
        assert found["predicted"].tolist() == wanted["predicted"].tolist()
        if name == "a":
            np.testing.assert_allclose(found["probability"], wanted["probability"], rtol=1e-9)
    capsys.readouterr()
    assert main(["convert", "a.auctor", "a.txt"]) == 2
    assert ".onnx or .sql" in capsys.readouterr().err


def test_what_is_refused(tmp_path):
    frame, y = customers()
    with pytest.raises(ParameterError, match="hashed categories in 'the city'"):
        auctor.to_sql(
            TableClassifier("auc", reading=ReadOptions(categorical="hash"), strength=0.1).fit(
                frame, y
            )
        )
    named = pd.DataFrame({"Score": frame["day"]})
    with pytest.raises(ParameterError, match="Rename the column before training"):
        auctor.to_sql(TableClassifier("auc", strength=0.1).fit(named, y))
    with pytest.raises(ParameterError, match="fitted model"):
        auctor.to_sql(TableClassifier())
    with pytest.raises(ParameterError, match="model of auctor"):
        auctor.to_sql(3)
    model = TableClassifier("auc", strength=0.1).fit(frame, y)
    text = auctor.to_sql(model, tmp_path / "m.sql")
    assert (tmp_path / "m.sql").read_text() == text
    again = auctor.to_sql(model.model_, schema=Schema.from_json(model.schema_.to_json()))
    assert again.splitlines()[1:] == text.splitlines()[1:]
