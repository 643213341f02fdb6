"""Additive models of rows in shards: the bins and the model of the same rows in memory."""

import numpy as np
import pytest

from auctor import AdditiveClassifier
from auctor.additive import sample
from auctor.additive.bins import Bins
from auctor.additive.sample import distinct_values, merged, sampled_rows
from auctor.core.errors import DataError, DataLost
from auctor.core.types import Target
from auctor.data import Dense, Sharded, open_shards
from auctor.data.shard_writer import write_manifest, write_shard
from auctor.data.shards import shard_path
from auctor.data.workers import MemoryWorkers


def _rows(n, seed=0):
    """Numbers, few values, missing ones and a category, and labels that depend on a pair."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 3] = rng.integers(0, 7, n)
    X[:, 4] = np.round(X[:, 4], 1)
    X[rng.random(n) < 0.05, 1] = np.nan
    bent = X[:, 0] * X[:, 2] + np.nan_to_num(X[:, 1]) ** 2 + (X[:, 3] == 2.0)
    return X, np.where(bent + rng.normal(size=n) > 1.0, 1.0, -1.0)


def _shards(X, y, cuts, weight=None):
    parts = np.split(np.arange(y.size), cuts)
    weights = [None if weight is None else weight[part] for part in parts]
    return Sharded(
        MemoryWorkers(
            [
                Dense(np.ascontiguousarray(X[part]), Target(y[part], one), n_threads=1)
                for part, one in zip(parts, weights, strict=True)
            ]
        )
    )


@pytest.mark.parametrize(
    ("metric", "surrogate"),
    [("log_loss", "logistic"), ("auc", "squared_hinge"), ("f1", "pairwise")],
)
def test_the_model_is_that_of_rows_in_memory(metric, surrogate):
    X, y = _rows(400)
    model = AdditiveClassifier(
        metric,
        surrogate=surrogate,
        members=2,
        interactions=2,
        categorical=[3],
        n_strengths=3,
        tol=1e-7,
    )
    here = model.fit(X, y)
    coef, oof, names = here.coef_, here.oof_scores_, here.names_
    there = model.fit(_shards(X, y, [100, 250]), None)
    assert there.names_ == names
    np.testing.assert_allclose(there.coef_, coef, atol=1e-6)
    np.testing.assert_allclose(there.oof_scores_, oof, atol=1e-6)
    assert there.gap_ <= 1e-7
    scores = there.decision_function(_shards(X, y, [100, 250]))
    np.testing.assert_allclose(scores, there.decision_function(X), rtol=1e-12)


def test_weights_of_zero_on_one_worker_are_rows_that_are_not_there():
    X, y = _rows(600)
    weight = np.repeat([1.0, 0.0], 300)
    one = AdditiveClassifier(members=1, interactions=0, strength=0.01, tol=1e-10)
    here = one.fit(X[:300], y[:300]).coef_
    there = one.fit(_shards(X, y, [300], weight), None).coef_
    np.testing.assert_allclose(there, here, atol=1e-6)


# --- bins ------------------------------------------------------------------------------------


def _same(one, two):
    assert len(one.columns) == len(two.columns)
    for a, b in zip(one.columns, two.columns, strict=True):
        names = ("values",) if hasattr(a, "labels") else ("cuts", "line", "steps", "low", "high")
        for name in (*names, "share"):
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("cuts", [[], [10], [1, 900], [333, 334, 700]])
@pytest.mark.parametrize("most", [300, 5000])
def test_bins_do_not_depend_on_where_the_rows_are(cuts, most, monkeypatch):
    """Also those of a sample of the rows; a value in one shard alone has its code."""
    monkeypatch.setattr(sample, "MOST_SAMPLED", most)
    monkeypatch.setattr(sample.sampled_rows, "__defaults__", (most,))
    X, y = _rows(1000)
    X[:, 4] = 7.0
    X[:3, 4] = [1.0, 2.0, 3.0]
    weight = np.random.default_rng(1).random(1000)
    for mass in (None, weight):
        here = Bins.of(X, mass, None, {3: None})
        _same(here, Bins.of(_shards(X, y, cuts), mass, None, {3: None}))
        assert here.columns[4].cuts.size == 3
        # Shares, and the range, are those of all rows, whatever the cuts are made of.
        codes = here.codes(X)
        for column, line in zip(here.columns, codes, strict=True):
            share = np.bincount(line, mass, minlength=column.size)
            np.testing.assert_allclose(column.share, share / share.sum(), rtol=1e-12)
        assert here.columns[0].low == X[:, 0].min()
        assert here.columns[0].high == X[:, 0].max()


def test_the_sample_has_the_rows_of_smallest_hash_and_is_even():
    rows = sampled_rows(100_000, most=2000)
    assert rows.size == np.unique(rows).size == 2000
    assert (np.diff(rows) > 0).all()
    assert set(sampled_rows(100_000, most=500)) <= set(rows)
    # The share of the sample below any row number is that of the rows, up to chance.
    assert np.abs(np.arange(2000) / 2000 - rows / 100_000).max() < 0.06


def test_distinct_values_are_those_of_numpy():
    rng = np.random.default_rng(2)
    values = np.round(rng.normal(size=5000), 1)
    values[rng.random(5000) < 0.1] = np.nan
    values[:2] = [0.0, -0.0]
    weight = rng.integers(0, 3, 5000).astype(float)
    table = distinct_values(values, weight)
    known, slot = np.unique(values[weight > 0.0], return_inverse=True)
    np.testing.assert_array_equal(table.values, known)
    np.testing.assert_allclose(table.weight, np.bincount(slot, weight[weight > 0.0]))
    np.testing.assert_array_equal(table.rows, np.bincount(slot))
    assert distinct_values(rng.normal(size=5000), None) is None
    halves = [distinct_values(values[part], weight[part]) for part in (slice(9), slice(9, None))]
    whole = merged(halves, 255)
    np.testing.assert_array_equal(whole.values, known)
    np.testing.assert_allclose(whole.weight, table.weight)


def test_infinity_is_refused_by_shard_and_column():
    X, y = _rows(90)
    X[70, 2] = np.inf
    with pytest.raises(DataError, match="inf in column number 2 of shard 1"):
        AdditiveClassifier().fit(_shards(X, y, [50]), None)


# --- shards on the disk ------------------------------------------------------------------------


def _folder(path, X, y, count=6):
    path.mkdir()
    parts = np.array_split(np.arange(y.size), count)
    entries = [
        write_shard(shard_path(path, number), X[part], (y[part] > 0.0).astype(float))
        for number, part in enumerate(parts)
    ]
    write_manifest(path, X.shape[1], entries, sparse=False, labels=["no", "yes"])
    return path


def _small():
    return AdditiveClassifier("log_loss", members=2, interactions=1, strength=0.01, tol=1e-6)


@pytest.mark.slow  # hundreds of passes over files; the sums are tested above
def test_codes_that_do_not_fit_into_memory_are_files_beside_the_shards(tmp_path):
    X, y = _rows(300)
    folder, few = _folder(tmp_path / "rows", X, y), 2300
    here = _small().fit(X, y).coef_
    np.testing.assert_allclose(
        _small().fit(open_shards(folder, check=False)).coef_, here, atol=1e-6
    )
    assert not (folder / "codes").exists()
    there = _small().fit(open_shards(folder, check=False, memory=few))
    np.testing.assert_allclose(there.coef_, here, atol=1e-6)
    files = sorted((folder / "codes").rglob("*.codes"))
    assert len(files) == 6
    # The same bins read the files again; others make their own.
    stamps = [file.stat().st_mtime_ns for file in files]
    again = _small().fit(open_shards(folder, check=False, memory=few))
    np.testing.assert_array_equal(again.coef_, there.coef_)
    assert [file.stat().st_mtime_ns for file in files] == stamps
    _small().set_params(n_bins=4, categorical=[3]).fit(open_shards(folder, check=False, memory=few))
    assert len(sorted((folder / "codes").rglob("*.codes"))) == 12


@pytest.mark.slow
def test_damaged_codes_are_refused_and_unfinished_ones_made_again(tmp_path):
    X, y = _rows(300)
    folder, few = _folder(tmp_path / "rows", X, y), 2300
    there = _small().fit(open_shards(folder, check=False, memory=few)).coef_
    file = next((folder / "codes").rglob("000003.codes"))
    whole = file.read_bytes()
    file.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(DataLost, match=r"000003\.codes"):
        _small().fit(open_shards(folder, check=False, memory=few))
    for damage in (whole[:-8], None):
        if damage is None:
            (file.parent / "manifest").write_text("AUCTOR CODES 1 0\n{}")
        else:
            file.write_bytes(damage)
        again = _small().fit(open_shards(folder, check=False, memory=few)).coef_
        np.testing.assert_array_equal(again, there)
        assert file.read_bytes() == whole
