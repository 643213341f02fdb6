"""Workers of a Ray cluster: shards and kept results are objects, and a call is a task.

Ray makes a lost object again by the tasks that it came from, and repeats a task whose worker was
lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.optional import require
from auctor.core.types import Array, Target
from auctor.core.version import __version__
from auctor.data import Dense, Sparse, as_matrix
from auctor.data.sharded import Sharded, check_entries, with_labels
from auctor.data.spread import ByReference
from auctor.data.workers import ShardFacts, call, facts_of

WHO = "from_ray"
#: Seconds without an answer after which a call is given up.
PATIENCE = 300.0
#: Scores and slopes of an evaluation, in numbers, that come to the driver rather than six more
#: calls: a call took 5 ms, and a million numbers 13 ms beyond that.
GATHER_BELOW = 2e6


class RayWorkers(ByReference):
    """Shards in the object store of a Ray cluster; ``shards`` are references to them."""

    who = WHO
    gather_below: float = GATHER_BELOW

    def __init__(self, shards: Sequence[Any]) -> None:
        self._shards, self._ray = list(shards), require("ray", extra="ray", who=WHO)
        self._call, self._facts = self._ray.remote(_called), self._ray.remote(facts_of)

    def facts(self) -> list[ShardFacts]:
        """Shapes and targets of all shards, in their order."""
        return self.gathered([self._facts.remote(shard) for shard in self._shards])

    def keep(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on every shard; results stay in the object store."""
        if not self._ray.is_initialized():  # a call would start another cluster, without the rows
            raise self.lost("a session that has ended")
        return [
            self._call.remote(shard, method, given, *known)
            for shard, given, known in zip(self._shards, arguments, kept, strict=True)
        ]

    def gathered(self, references: Sequence[Any]) -> list[Any]:
        """The results that references stand for."""
        try:
            found: list[Any] = self._ray.get(list(references), timeout=PATIENCE)
        except self._ray.exceptions.RayTaskError:  # an error of ours, not of the cluster
            raise
        except self._ray.exceptions.RayError as error:
            raise self.lost(f"{type(error).__name__}: {str(error)[:200]}") from error
        return found


def _called(rows: Dense | Sparse, method: str, arguments: tuple[Any, ...], *kept: Any) -> Any:
    return call(rows, method, arguments, kept)


def _shard(
    block: Any, features: list[str], label: str, weight: str | None
) -> tuple[Dense, tuple[str, Array]]:
    """The rows of a block; the version of auctor and their labels; runs in a task."""
    weights = None if weight is None else block[weight].to_numpy(dtype=np.float64)
    rows = np.ascontiguousarray(as_matrix(block[features], who=WHO))
    made = Dense(rows, Target(np.zeros(len(block)), weights), n_threads=1)
    return made, (__version__, block[label].to_numpy())


def from_ray(
    dataset: Any, features: Sequence[str], label: str, *, weight: str | None = None
) -> Sharded:
    """A data set of a `ray.data.Dataset`; the rows stay in the object store.

    Parameters
    ----------
    dataset : ray.data.Dataset
    features : names of number columns
    label : str
        Column with the labels, or with numbers for regression.
    weight : str, optional
    """
    ray = require("ray", extra="ray", who=WHO)
    make = ray.remote(num_returns=2)(_shard)
    made = [make.remote(one, list(features), label, weight) for one in dataset.to_pandas_refs()]
    workers = RayWorkers([rows for rows, _ in made])
    try:
        told = workers.gathered([one for _, one in made])
    except ray.exceptions.RayTaskError as error:
        if "No module named 'auctor" not in str(error):
            raise
        raise _other_version("none on one") from error
    other = {version for version, _ in told} - {__version__}
    if other:
        raise _other_version(other.pop())
    data = Sharded(workers, names=tuple(features))
    check_entries(data)
    labels = np.concatenate([labels for _, labels in told])
    return with_labels(data, labels, column=label, who=WHO)


def _other_version(found: str) -> DataError:
    return DataError(
        WHO,
        needs=f"auctor {__version__} on every worker, as it is here",
        got=found,
        todo="Install one version on all machines.",
    )
