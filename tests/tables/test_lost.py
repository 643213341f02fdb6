"""Values of new rows that a model cannot use: counted, said, refused on request."""

import csv
import io
import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from auctor import TableClassifier
from auctor.cli.main import main
from auctor.core.errors import DataError, DataWarning
from auctor.tables import ReadOptions, open_stream, read_table

N = 80


def _rows(n=N):
    rng = np.random.default_rng(0)
    days = rng.integers(0, 2000, n)
    when = pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D")
    return pd.DataFrame(
        {
            "sold": when.strftime("%Y-%m-%d"),
            "price": [f"${d:,}.50" for d in days],
            "city": rng.choice(["Oslo", "Rome"], n),
            "bought": np.where(days + rng.normal(0, 200, n) > 1000, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def model():
    return TableClassifier("auc", reading=ReadOptions(as_number=["price"]), strength=0.01).fit(
        _rows(), "bought"
    )


def _day_first(table):
    return table.assign(sold=pd.to_datetime(table["sold"]).dt.strftime("%d/%m/%Y"))


def test_dates_of_another_form_are_counted_with_an_example_and_the_rule(model):
    new = _day_first(_rows())
    with pytest.warns(DataWarning) as said:
        model.predict(new)
    (text,) = {str(one.message) for one in said}
    assert text.startswith("TableClassifier takes values that it cannot read as missing")
    assert f"{N} of {N} values of 'sold' such as '" in text
    assert "where the model has dates year-month-day" in text
    assert model.check(new) == [text]


def test_amounts_and_categories_that_are_all_unknown(model):
    new = _rows().assign(price="about ten", city=["oslo", "rome"] * (N // 2))
    (text,) = model.check(new)
    assert "'about ten', where the model has amounts with a decimal point" in text
    assert "of 'city' such as 'oslo', where the model has categories such as 'Oslo', 'Rome'" in text
    with pytest.warns(DataWarning, match="'about ten'"):
        model.decision_function(new)


def test_what_can_be_read_is_not_warned_of(model):
    new = _rows()
    new.loc[:4, ["sold", "city"]] = None
    new.loc[5, "city"] = "Bonn"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(new)
    (text,) = model.check(new)
    assert f"1 of {N} rows with such a category of 'city'" in text


def test_refused_on_request(model):
    strict = TableClassifier(
        "auc", reading=ReadOptions(as_number=["price"], unreadable="refuse"), strength=0.01
    )
    strict.fit(_rows(), "bought").predict(_rows())
    with pytest.raises(DataError, match=r"values that the model can read; got 80 of 80 .*'sold'"):
        strict.predict(_day_first(_rows()))
    with pytest.raises(DataError, match="'city'"):
        strict.predict(_rows().assign(city="OSLO"))


def _text(frame):
    return io.BytesIO(frame.to_csv(index=False).encode())


def test_files_and_streams_say_the_same(model):
    text, options = _day_first(_rows()), {"schema": model.schema_, "label": "bought"}
    warns = ReadOptions(format="csv", chunk_rows=7, **options)
    refuses = replace(warns, unreadable="refuse")
    for read in (read_table, lambda *source: list(open_stream(*source))):
        with pytest.warns(DataWarning, match=f"{N} of {N} values of 'sold'"):
            read(_text(text), warns)
        with pytest.raises(DataError, match="'sold'"):
            read(_text(text), refuses)
        with pytest.raises(DataError, match=f"{N} of {N} values of 'city'"):
            read(_text(_rows().assign(city="x")), refuses)
    # A chunk in which all categories are unknown is no reason to refuse the stream.
    mixed = _rows().assign(city=["Bonn"] * 7 + ["Oslo"] * (N - 7))
    chunks = open_stream(
        _text(mixed), ReadOptions(format="csv", chunk_rows=7, unreadable="refuse", **options)
    )
    assert sum(chunk.lost["city"].rows for chunk in chunks) == 7


def test_commands_count_warn_and_refuse(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _rows().to_csv("rows.csv", index=False)
    _day_first(_rows()).to_csv("new.csv", index=False)
    train = ["train", "rows.csv", "--label", "bought", "--as-number", "price", "--out", "m.auctor"]
    assert main([*train, "--strength", "0.01", "--metric", "auc", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["predict", "m.auctor", "new.csv", "--out", "p.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["unreadable"] == {"sold": N}
    assert "--unreadable refuse" in err
    assert "where the model has dates year-month-day" in err
    assert main(["evaluate", "m.auctor", "new.csv", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["unreadable"] == {"sold": N}
    assert f"{N} of {N} values of 'sold'" in err
    with open("p.csv") as file:
        before = list(csv.reader(file))
    for command in (["predict", "--out", "p.csv"], ["evaluate"]):
        arguments = [command[0], "m.auctor", "new.csv", *command[1:], "--unreadable", "refuse"]
        assert main(arguments) == 2
        assert "needs values that the model can read" in capsys.readouterr().err
    with open("p.csv") as file:
        assert list(csv.reader(file)) == before


def test_text_that_is_missing_in_training_is_noted():
    rows = _rows()
    rows.loc[:3, "price"] = "ask"
    model = TableClassifier("auc", reading=ReadOptions(as_number=["price"]), strength=0.01).fit(
        rows, "bought"
    )
    (note,) = [note for note in model.notes_ if "no date or amount" in note]
    assert f"4 of {N} values of 'price' such as 'ask'" in note
