"""Ctrl-C while `auctor train` runs."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import auctor
from auctor.cli.main import main
from auctor.evaluate.results import TrainingRun
from tests.cli.commands import run

pytestmark = pytest.mark.usefixtures("in_folder")

QUICK = ["--strength", "0.01"]


ENDLESS = ["--metric", "log_loss", "--strength", "1e-9", "--solver", "gradient_descent", "--tol",
           "0", "--max-iter", "1000000000", "--verbose"]  # fmt: skip


def interrupt(arguments, after, **options):
    """Start auctor, wait for a line of its error stream that matches ``after``, press Ctrl-C."""
    child = subprocess.Popen(
        [sys.executable, "-m", "auctor.cli.main", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    seen = ""
    for line in child.stderr:
        seen += line
        if re.search(after, line):
            break
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, seen + err


@pytest.mark.slow  # a process; those below interrupt inside this one
def test_ctrl_c_saves_the_best_model_so_far(svm, svm_test):
    arguments = ["train", svm, "--test", svm_test, *ENDLESS, "--json", "--report", "r.html"]
    code, out, err = interrupt(arguments, r"iteration [1-9]\d")
    assert code == 130, err
    assert "the best model so far is saved in model.auctor: gap " in err
    found = json.loads(out)
    assert found["interrupted"] is True
    assert found["status"] == "interrupted"
    model = auctor.load("model.auctor")
    assert model.solution_.value < model.solution_.trace.value[0]
    assert found["gap"] == pytest.approx(model.gap_)
    assert os.path.exists("r.html")


@pytest.mark.slow  # a process
def test_ctrl_c_before_there_is_a_model(tmp_path):
    code, out, err = interrupt(["train", "-", "--verbose"], "reading", stdin=subprocess.PIPE)
    assert code == 130
    assert out == ""
    assert "nothing was written" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("folds", [0, 2])
def test_ctrl_c_in_the_search_keeps_the_best_of_it(folds, svm, capsys, monkeypatch):
    seen = []

    def on_point(self, strength, solution, number, total):
        seen.append(strength)
        if len(seen) == 12 * folds + 5:
            raise KeyboardInterrupt

    monkeypatch.setattr("auctor.evaluate.progress.Progress.on_point", on_point)
    assert run(svm, "--penalty", "l1", "--n-strengths", "12", "--json") == 130
    out, err = capsys.readouterr()
    assert "the best model so far is saved in model.auctor: strength " in err
    found = json.loads(out)
    model = auctor.load("model.auctor")
    assert np.isfinite(model.scores_).any(axis=1).sum() == max(folds, 1)
    assert found["strength"] in seen[: 12 * folds + 5]
    # Close to the model of that strength without a search; it was trained on the rows of a fold.
    chosen = ["--penalty", "l1", "--strength", repr(found["strength"]), "--json"]
    assert run(svm, *chosen) == 0
    again = json.loads(capsys.readouterr().out)
    assert found["test"]["auc"]["value"] == pytest.approx(again["test"]["auc"]["value"], abs=0.03)
    whole = auctor.load("model.auctor").coef_
    np.testing.assert_allclose(model.coef_, whole, atol=0.1)
    assert whole.any()


def test_ctrl_c_in_a_fit_of_curves_keeps_what_it_has_reached(svm, capsys, monkeypatch):
    def on_stage(self, stage, number, total):
        if (stage, number) == ("strength", 6):
            raise KeyboardInterrupt

    monkeypatch.setattr("auctor.evaluate.progress.Progress.on_stage", on_stage)
    assert run(svm, "--model", "additive", "--members", "2") == 130
    err = capsys.readouterr().err
    assert "the best model so far is saved in model.auctor" in err
    assert "curves at 5 of 15 strengths, without pairs" in err
    assert auctor.load("model.auctor").importances_.any()


def test_ctrl_c_in_the_calibration_leaves_it_out(svm, capsys, monkeypatch):
    def on_stage(self, stage, number, total):
        if stage == "calibration fold":
            raise KeyboardInterrupt

    monkeypatch.setattr("auctor.evaluate.progress.Progress.on_stage", on_stage)
    assert run(svm, *QUICK, "--calibrate", "sigmoid") == 130
    err = capsys.readouterr().err
    assert "the best model so far is saved" in err
    assert "there are no probabilities" in err
    assert auctor.load("model.auctor").calibrate is None


def test_ctrl_c_while_measuring_keeps_the_model(svm, capsys, monkeypatch):
    def measure(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainingRun, "measure", measure)
    assert run(svm, *QUICK) == 130
    assert "the model is saved in model.auctor" in capsys.readouterr().err
    auctor.load("model.auctor")


def test_ctrl_c_before_the_command_begins_ends_without_a_traceback(monkeypatch):
    def interrupted(command):
        raise KeyboardInterrupt

    monkeypatch.setattr("auctor.cli.main._called", interrupted)
    assert main(["list"]) == 130
