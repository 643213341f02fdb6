"""`auctor train`: what it writes and prints."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import auctor
from auctor.cli.main import main
from auctor.cli.output import MANY_COLUMNS
from auctor.evaluate.progress import COMPILING
from auctor.saved import read_saved
from auctor.tables import ReadOptions
from tests.cli.commands import run

pytestmark = pytest.mark.usefixtures("in_folder")

QUICK = ["--strength", "0.01"]


def run_json(capsys, *arguments):
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_a_table_becomes_a_model_and_a_report(clicks, tmp_path, capsys):
    assert run(clicks, "--label", "clicked", *QUICK, "--report", "report.html") == 0
    out, err = capsys.readouterr()
    assert err == ""  # not a terminal
    assert "300 rows; labels clicked no: " in out
    for name, kind in (("age", "number"), ("city", "category")):
        assert any(line.split()[:2] == [name, kind] for line in out.splitlines())
    for text in (
        "score (auc)",
        "AUC ",
        "95 % interval",
        "PRBEP",
        "F1",
        "certified gap",
        "surrogate",
    ):
        assert text in out
    assert "60 held-out rows" in out
    assert "\nModel: model.auctor\nReport: report.html\nNext: auctor predict" in out
    assert {p.name for p in tmp_path.iterdir()} == {"clicks.csv", "model.auctor", "report.html"}
    page = (tmp_path / "report.html").read_text()
    assert "auctor train" in page
    assert "city" in page


def test_the_model_file_says_how_it_was_made(clicks):
    assert run(clicks, "--label", "clicked", *QUICK, "--quiet", "--seed", "3") == 0
    saved = read_saved("model.auctor")
    assert saved.schema["label"] == "clicked"
    notes = saved.notes
    assert notes["command"] == (f"auctor train {clicks} --strength 0.01 --label clicked --seed 3")
    assert notes["metric"] == "auc"
    assert notes["classes"] == ["no", "yes"]
    assert notes["data"]["train_rows"] == 240
    assert notes["data"]["test_rows"] == 60
    assert notes["standardised"] is True
    assert notes["interrupted"] is False
    assert notes["path"] is None
    assert 0.5 < notes["test"]["auc"]["value"] <= 1.0


def test_quiet_prints_nothing(svm, capsys):
    assert run(svm, *QUICK, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_fixed_strength_is_the_estimator(svm, svm_test, capsys):
    found = run_json(capsys, svm, "--test", svm_test, "--strength", "0.05", "--metric", "log_loss")
    table = auctor.tables.read_table(svm)
    model = auctor.MetricClassifier("log_loss", strength=0.05, random_state=0)
    model.fit(table.matrix, table.labels.astype(int))
    saved = auctor.load("model.auctor")
    np.testing.assert_array_equal(saved.coef_, model.coef_)
    np.testing.assert_array_equal(saved.intercept_, model.intercept_)
    assert saved.classes_.tolist() == [-1, 1]
    assert found["data"] == {
        "train_rows": 240, "train_positives": int((table.labels == 1).sum()),
        "test_rows": 100, "test_positives": found["data"]["test_positives"], "n_columns": 12,
    }  # fmt: skip
    test = auctor.tables.read_table(svm_test, ReadOptions(schema=table.schema))
    assert found["test"]["score"] == pytest.approx(model.score(test.matrix, test.labels))


def test_auto_is_the_search(svm, svm_test, capsys):
    arguments = (svm, "--test", svm_test, "--penalty", "l1", "--report", "r.html", "--threads", "1")
    found = run_json(capsys, *arguments)
    table = auctor.tables.read_table(svm)
    model = auctor.MetricClassifierCV("auc", penalty="l1", random_state=0, n_threads=1)
    model.fit(table.matrix, table.labels.astype(int))
    np.testing.assert_array_equal(auctor.load("model.auctor").coef_, model.coef_)
    assert found["strength"] == model.strength_
    path = read_saved("model.auctor").notes["path"]
    assert path["strengths"] == model.strengths_.tolist()
    assert path["best"] == model.best_index_
    np.testing.assert_allclose(path["score_mean"], np.nanmean(model.scores_, axis=0))
    assert path["nonzeros"][0] <= path["nonzeros"][-1]


def test_the_search_can_be_smaller(svm, capsys):
    arguments = [
        "--penalty",
        "l1",
        "--n-strengths",
        "4",
        "--folds",
        "3",
        "--rule",
        "one_standard_error",
    ]
    run_json(capsys, svm, *arguments)
    model = auctor.load("model.auctor")
    assert model.scores_.shape == (3, 4)
    assert model.rule == "one_standard_error"


def test_evaluate_agrees_with_the_held_out_numbers(clicks, more_clicks, capsys):
    found = run_json(
        capsys, clicks, "--label", "clicked", "--test", more_clicks, *QUICK,
        "--calibrate", "sigmoid",
    )  # fmt: skip
    assert main(["evaluate", "model.auctor", str(more_clicks), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    for key, value in found["test"].items():
        assert again[key] == value, key


def test_scaling_is_folded_into_the_model(clicks, more_clicks, capsys):
    run_json(capsys, clicks, "--label", "clicked", *QUICK, "--test", more_clicks)
    table = auctor.tables.read_table(clicks, ReadOptions(label="clicked"))
    X = np.asarray(table.matrix, dtype=float)
    flag = np.isin(X, (0.0, 1.0)).all(axis=0)
    assert flag.any()
    assert not flag.all()
    scaled = np.where(flag, X, (X - X.mean(axis=0)) / X.std(axis=0))
    model = auctor.MetricClassifier("auc", strength=0.01, standardise=False)
    model.fit(scaled, table.labels)
    saved = auctor.load("model.auctor").model_
    np.testing.assert_allclose(
        saved.decision_function(X), model.decision_function(scaled), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_array_equal(saved.solution_.coef, saved.coef_[0])


def test_scaling_can_be_forced_and_forbidden(svm, clicks, capsys):
    assert run_json(capsys, svm, *QUICK)["standardised"] is True
    assert run_json(capsys, svm, *QUICK, "--no-standardise")["standardised"] is False
    assert run_json(capsys, svm, *QUICK, "--standardise")["standardised"] is True
    found = run_json(capsys, clicks, "--label", "clicked", *QUICK, "--no-standardise")
    assert found["standardised"] is False


def test_several_classes(three, capsys, refused):
    said = refused("train", three, *QUICK, "--report", "report.html", "--quiet")
    assert "two classes to write a report; got 3" in said
    assert not {"report.html", "model.auctor"} & set(os.listdir())
    assert run(three, *QUICK) == 0
    assert "accuracy" in capsys.readouterr().out
    model = auctor.load("model.auctor")
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.coef_.shape == (3, 12)


def test_several_classes_with_a_search(three, capsys):
    found = run_json(capsys, three, "--penalty", "l1", "--tol", "1e-2")
    assert found["test"]["accuracy"]["value"] > 0.4
    assert set(found["test"]["each"]) == {"0", "1", "2"}


def test_without_held_out_rows(svm, capsys):
    assert run(svm, *QUICK, "--test-size", "0") == 0
    out, err = capsys.readouterr()
    assert "240 training rows" in out
    assert "no rows were held out. Set --test-size above 0." in err


def test_no_penalty_needs_no_search(svm, capsys):
    found = run_json(capsys, svm, "--penalty", "none", "--metric", "log_loss", "--max-iter", "50")
    assert found["strength"] == 0.0


def test_threshold_weights_and_intercept(clicks, capsys):
    label = ["--label", "clicked", *QUICK]
    run_json(capsys, clicks, *label, "--threshold", "recall(0.9)", "--class-weight", "yes=3,no=1",
             "--metric", "log_loss")  # fmt: skip
    model = auctor.load("model.auctor")
    assert model.threshold == "recall(0.9)"
    assert model.class_weight == {"yes": 3.0, "no": 1.0}
    run_json(capsys, clicks, *label, "--no-intercept")
    assert auctor.load("model.auctor").intercept_.tolist() == [0.0]


def test_a_seed_decides_the_split(svm, capsys):
    first, again, other = (
        run_json(capsys, svm, *QUICK, "--seed", seed)["test"] for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_wide_tables_are_summed_up(tmp_path, capsys):
    rng = np.random.default_rng(0)
    width = MANY_COLUMNS + 5
    rows = rng.normal(size=(60, width)).round(3)
    text = [",".join([*(f"c{j}" for j in range(width)), "y"])]
    text += [",".join([*map(str, row), str(int(row[0] > 0))]) for row in rows]
    (tmp_path / "wide.csv").write_text("\n".join(text) + "\n")
    assert run("wide.csv", *QUICK) == 0
    out = capsys.readouterr().out
    assert f"In the file: {width} of kind number" in out
    assert "c17" not in out


def test_verbose_writes_lines(svm, capsys):
    assert run(svm, *QUICK, "--verbose") == 0
    err = capsys.readouterr().err
    assert err.startswith(f"reading {svm}\n")
    assert "\r" not in err


@pytest.mark.slow
def test_the_first_run_says_that_it_compiles(svm, tmp_path):
    """In a folder without compiled code; the second run finds it there."""
    command = [sys.executable, "-m", "auctor.cli.main", "train", str(svm), "--strength", "0.1"]
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    said = []
    for _ in range(2):
        done = subprocess.run(
            [*command, "--verbose"], env=env, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0
        said.append([line for line in done.stderr.splitlines() if "compiling" in line])
    assert said == [[COMPILING], []]


def test_warnings_come_in_lines_and_in_the_report(svm, capsys):
    arguments = (svm, "--strength", "1e-6", "--max-iter", "1", "--report", "r.html", "--json")
    assert run(*arguments) == 0
    out, err = capsys.readouterr()
    assert err.startswith("auctor: warning: ")
    assert "--max-iter" in err
    assert json.loads(out)["warnings"]
    with open("r.html") as file:
        assert "The iteration budget ran out" in file.read()


def test_the_model_is_written_before_it_is_compared(svm, capsys, monkeypatch):
    def interrupted(run):
        assert auctor.load("model.auctor").coef_.any()
        raise KeyboardInterrupt

    monkeypatch.setattr("auctor.cli.train_table.rivals_of", interrupted)
    assert run(svm, "--strength", "0.01", "--report", "page.html") == 130
    assert "the model is saved in model.auctor" in capsys.readouterr().err


def test_baselines_are_shown_with_advice(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 2))
    late = X[:, 0] * X[:, 1] > 0.0
    lines = [f"{a},{b},{int(y)}" for (a, b), y in zip(X.tolist(), late, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,label", *lines]))
    arguments = [tmp_path / "rows.csv", "--model", "linear", "--out", tmp_path / "m.auctor"]
    assert run(*arguments) == 0
    out = capsys.readouterr().out
    assert "boosted trees reach 0.9" in out
    assert "try --model additive" in " ".join(out.split())
    assert run(*arguments, "--no-baselines") == 0
    assert "boosted trees" not in capsys.readouterr().out
