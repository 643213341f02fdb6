"""The operations of the scans in JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp

from auctor.scans.ops import A, S


class JaxOps:
    """The operations in JAX; sums are in float64 if ``jax_enable_x64`` is set, else in float32."""

    def wide(self, x: A) -> A:
        """In the widest floats."""
        return x.astype(jnp.result_type(float))

    def zeros(self, size: int, like: A) -> A:
        """Zeros of the widest floats."""
        return jnp.zeros(size)

    def arange(self, size: int, like: A) -> A:
        """The integers 0, 1, ..."""
        return jnp.arange(size)

    def constant(self, values: Any, like: A) -> A:
        """A small array of known numbers."""
        return jnp.asarray(values, dtype=jnp.result_type(float))

    def sort(self, x: A) -> tuple[A, A]:
        """The values in ascending order, and their places; equal values stay in order."""
        order = jnp.argsort(jax.lax.stop_gradient(x), stable=True)
        return x[order], order

    def cumsum(self, x: A) -> A:
        """Running sums of a vector."""
        return jnp.cumsum(x)

    def take(self, x: A, index: A) -> A:
        """``x[index]``."""
        return x[index]

    def put(self, size: int, index: A, x: A, fill: int) -> A:
        """A vector of ``size`` entries ``fill``, where ``out[index] = x``."""
        return jnp.full((size,), fill, x.dtype).at[index].set(x)

    def flip(self, x: A) -> A:
        """The vector in reverse order."""
        return jnp.flip(x, 0)

    def concat(self, parts: Sequence[A], axis: int = 0) -> A:
        """Arrays one after the other."""
        return jnp.concatenate(list(parts), axis)

    def search(self, ascending: A, x: A, right: bool) -> A:
        """Number of entries below x, or up to x if ``right``."""
        side = "right" if right else "left"
        return jnp.searchsorted(self.frozen(ascending), self.frozen(x), side=side)

    def where(self, condition: A, x: A, y: A) -> A:
        """``x`` where the condition holds, else ``y``."""
        return jnp.where(condition, x, y)

    def clip(self, x: A, low: Any, high: Any) -> A:
        """Bounded to an interval."""
        return jnp.clip(x, low, high)

    def floor(self, x: A) -> A:
        """Largest integers not above x."""
        return jnp.floor(x).astype(int)

    def exp(self, x: A) -> A:
        """Exponential."""
        return jnp.exp(x)

    def log(self, x: A) -> A:
        """Natural logarithm."""
        return jnp.log(x)

    def softplus(self, x: A) -> A:
        """``log(1 + exp(x))``."""
        return jnp.logaddexp(x, 0.0)

    def sigmoid(self, x: A) -> A:
        """``1 / (1 + exp(-x))``."""
        return jax.nn.sigmoid(x)

    def convolve(self, kernels: A, x: A) -> A:
        """Matrices on a circle times vectors."""
        size = kernels.shape[0]
        turned = jnp.fft.rfft(kernels, axis=0) @ jnp.fft.rfft(x, size, axis=0)[..., None]
        return jnp.fft.irfft(turned[..., 0], size, axis=0)

    def loop(self, count: int, step: Callable[[A, S], S], state: S) -> S:
        """``step(k, state)`` for k below ``count``, compiled once."""
        return cast(S, jax.lax.fori_loop(0, count, step, state))

    def frozen(self, x: A) -> A:
        """The same numbers, as a constant for differentiation."""
        return jax.lax.stop_gradient(x)


OPS = JaxOps()
