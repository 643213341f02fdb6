"""What shards refuse, by name and before a solve begins; and what is fine."""

import errno

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.core.errors import AuctorError, DataError, IncompatibleError
from auctor.core.types import Target
from auctor.data import Dense, Sharded, open_shards
from auctor.data.shards import shard_path, write_shard
from auctor.data.workers import MemoryWorkers
from auctor.tables import shards as writer
from auctor.tables import write_shards

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=90) > 0.5, 1.0, -1.0)


def test_one_class_in_all_shards_is_refused(tmp_path):
    write_shards([(X, np.ones(90))], tmp_path / "one.shards")
    with pytest.raises(DataError, match="two classes"):
        open_shards(tmp_path / "one.shards")


def test_one_class_in_some_shards_is_fine(tmp_path):
    order = np.argsort(Y)
    parts = [(X[rows], Y[rows]) for rows in np.array_split(order, 3)]
    write_shards(parts, tmp_path / "sorted.shards", shard_bytes=1)
    data = open_shards(tmp_path / "sorted.shards")
    model = MetricClassifier("auc", strength=1e-2, tol=1e-8).fit(data)
    whole = MetricClassifier("auc", strength=1e-2, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-4)


def test_an_empty_shard_is_fine_and_only_empty_ones_are_not(tmp_path):
    folder = tmp_path / "gaps.shards"
    folder.mkdir()
    write_shard(shard_path(folder, 0), X[:0], Y[:0])
    with pytest.raises(DataError, match="some rows"):
        open_shards(folder)
    write_shard(shard_path(folder, 1), X, Y)
    write_shard(shard_path(folder, 2), X[:0], Y[:0])
    gaps = MetricClassifier("auc", strength=1e-2).fit(open_shards(folder))
    whole = MetricClassifier("auc", strength=1e-2).fit(
        Sharded(MemoryWorkers([Dense(X, Target(Y), n_threads=1)]))
    )
    np.testing.assert_allclose(gaps.coef_, whole.coef_, rtol=1e-12)


def test_more_threads_than_shards_are_fine():
    data = Sharded(MemoryWorkers([Dense(X, Target(Y), n_threads=1)], n_threads=5))
    np.testing.assert_allclose(data.scores(np.ones(3)), X.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_bad_entries_are_named_by_shard_and_row(tmp_path, bad):
    folder = tmp_path / "bad.shards"
    folder.mkdir()
    for number in range(20):
        part = X[:4].copy()
        if number == 17:
            part[3, 1] = bad
        write_shard(shard_path(folder, number), part, Y[:4])
    with pytest.raises(DataError, match="in shard 17, row 3"):
        open_shards(folder)


def test_a_solver_that_needs_columns_is_refused(tmp_path):
    write_shards([(X, Y)], tmp_path / "rows.shards")
    data = open_shards(tmp_path / "rows.shards")
    with pytest.raises(IncompatibleError, match=r"CoordinateDescent needs .*column"):
        MetricClassifier("log_loss", penalty="l1", solver="coordinate_descent").fit(data)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    count = []

    def full(*arguments, **options):
        count.append(1)
        if len(count) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_shard(*arguments, **options)

    monkeypatch.setattr(writer, "write_shard", full)
    parts = [(X[rows], Y[rows]) for rows in np.array_split(np.arange(90), 5)]
    with pytest.raises(AuctorError, match="No space left"):
        write_shards(parts, tmp_path / "rows.shards", shard_bytes=1)
    assert list(tmp_path.iterdir()) == []


def test_an_absent_label_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="label"):
        write_shards(tmp_path / "rows.csv", tmp_path / "rows.shards", label="z")
    assert not (tmp_path / "rows.shards").exists()


def test_other_names_than_those_of_its_siblings_are_refused(tmp_path):
    write_shard(shard_path(tmp_path, 0), X, Y, names=["a", "b", "c"])
    write_shard(shard_path(tmp_path, 1), X, Y, names=["a", "b", "z"])
    with pytest.raises(DataError, match=r"or other names, in 000001\.shard"):
        open_shards(tmp_path)


def test_a_shard_of_two_to_the_31_entries_is_refused(tmp_path, monkeypatch):
    from scipy.sparse import csr_array

    from auctor.data import shards

    assert shards.MOST_ENTRIES == 2**31 - 1
    monkeypatch.setattr(shards, "MOST_ENTRIES", 3)  # as many entries would take 24 GB
    with pytest.raises(DataError, match="at most 3 entries in a shard; got 4"):
        write_shard(tmp_path / "a.shard", csr_array(np.ones((2, 2))), Y[:2])
    assert list(tmp_path.iterdir()) == []


def test_no_shard_at_all_is_refused(tmp_path):
    with pytest.raises(DataError, match="a folder with shards"):
        open_shards(tmp_path)


def test_calibration_needs_rows_in_memory(tmp_path):
    write_shards([(X, Y)], tmp_path / "rows.shards")
    data = open_shards(tmp_path / "rows.shards")
    with pytest.raises(DataError, match="rows in memory"):
        MetricClassifier("auc", calibrate="sigmoid").fit(data)
