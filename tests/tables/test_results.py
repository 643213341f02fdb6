"""Columns of results, written from Python."""

import gzip

import numpy as np
import pytest

from auctor import tables
from auctor.core.errors import ParameterError
from auctor.tables import ReadOptions
from auctor.tables.results import write_columns

IDS = np.array([3, 1, 2])
SCORES = np.array([1.0, -0.25, 1e-300])
WORDS = np.array(["a,b", 'say "no"', "two\nlines"], dtype=object)


def chunks(*columns):
    """The columns in two chunks, of two rows and of one."""
    return iter([[column[:2] for column in columns], [column[2:] for column in columns]])


@pytest.mark.parametrize(("ending", "opened"), [(".csv", open), (".csv.gz", gzip.open)])
def test_text_keeps_types_and_is_quoted(ending, opened, tmp_path):
    path = tmp_path / f"out{ending}"
    write_columns(path, ["id", "score", "word"], chunks(IDS, SCORES, WORDS))
    with opened(path, "rb") as file:
        assert file.read().decode() == (
            'id,score,word\n3,1.0,"a,b"\n1,-0.25,"say ""no"""\n2,1e-300,"two\nlines"\n'
        )


def test_parquet_has_a_row_group_for_each_chunk(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_columns(tmp_path / "out.pq", ["id", "score", "word"], chunks(IDS, SCORES, WORDS))
    found = parquet.ParquetFile(tmp_path / "out.pq")
    assert found.num_row_groups == 2
    assert [str(one) for one in found.schema_arrow.types] == ["int64", "double", "string"]
    rows = zip(IDS.tolist(), SCORES.tolist(), WORDS.tolist(), strict=True)
    assert [tuple(row.values()) for row in found.read().to_pylist()] == list(rows)


def test_npy_keeps_the_type_of_one_column(tmp_path):
    path = tmp_path / "out.npy"
    write_columns(path, ["id"], chunks(IDS))
    assert np.load(path).dtype == IDS.dtype
    np.testing.assert_array_equal(np.load(path), IDS)
    write_columns(path, ["word"], chunks(WORDS))
    assert np.load(path).tolist() == WORDS.tolist()
    write_columns(path, ["id", "score"], chunks(IDS, SCORES))
    np.testing.assert_array_equal(np.load(path), np.column_stack([IDS, SCORES]))


def test_what_is_refused_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.npy"
    path.write_text("old")
    with pytest.raises(ParameterError, match="columns of numbers"):
        write_columns(path, ["id", "word"], chunks(IDS, WORDS))
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["out.npy"]
    for name in ("out.npy.gz", "out.svm", "out.arrow"):
        with pytest.raises(ParameterError, match=r"without \.gz|csv"):
            write_columns(tmp_path / name, ["id"], chunks(IDS))


def test_predictions_are_read_back(tmp_path):
    path = tmp_path / "out.tsv.xz"
    write_columns(path, ["id", "score"], chunks(IDS, SCORES))
    found = tables.read_table(path, ReadOptions(labelled=False))
    np.testing.assert_array_equal(found.matrix, np.column_stack([IDS, SCORES]))
