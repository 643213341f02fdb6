"""Workers of a Dask cluster: one future for every shard, one task for every call.

A shard is a future, so that Dask makes it again from its collection when a worker is lost, and the
call is repeated. Nothing is pinned to an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from auctor.core.errors import DataError, DataLost
from auctor.core.optional import require
from auctor.core.types import Array, Target
from auctor.data import Dense, Sparse, as_matrix
from auctor.data.sharded import Sharded, check_entries
from auctor.data.workers import ShardFacts, call, facts_of

WHO = "from_dask"
#: Seconds without any answer after which a call is given up.
PATIENCE = 120.0


class DaskWorkers:
    """Shards that live on the workers of a Dask cluster.

    Parameters
    ----------
    shards : sequence of futures
        Each of a `Dense` or `Sparse` block of rows.
    client : distributed.Client
    """

    def __init__(self, shards: Sequence[Any], client: Any) -> None:
        self._shards, self._client = list(shards), client

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""
        return self._gathered([self._client.submit(facts_of, one) for one in self._shards])

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on every shard, in the order of the shards."""
        return self._gathered(
            [
                self._client.submit(call, shard, method, given, pure=False, retries=2)
                for shard, given in zip(self._shards, arguments, strict=True)
            ]
        )

    def _gathered(self, futures: list[Any]) -> list[Any]:
        distributed = require("distributed", extra="dask", who=WHO)
        try:
            distributed.wait(futures, timeout=PATIENCE)
            answers: list[Any] = self._client.gather(futures)
        except (OSError, TimeoutError, distributed.TimeoutError) as error:
            raise DataLost(
                WHO,
                needs="a cluster that answers",
                got=f"{type(error).__name__}: {error}",
                todo="Start the cluster again, and go on from the checkpoint.",
            ) from error
        return answers


def make_shard(rows: Any, y: Any, weight: Any) -> Dense | Sparse:
    """Rows of one partition as a shard; runs on a worker."""
    matrix = as_matrix(rows, who=WHO)
    labels = np.zeros(matrix.shape[0]) if y is None else np.asarray(y, dtype=np.float64)
    given = None if weight is None else np.asarray(weight, dtype=np.float64)
    target = Target(labels, given)
    if labels.shape[0] != matrix.shape[0]:
        raise DataError(
            WHO,
            needs="as many labels as rows in every partition",
            got=f"{labels.shape[0]} for {matrix.shape[0]}",
            todo="Make X and y from one frame, or give them the same chunks.",
        )
    if issparse(matrix):
        return Sparse(matrix, target, n_threads=1)
    return Dense(np.ascontiguousarray(matrix), target, n_threads=1)


def partitions(collection: Any) -> list[Any]:
    """Delayed blocks of rows of a Dask array, series or frame."""
    if hasattr(collection, "rechunk"):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    return list(collection.to_delayed())


def with_labels(X: Any, y: Any) -> tuple[Sharded, Array]:
    """Collections as data in shards, and the labels of all rows, which the driver keeps."""
    labels = np.asarray(y.compute() if hasattr(y, "compute") else y)
    return from_dask(X), labels


def from_dask(X: Any, y: Any = None, weight: Any = None, *, client: Any = None) -> Sharded:
    """A data set of Dask collections: rows stay where they are.

    Parameters
    ----------
    X : dask array or DataFrame
    y : dask array or Series, optional
        Encoded targets: -1 and +1, or numbers for regression.
    weight : dask array or Series, optional
    client : distributed.Client, optional
        The current one by default.
    """
    distributed = require("distributed", extra="dask", who=WHO)
    client = client or distributed.get_client()
    rows = partitions(X)
    labels = [None] * len(rows) if y is None else partitions(y)
    weights = [None] * len(rows) if weight is None else partitions(weight)
    if not len(rows) == len(labels) == len(weights):
        raise DataError(
            WHO,
            needs="as many partitions of y as of X",
            got=f"{len(labels)} and {len(rows)}",
            todo="Make X and y from one frame, or give them the same chunks.",
        )
    delayed = require("dask", extra="dask", who=WHO).delayed
    made = [delayed(make_shard)(*parts) for parts in zip(rows, labels, weights, strict=True)]
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    shards = client.compute(made)
    data = Sharded(DaskWorkers(shards, client), names=names)
    check_entries(data)
    return data
