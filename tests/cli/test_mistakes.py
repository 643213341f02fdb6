"""Mistakes that users make: each ends in one line with its cause and one thing to do."""

import csv
import json

import pytest

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
        (["train", "rows.csv", "--label", "bougth"], "bougth", "bought"),
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
        (["train", "rows.csv", "--label", "bought", "--class-weight", "5"], "LABEL=WEIGHT", "so."),
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
    assert "1 of 2 rows have a category of 'city' that training has not seen" in err


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
