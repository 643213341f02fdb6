"""A barrier job whose tasks hold rows, connect to the driver and answer calls.

Connections are those of `multiprocessing.connection`: a challenge with a one-time key, then
pickles.
"""

from __future__ import annotations

import secrets
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, NamedTuple

from auctor.core.errors import DataLost
from auctor.core.types import Array
from auctor.core.version import __version__
from auctor.data import Dense, Sparse
from auctor.data.workers import HeldShard, ShardFacts


class Greeting(NamedTuple):
    """The first message of a task: its number, its version of auctor, facts and labels of its rows.

    Labels are those of the frame. A task without rows sends None for the facts, and ends.
    """

    number: int
    version: str
    facts: ShardFacts | None
    labels: Array


class Task(NamedTuple):
    """A task that has connected."""

    connection: Connection
    greeting: Greeting


def serve(
    address: tuple[str, int],
    key: bytes,
    number: int,
    rows: Dense | Sparse | None,
    facts: ShardFacts | None,
    labels: Array,
) -> None:
    """Hold rows and answer calls until told to end; runs in a task."""
    with Client(address, authkey=key) as driver:
        driver.send(Greeting(number, __version__, facts, labels))
        if rows is None:
            return
        held = HeldShard(rows)
        while (asked := driver.recv()) is not None:
            method, given = asked
            driver.send(held.call(method, given))


class BarrierJob:
    """A job in a thread of its own, whose tasks connect to the driver.

    Parameters
    ----------
    run : function of an address and a key
        Starts the job, whose tasks `serve`, and returns when it has ended.
    count : int
        Tasks of the job.
    """

    def __init__(self, run: Callable[[Any, bytes], object], count: int) -> None:
        self._run, self._count = run, count
        self._failure: Exception | None = None
        self._key = secrets.token_bytes(32)
        self._listener = Listener((_own_address(), 0), backlog=count, authkey=self._key)
        self._address: Any = self._listener.address
        self._thread = threading.Thread(target=self._watch, daemon=True, name="auctor-spark-job")
        self._thread.start()

    def _watch(self) -> None:
        try:
            self._run(self._address, self._key)
        except Exception as error:  # `connected` and `cause` report it to the user
            self._failure = error
        finally:
            self._wake()

    def cause(self) -> str:
        """Why Spark ended the job, in a line; empty if it did not fail."""
        return _cause(self._failure) if self._failure else ""

    def _wake(self) -> None:
        """Stop `connected` from waiting: connect without the key, which it rejects."""
        try:
            socket.create_connection(self._address, timeout=1.0).close()
        except OSError:
            return

    def connected(self, seconds: float) -> list[Task]:
        """Tasks that hold rows, in the order of their partitions; no other can connect later."""
        found: dict[int, Task] = {}
        watchdog = threading.Timer(seconds, self._wake)
        watchdog.daemon = True
        watchdog.start()
        try:
            while len(found) < self._count:
                connection = self._listener.accept()
                task = Task(connection, connection.recv())
                found[task.greeting.number] = task
        except (OSError, EOFError, AuthenticationError) as error:
            hang_up([task.connection for task in found.values()])
            why = self.cause() or "no connection in time"
            raise DataLost(
                f"{self._count} tasks that connect to the driver",
                got=f"{len(found)}: {why}",
                todo="Check that executors have auctor (PYSPARK_PYTHON names their Python, which "
                f"is {sys.executable} here) and can reach the driver.",
            ) from error
        finally:
            watchdog.cancel()
            self._listener.close()
        return [found[number] for number in sorted(found) if found[number].greeting.facts]

    def join(self, seconds: float) -> None:
        """Wait until the job has ended, at most ``seconds``."""
        self._thread.join(seconds)


def hang_up(connections: Sequence[Connection]) -> None:
    """Close the connections without telling the tasks to end: they fail, and so does the job."""
    for connection in connections:
        connection.close()


def dismiss(connections: Sequence[Connection]) -> None:
    """Tell tasks to end."""
    for connection in connections:
        try:
            connection.send(None)
            connection.close()
        except OSError:  # a task that is lost
            continue


def _cause(error: BaseException) -> str:
    """The last line about a Python error in the long message of a failed Spark job."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if "Error" in line and not line.startswith(("at ", "org."))]
    return (told[-1] if told else str(error))[:300]


def _own_address() -> str:
    """An address of this machine that executors can reach."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
