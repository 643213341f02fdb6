"""Errors that once sent people the wrong way: each says what is wrong and what to type."""

import shutil
import zipfile

import numpy as np
import pytest

import auctor
from auctor.cli.main import main
from auctor.core.errors import AuctorError


@pytest.fixture(autouse=True)
def in_folder(table, trained, monkeypatch):
    """A folder with rows.csv and model.auctor."""
    monkeypatch.chdir(table.parent)


@pytest.mark.parametrize("name", ["book.xlsx", "renamed.csv", "rows", "rows.svm"])
@pytest.mark.parametrize("command", ["train", "compare", "predict", "stream"])
def test_a_workbook_is_no_text(name, command, refused):
    with zipfile.ZipFile(name, "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    before = ["model.auctor"] if command == "predict" else []
    said = refused(command, *before, name)
    assert "Excel workbook" in said
    assert "Save the table as CSV" in said
    assert "PK" not in said


def test_a_table_of_another_format_is_named(refused):
    np.save("rows.npy", np.eye(3))
    shutil.copy("rows.npy", "rows.csv")
    said = refused("train", "rows.csv", "--label", "y")
    assert said.endswith("got rows.csv, a NumPy array. Pass --format npy.\n")


@pytest.mark.parametrize("name", ["model.auctor", "no_ending"])
@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_model_and_data_swapped(command, name, refused):
    if name != "model.auctor":
        shutil.copy("model.auctor", name)
    said = refused(command, "rows.csv", name)
    assert "needs MODEL first, then DATA" in said
    assert said.endswith(f"Write auctor {command} {name} rows.csv.\n")


def test_a_model_where_rows_belong(refused):
    assert "a zip archive, such as an Excel workbook or a model" in refused(
        "compare", "model.auctor"
    )


@pytest.mark.parametrize("command", ["train", "compare", "stream", "evaluate", "convert"])
def test_target_for_label(command, refused):
    before = ["model.auctor"] if command == "evaluate" else []
    after = ["out.npz"] if command == "convert" else []
    said = refused(command, *before, "rows.csv", *after, "--target", "bought")
    assert said == (
        f"auctor: auctor {command} has no option --target. Did you mean --label? "
        f"See auctor {command} --help.\n"
    )


@pytest.mark.parametrize(
    ("typed", "near"),
    [("acu", "auc"), ("roc-auc", "roc_auc"), ("F1", "f1"), ("f-1", "f1"), ("recal", "recall_at_k"),
     ("Average Precision", "average_precision"), ("precision_at_kk(5)", "precision_at_k")],
)  # fmt: skip
@pytest.mark.parametrize("command", ["train", "compare"])
def test_a_metric_that_is_misspelt(command, typed, near, refused):
    said = refused(command, "rows.csv", "--label", "bought", "--metric", typed)
    assert f"got {typed.partition('(')[0]!r}"[:-1] in said
    assert f"Did you mean {near!r}?" in said


def test_a_line_end_between_quotes_is_no_new_row(capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    notes = ['"one\ntwo, three"', "short"]
    lines = [f"{x[k]:.3f},{notes[k % 2]},{int(x[k] > 0.5 * (k % 5))}" for k in range(80)]
    with open("notes.csv", "w") as file:
        file.write("\n".join(["x,note,y", *lines]) + "\n")
    assert main(["inspect", "notes.csv", "--label", "y"]) == 0
    assert "80 rows" in capsys.readouterr().out


def test_a_quote_that_is_never_closed_names_its_line(refused):
    with open("open.csv", "w") as file:
        file.write('a,b,y\n1,"x\ny",0\n2,"z,1,1\n3,k,0\n')
    said = refused("train", "open.csv", "--label", "y")
    assert "starts in line 4" in said
    assert "Close it" in said


@pytest.mark.parametrize(
    "model",
    [
        auctor.MetricClassifier("auc"),
        auctor.MetricClassifierCV("f1", n_strengths=2, cv=2),
        auctor.TableClassifier("f1", strength=0.1),
        auctor.KernelClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_probabilities_that_were_not_asked_for(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model.fit(X, X[:, 0] + rng.normal(size=60) > 0)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match=r"needs calibrate='sigmoid' or 'isotonic'") as caught:
        model.predict_proba(X)
    assert isinstance(caught.value, AuctorError)
    assert str(caught.value).startswith(type(model).__name__)
    assert "Set calibrate and fit again" in str(caught.value)
    assert caught.value.__cause__ is None


def test_probabilities_of_a_file_that_has_none(refused):
    said = refused("predict", "model.auctor", "rows.csv", "--proba")
    assert said.endswith("Train it with --calibrate sigmoid.\n")
