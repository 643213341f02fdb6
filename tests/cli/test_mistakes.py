"""Mistakes that users make: each ends in a line with its cause and one thing to do, or is decided
visibly: a warning says what was done and what changes it."""

import csv
import json
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor import AuctorError, MetricClassifier, TableClassifier
from auctor.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "cause", "todo"),
    [
        (["predict", "rows.csv", "model.auctor"], "MODEL first, then DATA", "Write auctor predict"),
        (["evaluate", "rows.csv", "model.auctor"], "MODEL first, then DATA", "auctor evaluate"),
        (["report", "rows.csv", "model.auctor"], "MODEL first, then DATA", "auctor report"),
        (["train", "rows.csv", "--target", "bought"], "--target", "Did you mean --label?"),
        (["train", "rows.csv", "--alpha", "1"], "--alpha", "Did you mean --strength?"),
        (["train", "rows.csv", "--cv", "5"], "--cv", "Did you mean --folds?"),
        (["train", "rows.csv", "--output", "m"], "--output", "Did you mean --out?"),
        (["train", "rows.csv", "--exclude", "age"], "--exclude", "Did you mean --drop?"),
        (["train", "rows.csv", "--metrics", "auc"], "--metrics", "--metric"),
        (["train", "rows.csv", "--metric", "acu"], "'acu'", "Did you mean 'auc'?"),
        (["train", "rows.csv", "--metric", "precision_at_kk(5)"], "got", "'precision_at_k'"),
        (["train", "rows.csv", "--metric", "avrage_precision"], "got", "'average_precision'"),
        (["train", "rows.csv", "--penalty", "L1"], "'L1'", "Did you mean 'l1'?"),
        (["train", "rows.csv", "--solver", "newtn"], "'newtn'", "Did you mean 'newton'?"),
        (["train", "rows.csv"], "the label column", "--label"),
        (["train", "rows.csv", "--label", "bougth"], "'bougth'", "Did you mean 'bought'?"),
        (["train", "absent.csv", "--label", "bought"], "absent.csv", "."),
        (["train", "rows.csv", "--label", "bought", "--drop", "agee"], "'agee'", "'age'"),
        (["train", "rows.csv", "--label", "bought", "--as-number", "x"], "'x'", "Choose among"),
        (["train", "rows.csv", "--label", "bought", "--as-number", "city"], "amounts", "as-number"),
        (["train", "rows.csv", "--label", "bought", "--date", "age"], "COLUMN=PATTERN", "%d/%m/%Y"),
        (
            ["train", "rows.csv", "--label", "bought", "--date", "city=%Y"],
            "dates of that",
            "--date",
        ),
        (["train", "rows.csv", "--label", "bought", "--decimal", ";"], "decimal", "Pass one"),
        (["train", "rows.csv", "--label", "bought", "-q", "--positive", "yess"], "yess", "."),
        (
            ["train", "rows.csv", "--label", "bought", "--class-weight", "5"],
            "LABEL=WEIGHT",
            "for example",
        ),
        (["train", "rows.csv", "--label", "bought", "--strength", "big"], "'big'", "Pass"),
        (["train", "rows.csv", "--label", "bought", "--out", "no/m.auctor"], "no", "."),
        (["train", "rows.csv", "--label", "bought", "--out", "rows.csv"], "twice", "another name"),
        (["predict", "model.auctor", "rows.csv", "--keep", "id"], "none named id", "Choose among"),
        (["predict", "model.auctor", "rows.csv", "--proba"], "calibrated", "--calibrate sigmoid"),
        (["predict", "model.auctor", "rows.csv", "--out", "p.doc"], "p.doc", "ending"),
        (["predict", "model.auctor", "-", "--keep", "age"], "standard input", "file first"),
        (["trian", "rows.csv"], "trian", "train"),
    ],
)
def test_one_line_names_the_cause_and_one_thing_to_do(
    arguments, cause, todo, table, trained, monkeypatch, refused
):
    monkeypatch.chdir(table.parent)
    said = refused(*arguments)
    assert cause in said
    assert todo in said


def test_predictions_keep_the_id_and_are_named(table, trained, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    assert main(["predict", "model.auctor", "rows.csv", "--keep", "city", "--out", "p.csv"]) == 0
    with open("rows.csv") as given, open("p.csv") as made:
        wanted, found = list(csv.DictReader(given)), list(csv.DictReader(made))
    assert list(found[0]) == ["city", "predicted", "score"]
    assert [row["city"] for row in found] == [row["city"] for row in wanted]
    assert {row["predicted"] for row in found} == {"yes", "no"}


def test_categories_never_seen_are_counted(table, trained, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    with open("new.csv", "w") as file:
        file.write("age,income,city\n40,0.5,Bonn\n41,0.1,Oslo\n")
    assert main(["predict", "model.auctor", "new.csv", "--out", "p.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["unseen"] == {"city": 1}
    assert "categories that training did not have as no category; got 1 of 2 rows" in err
    assert "Train with --categorical hash" in err


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_measuring_on_the_rows_of_training_is_said(command, table, trained, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    assert main([command, "model.auctor", "rows.csv"]) == 0
    assert (
        "rows.csv, which has the name and the number of rows of the file" in capsys.readouterr().err
    )
    shutil.copy("rows.csv", "others.csv")
    assert main([command, "model.auctor", "others.csv"]) == 0
    assert capsys.readouterr().err == ""


def test_the_next_command_reads_the_new_rows_alike(table, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    with open("rows.csv") as given, open("commas.csv", "w") as made:
        made.write(given.read().replace(",", ";").replace(".", ","))
    options = ["--label", "bought", "--decimal", ",", "--delimiter", ";", "--strength", "0.1"]
    assert main(["train", "commas.csv", *options]) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    wanted = "auctor predict model.auctor NEW.csv --delimiter ';' --decimal , --out predictions.csv"
    assert last == f"Next: {wanted}"
    assert main(shlex.split(wanted.replace("NEW", "commas"))[1:]) == 0


def test_training_ends_with_the_next_command(table, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    assert main(["train", "rows.csv", "--label", "bought", "--strength", "0.1"]) == 0
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last == "Next: auctor predict model.auctor NEW.csv --out predictions.csv"


def test_options_of_the_columns_reach_the_model(table, monkeypatch, capsys):
    monkeypatch.chdir(table.parent)
    arguments = ["train", "rows.csv", "--label", "bought", "--strength", "0.1", "--drop", "income"]
    assert main([*arguments, "--quiet"]) == 0
    assert main(["inspect", "model.auctor", "--json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["schema"]["columns"]]
    assert names == ["age", "city"]


# --- files that are not what they should be -------------------------------------------------------


def swapped(lines, k, text):
    """The lines with another one in a place."""
    return [*lines[:k], text, *lines[k + 1 :]]


def files(lines):
    """Wrong files by name, made from the lines of a good one."""
    header, *body = lines
    cells = [line.split(",") for line in body]
    return {
        "empty.csv": [],
        "header.csv": [header],
        "few.csv": lines[:4],
        "one.csv": [header, *(line for line in body if line.endswith("yes"))],
        "ragged.csv": swapped(lines, 6, "1,2,3"),
        "quote.csv": swapped(lines, 6, '1,2,"Oslo,yes'),
        "twice.csv": ["age,age,city,bought", *body],
        "unlabelled.csv": swapped(lines, 6, "1,2,Oslo,"),
        "three.csv": swapped(swapped(lines, 6, "1,2,Oslo,maybe"), 7, "1,2,Oslo,maybe"),
        "semicolons.csv": [line.replace(",", ";") for line in lines],
        "quantity.csv": ["x,y", *(f"{k},{k / 7}" for k in range(60))],
        "book.xlsx": ["PK"],
        "rows.txt": lines,
        "lacking.csv": ["income,city,bought", *(",".join(cell[1:]) for cell in cells)],
        "words.csv": swapped(lines, 6, "old,2,Oslo,yes"),
        "infinite.csv": swapped(lines, 6, "inf,2,Oslo,yes"),
        "german.csv": [header, *(line.replace("yes", "ja").replace("no", "nein") for line in body)],
        "broken.auctor": ["hello"],
        "broken.toml": ["metric = "],
        "odd.toml": ["[train]", "metrik = 'auc'"],
        # What is decided, and said.
        "ids.csv": [f"id,{header}", *(f"u{k},{line}" for k, line in enumerate(body))],
        "numbered.csv": [f"n,{header}", *(f"{k},{line}" for k, line in enumerate(body))],
        "dates.csv": [f"d,{header}", *(f"{k % 28 + 1}/12/2024,{x}" for k, x in enumerate(body))],
        "commas.csv": [
            f"price,{header}".replace(",", ";"),
            *(f"{k},5;{line.replace(',', ';')}" for k, line in enumerate(body)),
        ],
        "money.csv": [f"price,{header}", *(f"${k % 97},{line}" for k, line in enumerate(body))],
        "zip.csv": [f"zip,{header}", *(f"{10115 + k % 9},{line}" for k, line in enumerate(body))],
        "constant.csv": [f"k,{header}", *(f"7,{line}" for line in body)],
        "leak.csv": [f"sold,{header}", *(f"{int(x.endswith('yes'))},{x}" for x in body)],
        "gaps.csv": swapped(swapped(lines, 6, ",2,Oslo,yes"), 7, "30,2,,no"),
        "nothing.csv": [f"note,{header}", *(f",{line}" for line in body)],
        "spelt.csv": swapped(lines, 6, "forty,2,Oslo,yes"),
    }


@pytest.fixture(scope="module")
def wrong(made, tmp_path_factory):
    """A folder with the wrong files, the good one and its model."""
    folder = tmp_path_factory.mktemp("wrong")
    for name in ("rows.csv", "model.auctor"):
        shutil.copy(made / name, folder)
    lines = (folder / "rows.csv").read_text().splitlines()
    for name, content in files(lines).items():
        (folder / name).write_text("".join(f"{line}\n" for line in content))
    (folder / "latin.csv").write_bytes("\n".join(lines).replace("Wien", "Köln").encode("latin-1"))
    (folder / "wide.csv").write_text("\n".join(lines), encoding="utf-16")
    return folder


TRAIN = "--label bought --quiet"


@pytest.mark.parametrize(
    ("command", "cause", "todo"),
    [
        (f"train empty.csv {TRAIN}", "none in empty.csv", "Check the file"),
        (f"train header.csv {TRAIN}", "0 rows", "Check the file"),
        (f"train few.csv {TRAIN}", "got one of", "--test-size 0"),
        (f"train one.csv {TRAIN}", "got only 'yes'", "Check the label column"),
        (f"train ragged.csv {TRAIN}", "4 fields in each line; got 3", "line 7. Correct"),
        (f"train quote.csv {TRAIN}", "starts in line 7", "Close it"),
        (f"train twice.csv {TRAIN}", "age more than once", "Rename"),
        (f"train unlabelled.csv {TRAIN}", "unlabelled.csv, line 7", "drop such rows"),
        (f"train three.csv {TRAIN} --positive yes", "got 3 classes", "Drop --positive"),
        (f"train semicolons.csv {TRAIN} --delimiter ,", "1 column", "Check the delimiter"),
        (f"train latin.csv {TRAIN}", "UTF-8", "Save it again"),
        ("train quantity.csv --label y", "whole numbers or text", "--label"),
        (f"train wide.csv {TRAIN}", "which is UTF-16 text", "CSV in UTF-8"),
        (f"train rows.csv {TRAIN} --drop age,city", "got 'age,city'", "--drop age --drop city"),
        (f"train book.xlsx {TRAIN}", "Excel workbook", "Save the table as CSV"),
        (f"train rows.txt {TRAIN}", "rows.txt, line 1", "--format"),
        (f"train infinite.csv {TRAIN}", "infinity", "column 'age'. Correct"),
        (f"train . {TRAIN}", "the folder", "Pass a file"),
        (f"train rows.csv {TRAIN} --test rows.csv", "rows.csv twice", "Drop --test"),
        (f"train rows.csv {TRAIN} --test-size 1.5", "--test-size", "less than or equal to 0.9"),
        (f"train rows.csv {TRAIN} --metric precision_at_k(1000)", "1000", "Pass a smaller k"),
        (f"train rows.csv {TRAIN} --metric fbeta(-1)", "got -1", "in that range"),
        (f"train rows.csv {TRAIN} --metric f1 --surrogate hinge", "'hinge'", "Pass one of these"),
        (f"train rows.csv {TRAIN} --strength -1", "got -1.0", "in that range"),
        (f"train rows.csv {TRAIN} --folds 1", "--folds", "greater than or equal to 2"),
        (f"train rows.csv {TRAIN} --threshold high", "'high'", "Pass one of these"),
        (f"train rows.csv {TRAIN} --categorical onehot", "'onehot'", "Did you mean 'one_hot'?"),
        (f"train rows.csv {TRAIN} --config broken.toml", "TOML", "Correct the file"),
        (f"train rows.csv {TRAIN} --config odd.toml", "metrik", "Did you mean metric?"),
        (f"train rows.csv {TRAIN} --report out.pdf", "out.pdf", "Write HTML"),
        (f"train rows.csv {TRAIN} --class-weight yess=5", "got yess", "Correct --class-weight"),
        (f"train rows.csv {TRAIN} --drop age --drop income --drop city", "0 columns", "fewer"),
        ("predict model.auctor lacking.csv", "none named age", "Add the missing columns"),
        ("predict model.auctor words.csv", "'old' in words.csv, line 7", "Correct or drop"),
        ("predict broken.auctor rows.csv", "another kind", "pass another"),
        ("predict model.auctor", "Missing argument 'DATA'", "auctor predict --help"),
        ("evaluate model.auctor german.csv", "'ja', 'nein'", "Write the labels"),
        ("evaluate model.auctor one.csv", "none of 'no'", "Pass a file that has some"),
        ("stream rows.csv --label bought --metric f1", "got f1", "Use auctor train"),
        ("stream gaps.csv --label bought --missing refuse", "1 missing in 'age'", "--missing"),
        ("convert rows.csv model.onnx", "a model to write", "Train a model"),
        ("convert model.auctor model.pkl", "model.pkl", "Add the ending"),
    ],
)
def test_wrong_files_and_values(command, cause, todo, wrong, monkeypatch, refused):
    monkeypatch.chdir(wrong)
    before = sorted(path.name for path in wrong.iterdir())
    said = refused(*command.split())
    assert cause in said
    assert todo in said
    assert sorted(path.name for path in wrong.iterdir()) == before


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("file", "decision", "option"),
    [
        ("ids.csv", "leaves out 'id'", "--as-category"),
        ("numbered.csv", "takes 'n' as a quantity", "--drop"),
        ("dates.csv", "'d'", "--date"),
        ("commas.csv", "'price'", "--decimal ,"),
        ("money.csv", "'price'", "--as-number"),
        ("dates.csv", "are dates", "--date d=%d/%m/%Y"),
        ("zip.csv", "'zip'", "--as-category"),
        ("constant.csv", "'k'", "--drop"),
        ("leak.csv", "'sold'", "--drop"),
        ("gaps.csv", "fills missing values (1 in 'age', 1 in 'city'", "--missing"),
        ("nothing.csv", "leaves out 'note'", "no row has a value"),
        ("spelt.csv", "takes column 'age' of spelt.csv as text", "--as-number age"),
    ],
)
def test_decisions_are_said(file, decision, option, wrong, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(wrong)
    arguments = ["train", file, *TRAIN.split(), "--strength", "0.1", "--max-seconds", "5"]
    assert main([*arguments, "--out", str(tmp_path / "m.auctor")]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if decision in line]
    assert said
    assert any(option in line for line in said)


# --- the same in Python ---------------------------------------------------------------------------

ROWS = np.random.default_rng(0).normal(size=(60, 2))
SIGNS = (ROWS[:, 0] > 0).astype(int)
FRAME = pd.DataFrame({"age": ROWS[:, 0], "city": ["Oslo", "Rome"] * 30, "y": SIGNS})


def fitted():
    return TableClassifier("auc", strength=0.1).fit(FRAME[["age", "city"]], SIGNS)


@pytest.mark.filterwarnings("ignore::auctor.DataWarning")
@pytest.mark.parametrize(
    ("mistake", "cause", "todo"),
    [
        (lambda: MetricClassifier("acu").fit(ROWS, SIGNS), "got 'acu'", "Did you mean 'auc'?"),
        (lambda: MetricClassifier("f1").fit(ROWS, SIGNS[:9]), "9", "length"),
        (lambda: MetricClassifier("f1").fit(ROWS, np.ones(60)), "two classes", "another class"),
        (lambda: MetricClassifier("f1").fit(ROWS, ROWS[:, 0]), "classes", "LinearRegressor"),
        (lambda: MetricClassifier("f1").fit(ROWS[:, 0], SIGNS), "1", "reshape"),
        (lambda: MetricClassifier("f1").fit(FRAME[["city"]], SIGNS), "'city'", "TableClassifier"),
        (lambda: MetricClassifier("f1").fit(ROWS * np.nan, SIGNS), "NaN", "impute or drop"),
        (lambda: fitted().predict(FRAME[["city"]]), "age", "."),
        (lambda: fitted().predict(FRAME.iloc[0]), "type Series", "pandas.DataFrame([row])"),
        (lambda: fitted().predict({"age": 3, "city": "Oslo"}), "type dict", "Pass a pandas"),
        (lambda: fitted().fit("absent.csv", "y"), "absent.csv", "Check the path"),
        (lambda: fitted().fit(FRAME, "agee"), "'agee'", "Did you mean 'age'?"),
        (lambda: auctor.save(MetricClassifier(), "m.auctor"), "fitted", "fit"),
        (lambda: auctor.load("absent.auctor"), "absent.auctor", "Check the path"),
        (lambda: auctor.load(__file__), "another kind", "pass another"),
        (lambda: auctor.to_sql(MetricClassifier()), "fitted", "Call fit first"),
    ],
)
def test_mistakes_in_python(mistake, cause, todo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AuctorError) as caught:
        mistake()
    assert cause in str(caught.value)
    assert todo in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_probabilities_that_are_not_there_name_the_parameter():
    model = MetricClassifier("auc").fit(ROWS, SIGNS)
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(ROWS)
    assert "Set calibrate and fit again" in str(caught.value)
