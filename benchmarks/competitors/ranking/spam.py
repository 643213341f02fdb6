"""SPAM-L2, a stochastic proximal method for the pairwise square loss, in O(nnz) a row.

It minimises ``q L(w) + beta/2 |w|^2`` with ``q = p (1 - p)``, so ``beta = q * strength`` gives the
minimiser of ``L(w) + strength/2 |w|^2``. The step is ``1 / (beta t + safety M^2)``, M the largest
row norm; ``w = s v`` makes the shrinkage free, and ``v . m+``, ``v . m-`` are kept up to date.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from benchmarks.competitors import Fit

name = "spam-l2"


def available() -> str | None:
    """A reason why the kernels cannot be used."""
    try:
        from auctor.kernels.runtime.compiled import kernel  # noqa: F401
    except ImportError as error:
        return str(error)
    return None


def fit(
    X: sp.csr_array,
    y: np.ndarray,
    strength: float,
    passes: int = 15,
    safety: float = 4.0,
    seed: int = 0,
) -> Fit:
    """A fixed number of passes from zero, rows in a new random order each pass."""
    from benchmarks.competitors.ranking.spam_kernel import one_pass, row_statistics

    rng = np.random.default_rng(seed)
    positive = y > 0
    index, start = X.indices.view(np.uint32), X.indptr.view(np.uint32)
    share = float(positive.mean())
    mean_pos, mean_neg, largest = row_statistics(X.data, index, start, positive, X.shape[1])
    beta = share * (1.0 - share) * strength
    v, state = np.zeros(X.shape[1]), np.array([1.0, 0.0, 0.0, 0.0])
    rule = np.array([beta, safety * largest, share])
    for _ in range(passes):
        order = rng.permutation(len(y)).astype(np.uint32)
        one_pass(X.data, index, start, positive, order, mean_pos, mean_neg, rule, v, state)
    return Fit(state[0] * v, 0.0, {"passes": passes})
