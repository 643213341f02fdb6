import csv
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auctor
from auctor import metrics
from auctor.cli.main import main
from auctor.core.codec import as_json
from auctor.evaluate.describe import path_info
from auctor.fit.result import StrengthChoice
from auctor.reports import render
from auctor.saved import read_saved
from auctor.saved.predictors import read_classifier
from auctor.saved.report import labelled_rows, report_of
from auctor.tables.options import ReadOptions


def report(capsys, *arguments):
    assert main(["report", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_numbers_are_those_of_the_model(trained, table, rows, tmp_path, capsys):
    out = tmp_path / "r.html"
    found = report(capsys, trained, table, "--out", out, "--beta", "2")
    saved = read_saved(trained)
    age, income, city, bought = rows
    one_hot = [city == name for name in ("Oslo", "Rome", "Wien")]
    X = np.column_stack([np.round(age, 4), np.round(income, 4), *one_hot])
    scores = saved.model.model_.decision_function(X)
    (model,) = found["models"]
    head = model["headline"]
    assert head["auc"]["value"] == pytest.approx(metrics.auc(bought, scores))
    assert head["fbeta"]["value"] == pytest.approx(metrics.fbeta(bought, scores > 0, 2.0))
    assert head["beta"] == 2.0
    assert model["fit"]["gap"] == pytest.approx(saved.model.model_.gap_)
    assert found["data"]["test_rows"] == bought.size
    assert found["data"]["train_rows"] == saved.notes["data"]["train_rows"]
    assert found["report"] == str(out)
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert re.search(r"<title>Rome: [+-]", page)


def test_python_makes_the_same_report(trained, table, tmp_path, capsys):
    """`labelled_rows` and `report_of` give the numbers and the page of the command."""
    lines = table.read_text().splitlines()
    test, out = tmp_path / "test.csv", tmp_path / "r.html"
    cities = [lines[k].split(",")[2] for k in range(121, len(lines))]
    test.write_text("\n".join([lines[0], *lines[121:]]).replace("Wien", "Bern") + "\n")
    given = ["--train", table, "--slice", "city", "--cost-fn", "5", "--beta", "2", "--seed", "3"]
    found = report(capsys, trained, test, *given, "--out", out)
    saved = read_classifier(trained)
    info = report_of(
        saved,
        labelled_rows(saved, str(test), ReadOptions(), seed=3),
        train=labelled_rows(saved, str(table), seed=3),
        slices={"city": [city.replace("Wien", "Bern") for city in cities]},
        costs=(1.0, 5.0),
        beta=2.0,
    )
    # Python names itself, its parameters and no second command; all else is that of the command.
    own = [text for text in info.warnings if text.startswith("report_of ")]
    assert len(own) == 1
    assert "categorical='hash'" in own[0]
    assert info.command == saved.notes["command"]
    same = info._replace(warnings=found["warnings"], command=found["command"])
    assert json.loads(json.dumps(as_json(same))) == {
        k: v for k, v in found.items() if k != "report"
    }
    assert render(same) == out.read_text()


def test_python_says_how_to_pass_training_rows(plain_model, rows, tmp_path):
    age, income, _, bought = rows
    path = tmp_path / "plain.npz"
    np.savez(path, X=np.column_stack([age, income]), y=bought.astype(float))
    saved = read_classifier(plain_model)
    info = report_of(saved, labelled_rows(saved, str(path)))
    assert [line.note for line in info.baselines[1:]] == [
        "It needs the rows that the model was trained on: pass them with train."
    ] * 2
    assert info.command == ""


def test_training_is_told_from_the_notes(trained, table, tmp_path, capsys):
    found = report(capsys, trained, table, "--out", tmp_path / "r.html")
    saved = read_saved(trained)
    assert found["command"].startswith("auctor train ")
    assert found["command"].startswith(saved.notes["command"] + " && auctor report ")
    assert found["path"]["best"] == saved.model.model_.best_index_
    assert found["path"]["nonzeros"] == saved.notes["path"]["nonzeros"]
    convergence = found["models"][0]["convergence"]
    assert convergence["objective"]
    assert len(convergence["metric"]) == len(saved.notes["metric_steps"])
    assert [column["name"] for column in found["columns"]] == ["age", "income", "city"]


def test_title_and_costs(trained, table, tmp_path, capsys):
    given = ["--title", "Sales <b>", "--cost-fp", "2", "--cost-fn", "30"]
    found = report(capsys, trained, table, "--out", tmp_path / "r.html", *given)
    assert found["title"] == "Sales <b>"
    assert found["costs"] == [2.0, 30.0]
    page = (tmp_path / "r.html").read_text()
    assert "Sales &lt;b&gt;" in page
    assert "Sales <b>" not in page


def test_text_and_default_name(trained, table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(trained), str(table)]) == 0
    assert capsys.readouterr().out == "Report: report.html; positive class: yes\n"
    assert (tmp_path / "report.html").exists()


def test_a_model_without_notes(plain_model, rows, tmp_path, capsys):
    age, income, _, bought = rows
    path = tmp_path / "plain.npz"
    np.savez(path, X=np.column_stack([age, income]), y=bought.astype(float))
    found = report(capsys, plain_model, path, "--out", tmp_path / "r.html")
    assert found["path"] is None
    assert found["data"]["train_rows"] == 0
    assert found["command"].startswith("auctor report ")
    assert found["models"][0]["train_auc"] is None


@pytest.mark.parametrize(
    "notes",
    [
        {"path": 3, "metric_steps": 7, "warnings": "no", "data": [], "command": 1, "seconds": "x"},
        {"path": {"nonzeros": ["a", None]}, "metric_steps": [1, {}], "warnings": [3], "data": {}},
    ],
)
def test_notes_may_be_anything(notes, plain_model, rows, tmp_path, capsys):
    age, income, _, bought = rows
    auctor.save(auctor.load(plain_model), plain_model, notes=notes)
    path = tmp_path / "plain.npz"
    np.savez(path, X=np.column_stack([age, income]), y=bought.astype(float))
    report(capsys, plain_model, path, "--out", tmp_path / "r.html")


def test_a_learner(table, rows, tmp_path, capsys):
    age, income, _, bought = rows
    path = tmp_path / "numbers.csv"
    lines = [f"{a},{i},{int(b)}" for a, i, b in zip(age, income, bought, strict=True)]
    path.write_text("\n".join(["age,income,label", *lines]) + "\n")
    model = tmp_path / "m.auctor"
    assert main(["stream", str(path), "--out", str(model)]) == 0
    capsys.readouterr()
    found = report(capsys, model, path, "--out", tmp_path / "r.html")
    assert found["models"][0]["fit"] is None
    scores = auctor.load(model).decision_function(pd.DataFrame({"age": age, "income": income}))
    reported = found["models"][0]["headline"]["auc"]["value"]
    assert reported == pytest.approx(metrics.auc(bought, scores), abs=1e-12)
    assert reported > 0.7
    assert found["command"].startswith("auctor stream ")


def test_path_info_without_counts():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = auctor.MetricClassifierCV("auc", n_strengths=4, cv=2).fit(X, X[:, 0] > 0)
    search = StrengthChoice(model.strengths_, model.scores_, model.best_index_)
    path = path_info(search, model)
    assert path.strengths == tuple(model.strengths_)
    assert path.score_mean == pytest.approx(model.scores_.mean(axis=0))
    assert path.score_se == pytest.approx(model.scores_.std(axis=0, ddof=1) / math.sqrt(2))
    assert all(math.isnan(count) for count in path.nonzeros)


# --- bad input ----------------------------------------------------------------------------


def test_bad_input(trained, table, tmp_path, refused):
    out = tmp_path / "r.html"

    def bad(model, data, *more):
        line = refused("report", model, data, "--out", out, *more)
        assert not out.exists()
        return line

    assert "none.auctor" in bad(tmp_path / "none.auctor", table)
    assert "none.csv" in bad(trained, tmp_path / "none.csv")
    bad(table, table)
    bad(trained, tmp_path)
    lines = table.read_text().splitlines()
    (tmp_path / "empty.csv").write_text("")
    bad(trained, tmp_path / "empty.csv")
    (tmp_path / "other.csv").write_text("age,bought\n1,yes\n2,no\n")
    line = bad(trained, tmp_path / "other.csv")
    assert "income" in line
    assert "city" in line
    (tmp_path / "unlabelled.csv").write_text("age,income,city\n1,2,Oslo\n")
    assert "bought" in bad(trained, tmp_path / "unlabelled.csv")
    (tmp_path / "one.csv").write_text("age,income,city,bought\n1,2,Oslo,yes\n")
    assert "both classes" in bad(trained, tmp_path / "one.csv")
    (tmp_path / "third.csv").write_text("\n".join([*lines, "1,2,Oslo,maybe"]) + "\n")
    assert "maybe" in bad(trained, tmp_path / "third.csv")
    (tmp_path / "ragged.csv").write_text("\n".join([*lines, "1,2"]) + "\n")
    bad(trained, tmp_path / "ragged.csv")
    assert "existing folder" in refused(
        "report", trained, table, "--out", tmp_path / "no" / "r.html"
    )
    assert "cost-fp" in bad(trained, table, "--cost-fp", "-1")


def test_several_classes_and_regressors(tmp_path, table, refused):
    X = np.random.default_rng(0).normal(size=(60, 2))
    path = tmp_path / "m.auctor"
    auctor.save(auctor.MetricClassifier("auc").fit(X, np.arange(60) % 3), path)
    assert "two classes; got one of 3" in refused("report", path, table)
    auctor.save(auctor.LinearRegressor().fit(X, X[:, 0]), path)
    assert "LinearRegressor" in refused("report", path, table)


def test_a_full_disk_leaves_nothing(trained, table, tmp_path, refused, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    out = tmp_path / "r.html"
    out.write_text("old")
    monkeypatch.setattr("os.fsync", full)
    assert "No space left" in refused("report", trained, table, "--out", out)
    assert out.read_text() == "old"
    assert not list(tmp_path.glob(".r.html*"))


def test_a_search_from_python_has_a_path_without_counts(rows, tmp_path, capsys):
    age, income, _, bought = rows
    X = np.column_stack([age, income])
    model = auctor.MetricClassifierCV("auc", n_strengths=5, cv=3).fit(X, bought)
    auctor.save(model, tmp_path / "cv.auctor")
    np.savez(tmp_path / "rows.npz", X=X, y=bought.astype(float))
    out = tmp_path / "r.html"
    found = report(capsys, tmp_path / "cv.auctor", tmp_path / "rows.npz", "--out", out)
    assert found["path"]["nonzeros"] == [None] * 5
    assert found["path"]["score_mean"] == pytest.approx(model.scores_.mean(axis=0))
    assert "Strengths tried" in out.read_text()


# --- the metric it was trained for, baselines, slices, thresholds -------------------------------


def test_baselines_are_trained_on_the_training_rows(trained, table, rows, tmp_path, capsys):
    lines = table.read_text().splitlines()
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    train.write_text("\n".join(lines[:161]) + "\n")
    test.write_text("\n".join([lines[0], *lines[161:]]) + "\n")
    found = report(capsys, trained, test, "--train", train, "--out", tmp_path / "r.html")
    age, income, city, bought = rows
    X = np.column_stack([age, income, *(city == name for name in ("Oslo", "Rome", "Wien"))])
    held = bought[160:]
    constant, linear, trees = found["baselines"]
    assert (constant["name"], constant["value"]) == ("constant score", 0.5)
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:160], bought[:160])
    near = metrics.auc(held, scaled.decision_function(X[160:]))
    assert linear["value"] == pytest.approx(near, abs=0.02)
    grown = HistGradientBoostingClassifier(random_state=0).fit(X[:160], bought[:160])
    theirs = metrics.auc(held, grown.decision_function(X[160:]))
    assert trees["value"] == pytest.approx(theirs, abs=0.02)
    value = found["models"][0]["headline"]["auc"]["value"]
    assert found["trained"]["test"]["value"] == value
    assert found["trained"]["best"] == 1.0
    for line in (constant, linear, trees):
        assert line["ahead"]["value"] == pytest.approx(value - line["value"])
    assert found["trained"]["train"] == found["models"][0]["train_auc"]


def test_without_training_rows_the_constant_alone_is_measured(trained, table, tmp_path, capsys):
    found = report(capsys, trained, table, "--out", tmp_path / "r.html")
    constant, *others = found["baselines"]
    assert constant["value"] == 0.5
    assert all("--train" in line["note"] and line["value"] is None for line in others)
    notes = read_saved(trained).notes
    assert found["trained"]["train"] == notes["train_score"] == notes["train_auc"]


def test_slices_may_be_columns_that_the_model_lacks(trained, table, tmp_path, capsys):
    lines = table.read_text().splitlines()
    path = tmp_path / "more.csv"
    region = ["region", *(("north", "south")[k % 2] for k in range(len(lines) - 1))]
    path.write_text("\n".join(f"{a},{b}" for a, b in zip(lines, region, strict=True)) + "\n")
    found = report(capsys, trained, path, "--out", tmp_path / "r.html", "--slice", "region",
                   "--slice", "age")  # fmt: skip
    by_region, by_age = found["slices"]
    assert [part["name"] for part in by_region["slices"]] == ["north", "south"]
    assert sum(part["rows"] for part in by_region["slices"]) == len(lines) - 1
    assert len(by_age["slices"]) == 4
    assert "By region" in (tmp_path / "r.html").read_text()


def test_thresholds_are_written_as_a_table(trained, table, rows, tmp_path, capsys):
    path = tmp_path / "t.csv"
    found = report(capsys, trained, table, "--out", tmp_path / "r.html", "--thresholds", path,
                   "--cost-fn", "7")  # fmt: skip
    assert found["table"] == str(path)
    with open(path) as file:
        lines = list(csv.DictReader(file))
    bought = rows[3]
    at = min(lines, key=lambda line: abs(float(line["threshold"])))
    head = found["models"][0]["headline"]
    assert float(at["precision"]) == pytest.approx(head["precision"]["value"])
    assert float(at["recall"]) == pytest.approx(head["recall"]["value"])
    tp, fp, fn = (int(at[f"{name}s"]) for name in
                  ("true_positive", "false_positive", "false_negative"))  # fmt: skip
    assert tp + fn == bought.sum()
    assert float(at["cost"]) == pytest.approx((fp + 7 * fn) / bought.size)


def test_a_report_of_training_has_its_own_rows(table, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = ["train", str(table), "--label", "bought", "--strength", "0.1", "--metric", "cost(5)"]
    assert main([*train, "--report", "r.html", "--slice", "city", "--json"]) == 0
    score = json.loads(capsys.readouterr().out)["test"]["score"]
    page = (tmp_path / "r.html").read_text()
    assert "Trained for: cost(5)" in page
    assert f'id="trained-value" value="{-score!r}"' in page
    for part in ("constant score", "log-loss", "boosted trees", "By city", "costliest errors"):
        assert part in page
    # The rows that are named as errors are rows of the file, and wrong.
    model = auctor.load("model.auctor")
    frame = pd.read_csv(table)
    named = re.findall(
        r'<span class="narrow">Row </span>(\d+)</th><td class="label"[^>]*><span>(yes|no)<', page
    )
    assert named
    for row, actual in named:
        one = frame.iloc[[int(row) - 1]]
        assert one["bought"].item() == actual
        assert model.predict(one.drop(columns="bought"))[0] != actual


def test_a_slice_needs_a_report_and_a_column(table, tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = ["train", table, "--label", "bought", "--strength", "0.1"]
    assert "--report" in refused(*train, "--slice", "city")
    assert "none named town" in refused(*train, "--slice", "town", "--report", "r.html")
    assert not (tmp_path / "model.auctor").exists()


def test_a_model_of_curves_has_no_weights_to_show(table, tmp_path, capsys):
    frame = pd.read_csv(table)
    model = auctor.TableClassifier("auc", model="additive", strength=0.01).fit(frame, "bought")
    path = tmp_path / "curves.auctor"
    auctor.save(model, path)
    found = report(capsys, path, table, "--out", tmp_path / "r.html")
    assert found["models"][0]["weights"] is None
    scores = model.decision_function(frame.drop(columns="bought"))
    assert found["trained"]["test"]["value"] == pytest.approx(
        metrics.auc(frame["bought"] == "yes", scores)
    )


def test_a_constant_knows_the_share_of_positives(table, tmp_path, capsys):
    """By log-loss the best constant is the log-odds of the share, with the entropy as loss."""
    frame = pd.read_csv(table)
    path = tmp_path / "likely.auctor"
    auctor.save(auctor.TableClassifier("log_loss", strength=0.01).fit(frame, "bought"), path)
    share = (frame["bought"] == "yes").mean()
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    for more in ([], ["--train", table]):
        found = report(capsys, path, table, "--out", tmp_path / "r.html", *more)
        assert found["baselines"][0]["value"] == pytest.approx(entropy)
        assert found["trained"]["best"] == 0.0
