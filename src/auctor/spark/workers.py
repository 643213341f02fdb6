"""Workers of a Spark cluster: the tasks of one barrier job, which dial back to the driver.

A job for every product would cost a second each. Instead one job is started, whose tasks read
their rows once, connect to the driver with a one-time key, and answer calls until they are told to
end. Connections are those of `multiprocessing.connection`: a challenge with the key, then pickles.
"""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import numpy as np

from auctor.core.errors import DataError, DataLost
from auctor.core.optional import require
from auctor.core.types import Target
from auctor.data import Dense
from auctor.data.sharded import Sharded, check_entries
from auctor.data.workers import ShardFacts, call, facts_of

WHO = "from_spark"
#: Seconds in which all tasks must have connected: reading the rows is part of it.
CONNECT_SECONDS = 600.0
#: Seconds without an answer after which the job counts as lost.
PATIENCE = 300.0


class SparkWorkers:
    """Tasks of a barrier job that hold rows; close() ends the job.

    Parameters
    ----------
    connections : sequence
        One for every task, in the order of the partitions.
    facts : list of ShardFacts
    job : Thread, optional
        Which waits for the end of the job.
    """

    def __init__(
        self,
        connections: Sequence[Connection],
        facts: list[ShardFacts],
        job: threading.Thread | None = None,
    ) -> None:
        self._connections, self._known, self._job = list(connections), facts, job

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
        for connection in self._connections:
            try:
                connection.send(None)
                connection.close()
            except OSError:
                continue
        if self._job is not None:
            self._job.join(timeout=PATIENCE)


def serve(address: tuple[str, int], key: bytes, number: int, rows: Dense) -> None:
    """Hold rows and answer calls until told to end; runs in a task."""
    with Client(address, authkey=key) as driver:
        driver.send((number, facts_of(rows)))
        while (asked := driver.recv()) is not None:
            method, given = asked
            driver.send(call(rows, method, given))


def from_spark(
    frame: Any, features: Sequence[str], label: str, *, weight: str | None = None,
    n_tasks: int | None = None,
) -> Sharded:  # fmt: skip
    """A data set of a PySpark DataFrame; the rows stay in the tasks of one barrier job.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    features : names of number columns
    label : str
        Column with targets: -1 and +1, or numbers for regression.
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
    missing = [one for one in (*features, label) if one not in frame.columns]
    if missing:
        raise DataError(
            WHO,
            needs="features and a label among the columns of the frame",
            got=f"{missing[0]!r}",
            todo=f"Columns: {', '.join(frame.columns[:10])}.",
        )
    chosen = frame.select(*features, label, *([weight] if weight else []))
    chosen = chosen.coalesce(min(wanted, slots))
    count = chosen.rdd.getNumPartitions()
    key, width = secrets.token_bytes(32), len(features)
    listener = Listener((_own_address(), 0), backlog=count, authkey=key)
    address = listener.address

    def hold(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import BarrierTaskContext

        tables = [batch.to_pandas().to_numpy(dtype=np.float64) for batch in batches]
        rows = np.concatenate(tables) if tables else np.empty((0, width + 1 + bool(weight)))
        target = Target(rows[:, width], rows[:, width + 1] if weight else None)
        held = Dense(np.ascontiguousarray(rows[:, :width]), target, n_threads=1)
        serve(address, key, BarrierTaskContext.get().partitionId(), held)
        return iter(())

    failed: list[BaseException] = []

    def run() -> None:
        try:
            chosen.mapInArrow(hold, "done int", barrier=True).count()
        except Exception as error:  # shown to the user where the connection is missed
            failed.append(error)
            listener.close()

    job = threading.Thread(target=run, daemon=True, name="auctor-spark-job")
    job.start()
    workers = SparkWorkers(*_connected(listener, count, failed), job)
    data = Sharded(workers, names=tuple(features))
    check_entries(data)
    return data


def _connected(
    listener: Listener, count: int, failed: list[BaseException]
) -> tuple[list[Connection], list[ShardFacts]]:
    """All tasks, in the order of their partitions."""
    found: dict[int, tuple[Connection, ShardFacts]] = {}
    watchdog = threading.Timer(CONNECT_SECONDS, listener.close)
    watchdog.daemon = True
    watchdog.start()
    try:
        while len(found) < count:
            connection = listener.accept()
            number, facts = connection.recv()
            found[number] = connection, facts
    except (OSError, EOFError) as error:
        why = str(failed[0])[:300] if failed else "no connection in time"
        raise DataLost(
            WHO,
            needs=f"{count} tasks that connect to the driver",
            got=f"{len(found)}: {why}",
            todo="Check that executors have auctor installed and can reach the driver.",
        ) from error
    finally:
        watchdog.cancel()
        listener.close()
    ordered = [found[number] for number in sorted(found)]
    return [connection for connection, _ in ordered], [facts for _, facts in ordered]


def _own_address() -> str:
    """An address of this machine that executors can reach."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
