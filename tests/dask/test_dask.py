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


@pytest.mark.parametrize("metric", ["auc", "log_loss"])
def test_the_model_is_that_of_the_rows_in_memory(client, metric):
    rows, labels = arrays.from_array(X, chunks=(150, 5)), arrays.from_array(Y, chunks=150)
    far = MetricClassifier(metric, strength=1e-2).fit(rows, labels)
    near = MetricClassifier(metric, strength=1e-2).fit(X, Y)
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
