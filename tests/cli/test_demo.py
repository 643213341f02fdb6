import json
from functools import partial

import numpy as np
import pytest

from auctor.cli.compare import own_units
from auctor.cli.demo import run_demo, tumours
from auctor.cli.main import main
from auctor.contenders.constant import constant_contender
from auctor.contenders.ours import our_contenders
from auctor.fit.parameters import SearchParameters
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


# --- the demo -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    """The demo with two contenders and three strengths, so that it is a matter of seconds."""

    def two(metric, penalty):
        return [*our_contenders(metric, ["logistic"]), constant_contender()]

    with pytest.MonkeyPatch.context() as patch:
        quick = partial(SearchParameters, surrogate="logistic", n_strengths=3)
        patch.setattr("auctor.cli.demo.contenders_for", two)
        patch.setattr("auctor.fit.parameters.SearchParameters", quick)
        return run_demo(seed=1)


def test_everyone_is_measured_for_both_metrics(result):
    assert [rules.metric for _, rules in result.contests] == ["f1", "cost(10)"]
    for contest, rules in result.contests:
        ours, constant = sorted(own_units(contest.rows, rules), key=lambda row: row.library)
        assert (ours.library, constant.name) == ("auctor", "constant")
        assert contest.best == ours.name
        assert rules.seed == 1
    f1, cost = (own_units(contest.rows, rules)[0].mean for contest, rules in result.contests)
    assert f1 > 0.9  # this table is easily learned
    assert cost < 0.3


def test_the_demo_is_compare_on_a_file(result, tmp_path, capsys):
    table = tumours()
    lines = [",".join([*table.schema.feature_names, "label"])]
    lines += [
        ",".join([*map(repr, row), label])
        for row, label in zip(table.matrix.tolist(), table.labels.tolist(), strict=True)
    ]
    path = tmp_path / "tumours.csv"
    path.write_text("\n".join(lines) + "\n")
    options = ["--metric", "f1", "--surrogate", "logistic", "--positive", "malignant"]
    assert main(["compare", str(path), *options, "--seed", "1", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["models"]
    (mean,) = [row["mean"] for row in models if row["library"] == "auctor"]
    assert mean == pytest.approx(result.contests[0][0].rows[0].mean, rel=1e-6)


def test_report_is_of_our_model_with_its_path(result):
    info = result.info
    assert [model.name for model in info.models] == ["cost(10)"]
    assert (info.data.positive, info.data.train_rows + info.data.test_rows) == ("malignant", 569)
    assert info.path is not None
    assert info.models[0].headline.auc.value > 0.9
    assert info.trained.metric == "cost(10)"
    assert info.costs == (1.0, 10.0)
    assert [line.name for line in info.baselines] == [
        "constant score",
        "log-loss",
        "boosted trees",
    ]
    # Every malignant row flagged as benign costs 10: flagging all costs the benign share.
    flagged = (info.data.test_rows - info.data.test_positives) / info.data.test_rows
    assert info.baselines[0].value == pytest.approx(flagged)


@pytest.mark.slow
def test_the_demo_as_it_is(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    for metric, rows in numbers["results"].items():
        names = {row["name"] for row in rows}
        assert {"LogisticRegression", "HistGradientBoosting", "constant"} <= names
        assert any(metric in name for name in names)
        assert numbers["verdicts"][metric].startswith("Take ")


# --- command ------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "80"])
def test_table_and_report(columns, result, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("auctor.cli.demo.run_demo", lambda **_: result)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    words = " ".join(out.split())
    for text in (
        "By f1:",
        "By cost(10):",
        "only table with two classes",
        "Boosted trees are often far ahead",
        "auctor compare DATA.csv --label COLUMN",
    ):
        assert text in words
    for contest, _ in result.contests:
        assert " ".join(contest.advice.split()) in words
    assert words.count("Mean over the test folds") == 1
    assert "Report: auctor-demo.html" in out
    assert "\x1b" not in out + err
    assert [path.name for path in tmp_path.iterdir()] == ["auctor-demo.html"]


def test_json(result, tmp_path, monkeypatch, capsys):
    report = tmp_path / "r.html"
    monkeypatch.setattr("auctor.cli.demo.run_demo", lambda **_: result)
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
