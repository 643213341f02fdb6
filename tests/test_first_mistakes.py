"""Mistakes of a first hour: each message names the cause and one thing to do."""

import contextlib
import io
import re

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.cli.main import main
from auctor.core.errors import AuctorError, UnknownParameterError
from auctor.covariance import SparseInverseCovarianceCV

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] > 0.0).astype(int)
WITHOUT = np.where(Y == 1, "yes", "no").astype(object)
WITHOUT[3] = None
TABLE = pd.DataFrame(X, columns=list("abc"))
TOWNS = TABLE.assign(town=np.where(Y == 1, "Oslo", "Rome"))


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (
            lambda: auctor.MetricClassifier("auc", threshold="0.5").fit(X, Y),
            r"got the text '0\.5'\. Pass 0\.5 without quotes",
        ),
        (
            lambda: auctor.MetricClassifier("auc").fit(X, WITHOUT),
            "got 1 of 80 that are None. Drop rows",
        ),
        (
            lambda: auctor.AdditiveClassifier("auc").fit(X, WITHOUT),
            "got 1 of 80 that are None. Drop rows",
        ),
        (lambda: auctor.MetricClassifier("auc").fit(Y, X), r"Pass X first: fit\(X, y\)"),
        (lambda: auctor.AdditiveClassifier("auc").fit(Y, X), r"Pass X first: fit\(X, y\)"),
        (lambda: auctor.LinearRegressor().fit(X[:, 0], X), r"Pass X first: fit\(X, y\)"),
        (lambda: auctor.TableClassifier("auc").fit(Y, TABLE), r"Pass X first: fit\(X, y\)"),
        (lambda: auctor.KernelClassifier().fit(Y, X), r"Pass X first: fit\(X, y\)"),
        (lambda: auctor.metrics.auc(X[:, 0], Y), "Labels come first, then scores"),
        (lambda: auctor.metrics.average_precision(X[:, 0], Y), "Labels come first, then scores"),
        (
            lambda: auctor.MetricClassifier("auc", C=1.0),
            r"got 'C'. Pass strength= instead.*C \* rows",
        ),
        (lambda: auctor.TableClassifier("auc", metrik="auc"), "Did you mean 'metric'"),
        (lambda: auctor.KernelClassifier(kernel="gaussian").fit(X, Y), "Did you mean 'rbf'"),
        (lambda: auctor.LinearRegressor(loss="mse").fit(X, X[:, 0]), "Did you mean 'squared'"),
        (lambda: SparseInverseCovarianceCV().fit(TOWNS), "got non-numeric 'town'. Drop them"),
    ],
)
def test_python_says_what_to_do(mistake, said):
    with pytest.raises(AuctorError, match=said):
        mistake()


def test_an_unknown_parameter_is_a_type_error_as_in_python():
    with pytest.raises(TypeError):
        auctor.MetricClassifier("auc", C=1.0)
    with pytest.raises(UnknownParameterError, match="AdditiveClassifier needs parameters"):
        auctor.AdditiveClassifier("auc", depth=3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rows = TOWNS.assign(bought=np.where(Y == 1, "Yes", "No"))
    rows.to_csv(folder / "rows.csv", index=False)
    rows.assign(bought=Y).to_csv(folder / "numbers.csv", index=False)
    rows.assign(town="Lima").to_csv(folder / "towns.csv", index=False)
    model = str(folder / "m.auctor")
    how = ["--label", "bought", "--model", "linear", "--strength", "0.1", "--no-baselines"]
    assert main(["train", str(folder / "rows.csv"), *how, "--out", model]) == 0
    return {one.name: str(one) for one in folder.iterdir()}


def said(*words):
    """What a command writes to the error stream."""
    written = io.StringIO()
    with contextlib.redirect_stderr(written), contextlib.redirect_stdout(io.StringIO()):
        main(list(words))
    return written.getvalue()


COMMANDS = {
    "labels": (("evaluate", "m.auctor", "numbers.csv"), "got only others, '0', '1'. Write"),
    "levels": (("predict", "m.auctor", "towns.csv"), "of 'town' such as 'Lima', where"),
    "kind": (("list", "metric"), "Did you mean 'metrics'?"),
    "label": (("train", "rows.csv"), "--label"),
    "metric": (("train", "rows.csv", "--label", "bought", "--metric", "acu"), "Did you mean 'auc'"),
    "threshold": (
        ("train", "rows.csv", "--label", "bought", "--threshold", "precission(0.9)"),
        "Did you mean 'precision'",
    ),
    "drop": (("train", "rows.csv", "--label", "bought", "--drop", "twn"), "Did you mean 'town'"),
    "penalty": (("train", "rows.csv", "--label", "bought", "--penalty", "l3"), "--penalty"),
    "strength": (("train", "rows.csv", "--label", "bought", "--strength", "-1"), "--strength"),
    "monotone": (
        ("train", "rows.csv", "--label", "bought", "--model", "linear", "--monotone", "a=1"),
        "--model additive",
    ),
    "no file": (("train", "nothing.csv", "--label", "bought"), "nothing.csv"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_say_what_to_do_in_their_own_words(files, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, wanted = COMMANDS[name]
    text = said(*(files.get(word, word) for word in words))
    assert wanted in text
    # No parameter of Python: a name with = behind it. In NAME=VALUE it is part of an option.
    assert re.search(r"(?<![\w-])[a-z][a-z_]*=(?!\d)", text.replace("{", "")) is None, text
