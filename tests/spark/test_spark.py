"""Spark: one barrier job whose tasks answer products; the model is that of the rows in memory."""

import os
import shutil
import sys

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.core.errors import DataError
from auctor.data import as_data
from auctor.losses import Logistic, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2
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
X = RNG.normal(size=(400, 3))
Y = np.where(X @ [1.0, 2.0, 0.0] + RNG.normal(size=400) > 1.5, 1.0, -1.0)


@pytest.fixture(scope="module")
def frame():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    table = pandas.DataFrame(np.column_stack([X, Y]), columns=["a", "b", "c", "y"])
    yield session.createDataFrame(table)
    session.stop()


def test_the_answers_are_those_of_the_rows_in_memory(frame):
    from auctor.spark import from_spark

    data = from_spark(frame, ["a", "b", "c"], "y")
    order = np.argsort(data.scores(np.array([1.0, 0.0, 0.0])))
    mine = np.argsort(X[:, 0])
    np.testing.assert_array_equal(data.target.y[order], Y[mine])
    for loss in (Logistic(), PairwiseHinge()):
        far, near = Problem(loss, L2(1e-2), data), Problem(loss, L2(1e-2), as_data(X, Y))
        found = minimise(far, choose(far), tol=1e-6)
        wanted = minimise(near, choose(near), tol=1e-6)
        assert abs(found.value - wanted.value) <= found.gap + wanted.gap
    model = MetricClassifier("auc", strength=1e-2).fit(data)
    np.testing.assert_allclose(
        model.coef_, MetricClassifier("auc", strength=1e-2).fit(X, Y).coef_, rtol=1e-6
    )
    data.workers.close()


def test_columns_and_slots_are_checked_first(frame):
    from auctor.spark import from_spark

    with pytest.raises(DataError, match="'nothing'"):
        from_spark(frame, ["nothing"], "y")
    with pytest.raises(DataError, match="the slots of the cluster"):
        from_spark(frame, ["a"], "y", n_tasks=50)
