"""Ray: blocks of a Dataset stay in the object store; the model is that of the rows in memory."""

import os
import signal

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.core.errors import DataError, DataLost
from auctor.core.result import Status
from auctor.core.types import Target
from auctor.data import Dense, Sharded
from auctor.data.workers import MemoryWorkers
from auctor.losses import FBeta, Logistic, PairwiseHinge, PairwiseSquaredHinge, Prbep
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.ray import from_ray
from auctor.solvers import Lbfgs, choose

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
pandas = pytest.importorskip("pandas")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5))
Y = np.where(X @ np.arange(5.0) + RNG.normal(size=600) > 3.0, 1.0, -1.0)
NAMES = list("abcde")
PARTS = np.array_split(np.arange(600), 4)


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def dataset(y):
    from ray.data import from_pandas

    table = pandas.DataFrame(X, columns=NAMES).assign(y=y)
    return from_pandas([table.iloc[part] for part in PARTS])


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [(Logistic(), L1(1e-2)), (PairwiseHinge(), L2(1e-2)), (Prbep(), L2(1e-2)), (FBeta(), L1(1e-2))],
    ids=repr,
)
@pytest.mark.parametrize("gather_below", [0.0, np.inf])
def test_the_bits_are_those_of_shards_here(cluster, loss, penalty, gather_below):
    data = from_ray(dataset(Y), NAMES, "y")
    data.workers.gather_below = gather_below
    near = Sharded(MemoryWorkers([Dense(X[i], Target(Y[i]), n_threads=1) for i in PARTS]))
    near.workers.gather_below = gather_below
    far, here = Problem(loss, penalty, data), Problem(loss, penalty, near)
    given = {"tol": 1e-2, "max_iter": 8, "rng": 0, "on_failure": "ignore"}
    found, wanted = minimise(far, choose(far), **given), minimise(here, choose(here), **given)
    np.testing.assert_array_equal(found.coef, wanted.coef)
    assert found.value == wanted.value


def test_labels_of_text_and_weights(cluster):
    named = np.where(Y > 0, "bad", "good")
    weights = 1.0 + (X[:, 0] > 0)
    same = {"surrogate": "logistic", "strength": 1e-2, "standardise": False}
    data = from_ray(
        dataset(named).add_column("w", _twice_where_a_is_positive), NAMES, "y", weight="w"
    )
    far = MetricClassifier("f1", **same).fit(data)
    near = MetricClassifier("f1", **same).fit(X, named, sample_weight=weights)
    assert far.pos_label_ == near.pos_label_ == "bad"
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-4)
    with pytest.raises(DataError, match="two labels, or numbers, in 'y'"):
        from_ray(dataset(np.array(["a", "b", "c"])[np.arange(600) % 3]), NAMES, "y")


def _own_process():
    return os.getpid()


def _twice_where_a_is_positive(table):
    return 1.0 + (table["a"] > 0)


def test_workers_without_auctor_or_with_another_version_are_refused(cluster, monkeypatch):
    from auctor.ray import workers

    # The driver says it is newer than what its own tasks, which read the real number, tell it.
    monkeypatch.setattr(workers, "__version__", "99.0")
    with pytest.raises(DataError, match=r"auctor 99\.0 on every worker, as it is here; got"):
        from_ray(dataset(Y), NAMES, "y")

    def absent(*given):
        raise ModuleNotFoundError("No module named 'auctor'")

    monkeypatch.setattr(workers, "_shard", absent)
    with pytest.raises(DataError, match="on every worker, as it is here; got none"):
        from_ray(dataset(Y), NAMES, "y")


def test_a_fit_goes_on_when_a_worker_is_killed(cluster):
    data = from_ray(dataset(Y), NAMES, "y")
    data.workers.gather_below = 0.0
    problem = Problem(PairwiseSquaredHinge(), L2(1e-2), data)

    def kill(step):
        if step.iteration == 3:
            os.kill(ray.get(ray.remote(_own_process).remote()), signal.SIGKILL)

    wanted = minimise(problem, Lbfgs(), tol=1e-8)
    found = minimise(problem, Lbfgs(), tol=1e-8, on_step=kill)
    assert found.n_iter == wanted.n_iter > 4
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-12)


def test_a_lost_cluster_ends_a_fit_with_its_best_point(cluster):
    data = from_ray(dataset(Y), NAMES, "y")

    def stop(step):
        if step.iteration == 3:
            ray.shutdown()

    problem = Problem(Logistic(), L2(1e-3), data)
    with pytest.warns(UserWarning, match="no longer be read"):
        found = minimise(problem, Lbfgs(), tol=1e-8, on_step=stop)
    assert found.status is Status.LOST
    assert found.coef.any()
    with pytest.raises(DataLost, match="a cluster that answers"):
        data.scores(found.coef)
