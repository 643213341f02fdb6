"""Additive models of rows in shards: the bins and the model of the same rows in memory."""

from typing import NamedTuple

import numpy as np
import pytest

from auctor import AdditiveClassifier
from auctor.additive import sample
from auctor.additive.bins import Bins
from auctor.additive.means import MeanBins
from auctor.additive.sample import distinct_values, merged, sampled_rows
from auctor.core import memory as memory_of
from auctor.core.errors import DataError, DataLost
from auctor.core.types import Target
from auctor.data import Dense, Sharded, open_shards
from auctor.data.code_files import Cells, CodeFiles, CodesInMemory
from auctor.data.codebook import Codebook
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


@pytest.mark.parametrize("memory", [2300, 6000])
def test_cells_of_pairs_are_held_if_they_fit_and_are_the_same(tmp_path, memory):
    """With the larger memory the cells of pairs, and not the codes of twelve columns, fit."""
    X, y = _rows(500)
    X = np.hstack([X, X[:, :2] ** 2, X[:, ::-1]])
    workers = open_shards(_folder(tmp_path / "rows", X, y, 24), check=False, memory=memory).workers
    bins = Bins.of(X)
    kept = workers.keep("coded", [(bins,)] * 24, [[]] * 12)
    assert isinstance(kept[0].codes, CodeFiles)
    cells, books = [Cell(0, 2), Cell(1, 4)], [Codebook(4, own=(1,))] * 2
    held = workers.keep("cells", [(None, cells, books)] * 24, [[one] for one in kept])
    assert isinstance(held[0].codes, CodesInMemory if memory > 4000 else Cells)
    codes = bins.codes(X)
    found = np.hstack([block.matrix.codes() for block in held[0].codes.blocks()])
    np.testing.assert_array_equal(
        found, [one.codes(codes[one.first], codes[one.second]) for one in cells]
    )
    # Cells that are no longer used make room for others.
    assert workers.keep("cells", [(None, cells, books)] * 24, [[one] for one in kept])
    del held
    again = workers.keep("cells", [(None, cells, books)] * 24, [[one] for one in kept])
    assert isinstance(again[0].codes, CodesInMemory if memory > 4000 else Cells)


class Cell(NamedTuple):
    """A pair of columns whose cells are the parity of both codes."""

    first: int
    second: int

    def codes(self, one, two):
        return (one % 2) * np.uint8(2) + two % 2


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_categories_of_many_levels_have_the_means_of_rows_in_memory(where, tmp_path):
    rng = np.random.default_rng(5)
    level = rng.integers(0, 400, 3000)
    X = np.column_stack([level, rng.normal(size=3000), rng.normal(size=3000)]).astype(float)
    effect = 2.0 * rng.normal(size=400)[level] + X[:, 1] * X[:, 2]
    y = np.where(effect + rng.normal(size=3000) > 0.0, 1.0, -1.0)
    model = AdditiveClassifier(
        "log_loss", members=2, interactions=1, strength=0.003, categorical=[0], tol=1e-7
    )
    here = model.fit(X, y)
    coef, bins, oof = here.coef_, here.bins_, here.oof_scores_
    assert isinstance(bins.columns[0], MeanBins)
    data = _shards(X, y, [1000, 1800])
    if where == "disk":
        data = open_shards(_folder(tmp_path / "rows", X, y), check=False, memory=20_000)
    there = model.fit(data, None)
    np.testing.assert_allclose(there.bins_.columns[0].means, bins.columns[0].means, atol=1e-9)
    np.testing.assert_allclose(there.coef_, coef, atol=2e-4)
    np.testing.assert_allclose(there.oof_scores_, oof, atol=1e-3)


# --- bad input -----------------------------------------------------------------------------------


def test_a_column_with_one_value_in_one_shard_and_thousands_in_another(monkeypatch):
    rng = np.random.default_rng(3)
    X = np.append(np.full(1000, 0.5), rng.normal(size=3000))[:, None]
    here = Bins.of(X)
    for cuts in ([1000], [500, 1000, 1001]):
        _same(here, Bins.of(_shards(X, np.ones(4000), cuts)))
    # The value that is heavy has a code of its own.
    code = here.columns[0].codes(np.array([0.5]))[0]
    assert here.columns[0].share[code] == 0.25


def test_a_category_in_one_shard_only_has_its_level():
    X = np.append(np.zeros(50), [7.0] * 6 + [8.0] * 4)[:, None]
    X = np.append(X, np.ones((40, 1)), axis=0)
    for cuts in ([50, 60], [53]):
        found = Bins.of(_shards(X, np.ones(100), cuts), None, None, {0: None}).columns[0]
        assert found.values.tolist() == [0.0, 1.0, 7.0]
        np.testing.assert_allclose(found.share, [0.0, 0.5, 0.4, 0.06, 0.04])


def test_nan_is_missing_and_infinity_and_huge_values_are_refused_by_shard(tmp_path):
    X, y = _rows(90)
    X[np.isnan(X)] = 0.0
    X[70, 2] = np.nan
    one = AdditiveClassifier(members=1, interactions=0, strength=0.01)
    assert one.fit(_shards(X, y, [50]), None).bins_.columns[2].has_missing
    for wrong, said in ((-np.inf, "inf"), (1e200, "1e[+]200")):
        X[70, 2] = wrong
        with pytest.raises(DataError, match=rf"{said} in column number 2 of shard 4"):
            one.fit(open_shards(_folder(tmp_path / said, X, y), check=False))
    X[70, 2] = np.nan  # where entries are checked, with the row
    with pytest.raises(DataError, match=r"nan in 000004\.shard, row 10"):
        open_shards(_folder(tmp_path / "nan", X, y))


def test_more_columns_than_memory_holds_values_for_are_refused(monkeypatch):
    monkeypatch.setattr(memory_of, "available_bytes", lambda: 2 << 20)
    monkeypatch.setattr(memory_of, "SMALL", 1 << 20)
    X = np.random.default_rng(4).normal(size=(400, 900))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    with pytest.raises(DataError, match="memory for values of 400 rows of 900 columns"):
        AdditiveClassifier().fit(_shards(X, y, [100]), None)
