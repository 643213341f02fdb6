"""Columns of weights, customers, times and costs on the command line."""

import csv
import json

import numpy as np
import pytest
import sklearn.metrics

from auctor.cli.main import main
from auctor.metrics import calibration_error, precision_at_k, savings
from auctor.saved import load


@pytest.fixture
def run(capsys):
    def run(*arguments):
        assert main([*map(str, arguments)]) == 0
        return capsys.readouterr().out

    return run


@pytest.fixture
def claims(tmp_path):
    rng = np.random.default_rng(0)
    n = 400
    day = np.sort(rng.integers(0, 40, n))
    x = rng.normal(size=(n, 2))
    fraud = x[:, 0] + 0.5 * rng.normal(size=n) > 0.9
    dates = (np.datetime64("2026-01-01") + day).astype(str)
    path = tmp_path / "claims.csv"
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["a", "b", "filed", "customer", "w", "amount", "fraud"])
        for i in range(n):
            row = [*x[i], dates[i], f"c{rng.integers(60)}", 1 + i % 2, 10 + i % 7, int(fraud[i])]
            out.writerow(row)
    return path


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def trained(run, claims, *options):
    out = claims.with_name("model.auctor")
    text = run("train", claims, "--label", "fraud", "--strength", "0.01", "--json", "--out", out,
               *options)  # fmt: skip
    return json.loads(text), out


def test_time_and_customers(run, claims):
    found, out = trained(run, claims, "--time", "filed", "--gap", "3", "--group", "customer",
                         "--weight", "w")  # fmt: skip
    assert load(out).get_feature_names_out().tolist() == ["a", "b", "amount"]
    sentence = found["split"]
    before, after = (sentence.split(word)[1].split()[0].strip(",.") for word in ("up to", "from"))
    assert np.datetime64(after) - np.datetime64(before) >= np.timedelta64(3, "D")
    rows = rows_of(claims)
    late = [row for row in rows if row["filed"] >= after]
    assert found["data"]["test_rows"] == len(late)
    gone = {row["customer"] for row in late}
    early = [row for row in rows if row["filed"] <= before and row["customer"] not in gone]
    assert found["data"]["train_rows"] == len(early)


def test_costs_and_savings(run, claims):
    found, out = trained(run, claims, "--metric", "cost(1)", "--cost-fp", "2", "--cost-fn",
                         "amount", "--test-size", "0")  # fmt: skip
    rows = rows_of(claims)
    X = {name: [float(row[name]) for row in rows] for name in ("a", "b", "amount")}
    X |= {name: [row[name] for row in rows] for name in ("filed", "customer", "w")}
    import pandas as pd

    flagged = load(out).predict(pd.DataFrame(X)) == 1
    y = [row["fraud"] == "1" for row in rows]
    expected = savings(y, flagged, cost_fp=2.0, cost_fn=X["amount"])
    assert found["test"]["savings"] == pytest.approx(expected._asdict())
    assert f"save {expected.share:.1%} on" in found["savings"]
    report = claims.with_name("r.html")
    trained(run, claims, "--metric", "cost(1)", "--cost-fn", "amount", "--report", report)
    page = report.read_text(encoding="utf-8")
    assert "of flagging nothing" in page
    assert "Test rows: random ones of each class." in page


def test_top_per_day(run, claims):
    _, out = trained(run, claims, "--metric", "precision_at_k(2, per=filed)", "--report",
                     claims.with_name("r.html"))  # fmt: skip
    measured = json.loads(run("evaluate", out, claims, "--label", "fraud", "--json"))
    rows = rows_of(claims)
    days = [row["filed"] for row in rows]
    todo = claims.with_name("todo.csv")
    run("predict", out, claims, "--keep", "filed", "--scores", "--top", "2", "--per", "filed",
        "--out", todo)  # fmt: skip
    done = rows_of(todo)
    hits = [row["fraud"] == "1" for row in rows]
    scores = [float(row["score"]) for row in done]
    assert measured["score"] == pytest.approx(precision_at_k(hits, scores, 2, groups=days))
    by_day = {}
    for i, row in enumerate(rows_of(todo)):
        by_day.setdefault(row["filed"], []).append((-float(row["score"]), i, row["top"]))
    page = claims.with_name("saved.html")
    shown = json.loads(run("report", out, claims, "--label", "fraud", "--json", "--out", page))
    assert shown["trained"]["test"]["value"] == pytest.approx(measured["score"])
    assert len(by_day) > 20
    for rows in by_day.values():
        assert [top for *_, top in sorted(rows)] == (["1"] * 2 + ["0"] * len(rows))[: len(rows)]


def test_all_metrics_count_weights(run, claims):
    _, out = trained(run, claims, "--metric", "log_loss", "--weight", "w")
    scored = claims.with_name("scored.csv")
    run("predict", out, claims, "--scores", "--probabilities", "--out", scored)
    done, rows = rows_of(scored), rows_of(claims)
    y = np.array([row["fraud"] == "1" for row in rows])
    w = np.array([float(row["w"]) for row in rows])
    scores = np.array([float(row["score"]) for row in done])
    likely = np.array([float(row["probability"]) for row in done])
    page = claims.with_name("weighted.html")
    how = ("--label", "fraud", "--weight", "w", "--json")
    found = json.loads(run("evaluate", out, claims, *how))
    told = json.loads(run("report", out, claims, *how, "--out", page))["models"][0]
    head, flagged = told["headline"], scores > 0.0
    assert found["total_weight"] == told["total_weight"] == w.sum()
    expected = {
        "auc": sklearn.metrics.roc_auc_score(y, scores, sample_weight=w),
        "average_precision": sklearn.metrics.average_precision_score(y, scores, sample_weight=w),
        "precision": sklearn.metrics.precision_score(y, flagged, sample_weight=w),
        "recall": sklearn.metrics.recall_score(y, flagged, sample_weight=w),
        "f1": sklearn.metrics.f1_score(y, flagged, sample_weight=w),
        "accuracy": sklearn.metrics.accuracy_score(y, flagged, sample_weight=w),
    }
    for name, value in expected.items():
        assert found[name]["value"] == pytest.approx(value)
        assert found[name]["low"] < value < found[name]["high"]
        if name != "accuracy":
            own = head["fbeta" if name == "f1" else name]
            assert own["value"] == pytest.approx(value)
    assert found["log_loss"] == pytest.approx(sklearn.metrics.log_loss(y, likely, sample_weight=w))
    error = calibration_error(y, likely, weight=w)
    for one in (found["calibration_error"], told["calibration_error"]):
        assert [one["value"], one["low"], one["high"]] == pytest.approx([*error])
    assert "Metrics and curves count rows by their weights, 600" in page.read_text(encoding="utf-8")
    assert "Calibration error" in page.read_text(encoding="utf-8")


def test_inspect_and_compare(run, claims):
    shown = run("inspect", claims, "--label", "fraud", "--time", "filed", "--group", "customer")
    assert "first time: 2026-01-01" in shown
    table = run("compare", claims, "--label", "fraud", "--time", "filed", "--folds", "2",
                "--n-strengths", "2", "--weight", "w", "--json")  # fmt: skip
    found = json.loads(table)
    assert len([one for one in found["models"] if not one["refused"]]) > 3
    assert found["weighted"]
    assert found["split"] == "in time, after the rows that are trained on"
    assert found["recommendation"].endswith(f"Folds: {found['split']}.")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "customer"], "times as numbers or dates"),
        (["--time", "file"], "none named file"),
        (["--group", "a"], "groups of 400 rows"),
        (["--gap", "3"], "--time"),
        (["--weight", "filed"], "numbers in column 'filed'"),
        (["--cost-fn", "-3"], "--cost-fn of at least 0"),
        (["--metric", "precision_at_k(300, per=filed)"], "largest group"),
    ],
)
def test_bad_input(refused, claims, options, message):
    out = claims.with_name("m.auctor")
    assert message in refused(
        "train", claims, "--label", "fraud", *options, "--quiet", "--out", out
    )
