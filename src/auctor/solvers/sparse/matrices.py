"""Matrices of the proximal quasi-Newton family: compact L-BFGS, and diagonals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.descent import lowrank as kernels
from auctor.solvers.lbfgs import LEAST_CURVATURE, Memory


class Restricted(NamedTuple):
    """The matrix ``diag(base) - rows hats'`` on k coordinates, with its diagonal."""

    base: FloatArray
    diagonal: FloatArray
    rows: FloatArray
    hats: FloatArray

    @property
    def pairs(self) -> int:
        """Number of pairs of an L-BFGS matrix that went into it; 0 for a diagonal."""
        return int(self.rows.shape[1]) // 2

    def matrix(self) -> FloatArray:
        """The matrix in full, for tests."""
        out: FloatArray = np.diag(self.base) - self.rows @ self.hats.T
        return out


class Matrix(Protocol):
    """A symmetric positive matrix that can be restricted to some coordinates."""

    def restrict(self, index: Array) -> Restricted:
        """The principal submatrix of ``index``; nothing changes."""

    def keep(self, count: int) -> None:
        """Drop all but the latest ``count`` pairs that the matrix is made of, if it has pairs."""


@dataclass(frozen=True)
class Diagonal:
    """A diagonal matrix."""

    base: FloatArray

    def restrict(self, index: Array) -> Restricted:
        """The principal submatrix of ``index``."""
        base = self.base[index]
        empty = np.zeros((base.shape[0], 0))
        return Restricted(base, base, empty, empty)

    def keep(self, count: int) -> None:
        """Do nothing: a diagonal has no pairs."""


class LbfgsMatrix(Memory):
    """The matrix of the latest pairs, see `auctor.solvers.lbfgs.Memory`."""

    def restrict(self, index: Array) -> Restricted:
        """Principal submatrix of B, O(m^2 k).

        While rounding errors make a diagonal entry non-positive, one more of the oldest pairs is
        left out; `keep` drops those.
        """
        base = self.theta * self.metric[index]
        slots, where = self.slots.astype(np.uint64), index.astype(np.uint64)
        for count in range(self.count, 0, -1):
            rows = np.empty((index.shape[0], 2 * count))
            kernels.gather(self.steps, self.changes, slots[-count:], where, base, rows)
            try:
                hats = np.ascontiguousarray(np.linalg.solve(self.core(count), rows.T).T)
            except np.linalg.LinAlgError:
                hats = np.full_like(rows, math.nan)
            diagonal = base.copy()
            kernels.row_dots(rows, hats, diagonal)
            if (diagonal > LEAST_CURVATURE * base).all():
                return Restricted(base, diagonal, rows, hats)
        empty = np.zeros((index.shape[0], 0))
        return Restricted(base, base, empty, empty)
