import json
import re
from functools import partial

import numpy as np
import pytest

from auctor import MetricClassifierCV
from auctor.cli import showcase
from auctor.cli.demo import run_demo
from auctor.cli.main import main
from auctor.cli.showcase import GOALS, OURS, DemoRow, cost_per_row, show_table, verdict
from auctor.testing import payments

# --- the generated payments of the gallery --------------------------------------------------


def test_payments_are_shaped_like_fraud():
    columns, fraud = payments.card_payments(seed=0)
    assert fraud.shape == (60_000,)
    assert set(np.unique(fraud)) == {0, 1}
    assert 0.004 < fraud.mean() < 0.006
    assert len(columns) == 30
    assert all(np.isfinite(column).all() for column in columns.values())
    kinds = [name for name in columns if name.startswith("merchant_") and name != "merchant_risk"]
    assert (sum(columns[name] for name in kinds) == 1.0).all()
    assert columns["component_0"].std() < np.abs(columns["component_0"]).max() / 8  # heavy tails


def test_payments_depend_on_the_seed_only():
    a, b, c = (payments.card_payments(500, seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a[0][name], b[0][name]) for name in a[0])
    assert np.array_equal(a[1], b[1])
    assert not np.array_equal(a[0]["amount"], c[0]["amount"])


def test_split_is_stratified_and_scaled():
    columns, fraud = payments.card_payments(8_000, seed=0)
    split = payments.split_half(columns, fraud)
    assert split.train_y.size + split.test_y.size == 8_000
    assert abs(int(split.train_y.sum()) - int(split.test_y.sum())) <= 1
    assert split.train_X.mean(axis=0) == pytest.approx(0.0, abs=1e-10)
    assert split.train_X.std(axis=0) == pytest.approx(1.0)


# --- numbers ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quick():
    """Fewer folds, draws and strengths, so that the whole demo is a matter of seconds."""
    ours = partial(MetricClassifierCV, surrogate="logistic", n_strengths=3, cv=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(showcase, "FOLDS", 2)
        patch.setattr(showcase, "INNER_FOLDS", 2)
        patch.setattr(showcase, "STRENGTHS", 2)
        patch.setattr(showcase, "DRAWS", 50)
        patch.setattr(showcase, "MetricClassifierCV", ours)
        yield


@pytest.fixture(scope="module")
def found(quick):
    return run_demo(seed=1)


def test_everyone_is_measured_for_both_metrics(found):
    assert list(found.results) == ["f1", "cost(10)"]
    for rows in found.results.values():
        assert {row.name for row in rows} == set(showcase.entrants(1))
        assert all(row.low <= row.value <= row.high for row in rows)
    f1, cost = ([row.value for row in rows] for rows in found.results.values())
    assert f1 == sorted(f1, reverse=True)
    assert cost == sorted(cost)
    assert min(f1) > 0.85  # everyone learns this table
    assert max(cost) < 0.6


def test_values_are_those_of_held_out_predictions(found):
    table, goal = show_table(), GOALS[1]
    make = showcase.entrants(1)[OURS]
    predicted = showcase.held_out(lambda: make(goal), table, 1)
    ours = next(row for row in found.results[goal.metric] if row.name == OURS)
    assert ours.value == cost_per_row(table.hit, predicted)


def test_report_is_of_our_model_with_its_path(found):
    assert [model.name for model in found.info.models] == ["cost(10)"]
    assert found.info.data.positive == "malignant"
    assert found.info.path is not None
    assert found.info.models[0].headline.auc.value > 0.9
    assert found.info.trained.metric == "cost(10)"
    assert found.info.costs == (1.0, 10.0)
    names = [line.name for line in found.info.baselines]
    assert names == ["constant score", "log-loss", "boosted trees"]
    # Every malignant row flagged as benign costs 10: flagging all costs the benign share.
    data = found.info.data
    flagged = (data.test_rows - data.test_positives) / data.test_rows
    assert found.info.baselines[0].value == pytest.approx(flagged)


def row(name, behind, low, high):
    return DemoRow(name, 0.9 + behind, 0.8, 1.0, behind, low, high)


def test_the_verdict_says_who_wins():
    trees, plain = row("boosted trees", 0.0, 0.0, 0.0), row("logistic regression", -0.1, -0.2, 0.1)
    ours = row(OURS, -0.05, -0.08, -0.02)
    assert verdict(GOALS[0], [trees, ours]).startswith("For f1 use boosted trees")
    assert "behind by 0.050" in verdict(GOALS[0], [trees, ours])
    first = row(OURS, 0.0, 0.0, 0.0)
    assert "use plain logistic regression" in verdict(GOALS[0], [first, plain])
    won = verdict(GOALS[0], [trees, plain, row(OURS, -0.01, -0.05, 0.03)])
    assert won == (
        "For f1 use plain logistic regression: it is the simplest, and the lead of boosted trees "
        "(0.100) may be chance."
    )
    assert "best here, and the simplest" in verdict(
        GOALS[0], [row("logistic regression", 0.0, 0.0, 0.0), row(OURS, -0.01, -0.05, 0.03)]
    )
    assert "by more than chance" in verdict(GOALS[0], [first, row("trees", -0.1, -0.2, -0.05)])
    linear = verdict(GOALS[0], [trees, row(OURS, -0.01, -0.05, 0.03)])
    assert linear.startswith(f"For f1 use {OURS}: a linear model is the easiest to explain")
    assert "lead of boosted trees (0.010) may be chance" in linear
    best = verdict(GOALS[0], [first, row("boosted trees", -0.01, -0.05, 0.03)])
    assert best.startswith(f"For f1 use {OURS}: it is best here, boosted trees may be as good")
    for text in (won, linear, best):
        assert len(re.findall(r"\.(?!\d)", text)) == 1  # one sentence
        assert text.endswith(".")


def test_it_is_said_where_trees_win():
    trees, ours = row("boosted trees", 0.0, 0.0, 0.0), row(OURS, -0.05, -0.08, -0.02)
    said = showcase.where_trees_win({"f1": [ours, trees], "cost(10)": [trees, ours]})
    assert said.startswith("Boosted trees come first for cost(10) on this table.")
    assert "for none of these" in showcase.where_trees_win({"f1": [ours, trees]})


@pytest.mark.slow
def test_the_demo_as_it_is(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for rows in found["results"].values():
        assert {row["name"] for row in rows} == {
            "logistic regression",
            "logistic regression, tuned",
            "boosted trees, tuned cut",
            "auctor, trained on the metric",
        }
        assert all(row["low"] < row["value"] < row["high"] for row in rows)
        assert min(row["value"] for row in rows) > 0.05  # nobody is perfect
    for metric, said in found["verdicts"].items():
        best = found["results"][metric][0]["name"]
        assert said.startswith(f"For {metric} use ")
        assert best in said


# --- command ------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "80"])
def test_table_and_report(columns, quick, found, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("auctor.cli.demo.run_demo", lambda **_: found)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    for word in (
        "logistic regression",
        "boosted trees",
        "auctor",
        "For f1 use",
        "For cost(10) use",
        "Boosted trees come first",
        "auctor compare DATA.csv --label COLUMN",
    ):
        assert word in out
    assert "only table with two classes" in " ".join(out.split())
    assert "Report: auctor-demo.html" in out
    assert "\x1b" not in out + err
    assert "…" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert [path.name for path in tmp_path.iterdir()] == ["auctor-demo.html"]


def test_json(found, tmp_path, monkeypatch, capsys):
    report = tmp_path / "r.html"
    monkeypatch.setattr("auctor.cli.demo.run_demo", lambda **_: found)
    assert main(["demo", "--json", "--seed", "1", "--report", str(report)]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["seed"] == 1
    assert numbers["report"] == str(report)
    assert (numbers["rows"], numbers["positives"]) == (569, 212)
    assert set(numbers["results"]) == set(numbers["verdicts"]) == {"f1", "cost(10)"}
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("bad", ["missing/report.html", "file/report.html", "."])
def test_a_bad_report_path_is_refused_before_any_work(bad, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("here")
    monkeypatch.setattr("auctor.cli.demo.run_demo", lambda **_: pytest.fail("it trained"))
    assert main(["demo", "--report", bad]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("auctor: auctor demo needs")
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
