import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from auctor import StreamingAUC
from auctor.cli.main import main
from auctor.cli.stream import progress_text
from auctor.saved import read_saved
from auctor.streaming import learn
from auctor.streaming.checkpoint import read_checkpoint
from auctor.streaming.registry import learners
from auctor.streaming.run import StreamProgress
from auctor.tables import ReadOptions, open_stream

ROWS = 400


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(ROWS):
        y = int(rng.random() < 0.3)
        values = rng.normal(size=5) + y
        entries = " ".join(f"{j + 1}:{value:.6f}" for j, value in enumerate(values))
        lines.append(f"{2 * y - 1} {entries}\n")
    (tmp_path / "rows.svm").write_text("".join(lines))
    return tmp_path / "rows.svm"


def refused(capsys, *arguments):
    assert main(["stream", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("auctor: ")
    assert err.count("\n") == 1
    return err


def test_every_learner_has_a_name():
    names = learners()
    assert {"streaming", "spam", "opauc", "reg_solam", "mini_batch_auc"} <= names.keys()
    assert "online_classifier" not in names


def test_text(path, capsys):
    assert main(["stream", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "400 rows, 5 columns" in out
    assert "AUC of the latest rows" in out
    assert err == ""  # not a terminal


def test_json_and_weights(path, tmp_path, capsys):
    learner = StreamingAUC(strength=0.01, grow=True, window=300)
    learn(learner, path)
    for ending in ("json", "npz"):
        out = tmp_path / f"model.{ending}"
        arguments = ["--strength", "0.01", "--set", "window=300", "--out", str(out), "--json"]
        assert main(["stream", str(path), *arguments]) == 0
        numbers = json.loads(capsys.readouterr().out)
        assert numbers["rows"] == ROWS
        assert numbers["auc"] == learner.auc_
        assert numbers["params"]["strength"] == 0.01
        assert numbers["classes"] == [-1, 1]
        assert numbers["out"] == str(out)
        if ending == "json":
            kept = json.loads(out.read_text())
            coef, intercept, meta = kept["coef"], kept["intercept"], kept
        else:
            with np.load(out, allow_pickle=False) as kept:
                coef, intercept = kept["coef"], float(kept["intercept"])
                meta = json.loads(str(kept["meta"]))
        np.testing.assert_array_equal(coef, learner.coef_[0])
        assert intercept == learner.intercept_[0]
        assert meta["learner"] == "streaming"


@pytest.mark.parametrize("name", ["spam", "opauc", "uni_exp"])
def test_other_learners(name, path, capsys):
    assert main(["stream", str(path), "--learner", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["auc"] is None


def test_standard_input(path, capsys, monkeypatch):
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert main(["stream", "--metric", "auc", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == ROWS


def test_a_bad_line_of_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 oops\n")))
    assert main(["stream", "--metric", "auc", "--json"]) == 2
    assert "standard input, line 1, column 3" in capsys.readouterr().err


def test_checkpoint_and_resume(path, tmp_path, capsys):
    kept, whole = tmp_path / "kept", StreamingAUC(grow=True)
    learn(whole, path)
    options = ["--checkpoint", str(kept), "--every", "150"]
    assert main(["stream", str(path), *options, "--limit", "250"]) == 0
    assert read_checkpoint(kept)[0]["row"] == 250
    assert "Pass --resume to go on" in refused(capsys_cleared(capsys), path, *options)
    assert main(["stream", str(path), *options, "--resume", "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert (numbers["rows"], numbers["auc"]) == (ROWS, whole.auc_)
    assert "strength" in refused(capsys, path, *options, "--resume", "--strength", "3")
    assert "StreamingAUC" in refused(capsys, path, *options, "--resume", "--learner", "spam")


def capsys_cleared(capsys):
    capsys.readouterr()
    return capsys


def test_interrupt(path, tmp_path):
    kept = tmp_path / "kept"
    command = [sys.executable, "-m", "auctor.cli.main", "stream", "--zero-based", "no"]
    command += ["--checkpoint", str(kept), "--chunk-rows", "100", "--every", "100"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        process.stdin.write(path.read_bytes())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not kept.exists() or read_checkpoint(kept)[0]["row"] < ROWS:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == b""
    assert b"interrupted after 400 rows" in err
    assert b"--resume" in err
    assert b"Traceback" not in err


def test_tables(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    path.write_text("age,size,clicked\n1,2,no\n3,4,yes\n5,,yes\n7,1,no\n")
    arguments = ["stream", str(path), "--label", "clicked", "--missing", "skip", "--json"]
    assert main(arguments) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert (numbers["rows"], numbers["skipped_rows"]) == (4, 1)
    assert numbers["classes"] == ["no", "yes"]
    assert main([*arguments[:2], "--label", "-1", "--missing", "skip", "--classes", "no,yes"]) == 0


def test_bad_input(path, tmp_path, capsys):
    bad = tmp_path / "bad.svm"
    bad.write_text("1 1:1\n-1 1:x\n")
    assert "bad.svm, line 2, column 6" in refused(capsys, bad)
    assert "none.svm" in refused(capsys, tmp_path / "none.svm")
    assert "folder" in refused(capsys, tmp_path)
    bad.write_text("")
    assert "empty" in refused(capsys, bad)
    bad.write_text("5 1:1\n5 2:1\n")
    assert "two classes" in refused(capsys, bad)
    bad.write_text("1 1:nan\n0 2:1\n")
    assert "NaN" in refused(capsys, bad)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--metric", "error"], "metric"),
        (["--learner", "sage"], "learner"),
        (["--set", "window"], "NAME=VALUE"),
        (["--set", "wisdom=3"], "wisdom"),
        (["--set", "window=-3"], "window"),
        (["--strength", "-1"], "strength"),
        (["--missing", "ignore"], "missing"),
        (["--missing", "mean"], "missing"),
        (["--format", "poem"], "format"),
        (["--zero-based", "maybe"], "zero-based"),
        (["--header", "maybe"], "header"),
        (["--delimiter", "::"], "delimiter"),
        (["--classes", "1"], "classes"),
        (["--out", "model.pickle"], ".auctor"),
        (["--out", "no/model.json"], "existing folder"),
        (["--checkpoint", "no/kept"], "existing folder"),
        (["--resume"], "checkpoint"),
    ],
)
def test_bad_options(options, word, path, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert word in refused(capsys, path, *options)
    assert os.listdir(tmp_path) == ["rows.svm"]


def test_a_terminal_is_no_source(monkeypatch, capsys):
    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert "Pass a file" in refused(capsys)


def test_progress_line(path, capsys, monkeypatch):
    monkeypatch.setattr("auctor.cli.stream.PAUSE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert main(["stream", str(path), "--chunk-rows", "100"]) == 0
    err = capsys.readouterr().err
    assert "300 rows, " in err
    assert "AUC of the latest rows 0." in err
    assert err.endswith("\r\x1b[K")
    assert progress_text(StreamProgress(1234, 234, 0, 2.0, None)) == "1,234 rows, 117 rows/s"


@pytest.mark.filterwarnings("default")
def test_a_model_for_the_other_commands(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    lines = [f"{a:.4f},{b:.4f},{'yes' if a > 0.3 else 'no'}" for a, b in X]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,bought", *lines]) + "\n")
    out = tmp_path / "model.auctor"
    assert main(["stream", str(path), "--label", "bought", "--out", str(out)]) == 0
    assert f"Model: {out}" in capsys.readouterr().out
    saved = read_saved(out)
    learner = StreamingAUC(grow=True)
    learn(learner, open_stream(path, ReadOptions(label="bought")))
    np.testing.assert_array_equal(saved.model.coef_, learner.coef_)
    assert [column["name"] for column in saved.schema["columns"]] == ["a", "b"]
    assert saved.schema["label"] == "bought"
    assert saved.notes["command"].startswith("auctor stream ")
    swapped = tmp_path / "swapped.csv"
    swapped.write_text("b,a\n" + "".join(f"{b:.4f},{a:.4f}\n" for a, b in X))
    assert main(["predict", str(out), str(swapped), "--scores"]) == 0
    scores = [float(line) for line in capsys.readouterr().out.split()[1:]]
    table = pd.DataFrame(np.round(X, 4), columns=["a", "b"])
    assert scores == pytest.approx(learner.decision_function(table))


def test_where_svmlight_indices_start_is_kept(path, tmp_path, capsys):
    out = tmp_path / "model.auctor"
    assert main(["stream", str(path), "--zero-based", "no", "--out", str(out)]) == 0
    assert read_saved(out).schema["first_index"] == 1


@pytest.mark.slow  # a process, as in `test_interrupt`
def test_an_interrupt_saves_the_model(path, tmp_path):
    out = tmp_path / "model.auctor"
    command = [sys.executable, "-m", "auctor.cli.main", "stream", "--zero-based", "no"]
    command += ["--out", str(out), "--chunk-rows", "100", "--checkpoint", str(tmp_path / "kept")]
    command += ["--every", "100"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        process.stdin.write(path.read_bytes())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        kept = tmp_path / "kept"
        while not kept.exists() or read_checkpoint(kept)[0]["row"] < ROWS:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert b"the model so far is saved in" in err
    assert read_saved(out).model.rows_seen_ == ROWS


# --- columns of text ------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path):
    """A table with an id, a number with gaps, a city and a date; a city that comes late."""
    rng = np.random.default_rng(1)
    n = 600
    city = rng.choice(["Oslo", "Rome", "Wien"], n)
    late = np.where(np.arange(n) < 590, city, "Bonn")
    age = rng.normal(40, 10, n)
    clicked = 0.1 * (age - 40) + 1.5 * (city == "Rome") + rng.normal(size=n) > 0.8
    frame = pd.DataFrame(
        {
            "id": [f"u{k}" for k in range(n)],
            "age": np.round(age, 3),
            "city": late,
            "day": [f"2024-01-{1 + k % 28:02d}" for k in range(n)],
            "clicked": np.where(clicked, "yes", "no"),
        }
    )
    frame.to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


def encoded(frame):
    """What the columns of the log become, by pandas alone."""
    frame = frame[["age", "city", "day"]]
    days = (pd.to_datetime(frame["day"]) - pd.Timestamp(1970, 1, 1)).dt.days
    cities = [(frame["city"] == name).astype(float) for name in ("Oslo", "Rome", "Wien")]
    return np.column_stack([frame["age"], *cities, days])


@pytest.mark.filterwarnings("default")
def test_text_and_dates_by_the_first_rows(log, tmp_path, capsys):
    out = tmp_path / "model.auctor"
    arguments = ["stream", str(log), "--label", "clicked", "--sample-rows", "300", "--out", out]
    assert main([*map(str, arguments), "--json"]) == 0
    said, err = capsys.readouterr()
    assert json.loads(said)["unseen"] == {"city": 10}
    assert "leaves out 'id'" in err
    assert (
        "that the first rows of the stream did not have as no category; got 10 of 600 rows" in err
    )
    frame = pd.read_csv(log)
    learner = StreamingAUC(grow=True)
    learner.partial_fit(encoded(frame), frame["clicked"].to_numpy(), classes=["no", "yes"])
    saved = read_saved(out)
    np.testing.assert_allclose(saved.model.coef_, learner.coef_, rtol=1e-10)
    kinds = {column["name"]: column["kind"] for column in saved.schema["columns"]}
    assert kinds == {"age": "number", "city": "category", "day": "date"}

    shuffled = frame[["city", "clicked", "day", "id", "age"]]
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    assert main(["predict", str(out), str(tmp_path / "new.csv"), "--keep", "id"]) == 0
    said, err = capsys.readouterr()
    lines = [line.split(",") for line in said.split()]
    assert lines[0] == ["id", "predicted", "score"]
    scores = [float(line[2]) for line in lines[1:]]
    np.testing.assert_allclose(scores, learner.decision_function(encoded(frame)), rtol=1e-9)
    assert "10 of 600 rows with such a category of 'city'" in err


class Pipe(io.RawIOBase):
    """Bytes that come 1000 at a time and cannot be read twice."""

    def __init__(self, data):
        self.parts = [data[k : k + 1000] for k in range(0, len(data), 1000)]

    def readable(self):
        return True

    def read(self, size=-1):
        return self.parts.pop(0) if self.parts else b""


@pytest.mark.filterwarnings("ignore::auctor.DataWarning")
def test_a_pipe_of_text_gives_the_same_rows(log):
    options = {"label": "clicked", "drop": ["id"], "sample_rows": 300}
    piped = list(
        open_stream(Pipe(log.read_bytes()), ReadOptions(format="csv", **options, chunk_rows=128))
    )
    (whole,) = open_stream(log, ReadOptions(**options))
    assert {chunk.schema for chunk in piped} == {whole.schema}
    assert sum(chunk.lost["city"].rows for chunk in piped) == whole.lost["city"].rows == 10
    np.testing.assert_array_equal(np.vstack([chunk.matrix for chunk in piped]), whole.matrix)
    assert np.concatenate([chunk.labels for chunk in piped]).tolist() == whole.labels.tolist()


@pytest.mark.filterwarnings("default")
def test_several_files_by_the_schema_of_the_first(log, tmp_path, capsys):
    frame = pd.read_csv(log)
    frame[:400].to_csv(tmp_path / "one.csv", index=False)
    frame[400:][frame.columns[::-1]].to_csv(tmp_path / "two.csv", index=False)
    options = ["--label", "clicked", "--drop", "id", "--out"]
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for rows, out in (([log], "a.auctor"), (files, "b.auctor")):
        assert main(["stream", *map(str, rows), *options, str(tmp_path / out)]) == 0
    b = read_saved(tmp_path / "b.auctor")
    assert b.model.rows_seen_ == 600
    levels = [column.get("levels") for column in b.schema["columns"]]
    assert levels == [None, ["Oslo", "Rome", "Wien"], None]
    learner = StreamingAUC(grow=True)
    for part in (frame[:400], frame[400:]):
        learner.partial_fit(encoded(part), part["clicked"].to_numpy(), classes=["no", "yes"])
    np.testing.assert_allclose(b.model.coef_, learner.coef_, rtol=1e-10)


@pytest.mark.filterwarnings("default")
def test_hashed_text_and_missing_values(log, tmp_path, capsys):
    frame = pd.read_csv(log)
    frame.loc[::50, "age"] = np.nan
    frame.loc[::60, "city"] = np.nan
    frame.to_csv(log, index=False)
    arguments = ["stream", str(log), "--label", "clicked", "--drop", "id", "--json"]
    assert "--missing" in refused(capsys, *arguments[1:-1], "--missing", "refuse")
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "fills missing values (12 in 'age'" in said.err
    assert json.loads(said.out)["skipped_rows"] == 0
    assert main([*arguments, "--missing", "skip", "--categorical", "hash", "--buckets", "16"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_features"], found["skipped_rows"], found["unseen"]) == (18, 12, {})
    out = tmp_path / "model.auctor"
    assert main([*arguments, "--missing", "median", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["skipped_rows"] == 0
    fills = [column.get("fill") for column in read_saved(out).schema["columns"]]
    assert fills[0] == pytest.approx(frame["age"].median())


@pytest.mark.filterwarnings("default")
def test_a_checkpoint_knows_the_schema(log, tmp_path, capsys):
    kept, out = tmp_path / "kept", tmp_path / "model.auctor"
    options = ["--label", "clicked", "--drop", "id", "--checkpoint", str(kept), "--every", "200"]
    assert main(["stream", str(log), *options, "--limit", "400"]) == 0
    capsys.readouterr()
    wrong = [*options, "--resume", "--as-category", "day"]
    assert main(["stream", str(log), *wrong]) == 2
    assert "another checkpoint" in capsys.readouterr().err
    assert main(["stream", str(log), *options, "--resume", "--out", str(out)]) == 0
    whole = tmp_path / "whole.auctor"
    fresh = [*options[:4], "--checkpoint", str(tmp_path / "c"), "--every", "200"]
    assert main(["stream", str(log), *fresh, "--out", str(whole)]) == 0
    np.testing.assert_array_equal(read_saved(out).model.coef_, read_saved(whole).model.coef_)


def test_text_after_the_first_rows_names_the_line(tmp_path, capsys):
    lines = [f"{k % 7},{int(k % 13 > 6)}" for k in range(300_000)]
    lines[290_000] = "many,1"
    path = tmp_path / "rows.csv"
    path.write_text("size,label\n" + "\n".join(lines) + "\n")
    said = refused(capsys, path, "--sample-rows", "100", "--set", "memory=0")
    assert "'many' in" in said
    assert "line 290002" in said
    assert "--as-category size" in said
