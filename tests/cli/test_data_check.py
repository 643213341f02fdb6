"""What is probably not meant in a table is said by every command that trains, and in reports."""

import contextlib
import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import auctor
from auctor.cli.main import main

ROWS = 120
#: Column, what is said of it, the option of the command line, the parameter of Python.
FINDINGS = [
    ("id", "as an id is", "--drop id", "drop=['id']"),
    ("key", "differs in every row", "--as-category key", "as_category=['key']"),
    ("sold", "are dates", "--date sold=%d/%m/%Y", "date={'sold': '%d/%m/%Y'}"),
    ("when", "as dates", "--as-category when", "as_category=['when']"),
    ("price", "are amounts", "--as-number price", "as_number=['price', 'share']"),
    ("share", "the same holds for 'share'", "--as-number share", "as_number=['price', 'share']"),
    ("width", "decimal comma", "--decimal ,", "decimal=','"),
    ("zip_code", "such as a zip code", "--as-category zip_code", "as_category=['zip_code']"),
    ("street", "too few rows of each to learn from", "--drop street", "drop=['street']"),
    ("same", "is 7 in every row", "--drop same", "drop=['same', 'word']"),
    ("word", "the same holds for 'word'", "--drop word", "drop=['same', 'word']"),
    ("copy", "the same as the label", "--drop copy", "drop=['copy']"),
    ("after", "AUC of 1.0000", "--drop after", "drop=['after']"),
    ("gap", "fills missing values", "--missing", "missing="),
]
#: Options that settle all of these.
SETTLED = [
    *("--drop", "id", "--drop", "key", "--drop", "street", "--drop", "same", "--drop", "word"),
    *("--drop", "copy", "--drop", "after", "--date", "sold=%d/%m/%Y", "--as-category", "when"),
    *("--as-number", "price", "--as-number", "share", "--as-number", "width"),
    *("--as-category", "zip_code"),
    *("--missing", "mean"),  # last: inspect fills nothing
]


@pytest.fixture(scope="module")
def dirty():
    """A table with one column of each kind that something is said about, and an ordinary one."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, 2, ROWS)
    return pd.DataFrame(
        {
            "id": range(1001, 1001 + ROWS),
            "key": [f"k{k:x}" for k in range(ROWS)],
            "sold": [f"{k % 28 + 1:02d}/03/2024" for k in range(ROWS)],
            "when": [f"2024-03-{k % 28 + 1:02d}" for k in range(ROWS)],
            "price": [f"${k % 37 + 1},200.50" for k in range(ROWS)],
            "share": [f"{k % 50} %" for k in range(ROWS)],
            "width": [f"{k % 17},5" for k in range(ROWS)],
            "zip_code": rng.choice([10115, 20095, 50667], ROWS),
            "street": [f"street {k % 80}" for k in range(ROWS)],
            "same": 7,
            "word": "here",
            "copy": [("no", "yes")[k] for k in label],
            "after": label * 100 + rng.random(ROWS),
            "gap": [None if k % 9 == 0 else float(k % 13) for k in range(ROWS)],
            "age": rng.integers(18, 80, ROWS),
            "bought": label,
        }
    )


#: As little work for a comparison as there can be.
FEW = ["--folds", "2", "--inner-folds", "2", "--n-strengths", "2", "--surrogate", "squared_hinge"]


def printed(*arguments):
    """What a command prints as JSON."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main(list(arguments)) == 0
    return json.loads(text.getvalue())


@pytest.fixture(scope="module", autouse=True)
def nobody_else():
    """A comparison without the models of others, which take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("auctor.contenders.linear.linear_contenders", lambda penalty: [])
        patch.setattr("auctor.contenders.trees.boosted_contenders", list)
        yield


@pytest.fixture(scope="module")
def said(dirty, tmp_path_factory):
    """What each place says of the table: lines by place."""
    folder = tmp_path_factory.mktemp("dirty")
    path, model, page = (str(folder / name) for name in ("t.csv", "m.auctor", "r.html"))
    dirty.to_csv(path, index=False)
    label = ["--label", "bought", "--json"]
    train = [*label, "--strength", "0.1", "--out", model, "--report", page, "--no-baselines"]
    found = {
        "train": printed("train", path, *train)["warnings"],
        "compare": printed("compare", path, *label, *FEW)["warnings"],
    }
    again = str(folder / "again.html")
    assert main(["report", model, path, "--out", again]) == 0
    for name, file in (("train --report", page), ("report", again)):
        with open(file, encoding="utf-8") as text:
            aside = text.read().split('class="warnings"')[1].split("</aside>")[0]
        found[name] = aside.replace("&#39;", "'").split("<li>")
    with pytest.warns(auctor.DataWarning):
        table = auctor.TableClassifier("auc", strength=0.1).fit(dirty, "bought")
    found["TableClassifier"] = table.notes_
    auctor.save(table, model)
    assert main(["report", model, path, "--out", again]) == 0
    with open(again, encoding="utf-8") as text:
        found["report of a model from Python"] = text.read().replace("&#39;", "'").split("<li>")
    return found


@pytest.mark.parametrize(("column", "what", "option", "parameter"), FINDINGS)
def test_each_is_named_everywhere_with_its_option(said, column, what, option, parameter):
    for place, lines in said.items():
        if place == "compare" and column == "gap":  # its curves keep missing values
            continue
        named = [one for one in lines if repr(column) in one and what in one]
        assert len(named) == 1, place
        assert (parameter if "Python" in place or place[0] == "T" else option) in named[0], place


def test_a_look_at_the_data_says_the_same(dirty, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    dirty.to_csv("t.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["inspect", "t.csv", "--label", "bought"]) == 0
    out, err = capsys.readouterr()
    for column, what, option, _ in FINDINGS[:-1]:
        (line,) = [one for one in err.splitlines() if repr(column) in one and what in one]
        assert option in line
    assert "2024-03-28" in out  # dates as dates, not as days
    table = dirty.assign(width=[word.replace(",", ".") for word in dirty["width"]])
    table.to_csv("t.csv", index=False)
    assert main(["inspect", "t.csv", "--label", "bought", *SETTLED[:-2]]) == 0
    assert capsys.readouterr().err == ""  # inspect takes the options that it advises


def test_nothing_is_said_of_an_ordinary_column(said):
    for lines in said.values():
        assert not any("'age'" in line for line in lines if "warnings" not in line)


@pytest.mark.parametrize("command", ["train", "compare"])
def test_the_options_settle_it(command, dirty, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = dirty.assign(width=[word.replace(",", ".") for word in dirty["width"]])
    table.to_csv("t.csv", index=False)
    quick = FEW if command == "compare" else ["--strength", "0.1"]
    found = printed(command, "t.csv", "--label", "bought", "--json", *quick, *SETTLED)
    assert found["warnings"] == []


# --- decimal commas ---------------------------------------------------------------------------


def test_decimal_commas_are_read_by_every_command(tmp_path, monkeypatch, capsys, refused):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a, y = rng.normal(size=80), np.arange(80) % 2
    points = [f"{x + 0.5 * k:.3f};{k}" for x, k in zip(a, y, strict=True)]
    for name, lines in (("p.csv", points), ("c.csv", [line.replace(".", ",") for line in points])):
        (tmp_path / name).write_text("\n".join(["a;y", *lines]) + "\n")

    def run(name, command, *more):
        comma = ["--decimal", ","] if name == "c.csv" else []
        before = ["m.auctor"] if command in ("predict", "evaluate", "report") else []
        assert main([command, *before, name, *map(str, more), *comma]) == 0
        return capsys.readouterr().out

    train = ("train", "--label", "y", "--strength", "0.1", "--json", "--out", "m.auctor")
    for command, *more in (
        train,
        ("predict", "--scores"),
        ("evaluate", "--json"),
        ("report", "--json", "--out", "r.html"),
        ("compare", "--label", "y", *FEW, "--json"),
        ("stream", "--label", "y", "--json"),
        ("inspect", "--label", "y", "--json"),
    ):
        plain, commas = (run(name, command, *more) for name in ("p.csv", "c.csv"))
        if command in ("predict", "evaluate", "inspect"):
            assert plain.replace("p.csv", "c.csv") == commas
        elif command == "train":
            assert json.loads(plain)["test"] == json.loads(commas)["test"]
        elif command == "compare":
            tables = [json.loads(text)["models"][0]["values"] for text in (plain, commas)]
            assert tables[0] == tables[1]
        elif command == "stream":
            assert json.loads(plain)["auc"] == json.loads(commas)["auc"]
        else:
            tables = [json.loads(text)["models"][0]["headline"] for text in (plain, commas)]
            assert tables[0] == tables[1]
    for out in ("o.npz", "o.shards"):
        run("c.csv", "convert", out, "--label", "y")
    assert np.load("o.npz")["X"][:, 0] == pytest.approx([float(p.split(";")[0]) for p in points])
    forgotten = refused("predict", "m.auctor", "c.csv")
    assert forgotten.endswith("Pass --decimal , if that is a decimal comma.\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main(["stream", "c.csv", "--label", "y"]) == 0
    assert "Pass --decimal , to read them." in capsys.readouterr().err


# --- categories never seen --------------------------------------------------------------------


def test_categories_never_seen_are_counted_wherever_a_model_is_applied(
    table, trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    lines = table.read_text().splitlines()
    changed = [line.replace("Oslo", "Bonn") for line in lines]
    count = sum("Bonn" in line for line in changed)
    (tmp_path / "new.csv").write_text("\n".join(changed) + "\n")
    wanted = f"{count} of {len(lines) - 1} rows with such a category of 'city'"
    train = ("train", "rows.csv", "--test", "new.csv", "--label", "bought", "--strength", "0.1")
    for command in (
        ("predict", "model.auctor", "new.csv", "--out", "p.csv"),
        ("evaluate", "model.auctor", "new.csv"),
        ("report", "model.auctor", "new.csv"),
        (*train, "--out", "other.auctor"),
    ):
        assert main(list(command)) == 0
        assert wanted in capsys.readouterr().err
    assert wanted in (tmp_path / "report.html").read_text().replace("&#39;", "'")
