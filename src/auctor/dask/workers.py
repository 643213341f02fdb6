"""Workers of a Dask cluster: one future for every shard, one task for every call.

A shard is a future, so that Dask makes it again from its collection when a worker is lost, and the
call is repeated. Nothing is pinned to an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from auctor.core.errors import DataError, DataLost, speaks_as
from auctor.core.optional import require
from auctor.core.types import Array, Target
from auctor.core.version import __version__
from auctor.data import Dense, Sparse, as_matrix, wrap
from auctor.data.matrices import is_dense
from auctor.data.sharded import Sharded, check_entries
from auctor.data.workers import ShardFacts, call, facts_of

#: Seconds without any answer after which a call is given up.
ANSWER_SECONDS = 120.0
#: Scores plus slopes below which the driver evaluates a loss; above, the workers do.
GATHER_BELOW = 6e6


class DaskWorkers:
    """Shards that live on the workers of a Dask cluster.

    Parameters
    ----------
    shards : sequence of futures
        Each of a `Dense` or `Sparse` block of rows.
    client : distributed.Client
    """

    gather_below: float = GATHER_BELOW

    def __init__(self, shards: Sequence[Any], client: Any) -> None:
        self._shards, self._client = list(shards), client

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""
        return self._gathered([self._client.submit(facts_of, one) for one in self._shards])

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on every shard, in the order of the shards."""
        return self.ask(method, arguments, [()] * len(arguments))

    def keep(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on every shard; results stay, as futures that Dask can make again."""
        if self._client.status != "running":
            raise _lost(f"a client that is {self._client.status}")
        return [
            self._client.submit(call, shard, method, given, list(known), pure=False, retries=2)
            for shard, given, known in zip(self._shards, arguments, kept, strict=True)
        ]

    def ask(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on every shard, in the order of the shards."""
        return self._gathered(self.keep(method, arguments, kept))

    def _gathered(self, futures: list[Any]) -> list[Any]:
        distributed = require("distributed", extra="dask")
        try:
            with self._client.as_current():  # `wait` takes the current client, which may be another
                distributed.wait(futures, timeout=ANSWER_SECONDS)
            answers: list[Any] = self._client.gather(futures)
        except (OSError, TimeoutError, CancelledError, distributed.KilledWorker) as error:
            raise _lost(f"{type(error).__name__}: {str(error)[:200]}") from error
        return answers


def _lost(what: str) -> DataLost:
    """The error for a lost scheduler or for workers that keep dying."""
    return DataLost(
        f"a cluster that answers; got {what}. Start the cluster again, and go on from the "
        "checkpoint."
    )


def own_version() -> str:
    """The version of auctor; runs on a worker."""
    return __version__


def check_versions(client: Any) -> None:
    """Refuse a cluster where a worker lacks auctor, or has another version of it."""
    for address, found in client.run(own_version, on_error="return").items():
        if isinstance(found, ImportError | AttributeError):
            raise DataError(
                f"auctor installed on every worker; got {found} on {address}. Install it there, or "
                "start the workers in the same environment."
            ) from found
        if isinstance(found, str) and found != __version__:
            raise DataError(
                f"auctor {__version__} on every worker, as it is here; got {found} on {address}. "
                "Install one version on all machines."
            )


def make_shard(rows: Any, y: Any, weight: Any, order: Any, missing: bool) -> Dense | Sparse:
    """Rows of one partition as a shard; runs on a worker.

    ``order`` is a series whose index must be that of the rows; its values are not used.
    """
    for other in (y, weight, order):
        check_index(rows, other)
    matrix = as_matrix(rows, finite=not missing)
    labels = np.zeros(matrix.shape[0]) if y is None else np.asarray(y, dtype=np.float64)
    given = None if weight is None else np.asarray(weight, dtype=np.float64)
    target = Target(labels, given)
    if labels.shape[0] != matrix.shape[0]:
        raise DataError(
            f"as many labels as rows in every partition; got {labels.shape[0]} for "
            f"{matrix.shape[0]}. Make X and y from one frame, or give them the same chunks."
        )
    rows_first = np.ascontiguousarray(matrix) if is_dense(matrix) else matrix
    return wrap(rows_first, target, n_threads=1)


def check_index(rows: Any, other: Any) -> None:
    """Refuse labels or weights of other rows, where a pandas index names them."""
    if hasattr(rows, "iloc") and hasattr(other, "iloc") and not rows.index.equals(other.index):
        raise DataError(
            "labels and weights with the index of their rows, in every partition; got "
            f"{list(other.index[:3])} beside {list(rows.index[:3])}. Make X and y from one frame."
        )


def partitions(collection: Any) -> list[Any]:
    """Delayed blocks of rows of a Dask array, series or frame."""
    if hasattr(collection, "rechunk"):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    return list(collection.to_delayed())


def with_labels(X: Any, y: Any, *, missing: bool = False) -> tuple[Sharded, Array]:
    """Collections as data in shards, and the labels of all rows, which the driver keeps."""
    labels = np.asarray(y.compute() if hasattr(y, "compute") else y)
    frames = all(hasattr(one, "divisions") for one in (X, y))  # arrays have no index to compare
    order = y if frames and X.npartitions == y.npartitions else None
    return from_dask(X, order=order, missing=missing), labels


@speaks_as("from_dask")
def from_dask(
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    client: Any = None,
    order: Any = None,
    missing: bool = False,
) -> Sharded:
    """A data set of Dask collections: rows stay where they are.

    Parameters
    ----------
    X : dask array or DataFrame
    y : dask array or Series, optional
        Encoded targets: -1 and +1, or numbers for regression.
    weight : dask array or Series, optional
    client : distributed.Client, optional
        The current one by default.
    order : dask Series, optional
        Its index must be that of X, in every partition; its values are not used. Estimators pass
        the labels, which they encode themselves.
    missing : bool
        Whether entries may be missing, as additive models allow.
    """
    distributed = require("distributed", extra="dask")
    client = client or distributed.get_client()
    check_versions(client)
    rows = partitions(X)
    labels = [None] * len(rows) if y is None else partitions(y)
    weights = [None] * len(rows) if weight is None else partitions(weight)
    orders = [None] * len(rows) if order is None else partitions(order)
    if not len(rows) == len(labels) == len(weights):
        raise DataError(
            f"as many partitions of y as of X; got {len(labels)} and {len(rows)}. Make X and y "
            "from one frame, or give them the same chunks."
        )
    delayed = require("dask", extra="dask").delayed
    made = [
        delayed(make_shard)(*parts, missing)
        for parts in zip(rows, labels, weights, orders, strict=True)
    ]
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    shards = client.compute(made)
    data = Sharded(DaskWorkers(shards, client), names=names)
    if not missing:
        check_entries(data)
    return data
