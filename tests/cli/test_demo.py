import json
import math

import numpy as np
import pytest

from auctor import MetricClassifier, metrics
from auctor.cli import demo_data
from auctor.cli.demo import CONTENDERS, run_demo
from auctor.cli.main import main

ROWS = 8_000


@pytest.fixture(scope="module")
def info():
    return run_demo(n_rows=ROWS, seed=1)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(demo_data, "N_ROWS", ROWS)


# --- data ---------------------------------------------------------------------------------


def test_payments_are_shaped_like_fraud():
    columns, fraud = demo_data.card_payments(seed=0)
    assert fraud.shape == (60_000,)
    assert set(np.unique(fraud)) == {0, 1}
    assert 0.004 < fraud.mean() < 0.006
    assert len(columns) == 30
    assert all(np.isfinite(column).all() for column in columns.values())
    kinds = [name for name in columns if name.startswith("merchant_") and name != "merchant_risk"]
    assert (sum(columns[name] for name in kinds) == 1.0).all()
    assert columns["component_0"].std() < np.abs(columns["component_0"]).max() / 8  # heavy tails


def test_payments_depend_on_the_seed_only():
    a, b, c = (demo_data.card_payments(500, seed=seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a[0][name], b[0][name]) for name in a[0])
    assert np.array_equal(a[1], b[1])
    assert not np.array_equal(a[0]["amount"], c[0]["amount"])


def test_split_is_stratified_and_scaled():
    columns, fraud = demo_data.card_payments(ROWS, seed=0)
    split = demo_data.split_half(columns, fraud)
    assert split.train_y.size + split.test_y.size == ROWS
    assert abs(int(split.train_y.sum()) - int(split.test_y.sum())) <= 1
    assert split.train_X.mean(axis=0) == pytest.approx(0.0, abs=1e-10)
    assert split.train_X.std(axis=0) == pytest.approx(1.0)


# --- numbers ------------------------------------------------------------------------------


def test_numbers_are_those_of_the_models(info):
    split = demo_data.split_half(*demo_data.card_payments(ROWS, 1), 1)
    assert info.data.test_positives == split.test_y.sum()
    assert [model.name for model in info.models] == [c.name for c in CONTENDERS]
    for contender, shown in zip(CONTENDERS, info.models, strict=True):
        model = MetricClassifier(contender.metric, surrogate=contender.surrogate)
        model.fit(split.train_X, split.train_y)
        scores = model.decision_function(split.test_X)
        h = shown.headline
        assert h.auc.value == pytest.approx(metrics.auc(split.test_y, scores), abs=1e-6)
        assert h.auc.low < h.auc.value < h.auc.high
        f1 = metrics.fbeta(split.test_y, model.predict(split.test_X))
        assert h.fbeta.value == pytest.approx(f1)
        assert h.prbep.value == pytest.approx(metrics.prbep(split.test_y, scores), abs=1e-6)
        assert shown.fit.gap == pytest.approx(model.gap_, abs=1e-9)
        assert shown.fit.certified
        assert shown.seconds > 0.0
        assert {feature.name for feature in shown.weights.top} <= set(split.columns)


def test_auc_training_ranks_the_training_rows_best(info):
    hinge, _, log_loss = info.models
    assert hinge.train_auc > log_loss.train_auc


def test_comparisons_are_with_log_loss(info):
    baseline = info.models[-1]
    for model, comparison in zip(info.models[:-1], info.comparisons, strict=True):
        assert (comparison.name, comparison.baseline) == (model.name, baseline.name)
        assert comparison.difference == pytest.approx(
            model.headline.auc.value - baseline.headline.auc.value
        )


def test_convergence_ends_at_the_gap(info):
    for model in info.models:
        excess = model.convergence.excess
        assert min(excess) <= excess[0] <= 1.0 + 1e-9
        assert np.all(np.diff(model.convergence.passes) >= 0)


# --- command ------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "80"])
def test_table_and_report(columns, small, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    for word in ("log-loss", "AUC hinge", "AUC square", "PRBEP", "certified", "is a proof"):
        assert word in out
    assert "Report: auctor-demo.html" in out
    assert "\x1b" not in out + err
    assert "…" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert [path.name for path in tmp_path.iterdir()] == ["auctor-demo.html"]


def test_json(small, tmp_path, capsys):
    report = tmp_path / "r.html"
    assert main(["demo", "--json", "--seed", "2", "--report", str(report)]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["seed"] == 2
    assert numbers["report"] == str(report)
    assert numbers["data"]["n_columns"] == 30
    assert len(numbers["models"]) == 3
    for model in numbers["models"]:
        assert all(
            math.isfinite(model["headline"][name][key])
            for name in ("auc", "average_precision", "prbep", "fbeta", "precision", "recall")
            for key in ("value", "low", "high")
        )
        assert model["fit"]["certified"]
        assert math.isfinite(model["fit"]["gap"])
        assert len(model["roc"]["x"]) == len(model["roc"]["y"]) <= 200
    assert {c["baseline"] for c in numbers["comparisons"]} == {"log-loss"}
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
