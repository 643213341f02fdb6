"""The group lasso with groups that overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from auctor.core.errors import ParameterError, speaks_for_itself
from auctor.core.types import Array, FloatArray
from auctor.lab.kernels.overlap import decompose
from auctor.penalties.base import BasePenalty
from auctor.penalties.group import check_strength, check_weights, checked_columns
from auctor.penalties.separable import Weights

#: Sweeps over the groups, at most.
MOST_SWEEPS = 20_000
#: Change of a part, as a share of the largest entry, at which the sweeps end.
TINY = 1e-16
#: Relative distance of a part from the surface of its ball at which it is inside.
INSIDE = 1e-12
#: Length of a group, as a share of the largest entry of the vector, that is rounding error.
ZERO = 1e-14
#: Newton steps, at most, after the sweeps.
NEWTON_STEPS = 30
#: Steps, at most, of the dual norm.
DUAL_STEPS = 60
#: Relative accuracy of the dual norm.
DUAL_ACCURACY = 1e-11
#: Relative excess of the dual norm over 1 that counts as rounding.
SLACK = 1e-9


class Split(NamedTuple):
    """A vector as ``rest`` plus the sum of ``parts`` on the groups."""

    rest: FloatArray
    parts: FloatArray


class OverlapL2(BasePenalty):
    """``strength sum_g weight_g |w_g|_2`` over groups of columns that may overlap.

    Whole groups become zero, so that the columns that are not zero lie outside a union of groups.
    Columns in no group are not penalised. The proximal operator projects on a sum of balls, one for
    each group: sweeps over the groups, in turn, then Newton steps on the groups that are not zero.
    The certificate comes from a decomposition of the dual point into parts on the groups. Nested
    groups are better served by `auctor.penalties.TreeL2`, disjoint ones by `GroupL2`, which have
    closed forms.

    Parameters
    ----------
    strength : float >= 0
    groups : list of lists of columns
    weights : (n_groups,) array, optional
        Multipliers > 0; the square roots of the group sizes by default.

    Examples
    --------
    >>> import numpy as np
    >>> penalty = OverlapL2(0.5, [[0, 1], [1, 2]], weights=[1.0, 1.0])
    >>> penalty.value(np.array([3.0, 4.0, 0.0]))
    4.5
    >>> penalty.prox(np.array([3.0, 0.1, 0.1]), 1.0).round(4)
    array([2.5, 0. , 0. ])

    References
    ----------
    Jenatton, Audibert, Bach, Structured variable selection with sparsity-inducing norms, 2011;
    Mairal, Jenatton, Obozinski, Bach, Convex and network flow optimization for structured sparsity,
    2011; Tang, Big data optimization in machine learning, 2016, section 2.1.
    """

    @speaks_for_itself
    def __init__(
        self, strength: float, groups: Sequence[Sequence[int]], *, weights: Weights = None
    ) -> None:
        self.strength, self.groups, self.weights = strength, groups, weights
        check_strength(strength)
        lists = [np.unique(checked_columns(f"group {k}", g)) for k, g in enumerate(groups)]
        if not lists or any(not g.size for g in lists):
            raise ParameterError(
                "groups that hold columns; got an empty one, or none. Leave empty groups out."
            )
        size = np.array([g.size for g in lists])
        given = np.sqrt(size) if weights is None else check_weights(weights)
        if given.shape != size.shape or not (given > 0.0).all():
            raise ParameterError(
                f"one weight above 0 for each of {size.size} groups; got {given}. Leave out groups "
                "without weight."
            )
        # Small groups first: for nested groups one sweep is then enough.
        order = np.argsort(size, kind="stable")
        self._unit = given[order].astype(np.float64)
        self._indices = np.concatenate([lists[g] for g in order]).astype(np.uint32)
        self._indptr = np.concatenate(([0], np.cumsum(size[order]))).astype(np.uint32)
        self._owner = np.repeat(np.arange(size.size), size[order])

    @property
    def _levels(self) -> FloatArray:
        return np.asarray(self.strength * self._unit)

    def _norms(self, w: FloatArray) -> FloatArray:
        """The norm of w on every group."""
        self._check(w.shape[0])
        return np.asarray(np.sqrt(np.add.reduceat(w[self._indices] ** 2, self._starts)))

    @property
    def _starts(self) -> Array:
        return self._indptr[:-1].astype(np.int64)

    @speaks_for_itself
    def _check(self, d: int) -> None:
        if self._indices.max() >= d:
            raise ParameterError(
                f"groups of the columns 0 to {d - 1}; got column {self._indices.max()}. Number the "
                "columns from 0."
            )

    def value(self, w: FloatArray) -> float:
        """Penalty at w."""
        return float(self._levels @ self._norms(w))

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        return self._split(v, step * self._levels).rest

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w; its Euclidean norm is the distance."""
        norms = self._norms(w)
        moves = norms > 0.0
        pull = self._pull(w, self._levels, norms)
        rest = -grad - np.bincount(self._indices, pull, minlength=w.size)
        radius = np.where(moves, 0.0, self._levels)
        parts = np.zeros(self._indices.size)
        self._sweep(rest, parts, radius)
        return np.abs(rest)

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``: 0 where v is a sum of parts in the balls of the groups."""
        return 0.0 if self._dual_norm(v) <= 1.0 + SLACK else math.inf

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        return 1.0 / max(self._dual_norm(v), 1.0)

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [
            cls(0.3, [[0, 1], [1, 2], [2, 3]]),
            cls(0.2, [[0, 1, 2], [2, 3], [3, 0]], weights=[1.0, 0.5, 2.0]),
            cls(0.4, [[0, 1], [0, 1, 2, 3]]),
        ]

    # --- parts ----------------------------------------------------------------------------------

    def _pull(self, w: FloatArray, radius: FloatArray, norms: FloatArray) -> FloatArray:
        """``radius_g w_g / |w_g|`` for the groups that are not zero, one entry for each member."""
        factor = np.divide(radius, norms, out=np.zeros_like(radius), where=norms > 0.0)
        return np.asarray(factor[self._owner] * w[self._indices])

    def _sweep(self, rest: FloatArray, parts: FloatArray, radius: FloatArray) -> None:
        total = float(np.abs(rest).max(initial=0.0)) + float(np.abs(parts).max(initial=0.0))
        decompose(rest, parts, self._indptr, self._indices, radius, TINY * total, MOST_SWEEPS)

    def _split(self, v: FloatArray, radius: FloatArray, parts: FloatArray | None = None) -> Split:
        """Split v into its prox, for these radii, and parts in the balls."""
        self._check(v.shape[0])
        parts = np.zeros(self._indices.size) if parts is None else parts.copy()
        rest = v - np.bincount(self._indices, parts, minlength=v.size)
        self._sweep(rest, parts, radius)
        # Groups inside their ball are zero, and so are their columns.
        lengths = np.sqrt(np.add.reduceat(parts**2, self._starts))
        inside = lengths < radius * (1.0 - INSIDE)
        rest[self._indices[inside[self._owner]]] = 0.0
        least = ZERO * float(np.abs(v).max(initial=0.0))
        return Split(
            self._cleared(self._polished(v, self._cleared(rest, least), radius), least), parts
        )

    def _cleared(self, x: FloatArray, least: float) -> FloatArray:
        """Set groups of x to zero that are shorter than a rounding error."""
        while True:
            norms = self._norms(x)
            short = (norms > 0.0) & (norms <= least)
            if not short.any():
                return x
            x = x.copy()
            x[self._indices[short[self._owner]]] = 0.0

    def _polished(self, v: FloatArray, x: FloatArray, radius: FloatArray) -> FloatArray:
        """Newton steps on the columns that are not zero, where the penalty is smooth."""
        free = np.flatnonzero(x)
        best = self._slope(v, x, radius)[free]
        for _ in range(NEWTON_STEPS):
            if not free.size or np.abs(best).max() <= TINY * np.abs(v).max():
                break
            new = x.copy()
            new[free] -= np.linalg.solve(np.eye(free.size) + self._curvature(x, radius, free), best)
            slope = self._slope(v, new, radius)[free]
            if not np.abs(slope).max() < np.abs(best).max():
                break
            x, best = new, slope
        return x

    def _curvature(self, x: FloatArray, radius: FloatArray, free: Array) -> FloatArray:
        """``sum_g radius_g (I / |x_g| - x_g x_g' / |x_g|^3)`` on the columns that are not zero."""
        place = np.full(x.size, -1)
        place[free] = np.arange(free.size)
        out, norms = np.zeros((free.size, free.size)), self._norms(x)
        for g in np.flatnonzero(norms):
            mine = self._indices[self._indptr[g] : self._indptr[g + 1]]
            mine = mine[place[mine] >= 0]
            unit = x[mine] / norms[g]
            at = np.ix_(place[mine], place[mine])
            out[at] += radius[g] / norms[g] * (np.eye(mine.size) - np.outer(unit, unit))
        return out

    def _slope(self, v: FloatArray, x: FloatArray, radius: FloatArray) -> FloatArray:
        """Gradient of ``|x - v|^2 / 2 + sum_g radius_g |x_g|`` where x is not zero."""
        pull = self._pull(x, radius, self._norms(x))
        return np.asarray(x - v + np.bincount(self._indices, pull, minlength=v.size))

    def _dual_norm(self, v: FloatArray) -> float:
        """Least t such that v is a sum of parts of length at most ``t strength weight_g``.

        For every x, ``v.x / penalty(x)`` is a lower bound. That at the prox for the last bound is
        larger, and converges; what the prox leaves, added to the parts, gives an upper bound, which
        is returned. It is infinite for columns in no group.
        """
        self._check(v.shape[0])
        covered = np.zeros(v.size, dtype=bool)
        covered[self._indices] = True
        size = float(np.abs(v).max(initial=0.0))
        if size == 0.0:
            return 0.0
        if v[~covered].any() or self.strength == 0.0 or not math.isfinite(size):
            return math.inf
        v, levels = v / size, self._levels
        low, high, parts, x = 0.0, math.inf, None, v
        for _ in range(DUAL_STEPS):
            low = max(low, float(v @ x) / self.value(x))
            x, parts = self._split(v, low * levels, parts)
            high = min(high, self._upper(v, parts))
            if x.any() and high > low * (1.0 + DUAL_ACCURACY):
                high = min(high, self._upper(v, self._dual_parts(v, x)))
            if high <= low * (1.0 + DUAL_ACCURACY) or not x.any():
                break
        return size * high

    def _dual_parts(self, v: FloatArray, x: FloatArray) -> FloatArray:
        """Parts of v that attain the dual norm, by Newton steps from a good direction x.

        The dual norm t is the largest ``v.x`` for a penalty of 1, so ``v = t slope(x)`` with the
        slope of the penalty, for the columns that are not zero.
        """
        levels, free = self._levels, np.flatnonzero(x)
        x = x / self.value(x)
        t, best = float(v @ x), math.inf
        kept = x, t
        for _ in range(NEWTON_STEPS):
            pull = self._pull(x, levels, self._norms(x))
            slope = np.bincount(self._indices, pull, minlength=v.size)[free]
            error = np.append(v[free] - t * slope, 1.0 - float(slope @ x[free]))
            if not np.abs(error).max() < best:
                break
            best, kept = float(np.abs(error).max()), (x, t)
            border = slope[:, None]
            matrix = np.block([[t * self._curvature(x, levels, free), border], [border.T, 0.0]])
            move = np.linalg.lstsq(matrix, error, rcond=None)[0]
            x, t = x.copy(), t + float(move[-1])
            x[free] += move[:-1]
        x, t = kept
        norms = self._norms(x)
        pull = self._pull(x, t * levels, norms)
        rest, parts = v - np.bincount(self._indices, pull, minlength=v.size), 0.0 * pull
        self._sweep(rest, parts, np.where(norms > 0.0, 0.0, t * levels))
        return pull + parts

    def _upper(self, v: FloatArray, parts: FloatArray) -> float:
        """The largest length of a part, over its level, of a decomposition of v."""
        rest = v - np.bincount(self._indices, parts, minlength=v.size)
        # What is left goes to all groups of the column in equal shares.
        shares = np.bincount(self._indices, minlength=v.size)
        parts = parts + rest[self._indices] / shares[self._indices]
        lengths = np.sqrt(np.add.reduceat(parts**2, self._starts))
        return float((lengths / self._levels).max())
