"""Greedy descent through a taxonomy, row by row: only the children on the way are scored."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import fast_kernel


@fast_kernel
def descend(
    indptr: Array,
    indices: Array,
    values: Array,
    coef: FloatArray,
    intercept: FloatArray,
    top: Array,
    start: Array,
    child: Array,
    stop_below: float,
    out: Array,
) -> None:
    """The node at which every row ends; O(entries of the row) for each child on its way.

    ``top`` lists the nodes below the virtual root, ``child[start[t]:start[t + 1]]`` those below t.
    A row goes to the child with the highest score ``w_c . x + b_c``, an only child without asking,
    and stops (at -1 above the top) where the best score is below ``stop_below``.
    """
    for i in range(indptr.shape[0] - 1):
        at = -1
        while True:
            if at < 0:
                first, count = 0, top.shape[0]
            else:
                first, count = start[at], start[at + 1] - start[at]
            if count == 0:
                break
            best, where = -np.inf, -1
            for c in range(count):
                t = top[c] if at < 0 else child[first + c]
                score = 0.0
                if count > 1 or stop_below > -np.inf:
                    score = intercept[t]
                    for k in range(indptr[i], indptr[i + 1]):
                        score += values[k] * coef[t, indices[k]]
                if score > best:
                    best, where = score, t
            if best < stop_below:
                break
            at = where
        out[i] = at
