"""Vectors that are stored on the workers, and the calls to the workers.

A `Spread` is a vector with one number per row. Arithmetic with it makes formulas, which the workers
evaluate when a sum, a product with the rows or a loss is needed; only that result is sent. All
other numpy functions bring the numbers to this process first.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from auctor.core.types import Array
from auctor.data.on_rows import Formula, Slot
from auctor.data.workers import RESIDENT, ResidentCall, Workers

#: Numpy functions, of one or two arguments, that the workers evaluate.
FUNCTIONS = frozenset(
    {
        "absolute",
        "add",
        "divide",
        "isfinite",
        "maximum",
        "minimum",
        "multiply",
        "negative",
        "square",
        "subtract",
    }
)

#: References to a stored result of every shard, in the order of the shards.
References = Sequence[Any]


@runtime_checkable
class Keeping(Protocol):
    """Workers that store results until the driver drops the references to them."""

    def keep(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> References:
        """Call a method on every shard and store its results there."""

    def ask(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on every shard, and return its results in the order of the shards."""


class Key:
    """The number of a stored result; the workers drop that soon after the driver drops this."""

    def __init__(self, number: int) -> None:
        self.number = number


class Residents:
    """Stores results next to the shards, for engines whose shards never move."""

    def __init__(self, workers: Workers) -> None:
        self._workers, self._numbers = workers, count()
        self._owner = int(np.random.default_rng().integers(1 << 62))
        self._dropped: list[int] = []

    def keep(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> References:
        """Call a method on every shard and store its results there."""
        key = Key(next(self._numbers))
        self._call(key.number, method, arguments, kept)
        # When the key is garbage collected, the next call tells the workers to drop the result.
        weakref.finalize(key, self._dropped.append, key.number)
        return [key] * len(arguments)

    def ask(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on every shard, and return its results in the order of the shards."""
        return self._call(None, method, arguments, kept)

    def _call(
        self,
        number: int | None,
        method: str,
        arguments: Sequence[tuple[Any, ...]],
        kept: Sequence[Sequence[Any]],
    ) -> list[Any]:
        """Call a method on every shard, with its stored arguments; ``number`` stores the result."""
        if number is None and not any(kept):
            return self._workers.each(method, arguments)
        # Tell the workers which results the driver no longer refers to.
        dropped = self._dropped.copy()
        sent = [
            ResidentCall(
                self._owner, number, method, argument, [key.number for key in keys], dropped
            )
            for argument, keys in zip(arguments, kept, strict=True)
        ]
        answers = self._workers.each(RESIDENT, sent)
        del self._dropped[: len(dropped)]  # only now: a call that fails has dropped nothing
        return answers


@dataclass
class Traffic:
    """Count of the numbers sent to and received from the workers, and of the calls."""

    floats: int = 0
    calls: int = 0


class PerShard(NamedTuple):
    """An argument with a different value for every shard."""

    parts: Sequence[Any]


class Leaf(NamedTuple):
    """A stored vector, or a named field (``part``) of stored results."""

    references: References
    part: str = ""


class Holder:
    """The workers of a data set, which store vectors; counts all traffic."""

    def __init__(self, workers: Workers, lengths: Sequence[int]) -> None:
        self.lengths = list(lengths)
        self._ends = np.cumsum(self.lengths)[:-1]
        self._keeping = workers if isinstance(workers, Keeping) else Residents(workers)
        self.traffic = Traffic()

    def split(self, values: Array) -> PerShard:
        """A vector of this process, cut into the rows of the shards."""
        return PerShard(np.split(values, self._ends))

    def sent(self, values: Array) -> Leaf:
        """A vector of this process, sent to the workers and stored there."""
        return self.keep("combined", self.split(values))

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """Results of a method, in the order of the shards."""
        answers = self._keeping.ask(method, *self._sent(arguments))
        self.traffic.floats += count_floats(answers)
        return answers

    def total(self, method: str, *arguments: Any) -> Any:
        """The sum of the results of a method, added in the order of the shards."""
        return ordered_sum(self.ask(method, *arguments))

    def keep(self, method: str, *arguments: Any, part: str = "") -> Leaf:
        """Results of a method that are stored on the workers."""
        return Leaf(self._keeping.keep(method, *self._sent(arguments)), part)

    def _sent(self, arguments: Sequence[Any]) -> tuple[list[tuple[Any, ...]], list[list[Any]]]:
        """For every shard, its arguments and the stored results that they refer to."""
        sent, kept = [], []
        for shard in range(len(self.lengths)):
            known: list[Any] = []
            sent.append(tuple(_of_shard(one, shard, known) for one in arguments))
            kept.append(known)
        self.traffic.floats += count_floats(sent)
        self.traffic.calls += 1
        return sent, kept


def _of_shard(argument: Any, shard: int, known: list[Any]) -> Any:
    """An argument in the form in which it is sent to one shard."""
    if isinstance(argument, Spread):
        return _of_shard(argument.formula, shard, known)
    if isinstance(argument, Leaf):
        known.append(argument.references[shard])
        return Slot(len(known) - 1, argument.part)
    if isinstance(argument, Formula):
        return Formula(argument.name, tuple(_of_shard(one, shard, known) for one in argument.parts))
    if isinstance(argument, PerShard):
        return argument.parts[shard]
    return argument


def count_floats(argument: Any) -> int:
    """Number of floats in a nested argument or result."""
    if isinstance(argument, np.ndarray):
        return int(argument.size)
    if isinstance(argument, float | np.floating):
        return 1
    if isinstance(argument, tuple | list):
        return sum(count_floats(one) for one in argument)
    return 0


def ordered_sum(parts: Sequence[Any]) -> Any:
    """The sum of numbers or vectors, added in order; never changes its arguments."""
    total = parts[0] + 0.0
    for part in parts[1:]:
        total += part
    return total


class Spread(np.lib.mixins.NDArrayOperatorsMixin):
    """A vector with one number per row, whose parts are stored on the workers.

    Parameters
    ----------
    formula : Leaf or Formula
        A stored vector, or a formula of such vectors.
    known : mapping, optional
        Sums that are already known: ``"total"`` of the numbers, ``"size"`` of their absolutes.
    """

    ndim = 1
    dtype = np.dtype(np.float64)

    def __init__(
        self, holder: Holder, formula: Leaf | Formula, known: dict[str, float] | None = None
    ) -> None:
        self.holder, self.formula, self._known = holder, formula, known or {}

    @property
    def size(self) -> int:
        """Number of rows."""
        return sum(self.holder.lengths)

    @property
    def shape(self) -> tuple[int]:
        """Shape as a numpy array would have it."""
        return (self.size,)

    def __len__(self) -> int:
        return self.size

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        values = np.concatenate(self.holder.ask("combined", self))
        return values if dtype is None else values.astype(dtype)

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index]  # brings all numbers to this process

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """A formula if the workers know the function, otherwise numpy's result in this process."""
        if isinstance(options.get("out", (None,))[0], Spread):
            options.pop("out")  # ``a += b`` makes a new vector and binds it to a
        plain = method == "__call__" and not options
        if plain and ufunc is np.matmul and all(one.ndim == 1 for one in inputs):
            return self._dot(*inputs)
        if plain and ufunc.__name__ in FUNCTIONS and all(_fits(one) for one in inputs):
            parts = tuple(self._part(one) for one in inputs)
            known = {}
            if ufunc is np.absolute and "size" in self._known:
                known = {"total": self._known["size"]}
            return Spread(self.holder, Formula(ufunc.__name__, parts), known)
        here = [np.asarray(one) if isinstance(one, Spread) else one for one in inputs]
        return getattr(ufunc, method)(*here, **options)

    def _part(self, other: Any) -> Any:
        """An operand as part of a formula; numpy vectors are sent to the workers."""
        if isinstance(other, Spread):
            return other.formula
        if isinstance(other, np.ndarray) and other.ndim:
            return self.holder.sent(other)
        return float(other)

    def _dot(self, first: Any, second: Any) -> float:
        return float(self.holder.total("dot", self._part(first), self._part(second)))

    def persist(self) -> Spread:
        """Evaluate the formula once and store the result on the workers."""
        if not isinstance(self.formula, Leaf):
            self.formula = self.holder.keep("combined", self)
        return self

    def copy(self) -> Spread:
        """The vector itself, which is never changed in place."""
        return self

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> float:
        """The sum, added in the order of the shards."""
        if "total" not in self._known:
            self._known["total"] = float(self.holder.total("total", self))
        return self._known["total"]

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> float:
        """The mean."""
        return self.sum() / self.size

    def max(self, axis: Any = None, out: Any = None, initial: float = -np.inf) -> float:
        """The largest number; NaN if there is one."""
        return float(np.max([high for _, high in self._extremes()], initial=initial))

    def min(self, axis: Any = None, out: Any = None, initial: float = np.inf) -> float:
        """The smallest number; NaN if there is one."""
        return float(np.min([low for low, _ in self._extremes()], initial=initial))

    def all(self, axis: Any = None, out: Any = None) -> bool:
        """Whether all entries are positive; entries must not be negative."""
        return bool(self.min() > 0.0)

    def any(self, axis: Any = None, out: Any = None) -> bool:
        """Whether some entry is nonzero."""
        low, high = zip(*self._extremes(), strict=True)
        return bool(min(low) < 0.0 or max(high) > 0.0)

    def _extremes(self) -> list[tuple[float, float]]:
        return self.holder.ask("extremes", self)


def _fits(argument: Any) -> bool:
    """Whether an argument can be part of a formula: a number, or a vector of all rows."""
    return isinstance(argument, Spread | float | int | np.floating) or (
        isinstance(argument, np.ndarray) and argument.ndim <= 1
    )
