"""Coordinate descent on a low-rank quadratic model, O(m) per coordinate.

The model of a loss around w, over the k coordinates that may move, with ``d = u - w``::

    gradient.d + 1/2 d'H d,     H = scale (diag(base) - rows hats') + extra diag(base)

``rows`` (k, r) and ``hats`` (k, r) hold one row per coordinate, so a step reads two short
contiguous rows and the r-vector ``project = hats' d``. A diagonal H has r = 0.
"""

from __future__ import annotations

import math

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.penalties.separable import prox_one
from auctor.kernels.runtime.compiled import fast_kernel, inline_kernel, kernel

#: Order of a pass over the coordinates: from the first to the last.
CYCLIC = 0
#: Order of a pass over the coordinates: a new permutation for each pass.
SHUFFLED = 1
#: Order of a pass over the coordinates: each is drawn at random, with replacement.
IID = 2

#: State of a coordinate: optimal on a kink or bound.
PINNED = 0
#: State of a coordinate: not zero, and its gradient is smaller than its l1 strength.
SHRINKING = 1
#: State of a coordinate: its gradient is larger than its l1 strength.
GROWING = 2


@inline_kernel
def draw(state: Array, below: int) -> int:
    """A uniform integer in ``[0, below)``, below < 2^32, by xorshift64*; advances ``state``."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    high = (x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(32)  # xorshift64*
    return np.int64((high * np.uint64(below)) >> np.uint64(32))  # type: ignore[return-value]


@kernel
def shuffle(index: Array, size: int, state: Array) -> None:
    """Permute the first ``size`` entries in place (Fisher and Yates)."""
    for i in range(size - 1, 0, -1):
        j = draw(state, i + 1)
        index[i], index[j] = index[j], index[i]


@fast_kernel
def sweeps(
    w: FloatArray,
    gradient: FloatArray,
    base: FloatArray,
    diagonal: FloatArray,
    rows: FloatArray,
    hats: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    scale: float,
    extra: float,
    order: int,
    passes: int,
    tiny: float,
    state: Array,
    u: FloatArray,
    project: FloatArray,
) -> int:
    """Passes of exact coordinate minimisation of model plus penalty; return the number of steps.

    A coordinate is left out when it is optimal on a kink or bound by a margin larger than the
    largest violation of the last pass; all are checked again at the end.

    Parameters
    ----------
    w, gradient : (k,) arrays
        Weights at which the model is made, and the gradient there, of the k coordinates of the
        model.
    base, diagonal : (k,) arrays
        The diagonal part of the Hessian, and the diagonal of ``diag(base) - rows hats'``.
    rows, hats : (k, r) arrays
        The low-rank part of the Hessian.
    l1, l2, lower, upper : arrays of one entry per column
        The penalty, as in `SeparableSpec`.
    scale, extra : float
        The Hessian of the model is ``scale (diag(base) - rows hats') + extra diag(base)``.
    order : int
        CYCLIC, SHUFFLED or IID.
    passes : int
        Largest number of passes.
    tiny : float
        Ends early when no step of a pass changes the model by more than this times the largest
        change so far.
    state : (1,) uint64 array
        State of the random generator.
    u : (k,) array
        The weights after the change; updated.
    project : (r,) array
        ``hats'`` times the change; updated.
    """
    k, r = rows.shape
    index = np.arange(k).astype(np.uint64)
    active, taken, margin, largest = k, 0, math.inf, 0.0
    for _ in range(passes):
        if order == SHUFFLED:
            shuffle(index, active, state)
        change, worst, at, visits, due = 0.0, 0.0, 0, 0, active
        while visits < due and (order == IID or at < active) and active > 0:
            visits += 1
            if order == IID:
                at = draw(state, active)
            j = index[at]
            # a = H_jj, and b = (gradient + H d)_j by the projection hats' d: O(r) for both.
            a = scale * diagonal[j] + extra * base[j]
            dot = 0.0
            for q in range(r):
                dot += rows[j, q] * project[q]
            old = u[j]
            b = gradient[j] + (scale + extra) * base[j] * (old - w[j]) - scale * dot
            new = prox_one(old - b / a, 1.0 / a, l1[j], l2[j], lower[j], upper[j])
            # One-sided derivatives of model plus penalty at the old value.
            right = b + l2[j] * old + (l1[j] if old >= 0.0 else -l1[j])
            left = b + l2[j] * old + (l1[j] if old > 0.0 else -l1[j])
            z = new - old
            if z == 0.0:
                # Optimal by more than the margin on both sides: leave it out until the end.
                rests_below = old <= lower[j] or left < -margin
                if rests_below and (old >= upper[j] or right > margin):
                    active -= 1
                    index[at], index[active] = index[active], index[at]
                    continue
            else:
                u[j] = new
                for q in range(r):  # hats' d <- hats' d + z hats_j
                    project[q] += z * hats[j, q]
                change = max(change, a * z * z)
                worst = max(worst, -right if old < upper[j] else 0.0)
                worst = max(worst, left if old > lower[j] else 0.0)
            at += 1
        # Converged on the active coordinates: stop if these are all, else check all once more.
        taken += visits
        margin = worst
        largest = max(largest, change)
        if not change > tiny * largest:
            if active == k:
                break
            active, margin = k, math.inf
    return taken


@fast_kernel
def model_change(
    w: FloatArray,
    u: FloatArray,
    gradient: FloatArray,
    base: FloatArray,
    rows: FloatArray,
    project: FloatArray,
    scale: float,
    extra: float,
) -> tuple[float, float]:
    """The linear and the quadratic part of the model at u."""
    k, r = rows.shape
    linear, curve = 0.0, 0.0
    pulled = np.zeros(r)
    for j in range(k):
        d = u[j] - w[j]
        if d != 0.0:
            linear += gradient[j] * d
            curve += (scale + extra) * base[j] * d * d
            for q in range(r):
                pulled[q] += rows[j, q] * d
    for q in range(r):
        curve -= scale * pulled[q] * project[q]
    return linear, 0.5 * curve


@kernel
def gather(
    steps: FloatArray,
    changes: FloatArray,
    slots: Array,
    index: Array,
    base: FloatArray,
    out: FloatArray,
) -> None:
    """``out[i] = [base_i steps[slots, index_i], changes[slots, index_i]]``: the rows of G."""
    m = slots.shape[0]
    for q in range(m):
        slot = slots[q]
        for i in range(index.shape[0]):
            out[i, q] = base[i] * steps[slot, index[i]]
            out[i, m + q] = changes[slot, index[i]]


@kernel
def row_dots(a: FloatArray, b: FloatArray, out: FloatArray) -> None:
    """Subtract the low-rank part from a diagonal: ``out[i] -= a[i] . b[i]``."""
    for i in range(a.shape[0]):
        total = 0.0
        for q in range(a.shape[1]):
            total += a[i, q] * b[i, q]
        out[i] -= total


@kernel
def classify(
    w: FloatArray,
    gradient: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    steepest: FloatArray,
    kind: Array,
) -> None:
    """The minimum-norm subgradient of loss plus penalty, and the state of every coordinate."""
    for j in range(w.shape[0]):
        x = w[j]
        base = gradient[j] + l2[j] * x
        # One-sided derivatives; the subgradient is 0 where they have opposite signs.
        right = base + (l1[j] if x >= 0.0 else -l1[j])
        left = base + (l1[j] if x > 0.0 else -l1[j])
        pull = 0.0
        if right < 0.0 and x < upper[j]:
            pull = right
        elif left > 0.0 and x > lower[j]:
            pull = left
        steepest[j] = pull
        inside = lower[j] < x < upper[j]
        if pull == 0.0 and lower[j] <= x <= upper[j] and not (inside and (x != 0.0 or l1[j] == 0)):
            kind[j] = PINNED
        elif inside and x != 0.0 and abs(base) < l1[j]:
            kind[j] = SHRINKING
        else:
            kind[j] = GROWING
