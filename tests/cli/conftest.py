"""Files and models that several commands are tried on."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

import auctor
from auctor.cli.main import main

ROWS = 240


@pytest.fixture(scope="session")
def rows():
    """Numbers, a category and a label that depends on both."""
    rng = np.random.default_rng(5)
    age, income = rng.normal(40, 10, ROWS), rng.normal(size=ROWS)
    city = rng.choice(["Oslo", "Rome", "Wien"], ROWS)
    score = 0.1 * (age - 40) + income + 1.5 * (city == "Rome") + rng.normal(size=ROWS)
    return age, income, city, score > 1.0


@pytest.fixture(scope="session")
def made(rows, tmp_path_factory):
    """A folder with the rows as a CSV file and a model that was trained on it."""
    folder = tmp_path_factory.mktemp("made")
    age, income, city, bought = rows
    lines = ["age,income,city,bought"]
    lines += [
        f"{a:.4f},{i:.4f},{c},{'yes' if b else 'no'}"
        for a, i, c, b in zip(age, income, city, bought, strict=True)
    ]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    arguments = ["train", folder / "rows.csv", "--label", "bought", "--penalty", "l1"]
    arguments += ["--out", folder / "model.auctor", "--quiet"]
    assert main([str(argument) for argument in arguments]) == 0
    return folder


@pytest.fixture
def table(made, tmp_path):
    """The rows as a CSV file."""
    return Path(shutil.copy(made / "rows.csv", tmp_path))


@pytest.fixture
def trained(made, tmp_path):
    """A model that `auctor train` made from the table, with its strength looked for."""
    return Path(shutil.copy(made / "model.auctor", tmp_path))


@pytest.fixture
def plain_model(rows, tmp_path):
    """A model saved from Python: no schema, no notes."""
    age, income, _, bought = rows
    path = tmp_path / "plain.auctor"
    auctor.save(auctor.MetricClassifier("auc").fit(np.column_stack([age, income]), bought), path)
    return path


@pytest.fixture
def refused(capsys):
    """Runs a command that must fail with one line and exit code 2; gives that line."""

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("auctor: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return err

    return run


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """The command runs in an empty folder."""
    monkeypatch.chdir(tmp_path)


# --- for compare ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def data():
    """300 rows of 8 columns, one row in five positive."""
    X, y = make_classification(300, 8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=0)
    return X, y == 1


# --- for train, predict, evaluate -----------------------------------------------------------------


def _clicks(path, n, seed):
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 12, n), rng.lognormal(10, 0.5, n)
    city = rng.choice(["Oslo", "Rome", "Wien"], n)
    chance = 0.08 * (age - 40) + (city == "Rome") + rng.normal(size=n)
    lines = ["age,income,clicked,city"]
    lines += [
        f"{a:.3f},{i:.2f},{'yes' if s > 0.8 else 'no'},{c}"
        for a, i, s, c in zip(age, income, chance, city, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def _svmlight(path, n, classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12)) * (rng.random((n, 12)) < 0.6)
    X[:, 11] += 0.01  # the last column is never empty
    best = (X[:, :3] + 0.5 * rng.normal(size=(n, 3)))[:, : len(classes)].argmax(axis=1)
    labels = np.array(classes)[best]
    with open(path, "w") as file:
        for label, row in zip(labels, X, strict=True):
            entries = (f"{j + 1}:{value:.6g}" for j, value in enumerate(row) if value)
            file.write(" ".join([str(label), *entries]) + "\n")
    return path


@pytest.fixture
def clicks(tmp_path):
    """A table of 300 rows with numbers and a category."""
    return _clicks(tmp_path / "clicks.csv", 300, 0)


@pytest.fixture
def more_clicks(tmp_path):
    """Another 120 rows of it."""
    return _clicks(tmp_path / "more.csv", 120, 1)


@pytest.fixture
def svm(tmp_path):
    """Svmlight text of 240 rows with 12 columns."""
    return _svmlight(tmp_path / "rows.svm", 240, [-1, 1], 0)


@pytest.fixture
def svm_test(tmp_path):
    """Another 100 rows of it."""
    return _svmlight(tmp_path / "test.svm", 100, [-1, 1], 1)


@pytest.fixture
def three(tmp_path):
    """Svmlight text with three classes."""
    return _svmlight(tmp_path / "three.svm", 240, [0, 1, 2], 2)


@pytest.fixture(autouse=True)
def quick_phases(monkeypatch):
    """On a busy machine no phase is long enough to be announced on standard error."""
    monkeypatch.setattr("auctor.reports.terminal.PATIENCE", float("inf"))
