"""Quadratic models of a loss over the groups in play, and how they are minimised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from auctor.core.cost import product_passes
from auctor.core.curvature import LowRankCurvature
from auctor.core.types import Array, BlockSpec, Columns, FloatArray, IntArray
from auctor.kernels.linalg.columns import products
from auctor.kernels.penalties import blocks as kernels
from auctor.problem import Point, Problem
from auctor.problem.hessian import Hessian

#: Blocks of up to this many columns are minimised exactly, through their eigenvectors.
TURNED_SIZE = 64
#: Sweeps before the first extrapolation, and iterates that one takes.
PLAIN_SWEEPS, DEPTH = 8, 5

#: What both inner kernels take of the blocks.
Arguments: TypeAlias = tuple[
    IntArray,
    FloatArray,
    FloatArray,
    FloatArray,
    IntArray,
    FloatArray,
    FloatArray,
    FloatArray,
    Array,
]


@dataclass(frozen=True)
class Play:
    """The blocks in play, their columns, and each block's own matrix with its eigenvectors."""

    blocks: IntArray
    chosen: IntArray
    starts: IntArray
    weight: FloatArray
    l1: FloatArray

    @classmethod
    def of(cls, spec: BlockSpec, blocks: IntArray) -> Play:
        """The given blocks of a penalty."""
        low, high = spec.indptr[blocks].astype(np.int64), spec.indptr[blocks + 1].astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(high - low)))
        where = np.arange(starts[-1]) + np.repeat(low - starts[:-1], high - low)
        chosen = spec.indices[where].astype(np.int64)
        return cls(blocks, chosen, starts, spec.weight[blocks], spec.l1[blocks])

    @cached_property
    def own(self) -> IntArray:
        """Where each block's own matrix starts in a flat array."""
        return np.concatenate(([0], np.cumsum(np.diff(self.starts) ** 2)))

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Row and column of every entry of the flat array, as positions in play."""
        sizes = np.diff(self.starts)
        low, size = (np.repeat(a, sizes**2) for a in (self.starts[:-1], sizes))
        offset = np.arange(self.own[-1]) - np.repeat(self.own[:-1], sizes**2)
        return low + offset // size, low + offset % size


@dataclass(frozen=True)
class Matrices:
    """Bounds, flat matrices, eigenvalues and eigenvectors of the blocks in play."""

    bound: FloatArray
    flat: FloatArray
    values: FloatArray
    vectors: FloatArray
    turned: Array

    def arguments(self, play: Play) -> Arguments:
        """What both kernels take."""
        return (
            play.starts,
            play.weight,
            play.l1,
            self.bound,
            play.own,
            self.flat,
            self.values,
            self.vectors,
            self.turned,
        )


def decompose(play: Play, flat: FloatArray) -> Matrices:
    """Eigenvalues of every small block; a bound for the large ones."""
    sizes, own, starts = np.diff(play.starts), play.own, play.starts
    values, vectors = np.ones(starts[-1]), np.zeros(own[-1])
    bound, turned = np.empty(sizes.size), (sizes <= TURNED_SIZE)
    for m in np.unique(sizes):
        which = np.flatnonzero(sizes == m)
        square = own[which][:, None] + np.arange(m * m)
        stack = flat[square].reshape(-1, m, m)
        if m > TURNED_SIZE:
            rows = np.abs(stack).sum(axis=2).max(axis=1)
            bound[which] = np.minimum(rows, np.sqrt((stack**2).sum(axis=(1, 2))))
            continue
        found, basis = np.linalg.eigh(stack)
        values[starts[which][:, None] + np.arange(m)] = found
        vectors[square] = basis.reshape(-1, m * m)
        bound[which] = found[:, -1]
    top = float(bound.max(initial=0.0)) or 1.0
    bound = np.maximum(bound, 1e-10 * top)
    values = np.maximum(values, 1e-12 * np.repeat(bound, sizes))
    return Matrices(bound, flat, values, vectors, turned)


@dataclass(frozen=True)
class Kept:
    """The matrix of all columns that were in play so far, for a loss with constant curvature.

    ``slot`` is where a column is kept, -1 where it is not. Of the whole matrix also the intercept's
    row is known: ``side``, with ``total`` on the diagonal.
    """

    chosen: IntArray
    gram: FloatArray
    slot: IntArray
    side: FloatArray | None = None
    total: float = 0.0

    @classmethod
    def empty(cls, d: int) -> Kept:
        """Nothing kept yet."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, np.zeros((0, 0)), np.full(d, -1, dtype=np.int64))

    @classmethod
    def whole(cls, problem: Problem, h: FloatArray) -> Kept:
        """All columns, from rows: all of them for a quadratic loss, else sampled if that helps."""
        free = np.zeros(problem.n_params)
        curvature = LowRankCurvature(h)
        hessian = Hessian(problem.data, curvature, free, problem.has_intercept, problem.counts)
        matrix = hessian.matrix() if problem.loss.quadratic else hessian.model_matrix()
        d = problem.n_columns
        every = np.arange(d)
        side, total = np.zeros(d), 0.0
        if problem.has_intercept:
            side, total = matrix[d, :d], float(matrix[d, d])
        return cls(every, matrix[:d, :d], every, side, total)

    def submatrix(
        self, problem: Problem, h: FloatArray, chosen: IntArray
    ) -> tuple[Kept, FloatArray]:
        """The matrix of the chosen columns, extended where needed."""
        new = chosen[self.slot[chosen] < 0]
        kept = self
        if new.size:
            every = np.concatenate((self.chosen, new)) if self.chosen.size else new
            side = products(problem.data.columns(), h, every, new)
            problem.counts.passes += new.size * product_passes(every.size) / problem.n_columns
            gram = np.empty((every.size, every.size))
            old = self.chosen.size
            gram[:old, :old] = self.gram
            gram[:, old:] = side
            gram[old:, :old] = side[:old].T
            slot = self.slot.copy()
            slot[new] = np.arange(old, every.size)
            kept = Kept(every, gram, slot)
        where = kept.slot[chosen]
        return kept, kept.gram[np.ix_(where, where)]


@dataclass(frozen=True)
class Base:
    """Where a model is made: point, weights in play, row curvature and its column sums."""

    point: Point
    w: FloatArray
    h: FloatArray
    hx: FloatArray
    sum_h: float


class Inner(ABC):
    """The model's minimisation: sweeps, with every few iterates extrapolated.

    ``aux`` is what sweeps keep up to date beside the weights ``z``; it is affine in them, so both
    extrapolate with the same coefficients.

    References
    ----------
    Bertrand, Massias, Anderson acceleration of coordinate descent, 2021.
    """

    z: FloatArray
    aux: FloatArray

    def __init__(self, play: Play, base: Base, aux: FloatArray) -> None:
        self.play, self.base = play, base
        self.z, self.aux = base.w.copy(), aux

    @abstractmethod
    def sweep(self, count: int, tol: float) -> tuple[int, bool]:
        """Sweeps done, and whether they ended at the tolerance."""

    @abstractmethod
    def smooth(self, z: FloatArray, aux: FloatArray) -> float:
        """Quadratic part of the model."""

    def value(self, z: FloatArray, aux: FloatArray) -> float:
        """The model's value."""
        low = self.play.starts[:-1]
        norms = np.sqrt(np.add.reduceat(z * z, low))
        penalty = self.play.weight @ norms + self.play.l1 @ np.add.reduceat(np.abs(z), low)
        return self.smooth(z, aux) + float(penalty)

    def run(self, max_sweeps: int, tol: float) -> int:
        """Sweep until the tolerance is met; returns the sweeps."""
        done, met = self.sweep(min(PLAIN_SWEEPS, max_sweeps), tol)
        while not met and done < max_sweeps:
            self._extrapolate(tol)
            done += DEPTH
            count, met = self.sweep(3, tol)
            done += count
        return done

    def _extrapolate(self, tol: float) -> None:
        path, side = [self.z.copy()], [self.aux.copy()]
        for _ in range(DEPTH):
            self.sweep(1, tol)
            path.append(self.z.copy())
            side.append(self.aux.copy())
        steps = np.diff(path, axis=0)
        matrix = steps @ steps.T
        scale = float(np.trace(matrix))
        if not scale > 0.0:
            return
        matrix[np.diag_indices_from(matrix)] += 1e-12 * scale
        share = np.asarray(np.linalg.solve(matrix, np.ones(DEPTH)), dtype=np.float64)
        if not np.isfinite(share).all() or not abs(float(share.sum())) > 0.0:
            return
        share /= share.sum()
        z, aux = share @ np.array(path[1:]), share @ np.array(side[1:])
        if self.value(z, aux) < self.value(self.z, self.aux):
            self.z[:], self.aux[:] = z, aux


class ByMatrix(Inner):
    """Sweeps with the matrix of the columns in play; ``aux`` is the model's gradient there."""

    def __init__(self, problem: Problem, play: Play, base: Base, gram: FloatArray) -> None:
        self.gradient = problem.coef(base.point.gradient)[play.chosen]
        super().__init__(play, base, self.gradient.copy())
        if base.sum_h > 0.0:
            gram -= np.outer(base.hx, base.hx / base.sum_h)
        self.gram, self.matrices = gram, decompose(play, gram[play.pairs])

    def sweep(self, count: int, tol: float) -> tuple[int, bool]:
        """Sweeps done, and whether they ended at the tolerance."""
        common = self.matrices.arguments(self.play)
        return kernels.descend_gram(self.gram, self.aux, *common, self.z, count, tol)

    def smooth(self, z: FloatArray, aux: FloatArray) -> float:
        """Quadratic part of the model."""
        return 0.5 * float((aux + self.gradient) @ (z - self.base.w))


class ByColumns(Inner):
    """Sweeps that read columns; ``aux`` is the gradient in score space, without the intercept's."""

    def __init__(self, problem: Problem, columns: Columns, play: Play, base: Base) -> None:
        super().__init__(play, base, base.point.dscores.copy())
        self.columns, self.problem = columns, problem
        flat = np.empty(play.own[-1])
        kernels.block_products(*columns, base.h, play.chosen, play.starts, play.own, flat)
        if base.sum_h > 0.0:
            row, column = play.pairs
            flat -= base.hx[row] * base.hx[column] / base.sum_h
        self.matrices = decompose(play, flat)

    def sweep(self, count: int, tol: float) -> tuple[int, bool]:
        """Sweeps done, and whether they ended at the tolerance."""
        base, play = self.base, self.play
        shift = float(base.hx @ (self.z - base.w)) / base.sum_h if base.sum_h > 0.0 else 0.0
        indptr, indices, values = self.columns
        done, met, work = kernels.descend_residual(
            indptr,
            indices,
            values,
            base.h,
            self.aux,
            base.hx,
            base.sum_h,
            shift,
            play.chosen,
            *self.matrices.arguments(play),
            self.z,
            count,
            tol,
        )
        self.problem.counts.passes += work / max(1, self.problem.data.n_entries)
        return done, met

    def smooth(self, z: FloatArray, aux: FloatArray) -> float:
        """Quadratic part of the model."""
        base = self.base
        bent = aux - base.point.dscores
        moved = np.divide(bent, base.h, out=np.zeros_like(bent), where=base.h > 0.0)
        value = float((base.point.dscores + 0.5 * bent) @ moved)
        if base.sum_h > 0.0:
            value -= 0.5 * float(base.hx @ (z - base.w)) ** 2 / base.sum_h
        return value
