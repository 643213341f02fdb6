"""The log-loss of several classes at once."""

from __future__ import annotations

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernels.runtime.compiled import kernel

#: Difference of mean probabilities and class shares that counts as zero: rounding of a mean.
BALANCED = 1e-15
#: Changes of the loss below this share of it are rounding error: a few times machine epsilon.
LOSS_ROUNDING = 1e-15
#: Newton steps of offsets up to this size, in score units, are the last.
EXACT = 1e-10
#: Largest change of offsets for which new probabilities are computed from old ones.
TILTED = 200.0
#: Mean scores of classes, in score units, from which Newton's method starts at centred scores.
FAR = 5.0
#: Pivots below this are rounding error of a Hessian with entries of at most 1; they are skipped.
FLAT = 1e-14


@kernel
def log_loss(
    scores: FloatArray, y: FloatArray, share: FloatArray, offset: FloatArray, p: FloatArray
) -> float:
    """``sum_i share_i (log sum_k exp z_ik - z_i,own)`` with ``z = scores + offset``.

    ``scores`` and ``y`` are (n, K); y is positive for the own class of a row. The probabilities
    ``exp z_ik / sum exp z_i`` are written to ``p``.
    """
    n, classes = scores.shape
    total = 0.0
    for i in range(n):
        # Subtract the largest z: no overflow. A NaN is passed on.
        top = -np.inf
        own = 0.0
        for k in range(classes):
            z = scores[i, k] + offset[k]
            p[i, k] = z
            if z > top or z != z:
                top = z
            if y[i, k] > 0.0:
                own = z
        mass = 0.0
        for k in range(classes):
            p[i, k] = np.exp(p[i, k] - top)
            mass += p[i, k]
        for k in range(classes):
            p[i, k] /= mass
        if share[i] > 0.0 or own != own:
            total += share[i] * (np.log(mass) + (top - own))
    return total


@kernel
def tilted_loss(
    base: FloatArray, y: FloatArray, share: FloatArray, offset: FloatArray, p: FloatArray
) -> float:
    """Change of `log_loss` by offsets, from the probabilities ``base`` without them.

    No exponentials of scores are needed: ``p_ik = base_ik exp(offset_k) / sum_k base_ik
    exp(offset_k)`` is written to ``p``.
    """
    n, classes = base.shape
    factor = np.exp(offset)
    total = 0.0
    for i in range(n):
        mass, own = 0.0, 0.0
        for k in range(classes):
            p[i, k] = base[i, k] * factor[k]
            mass += p[i, k]
            if y[i, k] > 0.0:
                own = offset[k]
        for k in range(classes):
            p[i, k] /= mass
        total += share[i] * (np.log(mass) - own)
    return total


@kernel
def offset_derivatives(
    p: FloatArray, y: FloatArray, share: FloatArray, hessian: FloatArray, miss: FloatArray
) -> float:
    """Gradient ``miss`` and Hessian of the loss in the offsets; return the largest |gradient|.

    A common offset does not change the loss, so 1/K is added to all entries of the Hessian, which
    makes it regular in that direction.
    """
    n, classes = p.shape
    miss[:] = 0.0
    hessian[:] = 1.0 / classes
    for i in range(n):
        for k in range(classes):
            miss[k] += share[i] * (p[i, k] - (1.0 if y[i, k] > 0.0 else 0.0))
            hessian[k, k] += share[i] * p[i, k]
            for j in range(k + 1):
                hessian[k, j] -= share[i] * p[i, k] * p[i, j]
    return float(np.abs(miss).max())


@kernel
def newton_step(hessian: FloatArray, miss: FloatArray, step: FloatArray) -> None:
    """``-hessian^-1 miss`` by ``L D L^T`` in place, from the lower half, with a mean of 0.

    Directions without curvature, where probabilities round to 0 and 1, get no step.
    """
    size = miss.size
    for k in range(size):
        for j in range(k):
            entry = hessian[k, j]
            for a in range(j):
                entry -= hessian[k, a] * hessian[a, a] * hessian[j, a]
            hessian[k, j] = entry / hessian[j, j] if hessian[j, j] > FLAT else 0.0
            hessian[k, k] -= hessian[k, j] ** 2 * hessian[j, j]
    for k in range(size):
        step[k] = -miss[k]
        for j in range(k):
            step[k] -= hessian[k, j] * step[j]
    for k in range(size - 1, -1, -1):
        step[k] = step[k] / hessian[k, k] if hessian[k, k] > FLAT else 0.0
        for j in range(k + 1, size):
            step[k] -= hessian[j, k] * step[j]
    step -= step.mean()


@kernel
def fit_offsets(
    scores: FloatArray,
    y: FloatArray,
    share: FloatArray,
    offset: FloatArray,
    p: FloatArray,
    most_steps: int,
    most_halvings: int,
) -> float:
    """Minimise `log_loss` over the offsets, which are written to ``offset``; return the minimum.

    Newton's method damped by halving, from offsets of 0, or from those that centre the scores.
    """
    classes = scores.shape[1]
    hessian, miss = np.empty((classes, classes)), np.empty(classes)
    step, trial = np.empty(classes), np.empty(classes)
    offset[:] = 0.0
    for i in range(scores.shape[0]):
        offset -= share[i] * scores[i]
    offset -= offset.mean()
    if not FAR < np.abs(offset).max() < np.inf:
        offset[:] = 0.0
    start = offset.copy()
    plain = log_loss(scores, y, share, offset, p)
    if not np.isfinite(plain):
        return plain
    base, best = p.copy(), plain
    # Newton's method, offset <- offset - H^-1 miss with miss_k = sum_i share_i (p_ik - y_ik) and
    # H_kl = sum_i share_i p_ik (1[k = l] - p_il). Steps are halved while they increase the loss.
    for _ in range(most_steps):
        if offset_derivatives(p, y, share, hessian, miss) <= BALANCED:
            return best
        newton_step(hessian, miss, step)
        slack = LOSS_ROUNDING * max(abs(best), 1.0)
        ahead = np.inf
        for _ in range(most_halvings):
            trial[:] = offset + step
            if np.abs(trial - start).max() <= TILTED:
                ahead = plain + tilted_loss(base, y, share, trial - start, p)
            else:
                ahead = log_loss(scores, y, share, trial, p)
            if ahead <= best + slack:
                break
            step *= 0.5
        if not ahead <= best + slack:  # no step lowers the loss
            return log_loss(scores, y, share, offset, p)
        best = ahead
        offset[:] = trial
        if np.abs(step).max() <= EXACT:
            break
    return best


@kernel
def to_slopes(p: FloatArray, y: FloatArray, share: FloatArray) -> None:
    """Replace the probabilities by the gradient of `log_loss` in the scores."""
    n, classes = p.shape
    for i in range(n):
        for k in range(classes):
            p[i, k] = share[i] * (p[i, k] - (1.0 if y[i, k] > 0.0 else 0.0))


@kernel
def negative_entropy(q: FloatArray, share: FloatArray) -> tuple[float, float]:
    """``sum_ik share_i q_ik log q_ik``, and the lowest q; those below 0 count as 0."""
    total, low = 0.0, 0.0
    n, classes = q.shape
    for i in range(n):
        for k in range(classes):
            if q[i, k] > 0.0:
                total += share[i] * q[i, k] * np.log(q[i, k])
            elif share[i] > 0.0:
                low = min(low, q[i, k])
    return total, low
