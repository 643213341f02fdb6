"""The operations on arrays that the scans need, and their form in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

#: An array of the engine.
A: TypeAlias = Any
#: What a loop passes on.
S = TypeVar("S")


class Ops(Protocol):
    """The operations of an engine; arguments and results are arrays of that engine."""

    def wide(self, x: A) -> A:
        """In float64, or the widest floats that the engine and the device have."""

    def zeros(self, size: int, like: A) -> A:
        """Zeros of the widest floats, where ``like`` is."""

    def arange(self, size: int, like: A) -> A:
        """The integers 0, 1, ..., where ``like`` is."""

    def constant(self, values: Any, like: A) -> A:
        """A small array of known numbers, in the widest floats, where ``like`` is."""

    def sort(self, x: A) -> tuple[A, A]:
        """The values in ascending order, and their places; equal values stay in order."""

    def cumsum(self, x: A) -> A:
        """Running sums of a vector."""

    def take(self, x: A, index: A) -> A:
        """``x[index]``."""

    def put(self, size: int, index: A, x: A, fill: int) -> A:
        """A vector of ``size`` entries ``fill``, where ``out[index] = x``."""

    def flip(self, x: A) -> A:
        """The vector in reverse order."""

    def concat(self, parts: Sequence[A], axis: int = 0) -> A:
        """Arrays one after the other."""

    def search(self, ascending: A, x: A, right: bool) -> A:
        """Number of entries below x, or up to x if ``right``."""

    def where(self, condition: A, x: A, y: A) -> A:
        """``x`` where the condition holds, else ``y``; each may be a number."""

    def clip(self, x: A, low: Any, high: Any) -> A:
        """Bounded to an interval; None is no bound."""

    def floor(self, x: A) -> A:
        """Largest integers not above x, as integers."""

    def exp(self, x: A) -> A:
        """Exponential."""

    def log(self, x: A) -> A:
        """Natural logarithm."""

    def softplus(self, x: A) -> A:
        """``log(1 + exp(x))`` without overflow."""

    def sigmoid(self, x: A) -> A:
        """``1 / (1 + exp(-x))`` without overflow."""

    def convolve(self, kernels: A, x: A) -> A:
        """Matrices on a circle times vectors: ``out[i] = sum_j kernels[i - j] x[j]``."""

    def loop(self, count: int, step: Callable[[A, S], S], state: S) -> S:
        """``step(k, state)`` for k below ``count``, one after the other."""

    def frozen(self, x: A) -> A:
        """The same numbers, as a constant for differentiation."""


class NumpyOps:
    """The operations in NumPy."""

    def wide(self, x: A) -> A:
        """In float64."""
        return np.asarray(x, dtype=np.float64)

    def zeros(self, size: int, like: A) -> A:
        """Zeros."""
        return np.zeros(size)

    def arange(self, size: int, like: A) -> A:
        """The integers 0, 1, ..."""
        return np.arange(size)

    def constant(self, values: Any, like: A) -> A:
        """A small array of known numbers."""
        return np.asarray(values, dtype=np.float64)

    def sort(self, x: A) -> tuple[A, A]:
        """The values in ascending order, and their places."""
        order = np.argsort(x, kind="stable")
        return x[order], order

    def cumsum(self, x: A) -> A:
        """Running sums."""
        return np.cumsum(x)

    def take(self, x: A, index: A) -> A:
        """``x[index]``."""
        return x[index]

    def put(self, size: int, index: A, x: A, fill: int) -> A:
        """A vector of ``size`` entries ``fill``, where ``out[index] = x``."""
        out = np.full(size, fill, dtype=x.dtype)
        out[index] = x
        return out

    def flip(self, x: A) -> A:
        """The vector in reverse order."""
        return x[::-1]

    def concat(self, parts: Sequence[A], axis: int = 0) -> A:
        """Arrays one after the other."""
        return np.concatenate(parts, axis)

    def search(self, ascending: A, x: A, right: bool) -> A:
        """Number of entries below x, or up to x if ``right``."""
        return np.searchsorted(ascending, x, side="right" if right else "left")

    def where(self, condition: A, x: A, y: A) -> A:
        """``x`` where the condition holds, else ``y``."""
        return np.where(condition, x, y)

    def clip(self, x: A, low: Any, high: Any) -> A:
        """Bounded to an interval."""
        return np.clip(x, low, high)

    def floor(self, x: A) -> A:
        """Largest integers not above x."""
        return np.floor(x).astype(np.int64)

    def exp(self, x: A) -> A:
        """Exponential."""
        return np.exp(x)

    def log(self, x: A) -> A:
        """Natural logarithm."""
        return np.log(x)

    def softplus(self, x: A) -> A:
        """``log(1 + exp(x))``."""
        return np.logaddexp(0.0, x)

    def sigmoid(self, x: A) -> A:
        """``1 / (1 + exp(-x))``."""
        return np.exp(-np.logaddexp(0.0, -x))

    def convolve(self, kernels: A, x: A) -> A:
        """Matrices on a circle times vectors."""
        size = kernels.shape[0]
        turned = np.fft.rfft(kernels, axis=0) @ np.fft.rfft(x, size, axis=0)[..., None]
        return np.fft.irfft(turned[..., 0], size, axis=0)

    def loop(self, count: int, step: Callable[[A, S], S], state: S) -> S:
        """``step(k, state)`` for k below ``count``, one after the other."""
        return in_turn(count, step, state)

    def frozen(self, x: A) -> A:
        """The same numbers."""
        return x


def in_turn(count: int, step: Callable[[A, S], S], state: S) -> S:
    """``step(k, state)`` for k below ``count``, one after the other."""
    for k in range(count):
        state = step(k, state)
    return state
