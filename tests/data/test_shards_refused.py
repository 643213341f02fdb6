"""What shards refuse, by name and before a solve begins; and what is fine."""

import errno
import hashlib
import os
import shutil

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor import MetricClassifier
from auctor.core.errors import AuctorError, DataError, DataLost, IncompatibleError
from auctor.core.types import Target
from auctor.data import Dense, Sharded, open_shards
from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.sharded import check_entries
from auctor.data.shards import shard_path
from auctor.data.workers import MemoryWorkers
from auctor.tables import ReadOptions, write_shards
from auctor.tables import shards as writer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=90) > 0.5, 1.0, -1.0)


def store(where, parts):
    """A folder of shards of these dense rows and targets."""
    where.mkdir()
    shards = [write_shard(shard_path(where, k), *part) for k, part in enumerate(parts)]
    write_manifest(where, parts[0][0].shape[1], shards, sparse=False)
    return where


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
    with pytest.raises(DataError, match="some rows"):
        open_shards(store(tmp_path / "none.shards", [(X[:0], Y[:0])]))
    parts = [(X[:0], Y[:0]), (X, Y), (X[:0], Y[:0])]
    gaps = MetricClassifier("auc", strength=1e-2).fit(
        open_shards(store(tmp_path / "gaps.shards", parts))
    )
    whole = MetricClassifier("auc", strength=1e-2).fit(
        Sharded(MemoryWorkers([Dense(X, Target(Y), n_threads=1)]))
    )
    np.testing.assert_allclose(gaps.coef_, whole.coef_, rtol=1e-12)


def test_more_threads_than_shards_are_fine():
    data = Sharded(MemoryWorkers([Dense(X, Target(Y), n_threads=1)], n_threads=5))
    np.testing.assert_allclose(data.scores(np.ones(3)), X.sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_bad_entries_are_named_by_shard_and_row(tmp_path, bad):
    parts = [(X[:4].copy(), Y[:4]) for _ in range(20)]
    parts[17][0][3, 1] = bad
    folder = store(tmp_path / "bad.shards", parts)
    with pytest.raises(DataError, match=r"in 000017\.shard, row 3"):
        open_shards(folder)
    assert open_shards(folder, check=False).n_rows == 80


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
        return write_shard(*arguments, **options)

    monkeypatch.setattr(writer, "write_shard", full)
    parts = [(X[rows], Y[rows]) for rows in np.array_split(np.arange(90), 5)]
    with pytest.raises(AuctorError, match="No space left"):
        write_shards(parts, tmp_path / "rows.shards", shard_bytes=1)
    assert list(tmp_path.iterdir()) == []


def test_an_absent_label_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="label"):
        write_shards(tmp_path / "rows.csv", tmp_path / "rows.shards", ReadOptions(label="z"))
    assert not (tmp_path / "rows.shards").exists()


def test_a_shard_of_two_to_the_31_entries_is_refused(tmp_path, monkeypatch):
    from auctor.data import shard_writer as shards

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


def test_a_folder_without_a_manifest_is_refused(tmp_path):
    folder = store(tmp_path / "old.shards", [(X, Y)])
    (folder / "manifest").rename(folder / "notes.json")
    with pytest.raises(DataError, match=r"as before version 2 .* Run auctor convert"):
        open_shards(folder)


def test_missing_doubled_and_exchanged_shards_are_named(tmp_path):
    folder = store(tmp_path / "rows.shards", [(X[:30], Y[:30]), (X[30:60], Y[30:60])])
    first, second = sorted(folder.glob("*.shard"))
    shutil.copy(first, folder / "000002.shard")
    with pytest.raises(DataError, match=r"does not list: 000002\.shard"):
        open_shards(folder)
    (folder / "000002.shard").unlink()
    first.rename(folder / "a")
    with pytest.raises(DataError, match=r"missing shard: 000000\.shard"):
        open_shards(folder)
    second.rename(first)
    (folder / "a").rename(second)
    with pytest.raises(DataError, match=r"\(checksum\): 00000[01]\.shard"):
        open_shards(folder)
    second.unlink()
    os.mkfifo(second)
    with pytest.raises(DataError, match=r"something else than a file: 000001\.shard"):
        open_shards(folder)


def test_a_shard_that_changes_while_it_is_used_ends_the_pass(tmp_path):
    folder = store(tmp_path / "rows.shards", [(X, Y)])
    data = open_shards(folder)
    (shard,) = folder.glob("*.shard")
    shard.write_bytes(shard.read_bytes()[::-1])
    with pytest.raises(DataLost, match=r"000000\.shard in every pass; got a file that has changed"):
        data.gradient(np.ones(90))


def test_two_writers_of_one_folder_are_told_at_once(tmp_path):
    target = tmp_path / "rows.shards"

    def chunks():
        yield X, Y
        with pytest.raises(DataError, match="which another one is writing"):
            write_shards([(X, Y)], target)
        yield X, Y

    assert write_shards(chunks(), target).rows == 180
    assert [one.name for one in tmp_path.iterdir()] == ["rows.shards"]


def test_a_folder_that_appears_meanwhile_is_kept(tmp_path):
    target = tmp_path / "rows.shards"

    def chunks():
        yield X, Y
        store(target, [(X[:9], Y[:9])])

    with pytest.raises(DataError, match="which another program made meanwhile"):
        write_shards(chunks(), target)
    assert open_shards(target).n_rows == 9
    assert [one.name for one in tmp_path.iterdir()] == ["rows.shards"]


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / ".rows.shards.unfinished"
    left.mkdir()
    (left / "000007.shard").write_bytes(b"half")
    write_shards([(X, Y)], tmp_path / "rows.shards")
    assert open_shards(tmp_path / "rows.shards").n_rows == 90
    assert not left.exists()


def test_a_folder_has_the_permissions_of_the_user(tmp_path):
    before = os.umask(0o027)
    try:
        write_shards([(X, Y)], tmp_path / "rows.shards")
    finally:
        os.umask(before)
    assert (tmp_path / "rows.shards").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("label", [None, np.nan])
def test_labels_that_are_missing_are_refused(tmp_path, label):
    with pytest.raises(AuctorError, match="label"):
        write_shards([(X[:2], np.array([label, 1.0], dtype=object))], tmp_path / "rows.shards")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [np.nan, -np.inf, 1e150])
@pytest.mark.parametrize("names", [("a", "b", "c"), None])
def test_bad_entries_on_a_cluster_are_named_by_column(names, bad):
    parts = [X[:40].copy(), X[40:].copy()]
    parts[1][7, 2] = bad
    workers = MemoryWorkers([Dense(part, Target(Y[: len(part)]), n_threads=1) for part in parts])
    column = "number 2" if names is None else "'c'"
    with pytest.raises(DataError, match=f"in row 7 of partition 1; column {column} holds"):
        check_entries(Sharded(workers, names=names))


def test_columns_that_do_not_fit_into_memory_are_refused(tmp_path, monkeypatch):
    folder = tmp_path / "wide.shards"
    folder.mkdir()
    entry = write_shard(shard_path(folder, 0), csr_array(X), Y)
    write_manifest(folder, 2**31 - 1, [entry], sparse=True)
    monkeypatch.setattr("auctor.core.memory.available_bytes", lambda: 10**9)
    with pytest.raises(DataError, match="GB of memory for vectors of 2,147,483,647 columns"):
        open_shards(folder)


def test_two_columns_of_one_name_are_refused_by_writer_and_reader(tmp_path):
    folder = store(tmp_path / "rows.shards", [(X, Y)])
    with pytest.raises(DataError, match="name of its own for every column; got 3 columns with 2"):
        write_manifest(folder, 3, [], sparse=False, names=("a", "b", "a"))
    _, _, text = (folder / "manifest").read_bytes().partition(b"\n")
    forged = text.replace(b'"names":null', b'"names":["a","b","a"]')
    start = b"AUCTOR SHARDS 2 " + hashlib.sha256(forged).hexdigest().encode()
    (folder / "manifest").write_bytes(start + b"\n" + forged)
    with pytest.raises(DataError, match="fields that no manifest has: manifest"):
        open_shards(folder)


def test_a_shard_with_bytes_after_its_end_is_not_called_truncated(tmp_path):
    folder = store(tmp_path / "rows.shards", [(X, Y)])
    shard = folder / "000000.shard"
    shard.write_bytes(shard.read_bytes() + bytes(64))
    with pytest.raises(DataError, match=r"bytes instead of \d+: 000000.shard"):
        open_shards(folder)
