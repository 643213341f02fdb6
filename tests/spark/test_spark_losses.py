"""Losses evaluated by the tasks of a Spark job: the answers of the same rows in this process."""

import shutil

import numpy as np
import pytest

from auctor import losses
from auctor.core.types import Target
from auctor.data import Dense, Sharded
from auctor.data.workers import MemoryWorkers
from auctor.minimise import minimise
from auctor.penalties import L1, L2
from auctor.problem import Problem
from auctor.solvers import choose

sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
pandas = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none"),
    pytest.mark.filterwarnings("ignore"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 4))
Y = np.where(X @ [1.0, 2.0, 0.0, -1.0] + RNG.normal(size=600) > 3.0, 1.0, -1.0)
LOSSES = [
    losses.Logistic(),
    losses.SquaredHinge(),
    losses.SmoothedHinge(),
    losses.Hinge(),
    losses.PairwiseHinge(),
    losses.PairwiseSquaredHinge(),
    losses.PairwiseLogistic(),
    losses.PairwiseSquare(),
    losses.Prbep(),
    losses.FBeta(),
]


@pytest.fixture(scope="module")
def far(session):
    from auctor.spark import from_spark

    table = pandas.DataFrame(np.column_stack([X, Y]), columns=["a", "b", "c", "d", "y"])
    data = from_spark(session.createDataFrame(table), ["a", "b", "c", "d"], "y")
    data.workers.gather_below = 0.0
    yield data
    data.workers.close()


@pytest.fixture(scope="module")
def near(far):
    rows = np.column_stack([far.scores(unit) for unit in np.eye(4)])
    cuts = np.cumsum(far.holder.lengths)[:-1]
    parts = zip(np.split(rows, cuts), np.split(far.target.y, cuts), strict=True)
    shards = [Dense(np.ascontiguousarray(a), Target(b), n_threads=1) for a, b in parts]
    assert len(shards) == 2
    return Sharded(MemoryWorkers(shards))


@pytest.mark.parametrize("penalty", [L2(1e-2), L1(1e-2)], ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_answer_is_that_of_the_rows_here(far, near, loss, penalty):
    there, here = Problem(loss, penalty, far), Problem(loss, penalty, near)
    given = {"tol": 1e-3, "max_iter": 40, "rng": 0, "on_failure": "ignore"}
    found, wanted = minimise(there, choose(there), **given), minimise(here, choose(here), **given)
    assert found.solver == wanted.solver
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-10, atol=1e-11)
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    assert abs(found.gap - wanted.gap) <= 1e-9 * wanted.value
