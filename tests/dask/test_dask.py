"""Dask collections: rows stay on the workers, the model is that of the rows in memory."""

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.core.errors import DataError

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
arrays = pytest.importorskip("dask.array", reason="the extra dask is not installed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5))
Y = np.where(X @ np.arange(5.0) + RNG.normal(size=600) > 3.0, "fraud", "fine")


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize(("metric", "solver"), [("auc", "cuts_first"), ("log_loss", "lbfgs")])
def test_the_model_is_that_of_the_rows_in_memory(client, metric, solver):
    # "auto" takes solvers in memory that need columns, and dense columns are centred there.
    same = {"strength": 1e-2, "solver": solver, "standardise": False}
    rows, labels = arrays.from_array(X, chunks=(150, 5)), arrays.from_array(Y, chunks=150)
    far = MetricClassifier(metric, **same).fit(rows, labels)
    near = MetricClassifier(metric, **same).fit(X, Y)
    assert far.pos_label_ == near.pos_label_ == "fraud"
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-9)


def test_a_killed_worker_is_replaced(client):
    from auctor.dask import from_dask
    from auctor.losses import Logistic
    from auctor.minimise import minimise
    from auctor.penalties import L2
    from auctor.problem import Problem
    from auctor.solvers import Lbfgs

    signs = np.where(Y == "fraud", 1.0, -1.0)
    data = from_dask(arrays.from_array(X, chunks=(150, 5)), arrays.from_array(signs, chunks=150))
    killed = []

    def kill(step):
        if step.iteration == 2 and not killed:
            killed.append(True)
            worker = next(iter(client.scheduler_info()["workers"]))
            client.retire_workers([worker], close_workers=True)

    problem = Problem(Logistic(), L2(1e-2), data)
    found = minimise(problem, Lbfgs(), tol=1e-8, on_step=kill)
    from auctor.data import as_data

    wanted = minimise(Problem(Logistic(), L2(1e-2), as_data(X, signs)), Lbfgs(), tol=1e-8)
    assert killed
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-9)


def test_other_chunks_are_refused(client):
    from auctor.dask import from_dask

    with pytest.raises(DataError, match="as many partitions of y as of X"):
        from_dask(arrays.from_array(X, chunks=(150, 5)), arrays.ones(600, chunks=200))


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


def test_more_workers_than_partitions(client):
    rows, labels = arrays.from_array(X, chunks=(600, 5)), arrays.from_array(Y, chunks=600)
    assert MetricClassifier("auc", strength=1e-2).fit(rows, labels).score(X, Y) > 0.9
