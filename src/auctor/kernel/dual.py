"""The dual of kernel machines, solved on blocks of variables.

Maximises ``target'b - b'Kb/2`` over ``low <= b <= high`` with the sum of b zero. Each round takes a
block of the variables that violate optimality most, gets their kernel rows (one matrix product for
all that are not cached), takes steps on pairs within the block, and then updates the gradient of
all variables once. This has the effect of shrinking: variables that stay at a bound enter no block,
and cost neither kernel rows nor pair steps. Their gradient is still updated, which takes 4 to 9 per
cent of the time of the fits that the suite measures, so that the final gap needs no recomputation.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernel.cache import RowCache
from auctor.kernel.spectrum import indefinite
from auctor.kernels.descent.pairs import gather, polish, solve_pairs, subtract_rows
from auctor.kernels.runtime.parallel import even_cuts, run_tasks

#: Variables of a block.
BLOCK_VARIABLES = 1024
#: Share of a block that stays in the next round.
STAYS = 0.5
#: Violation at which the work on a block ends, as a share of its first violation.
INNER = 0.1
#: Most pair steps per variable of a block.
PAIRS_EACH = 5
#: Negative eigenvalue of a block, as a share of its largest entry, that counts as indefinite.
INDEFINITE = 1e-6
#: Largest violation of a solve with the whole kernel matrix, in units of the margin.
EXACT_TOL = 1e-9
#: Rounds of pair steps and joint steps of such a solve.
EXACT_ROUNDS = 300
#: Most pair steps per variable in the first round of such a solve: they find the free variables.
PAIRS_FIRST = 20
#: Most pair steps in a later round: they release variables that the joint steps left at a bound.
PAIRS_LATER = 5


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual problem.

    Parameters
    ----------
    target, low, high : (m,) arrays
        Linear term and bounds of the variables.
    row_of : (m,) int array
        Kernel row of every variable.
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
        Variables: multipliers with the sign of their label or residual.
    intercept : float
    value : float
        Objective of the dual.
    gap : float
        Objective of the primal minus that of the dual: a bound on the distance to both optima.
    violation : float
        Largest violation of the optimality conditions, in units of the target.
    n_iter : int
        Number of pair steps.
    rows : int
        Number of kernel rows computed.
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


def best_intercept(dual: Dual, beta: FloatArray, slope: FloatArray) -> float:
    """The mean slope of the free variables, or the middle of the interval that bounds allow."""
    free = (beta > dual.low) & (beta < dual.high)
    if free.any():
        return float(slope[free].mean())
    upper, lower = extreme_slopes(dual, beta, slope)
    if not np.isfinite(upper + lower):
        return lower if np.isfinite(lower) else upper
    return 0.5 * (upper + lower)


def extreme_slopes(dual: Dual, beta: FloatArray, slope: FloatArray) -> tuple[float, float]:
    """Largest slope of variables below ``high`` and smallest slope of variables above ``low``.

    Their difference is the largest violation; it is at most 0 at the optimum.
    """
    rises, falls = slope[beta < dual.high], slope[beta > dual.low]
    return float(rises.max(initial=-np.inf)), float(falls.min(initial=np.inf))


def judge(dual: Dual, beta: FloatArray, slope: FloatArray, tol: float, work: Array) -> DualSolution:
    """The solution with objective, gap and violation; the slopes ``target - K b`` must be exact."""
    upper, lower = extreme_slopes(dual, beta, slope)
    intercept = best_intercept(dual, beta, slope)
    quadratic = float(beta @ (dual.target - slope))  # b'Kb
    linear = float(dual.target @ beta)
    # Primal objective b'Kb/2 + loss less the dual one, linear - b'Kb/2.
    residual = slope - intercept
    loss = dual.high @ np.maximum(residual, 0.0) - dual.low @ np.maximum(-residual, 0.0)
    violation = max(0.0, upper - lower)
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
    """Solve with the whole kernel matrix in memory, usually to rounding error.

    Pair steps find the free variables; linear systems then solve for all of these at once.
    """
    wide = np.ascontiguousarray(K[np.ix_(dual.row_of, dual.row_of)])
    m = dual.target.size
    beta, slope = np.zeros(m), dual.target.copy()
    steps, done, most = 0, False, PAIRS_FIRST * m
    for _ in range(max_rounds):
        steps += solve_pairs(wide, dual.low, dual.high, beta, slope, tol, most)
        most = PAIRS_LATER
        done = polish(wide, dual.target, dual.low, dual.high, beta, slope, tol)
        if done:
            break
    return judge(dual, beta, slope, tol, np.array([steps, K.shape[0]]))


def solve_blocks(cache: RowCache, dual: Dual, tol: float, max_rounds: int) -> DualSolution:
    """Solve on blocks of variables until the violation is at most ``tol``."""
    beta, slope = np.zeros(dual.target.size), dual.target.copy()
    kept, K = np.zeros(0, dtype=np.int64), np.zeros((0, 0))
    size = min(BLOCK_VARIABLES, cache.capacity, dual.target.size)
    stays = min(int(STAYS * size), size - 2)
    steps, fresh = 0, True
    for _ in range(max_rounds):
        upper, lower = extreme_slopes(dual, beta, slope)
        if upper - lower <= tol:
            if fresh:
                break
            # Updates accumulate rounding errors: compute the slopes again, and check once more.
            slope, fresh, kept = _recomputed(cache, dual, beta), True, kept[:0]
            continue
        # Kernel rows of the block, steps on its pairs, then one update of all slopes.
        block = _select(dual, beta, slope, kept, size, upper, lower)
        slots = cache.slots(dual.row_of[block])
        K = _block_matrix(cache, slots, dual.row_of[block], K, kept.size)
        inside, rates = beta[block], slope[block]
        low, high = dual.low[block], dual.high[block]
        block_tol = max(0.5 * tol, INNER * (upper - lower))
        pairs = solve_pairs(K, low, high, inside, rates, block_tol, PAIRS_EACH * block.size)
        if pairs == 0:  # no pair improves: rounding errors, or an indefinite kernel
            _check_definite(K)
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
    dual: Dual, beta: FloatArray, slope: FloatArray, kept: IntArray, size: int, upper: float,
    lower: float,
) -> IntArray:  # fmt: skip
    """The block: variables kept, and the worst violators that may rise and that may fall."""
    rises = np.where(beta < dual.high, slope, -np.inf)
    falls = np.where(beta > dual.low, -slope, -np.inf)
    rises[kept] = falls[kept] = -np.inf
    half = max(1, (size - kept.size) // 2)
    goal = []
    for rate, least in ((rises, lower), (falls, -upper)):
        best = rate.argpartition(-half)[-half:] if half < rate.size else np.arange(rate.size)
        goal.append(best[rate[best] > least])
    return np.concatenate((kept, np.union1d(*goal)))


def _block_matrix(
    cache: RowCache, slots: Array, rows: IntArray, last: FloatArray, kept: int
) -> FloatArray:
    """Kernel matrix of a block; that of the kept variables is the last corner of ``last``."""
    K = np.empty((slots.size, slots.size))
    K[:kept, :kept] = last[last.shape[0] - kept :, last.shape[0] - kept :]
    gather(cache.pool, slots, rows.astype(np.uint64), kept, K)
    return K


def _update(
    cache: RowCache, dual: Dual, slots: Array, change: FloatArray, slope: FloatArray
) -> None:
    """Subtract the change of a block from all slopes."""
    moved = np.flatnonzero(change)
    if dual.row_of.size == cache.points.size:
        _subtract(cache, slots[moved], change[moved], slope)
        return
    # Two variables per row: their slopes change by the same amount.
    fall = np.zeros(cache.points.size)
    _subtract(cache, slots[moved], change[moved], fall)
    slope += fall[dual.row_of]


def _subtract(cache: RowCache, slots: Array, change: FloatArray, slope: FloatArray) -> None:
    """Subtract ``sum_k change_k K_k`` from the slopes, in parallel over the points."""
    cuts = even_cuts(slope.size, cache.n_threads)
    tasks = [
        partial(subtract_rows, cache.pool, slots, change, start, stop, slope)
        for start, stop in pairwise(cuts)
    ]
    run_tasks(tasks, cache.n_threads)


def _recomputed(cache: RowCache, dual: Dual, beta: FloatArray) -> FloatArray:
    """The slopes ``target - K b``, computed from all support vectors."""
    slope = dual.target.copy()
    support = np.flatnonzero(beta)
    size = min(BLOCK_VARIABLES, cache.capacity)
    for first in range(0, support.size, size):
        part = support[first : first + size]
        _update(cache, dual, cache.slots(dual.row_of[part]), beta[part], slope)
    return slope


def _check_definite(K: FloatArray) -> None:
    """Raise `DataError` if the kernel of a block that cannot improve is indefinite."""
    lowest = float(np.linalg.eigvalsh(K)[0])
    if lowest < -INDEFINITE * float(np.abs(K).max()):
        raise indefinite(lowest)
