"""Workers of a Spark cluster: the tasks of one barrier job, which connect to the driver.

A Spark job takes about a second to start, too long for every product. So one job is started. Its
tasks read their rows once, connect to the driver with a one-time key, and answer calls until they
are told to end. If a task is lost, its job ends and another one is started. The new tasks read the
same rows, repeat the calls whose results the lost tasks kept, and then the call that failed.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from auctor.core.errors import DataError, DataLost, speaks_as
from auctor.core.optional import require
from auctor.core.types import Array, Target
from auctor.core.version import __version__
from auctor.data import Dense, Sparse, wrap
from auctor.data.journal import Journal
from auctor.data.sharded import Sharded, check_entries
from auctor.data.workers import RESIDENT, ResidentCall, ShardFacts, facts_of
from auctor.spark.columns import check_columns, checksum, feature_columns, matrix_of
from auctor.spark.tasks import BarrierJob, Greeting, Task, dismiss, hang_up, serve

#: Seconds in which all tasks must read their rows and connect to the driver.
CONNECT_SECONDS = 600.0
#: Seconds, beside twice those of the first tasks, in which tasks replace lost ones.
RETURN_SECONDS = 30.0
#: Most replacements of lost tasks in one call; Dask allows a task to lose its worker as often.
REPLACEMENTS = 3
#: Seconds without an answer after which the tasks count as lost.
ANSWER_SECONDS = 300.0
#: Scores and slopes of an evaluation are sent to the driver if they are fewer numbers than this.
GATHER_BELOW = 6e4


#: Data sets whose jobs occupy slots of a cluster.
_OPEN: weakref.WeakSet[SparkWorkers] = weakref.WeakSet()


class SparkWorkers:
    """The tasks of a barrier job, which hold the rows.

    The job ends when `close` is called, or when no object refers to the workers any more.

    Parameters
    ----------
    start : function
        Starts a job; called when a task is lost.
    job : BarrierJob
        The job that runs now.
    tasks : list of Task
        The tasks of that job that have rows.
    seconds : float
        Seconds until all of them had connected.
    """

    gather_below: float = GATHER_BELOW

    def __init__(
        self,
        start: Callable[[], BarrierJob],
        job: BarrierJob,
        tasks: Sequence[Task],
        seconds: float,
    ) -> None:
        self._start, self._job, self._seconds = start, job, seconds
        self._connections = [task.connection for task in tasks]
        self._known = _facts(tasks)
        self._journal = Journal()
        self._end = weakref.finalize(self, dismiss, self._connections)
        _OPEN.add(self)

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""
        return self._known

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on every shard, in the order of the shards."""
        calls: list[tuple[str, Sequence[tuple[Any, ...]]]] = [(method, arguments)]
        losses = 0
        while True:
            try:
                answers = [self._answers(*one) for one in calls][-1]
                break
            except (OSError, EOFError) as error:
                losses += 1
                self._replace_tasks(error, losses)
                kept = [(RESIDENT, made) for made in self._journal.calls()]
                calls = [*kept, (method, arguments)]
        if method == RESIDENT:
            self._journal.note([ResidentCall(*given) for given in arguments])
        return answers

    def _answers(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        if not self._connections:
            raise EOFError("no task is left")
        try:
            for connection, given in zip(self._connections, arguments, strict=True):
                connection.send((method, given))
            return [_answer(connection) for connection in self._connections]
        except BaseException:
            # Also on Ctrl-C: close the connections, or the next call would read the answers of
            # this one.
            hang_up(self._connections)
            self._connections.clear()
            raise

    def _replace_tasks(self, error: BaseException, losses: int) -> None:
        """Start another job, whose tasks must hold the same rows."""
        self._job.join(RETURN_SECONDS)
        why = self._job.cause() or f"{type(error).__name__}: {error}"
        if losses > REPLACEMENTS or not self._end.alive:
            raise self._lost(why) from error
        self._job = self._start()
        try:
            tasks = self._job.connected(RETURN_SECONDS + 2.0 * self._seconds)
        except DataLost as missed:
            raise self._lost(f"{why}; then {missed.got}") from missed
        self._connections[:] = [task.connection for task in tasks]
        if [one.checksum for one in _facts(tasks)] != [one.checksum for one in self._known]:
            raise self._lost("other rows, or the same in another order, when they were read again")

    def _lost(self, what: str) -> DataLost:
        """The error for tasks that are lost for good; the job is ended."""
        self._release()
        return DataLost(
            f"tasks that answer; got {what}. Look at the log of the Spark job, and go on from the "
            "checkpoint."
        )

    def _release(self) -> None:
        self._end()
        _OPEN.discard(self)

    def close(self) -> None:
        """End the job."""
        self._release()
        self._job.join(ANSWER_SECONDS)


def _answer(connection: Connection) -> Any:
    if not connection.poll(ANSWER_SECONDS):
        raise EOFError("no answer")
    return connection.recv()


def _facts(tasks: Sequence[Task]) -> list[ShardFacts]:
    return [facts for task in tasks if (facts := task.greeting.facts) is not None]


@speaks_as("from_spark")
def from_spark(
    frame: Any,
    features: str | Sequence[str],
    label: str,
    *,
    weight: str | None = None,
    n_tasks: int | None = None,
    missing: bool = False,
) -> Sharded:
    """A data set of a PySpark DataFrame; the rows stay in the tasks of one barrier job.

    `MetricClassifier.fit` takes it without y. The job ends with ``data.workers.close()``, or when
    the data set is no longer used. Executors need auctor: set ``PYSPARK_PYTHON`` to a Python that
    has it before the session starts.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    features : str or names of number columns
        The name of a column of vectors or arrays, or of each column.
    label : str
        Column with the labels, or with numbers for regression.
    weight : str, optional
    n_tasks : int, optional
        Tasks of the job; by default the partitions of the frame, at most the slots of the cluster.
    missing : bool
        Whether features may be null, as additive models allow.
    """
    require("pyspark", extra="spark")
    context = frame.sparkSession.sparkContext
    slots = context.defaultParallelism
    wanted = frame.rdd.getNumPartitions() if n_tasks is None else n_tasks
    if n_tasks is not None and n_tasks > slots:
        raise DataError(
            f"at most {slots} tasks, the slots of the cluster: all run at once; got {n_tasks}. "
            "Pass a smaller `n_tasks=`, or start more executors."
        )
    if not wanted:
        raise _no_rows()
    named = [features] if isinstance(features, str) else list(features)
    check_columns(frame, [*named, label, *([weight] if weight else [])])
    held = sum(len(one.facts()) for one in _OPEN)
    if held + min(wanted, slots) > slots:
        raise DataError(
            f"{min(wanted, slots)} free slots of the cluster's {slots}; got {held} that the tasks "
            "of other data sets hold. End those with data.workers.close(), or pass a smaller "
            "`n_tasks=`."
        )
    count = min(wanted, slots)
    chosen = _selected(frame, features, label, weight, count)

    def run(address: tuple[str, int], key: bytes) -> None:
        def hold(batches: Iterator[Any]) -> Iterator[Any]:
            from pyspark import BarrierTaskContext

            number = BarrierTaskContext.get().partitionId()
            serve(address, key, number, *_held(batches, weighted=weight is not None))
            return iter(())

        chosen.mapInArrow(hold, "done int", barrier=True).collect()  # one job; `count` is two

    def start() -> BarrierJob:
        return BarrierJob(run, count)

    begun, job = time.monotonic(), start()
    tasks = job.connected(CONNECT_SECONDS)
    workers = SparkWorkers(start, job, tasks, time.monotonic() - begun)
    try:
        greetings = [task.greeting for task in tasks]
        _check_versions(greetings)
        data = Sharded(workers, names=None if isinstance(features, str) else tuple(features))
        if not missing:
            check_entries(data)
        weights = data.target.weight
        if weights is not None and not np.isfinite(weights).all():
            raise DataError(
                f"a weight in every row of {weight!r}; got nulls. Drop those rows: "
                f"df.dropna(subset=[{weight!r}])."
            )
        return _labelled(data, np.concatenate([one.labels for one in greetings]), label)
    except BaseException:
        workers.close()
        raise


def _held(
    batches: Iterator[Any], *, weighted: bool
) -> tuple[Dense | Sparse | None, ShardFacts | None, Array]:
    """The rows of a task, their facts for the driver, and their labels; runs in the task."""
    import pandas

    tables = [batch.to_pandas() for batch in batches if batch.num_rows]
    if not tables:
        return None, None, np.empty(0)
    table = pandas.concat(tables, ignore_index=True)
    labels = table.pop("_label").to_numpy()
    weights = table.pop("_weight").to_numpy(dtype=np.float64) if weighted else None
    matrix = matrix_of(table)
    rows = wrap(matrix, Target(np.zeros(labels.size), weights), n_threads=1)
    return rows, facts_of(rows, checksum(matrix, labels, weights)), labels


def _selected(
    frame: Any, features: str | Sequence[str], label: str, weight: str | None, count: int
) -> Any:
    """The columns that the tasks read, in ``count`` partitions.

    They are the features, ``_label``, and ``_weight`` if there are weights.
    """
    decimal = frame.schema[label].dataType.typeName() == "decimal"  # as 1.0 in SQL is
    kept = [(frame[label].cast("double") if decimal else frame[label]).alias("_label")]
    if weight:
        kept.append(frame[weight].cast("double").alias("_weight"))
    chosen = frame.select(*feature_columns(frame, features), *kept)
    if frame.rdd.getNumPartitions() == count:
        return chosen
    # A barrier job refuses `coalesce`, which needs no shuffle. A shuffle changes the order of rows.
    # Sorting by row number restores it, so that a task that is started again reads the same rows.
    functions = require("pyspark.sql.functions", extra="spark")
    numbered = chosen.withColumn("_row", functions.monotonically_increasing_id())
    return numbered.repartition(count).sortWithinPartitions("_row").drop("_row")


def _labelled(data: Sharded, labels: Array, column: str) -> Sharded:
    """The rows with their labels: -1 and +1 where there are two of them."""
    missing = [one is None or one != one for one in labels.tolist()]
    if any(missing):
        raise DataError(
            f"a label in every row of {column!r}; got {sum(missing)} missing. Drop those rows: "
            f"df.dropna(subset=[{column!r}])."
        )
    classes, codes = np.unique(labels, return_inverse=True)
    weight = data.target.weight
    if classes.size == 2:
        target = Target(np.where(codes == 1, 1.0, -1.0), weight)
        return data.labelled(target, tuple(classes.tolist()))
    if labels.dtype.kind in "biuf":
        return data.labelled(Target(labels.astype(np.float64), weight), None)
    raise DataError(
        f"two labels, or numbers, in {column!r}; got {classes.size} labels such as {classes[0]!r}. "
        "Use StringIndexer for more labels of text."
    )


def _no_rows() -> DataError:
    return DataError("rows; got an empty frame. Check its filters.")


def _check_versions(greetings: Sequence[Greeting]) -> None:
    if not greetings:
        raise _no_rows()
    other = {one.version for one in greetings} - {__version__}
    if other:
        raise DataError(
            f"auctor {__version__} on every executor, as it is here; got {other.pop()}. Install "
            "one version on all machines."
        )
