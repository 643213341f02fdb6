"""The device as a worker that holds one shard, all rows, and the vectors over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from auctor.core.protocols import Loss
from auctor.core.types import Array, Target
from auctor.data.on_rows import Formula, Slot
from auctor.data.workers import ShardFacts
from auctor.gpu.losses import DeviceRows, device_rows, evaluate, kind_of, logistic_conjugate
from auctor.gpu.stores import Store, Tensor, gram


class DeviceWorkers:
    """One shard on a device; results are stored there, and only what is asked for comes back.

    Parameters
    ----------
    store : Store
    target : Target
    checksum : int
        Of the entries.
    """

    gather_below = 0.0

    def __init__(self, store: Store, target: Target, checksum: int) -> None:
        self.store, self._target, self._checksum = store, target, checksum

    def facts(self) -> list[ShardFacts]:
        """Shape and target of the rows."""
        store = self.store
        sizes = store.n_rows, store.n_columns, store.n_entries
        return [ShardFacts(*sizes, self._target, self._checksum)]

    def kind(self, loss: Loss) -> Any:
        """The form of a loss that is evaluated where the scores are, or None."""
        return kind_of(loss)

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method on the rows."""
        return self.ask(method, arguments, [()] * len(arguments))

    def keep(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on the rows; the result stays on the device until nobody refers to it."""
        return [
            METHODS[method](self.store, *(self._filled(one, known) for one in given))
            for given, known in zip(arguments, kept, strict=True)
        ]

    def ask(
        self, method: str, arguments: Sequence[tuple[Any, ...]], kept: Sequence[Sequence[Any]]
    ) -> list[Any]:
        """Call a method on the rows; its result comes to this process."""
        return [_host(found) for found in self.keep(method, arguments, kept)]

    def _filled(self, given: Any, known: Sequence[Any]) -> Any:
        """An argument with stored results in their places, formulas evaluated, arrays sent."""
        if isinstance(given, Slot):
            found = known[given.place]
            return getattr(found, given.part) if given.part else found
        if isinstance(given, Formula):
            return _formula(given.name, [self._filled(one, known) for one in given.parts])
        if isinstance(given, np.ndarray):
            return self._sent(given)
        return given

    def _sent(self, values: Array) -> Tensor:
        kind = np.int64 if values.dtype.kind == "u" else values.dtype
        there = torch.from_numpy(np.ascontiguousarray(values, dtype=kind)).to(self.store.device)
        return there if values.dtype.kind in "iu" and values.dtype != np.int8 else there.double()


def _host(found: Any) -> Any:
    """A result in this process: arrays and numbers of Python."""
    if isinstance(found, torch.Tensor):
        array = found.cpu().numpy()
        return array if array.ndim else array.item()
    return found


def _formula(name: str, parts: list[Any]) -> Any:
    """A function of numpy, in PyTorch: all names of `auctor.data.spread.FUNCTIONS` are the same."""
    like = next(one for one in parts if isinstance(one, torch.Tensor))
    whole = [
        one if isinstance(one, torch.Tensor) else like.new_tensor(one, dtype=torch.float64)
        for one in parts
    ]
    return getattr(torch, name)(*whole)


def _constant(store: Store, value: float) -> Tensor:
    return torch.full((store.n_rows,), value, dtype=torch.float64, device=store.device)


def _extremes(store: Store, values: Tensor) -> tuple[float, float]:
    low, high = torch.stack([values.min().double(), values.max().double()]).tolist()
    return low, high


def _sandwich(store: Store, h: Tensor, v: Tensor, offset: float) -> tuple[Array, float]:
    z = h * store.scores(v, offset)
    return _host(store.gradient(z)), float(z.sum())


def _class_total(store: Store, rows: DeviceRows, slopes: Tensor) -> Tensor:
    """Sum over the positives."""
    return torch.where(rows.y > 0, slopes, torch.zeros_like(slopes)).sum()


#: What the driver asks of the rows, by name.
METHODS: dict[str, Callable[..., Any]] = {
    "constant": _constant,
    "combined": lambda store, values: values,
    "total": lambda store, values: values.sum(),
    "dot": lambda store, first, second: first @ second,
    "extremes": _extremes,
    "scores": lambda store, w, offset: store.scores(w, offset),
    "gradient": lambda store, u: store.gradient(u),
    "square_gradient": lambda store, h: store.gradient(h, squared=True),
    "sandwich": _sandwich,
    "gram": gram,
    "device_rows": lambda store, y, weight, group: device_rows(y, weight, group),
    "device_loss": lambda store, loss, rows, scores: evaluate(loss, rows, scores),
    "summary": lambda store, found: (found.value, found.total, found.size, np.empty(0)),
    "class_total": _class_total,
    "device_shifted": lambda store, loss, rows, scores, t: evaluate(loss, rows, scores + t)[:3],
    "logistic_conjugate": lambda store, rows, slopes: logistic_conjugate(rows, slopes),
}
