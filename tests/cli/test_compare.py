"""`auctor compare`, the command."""

import json

import numpy as np
import pytest

from auctor.cli.compare import contenders_for, trained
from auctor.cli.main import main
from auctor.evaluate.contest import OURS
from auctor.evaluate.verdict import CONSTANT, LINEAR, TREES
from auctor.fit.folds import SplitBy
from auctor.fit.row_facts import RowFacts
from auctor.tables import ReadOptions, read_table


@pytest.fixture
def path(data, tmp_path):
    X, hits = data
    names = [f"x{k}" for k in range(X.shape[1])]
    rows = [",".join([*names, "bought"])]
    for row, hit in zip(X, hits, strict=True):
        rows.append(",".join([*(f"{value:.6f}" for value in row), "yes" if hit else "no"]))
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


QUICK = ["--folds", "2", "--inner-folds", "2", "--n-strengths", "2", "--surrogate", "square",
         "--repeats", "1", "--all"]  # fmt: skip


def test_text(path, capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert main(["compare", str(path), "--label", "bought", *QUICK]) == 0
    out, err = capsys.readouterr()
    for word in ("auctor auc, square", "LinearSVC", "PRBEP", "best", "t-test", "300 rows", "Take "):
        assert word in out
    assert err == ""
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_json(path, capsys):
    assert main(["compare", str(path), "--label", "bought", "--json", "--metric", "f1",
                 "--surrogate", "logistic", *QUICK[:6], *QUICK[8:]]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    assert found["metric"] == "f1"
    assert found["test"] == "corrected resampled t-test, Holm"
    assert found["recommendation"].startswith("Take ")
    assert (found["rows"], found["columns"]) == (300, 8)
    assert found["best"] in {row["name"] for row in found["models"]}
    assert found["models"][0]["library"] == OURS
    assert {row["kind"] for row in found["models"]} >= {LINEAR, TREES, CONSTANT}
    for row in found["models"]:
        assert len(row["values"]) == 2
        assert row["mean"] == pytest.approx(row["f1"])


@pytest.mark.slow  # the example of `in_own_units` has the signs
def test_costs_are_shown_as_they_are(path, capsys):
    """Less is better: the best model has the least, and the others are behind by more of it."""
    command = ["compare", str(path), "--label", "bought", "--metric", "cost(3)",
               "--surrogate", "logistic", *QUICK[:6], *QUICK[8:]]  # fmt: skip
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lower_is_better"]
    assert found["best_possible"] == 0.0
    means = {row["name"]: row["mean"] for row in found["models"]}
    assert 0.0 < means[found["best"]] == min(means.values())
    for row in found["models"]:
        assert row["mean"] == pytest.approx(np.mean(row["values"]))
        if row["name"] != found["best"]:
            assert row["difference"] == pytest.approx(row["mean"] - means[found["best"]])
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "Less cost(3) is better." in out
    assert f"{means[found['best']]:.4f} ±" in out
    assert "-cost" not in out


def test_a_bar_on_a_terminal(path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["compare", str(path), "--label", "bought", "--json", *QUICK]) == 0
    out, err = capsys.readouterr()
    json.loads(out)
    count = 2 * len(contenders_for("auc", "l2", {}, ["square"], every=True))
    assert f"{count}/{count}" in err or f"{count - 1}/{count}" in err


def test_ctrl_c(path, capsys, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("auctor.evaluate.contest._measure", press)
    assert main(["compare", str(path), "--label", "bought", *QUICK]) == 130
    assert capsys.readouterr() == ("", "auctor: interrupted before all models were measured.\n")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--metric", "beauty"], "metric"),
        (["--metric", "precision_at_k"], "precision_at_k(10)"),
        (["--surrogate", "gold"], "surrogate"),
        (["--solver", "magic"], "solver"),
        (["--penalty", "none"], "penalty"),
        (["--penalty", "l3"], "penalty"),
        (["--l1-ratio", "0.5"], "elastic_net"),
        (["--folds", "1"], "--folds"),
        (["--label", "sold"], "sold"),
        (["--format", "poem"], "format"),
    ],
)
def test_bad_options(options, word, path, capsys):
    given = options if "--label" in options else ["--label", "bought", *options]
    assert main(["compare", str(path), *given]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert word in err


def test_bad_data(path, tmp_path, capsys):
    def refused(file):
        assert main(["compare", str(file), "--label", "bought"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        return err

    text = path.read_text()
    (tmp_path / "three.csv").write_text(text + "1,1,1,1,1,1,1,1,maybe\n")
    assert "two classes; got 3" in refused(tmp_path / "three.csv")
    assert "none.csv" in refused(tmp_path / "none.csv")
    assert "folder" in refused(tmp_path)
    (tmp_path / "empty.csv").write_text("")
    refused(tmp_path / "empty.csv")
    (tmp_path / "few.csv").write_text("".join(line + "\n" for line in text.splitlines()[:12]))
    refused(tmp_path / "few.csv")


def test_the_model_of_the_page_is_measured_on_other_customers(path):
    customers = np.arange(300) // 3
    facts = RowFacts(by=SplitBy(apart=customers))
    run, rivals = trained(
        read_table(path, ReadOptions(label="bought")), "auc", "yes", 0, facts=facts
    )
    held = np.isin(np.arange(300), run.parts.test_rows)
    assert 0 < held.sum() < 300
    assert not np.intersect1d(customers[held], customers[~held]).size
    assert {one.name for one in rivals} >= {"constant score", "log-loss"}
