"""Shards of codes made of tables in blocks: the bins and the model of the same rows in memory."""

import json

import numpy as np
import pandas as pd
import pytest

from auctor import AdditiveClassifier, TableClassifier, load
from auctor.additive import sketch as sketches
from auctor.additive.coding import bins_of_codes
from auctor.cli.main import main
from auctor.core.errors import DataError, ParameterError
from auctor.data import open_shards
from auctor.data.shard_writer import write_manifest
from auctor.data.shards import open_folder
from auctor.linear.coded_shards import write_coded
from auctor.tables.options import ReadOptions
from auctor.tables.stats import frequent

pytest.importorskip("pyarrow")
READING = ReadOptions(label="late", chunk_rows=97)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 700
    found = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "city": rng.choice(["Oslo", "Rome", "Bonn", None], n, p=[0.4, 0.3, 0.2, 0.1]),
            "when": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
            "few": rng.integers(0, 5, n),
            "one": 1.0,
        }
    )
    found.loc[rng.random(n) < 0.05, "age"] = np.nan
    bent = np.abs(found.age.fillna(50.0) - 50.0) / 10.0 + (found.city == "Rome")
    found["late"] = np.where(bent + 0.5 * rng.normal(size=n) > 1.2, "yes", "no")
    return found


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    room = tmp_path_factory.mktemp("tables")
    table.to_parquet(room / "rows.parquet")
    table.to_csv(room / "rows.csv", index=False)
    (room / "parts").mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(room / "parts" / f"{k}.parquet")
    return room


@pytest.fixture(scope="module")
def codes(files):
    write_coded(files / "rows.parquet", files / "rows.shards", READING, shard_bytes=2000)
    return files / "rows.shards"


def curves(**more):
    settings = {"members": 2, "interactions": 1, "strength": 0.003, "tol": 1e-7} | more
    return TableClassifier("log_loss", model="additive", **settings)


def test_codes_have_the_bins_and_the_model_of_the_table_in_memory(table, codes):
    here = curves().fit(table, "late")
    data = open_shards(codes)
    assert data.n_shards > 1
    assert data.names == here.schema_.feature_names
    made = bins_of_codes(data)
    for one, two in zip(made.columns, here.model_.bins_.columns, strict=True):
        assert type(one) is type(two)
        np.testing.assert_allclose(one.share, two.share, atol=1e-12)
        for name in ("cuts", "steps", "line", "values"):
            if hasattr(one, name):
                np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-12)
        assert getattr(one, "labels", None) == getattr(two, "labels", None)
    there = here.model_.__class__(**here.model_.get_params()).fit(data)
    np.testing.assert_allclose(there.coef_, here.model_.coef_, atol=1e-6)
    scores = here.decision_function(table)
    np.testing.assert_allclose(there.decision_function(data), scores, atol=1e-6)


def test_bins_of_a_sample_are_those_of_rows_in_memory(table, files, tmp_path, monkeypatch):
    """Whatever the blocks; the shares are those of all rows."""
    from auctor.additive import sample
    from auctor.additive.bins import Bins

    monkeypatch.setattr(sample.sampled_rows, "__defaults__", (300,))
    monkeypatch.setattr(sketches.TableSketch.__init__, "__defaults__", (300,))
    wanted = Bins.of(table[["age"]].to_numpy())
    for rows in (50, 640):
        folder = tmp_path / f"{rows}.shards"
        write_coded(files / "rows.csv", folder, ReadOptions(label="late", chunk_rows=rows))
        data = open_shards(folder)
        found = bins_of_codes(data).columns[0]
        np.testing.assert_allclose(found.cuts, wanted.columns[0].cuts, rtol=1e-12)
        np.testing.assert_allclose(found.share, wanted.columns[0].share, rtol=1e-12)
        assert (found.low, found.high) == (table.age.min(), table.age.max())
        missing = {one[0]: one[2] for one in data.coding["columns"]}
        assert missing["age"] == table.age.isna().sum()
        assert missing["city"] == table.city.isna().sum()


@pytest.mark.parametrize("name", ["rows.parquet", "parts", "rows.csv"])
def test_the_estimator_and_the_command_read_a_table_in_blocks(table, files, name, tmp_path, capsys):
    here = curves().fit(table, "late")
    there = curves().fit(str(files / name), "late")
    assert list(there.feature_names_in_) == list(here.feature_names_in_)
    np.testing.assert_allclose(
        there.decision_function(table), here.decision_function(table), atol=1e-6
    )
    out, page = tmp_path / "m.auctor", tmp_path / "r.html"
    line = ["train", files / name, "--label", "late", "--memory", "1MB", "--metric", "log_loss"]
    line += ["--members", 2, "--interactions", 1, "--strength", 0.003, "--tol", 1e-7]
    line += ["--out", out, "--report", page, "--json", "--model", "additive"]
    assert main([*map(str, line)]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == len(table)
    saved = load(out)
    np.testing.assert_allclose(
        saved.decision_function(table), here.decision_function(table), atol=1e-6
    )
    assert not list(tmp_path.glob(".auctor-codes*"))
    text = page.read_text()
    for part in ("city", "Oslo", "costliest"):
        assert part in text


def test_the_command_converts_to_codes_and_trains_on_them(files, tmp_path, capsys):
    folder, out = tmp_path / "c.shards", tmp_path / "m.auctor"
    assert main(["convert", str(files / "rows.csv"), str(folder), "--label", "late", "--bins"]) == 0
    assert capsys.readouterr().out.startswith("700 rows, 5 columns: ")
    # A byte per entry, in words of eight columns, a byte per label, and the manifest.
    assert sum(one.stat().st_size for one in folder.glob("*.shard")) < 8 * 700 + 700 + 128
    assert main(["train", str(folder), "--members", "2", "--out", str(out), "--quiet"]) == 0
    assert load(out).model_kind_.startswith("curves")
    assert main(["train", str(folder), "--model", "linear", "--out", str(out)]) == 2
    assert (
        "curves for a table that is read in blocks; got --model linear" in capsys.readouterr().err
    )
    assert main(["convert", str(files / "rows.csv"), "c.csv", "--label", "late", "--bins"]) == 2
    assert "a folder of shards for --bins" in capsys.readouterr().err


# --- what is refused --------------------------------------------------------------------------


def test_codes_of_other_bins_are_refused(table, codes, files, tmp_path):
    model = AdditiveClassifier(members=1, interactions=0, strength=0.01).fit(open_shards(codes))
    other = tmp_path / "other.shards"
    table.iloc[::2].to_csv(tmp_path / "half.csv", index=False)
    write_coded(tmp_path / "half.csv", other, READING)
    with pytest.raises(DataError, match="with the bins of the model; got shards of other codes"):
        model.decision_function(open_shards(other))
    # A manifest whose bins are not those that its codes were made with.
    folder = open_folder(other)
    coding = folder.coding | {"fingerprint": open_folder(codes).coding["fingerprint"]}
    entries = [shard.entry for shard in folder.shards]
    write_manifest(other, 5, entries, sparse=False, labels=folder.labels, coding=coding)
    with pytest.raises(DataError, match="the bins of the codes in the manifest; got other bins"):
        AdditiveClassifier().fit(open_shards(other))


def test_what_needs_numbers_is_refused_for_codes(codes):
    from auctor import MetricClassifier
    from auctor.tables import open_stream

    data = open_shards(codes)
    with pytest.raises(DataError, match="shards of numbers for a linear model; got codes of bins"):
        MetricClassifier().fit(data)
    with pytest.raises(ParameterError, match="shards of numbers for n_bins=9"):
        AdditiveClassifier(n_bins=9).fit(data)
    with pytest.raises(ParameterError, match="columns of numbers in monotone"):
        AdditiveClassifier(monotone={"city": 1}).fit(data)
    with pytest.raises(DataError, match="the table, or shards of numbers; got codes of bins"):
        next(open_stream(codes))


def test_tables_that_cannot_be_coded_are_refused(files, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        DataError, match=r"files that end in .parquet; got the folder .* without one"
    ):
        curves().fit(tmp_path / "empty", "late")
    with pytest.raises(DataError, match="the name of the label column"):
        curves().fit(files / "rows.csv", np.zeros(700))
    with pytest.raises(ParameterError, match="all rows in memory for sample_weight"):
        curves().fit(files / "rows.csv", "late", np.ones(700))
    with pytest.raises(ParameterError, match="curves for a table that is read in blocks"):
        TableClassifier(model="linear").fit(files / "rows.csv", "late")


# --- words ------------------------------------------------------------------------------------


def test_counts_of_frequent_words_hold_their_bound_in_any_order():
    rng = np.random.default_rng(1)
    words = np.where(rng.random(4000) < 0.3, "often", rng.integers(0, 900, 4000).astype(str))
    whole = {word: int(n) for word, n in zip(*np.unique(words, return_counts=True), strict=True)}
    for parts in (7, 40):
        known: dict[str, int] = {}
        for part in np.array_split(words, parts):
            for word in part.tolist():
                known[word] = known.get(word, 0) + 1
            known = frequent(known, 20)
        assert len(known) <= 20
        assert all(whole[word] - 4000 / 21 <= n <= whole[word] for word, n in known.items())
        assert "often" in known


def test_words_beyond_those_counted_are_one_level(tmp_path, monkeypatch):
    monkeypatch.setattr(sketches, "MOST_WORDS", 10)
    rng = np.random.default_rng(2)
    often = rng.random(1000) < 0.5
    words = np.where(often, rng.choice(["a", "b"], 1000), [f"w{k % 90}" for k in range(1000)])
    labels = np.where(words == "a", "yes", "no")
    pd.DataFrame({"t": words, "x": rng.normal(size=1000), "y": labels}).to_csv(
        tmp_path / "t.csv", index=False
    )
    write_coded(tmp_path / "t.csv", tmp_path / "t.shards", ReadOptions(label="y", chunk_rows=100))
    column = bins_of_codes(open_shards(tmp_path / "t.shards")).columns[0]
    assert {"a", "b"} <= set(column.labels)
    # The shares are those of all rows.
    code = 1 + column.labels.index("a")
    assert column.share[code] == pytest.approx(np.mean(words == "a"))
    assert column.share.sum() == pytest.approx(1.0)
