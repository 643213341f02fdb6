"""The operations of the scans in PyTorch, on any device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from auctor.scans.ops import A, S, in_turn


class TorchOps:
    """The operations in PyTorch.

    None of them waits for the device. Sums are in float64, or in float32 on devices that have no
    wider floats (Apple's MPS).
    """

    def wide(self, x: A) -> A:
        """In the widest floats of the device."""
        return x.to(widest(x.device))

    def zeros(self, size: int, like: A) -> A:
        """Zeros of the widest floats, where ``like`` is."""
        return torch.zeros(size, dtype=widest(like.device), device=like.device)

    def arange(self, size: int, like: A) -> A:
        """The integers 0, 1, ..., where ``like`` is."""
        return torch.arange(size, device=like.device)

    def constant(self, values: Any, like: A) -> A:
        """A small array of known numbers, which is sent to the device once."""
        array = np.ascontiguousarray(values, dtype=np.float64)
        return _constant(array.tobytes(), array.shape, like.device)

    def sort(self, x: A) -> tuple[A, A]:
        """The values in ascending order, and their places; equal values stay in order."""
        found = torch.sort(x, stable=True)
        return found.values, found.indices

    def cumsum(self, x: A) -> A:
        """Running sums of a vector."""
        return torch.cumsum(x, 0)

    def take(self, x: A, index: A) -> A:
        """``x[index]``; unlike an index of no dimension, `torch.take` waits for no number."""
        return torch.take(x, index)

    def put(self, size: int, index: A, x: A, fill: int) -> A:
        """A vector of ``size`` entries ``fill``, where ``out[index] = x``."""
        return x.new_full((size,), fill).scatter(0, index, x)

    def flip(self, x: A) -> A:
        """The vector in reverse order."""
        return torch.flip(x, (0,))

    def concat(self, parts: Sequence[A], axis: int = 0) -> A:
        """Arrays one after the other."""
        return torch.cat(list(parts), axis)

    def search(self, ascending: A, x: A, right: bool) -> A:
        """Number of entries below x, or up to x if ``right``."""
        return torch.searchsorted(ascending.detach(), x.detach().contiguous(), right=right)

    def where(self, condition: A, x: A, y: A) -> A:
        """``x`` where the condition holds, else ``y``."""
        return torch.where(condition, x, y)

    def clip(self, x: A, low: Any, high: Any) -> A:
        """Bounded to an interval, of numbers or arrays."""
        for bound, of_numbers, of_arrays in (
            (low, "min", torch.maximum),
            (high, "max", torch.minimum),
        ):
            if isinstance(bound, torch.Tensor):
                x = of_arrays(x, bound)
            elif bound is not None:
                x = torch.clamp(x, **{of_numbers: bound})
        return x

    def floor(self, x: A) -> A:
        """Largest integers not above x."""
        return torch.floor(x).to(torch.int64)

    def exp(self, x: A) -> A:
        """Exponential."""
        return torch.exp(x)

    def log(self, x: A) -> A:
        """Natural logarithm."""
        return torch.log(x)

    def softplus(self, x: A) -> A:
        """``log(1 + exp(x))``; `torch.nn.functional.softplus` is linear from 20 on."""
        return torch.logaddexp(x, torch.zeros_like(x))

    def sigmoid(self, x: A) -> A:
        """``1 / (1 + exp(-x))``."""
        return torch.sigmoid(x)

    def convolve(self, kernels: A, x: A) -> A:
        """Matrices on a circle times vectors."""
        size = kernels.shape[0]
        turned = torch.fft.rfft(kernels, dim=0) @ torch.fft.rfft(x, size, dim=0)[..., None]
        return torch.fft.irfft(turned[..., 0], size, dim=0)

    def loop(self, count: int, step: Callable[[A, S], S], state: S) -> S:
        """``step(k, state)`` for k below ``count``, one after the other."""
        return in_turn(count, step, state)

    def frozen(self, x: A) -> A:
        """The same numbers, as a constant for differentiation."""
        return x.detach()


def widest(device: Any) -> Any:
    """The widest floats of a device."""
    return torch.float32 if device.type == "mps" else torch.float64


@lru_cache(maxsize=32)
def _constant(raw: bytes, shape: tuple[int, ...], device: Any) -> Any:
    values = torch.from_numpy(np.frombuffer(raw).reshape(shape).copy())
    return values.to(device=device, dtype=widest(device))


OPS = TorchOps()
