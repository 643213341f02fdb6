"""Cutting planes of a loss, and the minimiser of their maximum plus an l2 penalty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.descent import simplex

#: Tolerance of the quadratic program, relative to the weighted mean of the absolute offsets.
ACCURACY = 1e-13
#: The diagonal shift of the Gram matrix is raised when a diagonal entry exceeds it by this factor.
GROWTH = 1e3
#: Solves after which cuts of weight 0 are dropped if there are too many cuts.
IDLE_SOLVES = 5
#: Cuts that the first buffer holds, and by which it grows.
ROOM = 16
#: Least number of unused cuts that are dropped at once.
LEAST_DROPPED = 8


class Lowest(NamedTuple):
    """Minimiser of the model, and its value there: a lower bound on the objective."""

    w: FloatArray
    value: float


class Bundle:
    """Cuts ``loss(w) >= slope.w + offset`` of a loss with the penalty ``sum l2_j w_j^2 / 2``.

    With the slopes divided by ``sqrt(l2)`` as rows of A, the model's minimum over w is the maximum
    of ``offset.a - |A'a|^2 / 2`` over the simplex. The Gram matrix ``A A'``, the weights a and the
    Cholesky factor of the active part are kept between solves; a new cut adds one row to each.

    Parameters
    ----------
    l2 : (n_columns,) array > 0
    patience : int
        Cuts whose weight was 0 in this many solves are dropped, which does not change the minimum
        of the model.
    most : int, optional
        From this many cuts on, cuts of weight 0 are dropped after ``IDLE_SOLVES`` solves.
    """

    def __init__(self, l2: FloatArray, patience: int, most: int | None = None) -> None:
        self.root, self.patience, self.most = np.sqrt(l2), patience, most
        self.count, self.size, self.shift = 0, 0, 0.0
        self.cuts = np.zeros((0, l2.size))
        self.offset, self.weight = np.zeros(0), np.zeros(0)
        self.gram, self.factor = np.zeros((0, 0)), np.zeros((0, 0))
        self.active = np.zeros(0, dtype=np.int64)
        self.unused = np.zeros(0, dtype=np.int64)

    def add(self, slope: FloatArray, offset: float) -> None:
        """Store a cut."""
        n = self.count
        if n == self.offset.size:
            self._grow(max(ROOM, 2 * n))
        if n == self.cuts.shape[0]:
            self.cuts.resize((n + ROOM, self.root.size), refcheck=False)  # in place if possible
        np.divide(slope, self.root, out=self.cuts[n])
        self.gram[n, : n + 1] = self.gram[: n + 1, n] = self.cuts[: n + 1] @ self.cuts[n]
        self.offset[n], self.weight[n], self.unused[n] = offset, 0.0, 0
        self.count += 1
        square = float(self.gram[n, n])
        if square > GROWTH * self.shift or not self.shift:
            self.shift = square or 1.0
            simplex.factorise(self.gram, self.shift, self.active, self.size, self.factor)

    def take(self, other: Bundle | None) -> None:
        """Move the cuts here from the bundle of another strength, which is left empty.

        They are not copied, because they may be large.
        """
        if other is None or not other.count:
            return
        n, scale = other.count, other.root / self.root
        self.count, self.cuts, other.cuts = n, other.cuts, np.zeros((0, self.root.size))
        self.offset, self.active, self.factor = other.offset, other.active, other.factor
        self.weight, self.unused = np.zeros_like(other.weight), other.unused
        for cut in self.cuts[:n]:
            cut *= scale
        self.gram = other.gram
        self.gram[:n, :n] = self.cuts[:n] @ self.cuts[:n].T
        other.count, self.shift = 0, float(self.gram[:n, :n].diagonal().max()) or 1.0

    def lowest(self) -> Lowest:
        """Solve the quadratic program, from the weights of the last solve."""
        n = self.count
        tol = ACCURACY * float(np.abs(self.offset[:n]) @ self.weight[:n])
        self.size = simplex.maximise(
            self.gram, self.offset, n, self.shift, tol,
            self.weight, self.active, self.size, self.factor,
        )  # fmt: skip
        self.unused[:n] += 1
        self.unused[self.active[: self.size]] = 0
        self._prune()
        pull = self.weight[: self.count] @ self.cuts[: self.count]
        linear = float(self.weight[: self.count] @ self.offset[: self.count])
        # Slopes that cancel in the sum leave a rounding error: the bound is lowered by as much.
        sizes = np.sqrt(self.gram[: self.count, : self.count].diagonal())
        # Relative rounding error of a product: half of machine epsilon, rounded up.
        rounding = 1.2e-16 * self.count * float(self.weight[: self.count] @ sizes)
        length = float(np.linalg.norm(pull)) + rounding
        return Lowest(-pull / self.root, linear - 0.5 * length * length)

    def _grow(self, capacity: int) -> None:
        """Enlarge all buffers except that of the cuts to a capacity."""
        n = self.count
        for name in ("offset", "weight", "active", "unused"):
            old = getattr(self, name)
            new = np.zeros(capacity, dtype=old.dtype)
            new[:n] = old[:n]
            setattr(self, name, new)
        for name in ("gram", "factor"):
            square = np.zeros((capacity, capacity))
            square[:n, :n] = getattr(self, name)[:n, :n]
            setattr(self, name, square)

    def _prune(self) -> None:
        """Drop the unused cuts once they are a quarter of all, and move the others up."""
        n, patience = self.count, self.patience
        if self.most is not None and n >= self.most:
            patience = min(patience, IDLE_SOLVES)
        kept = self.unused[:n] <= patience
        keep = np.flatnonzero(kept)
        m = keep.size
        if n - m < max(LEAST_DROPPED, n // 4):
            return
        place = np.cumsum(kept) - 1
        self.active[: self.size] = place[self.active[: self.size]]
        for k, cut in enumerate(keep.tolist()):
            self.cuts[k] = self.cuts[cut]  # one by one, to avoid a second copy of all cuts
        for array in (self.offset, self.weight, self.unused):
            array[:m] = array[keep]
        self.gram[:m, :m] = self.gram[np.ix_(keep, keep)]
        self.count = m
