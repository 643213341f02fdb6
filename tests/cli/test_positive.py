"""Every command names the positive class, and means it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from auctor.cli.main import main

QUICK = ["--strength", "0.01", "--surrogate", "logistic"]


@pytest.fixture
def loans(tmp_path, monkeypatch):
    """A file whose rare class comes first in the alphabet."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    bad = X[:, 0] + rng.normal(size=400) > 1.2
    lines = [f"{a:.6f},{b:.6f},{'bad' if k else 'good'}" for (a, b), k in zip(X, bad, strict=True)]
    (tmp_path / "loans.csv").write_text("\n".join(["a,b,risk", *lines, ""]))
    return bad


def run(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr()


def as_json(capsys, *arguments):
    return json.loads(run(capsys, *arguments, "--json").out)


def test_the_rare_class_is_positive_in_every_command(loans, capsys):
    train = ["train", "loans.csv", "--label", "risk", "--metric", "f1", *QUICK]
    said = run(capsys, *train, "--report", "report.html").out
    assert "positive class: bad" in said
    assert "bad" in Path("report.html").read_text()
    found = as_json(capsys, *train, "--calibrate", "sigmoid")
    assert found["positive"] == "bad"
    assert found["data"]["train_positives"] + found["data"]["test_positives"] == loans.sum()
    assert "positive class: bad" in run(capsys, "inspect", "loans.csv", "--label", "risk").out
    shown = as_json(capsys, "inspect", "model.auctor", "--top", "1")
    assert shown["positive"] == "bad"
    assert shown["top"][0]["class"] == "bad"
    assert shown["top"][0]["features"][0]["weight"] > 0.0
    assert "positive" in run(capsys, "inspect", "model.auctor").out
    measured = as_json(capsys, "evaluate", "model.auctor", "loans.csv", "--label", "risk")
    assert measured["positive"] == "bad"
    table = measured["confusion"]
    assert table["tp"] + table["fn"] == loans.sum()
    f1 = 2 * table["tp"] / (2 * table["tp"] + table["fp"] + table["fn"])
    assert measured["score"] == pytest.approx(f1)
    assert measured["f1"]["value"] == pytest.approx(f1)
    told = run(capsys, "evaluate", "model.auctor", "loans.csv", "--label", "risk").out
    assert "positive class: bad" in told
    assert told.index("predicted good") < told.index("predicted bad")
    report = ["report", "model.auctor", "loans.csv", "--label", "risk", "--out", "again.html"]
    assert "positive class: bad" in run(capsys, *report).out


def test_predicted_scores_and_probabilities_are_of_the_positive_class(loans, capsys):
    run(capsys, "train", "loans.csv", "--label", "risk", *QUICK, "--calibrate", "sigmoid")
    said = run(capsys, "predict", "model.auctor", "loans.csv", "--out", "scores.csv")
    assert said.err == "auctor: 400 rows written to scores.csv; positive class: bad\n"
    with open("scores.csv") as file:
        rows = list(csv.DictReader(file))
    scores = np.array([float(row["score"]) for row in rows])
    likely = np.array([float(row["probability"]) for row in rows])
    assert [row["predicted"] == "bad" for row in rows] == (scores > 0.0).tolist()
    assert scores[loans].mean() > scores[~loans].mean()
    assert likely[loans].mean() > likely[~loans].mean()
    assert likely.mean() == pytest.approx(loans.mean(), abs=0.05)


def test_positive_names_another_class(loans, capsys):
    train = ["train", "loans.csv", "--label", "risk", "--metric", "f1", *QUICK]
    usual, other = as_json(capsys, *train), as_json(capsys, *train, "--positive", "good")
    assert other["positive"] == "good"
    assert other["test"]["f1"]["value"] > 0.8 > usual["test"]["f1"]["value"]
    assert main([*train, "--positive", "ugly"]) == 2
    assert "--positive" in capsys.readouterr().err


def test_labels_that_are_numbers_are_named_by_their_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k % 7},{int(k % 7 > 4)}" for k in range(70)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,y", *lines, ""]))
    found = as_json(capsys, "train", "rows.csv", *QUICK, "--positive", "0")
    assert found["positive"] == 0
