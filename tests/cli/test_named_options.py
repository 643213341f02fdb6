"""Errors on the command line name the option that was typed, and no keyword of Python."""

from __future__ import annotations

import re

import pytest

from auctor.cli.main import main

#: Python's way to pass a parameter: ``name=``, not part of a word or of NAME=VALUE.
KEYWORD = re.compile(r"\b[a-z_0-9]+=['\"\[{(]|\b[a-z_0-9]+=(None|True|False)\b")

TRAIN = [
    ("--metric", "precision_at_k"),
    ("--metric", "auc(3)"),
    ("--metric", "precision_at_k(beta=3)"),
    ("--metric", "fbeta(-1)"),
    ("--metric", "fbeta(x)"),
    ("--metric", "nonsense"),
    ("--surrogate", "nonsense"),
    ("--penalty", "nonsense"),
    ("--l1-ratio", "0.5"),
    ("--strength", "nonsense"),
    ("--strength", "-1"),
    ("--rule", "nonsense"),
    ("--solver", "nonsense"),
    ("--threshold", "nonsense"),
    ("--threshold", "precision(2)"),
    ("--threshold", "error(2)"),
    ("--class-weight", "nonsense"),
    ("--calibrate", "nonsense"),
    ("--positive", "nonsense"),
    ("--categorical", "nonsense"),
    ("--missing", "nonsense"),
    ("--missing", "keep"),
    ("--decimal", "x"),
    ("--delimiter", "xx"),
    ("--header", "nonsense"),
    ("--zero-based", "nonsense"),
    ("--drop", "nonsense"),
    ("--as-category", "nonsense"),
    ("--as-number", "city"),
    ("--date", "nonsense"),
    ("--date", "city=%d"),
    ("--model", "nonsense"),
    ("--bins", "3"),
    ("--interactions", "3"),
    ("--monotone", "age=1"),
    ("--monotone", "nonsense"),
    ("--format", "nonsense"),
    ("--folds", "1"),
]
OTHERS = [
    ("compare", "--metric", "nonsense"),
    ("compare", "--penalty", "nonsense"),
    ("compare", "--missing", "nonsense"),
    ("compare", "--categorical", "nonsense"),
    ("compare", "--positive", "nonsense"),
    ("compare", "--header", "nonsense"),
    ("stream", "--metric", "f1"),
    ("stream", "--learner", "nonsense"),
    ("stream", "--strength", "-1"),
    ("stream", "--set", "nonsense"),
    ("stream", "--classes", "nonsense"),
    ("stream", "--missing", "nonsense"),
    ("stream", "--categorical", "nonsense"),
    ("stream", "--drop", "nonsense"),
    ("stream", "--date", "city=%d"),
    ("stream", "--zero-based", "nonsense"),
    ("stream", "--decimal", "x"),
    ("stream", "--out", "model.nonsense"),
    ("inspect", "--format", "nonsense"),
    ("inspect", "--header", "nonsense"),
    ("inspect", "--delimiter", "xx"),
    ("convert", "--missing", "nonsense"),
    ("convert", "--categorical", "nonsense"),
    ("convert", "--to", "nonsense"),
    ("convert", "--decimal", "x"),
    ("convert", "--zero-based", "nonsense"),
]
MODEL = [
    ("predict", "--decimal", "x"),
    ("predict", "--header", "nonsense"),
    ("predict", "--format", "nonsense"),
    ("predict", "--out", "rows.nonsense"),
    ("evaluate", "--label", "nonsense"),
    ("evaluate", "--zero-based", "nonsense"),
    ("evaluate", "--format", "nonsense"),
    ("report", "--decimal", "x"),
    ("report", "--format", "nonsense"),
    ("report", "--cost-fn", "-1"),
    ("report", "--beta", "-1"),
]


def refusal(capsys, command: list[str]) -> str:
    assert main(command) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(("option", "value"), TRAIN)
def test_train(option, value, table, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    linear = ["--model", "linear"]  # an option of curves alone would choose curves
    said = refusal(capsys, ["train", "rows.csv", "--label", "bought", *linear, option, value])
    assert option in said
    assert not KEYWORD.search(said), said


@pytest.mark.parametrize(("command", "option", "value"), OTHERS)
def test_commands_that_read_rows(command, option, value, table, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    out = ["out.npz"] if command == "convert" else []
    said = refusal(capsys, [command, "rows.csv", *out, "--label", "bought", option, value])
    assert option in said
    assert not KEYWORD.search(said), said


@pytest.mark.parametrize(("command", "option", "value"), MODEL)
def test_commands_that_read_a_model(command, option, value, table, trained, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    said = refusal(capsys, [command, "model.auctor", "rows.csv", option, value])
    assert option in said
    assert not KEYWORD.search(said), said


def test_calibrating_with_too_few_rows_names_calibrate(tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    lines = [f"{k % 7},{k % 5},{'yes' if k == 3 else 'no'}" for k in range(20)]
    rows.write_text("\n".join(["a,b,y", *lines]) + "\n")
    given = ["--label", "y", "--strength", "0.1", "--test-size", "0", "--calibrate", "sigmoid"]
    said = refusal(capsys, ["train", str(rows), *given, "--out", str(tmp_path / "m.auctor")])
    assert "needs at least two rows of every class for --calibrate; got 1" in said
    assert "drop --calibrate" in said
