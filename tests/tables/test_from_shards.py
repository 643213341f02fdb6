"""Shards as rows to predict and to measure on; parts of a stream that make no shards."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from auctor import MetricClassifier, save
from auctor.cli.main import main
from auctor.core.errors import DataError
from auctor.tables import Column, ReadOptions, Schema, open_stream, read_table, write_shards

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=90) > 0, "yes", "no")


@pytest.fixture
def shards(tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y)
    write_shards(table, tmp_path / "rows.shards", ReadOptions(label="y"), shard_bytes=700)
    return tmp_path / "rows.shards"


def test_a_folder_of_shards_is_a_stream(shards):
    chunks = list(open_stream(shards, ReadOptions(chunk_rows=20)))
    assert len(chunks) > 2
    np.testing.assert_array_equal(np.vstack([chunk.matrix for chunk in chunks]), X)
    assert np.concatenate([chunk.labels for chunk in chunks]).tolist() == Y.tolist()
    assert chunks[0].columns == ("a", "b", "c")
    schema = Schema.of([Column("c", "number"), Column("a", "number")], "y")
    (chunk,) = list(open_stream(shards, ReadOptions(schema=schema)))[:1]
    np.testing.assert_array_equal(chunk.matrix, X[: chunk.n_rows, [2, 0]])
    with pytest.raises(DataError, match=r"none named d in .*rows\.shards"):
        list(open_stream(shards, ReadOptions(schema=Schema.of([Column("d", "number")], "y"))))


def test_sparse_shards_take_the_width_of_the_schema(tmp_path):
    matrix = sparse.random(50, 7, density=0.4, random_state=0, format="csr")
    write_shards([(matrix, np.arange(50) % 2)], tmp_path / "s")
    for width in (5, 7, 9):
        (chunk,) = open_stream(tmp_path / "s", ReadOptions(schema=Schema((), None, width, None, 1)))
        wanted = np.pad(matrix.toarray(), ((0, 0), (0, 2)))[:, :width]
        np.testing.assert_array_equal(chunk.matrix.toarray(), wanted)


def test_a_damaged_shard_is_refused(shards):
    first = min(shards.glob("*.shard"))
    content = bytearray(first.read_bytes())
    content[3] ^= 1
    first.write_bytes(content)
    with pytest.raises(DataError, match="checksum"):
        list(open_stream(shards))


def test_commands_predict_and_measure_on_shards(shards, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    save(MetricClassifier("auc").fit(frame, Y), "m.auctor")
    frame.assign(y=Y).to_csv("rows.csv", index=False)
    for source in ("rows.csv", "rows.shards"):
        assert main(["predict", "m.auctor", source, "--out", f"{source}.out.csv"]) == 0
        assert main(["evaluate", "m.auctor", source, "--json", "--label", "y"]) == 0
    one, two = (pd.read_csv(f"{source}.out.csv") for source in ("rows.csv", "rows.shards"))
    pd.testing.assert_frame_equal(one, two)
    lines = capsys.readouterr().out.replace("}\n{", "}\x00{").split("\x00")
    assert len({json.loads(line)["score"] for line in lines}) == 1


def test_a_table_in_memory_says_who_reads_shards(shards):
    with pytest.raises(DataError, match=r"the folder .*Pass a file of it; shards are read by"):
        read_table(shards)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([0, 1, np.nan], float),
        ([0, None, 1], object),
        (["a", None, "b"], object),
        (["a", float("nan"), "b"], object),
        (["a", pd.NA, "b"], object),
    ],
)
def test_missing_labels_make_no_shards(labels, kind, tmp_path):
    part = (X[:3], np.array(labels, dtype=kind))
    with pytest.raises(DataError, match="a label in every row; got 1 missing in the 3 rows from"):
        write_shards([part], tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_parts_of_other_widths_make_no_shards(size, tmp_path):
    y = [0, 1, 1]
    for other in (X[:3, :2], sparse.csr_array(X[:3])):
        with pytest.raises(DataError, match=r"3 dense columns in every part; got .*from row 3"):
            write_shards([(X[:3], y), (other, y)], tmp_path / "s", shard_bytes=size)
