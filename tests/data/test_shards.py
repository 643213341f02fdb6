"""Shards: the same answers as in memory, and damaged files refused by name."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from scipy.sparse import random as random_sparse

from auctor import MetricClassifier, MetricClassifierCV
from auctor.core.errors import DataError, DataLost, IncompatibleError
from auctor.core.result import Status
from auctor.core.types import Target
from auctor.data import Dense, Sharded, as_data, open_shards
from auctor.data.shard_writer import cut_rows, write_manifest, write_shard
from auctor.data.shards import compact, open_folder, shard_path
from auctor.data.workers import MemoryWorkers
from auctor.losses import ExpectedError, FBeta, Logistic, PairwiseHinge, PairwiseSquaredHinge, Prbep
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import GaussianDiscriminant, Lbfgs, choose
from auctor.tables import ReadOptions, write_shards

RNG = np.random.default_rng(0)
X = csr_array(random_sparse(400, 30, 0.2, random_state=0))
Y = np.where(X @ RNG.normal(size=30) + 0.3 * RNG.normal(size=400) > 0.3, 1.0, -1.0)


@pytest.fixture
def folder(tmp_path):
    where = tmp_path / "rows.shards"
    return store(where, [(X[rows], Y[rows]) for rows in cut_rows(X, 4000)])


def store(where, parts, **options):
    """A folder of shards of these rows and targets."""
    where.mkdir()
    shards = [write_shard(shard_path(where, k), *part) for k, part in enumerate(parts)]
    matrix = parts[0][0]
    write_manifest(where, matrix.shape[1], shards, sparse=issparse(matrix), **options)
    return where


def split(matrix, y, parts):
    pieces = zip(np.array_split(matrix, parts), np.array_split(y, parts), strict=True)
    return [Dense(np.ascontiguousarray(a), Target(b), n_threads=1) for a, b in pieces]


def test_products_are_those_in_memory(folder):
    data, memory = open_shards(folder), as_data(X, Y)
    assert len(list(folder.glob("*.shard"))) > 3
    w, d = RNG.normal(size=30), RNG.normal(size=400)
    np.testing.assert_allclose(data.scores(w, 0.5), memory.scores(w, 0.5), rtol=1e-12)
    np.testing.assert_allclose(data.gradient(d), memory.gradient(d), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(data.gram(d**2), memory.gram(d**2), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        data.square_gradient(d**2), memory.square_gradient(d**2), rtol=1e-11, atol=1e-12
    )
    ours, theirs = data.sandwich(d**2, w, 0.3), memory.sandwich(d**2, w, 0.3)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-11, atol=1e-12)
    assert ours[1] == pytest.approx(theirs[1], rel=1e-12)


@pytest.mark.sample(2)
@pytest.mark.parametrize("penalty", [L2(1e-2), L1(1e-2)], ids=repr)
@pytest.mark.parametrize("loss", [Logistic(), PairwiseHinge(), Prbep(), FBeta()], ids=repr)
def test_every_metric_trains_from_the_disk(folder, loss, penalty):
    stored = Problem(loss, penalty, open_shards(folder))
    memory = Problem(loss, penalty, as_data(X, Y))
    found = minimise(stored, choose(stored), tol=1e-3, max_iter=3000)
    wanted = minimise(memory, choose(memory), tol=1e-3)
    assert found.converged
    assert abs(found.value - wanted.value) <= found.gap + wanted.gap


def test_bits_do_not_depend_on_the_number_of_threads():
    matrix, y = RNG.normal(size=(300, 6)), np.where(RNG.normal(size=300) > 0, 1.0, -1.0)
    shards = split(matrix, y, 6)
    found = [
        minimise(Problem(Logistic(), L2(0.1), Sharded(MemoryWorkers(shards, threads))), Lbfgs())
        for threads in (1, 2, 3)
    ]
    np.testing.assert_array_equal(found[0].coef, found[1].coef)
    np.testing.assert_array_equal(found[0].coef, found[2].coef)


def test_ones_are_not_stored_and_float32_is_kept(tmp_path):
    ones = csr_array((X != 0).astype(np.float64))
    (shard,) = open_folder(store(tmp_path / "a.shards", [(ones, Y)])).shards
    assert "values" not in shard.parts
    assert shard.entry.y == "|i1"
    assert all(offset % 64 == 0 for _, _, offset in shard.parts.values())
    found = open_folder(store(tmp_path / "b.shards", [(X.toarray().astype(np.float32), Y)]))
    assert found.shards[0].entry.values == "<f4"


def damage(path, change):
    raw = bytearray(path.read_bytes())
    change(raw)
    path.write_bytes(bytes(raw))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("000001.shard", lambda raw: raw.__delitem__(slice(-64, None)), "truncated"),
        ("000001.shard", lambda raw: raw.__setitem__(-200, raw[-200] ^ 255), "checksum"),
        ("manifest", lambda raw: raw.__setitem__(14, ord("9")), "of version 2; got version '9'"),
        ("manifest", lambda raw: raw.__setitem__(0, 0), "another kind of file"),
        ("manifest", lambda raw: raw.__setitem__(-9, raw[-9] ^ 1), "checksum"),
    ],
)
def test_damaged_shards_are_refused_by_name(folder, name, change, message):
    damage(folder / name, change)
    with pytest.raises(DataError, match=message) as caught:
        open_shards(folder)
    assert name in str(caught.value)


def test_too_little_memory_and_folders_without_shards(folder, tmp_path):
    with pytest.raises(DataError, match="memory for one shard"):
        open_shards(folder, memory=10)
    with pytest.raises(DataError, match="a folder with shards"):
        open_shards(tmp_path / "nothing")


def test_files_become_shards(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{a},{b},{'yes' if a > b else 'no'}" for a, b in RNG.normal(size=(50, 2))]
    path.write_text("\n".join(["a,b,y", *lines]))
    done = write_shards(path, tmp_path / "rows.shards", ReadOptions(label="y"), shard_bytes=200)
    assert done.rows == 50
    assert sorted(done.labels) == ["no", "yes"]
    data = open_shards(tmp_path / "rows.shards")
    assert data.names == ("a", "b")
    wanted = [1.0 if line.endswith("yes") else -1.0 for line in lines]
    np.testing.assert_array_equal(data.target.y, wanted)
    assert open_shards(tmp_path / "rows.shards", positive="no").target.y[0] == -wanted[0]
    with pytest.raises(DataError, match="a new folder"):
        write_shards(path, tmp_path / "rows.shards", ReadOptions(label="y"))


def test_tables_become_shards_and_nothing_half_written_stays(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "y": [1, 0]})
    for number, source in enumerate((frame, frame.to_arrow(), frame.lazy())):
        write_shards(source, tmp_path / f"{number}.shards", ReadOptions(label="y"))
        assert open_shards(tmp_path / f"{number}.shards").target.y.tolist() == [1.0, -1.0]
    with pytest.raises(DataError, match="columns of numbers"):
        write_shards(
            frame.with_columns(c=polars.lit("x")), tmp_path / "bad.shards", ReadOptions(label="y")
        )
    assert not [one for one in tmp_path.iterdir() if one.name.startswith((".bad", "bad"))]


def test_wider_rows_that_come_later_widen_all(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("+1 1:1\n-1 2:1\n+1 9:2\n")
    write_shards(path, tmp_path / "rows.shards", ReadOptions(chunk_rows=1), shard_bytes=1)
    assert open_shards(tmp_path / "rows.shards").n_columns == 9


class Fails:
    """Workers that are gone after some calls."""

    gather_below = np.inf

    def __init__(self, inner, calls):
        self.inner, self.calls = inner, calls

    def facts(self):
        return self.inner.facts()

    def each(self, method, arguments):
        self.calls -= 1
        if self.calls < 0:
            raise DataLost("rows", got="none", todo="Start again.")
        return self.inner.each(method, arguments)


@pytest.mark.parametrize("loss", [Logistic(), PairwiseSquaredHinge()], ids=repr)
def test_equal_columns_under_l1_agree_in_objective_and_scores_not_in_weights(loss):
    rng = np.random.default_rng(0)
    base = rng.normal(size=(400, 5))
    matrix = np.column_stack([base, base[:, :2]])
    y = np.where(base @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.normal(size=400) > 0, 1.0, -1.0)
    stored = Problem(loss, L1(1e-2), Sharded(MemoryWorkers(split(matrix, y, 4))))
    memory = Problem(loss, L1(1e-2), as_data(matrix, y))
    a, b = (minimise(one, choose(stored), tol=1e-4) for one in (stored, memory))
    assert abs(a.value - b.value) <= a.gap + b.gap <= 2e-4
    np.testing.assert_allclose(matrix @ a.coef, matrix @ b.coef, atol=2e-2)
    assert np.abs(a.coef - b.coef).max() > 1e-3


def test_lost_rows_end_a_solve_with_the_best_point():
    matrix, y = RNG.normal(size=(300, 6)), np.where(RNG.normal(size=300) > 0, 1.0, -1.0)
    workers = Fails(MemoryWorkers(split(matrix, y, 3)), 12)
    found = minimise(
        Problem(Logistic(), L2(1e-3), Sharded(workers)), Lbfgs(), tol=1e-12, on_failure="ignore"
    )
    assert found.status is Status.LOST
    assert found.coef.any()
    best = minimise(Problem(Logistic(), L2(1e-3), Sharded(workers.inner)), Lbfgs(), tol=1e-10)
    assert best.value < found.value <= best.value + found.gap
    with pytest.raises(DataLost):
        minimise(Problem(Logistic(), L2(1e-3), Sharded(Fails(workers.inner, 0))), Lbfgs())


@pytest.mark.parametrize("metric", ["auc", "f1", "prbep", "log_loss"])
def test_estimators_take_shards_and_give_the_model_of_the_rows(tmp_path, metric):
    matrix = RNG.normal(size=(300, 4)) * [1.0, 10.0, 0.01, 1.0]
    y = np.where(matrix @ [1.0, 0.1, 100.0, 0.0] > 1.5, "bad", "good")
    chunks = [(matrix[low : low + 60], y[low : low + 60]) for low in range(0, 300, 60)]
    write_shards(chunks, tmp_path / "rows.shards", shard_bytes=2000)
    data = open_shards(tmp_path / "rows.shards")
    # With the hinge both are solved by the same steps; "auto" may take another solver on shards.
    given = {"strength": 1e-3, "surrogate": "hinge" if metric == "auc" else "auto"}
    stored = MetricClassifier(metric, **given).fit(data)
    memory = MetricClassifier(metric, **given).fit(matrix, y)
    assert stored.pos_label_ == memory.pos_label_ == "bad"
    np.testing.assert_allclose(stored.coef_, memory.coef_, rtol=1e-9)
    np.testing.assert_array_equal(stored.predict(data), memory.predict(matrix))
    assert stored.score(data, y) == pytest.approx(memory.score(matrix, y), abs=1e-12)


def test_a_strength_is_chosen_on_shards(tmp_path):
    matrix = RNG.normal(size=(200, 3))
    y = np.where(matrix[:, 0] + RNG.normal(size=200) > 0.8, 1, 0)
    write_shards([(matrix, y)], tmp_path / "rows.shards", shard_bytes=2000)
    data = open_shards(tmp_path / "rows.shards")
    found = MetricClassifierCV("auc", strengths=[0.1, 0.01], cv=3).fit(data)
    assert (
        found.strength_
        == MetricClassifierCV("auc", strengths=[0.1, 0.01], cv=3).fit(matrix, y).strength_
    )


def test_gaussian_moments_are_sums_over_shards():
    matrix, y = RNG.normal(size=(300, 5)), np.where(RNG.normal(size=300) > 0.4, 1.0, -1.0)
    stored = Problem(ExpectedError(), L2(1e-3), Sharded(MemoryWorkers(split(matrix, y, 4))))
    memory = Problem(ExpectedError(), L2(1e-3), as_data(matrix, y))
    found, wanted = (
        minimise(one, GaussianDiscriminant(), on_failure="ignore") for one in (stored, memory)
    )
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-7)
    far = Problem(ExpectedError(), L2(1e-3), Sharded(MemoryWorkers(split(matrix + 1e6, y, 4))))
    with pytest.raises(IncompatibleError, match="means of the size of their deviations"):
        minimise(far, GaussianDiscriminant())
    with pytest.raises(IncompatibleError, match="row access for shrinkage"):
        minimise(stored, GaussianDiscriminant(shrinkage="auto"))


def test_a_shard_that_vanishes_ends_a_solve_with_the_best_point(folder):
    problem = Problem(Logistic(), L2(1e-3), open_shards(folder))

    def remove(step):
        if step.iteration == 3:
            (folder / "000002.shard").unlink()

    found = minimise(problem, Lbfgs(), tol=1e-12, on_step=remove, on_failure="ignore")
    assert found.status is Status.LOST
    assert found.coef.any()
    with pytest.raises(DataLost, match=r"to read 000002\.shard"):
        problem.data.scores(found.coef)


def test_rows_are_read_where_they_lie(tmp_path):
    (shard,) = open_folder(store(tmp_path / "a.shards", [(X, Y)])).shards
    payload = np.fromfile(shard.path, dtype=np.uint8)
    before = shard.data(payload).scores(np.ones(30))
    shard.array(payload, "values")[:] = 0
    data = shard.data(payload)
    assert before.any()
    assert np.shares_memory(data.row_lines().values, payload)
    assert not data.scores(np.ones(30)).any()


def test_targets_beyond_whole_numbers_stay_as_they_are():
    for y in ([1e10, 1.0], [np.nan, 1.0], [0.5, 1.0], [128.0, 1.0]):
        np.testing.assert_array_equal(compact(np.array(y)), y)
    assert compact(np.array([-1.0, 1.0])).dtype == np.int8
