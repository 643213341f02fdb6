import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.cli import reading
from auctor.cli.main import main
from auctor.core.archive import read_archive, write_archive
from auctor.saved.store import FORMAT
from auctor.tables import ReadOptions


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    assert main([*map(str, arguments)]) == 0


@pytest.fixture
def model(clicks, capsys):
    run("train", clicks, "--label", "clicked", "--strength", "0.01", "--quiet")
    return "model.auctor"


@pytest.fixture
def calibrated(clicks, capsys):
    run("train", clicks, "--label", "clicked", "--strength", "0.01", "--quiet", "--calibrate",
        "sigmoid", "--out", "calibrated.auctor")  # fmt: skip
    return "calibrated.auctor"


def encoded(model, path):
    """The rows of a file as the model sees them."""
    from auctor.saved import read_saved
    from auctor.tables.schema import Schema

    schema = Schema.from_json(read_saved(model).schema)
    return auctor.tables.read_table(path, ReadOptions(schema=schema)).matrix


def test_csv_on_standard_output(model, more_clicks, capsys):
    run("predict", model, more_clicks)
    out, err = capsys.readouterr()
    assert err == "auctor: positive class: yes\n"
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0] == ["predicted", "score"]
    loaded, X = auctor.load(model).model_, encoded(model, more_clicks)
    assert [line[0] for line in lines[1:]] == loaded.predict(X).tolist()
    assert [float(line[1]) for line in lines[1:]] == loaded.decision_function(X).tolist()


def test_json_says_what_was_written(model, more_clicks, capsys):
    run("predict", model, more_clicks, "--out", "scores.csv", "--json")
    out, err = capsys.readouterr()
    found = json.loads(out)
    with open("scores.csv") as file:
        assert found["rows"] == len(file.readlines()) - 1
    assert (found["out"], found["columns"], err) == ("scores.csv", ["predicted", "score"], "")
    assert main(["predict", model, str(more_clicks), "--json"]) == 2


def test_rows_keep_their_order_over_chunks(model, more_clicks, monkeypatch, capsys):
    run("predict", model, more_clicks, "--scores")
    whole = capsys.readouterr().out
    usual = reading.read_options
    monkeypatch.setattr("auctor.cli.predict.read_options", lambda ctx: usual(ctx, chunk_rows=7))
    run("predict", model, more_clicks, "--scores")
    assert capsys.readouterr().out == whole


@pytest.mark.parametrize("count", [2, 3])
def test_kernel_machines_predict_and_are_evaluated(count, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    y = np.digitize(X["a"], [-0.3, 0.5][: count - 1])
    X.assign(y=y).to_csv("rows.csv", index=False)
    made = auctor.KernelClassifier(calibrate="sigmoid").fit(X, y)
    auctor.save(made, "kernel.auctor")
    run("predict", "kernel.auctor", "rows.csv", "--out", "p.npy", "--scores", "-q")
    np.testing.assert_allclose(np.load("p.npy"), made.decision_function(X))
    run("predict", "kernel.auctor", "rows.csv", "--out", "p.csv", "-q")
    found = np.genfromtxt("p.csv", delimiter=",", names=True)
    assert found["predicted"].tolist() == made.predict(X).tolist()
    last = "probability" if count == 2 else "probability_2"
    np.testing.assert_allclose(found[last], made.predict_proba(X)[:, -1])
    run("evaluate", "kernel.auctor", "rows.csv", "--label", "y", "--json")
    assert json.loads(capsys.readouterr().out)["score"] > 0.9
    regression = auctor.KernelRegressor().fit(X, X["b"])
    auctor.save(regression, "numbers.auctor")
    run("predict", "numbers.auctor", "rows.csv", "--out", "p.npy", "-q")
    np.testing.assert_allclose(np.load("p.npy"), regression.predict(X))


def test_a_model_of_several_labels_is_refused_by_the_names_that_were_typed(tmp_path, capsys):
    taxonomy = auctor.hierarchy.Taxonomy(["root", "a", "b"], [(0, 1), (0, 2)])
    X = np.random.default_rng(0).normal(size=(30, 2))
    labels = [["a"] if one > 0 else ["b"] for one in X[:, 0]]
    auctor.save(auctor.hierarchy.HierarchicalMultiLabel(taxonomy).fit(X, labels), "several.auctor")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    text = refused(capsys, "predict", "several.auctor", "rows.csv")
    assert "auctor predict needs a model that predicts one label" in text
    assert "HierarchicalMultiLabel in several.auctor" in text


def test_probabilities(calibrated, more_clicks, capsys):
    run("predict", calibrated, more_clicks, "--probabilities")
    lines = capsys.readouterr().out.splitlines()
    expected = auctor.load(calibrated).model_.predict_proba(encoded(calibrated, more_clicks))[:, 1]
    assert lines[0] == "probability"
    np.testing.assert_allclose([float(line) for line in lines[1:]], expected)


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npy"])
def test_files_by_their_ending(ending, calibrated, more_clicks, capsys):
    out = f"scores.{ending}"
    run("predict", calibrated, more_clicks, "--out", out)
    assert capsys.readouterr().err == f"auctor: 120 rows written to {out}; positive class: yes\n"
    expected = auctor.load(calibrated).model_.decision_function(encoded(calibrated, more_clicks))
    if ending == "npy":
        found = np.load(out)
    elif ending == "parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(out)
        assert table.column_names == ["predicted", "score", "probability"]
        found = table["score"].to_numpy()
    else:
        mark = "," if ending == "csv" else "\t"
        found = np.loadtxt(out, delimiter=mark, skiprows=1, usecols=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("ending", "opened"), [("gz", gzip.open), ("bz2", bz2.open), ("xz", lzma.open)]
)
def test_text_is_compressed_by_its_ending(ending, opened, model, more_clicks, capsys):
    run("predict", model, more_clicks, "--keep", "city", "--out", "plain.tsv", "--quiet")
    run("predict", model, more_clicks, "--keep", "city", "--out", f"a.tsv.{ending}", "--quiet")
    with open("plain.tsv", "rb") as plain, opened(f"a.tsv.{ending}") as packed:
        assert packed.read() == plain.read()
    assert ".csv" in refused(capsys, "predict", model, more_clicks, "--out", f"a.npy.{ending}")


def test_npy_of_numbers_and_of_labels(model, clicks, svm, capsys):
    run("predict", model, clicks, "--labels", "--out", "labels.npy", "--quiet")
    assert set(np.load("labels.npy")) == {"no", "yes"}
    assert main(["predict", model, str(clicks), "--labels", "--scores", "--out", "a.npy"]) == 2
    assert "needs columns of numbers" in capsys.readouterr().err
    run("train", svm, "--strength", "0.1", "--quiet", "--out", "svm.auctor")
    run("predict", "svm.auctor", svm, "--labels", "--scores", "--out", "both.npy")
    assert np.load("both.npy").shape == (240, 2)


def test_several_classes(three, capsys):
    run("train", three, "--strength", "0.1", "--quiet")
    run("predict", "model.auctor", three)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "predicted,score_0,score_1,score_2"
    loaded = auctor.load("model.auctor")
    table = auctor.tables.read_table(three)
    values = np.array([[float(x) for x in line.split(",")] for line in lines[1:]])
    np.testing.assert_array_equal(values[:, 0], loaded.predict(table.matrix))
    np.testing.assert_array_equal(values[:, 1:], loaded.decision_function(table.matrix))


def test_rows_without_labels(model, more_clicks, tmp_path, capsys):
    run("predict", model, more_clicks)
    expected = capsys.readouterr().out
    lines = more_clicks.read_text().splitlines()
    kept = [",".join(v for k, v in enumerate(line.split(",")) if k != 2) for line in lines]
    (tmp_path / "bare.csv").write_text("\n".join(kept) + "\n")
    run("predict", model, "bare.csv")
    assert capsys.readouterr().out == expected


@pytest.mark.slow  # a process
def test_rows_from_a_pipe(svm, capsys):
    run("train", svm, "--strength", "0.1", "--quiet")
    run("predict", "model.auctor", svm)
    expected = capsys.readouterr().out
    done = subprocess.run(
        [sys.executable, "-m", "auctor.cli.main", "predict", "model.auctor", "-"],
        input=svm.read_bytes(), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == expected


def test_narrow_and_wide_svmlight(svm, tmp_path, capsys):
    run("train", svm, "--strength", "0.1", "--quiet")
    (tmp_path / "narrow.svm").write_text("1 1:2\n")
    (tmp_path / "wide.svm").write_text("1 1:2 99:5\n")
    run("predict", "model.auctor", "narrow.svm")
    narrow = capsys.readouterr().out
    run("predict", "model.auctor", "wide.svm")
    assert capsys.readouterr().out == narrow


def test_models_from_python(tmp_path, capsys):
    """Without a schema, names of the columns are those of the model, if it has any."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    y = (frame["a"] > 0).astype(int)
    model = auctor.MetricClassifier("auc").fit(frame, y)
    auctor.save(model, "named.auctor")
    frame[["b", "a"]].to_csv("rows.csv", index=False)
    run("predict", "named.auctor", "rows.csv", "--scores")
    found = np.loadtxt(io.StringIO(capsys.readouterr().out), skiprows=1)
    np.testing.assert_allclose(found, model.decision_function(frame))
    auctor.save(auctor.MetricClassifier("auc").fit(frame.to_numpy(), y), "bare.auctor")
    run("predict", "bare.auctor", "rows.csv", "--scores")
    assert len(capsys.readouterr().out.splitlines()) == 51


def test_regressors_and_online_learners(svm, tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    auctor.save(auctor.LinearRegressor().fit(X, X[:, 0]), "r.auctor")
    np.savetxt("rows.csv", X, delimiter=",")
    run("predict", "r.auctor", "rows.csv", "--header", "no")
    assert capsys.readouterr().out.startswith("prediction\n")
    assert main(["predict", "r.auctor", "rows.csv", "--scores"]) == 2
    assert main(["evaluate", "r.auctor", "rows.csv"]) == 2
    capsys.readouterr()
    table = auctor.tables.read_table(svm)
    learner = auctor.StreamingAUC().partial_fit(table.matrix, table.labels)
    auctor.save(learner, "s.auctor")
    run("predict", "s.auctor", svm)
    assert len(capsys.readouterr().out.splitlines()) == 241
    run("evaluate", "s.auctor", svm, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["score"] == pytest.approx(found["auc"]["value"])


# --- evaluate -------------------------------------------------------------------------------------


def test_evaluate(calibrated, more_clicks, capsys):
    run("evaluate", calibrated, more_clicks, "--json")
    found = json.loads(capsys.readouterr().out)
    labels = np.array([line.split(",")[2] for line in more_clicks.read_text().splitlines()[1:]])
    model, X = auctor.load(calibrated).model_, encoded(calibrated, more_clicks)
    hit, scores = labels == "yes", model.decision_function(X)
    interval = auctor.metrics.auc_interval(hit, scores)
    assert found["auc"]["value"] == interval.auc
    assert found["auc"]["low"] == interval.low
    assert found["prbep"]["value"] == pytest.approx(auctor.metrics.prbep(hit, scores))
    assert found["f1"]["value"] == pytest.approx(auctor.metrics.fbeta(hit, scores > 0))
    assert found["accuracy"]["value"] == pytest.approx(model.predict(X).__eq__(labels).mean())
    assert found["score"] == pytest.approx(model.score(X, labels))
    table = auctor.metrics.confusion(hit, scores > 0)
    assert found["confusion"] == {"tp": table.tp, "fp": table.fp, "fn": table.fn, "tn": table.tn}
    own = np.where(hit, model.predict_proba(X)[:, 1], model.predict_proba(X)[:, 0])
    assert found["log_loss"] == pytest.approx(-np.log(own).mean())
    assert found["classes"] == {"no": int((~hit).sum()), "yes": int(hit.sum())}


@pytest.mark.parametrize("metric", ["error", "f1", "log_loss", "precision_at_k(20)", "cost(5)"])
def test_the_score_is_that_of_the_model(metric, svm, svm_test, capsys):
    run("train", svm, "--strength", "0.1", "--metric", metric, "--quiet")
    run("evaluate", "model.auctor", svm_test, "--json")
    found = json.loads(capsys.readouterr().out)
    model, table = auctor.load("model.auctor"), auctor.tables.read_table(svm_test)
    assert found["score"] == pytest.approx(model.score(table.matrix, table.labels))


@pytest.mark.parametrize("metric", ["auc", "error", "f1", "log_loss"])
def test_the_score_of_several_classes(metric, three, capsys):
    run(
        "train", three, "--strength", "0.1", "--metric", metric, "--quiet", "--calibrate", "sigmoid"
    )
    run("evaluate", "model.auctor", three, "--json")
    found = json.loads(capsys.readouterr().out)
    model, table = auctor.load("model.auctor"), auctor.tables.read_table(three)
    assert found["score"] == pytest.approx(model.score(table.matrix, table.labels))
    right = model.predict(table.matrix) == table.labels
    assert found["accuracy"]["value"] == pytest.approx(right.mean())
    assert np.sum(found["confusion"]) == 240
    assert np.trace(found["confusion"]) == right.sum()


def test_evaluate_for_people(model, three, more_clicks, capsys):
    run("evaluate", model, more_clicks)
    out = capsys.readouterr().out
    for text in ("120 rows", "AUC", "PRBEP", "DeLong", "true class", "predicted yes"):
        assert text in out
    run("train", three, "--strength", "0.1", "--quiet", "--out", "three.auctor")
    run("evaluate", "three.auctor", three)
    assert "predicted 2" in capsys.readouterr().out


# --- bad input ------------------------------------------------------------------------------------


def refused(capsys, *arguments):
    before = sorted(os.listdir())
    assert main([*map(str, arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("auctor: ")
    assert err.count("\n") == 1
    assert sorted(os.listdir()) == before
    return err


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_bad_files(command, model, clicks, tmp_path, capsys):
    assert "no.csv" in refused(capsys, command, model, "no.csv")
    refused(capsys, command, model, tmp_path)
    (tmp_path / "empty.csv").write_text("")
    refused(capsys, command, model, "empty.csv")
    refused(capsys, command, "no.auctor", clicks)
    refused(capsys, command, clicks, clicks)
    refused(capsys, command, tmp_path, clicks)
    refused(capsys, command, model)


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_other_columns_than_trained(command, model, tmp_path, capsys):
    (tmp_path / "other.csv").write_text("age,town,clicked\n31,Oslo,yes\n45,Rome,no\n")
    err = refused(capsys, command, model, "other.csv")
    assert "income" in err
    assert "city" in err
    assert "age" not in err.partition("got")[2]


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_model_of_a_newer_version(command, model, clicks, capsys):
    meta, arrays = read_archive(model, format=FORMAT)
    write_archive("newer.auctor", {**meta, "format": FORMAT + 1}, arrays)
    err = refused(capsys, command, "newer.auctor", clicks)
    assert str(FORMAT + 1) in err


def test_a_damaged_model(model, clicks, capsys):
    with open(model, "rb") as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 1
    with open("damaged.auctor", "wb") as file:
        file.write(data)
    refused(capsys, "predict", "damaged.auctor", clicks)


def test_a_bad_row_leaves_no_output(svm, tmp_path, capsys):
    run("train", svm, "--strength", "0.1", "--quiet")
    (tmp_path / "bad.svm").write_text("1 1:2\n" * 20000 + "1 1:x\n")
    err = refused(capsys, "predict", "model.auctor", "bad.svm", "--out", "scores.csv")
    assert "line 20001" in err


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_disk_full(ending, model, clicks, monkeypatch, capsys):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    err = refused(capsys, "predict", model, clicks, "--out", f"scores.{ending}")
    assert "No space left" in err


def test_bad_outputs(model, clicks, capsys):
    assert ".csv" in refused(capsys, "predict", model, clicks, "--out", "scores.xlsx")
    refused(capsys, "predict", model, clicks, "--out", "no/folder/scores.csv")
    assert "--calibrate" in refused(capsys, "predict", model, clicks, "--probabilities")


def test_evaluate_needs_the_labels_of_the_model(model, more_clicks, tmp_path, capsys):
    text = more_clicks.read_text()
    (tmp_path / "other.csv").write_text(text.replace(",yes,", ",maybe,"))
    assert "maybe" in refused(capsys, "evaluate", model, "other.csv")
    (tmp_path / "one.csv").write_text(text.replace(",yes,", ",no,"))
    assert "every class" in refused(capsys, "evaluate", model, "one.csv")
    (tmp_path / "bare.csv").write_text(text.replace("clicked", "clacked"))
    assert "clicked" in refused(capsys, "evaluate", model, "bare.csv")


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "MODEL", "TABLE", "--out", "p.csv", "-q"],
        ["evaluate", "MODEL", "TABLE"],
        ["inspect", "MODEL"],
        ["train", "TABLE", "--label", "bought", "--strength", "0.1", "-q"],
    ],
    ids=lambda command: command[0],
)
def test_it_needs_no_scikit_learn(command, trained, table, tmp_path):
    paths = {"MODEL": str(trained), "TABLE": str(table)}
    words = [paths.get(word, word) for word in command]
    code = (
        "import sys; from auctor.cli.main import main; "
        f"code = main({words!r}); assert 'sklearn' not in sys.modules; "
        "rooms = {'auctor.streaming.run', 'auctor.hierarchy.taxonomy', "
        "'auctor.tune.engine', 'auctor.kernel.machine'}; "
        "assert not rooms & sys.modules.keys(); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if command[0] == "predict":
        assert (tmp_path / "p.csv").read_text().count("\n") == 241


def test_an_error_from_a_reading_thread_names_the_command(model, more_clicks, capsys):
    table = pd.read_csv(more_clicks)
    number = table.select_dtypes("number").columns[0]
    table.assign(**{number: "x0"}).to_csv("text.csv", index=False)
    assert main(["predict", model, "text.csv"]) == 2
    assert capsys.readouterr().err.startswith("auctor: auctor predict needs numbers in column")


def test_control_characters_of_labels_reach_a_pipe_but_no_terminal(tmp_path, monkeypatch, capsys):
    label = "p\x1b[2Jq"
    table = pd.DataFrame({"x": np.arange(40.0), "y": np.where(np.arange(40) < 20, "n", label)})
    table.to_csv("labels.csv", index=False)
    run("train", "labels.csv", "--label", "y", "--quiet")
    capsys.readouterr()
    run("predict", "model.auctor", "labels.csv")
    assert label in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    run("predict", "model.auctor", "labels.csv")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 41
    assert not any("\x1b" in line for line in lines)
