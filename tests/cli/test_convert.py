import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.cli.main import main
from auctor.tables import ReadOptions, read_table
from auctor.tables.formats import FORMATS

ENDINGS = {"svmlight": "svm", "arrow": "feather"}


@pytest.fixture
def numbers(rows, tmp_path):
    age, income, _, bought = rows
    lines = [f"{a:.4f},{i:.4f},{int(b)}" for a, i, b in zip(age, income, bought, strict=True)]
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["age,income,y", *lines]) + "\n")
    return path


def convert(*arguments):
    assert main(["convert", *map(str, arguments)]) == 0


@pytest.mark.parametrize("format", FORMATS[1:])
def test_there_and_back(format, numbers, tmp_path, capsys):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    middle = tmp_path / f"rows.{ENDINGS.get(format, format)}"
    back = tmp_path / "back.csv"
    convert(numbers, middle)
    convert(middle, back)
    first, last = read_table(numbers), read_table(back, ReadOptions(label=0))
    np.testing.assert_array_equal(first.matrix, last.matrix)
    np.testing.assert_array_equal(first.labels, last.labels)
    assert capsys.readouterr().out.splitlines()[0] == f"240 rows, 2 columns: {middle}"


def test_text_stays_text_where_it_can(table, tmp_path):
    convert(table, tmp_path / "rows.tsv", "--label", "bought")
    text = (tmp_path / "rows.tsv").read_text().splitlines()
    assert sorted(text[0].split("\t")) == ["age", "bought", "city", "income"]
    assert "Rome" in "".join(text)
    first = read_table(table, ReadOptions(label="bought"))
    again = read_table(tmp_path / "rows.tsv", ReadOptions(label="bought"))
    assert first.schema.feature_names == again.schema.feature_names
    np.testing.assert_array_equal(first.matrix, again.matrix)


def test_text_becomes_numbers_where_it_must(table, tmp_path, capsys):
    out = tmp_path / "rows.npz"
    convert(table, out, "--label", "bought", "--categorical", "hash", "--buckets", "8", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found == {
        "in": str(table), "out": str(out), "format": "csv", "to": "npz", "rows": 240, "columns": 10,
    }  # fmt: skip
    expected = read_table(table, ReadOptions(label="bought", categorical="hash", buckets=8))
    matrix = read_table(out).matrix
    found = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    wanted = expected.matrix
    np.testing.assert_array_equal(
        found, wanted if isinstance(wanted, np.ndarray) else wanted.toarray()
    )


def test_missing_values_and_formats_by_option(tmp_path, capsys):
    (tmp_path / "rows").write_text("a;y\n1;0\n;1\n3;1\n")
    options = ["--format", "csv", "--delimiter", ";", "--missing", "mean"]
    convert(
        tmp_path / "rows", tmp_path / "out", "--to", "tsv", "--format", "csv", "--delimiter", ";"
    )
    assert "\t" in (tmp_path / "out").read_text()
    convert(tmp_path / "rows", tmp_path / "out.svm", *options)
    assert (tmp_path / "out.svm").read_text() == "0 1:1\n1 1:2\n1 1:3\n"


def test_rows_without_labels(tmp_path, refused):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    refused("convert", tmp_path / "rows.csv", tmp_path / "out.npz")
    assert not (tmp_path / "out.npz").exists()
    convert(tmp_path / "rows.csv", tmp_path / "out.npz", "--unlabelled")
    found = read_table(tmp_path / "out.npz", ReadOptions(labelled=False))
    assert found.labels is None
    np.testing.assert_array_equal(found.matrix, [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.slow  # a process
def test_standard_input_and_compression(tmp_path):
    command = [sys.executable, "-m", "auctor.cli.main", "convert", "-", "out.csv.gz"]
    done = subprocess.run(
        command, input="1 1:2 2:3\n-1 1:5\n", capture_output=True, text=True, check=False,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = read_table(tmp_path / "out.csv.gz")
    np.testing.assert_array_equal(found.matrix, [[2.0, 3.0], [5.0, 0.0]])
    assert found.labels.tolist() == [1, -1]


# --- models -------------------------------------------------------------------------------


def test_a_model_to_onnx(trained, table, tmp_path, capsys):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    out = tmp_path / "model.onnx"
    convert(trained, out, "--dtype", "float32", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["class"], found["columns"], found["dtype"]) == ("TableClassifier", 3, "float32")
    model = auctor.load(trained)
    rows = pd.read_csv(table).dropna()
    session = runtime.InferenceSession(out.read_bytes(), providers=["CPUExecutionProvider"])
    words = {"age": np.float32, "income": np.float32, "city": object}
    columns = {name: rows[[name]].to_numpy(kind) for name, kind in words.items()}
    (scores,) = session.run(["scores"], columns)
    np.testing.assert_allclose(scores, model.decision_function(rows), atol=1e-4)


def test_onnx_without_the_extra(trained, tmp_path, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    line = refused("convert", trained, tmp_path / "model.onnx")
    assert 'pip install "auctor[onnx]"' in line
    assert not (tmp_path / "model.onnx").exists()


def test_bad_models(trained, table, tmp_path, refused):
    assert ".onnx" in refused("convert", trained, tmp_path / "model.json")
    assert "none.auctor" in refused("convert", tmp_path / "none.auctor", tmp_path / "m.onnx")
    assert "auctor train" in refused("convert", table, tmp_path / "model.onnx")
    (tmp_path / "cut.auctor").write_bytes(trained.read_bytes()[:-50])
    refused("convert", tmp_path / "cut.auctor", tmp_path / "m.onnx")
    pytest.importorskip("onnx")
    assert "dtype" in refused("convert", trained, tmp_path / "m.onnx", "--dtype", "float8")
    assert not list(tmp_path.glob("*.onnx"))


# --- bad input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "empty.csv"),
        ("a,y\n1,0\n2\n3,1\n", ""),
        ("a,b\n1,0\n2,1\n", "label"),
        ("a,a,y\n1,0,1\n2,1,0\n", "a"),
    ],
)
def test_bad_rows_leave_nothing(content, word, tmp_path, refused):
    path, out = tmp_path / "empty.csv", tmp_path / "out.svm"
    path.write_text(content)
    assert word in refused("convert", path, out)
    assert [file.name for file in tmp_path.iterdir()] == ["empty.csv"]


def test_bad_paths(numbers, tmp_path, refused):
    assert "none.csv" in refused("convert", tmp_path / "none.csv", tmp_path / "o.svm")
    assert "folder" in refused("convert", tmp_path, tmp_path / "o.svm")
    assert "existing folder" in refused("convert", numbers, tmp_path / "no" / "o.svm")
    before = numbers.read_text()
    assert "twice" in refused("convert", numbers, numbers)
    assert numbers.read_text() == before


def test_a_nested_parquet(tmp_path, refused):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "nested.parquet"
    parquet.write_table(pa.table({"a": [[1, 2], [3]], "y": [0, 1]}), path)
    refused("convert", path, tmp_path / "o.csv")
    assert not (tmp_path / "o.csv").exists()


def test_a_full_disk_keeps_the_old_file(numbers, tmp_path, refused, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    out = tmp_path / "out.svm"
    out.write_text("old")
    monkeypatch.setattr("os.fsync", full)
    assert "No space left" in refused("convert", numbers, out)
    assert out.read_text() == "old"
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--format", "poem"], "format"),
        (["--to", "poem"], "to"),
        (["--missing", "guess"], "missing"),
        (["--categorical", "guess"], "categorical"),
        (["--header", "maybe"], "header"),
        (["--delimiter", "::"], "delimiter"),
        (["--label", "sold"], "sold"),
    ],
)
def test_bad_options(options, word, numbers, tmp_path, refused):
    assert word in refused("convert", numbers, tmp_path / "o.svm", *options)


def test_a_type_of_numbers_is_checked_also_for_rows(tmp_path, capsys):
    (tmp_path / "rows.csv").write_text("a,y\n1,0\n2,1\n")
    arguments = [str(tmp_path / "rows.csv"), str(tmp_path / "rows.svm"), "--dtype", "foo"]
    assert main(["convert", *arguments]) == 2
    assert "auctor convert needs --dtype to be one of 'float64', 'float32'" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "rows.svm").exists()
