"""Quadratic models of a loss over the groups of the working set, and how they are minimised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from auctor.core.curvature import LowRankCurvature
from auctor.core.data_capabilities import COLUMNS
from auctor.core.linalg import product_passes
from auctor.core.types import Array, BlockSpec, CompressedColumns, FloatArray, IntArray
from auctor.kernels.linalg.columns import products
from auctor.kernels.penalties import blocks as kernels
from auctor.problem import Point, Problem
from auctor.problem.hessian import Hessian
from auctor.solvers.sparse.models.shared import InterceptRow, grown_gram

#: Blocks of up to this many columns are minimised exactly, through their eigenvectors.
TURNED_SIZE = 64
#: Sweeps before the first extrapolation.
PLAIN_SWEEPS = 8
#: Iterates that an extrapolation combines (Bertrand, Massias, 2021, use 5).
DEPTH = 5
#: Least bound of a block's eigenvalues, as a share of the largest bound.
LEAST_BOUND = 1e-10
#: Least eigenvalue of a block, as a share of its bound: a few thousand times its rounding error.
LEAST_EIGENVALUE = 1e-12
#: Added to the diagonal of the system of an extrapolation, as a share of its trace.
EXTRAPOLATION_RIDGE = 1e-12


@dataclass(frozen=True)
class WorkingSet:
    """Some blocks, their columns, and each block's own matrix with its eigenvectors."""

    blocks: IntArray
    chosen: IntArray
    starts: IntArray
    weight: FloatArray
    l1: FloatArray

    @classmethod
    def of(cls, spec: BlockSpec, blocks: IntArray) -> WorkingSet:
        """The given blocks of a penalty."""
        low, high = spec.indptr[blocks].astype(np.int64), spec.indptr[blocks + 1].astype(np.int64)
        starts = np.concatenate(([0], np.cumsum(high - low)))
        where = np.arange(starts[-1]) + np.repeat(low - starts[:-1], high - low)
        columns = spec.indices[where].astype(np.int64)
        return cls(blocks, columns, starts, spec.weight[blocks], spec.l1[blocks])

    @cached_property
    def own(self) -> IntArray:
        """Where each block's own matrix starts in a flat array."""
        return np.concatenate(([0], np.cumsum(np.diff(self.starts) ** 2)))

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Row and column of every entry of the flat array, as positions in the working set."""
        sizes = np.diff(self.starts)
        low, size = (np.repeat(a, sizes**2) for a in (self.starts[:-1], sizes))
        offset = np.arange(self.own[-1]) - np.repeat(self.own[:-1], sizes**2)
        return low + offset // size, low + offset % size


@dataclass(frozen=True)
class Matrices:
    """Bounds, flat matrices, eigenvalues and eigenvectors of the blocks of the working set."""

    bound: FloatArray
    flat: FloatArray
    values: FloatArray
    vectors: FloatArray
    turned: Array

    def of(self, working: WorkingSet) -> kernels.Blocks:
        """The blocks of the working set as both kernels take them."""
        return kernels.Blocks(
            working.starts,
            working.weight,
            working.l1,
            self.bound,
            working.own,
            self.flat,
            self.values,
            self.vectors,
            self.turned,
        )


def decompose(working: WorkingSet, flat: FloatArray) -> Matrices:
    """Eigenvalues of every small block; a bound for the large ones."""
    sizes, own, starts = np.diff(working.starts), working.own, working.starts
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
        eigenvalues, basis = np.linalg.eigh(stack)
        values[starts[which][:, None] + np.arange(m)] = eigenvalues
        vectors[square] = basis.reshape(-1, m * m)
        bound[which] = eigenvalues[:, -1]
    top = float(bound.max(initial=0.0)) or 1.0
    bound = np.maximum(bound, LEAST_BOUND * top)
    values = np.maximum(values, LEAST_EIGENVALUE * np.repeat(bound, sizes))
    return Matrices(bound, flat, values, vectors, turned)


@dataclass(frozen=True)
class GrowingGram:
    """The matrix of all columns in working sets so far, for a loss with constant curvature.

    ``slot`` is the position of a column in it, -1 for columns that are not part of it. The matrix
    of all columns comes with the intercept's row.
    """

    chosen: IntArray
    gram: FloatArray
    slot: IntArray
    intercept: InterceptRow | None = None

    @classmethod
    def empty(cls, d: int) -> GrowingGram:
        """The matrix of no column."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, np.zeros((0, 0)), np.full(d, -1, dtype=np.int64))

    @classmethod
    def whole(cls, problem: Problem, h: FloatArray) -> GrowingGram:
        """The matrix of all columns, from the rows.

        All rows take part for a quadratic loss, a sample of them otherwise where that is cheaper.
        """
        free = np.zeros(problem.n_params)
        curvature = LowRankCurvature(h)
        hessian = Hessian(problem.data, curvature, free, problem.has_intercept, problem.counts)
        matrix = hessian.matrix() if problem.loss.quadratic else hessian.model_matrix()
        d = problem.n_columns
        every = np.arange(d)
        intercept = InterceptRow.absent(d)
        if problem.has_intercept:
            intercept = InterceptRow(matrix[d, :d], float(matrix[d, d]))
        return cls(every, matrix[:d, :d], every, intercept)

    def submatrix(
        self, problem: Problem, h: FloatArray, chosen: IntArray
    ) -> tuple[GrowingGram, FloatArray]:
        """The matrix with the chosen columns added where missing, and their part of it."""
        new = chosen[self.slot[chosen] < 0]
        grown = self
        if new.size:
            every = np.concatenate((self.chosen, new)) if self.chosen.size else new
            columns = COLUMNS.of(problem.data).columns()
            gram = grown_gram(self.gram, products(columns, h, every, new))
            problem.counts.passes += new.size * product_passes(every.size) / problem.n_columns
            slot = self.slot.copy()
            slot[new] = np.arange(self.chosen.size, every.size)
            grown = GrowingGram(every, gram, slot)
        where = grown.slot[chosen]
        return grown, grown.gram[np.ix_(where, where)]


@dataclass(frozen=True)
class Base:
    """Where a model is made: point, weights, row curvature and the intercept's row."""

    point: Point
    w: FloatArray
    h: FloatArray
    intercept: InterceptRow


class BlockModel(ABC):
    """The model's minimisation: sweeps, with every few iterates extrapolated.

    ``aux`` is a vector that sweeps update beside the weights ``z`` (a gradient). It is affine in
    them, so the same coefficients extrapolate both.

    References
    ----------
    Bertrand, Massias, Anderson acceleration of coordinate descent, 2021.
    """

    z: FloatArray
    aux: FloatArray

    def __init__(self, working: WorkingSet, base: Base, aux: FloatArray) -> None:
        self.working, self.base = working, base
        self.z, self.aux = base.w.copy(), aux

    @abstractmethod
    def sweep(self, count: int, tol: float) -> tuple[int, bool]:
        """Sweeps done, and whether they ended at the tolerance."""

    @abstractmethod
    def smooth(self, z: FloatArray, aux: FloatArray) -> float:
        """Quadratic part of the model."""

    def value(self, z: FloatArray, aux: FloatArray) -> float:
        """The model's value."""
        low = self.working.starts[:-1]
        norms = np.sqrt(np.add.reduceat(z * z, low))
        penalty = self.working.weight @ norms + self.working.l1 @ np.add.reduceat(np.abs(z), low)
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
        """Anderson extrapolation of the last `DEPTH` sweeps, taken if it lowers the model.

        With U the differences of iterates, the coefficients are ``(U U')^-1 1``, scaled to sum 1.
        """
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
        matrix[np.diag_indices_from(matrix)] += EXTRAPOLATION_RIDGE * scale
        share = np.asarray(np.linalg.solve(matrix, np.ones(DEPTH)), dtype=np.float64)
        if not np.isfinite(share).all() or not abs(float(share.sum())) > 0.0:
            return
        share /= share.sum()
        z, aux = share @ np.array(path[1:]), share @ np.array(side[1:])
        if self.value(z, aux) < self.value(self.z, self.aux):
            self.z[:], self.aux[:] = z, aux


class ByMatrix(BlockModel):
    """Sweeps with the matrix of the working set; ``aux`` is the model's gradient there."""

    def __init__(self, problem: Problem, working: WorkingSet, base: Base, gram: FloatArray) -> None:
        self.gradient = problem.coef(base.point.gradient)[working.chosen]
        super().__init__(working, base, self.gradient.copy())
        base.intercept.eliminate(gram)
        self.gram, self.matrices = gram, decompose(working, gram[working.pairs])

    def sweep(self, count: int, tol: float) -> tuple[int, bool]:
        """Sweeps done, and whether they ended at the tolerance."""
        blocks = self.matrices.of(self.working)
        return kernels.descend_gram(self.gram, self.aux, blocks, self.z, count, tol)

    def smooth(self, z: FloatArray, aux: FloatArray) -> float:
        """Quadratic part of the model."""
        return 0.5 * float((aux + self.gradient) @ (z - self.base.w))


class ByColumns(BlockModel):
    """Sweeps that read columns; ``aux`` is the gradient in score space, without the intercept's."""

    def __init__(
        self, problem: Problem, columns: CompressedColumns, working: WorkingSet, base: Base
    ) -> None:
        super().__init__(working, base, base.point.dscores.copy())
        self.columns, self.problem = columns, problem
        flat = np.empty(working.own[-1])
        kernels.block_products(*columns, base.h, working.chosen, working.starts, working.own, flat)
        if base.intercept.present:
            # The Schur complement's entries inside the blocks; the others are never formed.
            row, column = working.pairs
            flat -= base.intercept.side[row] * base.intercept.side[column] / base.intercept.corner
        self.matrices = decompose(working, flat)

    def sweep(self, count: int, tol: float) -> tuple[int, bool]:
        """Sweeps done, and whether they ended at the tolerance."""
        base, working = self.base, self.working
        shift = -base.intercept.change(self.z - base.w)
        indptr, indices, values = self.columns
        done, met, work = kernels.descend_residual(
            indptr,
            indices,
            values,
            base.h,
            self.aux,
            base.intercept.side,
            base.intercept.corner,
            shift,
            working.chosen,
            self.matrices.of(working),
            self.z,
            count,
            tol,
        )
        self.problem.counts.passes += work / max(1, self.problem.n_entries)
        return done, met

    def smooth(self, z: FloatArray, aux: FloatArray) -> float:
        """Quadratic part of the model."""
        base = self.base
        bent = aux - base.point.dscores
        moved = np.divide(bent, base.h, out=np.zeros_like(bent), where=base.h > 0.0)
        value = float((base.point.dscores + 0.5 * bent) @ moved)
        # The intercept's best change b lowers the model by corner b^2 / 2.
        shift = base.intercept.change(z - base.w)
        return value - 0.5 * base.intercept.corner * shift * shift
