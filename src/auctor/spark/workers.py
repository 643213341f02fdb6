"""Workers of a Spark cluster: the tasks of one barrier job, which dial back to the driver.

A job for every product would cost a second each. Instead one job is started, whose tasks read
their rows once, connect to the driver with a one-time key, and answer calls until they are told to
end. Connections are those of `multiprocessing.connection`: a challenge with the key, then pickles.
"""

from __future__ import annotations

import secrets
import socket
import sys
import threading
import weakref
from collections.abc import Iterator, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, NamedTuple

import numpy as np

from auctor.core.errors import DataError, DataLost
from auctor.core.optional import require
from auctor.core.types import Array, Target
from auctor.core.version import __version__
from auctor.data import Dense, Sparse
from auctor.data.sharded import Sharded, check_entries
from auctor.data.workers import ShardFacts, call, facts_of
from auctor.spark.columns import check_columns, feature_columns, matrix_of

WHO = "from_spark"
#: Seconds in which all tasks must have connected: reading the rows is part of it.
CONNECT_SECONDS = 600.0
#: Seconds without an answer after which the job counts as lost.
PATIENCE = 300.0
#: Scores and slopes of an evaluation, in numbers, that come to the driver rather than six more
#: calls: a call took 0.1 ms, in which some ten thousand numbers pass a socket.
GATHER_BELOW = 6e4


#: Data sets whose jobs hold slots of a cluster; a second barrier job would wait for them for ever.
_OPEN: weakref.WeakSet[SparkWorkers] = weakref.WeakSet()


class Greeting(NamedTuple):
    """What a task says when it connects; labels are as they stand in the frame.

    There are no facts where the task has no rows; it is then told to end.
    """

    number: int
    version: str
    facts: ShardFacts | None
    labels: Array


class SparkWorkers:
    """Tasks of a barrier job that hold rows; `close`, or the end of its last user, ends the job.

    Parameters
    ----------
    connections : sequence
        One for every task, in the order of the partitions.
    facts : list of ShardFacts
    job : Thread, optional
        Which waits for the end of the job.
    """

    gather_below: float = GATHER_BELOW

    def __init__(
        self,
        connections: Sequence[Connection],
        facts: list[ShardFacts],
        job: threading.Thread | None = None,
    ) -> None:
        self._connections, self._known, self._job = list(connections), facts, job
        self._end = weakref.finalize(self, _hang_up, self._connections)
        _OPEN.add(self)

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""
        return self._known

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on every shard, in the order of the shards."""
        try:
            for connection, given in zip(self._connections, arguments, strict=True):
                connection.send((method, given))
            return [self._answer(connection) for connection in self._connections]
        except (OSError, EOFError) as error:
            raise DataLost(
                WHO,
                needs="tasks that answer",
                got=f"{type(error).__name__}: {error}",
                todo="Look at the log of the Spark job, and go on from the checkpoint.",
            ) from error

    def _answer(self, connection: Connection) -> Any:
        if not connection.poll(PATIENCE):
            raise EOFError("no answer")
        return connection.recv()

    def close(self) -> None:
        """End the job."""
        self._end()
        _OPEN.discard(self)
        if self._job is not None:
            self._job.join(timeout=PATIENCE)


def _hang_up(connections: Sequence[Connection]) -> None:
    """Tell all tasks to end."""
    for connection in connections:
        try:
            connection.send(None)
            connection.close()
        except OSError:
            continue


def serve(
    address: tuple[str, int], key: bytes, number: int, rows: Dense | Sparse | None, labels: Array
) -> None:
    """Hold rows and answer calls until told to end; runs in a task."""
    with Client(address, authkey=key) as driver:
        facts = None if rows is None else facts_of(rows)
        driver.send(Greeting(number, __version__, facts, labels))
        while rows is not None and (asked := driver.recv()) is not None:
            method, given = asked
            driver.send(call(rows, method, given))


def from_spark(
    frame: Any,
    features: str | Sequence[str],
    label: str,
    *,
    weight: str | None = None,
    n_tasks: int | None = None,
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
    """
    require("pyspark", extra="spark", who=WHO)
    context = frame.sparkSession.sparkContext
    slots = context.defaultParallelism
    wanted = frame.rdd.getNumPartitions() if n_tasks is None else n_tasks
    if n_tasks is not None and n_tasks > slots:
        raise DataError(
            WHO,
            needs=f"at most {slots} tasks, the slots of the cluster: all run at once",
            got=f"{n_tasks}",
            todo="Pass a smaller {option}, or start more executors.",
            option="n_tasks",
        )
    if not wanted:
        raise _no_rows()
    named = [features] if isinstance(features, str) else list(features)
    check_columns(frame, [*named, label, *([weight] if weight else [])], WHO)
    held = sum(len(one.facts()) for one in _OPEN)
    if held + min(wanted, slots) > slots:
        raise DataError(
            WHO,
            needs=f"{min(wanted, slots)} free slots of the cluster's {slots}",
            got=f"{held} that the tasks of other data sets hold",
            todo="End those with data.workers.close(), or pass a smaller {option}.",
            option="n_tasks",
        )
    count = min(wanted, slots)
    chosen = _selected(frame, features, label, weight, count)
    key = secrets.token_bytes(32)
    listener = Listener((_own_address(), 0), backlog=count, authkey=key)
    address = listener.address

    def hold(batches: Iterator[Any]) -> Iterator[Any]:
        import pandas
        from pyspark import BarrierTaskContext

        held, labels = None, np.empty(0)
        tables = [batch.to_pandas() for batch in batches if batch.num_rows]
        if tables:
            table = pandas.concat(tables, ignore_index=True)
            labels = table.pop("_label").to_numpy()
            weights = table.pop("_weight").to_numpy(dtype=np.float64) if weight else None
            held = _stored(matrix_of(table), Target(np.zeros(labels.size), weights))
        serve(address, key, BarrierTaskContext.get().partitionId(), held, labels)
        return iter(())

    failed: list[BaseException] = []

    def run() -> None:
        try:
            chosen.mapInArrow(hold, "done int", barrier=True).collect()  # one job; `count` is two
        except Exception as error:  # shown to the user where the connection is missed
            failed.append(error)
        finally:
            _wake(address)

    job = threading.Thread(target=run, daemon=True, name="auctor-spark-job")
    job.start()
    connected = _connected(listener, count, failed)
    connections = [connection for connection, greeting in connected if greeting.facts is not None]
    greetings = [greeting for _, greeting in connected if greeting.facts is not None]
    workers = SparkWorkers(connections, [one.facts for one in greetings if one.facts], job)
    try:
        _check_versions(greetings)
        data = Sharded(workers, names=None if isinstance(features, str) else tuple(features))
        check_entries(data)
        return _labelled(data, np.concatenate([one.labels for one in greetings]), label)
    except BaseException:
        workers.close()
        raise


def _selected(
    frame: Any, features: str | Sequence[str], label: str, weight: str | None, count: int
) -> Any:
    """What the tasks read, in so many partitions: features, ``_label`` and perhaps ``_weight``."""
    decimal = frame.schema[label].dataType.typeName() == "decimal"  # as 1.0 in SQL is
    kept = [(frame[label].cast("double") if decimal else frame[label]).alias("_label")]
    if weight:
        kept.append(frame[weight].cast("double").alias("_weight"))
    chosen = frame.select(*feature_columns(frame, features), *kept)
    # A barrier job refuses `coalesce`, which would spare the shuffle.
    return chosen if frame.rdd.getNumPartitions() == count else chosen.repartition(count)


def _stored(rows: Any, target: Target) -> Dense | Sparse:
    kind: Any = Dense if isinstance(rows, np.ndarray) else Sparse
    found: Dense | Sparse = kind(rows, target, n_threads=1)
    return found


def _labelled(data: Sharded, labels: Array, column: str) -> Sharded:
    """The rows with their labels: -1 and +1 where there are two of them."""
    missing = [one is None or one != one for one in labels.tolist()]
    if any(missing):
        raise DataError(
            WHO,
            needs=f"a label in every row of {column!r}",
            got=f"{sum(missing)} missing",
            todo=f"Drop those rows: df.dropna(subset=[{column!r}]).",
        )
    classes, codes = np.unique(labels, return_inverse=True)
    weight = data.target.weight
    if classes.size == 2:
        target = Target(np.where(codes == 1, 1.0, -1.0), weight)
        return data.labelled(target, tuple(classes.tolist()))
    if labels.dtype.kind in "biuf":
        return data.labelled(Target(labels.astype(np.float64), weight), None)
    raise DataError(
        WHO,
        needs=f"two labels, or numbers, in {column!r}",
        got=f"{classes.size} labels such as {classes[0]!r}",
        todo="Use StringIndexer for more labels of text.",
    )


def _no_rows() -> DataError:
    return DataError(WHO, needs="rows", got="an empty frame", todo="Check its filters.")


def _check_versions(greetings: Sequence[Greeting]) -> None:
    if not greetings:
        raise _no_rows()
    other = {one.version for one in greetings} - {__version__}
    if other:
        raise DataError(
            WHO,
            needs=f"auctor {__version__} on every executor, as it is here",
            got=other.pop(),
            todo="Install one version on all machines.",
        )


def _connected(
    listener: Listener, count: int, failed: list[BaseException]
) -> list[tuple[Connection, Greeting]]:
    """All tasks, in the order of their partitions."""
    found: dict[int, tuple[Connection, Greeting]] = {}
    watchdog = threading.Timer(CONNECT_SECONDS, _wake, [listener.address])
    watchdog.daemon = True
    watchdog.start()
    try:
        while len(found) < count:
            connection = listener.accept()
            greeting = connection.recv()
            found[greeting.number] = connection, greeting
    except (OSError, EOFError, AuthenticationError) as error:
        why = _cause(failed[0]) if failed else "no connection in time"
        raise DataLost(
            WHO,
            needs=f"{count} tasks that connect to the driver",
            got=f"{len(found)}: {why}",
            todo="Check that executors have auctor (PYSPARK_PYTHON names their Python, which is "
            f"{sys.executable} here) and can reach the driver.",
        ) from error
    finally:
        watchdog.cancel()
        listener.close()
    return [found[number] for number in sorted(found)]


def _wake(address: Any) -> None:
    """End a wait for connections by one that does not know the key, if anybody still waits."""
    try:
        socket.create_connection(address, timeout=1.0).close()
    except OSError:
        return


def _cause(error: BaseException) -> str:
    """The last line of Python's in an error of a Spark job, which is long."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if "Error" in line and not line.startswith(("at ", "org."))]
    return (told[-1] if told else str(error))[:300]


def _own_address() -> str:
    """An address of this machine that executors can reach."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
