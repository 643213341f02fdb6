"""`auctor convert` to shards, and `auctor train` on them."""

import json
import re
import shutil

import numpy as np
import pytest

import auctor
from auctor import AdditiveClassifier, MetricClassifier
from auctor.cli.main import main
from auctor.core.watching import Watcher
from auctor.data import open_shards
from auctor.evaluate.shards import held_rows
from auctor.fit.checkpoint import Checkpoint
from auctor.metrics import auc
from auctor.tables import write_shards


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=300) > 1.0
    lines = [
        ",".join(f"{v:.6f}" for v in row) + f",{int(hit)}" for row, hit in zip(X, y, strict=True)
    ]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,c,d,y", *lines]) + "\n")
    return path


@pytest.fixture
def shards(table, tmp_path, capsys):
    folder = tmp_path / "rows.shards"
    assert main(["convert", str(table), str(folder), "--label", "y"]) == 0
    assert capsys.readouterr().out.startswith("300 rows, 4 columns: ")
    return folder


def run(*arguments):
    return main(["train", *map(str, arguments)])


def test_the_model_is_that_of_the_file(shards, tmp_path, capsys):
    out = tmp_path / "model.auctor"
    assert run(shards, "--metric", "auc", "--memory", "2GB", "--strength", 1e-3, "--out", out,
               "--json") == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    data = open_shards(shards)
    model = MetricClassifier("auc", strength=1e-3, random_state=0).fit(data)
    np.testing.assert_array_equal(auctor.load(out).coef_, model.coef_)
    assert found["score"] == model.score(data, data.row_labels())
    assert found["gap"] == model.gap_
    assert found["certified"]


def test_the_strength_is_fixed_and_said(shards, tmp_path, capsys):
    assert run(shards, "--out", tmp_path / "m.auctor") == 0
    out, err = capsys.readouterr()
    assert "certified gap" in out
    assert "strength 0.0001" in err


def test_the_same_line_goes_on_and_other_lines_are_refused(shards, tmp_path, capsys):
    line = [shards, "--metric", "log_loss", "--solver", "lbfgs", "--tol", 1e-9, "--strength", 1e-4]
    line += ["--out", tmp_path / "m.auctor", "--checkpoint", tmp_path / "run.ckpt", "--json"]
    run(*line, "--max-iter", 4)
    first = json.loads(capsys.readouterr().out)
    assert first["status"] == "max_iter"
    assert run(*line) == 0
    out, err = capsys.readouterr()
    second = json.loads(out)
    assert "resuming from" in err
    assert second["gap"] < first["gap"]
    assert second["status"] == "converged"
    assert run(*line) == 0
    assert json.loads(capsys.readouterr().out)["n_iter"] <= 1

    assert run(*line, "--penalty", "l1") == 2
    assert "another penalty: 'l1' instead of 'l2'" in capsys.readouterr().err
    shutil.rmtree(shards)
    rng = np.random.default_rng(1)
    write_shards([(rng.normal(size=(300, 4)), np.arange(300) % 2)], shards)
    assert run(*line) == 2
    assert "another checksum" in capsys.readouterr().err


def test_curves_with_pairs_go_on_from_a_checkpoint(table, shards, tmp_path, capsys):
    line = [shards, "--model", "additive", "--metric", "log_loss", "--members", 2, "--tol", 1e-6]
    line += ["--interactions", 1, "--n-strengths", 3, "--out", tmp_path / "m.auctor", "--json"]
    assert run(*line, "--checkpoint", tmp_path / "run.ckpt") == 0
    first = json.loads(capsys.readouterr().out)
    assert first["certified"]
    assert run(*line, "--checkpoint", tmp_path / "run.ckpt") == 0
    out, err = capsys.readouterr()
    assert "resuming from" in err
    again = json.loads(out)
    assert again["passes"] < 0.5 * first["passes"]
    assert again["score"] == pytest.approx(first["score"], abs=1e-3)
    assert again["strength"] == first["strength"]
    model = auctor.load(tmp_path / "m.auctor")
    assert model.names_[-1].count(" x ") == 1
    main(["predict", str(tmp_path / "m.auctor"), str(table), "--out", str(tmp_path / "p.csv")])
    rows = (tmp_path / "p.csv").read_text().splitlines()
    assert len(rows) == 301


def test_the_report_of_a_linear_model_is_of_rows_of_weight_zero(shards, tmp_path, capsys):
    out, page = tmp_path / "m.auctor", tmp_path / "r.html"
    line = [shards, "--strength", 1e-3, "--test-size", 0.3, "--report", page, "--out", out]
    assert run(*line, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    data = open_shards(shards)
    held = held_rows(data, 0.3, 0)
    model, labels = auctor.load(out), data.row_labels()
    scores = model.decision_function(data)
    assert found["test"]["rows"] == held.size == 90
    assert found["test"]["score"] == pytest.approx(auc(labels[held] == 1, scores[held]))
    kept = np.delete(np.arange(300), held)
    assert found["score"] == pytest.approx(auc(labels[kept] == 1, scores[kept]))
    assert found["rows"] == 210
    text = page.read_text()
    assert "210 training rows" in text
    assert "90 test rows" in text
    # The model is that of the other rows alone.
    X = np.loadtxt(tmp_path / "rows.csv", delimiter=",", skiprows=1)
    wanted = MetricClassifier("auc", strength=1e-3).fit(X[kept, :4], X[kept, 4])
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-3)


def test_the_report_of_curves_is_of_the_members_that_leave_rows_out(shards, tmp_path, capsys):
    page, here = tmp_path / "r.html", tmp_path / "here.html"
    line = ["--model", "additive", "--members", 3, "--interactions", 1, "--strength", 0.003]
    line += ["--metric", "auc", "--out", tmp_path / "m.auctor", "--tol", 1e-6, "--json"]
    assert run(shards, *line, "--report", page) == 0
    found = json.loads(capsys.readouterr().out)
    X = np.loadtxt(tmp_path / "rows.csv", delimiter=",", skiprows=1)
    curves = AdditiveClassifier("auc", members=3, interactions=1, strength=0.003, tol=1e-6)
    curves.fit(X[:, :4], X[:, 4])
    assert found["test"]["score"] == pytest.approx(curves.score_oof_, abs=1e-4)
    # The page has the parts of a page of rows in memory: curves, pairs, single rows, columns.
    table = tmp_path / "rows.csv"
    assert run(table, "--label", "y", *line, "--report", here, "--test-size", 0) == 0
    heads = [re.findall("<h2[^>]*>(.*?)</h2>", one.read_text()) for one in (page, here)]
    assert heads[0] == [head for head in heads[1] if "other models" not in head.lower()]
    for part in ("each scored by the member that was fitted without it", "Pairs of columns"):
        assert part in page.read_text()


class CtrlC(Watcher):
    """Presses it after some steps."""

    def __init__(self, steps):
        self.left = steps

    def on_step(self, step):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def test_ctrl_c_keeps_the_best_point(shards, tmp_path):
    data, path = open_shards(shards), tmp_path / "run.ckpt"
    model = MetricClassifier("log_loss", solver="lbfgs", tol=1e-10)
    kept = Checkpoint(path, data.fingerprint(), {}, inner=CtrlC(5))
    with kept.keeping(), pytest.warns(UserWarning, match="Interrupted"):
        model.fit(data)
    interrupted = model.solution_
    again = Checkpoint(path, data.fingerprint(), {})
    assert again.resumed
    with again.keeping():
        model.continue_from(again).fit(data)
    assert model.solution_.trace.value[0] <= interrupted.value + 1e-12
    wanted = MetricClassifier("log_loss", solver="lbfgs", tol=1e-10).fit(data)
    assert model.solution_.value == pytest.approx(wanted.solution_.value, abs=1e-9)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["--memory", "10"], "memory for one shard"),
        (["--memory", "much"], "a number and a unit"),
        (["--calibrate", "sigmoid"], "all rows in memory for --calibrate"),
        (["--positive", "7"], "one of the labels"),
        (["--solver", "coordinate_descent", "--penalty", "l1"], "curvature is diagonal"),
    ],
)
def test_bad_options_are_refused_by_name(shards, tmp_path, capsys, extra, said):
    assert run(shards, "--out", tmp_path / "m.auctor", "--strength", "1e-3", *extra) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "m.auctor").exists()


@pytest.mark.parametrize("extra", [["--checkpoint", "run.ckpt"]])
def test_options_of_shards_are_refused_for_a_table(table, tmp_path, capsys, extra):
    assert main(["train", str(table), "--out", str(tmp_path / "m.auctor"), *extra]) == 2
    assert f"needs a folder of shards for {extra[0]}" in capsys.readouterr().err
    assert not (tmp_path / "m.auctor").exists()


def test_converting_what_shards_cannot_hold_is_refused(table, tmp_path, capsys):
    folder = tmp_path / "x.shards"
    assert main(["convert", str(table), str(folder), "--missing", "median"]) == 2
    assert "without missing values" in capsys.readouterr().err
    assert not folder.exists()


def test_text_is_refused_with_the_commands_that_take_it(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("a,city,y\n1,Oslo,0\n2,Rome,1\n")
    assert main(["convert", str(path), str(tmp_path / "x.shards")]) == 2
    said = capsys.readouterr().err
    assert "column 2 (city); got 'Oslo'" in said
    assert "auctor train, compare and stream take text" in said


def test_a_folder_of_shards_is_not_overwritten(shards, table, capsys):
    before = sorted(shards.iterdir())
    assert main(["convert", str(table), str(shards)]) == 2
    assert "which exists. Remove it, or pass another name." in capsys.readouterr().err
    assert sorted(shards.iterdir()) == before
