"""Matrices of the proximal quasi-Newton family: compact L-BFGS in a ring, and diagonals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.descent import lowrank as kernels

#: A pair is kept when ``s't`` exceeds this times ``|s| |t|``.
LEAST_CURVATURE = 1e-12
#: The scale of the matrix stays within this factor of the first pair's, either way.
THETA_RANGE = 1e10


class Restricted(NamedTuple):
    """``diag(base) - rows hats'`` on k coordinates, with its diagonal."""

    base: FloatArray
    diagonal: FloatArray
    rows: FloatArray
    hats: FloatArray

    def matrix(self) -> FloatArray:
        """The matrix in full, for tests."""
        out: FloatArray = np.diag(self.base) - self.rows @ self.hats.T
        return out


class Matrix(Protocol):
    """A symmetric positive matrix that can be restricted to some coordinates."""

    def restrict(self, index: Array) -> Restricted:
        """The principal submatrix of ``index``."""


@dataclass(frozen=True)
class Diagonal:
    """A diagonal matrix."""

    base: FloatArray

    def restrict(self, index: Array) -> Restricted:
        """The principal submatrix of ``index``."""
        base = self.base[index]
        empty = np.zeros((base.shape[0], 0))
        return Restricted(base, base, empty, empty)


class Pairs:
    """Compact L-BFGS: the latest (step, gradient change) pairs in a ring of two fixed arrays.

    With ``S``, ``T`` the pairs as columns, oldest first, ``D = diag(s_i't_i)``, L the strictly
    lower part of ``S'T`` and ``B_0 = theta diag(metric)``::

        B = B_0 - G M^-1 G',   G = [B_0 S, T],   M = [[S'B_0 S, L], [L', -D]]

    equals m BFGS updates of ``B_0``. A new pair overwrites the oldest row in place; its inner
    products with the others are two products, O(m p). Pairs are stored divided by ``|s|``, which
    leaves B as it is and M well scaled.

    Parameters
    ----------
    size : int
        Pairs kept.
    n_params : int
    theta : float > 0
        Scale before the first pair; afterwards ``shrink t't / s't`` of the latest one, where
        ``t't`` is taken in the metric.
    shrink : float > 0
        Below 1 the matrix is optimistic in directions it knows nothing about; may be changed, for
        the pairs to come.
    metric : (n_params,) array > 0, optional
        Relative curvature of the coordinates; all equal by default.

    References
    ----------
    Byrd, Nocedal, Schnabel, Representations of quasi-Newton matrices, 1994; Tang, Big data
    optimization in machine learning, Lehigh 2016, section 5.3.
    """

    def __init__(
        self,
        size: int,
        n_params: int,
        theta: float,
        *,
        shrink: float = 1.0,
        metric: FloatArray | None = None,
    ) -> None:
        self.size, self.count, self._next = size, 0, 0
        self.metric = np.ones(n_params) if metric is None else metric
        self.theta, self.shrink, self._first = theta, shrink, 0.0
        self.steps, self.changes = np.zeros((size, n_params)), np.zeros((size, n_params))
        self.ss, self.st = np.zeros((size, size)), np.zeros((size, size))

    @property
    def slots(self) -> Array:
        """Rows in use, oldest first."""
        return (self._next - self.count + np.arange(self.count)) % self.size

    def add(self, s: FloatArray, t: FloatArray) -> bool:
        """Store a pair in place of the oldest if its curvature is positive; whether it was."""
        product, s_s, t_t = float(s @ t), float(s @ s), float(t @ t)
        if not product > LEAST_CURVATURE * math.sqrt(s_s * t_t):
            return False
        slot, norm = self._next, math.sqrt(s_s)
        np.divide(s, norm, out=self.steps[slot])
        np.divide(t, norm, out=self.changes[slot])
        unit = self.steps[slot]
        self.ss[slot] = self.ss[:, slot] = self.steps @ (self.metric * unit)
        self.st[slot] = self.changes @ unit
        self._next = (slot + 1) % self.size
        self.count = min(self.count + 1, self.size)
        theta = float(t @ (t / self.metric)) / product
        self._first = self._first or theta
        bounded = min(max(theta, self._first / THETA_RANGE), self._first * THETA_RANGE)
        self.theta = self.shrink * bounded
        return True

    def clear(self) -> None:
        """Forget every pair; the scale stays."""
        self.count = 0

    def core(self) -> FloatArray:
        """The matrix M."""
        order = np.ix_(self.slots, self.slots)
        st, m = self.st[order], self.count
        out = np.empty((2 * m, 2 * m))
        out[:m, :m] = self.theta * self.ss[order]
        out[:m, m:] = np.tril(st, -1)
        out[m:, :m] = out[:m, m:].T
        out[m:, m:] = -np.diag(np.diag(st))
        return out

    def restrict(self, index: Array) -> Restricted:
        """B on ``index``, O(m^2 k); pairs that rounding has spoilt are dropped, oldest first."""
        base = self.theta * self.metric[index]
        while self.count:
            rows = np.empty((index.shape[0], 2 * self.count))
            slots, where = self.slots.astype(np.uint64), index.astype(np.uint64)
            kernels.gather(self.steps, self.changes, slots, where, base, rows)
            try:
                hats = np.ascontiguousarray(np.linalg.solve(self.core(), rows.T).T)
            except np.linalg.LinAlgError:
                hats = np.full_like(rows, math.nan)
            diagonal = base.copy()
            kernels.row_dots(rows, hats, diagonal)
            if (diagonal > LEAST_CURVATURE * base).all():
                return Restricted(base, diagonal, rows, hats)
            self.count -= 1
        empty = np.zeros((index.shape[0], 0))
        return Restricted(base, base, empty, empty)

    def solve(self, v: FloatArray) -> FloatArray:
        """``B^-1 v`` by the two-loop recursion, O(m p)."""
        out, slots = v.copy(), self.slots
        along = np.zeros(slots.size)
        for q in range(slots.size - 1, -1, -1):
            slot = slots[q]
            along[q] = float(self.steps[slot] @ out) / self.st[slot, slot]
            out -= along[q] * self.changes[slot]
        out /= self.theta * self.metric
        for q, slot in enumerate(slots):
            back = float(self.changes[slot] @ out) / self.st[slot, slot]
            out += (along[q] - back) * self.steps[slot]
        return out
