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
from auctor.cli.output import MANY_COLUMNS
from auctor.core.errors import DataError
from auctor.data.preparation import Scaling, split_rows, standardise
from auctor.reports.progress import COMPILING
from auctor.saved import read_saved
from auctor.training.prepare import codes_of, hold_out, tidy_labels
from auctor.training.run import Run, unscale

QUICK = ["--strength", "0.01"]


def run(*arguments):
    return main(["train", *map(str, arguments)])


def run_json(capsys, *arguments):
    assert run(*arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_table_becomes_a_model_and_a_report(clicks, tmp_path, capsys):
    assert run(clicks, "--label", "clicked", *QUICK, "--report", "report.html") == 0
    out, err = capsys.readouterr()
    assert err == ""  # not a terminal
    assert "300 rows; labels clicked no: " in out
    for name, kind in (("age", "number"), ("city", "category")):
        assert any(line.split()[:2] == [name, kind] for line in out.splitlines())
    for text in (
        "score (auc)",
        "AUC ",
        "95 % interval",
        "PRBEP",
        "F1",
        "certified gap",
        "surrogate",
    ):
        assert text in out
    assert "60 held-out rows" in out
    assert "\nModel: model.auctor\nReport: report.html\nNext: auctor predict" in out
    assert {p.name for p in tmp_path.iterdir()} == {"clicks.csv", "model.auctor", "report.html"}
    page = (tmp_path / "report.html").read_text()
    assert "auctor train" in page
    assert "city" in page


def test_the_model_file_says_how_it_was_made(clicks):
    assert run(clicks, "--label", "clicked", *QUICK, "--quiet", "--seed", "3") == 0
    saved = read_saved("model.auctor")
    assert saved.schema["label"] == "clicked"
    notes = saved.notes
    assert notes["command"] == (f"auctor train {clicks} --strength 0.01 --label clicked --seed 3")
    assert notes["metric"] == "auc"
    assert notes["classes"] == ["no", "yes"]
    assert notes["data"]["train_rows"] == 240
    assert notes["data"]["test_rows"] == 60
    assert notes["standardised"] is True
    assert notes["interrupted"] is False
    assert notes["path"] is None
    assert 0.5 < notes["test"]["auc"]["value"] <= 1.0


def test_quiet_prints_nothing(svm, capsys):
    assert run(svm, *QUICK, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_fixed_strength_is_the_estimator(svm, svm_test, capsys):
    found = run_json(capsys, svm, "--test", svm_test, "--strength", "0.05", "--metric", "log_loss")
    table = auctor.tables.read_table(svm)
    model = auctor.MetricClassifier("log_loss", strength=0.05, random_state=0)
    model.fit(table.matrix, table.labels.astype(int))
    saved = auctor.load("model.auctor")
    np.testing.assert_array_equal(saved.coef_, model.coef_)
    np.testing.assert_array_equal(saved.intercept_, model.intercept_)
    assert saved.classes_.tolist() == [-1, 1]
    assert found["data"] == {
        "train_rows": 240, "train_positives": int((table.labels == 1).sum()),
        "test_rows": 100, "test_positives": found["data"]["test_positives"], "n_columns": 12,
    }  # fmt: skip
    test = auctor.tables.read_table(svm_test, schema=table.schema)
    assert found["test"]["score"] == pytest.approx(model.score(test.matrix, test.labels))


def test_auto_is_the_search(svm, svm_test, capsys):
    arguments = (svm, "--test", svm_test, "--penalty", "l1", "--report", "r.html", "--threads", "1")
    found = run_json(capsys, *arguments)
    table = auctor.tables.read_table(svm)
    model = auctor.MetricClassifierCV("auc", penalty="l1", random_state=0, n_threads=1)
    model.fit(table.matrix, table.labels.astype(int))
    np.testing.assert_array_equal(auctor.load("model.auctor").coef_, model.coef_)
    assert found["strength"] == model.strength_
    path = read_saved("model.auctor").notes["path"]
    assert path["strengths"] == model.strengths_.tolist()
    assert path["chosen"] == model.best_index_
    np.testing.assert_allclose(path["score_mean"], np.nanmean(model.scores_, axis=0))
    assert path["nonzeros"][0] <= path["nonzeros"][-1]


def test_the_search_can_be_smaller(svm, capsys):
    arguments = [
        "--penalty",
        "l1",
        "--n-strengths",
        "4",
        "--folds",
        "3",
        "--rule",
        "one_standard_error",
    ]
    run_json(capsys, svm, *arguments)
    model = auctor.load("model.auctor")
    assert model.scores_.shape == (3, 4)
    assert model.rule == "one_standard_error"


def test_evaluate_agrees_with_the_held_out_numbers(clicks, more_clicks, capsys):
    found = run_json(
        capsys, clicks, "--label", "clicked", "--test", more_clicks, *QUICK,
        "--calibrate", "sigmoid",
    )  # fmt: skip
    assert main(["evaluate", "model.auctor", str(more_clicks), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    for key, value in found["test"].items():
        assert again[key] == value, key


def test_scaling_is_folded_into_the_model(clicks, more_clicks, capsys):
    run_json(capsys, clicks, "--label", "clicked", *QUICK, "--test", more_clicks)
    table = auctor.tables.read_table(clicks, label="clicked")
    X = np.asarray(table.matrix, dtype=float)
    flag = np.isin(X, (0.0, 1.0)).all(axis=0)
    assert flag.any()
    assert not flag.all()
    scaled = np.where(flag, X, (X - X.mean(axis=0)) / X.std(axis=0))
    model = auctor.MetricClassifier("auc", strength=0.01, standardise=False)
    model.fit(scaled, table.labels)
    saved = auctor.load("model.auctor").model_
    np.testing.assert_allclose(
        saved.decision_function(X), model.decision_function(scaled), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_array_equal(saved.solution_.coef, saved.coef_[0])


def test_scaling_can_be_forced_and_forbidden(svm, clicks, capsys):
    assert run_json(capsys, svm, *QUICK)["standardised"] is True
    assert run_json(capsys, svm, *QUICK, "--no-standardise")["standardised"] is False
    assert run_json(capsys, svm, *QUICK, "--standardise")["standardised"] is True
    found = run_json(capsys, clicks, "--label", "clicked", *QUICK, "--no-standardise")
    assert found["standardised"] is False


def test_several_classes(three, capsys, refused):
    said = refused("train", three, *QUICK, "--report", "report.html", "--quiet")
    assert "two classes to write a report; got 3" in said
    assert not {"report.html", "model.auctor"} & set(os.listdir())
    assert run(three, *QUICK) == 0
    assert "accuracy" in capsys.readouterr().out
    model = auctor.load("model.auctor")
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.coef_.shape == (3, 12)


def test_several_classes_with_a_search(three, capsys):
    found = run_json(capsys, three, "--penalty", "l1", "--tol", "1e-2")
    assert found["test"]["accuracy"]["value"] > 0.4
    assert set(found["test"]["each"]) == {"0", "1", "2"}


def test_without_held_out_rows(svm, capsys):
    assert run(svm, *QUICK, "--test-size", "0") == 0
    out, err = capsys.readouterr()
    assert "240 training rows" in out
    assert "no rows were held out. Set --test-size above 0." in err


def test_no_penalty_needs_no_search(svm, capsys):
    found = run_json(capsys, svm, "--penalty", "none", "--metric", "log_loss", "--max-iter", "50")
    assert found["strength"] == 0.0


def test_threshold_weights_and_intercept(clicks, capsys):
    label = ["--label", "clicked", *QUICK]
    run_json(capsys, clicks, *label, "--threshold", "recall(0.9)", "--class-weight", "yes=3,no=1",
             "--metric", "log_loss")  # fmt: skip
    model = auctor.load("model.auctor")
    assert model.threshold == "recall(0.9)"
    assert model.class_weight == {"yes": 3.0, "no": 1.0}
    run_json(capsys, clicks, *label, "--no-intercept")
    assert auctor.load("model.auctor").intercept_.tolist() == [0.0]


def test_a_seed_decides_the_split(svm, capsys):
    first, again, other = (
        run_json(capsys, svm, *QUICK, "--seed", seed)["test"] for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_wide_tables_are_summed_up(tmp_path, capsys):
    rng = np.random.default_rng(0)
    width = MANY_COLUMNS + 5
    rows = rng.normal(size=(60, width)).round(3)
    text = [",".join([*(f"c{j}" for j in range(width)), "y"])]
    text += [",".join([*map(str, row), str(int(row[0] > 0))]) for row in rows]
    (tmp_path / "wide.csv").write_text("\n".join(text) + "\n")
    assert run("wide.csv", *QUICK) == 0
    out = capsys.readouterr().out
    assert f"In the file: {width} of kind number" in out
    assert "c17" not in out


def test_verbose_writes_lines(svm, capsys):
    assert run(svm, *QUICK, "--verbose") == 0
    err = capsys.readouterr().err
    assert err.startswith(f"reading {svm}\n")
    assert "\r" not in err


@pytest.mark.slow
def test_the_first_run_says_that_it_compiles(svm, tmp_path):
    """In a folder without compiled code; the second run finds it there."""
    command = [sys.executable, "-m", "auctor.cli.main", "train", str(svm), "--strength", "0.1"]
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    said = []
    for _ in range(2):
        done = subprocess.run(
            [*command, "--verbose"], env=env, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0
        said.append([line for line in done.stderr.splitlines() if "compiling" in line])
    assert said == [[COMPILING], []]


def test_warnings_come_in_lines_and_in_the_report(svm, capsys):
    arguments = (svm, "--strength", "1e-6", "--max-iter", "1", "--report", "r.html", "--json")
    assert run(*arguments) == 0
    out, err = capsys.readouterr()
    assert err.startswith("auctor: warning: ")
    assert "--max-iter" in err
    assert json.loads(out)["warnings"]
    with open("r.html") as file:
        assert "The iteration budget ran out" in file.read()


# --- config ---------------------------------------------------------------------------------------


def test_options_from_a_file_below_those_of_the_command_line(svm, tmp_path, capsys):
    (tmp_path / "auctor.toml").write_text(
        f"""
        seed = 5
        [train]
        data = "{svm}"
        metric = "log_loss"
        strength = 0.5
        max-iter = 20
        no_intercept = true
        json = true
        [predict]
        labels = true
        """
    )
    assert main(["train", "--config", "auctor.toml", "--strength", "0.25"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["metric"] == "log_loss"
    assert found["strength"] == 0.25
    model = auctor.load("model.auctor")
    assert model.max_iter == 20
    assert model.fit_intercept is False
    assert model.random_state == 5
    assert main(["predict", "model.auctor", str(svm), "--config", "auctor.toml"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "predicted"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[train]\nmetrik = 'auc'", "metrik. Did you mean metric?"),
        ("[trian]\nmetric = 'auc'", "trian. Did you mean train?"),
        ("strenght = 1", "strenght. Did you mean strength?"),
        ("[train]\nzzzzzz = 1", "zzzzzz. Remove it."),
        ("[train]\nno-intercept = 'yes'", "true or false"),
        ("[train]\nmetric = true", "a number or text"),
        ("[train]\nmetric = ['auc']", "a number or text"),
        ("[train]\ntol = 'much'", "--tol"),
        ("[train", "needs TOML"),
    ],
)
def test_bad_config(text, said, svm, tmp_path, capsys):
    (tmp_path / "auctor.toml").write_text(text)
    err = refused(capsys, "train", svm, "--config", "auctor.toml")
    assert said in err


def test_config_that_is_not_there(svm, capsys):
    assert "No such file" in refused(capsys, "train", svm, "--config", "no.toml")


# --- bad input ------------------------------------------------------------------------------------


def refused(capsys, *arguments):
    """The one line that a command says before it exits with 2 and leaves nothing."""
    before = sorted(os.listdir())
    assert main([*map(str, arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("auctor: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert sorted(os.listdir()) == before
    return err


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
    monkeypatch.setitem(sys.modules, "polars", None)
    assert 'pip install "auctor[cli]"' in refused(capsys, "train", "a.parquet")


# --- Ctrl-C ---------------------------------------------------------------------------------------

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

    monkeypatch.setattr("auctor.reports.progress.Progress.on_point", on_point)
    assert run(svm, "--penalty", "l1", "--n-strengths", "12", "--json") == 130
    out, err = capsys.readouterr()
    assert "the best model so far is saved in model.auctor: strength " in err
    found = json.loads(out)
    model = auctor.load("model.auctor")
    assert np.isfinite(model.scores_).any(axis=1).sum() == max(folds, 1)
    assert found["strength"] in seen[: 12 * folds + 5]
    assert found["test"]["auc"]["value"] > 0.6


def test_ctrl_c_in_the_calibration_leaves_it_out(svm, capsys, monkeypatch):
    def on_stage(self, stage, number, total):
        if stage == "calibration fold":
            raise KeyboardInterrupt

    monkeypatch.setattr("auctor.reports.progress.Progress.on_stage", on_stage)
    assert run(svm, *QUICK, "--calibrate", "sigmoid") == 130
    err = capsys.readouterr().err
    assert "the best model so far is saved" in err
    assert "there are no probabilities" in err
    assert auctor.load("model.auctor").calibrate is None


def test_ctrl_c_while_measuring_keeps_the_model(svm, capsys, monkeypatch):
    def measure(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "measure", measure)
    assert run(svm, *QUICK) == 130
    assert "the model is saved in model.auctor" in capsys.readouterr().err
    auctor.load("model.auctor")


# --- parts ----------------------------------------------------------------------------------------


def test_hold_out_keeps_the_shares_of_the_classes():
    labels = np.repeat(["a", "b", "c"], [1000, 100, 2])
    train, test = hold_out(labels, 0.2, 0, who="auctor train")
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(labels.size))
    assert [int((labels[test] == c).sum()) for c in "abc"] == [200, 20, 1]
    assert (np.diff(train) > 0).all()


@pytest.mark.parametrize("strip", [1, 7, 1 << 20])
@pytest.mark.parametrize("kind", ["csr", "csr64", "read", "csc", "read-only", "C", "F"])
def test_split(kind, strip, monkeypatch):
    from scipy.sparse import random_array

    monkeypatch.setattr("auctor.data.preparation.STRIP", strip)
    X = random_array((40, 6), density=0.3, format="csr", rng=np.random.default_rng(0))
    whole = X.toarray()
    if kind == "csr64":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    elif kind == "csc":
        X = X.tocsc()
    elif kind == "read-only":
        X.data.flags.writeable = False
    elif kind == "read":
        X.data, X.indices = X.data[:], X.indices[:]  # views, as scipy makes them
    elif kind in "CF":
        X = np.array(whole, order=kind)
    index = getattr(X, "indices", np.empty(0)).dtype
    held = np.array([0, 3, 4, 20, 39])
    train, test = split_rows(X, held)
    as_array = np.asarray if isinstance(train, np.ndarray) else lambda M: M.toarray()
    np.testing.assert_array_equal(as_array(test), whole[held])
    np.testing.assert_array_equal(as_array(train), np.delete(whole, held, axis=0))
    if kind.startswith("csr"):
        assert train.indices.dtype == train.indptr.dtype == index
        assert train.has_canonical_format
        assert train.data.size == train.nnz  # the rest was given back


def test_tidy_labels():
    assert tidy_labels(np.array([1.0, 2.0]), who="x").dtype == np.int64
    assert tidy_labels(np.array([0.5, 2.0]), who="x").dtype == np.float64
    assert tidy_labels(np.array(["a", "b"], dtype=object), who="x").dtype.kind == "U"
    with pytest.raises(DataError, match="numbers and text"):
        tidy_labels(np.array(["a", "2"]), who="x")


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        ([1.0, -1.0], [-1, 1], [1, 0]),
        (["1", "-1"], [-1, 1], [1, 0]),
        ([1, 0], ["0", "1"], [1, 0]),
        (["bb", "a"], ["a", "bb"], [1, 0]),
        ([True, False], [False, True], [1, 0]),
    ],
)
def test_codes_of(labels, classes, codes):
    assert codes_of(np.array(labels), np.array(classes), who="x").tolist() == codes


@pytest.mark.parametrize(
    ("labels", "classes"), [([2.0], [-1, 1]), (["abc"], ["abcd", "x"]), (["yes"], [0, 1])]
)
def test_codes_of_unknown_labels(labels, classes):
    with pytest.raises(DataError, match="labels that the model knows"):
        codes_of(np.array(labels), np.array(classes), who="x")


@pytest.mark.parametrize("centre", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_standardise_dense(centre, order):
    rng = np.random.default_rng(0)
    X = np.array(
        rng.normal(size=(50, 4)) * [1.0, 1e3, 1e-3, 0.0] + [1e6, 0.0, 3.0, 7.0], order=order
    )
    before = X.copy()
    mean, factor = standardise(X, centre=centre)
    np.testing.assert_allclose(X, (before - mean) * factor)
    np.testing.assert_allclose(X[:, :3].std(axis=0), 1.0)
    assert factor[3] == 1.0
    if centre:
        np.testing.assert_allclose(X[:, :3].mean(axis=0), 0.0, atol=1e-9)
        assert (X[:, 3] == 7.0).all()  # constants stay
    else:
        assert not mean.any()


def test_standardise_sparse_keeps_zeros(monkeypatch):
    from scipy.sparse import random_array

    monkeypatch.setattr("auctor.data.preparation.STRIP", 7)
    X = random_array((60, 5), density=0.4, format="csr", rng=np.random.default_rng(0))
    before = X.toarray()
    scaling = standardise(X, centre=True)
    assert not scaling.mean.any()
    np.testing.assert_allclose(X.toarray(), before * scaling.factor)
    np.testing.assert_allclose(X.toarray().std(axis=0), 1.0)


def test_unscale_several_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), np.arange(90) % 3
    X[np.arange(90), y] += 2.0
    mean, factor = X.mean(axis=0), 1.0 / X.std(axis=0)
    scaled = (X - mean) * factor
    model = auctor.MetricClassifier("log_loss", strength=0.1).fit(scaled, y)
    before = model.decision_function(scaled)
    unscale(model, Scaling(mean, factor))
    np.testing.assert_allclose(model.decision_function(X), before)
    np.testing.assert_allclose([s.coef for s in model.solution_], model.coef_)


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
    monkeypatch.setattr(Run, "fit", lambda *_: pytest.fail("trained"))
    assert run("rows.csv", "--test", "test.csv", "-q", *QUICK) == 2
    assert "every class" in capsys.readouterr().err
