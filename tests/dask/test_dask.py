"""Dask collections: rows stay on the workers, the model is that of the rows in memory."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse import csr_array

from auctor import AdditiveClassifier, MetricClassifier
from auctor.core.errors import DataError, DataLost
from auctor.core.result import Status
from auctor.core.types import Target
from auctor.dask import from_dask
from auctor.data import Dense, Sharded, Sparse
from auctor.data.workers import MemoryWorkers
from auctor.losses import FBeta, Logistic, PairwiseHinge, PairwiseSquaredHinge, Prbep
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import Lbfgs, choose

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
arrays = pytest.importorskip("dask.array", reason="the extra dask is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]

#: Seconds in which a process of a cluster has started, on a machine that does much else.
START_SECONDS = 240
RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5))
Y = np.where(X @ np.arange(5.0) + RNG.normal(size=600) > 3.0, "fraud", "fine")


@contextmanager
def two_workers():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def doomed():
    """A cluster of its own: one that lost a worker is of no use to other tests."""
    with two_workers() as client:
        yield client


@pytest.mark.parametrize(("metric", "solver"), [("auc", "cuts_first"), ("log_loss", "lbfgs")])
def test_the_model_is_that_of_the_rows_in_memory(client, metric, solver):
    # "auto" takes solvers in memory that need columns, and dense columns are centred there.
    surrogate = "hinge" if metric == "auc" else "auto"
    same = {"surrogate": surrogate, "strength": 1e-2, "solver": solver, "standardise": False}
    rows, labels = arrays.from_array(X, chunks=(150, 5)), arrays.from_array(Y, chunks=150)
    far = MetricClassifier(metric, **same).fit(rows, labels)
    near = MetricClassifier(metric, **same).fit(X, Y)
    assert far.pos_label_ == near.pos_label_ == "fraud"
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-9)


def signed(client):
    signs = np.where(Y == "fraud", 1.0, -1.0)
    rows, labels = arrays.from_array(X, chunks=(150, 5)), arrays.from_array(signs, chunks=150)
    return from_dask(rows, labels, client=client)


@pytest.mark.parametrize(
    ("loss", "gather_below"), [(Logistic(), np.inf), (PairwiseSquaredHinge(), 0.0)], ids=repr
)
def test_a_fit_goes_on_when_a_worker_is_killed(doomed, loss, gather_below):
    data = signed(doomed)
    data.workers.gather_below = gather_below

    def kill(step):
        if step.iteration == 3:
            os.kill(next(iter(doomed.run(os.getpid).values())), signal.SIGKILL)

    wanted = minimise(Problem(loss, L2(1e-2), data), Lbfgs(), tol=1e-8)
    found = minimise(Problem(loss, L2(1e-2), data), Lbfgs(), tol=1e-8, on_step=kill)
    assert found.n_iter == wanted.n_iter > 4
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [(Logistic(), L1(1e-2)), (PairwiseHinge(), L2(1e-2)), (Prbep(), L2(1e-2)), (FBeta(), L1(1e-2))],
    ids=repr,
)
def test_the_answer_is_that_of_shards_here(client, loss, penalty):
    data = signed(client)
    data.workers.gather_below = 0.0
    pieces = np.array_split(np.arange(600), 4)
    near = Sharded(
        MemoryWorkers([Dense(X[i], Target(data.target.y[i]), n_threads=1) for i in pieces])
    )
    far, here = Problem(loss, penalty, data), Problem(loss, penalty, near)
    given = {"tol": 1e-2, "max_iter": 8, "rng": 0, "on_failure": "ignore"}
    found, wanted = minimise(far, choose(far), **given), minimise(here, choose(here), **given)
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-10, atol=1e-12)
    assert found.value == pytest.approx(wanted.value, rel=1e-12)


def curves():
    return AdditiveClassifier("log_loss", members=2, interactions=2, n_strengths=3, tol=1e-9)


def bent():
    """Rows with missing values, and labels that depend on two columns together."""
    rows = X.copy()
    rows[::7, 1] = np.nan
    return rows, X[:, 0] * X[:, 2] + X[:, 3] > 0.3


def test_curves_with_pairs_are_those_of_the_rows_in_memory(client):
    rows, labels = bent()
    near = curves().fit(rows, labels)
    far = curves().fit(arrays.from_array(rows, chunks=(150, 5)), arrays.from_array(labels, 150))
    assert far.names_ == near.names_
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-5)
    lazy = far.decision_function(arrays.from_array(rows, chunks=(150, 5)))
    np.testing.assert_allclose(lazy.compute(), far.decision_function(rows))


def test_a_fit_of_curves_goes_on_when_a_worker_is_killed(doomed):
    rows, labels = bent()
    signs = np.where(labels, 1.0, -1.0)
    parts = arrays.from_array(rows, chunks=(150, 5)), arrays.from_array(signs, chunks=150)
    data = from_dask(*parts, client=doomed, missing=True)
    wanted, calls, ask = curves().fit(data), iter(range(10**9)), data.workers.ask

    def killing(*given):
        if next(calls) == 60:
            os.kill(next(iter(doomed.run(os.getpid).values())), signal.SIGKILL)
        return ask(*given)

    data.workers.ask = killing
    found = curves().fit(data)
    assert next(calls) > 100
    np.testing.assert_array_equal(found.coef_, wanted.coef_)


def test_a_lost_scheduler_ends_a_fit_with_its_best_point(tmp_path):
    """The client is not the current one: nothing may ask for a client that was not passed."""
    note = tmp_path / "scheduler.json"
    cli = [sys.executable, "-m"]
    shared = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", note]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    parts = {"dask_scheduler": ["--port", "0"], "dask_worker": ["--no-nanny"]}
    scheduler, worker = (
        subprocess.Popen([*cli, f"distributed.cli.{name}", *shared, *more], **quiet)
        for name, more in parts.items()
    )
    try:
        client = distributed.Client(
            scheduler_file=str(note), set_as_default=False, timeout=START_SECONDS
        )
        client.wait_for_workers(1, timeout=START_SECONDS)
        data = signed(client)

        def kill(step):
            if step.iteration == 3:
                scheduler.kill()
                scheduler.wait()

        problem = Problem(Logistic(), L2(1e-3), data)
        with pytest.warns(UserWarning, match="no longer be read"):
            found = minimise(problem, Lbfgs(), tol=1e-8, on_step=kill)
        assert found.status is Status.LOST
        assert found.coef.any()
        with pytest.raises(DataLost, match="a cluster that answers"):
            data.scores(found.coef)
        client.close(timeout=1)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_another_version_on_a_worker_is_refused(client, monkeypatch):
    monkeypatch.setattr("auctor.dask.workers.own_version", lambda: "0.0.1")
    with pytest.raises(DataError, match=r"on every worker, as it is here; got 0\.0\.1 on tcp"):
        signed(client)

    def fails():
        raise ModuleNotFoundError("No module named 'auctor'")

    monkeypatch.setattr("auctor.dask.workers.own_version", fails)
    with pytest.raises(DataError, match="auctor installed on every worker"):
        signed(client)


def test_other_chunks_are_refused(client):
    with pytest.raises(DataError, match="as many partitions of y as of X"):
        from_dask(arrays.from_array(X, chunks=(150, 5)), arrays.ones(600, chunks=200))
    with pytest.raises(DataError, match="as many labels as rows in every partition"):
        from_dask(arrays.from_array(X, chunks=(300, 5)), arrays.ones(600, chunks=(200, 400)))


def test_columns_in_several_chunks_are_joined(client):
    """X has two blocks of rows here, and as many blocks in all as y: they are not compared."""
    rows, labels = arrays.from_array(X, chunks=(300, 3)), arrays.from_array(Y, chunks=150)
    assert rows.npartitions == labels.npartitions == 4
    same = {"strength": 1e-2, "solver": "lbfgs", "standardise": False}
    far = MetricClassifier("log_loss", **same).fit(rows, labels)
    near = MetricClassifier("log_loss", **same).fit(X, Y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-9)


def test_labels_of_other_rows_are_refused(client):
    """Partitions of y in another order than those of X, which the index shows."""
    frames = pytest.importorskip("dask.dataframe", reason="the extra dask has no frames here")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcde")).assign(y=(Y == "fraud").astype(int))
    frame = frames.from_pandas(table, npartitions=3)
    turned = frames.concat(
        [frame.y.partitions[[2]], frame.y.partitions[[0]], frame.y.partitions[[1]]]
    )
    with pytest.raises(DataError, match="the index of their rows, in every partition"):
        MetricClassifier("auc").fit(frame[list("abcde")], turned)
    with pytest.raises(DataError, match="Make X and y from one frame"):
        from_dask(frame[list("abcde")], frame.y, turned)


@pytest.mark.parametrize("metric", ["auc", "log_loss"])
def test_auto_finds_the_same_optimum_on_unknown_chunks(client, metric):
    frames = pytest.importorskip("dask.dataframe", reason="the extra dask has no frames here")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=list("abcde")).assign(y=(Y == "fraud").astype(int))
    # A filter leaves lengths and divisions unknown, and labels that differ by partition.
    frame = frames.from_pandas(table.sort_values("y"), npartitions=3, sort=False)
    frame = frame[frame.a > -10.0]
    assert not frame.known_divisions
    far = MetricClassifier(metric, strength=1e-2).fit(frame[list("abcde")], frame.y)
    near = MetricClassifier(metric, strength=1e-2).fit(table[list("abcde")], table.y)
    assert far.feature_names_in_.tolist() == list("abcde")
    values = [model.solution_.value for model in (far, near)]
    assert abs(values[0] - values[1]) <= max(far.solution_.tol, near.solution_.tol)


def test_dask_knows_how_large_shards_are():
    """It would take them for 56 bytes each, and move them to whichever worker is idle."""
    from dask.sizeof import sizeof

    target = Target(np.zeros(600))
    rows = csr_array(X)
    assert X.nbytes <= sizeof(Dense(X, target)) <= 1.1 * X.nbytes
    assert rows.data.nbytes < sizeof(Sparse(rows, target)) < 3 * rows.data.nbytes


def test_more_workers_than_partitions(client):
    rows, labels = arrays.from_array(X, chunks=(600, 5)), arrays.from_array(Y, chunks=600)
    far = MetricClassifier("auc", strength=1e-2, tol=1e-8).fit(rows, labels)
    near = MetricClassifier("auc", strength=1e-2, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-4)


@pytest.mark.parametrize("metric", ["log_loss", "auc"])
def test_predictions_are_lazy_and_those_of_the_rows_in_memory(client, metric):
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    model = MetricClassifier(metric, strength=1e-2).fit(X, Y)
    rows = arrays.from_array(X, chunks=(250, 3))
    methods = ["predict", "decision_function"] + (["predict_proba"] if metric != "auc" else [])
    for method in methods:
        wanted = getattr(model, method)(X)
        found = getattr(model, method)(rows)
        assert isinstance(found, arrays.Array)
        assert found.shape == wanted.shape
        np.testing.assert_array_equal(found.compute(), wanted)
    table = pandas.DataFrame(X, columns=list("abcde"), index=np.arange(600) + 7)
    named = MetricClassifier(metric, strength=1e-2).fit(table, Y)
    found = named.predict(frames.from_pandas(table, npartitions=3)).compute()
    np.testing.assert_array_equal(found.to_numpy(), named.predict(table))
    np.testing.assert_array_equal(found.index, table.index)
