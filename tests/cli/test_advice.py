"""What is said of files with something wrong in them names options that exist, and the place."""

import json
import warnings

import numpy as np
import pytest

from auctor.cli.main import main
from auctor.cli.output import worded
from auctor.core.errors import ConvergenceWarning, DataError, DataWarning, Option
from auctor.fit import prepare

QUICK = ["--strength", "0.01"]


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def numbers(tmp_path, change=lambda k, fields: fields, header="a,b,y", n=60):
    rng = np.random.default_rng(0)
    lines = [header]
    for k in range(n):
        y = k % 2
        a, b = rng.normal(size=2) + y
        lines.append(",".join(change(k, [f"{a:.3f}", f"{b:.3f}", str(y)])))
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("message", "command", "said"),
    [
        (DataError("a name"), "convert", "auctor convert needs a name"),
        (DataError("a smooth penalty", part="Lbfgs"), "train", "Lbfgs needs a smooth penalty"),
        (DataError("rows", todo="Pass {option}.", option=Option("resume", True)),
         "stream", "auctor stream needs rows. Pass --resume."),
        (DataError("rows", todo="Pass {option}.", option=Option("grow", False)),
         "stream", "auctor stream needs rows. Pass --no-grow."),
        (DataError("y", todo="Pass a larger {option}, or none.", option="n_features"),
         "stream", "auctor stream needs y. Pass a larger --n-features, or none."),
        (DataWarning(does="uses 3 folds", todo="Set {option}.", option=Option("cv", 3)),
         "train", "auctor train uses 3 folds. Set --folds 3."),
        (ConvergenceWarning(does="stopped", todo="Increase {option} or {option2}.", part="Newton",
                            option=(Option("max_seconds", bare=True), Option("tol", bare=True))),
         "train", "Newton stopped. Increase --max-seconds or --tol."),
        (DataError("y", todo="Pass {option}.", option=Option("label", "clicked")),
         "train", "auctor train needs y. Pass --label clicked."),
        (DataError("y", todo="Pass {option}.", option=Option("label", "my label")),
         "train", "auctor train needs y. Pass --label 'my label'."),
        (DataError("y", todo="Pass {option}.", option=Option("zero_based", True)),
         "train", "auctor train needs y. Pass --zero-based yes."),
        # A command without the option says that it is one of Python.
        (DataError("y", todo="Pass {option}.", option=Option("dtype", "float32")),
         "train", "auctor train needs y. Pass dtype='float32' in Python."),
        # Options are shown as they are declared: another name, a flag, a repeatable one, DATA.
        (DataError("{option}", option="as_json"), "predict", "auctor predict needs --json"),
        (DataError("{option}", option=Option("standardise", False)),
         "train", "auctor train needs --no-standardise"),
        (DataError("{option}", option=Option("slice", ["a", "b c"])),
         "train", "auctor train needs --slice a --slice 'b c'"),
        (DataError("{option}", option=Option("settings", {"rate": 0.5, "means": None})),
         "stream", "auctor stream needs --set rate=0.5 --set means"),
        (DataError("{option}", option="data"), "train", "auctor train needs DATA"),
    ],
)  # fmt: skip
def test_messages_are_worded_for_a_command(message, command, said):
    assert worded(message, command) == said


@pytest.mark.parametrize("command", ["train", "stream"])
def test_a_message_names_the_command_that_was_typed(command, refused):
    # The library function that reads the file has a name of its own.
    assert f"auctor {command} needs a file it can read" in refused(command, "no_such.csv")


# --- columns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["abc", '"1,700"'])
def test_a_number_that_is_none_is_told(bad, tmp_path, capsys):
    path = numbers(tmp_path, lambda k, f: [bad if k == 30 else f[0], *f[1:]])
    arguments = ["train", str(path), *QUICK, "--json", "--report", "r.html"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    (said,) = json.loads(out)["warnings"]
    assert "column 'a'" in said
    plain = bad.strip('"')
    assert f"{plain!r} in line 32 is not" in said
    assert "59 of 60 values are numbers" in said
    assert "pass --as-number a" in said
    assert err == f"auctor: warning: {said}\n"
    assert "in line 32 is not" in (tmp_path / "r.html").read_text()


def test_text_among_numbers_is_text_of_many_categories(tmp_path, capsys):
    words = ("none of it", "all of it")
    path = numbers(tmp_path, lambda k, f: [words[k % 2] if k % 5 == 0 else f[0], *f[1:]])
    assert main(["train", str(path), *QUICK, "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "'a' as text of 50 categories in 60 rows" in said
    assert "--drop" in said


def test_one_word_among_numbers_can_be_taken_as_missing(tmp_path, capsys):
    path = numbers(tmp_path, lambda k, f: ["-" if k % 5 == 0 else f[0], *f[1:]])
    assert main(["train", str(path), *QUICK, "--json"]) == 0
    (said,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "'a' as text of 49 categories; all but '-' are numbers" in said
    assert "--as-number a" in said
    assert main(["train", str(path), *QUICK, "--json", "--as-number", "a"]) == 0
    said, where = json.loads(capsys.readouterr().out)["warnings"]
    assert "fills missing values (12 in 'a'" in said
    assert "12 of 60 values of 'a' such as '-'" in where


@pytest.mark.parametrize("missing", ["refuse", "mean", "most_frequent"])
def test_a_comma_at_the_end_of_every_line(missing, tmp_path, capsys):
    path = numbers(tmp_path, lambda k, f: [*f, ""], header="a,b,y,")
    arguments = [str(path), "--missing", missing]
    assert main(["train", *arguments, *QUICK, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["n_columns"] == 2
    (said,) = found["warnings"]
    assert said == f"auctor train leaves out 'column_4' of {path}: no row has a value there."
    assert main(["evaluate", "model.auctor", str(path), "--json"]) == 0
    capsys.readouterr()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["convert", *arguments, "out.svm"]) == 0
    out, err = capsys.readouterr()
    assert "60 rows, 2 columns" in out
    assert "leaves out 'column_4'" in err


def test_missing_values_where_the_rule_was_set_before(tmp_path, refused):
    told = ["--missing", "refuse", "--quiet"]
    assert main(["train", str(numbers(tmp_path)), *QUICK, *told]) == 0
    (tmp_path / "new.csv").write_text("a,b,y\n1,,0\n2,3,1\n")
    for command in ("predict", "evaluate", "report"):
        said = refused(command, "model.auctor", "new.csv")
        assert "1 missing in 'b'" in said
        assert said.endswith("Fill or drop them first, or train with --missing mean.\n")


def test_integers_that_no_float_holds(tmp_path, refused, capsys):
    path = numbers(tmp_path, lambda k, f: [str(2**53 + k), *f[1:]], header="id,b,y")
    for out in ("out.csv", "out.npz", "out.parquet"):
        said = refused("convert", path, out)
        assert "auctor convert needs whole numbers up to 2^53" in said
        assert f"{2**53 + 1} in 'id'" in said
    refused("convert", path, "out.npz", "--missing", "median")
    assert main(["train", str(path), *QUICK, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["warnings"]
    assert sum(f"{2**53 + 1} in 'id'" in one for one in said) == 1


def test_large_floats_are_no_integers(tmp_path, capsys):
    path = numbers(tmp_path, lambda k, f: [f"{k}e20", *f[1:]])
    assert main(["convert", str(path), "out.csv"]) == 0
    assert main(["train", "out.csv", *QUICK, "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_integers_of_parquet(tmp_path, refused):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = {"id": pa.array([2**53 + 1, 5]), "x": [1e300, 2.0**60], "y": [0, 1]}
    parquet.write_table(pa.table(table), "rows.parquet")
    assert f"{2**53 + 1} in 'id' of" in refused("convert", "rows.parquet", "out.csv")
    del table["id"]
    parquet.write_table(pa.table(table), "rows.parquet")
    assert main(["convert", "rows.parquet", "out.csv"]) == 0


# --- labels -------------------------------------------------------------------------------------


def test_labels_with_fractions(tmp_path, refused):
    path = numbers(tmp_path, lambda k, f: [*f[:2], "0.5" if k % 2 else "1.25"])
    said = refused("train", path, *QUICK)
    assert "auctor train needs whole numbers or text as labels; got 1.25" in said


@pytest.mark.parametrize("first", [0, 7])
@pytest.mark.parametrize("word", ["none", "", "NA"])
def test_a_missing_text_label(word, first, tmp_path, refused):
    def change(k, fields):
        return [*fields[:2], word if k == first else "yes" if k % 2 else "no"]

    path = numbers(tmp_path, change)
    said = refused("train", path, *QUICK)
    assert "needs a label in every row" in said
    assert f"got {word!r} in {path}, line {first + 2} (read as missing)" in said


def test_a_missing_label_to_evaluate_by(tmp_path, refused):
    path = numbers(tmp_path)
    assert main(["train", str(path), *QUICK, "--quiet"]) == 0
    path = numbers(tmp_path, lambda k, f: [*f[:2], "" if k == 3 else f[2]])
    said = refused("evaluate", "model.auctor", path)
    assert "needs a label in every row; got 1 missing of 60" in said


def test_a_label_whose_name_is_a_number(tmp_path, capsys):
    path = numbers(tmp_path, header="2019,2020,2021")
    for label in (["2021"], ["2", "--header", "yes"], ["-1", "--header", "yes"]):
        assert main(["train", str(path), "--label", *label, *QUICK, "--quiet"]) == 0
        assert main(["inspect", "model.auctor", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["schema"]["label"] == "2021"
    path = numbers(tmp_path, header="5,2,0")  # a name that is another column's position
    assert main(["inspect", str(path), "--label", "2", "--header", "yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["label"] == "2"


def test_a_header_with_one_number(tmp_path, capsys):
    def with_colour(k, fields):
        return [*fields[:2], ("red", "blue", "green")[k % 3], fields[2]]

    path = numbers(tmp_path, with_colour, header="a,2020,colour,fraud")
    assert main(["inspect", str(path), "--label", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["label"]) == (60, "fraud")
    assert [column["kind"] for column in found["summary"]] == ["number", "number", "category"]


# --- svmlight -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
def test_columns_are_named_by_the_index_in_the_file(first, tmp_path, capsys):
    lines = [f"{k % 2} {first}:{k % 2} {first + 4}:{k % 7}" for k in range(60)]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    assert main(["train", "rows.svm", *QUICK, "--report", "r.html", "--quiet"]) == 0
    assert main(["stream", "rows.svm", "--out", "s.auctor"]) == 0
    capsys.readouterr()
    for model in ("model.auctor", "s.auctor"):
        assert main(["inspect", model, "--json"]) == 0
        top = json.loads(capsys.readouterr().out)["top"][0]["features"]
        assert {feature["name"] for feature in top} <= {f"index {first}", f"index {first + 4}"}
    assert main(["report", "model.auctor", "rows.svm", "--out", "again.html"]) == 0
    for page in ("r.html", "again.html"):
        assert f"index {first}" in (tmp_path / page).read_text()


@pytest.mark.parametrize("command", ["train", "stream", "compare"])
def test_more_columns_than_memory(command, svm, refused, monkeypatch):
    monkeypatch.setattr(prepare, "memory", lambda: 80 * 11)
    said = refused(command, svm)
    assert "needs at most 11 columns to fit the memory" in said
    assert "the largest index is 12" in said
    monkeypatch.setattr(prepare, "memory", lambda: 80 * 12)
    prepare.check_width(12, 1)


def test_memory_of_a_container(monkeypatch):
    whole = prepare.memory()
    assert whole > 1 << 20
    monkeypatch.setattr("auctor.fit.prepare.Path.read_text", lambda path: "1048576\n")
    assert prepare.memory() == 1 << 20
    monkeypatch.setattr("auctor.fit.prepare.Path.read_text", lambda path: "max\n")
    assert prepare.memory() >= whole


def test_whole_labels():
    for labels in ([1.0, 2.0], [1, 2], ["a", "b"], [1e300, 2.0]):
        prepare.check_whole(np.array(labels), "rows")
    with pytest.raises(DataError, match=r"got 0\.25"):
        prepare.check_whole(np.array([1.0, 0.25]), "rows")


@pytest.mark.filterwarnings("default")
def test_warnings_are_worded_for_the_command(capsys, monkeypatch):
    def warn(**settings):
        warning = DataWarning(does="takes it", todo="Set {option}.", option="seed")
        warnings.warn(warning, stacklevel=1)
        raise DataError("rows", got="none")

    shown = warnings.showwarning
    monkeypatch.setattr("auctor.cli.demo.run_demo", warn)
    assert main(["demo", "--report", "x.html"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "auctor: warning: auctor demo takes it. Set --seed."
    assert second == "auctor: auctor demo needs rows; got none"
    assert warnings.showwarning is shown
