"""What `auctor train` refuses, and what it says then."""

import os
import signal
import subprocess
import sys

import pytest

from tests.cli.commands import refused, run

pytestmark = pytest.mark.usefixtures("in_folder")

QUICK = ["--strength", "0.01"]


def test_missing_file(capsys):
    assert "no.csv" in refused(capsys, "train", "no.csv")


def test_a_directory(tmp_path, capsys):
    assert str(tmp_path) in refused(capsys, "train", tmp_path)


@pytest.mark.parametrize("name", ["empty.svm", "empty.csv", "empty.parquet", "empty.npz"])
def test_an_empty_file(name, tmp_path, capsys):
    (tmp_path / name).write_bytes(b"")
    refused(capsys, "train", name)


def test_mixed_labels(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,y\n1,1\n2,0\n3,yes\n4,no\n")
    err = refused(capsys, "train", "a.csv")
    assert "yes" in err or "no" in err


def test_numbers_as_labels(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{k},{k / 7}\n" for k in range(40)))
    refused(capsys, "train", "a.csv", *QUICK, "--test-size", "0")


def test_one_class(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,y\n1,1\n2,1\n3,1\n")
    assert "two classes" in refused(capsys, "train", "a.csv")


def test_a_class_with_one_row(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,y\n1,1\n2,1\n3,1\n4,0\n")
    assert "two rows of every class" in refused(capsys, "train", "a.csv")


def test_label_column_that_is_not_there(clicks, capsys):
    err = refused(capsys, "train", clicks, "--label", "clikced")
    assert "clikced" in err


def test_nested_parquet(tmp_path, capsys):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": [[1.0], [2.0, 3.0]], "y": [0, 1]})
    pq.write_table(table, tmp_path / "nested.parquet")
    assert "x" in refused(capsys, "train", "nested.parquet")


def test_a_ragged_row(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,z,y\n1,2,1\n2,3,0\n3,1\n4,5,0\n")
    refused(capsys, "train", "a.csv")


def test_missing_values_are_refused_by_name(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,z,y\n1,2,1\n,3,0\n3,1,1\n4,5,0\n")
    assert "x" in refused(capsys, "train", "a.csv", "--missing", "refuse")
    assert run("a.csv", *QUICK, "--missing", "mean", "--test-size", "0.5", "--quiet") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--metric", "gini"],
        ["--surrogate", "gini"],
        ["--metric", "precision_at_k"],
        ["--penalty", "l3"],
        ["--l1-ratio", "0.5"],
        ["--solver", "magic"],
        ["--strength", "much"],
        ["--rule", "worst"],
        ["--folds", "1"],
        ["--strength", "-1"],
        ["--threshold", "precision(2)"],
        ["--calibrate", "magic"],
        ["--class-weight", "heavy"],
        ["--class-weight", "7=2"],
        ["--out", "no/such/folder/model.auctor"],
        ["--report", "no/such/folder/report.html"],
        ["--test", "no.svm"],
        ["--test-size", "1.5"],
        ["--categorical", "magic"],
        ["--missing", "magic"],
        ["--header", "maybe"],
        ["--no-such-option"],
        ["--tol"],
    ],
)
def test_bad_options(arguments, svm, capsys):
    refused(capsys, "train", svm, *arguments)


def test_a_test_file_with_other_labels(svm, tmp_path, capsys):
    (tmp_path / "t.svm").write_text("-1 1:1\n7 1:2\n")
    assert "7" in refused(capsys, "train", svm, "--test", "t.svm", *QUICK)


def test_disk_full(svm, monkeypatch, capsys):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "No space left" in refused(capsys, "train", svm, *QUICK)


def test_disk_full_keeps_the_old_model(svm, monkeypatch, capsys):
    assert run(svm, *QUICK, "--quiet") == 0
    with open("model.auctor", "rb") as file:
        before = file.read()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refused(capsys, "train", svm, "--strength", "1")
    with open("model.auctor", "rb") as file:
        assert file.read() == before


@pytest.mark.slow  # a process; those above test the same without one
def test_a_real_full_disk(svm, tmp_path):
    """With a limit on the size of files that the process may write."""
    resource = pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-m", "auctor.cli.main", "train", str(svm), *QUICK],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: (
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
            resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)),
        ),
        env={**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "model.auctor").exists()
    assert not list(tmp_path.glob(".*tmp"))


def test_missing_extra_says_how_to_install_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert 'pip install "auctor[cli]"' in refused(capsys, "train", "a.parquet")


ROWS = "a,b,label\n1,2,1\n2,4,0\n3,1,1\n4,2,0\n2,2,1\n5,5,0\n"


def test_messages_name_options_and_not_python(in_folder, capsys, tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    assert run("rows.csv", "--label", "nope", "-q", *QUICK) == 2
    said = capsys.readouterr().err
    assert "--label" in said
    assert "read_table" not in said


def test_infinity_is_refused_with_its_column_and_nothing_else(capsys, tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS.replace("2,4,0", "2,inf,0"))
    assert run("rows.csv", "-q", *QUICK) == 2
    said = capsys.readouterr().err
    assert "'b'" in said
    assert said.count("\n") == 1


def test_a_test_file_with_one_class_is_refused_before_training(capsys, tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "test.csv").write_text("a,b,label\n1,2,1\n2,3,1\n")
    monkeypatch.setattr("auctor.evaluate.run.train_model", lambda *_: pytest.fail("trained"))
    assert run("rows.csv", "--test", "test.csv", "-q", *QUICK) == 2
    assert "every class" in capsys.readouterr().err
