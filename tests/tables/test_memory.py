"""Files that need more memory than there is are refused, with an estimate."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from auctor.core import memory
from auctor.core.errors import DataError
from auctor.tables import ReadOptions, open_stream, read_table


@pytest.fixture
def little(monkeypatch):
    """A process that may still use 100 MB."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**8)


def test_the_limit_of_a_process_counts():
    code = (
        "import resource; from auctor.core.memory import available_bytes; "
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); "
        "assert 0 < available_bytes() < 3 << 30"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_small_archive_of_much_data(little, tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, X=np.zeros((50_000, 300)), y=np.zeros(50_000))
    assert path.stat().st_size < 10**6
    for read in (read_table, lambda path: list(open_stream(path))):
        with pytest.raises(DataError, match=r"about 0.1 GB of memory for the arrays of .*bomb"):
            read(path)


def test_many_columns_of_text(little):
    names = ",".join(f"c{k}" for k in range(20_000))
    text = f"{names},y\n{'1,' * 20_000}1\n".encode()
    with pytest.raises(DataError, match=r"about 0\.\d GB of memory for 20,001 columns of text"):
        read_table(io.BytesIO(text), ReadOptions(format="csv"))


def test_rows_and_categories_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available_bytes", lambda: 200_000)
    rows = b"y,a,b\n" + b"1,2.5,a\n0,1,b\n" * 5
    assert read_table(io.BytesIO(rows), ReadOptions(format="csv")).matrix.shape == (10, 3)
    many = b"y,a,b\n" + b"1,2.5,3\n0,1,2\n" * 50_000
    with pytest.raises(DataError, match=r"GB of memory for [\d,]+ rows of 2 columns and more"):
        read_table(io.BytesIO(many), ReadOptions(format="csv"))
    sparse = b"1 1:2 2:3 3:4\n" * 50_000
    with pytest.raises(DataError, match=r"GB of memory for [\d,]+ entries"):
        read_table(io.BytesIO(sparse), ReadOptions(format="svmlight"))


def test_an_array_that_is_truncated_while_it_is_read(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.ones((40_000, 50)))
    chunks = open_stream(path, ReadOptions(chunk_rows=100))
    next(chunks)
    os.truncate(path, 4096)
    with pytest.raises(DataError, match=r"the end of the file within an array in .*rows\.npy"):
        list(chunks)


def test_memory_that_runs_out_names_the_file(monkeypatch):
    def fails(*args):
        raise MemoryError

    monkeypatch.setattr("auctor.tables.gather.ColumnStats.add", fails)
    with pytest.raises(DataError, match="more memory for BytesIO"):
        read_table(io.BytesIO(b"y,a\n1,2\n"), ReadOptions(format="csv"))
