"""The dual of kernel machines, solved on blocks of variables.

Maximises ``target'b - b'Kb/2`` over ``low <= b <= high`` with the sum of b zero. Each round takes a
block of the variables that violate optimality most, gets their kernel rows (one matrix product for
all that are not cached), changes pairs within the block, and then updates the slopes of all others
once. This is how it shrinks: variables that stay at a bound enter no block, and cost neither kernel
rows nor pairs. Their slopes are kept up to date all the same, which makes the gap at the end honest
without rebuilding them, and takes 4 to 9 per cent of the time of the fits that the suite measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernel_machine.cache import RowCache
from auctor.kernels.descent.pairs import gather, polish, solve_pairs, subtract_rows
from auctor.kernels.runtime.parallel import even_cuts, run_tasks

#: Variables of a block: large enough that kernel rows come from large products, small enough that
#: their own matrix stays in the cache. Sizes around it in benchmarks/results/classical.json.
BLOCK = 1024
#: Share of a block that stays from one round to the next, so that pairs across rounds can meet.
STAYS = 0.5
#: Violation at which a block is left, as a share of the violation it began with: exact solutions of
#: early blocks are wasted.
INNER = 0.1
#: Pairs changed in a block for each of its variables, at most.
PAIRS_EACH = 5
#: Eigenvalue of a kernel matrix, as a share of its largest entry, that counts as negative.
INDEFINITE = 1e-6


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual problem: ``row_of`` says which kernel row each variable has.

    Parameters
    ----------
    target, low, high : (m,) arrays
    row_of : (m,) int array
    """

    target: FloatArray
    low: FloatArray
    high: FloatArray
    row_of: IntArray


@dataclass(frozen=True, eq=False)
class DualSolution:
    """A solution of the dual.

    Attributes
    ----------
    beta : (m,) array
        Variables: multipliers with the sign of their side.
    intercept : float
    value : float
        Objective of the dual.
    gap : float
        Objective of the primal minus that of the dual: a bound on the distance to both optima.
    violation : float
        What is left of the conditions of optimality, in units of the target.
    n_iter : int
        Pairs changed.
    rows : int
        Kernel rows computed.
    converged : bool
    """

    beta: FloatArray
    intercept: float
    value: float
    gap: float
    violation: float
    n_iter: int
    rows: int
    converged: bool


def level(dual: Dual, beta: FloatArray, slope: FloatArray) -> float:
    """The intercept: the mean slope of free variables, or the middle of what bounds allow."""
    free = (beta > dual.low) & (beta < dual.high)
    if free.any():
        return float(slope[free].mean())
    top, bottom = edges(dual, beta, slope)
    if not np.isfinite(top + bottom):
        return bottom if np.isfinite(bottom) else top
    return 0.5 * (top + bottom)


def edges(dual: Dual, beta: FloatArray, slope: FloatArray) -> tuple[float, float]:
    """The largest slope that may rise and the smallest that may fall; ordered at the optimum."""
    rises, falls = slope[beta < dual.high], slope[beta > dual.low]
    return float(rises.max(initial=-np.inf)), float(falls.min(initial=np.inf))


def judge(dual: Dual, beta: FloatArray, slope: FloatArray, tol: float, work: Array) -> DualSolution:
    """Everything that can be said of a point, from fresh slopes."""
    top, bottom = edges(dual, beta, slope)
    intercept = level(dual, beta, slope)
    quadratic = float(beta @ (dual.target - slope))
    linear = float(dual.target @ beta)
    above = slope - intercept
    loss = dual.high @ np.maximum(above, 0.0) - dual.low @ np.maximum(-above, 0.0)
    violation = max(0.0, top - bottom)
    return DualSolution(
        beta=beta,
        intercept=intercept,
        value=linear - 0.5 * quadratic,
        gap=max(0.0, float(loss) + quadratic - linear),
        violation=violation,
        n_iter=int(work[0]),
        rows=int(work[1]),
        converged=violation <= tol,
    )


def solve_matrix(K: FloatArray, dual: Dual, tol: float, max_rounds: int) -> DualSolution:
    """Solve with the whole kernel matrix in memory, to rounding where the free variables allow.

    Pairs first; then, as soon as they have found which variables are free, all of these at once.
    """
    wide = np.ascontiguousarray(K[np.ix_(dual.row_of, dual.row_of)])
    m = dual.target.size
    beta, slope = np.zeros(m), dual.target.copy()
    steps, done = 0, False
    for _ in range(max_rounds):
        steps += solve_pairs(wide, dual.low, dual.high, beta, slope, tol, 20 * m)
        done = polish(wide, dual.target, dual.low, dual.high, beta, slope, tol)
        if done:
            break
    return judge(dual, beta, slope, tol, np.array([steps, K.shape[0]]))


def solve_blocks(
    cache: RowCache, dual: Dual, tol: float, max_rounds: int, who: str
) -> DualSolution:
    """Solve on blocks of variables until the violation is at most ``tol``."""
    beta, slope = np.zeros(dual.target.size), dual.target.copy()
    kept, K = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
    size = min(BLOCK, cache.room, dual.target.size)
    stays = min(int(STAYS * size), size - 2)
    steps, fresh = 0, True
    for _ in range(max_rounds):
        top, bottom = edges(dual, beta, slope)
        if top - bottom <= tol:
            if fresh:
                break
            # Sums of many updates are worth a second look with the same rows.
            slope, fresh, kept = _recomputed(cache, dual, beta), True, kept[:0]
            continue
        block = _select(dual, beta, slope, kept, size, top, bottom)
        slots = cache.slots(dual.row_of[block])
        K = _block_matrix(cache, slots, dual.row_of[block], K, kept.size)
        inside, rates = beta[block], slope[block]
        low, high = dual.low[block], dual.high[block]
        goal = max(0.5 * tol, INNER * (top - bottom))
        pairs = solve_pairs(K, low, high, inside, rates, goal, PAIRS_EACH * block.size)
        if pairs == 0:  # no pair gains anything: rounding, or no kernel
            _check_definite(K, who)
            break
        steps += pairs
        change = inside - beta[block]
        beta[block] = inside
        _update(cache, dual, slots, change, slope)
        fresh = False
        kept = block[max(0, block.size - stays) :]
    if not fresh:
        slope = _recomputed(cache, dual, beta)
    return judge(dual, beta, slope, tol, np.array([steps, cache.computed]))


def _select(
    dual: Dual, beta: FloatArray, slope: FloatArray, kept: IntArray, size: int, top: float,
    bottom: float,
) -> IntArray:  # fmt: skip
    """The variables kept, and as many that may rise as may fall, the worst violators of each."""
    rises = np.where(beta < dual.high, slope, -np.inf)
    falls = np.where(beta > dual.low, -slope, -np.inf)
    rises[kept] = falls[kept] = -np.inf
    half = max(1, (size - kept.size) // 2)
    chosen = []
    for rate, least in ((rises, bottom), (falls, -top)):
        best = rate.argpartition(-half)[-half:] if half < rate.size else np.arange(rate.size)
        chosen.append(best[rate[best] > least])
    return np.concatenate((kept, np.union1d(*chosen)))


def _block_matrix(
    cache: RowCache, slots: Array, rows: IntArray, last: FloatArray, kept: int
) -> FloatArray:
    """The kernel within a block; what was kept of the last one is its last corner."""
    K = np.empty((slots.size, slots.size))
    K[:kept, :kept] = last[last.shape[0] - kept :, last.shape[0] - kept :]
    gather(cache.pool, slots, rows.astype(np.uint64), kept, K)
    return K


def _update(
    cache: RowCache, dual: Dual, slots: Array, change: FloatArray, slope: FloatArray
) -> None:
    """Take the change of a block off all slopes."""
    moved = np.flatnonzero(change)
    if dual.row_of.size == cache.points.size:
        _subtract(cache, slots[moved], change[moved], slope)
        return
    # Two variables for each row: their slopes fall by the same amount.
    fall = np.zeros(cache.points.size)
    _subtract(cache, slots[moved], change[moved], fall)
    slope += fall[dual.row_of]


def _subtract(cache: RowCache, slots: Array, change: FloatArray, slope: FloatArray) -> None:
    cuts = even_cuts(slope.size, cache.n_threads)
    tasks = [
        partial(subtract_rows, cache.pool, slots, change, start, stop, slope)
        for start, stop in pairwise(cuts)
    ]
    run_tasks(tasks, cache.n_threads)


def _recomputed(cache: RowCache, dual: Dual, beta: FloatArray) -> FloatArray:
    """Slopes from scratch."""
    slope = dual.target.copy()
    support = np.flatnonzero(beta)
    size = min(BLOCK, cache.room)
    for first in range(0, support.size, size):
        part = support[first : first + size]
        _update(cache, dual, cache.slots(dual.row_of[part]), beta[part], slope)
    return slope


def _check_definite(K: FloatArray, who: str) -> None:
    """A block that cannot move although it violates: say so where the kernel is indefinite."""
    lowest = float(np.linalg.eigvalsh(K)[0])
    if lowest < -INDEFINITE * float(np.abs(K).max()):
        raise indefinite(who, lowest)


def indefinite(who: str, lowest: float) -> DataError:
    """What is said of a kernel with a negative eigenvalue."""
    return DataError(
        who,
        needs="a positive semi-definite kernel",
        got=f"the eigenvalue {lowest:.6g}",
        todo="Use another kernel function, or add its size to the diagonal of the matrix.",
    )
