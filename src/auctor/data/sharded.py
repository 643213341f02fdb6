"""Data in shards: on the disk, on other machines; every product is a sum over shards."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.cost import product_passes
from auctor.core.errors import DataError
from auctor.core.files import AnyPath
from auctor.core.needs import Access
from auctor.core.types import FloatArray, IntArray, Target
from auctor.data.shards import open_folder
from auctor.data.workers import FileWorkers, ShardFacts, Workers

#: Bytes of the ring of buffers, unless said otherwise.
MEMORY = 512 << 20
#: Columns up to which Gram matrices travel: 8 MB each.
GRAM_COLUMNS = 1000
#: Largest entry that is accepted, as in `auctor.data.coerce`: squares must stay finite.
LARGEST = 1e100


class Sharded:
    """A data set whose rows are spread over workers.

    It offers the two products, sums of second order and, with few columns, Gram matrices: what a
    stream of blocks can offer. Sums are made in the order of the shards, so that the same seed
    gives the same bits whoever holds them.

    Parameters
    ----------
    workers : Workers
    names : names of the columns, optional
    target : Target, optional
        Instead of that of the shards.
    """

    def __init__(
        self, workers: Workers, *, names: tuple[str, ...] | None = None,
        target: Target | None = None, facts: list[ShardFacts] | None = None,
    ) -> None:  # fmt: skip
        self.workers, self.names = workers, names
        self._facts = check_facts(workers.facts()) if facts is None else facts
        self._given = target
        self._ends = np.cumsum([facts.n_rows for facts in self._facts])

    @property
    def access(self) -> Access:
        """What block reductions offer."""
        few = self.n_columns <= GRAM_COLUMNS
        return Access.SECOND_ORDER | Access.RETARGET | (Access.GRAM if few else Access.PRODUCTS)

    @property
    def n_rows(self) -> int:
        """Rows of all shards."""
        return int(self._ends[-1])

    @property
    def n_columns(self) -> int:
        """Columns."""
        return self._facts[0].n_columns

    @property
    def n_entries(self) -> int:
        """Stored entries of all shards."""
        return sum(facts.n_entries for facts in self._facts)

    @cached_property
    def target(self) -> Target:
        """Targets and weights of all rows, in the order of the shards."""
        if self._given is not None:
            return self._given
        targets = [facts.target for facts in self._facts]
        y = np.concatenate([target.y for target in targets])
        if all(target.weight is None for target in targets):
            return Target(y)
        parts = [np.ones(t.n_rows) if t.weight is None else t.weight for t in targets]
        return Target(y, np.concatenate(parts))

    def with_target(self, target: Target) -> Sharded:
        """The same rows with another target."""
        return Sharded(self.workers, names=self.names, target=target, facts=self._facts)

    def _split(self, values: FloatArray) -> list[FloatArray]:
        return np.split(values, self._ends[:-1])

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        answers = self.workers.each("scores", [(w, offset)] * len(self._facts))
        return np.concatenate(answers)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        return self._sum("gradient", [(part,) for part in self._split(dscores)])

    def square_gradient(self, h: FloatArray) -> FloatArray:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        return self._sum("square_gradient", [(part,) for part in self._split(h)])

    def sandwich(self, h: FloatArray, v: FloatArray, offset: float) -> tuple[FloatArray, float]:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        answers = self.workers.each("sandwich", [(part, v, offset) for part in self._split(h)])
        return _total([one for one, _ in answers]), float(sum(total for _, total in answers))

    def gram(self, h: FloatArray) -> FloatArray:
        """``X.T @ diag(h) @ X`` for ``h >= 0``."""
        return self._sum("gram", [(part,) for part in self._split(h)])

    def gram_passes(self, index: IntArray | None = None) -> float:
        """Cost of `gram` in units of `sandwich`."""
        return product_passes(self.n_columns)

    def _sum(self, method: str, arguments: list[tuple[Any, ...]]) -> FloatArray:
        return _total(self.workers.each(method, arguments))


def _total(parts: list[FloatArray]) -> FloatArray:
    """A sum in the order of the parts."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def check_facts(facts: list[ShardFacts]) -> list[ShardFacts]:
    """Refuse shards that do not fit together, or hold no rows at all."""
    if not facts or not any(one.n_rows for one in facts):
        raise DataError("Sharded", needs="some rows", got="none in any shard", todo="Pass some.")
    widths = {one.n_columns for one in facts}
    if len(widths) > 1:
        raise DataError(
            "Sharded",
            needs="one number of columns in all shards",
            got=f"{sorted(widths)}",
            todo="Give every part of the table the same columns.",
        )
    return facts


def open_shards(
    path: AnyPath, *, positive: Any = None, memory: int = MEMORY, check: bool = True
) -> Sharded:
    """The data set of a folder of shards, read from the disk for every product.

    Parameters
    ----------
    path : folder
        Made by ``auctor convert`` or `write_shards`.
    positive : label, optional
        The positive class; by default 1, true or yes, else the rarer one.
    memory : int
        Bytes for the ring of buffers that shards are read into.
    check : bool
        Whether one pass looks for entries that are not finite.
    """
    folder = open_folder(path)
    data = Sharded(FileWorkers(folder, memory), names=folder.names)
    if check:
        check_entries(data)
    target = data.target
    return data.with_target(replace(target, y=folder.notes.encoded(target.y, positive)))


def check_entries(data: Sharded) -> None:
    """Refuse NaN, infinity and huge entries, by shard and row."""
    answers = data.workers.each("largest", [()] * len(data._facts))
    for shard, (size, row) in enumerate(answers):
        if not size < LARGEST:
            raise DataError(
                "open_shards",
                needs=f"finite entries below {LARGEST:g}",
                got=f"{size:g} in shard {shard}, row {row}",
                todo="Correct that row, and convert the table again.",
            )
