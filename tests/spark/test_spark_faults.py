"""Tasks of Spark that are killed in mid-fit: Spark starts them anew, and the fit goes on."""

import os
import shutil
import signal
from contextlib import ExitStack, nullcontext
from unittest import mock

import numpy as np
import pytest

from auctor.core.errors import DataLost
from auctor.core.result import Status
from auctor.losses import Logistic, PairwiseSquaredHinge, Prbep
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Lbfgs, choose

sql = pytest.importorskip("pyspark.sql", reason="the extra spark is not installed")
pandas = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none"),
    pytest.mark.filterwarnings("ignore"),
]

#: Step after which a task is killed.
STEP = 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 5))
Y = np.where(X @ np.arange(5.0) + RNG.normal(size=600) > 3.0, 1.0, -1.0)


@pytest.fixture
def frame(session):
    return session.createDataFrame(
        pandas.DataFrame(np.column_stack([X, Y]), columns=[*"abcde", "y"])
    )


@pytest.fixture
def opened():
    """`from_spark`; the jobs end with the test, so that one that fails leaves the slots free."""
    from auctor.spark import from_spark

    with ExitStack() as stack:

        def open_frame(*given, **options):
            data = from_spark(*given, **options)
            stack.callback(data.workers.close)
            return data

        yield open_frame


class Killer:
    """Kills the process of the first task; with ``again`` those that follow die of any call."""

    def __init__(self, folder):
        self.process, self.again = folder / "process", folder / "again"

    def serve(self, address, key, number, *rest):
        """Stands in for `auctor.spark.tasks.serve`, which it calls."""
        from auctor.spark import tasks

        def die(*given):
            self()

        fault = nullcontext()
        if number == 0:
            self.process.write_text(str(os.getpid()))
            if self.again.exists():
                # `patch.object` raises an error if a rename leaves no method of this name.
                fault = mock.patch.object(tasks.HeldShard, "call", die)
        with fault:
            tasks.serve(address, key, number, *rest)

    def __call__(self):
        os.kill(int(self.process.read_text()), signal.SIGKILL)


@pytest.fixture
def kill(tmp_path, monkeypatch):
    from auctor.spark import workers

    killer = Killer(tmp_path)
    monkeypatch.setattr(workers, "serve", killer.serve)
    return killer


CASES = {
    "scores are gathered": (Logistic(), 2, np.inf),
    "tasks keep scores": (PairwiseSquaredHinge(), 2, 0.0),
    "tasks keep scores of shuffled rows": (Prbep(), 1, 0.0),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_goes_on_when_a_task_is_killed(session, frame, opened, kill, case):
    loss, n_tasks, gather_below = CASES[case]
    tracker = session.sparkContext.statusTracker()
    data = opened(frame, [*"abcde"], "y", n_tasks=n_tasks)
    data.workers.gather_below = gather_below
    before = set(tracker.getJobIdsForGroup())
    problem = Problem(loss, L2(1e-2), data)

    def fit(on_step=None):
        given = {"tol": 1e-6, "max_iter": 30, "rng": 0, "on_failure": "ignore"}
        return minimise(problem, choose(problem), on_step=on_step, **given)

    def killing(step):
        if step.iteration == STEP:
            kill()

    wanted = fit()
    assert set(tracker.getJobIdsForGroup()) == before
    found = fit(killing)
    assert found.n_iter == wanted.n_iter > STEP
    np.testing.assert_allclose(found.coef, wanted.coef, rtol=1e-12)


def test_tasks_killed_in_a_row_end_a_fit_with_its_best_point(session, frame, opened, kill):
    from auctor.spark.workers import REPLACEMENTS

    tracker = session.sparkContext.statusTracker()
    data, values = opened(frame, [*"abcde"], "y"), []

    def killing(step):
        values.append(step.value)
        if step.iteration == STEP:
            kill.again.touch()
            kill()

    before = set(tracker.getJobIdsForGroup())
    with pytest.warns(UserWarning, match="no longer be read"):
        found = minimise(Problem(Logistic(), L2(1e-3), data), Lbfgs(), tol=1e-10, on_step=killing)
    assert found.status is Status.LOST
    assert found.value == min(values)
    assert len(values) == STEP + 1
    assert len(set(tracker.getJobIdsForGroup()) - before) == REPLACEMENTS
    with pytest.raises(DataLost, match="tasks that answer"):
        data.scores(found.coef)
    kill.again.unlink()
    opened(frame, [*"abcde"], "y")  # the slots are free again


def test_the_answers_of_an_interrupted_call_are_not_taken_for_those_of_the_next(
    frame, opened, monkeypatch
):
    from auctor.spark import workers

    def ctrl_c(connection):
        raise KeyboardInterrupt

    data = opened(frame, [*"abcde"], "y")
    wanted = data.scores(np.ones(5))
    with monkeypatch.context() as patched:
        patched.setattr(workers, "_answer", ctrl_c)
        with pytest.raises(KeyboardInterrupt):
            data.gradient(np.ones(600))
    np.testing.assert_array_equal(data.scores(np.ones(5)), wanted)


def test_rows_that_are_read_again_otherwise_are_refused(session, opened, kill):
    """A function of Python that gives other numbers every time, as a query may."""
    from pyspark.sql.functions import udf

    noise = udf(lambda: float(np.random.default_rng().normal()), "double").asNondeterministic()
    frame = (
        session.range(100, numPartitions=2).withColumn("a", noise()).selectExpr("a", "id % 2 as y")
    )
    data = opened(frame, ["a"], "y")
    kill()
    with pytest.raises(DataLost, match="other rows, or the same in another order"):
        data.scores(np.ones(1))
