"""Block coordinate descent on second-order models: the solver for group penalties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from auctor.core.checks import check_int, check_real
from auctor.core.needs import Need
from auctor.core.types import BlockSpec, Columns, FloatArray, IntArray
from auctor.kernels import blocks as kernels
from auctor.problem import Point, Problem

#: Blocks of up to this many columns are minimised exactly, through their eigenvectors.
TURNED_SIZE = 64
#: Sweeps a matrix of the columns in play is worth: kept for a quadratic loss, made anew otherwise.
KEPT_SWEEPS, FRESH_SWEEPS = 200, 60
#: Sweeps before the first extrapolation, and iterates that one takes.
PLAIN_SWEEPS, DEPTH = 8, 5
#: The working set holds at least this many blocks, and twice those that are not zero.
FEWEST_BLOCKS = 16
#: Changes of the objective below this, relative to it, may be rounding.
ROUNDING = 1e-13


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
    turned: IntArray


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
    """The matrix of all columns that were in play so far, for a loss with constant curvature."""

    chosen: IntArray
    gram: FloatArray
    slot: IntArray  # of every column, -1 where it is not kept

    @classmethod
    def empty(cls, d: int) -> Kept:
        """Nothing kept yet."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, np.zeros((0, 0)), np.full(d, -1, dtype=np.int64))

    def submatrix(
        self, columns: Columns, h: FloatArray, chosen: IntArray
    ) -> tuple[Kept, FloatArray, int]:
        """The matrix of the chosen columns, extended where needed; how many columns were new."""
        new = chosen[self.slot[chosen] < 0]
        kept = self
        if new.size:
            every = np.concatenate((self.chosen, new)) if self.chosen.size else new
            side = kernels.products(columns, h, every, new)
            gram = np.empty((every.size, every.size))
            old = self.chosen.size
            gram[:old, :old] = self.gram
            gram[:, old:] = side
            gram[old:, :old] = side[:old].T
            slot = self.slot.copy()
            slot[new] = np.arange(old, every.size)
            kept = Kept(every, gram, slot)
        where = kept.slot[chosen]
        return kept, kept.gram[np.ix_(where, where)], new.size


@dataclass(frozen=True)
class Base:
    """Where a model is made: point, weights in play, row curvature and its column sums."""

    point: Point
    w: FloatArray
    h: FloatArray
    hx: FloatArray
    sum_h: float


class Inner:
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

    def sweep(self, count: int, tol: float) -> tuple[int, bool]:
        """Sweeps done, and whether they ended at the tolerance."""
        raise NotImplementedError

    def smooth(self, z: FloatArray, aux: FloatArray) -> float:
        """Quadratic part of the model."""
        raise NotImplementedError

    def value(self, z: FloatArray, aux: FloatArray) -> float:
        """The model's value."""
        low = self.play.starts[:-1]
        norms = np.sqrt(np.add.reduceat(z * z, low))
        penalty = self.play.weight @ norms + self.play.l1 @ np.add.reduceat(np.abs(z), low)
        return self.smooth(z, aux) + float(penalty)

    def run(self, max_sweeps: int, tol: float) -> None:
        """Sweep until the tolerance is met."""
        done, met = self.sweep(min(PLAIN_SWEEPS, max_sweeps), tol)
        while not met and done < max_sweeps:
            self._extrapolate(tol)
            done += DEPTH
            count, met = self.sweep(3, tol)
            done += count

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
        share = np.linalg.solve(matrix, np.ones(DEPTH))
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
        common = _arguments(self.play, self.matrices)
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
        done, met, work = kernels.descend_residual(
            *self.columns,
            base.h,
            self.aux,
            base.hx,
            base.sum_h,
            shift,
            play.chosen,
            *_arguments(play, self.matrices),
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


@dataclass(frozen=True)
class BlockState:
    """The point, the matrix kept between steps and how far inner problems are solved."""

    point: Point
    kept: Kept | None
    fraction: float
    stalled: bool = False
    dual: Point | None = None


@dataclass(frozen=True)
class BlockCoordinateDescent:
    """Group by group on second-order models of the loss, with line searches in score space.

    Each step takes a quadratic model of the loss, puts in play the groups that are not zero and
    those that violate optimality most, and sweeps over these. A group of up to 64 columns is
    minimised exactly in its own eigenvectors, a larger one (or one with an l1 part) by majorised
    steps on its own matrix. The intercept is eliminated exactly. With few columns in play their
    matrix is formed and a sweep costs O(K^2); otherwise a sweep reads the columns in play twice.
    One further pass over the data per step gives the gradient of all groups.

    Parameters
    ----------
    fraction : float in (0, 1)
        Accuracy of an inner problem relative to the largest violation of the outer one.
    max_sweeps : int
        Sweeps per step.
    sigma : float in (0, 1)
        Sufficient decrease of the line search.

    References
    ----------
    Yuan, Lin, 2006; Tseng, Yun, A coordinate gradient descent method for nonsmooth separable
    minimization, 2009; Qin, Scheinberg, Goldfarb, Efficient block-coordinate descent algorithms
    for the group lasso, 2013.
    """

    fraction: float = 0.1
    max_sweeps: int = 200
    sigma: float = 0.01

    needs = (
        Need.SMOOTH_LOSS | Need.CURVATURE | Need.ROW_LOSS | Need.BLOCK_PENALTY | Need.COLUMNS
    )

    def __post_init__(self) -> None:
        who = type(self).__name__
        for name in ("fraction", "sigma"):
            value = getattr(self, name)
            check_real(who, name, value, low=0.0, high=1.0, open_low=True, open_high=True)
        check_int(who, "max_sweeps", self.max_sweeps, low=1)

    def init(self, problem: Problem, w: FloatArray, rng: np.random.Generator) -> BlockState:
        """State at the starting point."""
        return BlockState(problem.centred(problem.evaluate(w)), None, self.fraction)

    def step(self, problem: Problem, state: BlockState) -> BlockState:
        """One model, its inexact minimiser, one line search."""
        point = state.point
        spec = blocks_of(problem)
        violation = block_violation(problem, spec, point)
        if not violation.any():
            return replace(state, stalled=True)
        play = Play.of(spec, self._working_set(problem, spec, point, violation))
        tol = state.fraction * float(violation[play.blocks].max())
        z, intercept, kept = self._descend(problem, state, play, tol)
        change = z - problem.coef(point.w)[play.chosen]
        new = self._search(problem, point, play, change, intercept)
        if new is None:
            tight = state.fraction < 1e-6
            return replace(state, kept=kept, fraction=0.01 * state.fraction, stalled=tight)
        return BlockState(problem.centred(new), kept, self.fraction)

    def _working_set(
        self, problem: Problem, spec: BlockSpec, point: Point, violation: FloatArray
    ) -> IntArray:
        """Blocks that are not zero or free, and the worst violators up to twice as many."""
        w = problem.coef(point.w)[spec.indices] != 0.0
        inside = np.add.reduceat(w, spec.indptr[:-1].astype(np.int64)) > 0
        inside |= (spec.weight == 0.0) & (spec.l1 == 0.0)
        room = max(FEWEST_BLOCKS, 2 * int(inside.sum())) - int(inside.sum())
        rest = np.flatnonzero(~inside & (violation > 0.0))
        if rest.size > room:
            rest = rest[np.argpartition(-violation[rest], room - 1)[:room]]
        return np.sort(np.concatenate((np.flatnonzero(inside), rest)))

    def _descend(
        self, problem: Problem, state: BlockState, play: Play, tol: float
    ) -> tuple[FloatArray, float, Kept | None]:
        """Weights of the columns in play and change of the intercept that minimise the model."""
        point, columns = state.point, problem.data.columns()
        h = row_curvature(problem, point)
        hx, sum_h = np.zeros(play.chosen.size), 0.0
        if problem.has_intercept:
            sum_h = float(h.sum())
            kernels.dots(*columns, play.chosen, h, hx)
        base = Base(point, problem.coef(point.w)[play.chosen], h, hx, sum_h)
        kept = state.kept
        if use_matrix(problem, columns, play, kept):
            if kept is None or not problem.loss.quadratic:
                kept = Kept.empty(problem.n_columns)
            kept, gram, new = kept.submatrix(columns, h, play.chosen)
            problem.counts.passes += new * (1.0 + new / 6.0) / problem.n_columns
            inner: Inner = ByMatrix(problem, play, base, gram)
        else:
            inner = ByColumns(problem, columns, play, base)
        inner.run(self.max_sweeps, tol)
        shift = -float(hx @ (inner.z - base.w)) / sum_h if sum_h > 0.0 else 0.0
        return inner.z, shift, kept if problem.loss.quadratic else None

    def _search(
        self, problem: Problem, point: Point, play: Play, change: FloatArray, intercept: float
    ) -> Point | None:
        """First of steps 1, 1/2, ... with sufficient decrease, at no further pass."""
        columns = problem.data.columns()
        moved = np.full(problem.data.n_rows, intercept)
        kernels.combine(*columns, play.chosen, change, np.ones(moved.size), moved)
        coef = np.zeros(problem.n_columns)
        coef[play.chosen] = change
        direction = problem.join(coef, intercept)
        gain = float(point.gradient @ direction) - point.penalty
        gain += problem.penalty.value(problem.coef(point.w) + coef)
        size = 1.0
        for _ in range(40 if gain < 0.0 else 0):
            new = problem.evaluate(point.w + size * direction, scores=point.scores + size * moved)
            if new.value <= point.value + self.sigma * size * gain:
                return new
            size *= 0.5
        if not abs(gain) <= ROUNDING * abs(point.value):
            return None
        # The decrease is lost in rounding, optimality need not be.
        new = problem.evaluate(point.w + direction, scores=point.scores + moved)
        spec = blocks_of(problem)
        before, after = (float(block_violation(problem, spec, p).max()) for p in (point, new))
        close = new.value <= point.value + ROUNDING * abs(point.value)
        return new if close and after < 0.9 * before else None


def _arguments(play: Play, matrices: Matrices) -> tuple[Any, ...]:
    """What both kernels take of the blocks."""
    return (
        play.starts,
        play.weight,
        play.l1,
        matrices.bound,
        play.own,
        matrices.flat,
        matrices.values,
        matrices.vectors,
        matrices.turned,
    )


def use_matrix(problem: Problem, columns: Columns, play: Play, kept: Kept | None) -> bool:
    """Whether forming the matrix of the columns in play costs less than reading them again.

    With a entries per column, K columns and S sweeps: a K^2 multiply-adds (an eighth of that in
    time through BLAS) and K^2 per sweep, against 2 a K per sweep (slower when scattered).
    """
    quadratic = problem.loss.quadratic
    sweeps = KEPT_SWEEPS if quadratic else FRESH_SWEEPS
    size = play.chosen.size
    if quadratic and kept is not None:
        size = kept.chosen.size + int((kept.slot[play.chosen] < 0).sum())
    entries = columns.indptr[play.chosen + 1] - columns.indptr[play.chosen]
    each = float(entries.sum()) / max(1, play.chosen.size)
    dense = each >= 0.3 * problem.data.n_rows
    build, slow = (each / 8.0, 2.0) if dense else (each, 4.0)
    return size * (build + sweeps) <= slow * each * sweeps


def blocks_of(problem: Problem) -> BlockSpec:
    """The groups of a problem's penalty."""
    return cast(BlockSpec, problem.penalty.blocks(problem.n_columns))  # type: ignore[attr-defined]


def block_violation(problem: Problem, spec: BlockSpec, point: Point) -> FloatArray:
    """Distance of each block's gradient to optimality."""
    gradient = problem.coef(point.gradient)
    violation = problem.penalty.violation(problem.coef(point.w), gradient)
    squares = violation[spec.indices] ** 2
    out: FloatArray = np.sqrt(np.add.reduceat(squares, spec.indptr[:-1].astype(np.int64)))
    return out


def row_curvature(problem: Problem, point: Point) -> FloatArray:
    """Curvature of the rows; where it is 0 a little, so that no step is without bound."""
    h = problem.loss.curvature(point.scores, problem.data.target).diagonal
    top = float(h.max(initial=0.0))
    share = problem.data.target.share
    if top == 0.0:
        return share
    return np.where((h > 0.0) | (share == 0.0), h, 1e-3 * top)
