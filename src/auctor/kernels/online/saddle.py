"""Gradient descent and ascent on the saddle form of the pairwise square loss, row by row.

With p the share of positives, the loss times p(1 - p) is, up to a constant, the minimum over
(w, a, b) and the maximum over alpha of the mean over rows of::

    (1-p)(w.x - a)^2 - 2(1+alpha)(1-p) w.x - p(1-p) alpha^2      for positives
       p (w.x - b)^2 + 2(1+alpha)  p   w.x - p(1-p) alpha^2      for negatives

A learner is a ``table`` with a few entries per column and a vector ``s`` of scalars. In `solam`,
``w = SCALE table[:, 0]`` and the weighted sum of the iterates is
``SUM_SCALE table[:, 0] - table[:, 1]``. In `fsauc`, ``w = CENTRE c + SCALE table[:, 0]`` where c,
in ``table[:, 2]``, is the result of the stage before; columns 3 and 4 sum the rows of each class.
"""

from __future__ import annotations

import math

from auctor.core.types import Array, FloatArray
from auctor.kernels.online.rescaling import SMALL_SCALE
from auctor.kernels.runtime.compiled import inline_kernel, kernel

#: Positions in the vector of scalars: steps; rows, their weight, weighted squared lengths, the
#: largest length; weight of the positives.
STEPS, ROWS, TOTAL, SQUARES, LONGEST, POSITIVE = 0, 1, 2, 3, 4, 5
#: The scale, the sum of the scales in the average, their total weight, |table[:, 0]|^2.
SCALE, SUM_SCALE, MASS, LENGTH = 6, 7, 8, 9
#: a, b, alpha and the sums of their iterates.
A, B, ALPHA, SUM_A, SUM_B, SUM_ALPHA = 10, 11, 12, 13, 14, 15
#: Finished stages; steps of the current stage, their planned number, and its growth factor.
STAGE, DONE, GOAL, GROWTH = 16, 17, 18, 19
#: Centre of a stage: a, b, alpha; its coefficient and the sum of these; its squared length and its
#: product with table[:, 0].
A0, B0, ALPHA0, CENTRE, SUM_CENTRE, LENGTH0, ACROSS = 20, 21, 22, 23, 24, 25, 26
#: Largest distance of alpha from that centre.
REACH = 27
#: Length of the vector of scalars.
SCALARS = 28

#: Rows from which a single row may be reported as an outlier. Set by hand: with fewer, one row of
#: half the squared length is common.
OUTLIER_ROWS = 100


@inline_kernel
def count_row(s: FloatArray, weight: float, positive: bool, square: float) -> bool:
    """Count a row; return whether both classes have been seen, so that a step is possible."""
    s[ROWS] += 1.0
    s[TOTAL] += weight
    s[SQUARES] += weight * square
    s[LONGEST] = max(s[LONGEST], math.sqrt(square))
    if positive:
        s[POSITIVE] += weight
    return bool(0.0 < s[POSITIVE] < s[TOTAL] and s[SQUARES] > 0.0)


def dominated_by_one_row(s: FloatArray) -> bool:
    """Whether one of many rows has more than half of the total squared length.

    Steps are divided by the mean squared length, so they would be too short for all other rows.
    """
    if s[ROWS] < OUTLIER_ROWS:
        return False
    return bool(2.0 * s[LONGEST] ** 2 * s[TOTAL] / s[ROWS] > s[SQUARES])


@inline_kernel
def clip(x: float, bound: float) -> float:
    """The nearest number in [-bound, bound]."""
    return min(max(x, -bound), bound)


@inline_kernel
def slopes(
    positive: bool, p: float, score: float, a: float, b: float, alpha: float
) -> tuple[float, float, float, float]:
    """Derivatives in the score, a, b and alpha."""
    q = p * (1.0 - p)
    if positive:
        off = 2.0 * (1.0 - p) * (score - a)
        return (
            off - 2.0 * (1.0 + alpha) * (1.0 - p),
            -off,
            0.0,
            -2.0 * ((1.0 - p) * score + q * alpha),
        )
    off = 2.0 * p * (score - b)
    return off + 2.0 * (1.0 + alpha) * p, 0.0, -off, 2.0 * (p * score - q * alpha)


@kernel
def solam(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    l2: float,
    radius: float,
    rate: float,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """SOLAM: steps ``rate / sqrt(t)`` in the ball of the given radius, O(entries of the row) each.

    The steps of w are divided by the mean squared length of the rows.
    """
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        vx = square = 0.0
        for k in range(start, stop):
            x = float(values[k])
            vx += x * table[indices[k], 0]
            square += x * x
        positive = y[i] > 0.0
        if not count_row(s, weight[i], positive, square):
            continue
        # Step t: gamma_t = rate / sqrt(t), for w over the mean squared length of the rows.
        s[STEPS] += 1.0
        p = s[POSITIVE] / s[TOTAL]
        gamma = rate / math.sqrt(s[STEPS])
        length = gamma * s[TOTAL] / s[SQUARES]
        share = weight[i] * s[ROWS] / s[TOTAL]
        on_w, on_a, on_b, on_alpha = slopes(positive, p, s[SCALE] * vx, s[A], s[B], s[ALPHA])
        # Sums of the iterates, weighted by gamma, for their average.
        s[SUM_SCALE] += gamma * s[SCALE]
        s[SUM_A] += gamma * s[A]
        s[SUM_B] += gamma * s[B]
        s[SUM_ALPHA] += gamma * s[ALPHA]
        s[MASS] += gamma
        # The ridge step changes the scale alone; the gradient step changes the columns of the row.
        s[SCALE] *= max(1.0 - length * p * (1.0 - p) * l2, 0.0)
        if s[SCALE] < SMALL_SCALE:
            vx *= s[SCALE]
            unscale(table, s)
        move = -length * share * on_w / s[SCALE]
        past = s[SUM_SCALE] * move
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            table[j, 0] += move * x
            table[j, 1] += past * x
        s[LENGTH] = max(s[LENGTH] + move * (2.0 * vx + move * square), 0.0)
        # Project w on |w| <= radius; |a|, |b| <= radius kappa and |alpha| <= 2 radius kappa hold
        # for the saddle point, kappa the longest row so far.
        norm = s[SCALE] * math.sqrt(s[LENGTH])
        if norm > radius:
            s[SCALE] *= radius / norm
            if s[SCALE] < SMALL_SCALE:
                unscale(table, s)
        bound = radius * s[LONGEST]
        s[A] = clip(s[A] - gamma * share * on_a, bound)
        s[B] = clip(s[B] - gamma * share * on_b, bound)
        s[ALPHA] = clip(s[ALPHA] + gamma * share * on_alpha, 2.0 * bound)


@kernel
def unscale(table: FloatArray, s: FloatArray) -> None:
    """Multiply the scale into the columns and recompute their length."""
    s[LENGTH] = 0.0
    for j in range(table.shape[0]):
        table[j, 1] -= s[SUM_SCALE] * table[j, 0]
        table[j, 0] *= s[SCALE]
        s[LENGTH] += table[j, 0] * table[j, 0]
    s[SCALE], s[SUM_SCALE] = 1.0, 0.0


@kernel
def fsauc(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    radius: float,
    rate: float,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """FSAUC: stages of constant steps in a ball around the average of the stage before.

    Step size and radius are halved from stage to stage. A step costs O(entries of the row), the end
    of a stage O(d).
    """
    for i in range(y.shape[0]):
        if weight[i] == 0.0:
            continue
        start, stop = indptr[i], indptr[i + 1]
        positive = y[i] > 0.0
        own = 3 if positive else 4
        vx = cx = square = 0.0
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            vx += x * table[j, 0]
            cx += x * table[j, 2]
            square += x * x
            table[j, own] += weight[i] * x
        if not count_row(s, weight[i], positive, square):
            continue
        # Stage k: step rate / 2^k, ball of radius 2 sqrt(1 + 2 kappa^2) radius / 2^k around the
        # average of the stage before (Liu, Zhang, Chen, Wang, Yang, 2018, Algorithm 1).
        s[STEPS] += 1.0
        p, kappa, half = s[POSITIVE] / s[TOTAL], s[LONGEST], 0.5 ** s[STAGE]
        ball = 2.0 * math.sqrt(1.0 + 2.0 * kappa * kappa) * radius * half
        gamma = rate * half
        share = weight[i] * s[ROWS] / s[TOTAL]
        score = s[CENTRE] * cx + s[SCALE] * vx
        on_w, on_a, on_b, on_alpha = slopes(positive, p, score, s[A], s[B], s[ALPHA])
        move = -gamma * s[TOTAL] / s[SQUARES] * share * on_w / s[SCALE]
        past = s[SUM_SCALE] * move
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            table[j, 0] += move * x
            table[j, 1] += past * x
        # |table[:, 0]|^2 and its product with c after the step.
        s[LENGTH] = max(s[LENGTH] + move * (2.0 * vx + move * square), 0.0)
        s[ACROSS] += move * cx
        s[A] -= gamma * share * on_a
        s[B] -= gamma * share * on_b
        # Alternating projections on the two sets.
        for _ in range(2):
            project(s, radius, kappa, ball)
        if s[SCALE] < SMALL_SCALE:
            unscale_stage(table, s)
        # alpha in [alpha0 - D_k, alpha0 + D_k], D_k = 2 sqrt(2) kappa ball + REACH (`next_stage`).
        reach = 2.0 * math.sqrt(2.0) * kappa * ball + s[REACH]
        alpha = s[ALPHA] + gamma * share * on_alpha
        alpha = s[ALPHA0] + clip(alpha - s[ALPHA0], reach)
        s[ALPHA] = clip(alpha, 2.0 * radius * kappa)
        # Sums for the average of the stage.
        s[SUM_SCALE] += s[SCALE]
        s[SUM_CENTRE] += s[CENTRE]
        s[SUM_A] += s[A]
        s[SUM_B] += s[B]
        s[DONE] += 1.0
        if s[DONE] >= s[GOAL]:
            next_stage(table, s, radius)


@inline_kernel
def project(s: FloatArray, radius: float, kappa: float, ball: float) -> None:
    """Project on the bounds of w, a and b, then on the ball around the centre."""
    square = s[CENTRE] ** 2 * s[LENGTH0] + s[SCALE] ** 2 * s[LENGTH]
    square += 2.0 * s[CENTRE] * s[SCALE] * s[ACROSS]
    norm = math.sqrt(max(square, 0.0))
    if norm > radius:
        s[CENTRE] *= radius / norm
        s[SCALE] *= radius / norm
    s[A], s[B] = clip(s[A], radius * kappa), clip(s[B], radius * kappa)
    off = s[CENTRE] - 1.0
    square = off * off * s[LENGTH0] + s[SCALE] ** 2 * s[LENGTH]
    square += 2.0 * off * s[SCALE] * s[ACROSS]
    square = max(square, 0.0) + (s[A] - s[A0]) ** 2 + (s[B] - s[B0]) ** 2
    if square > ball * ball:
        shrink = ball / math.sqrt(square)
        s[CENTRE] = 1.0 + shrink * off
        s[SCALE] *= shrink
        s[A] = s[A0] + shrink * (s[A] - s[A0])
        s[B] = s[B0] + shrink * (s[B] - s[B0])


@kernel
def unscale_stage(table: FloatArray, s: FloatArray) -> None:
    """Multiply the scale into the columns and recompute their products."""
    unscale(table, s)
    s[ACROSS] = 0.0
    for j in range(table.shape[0]):
        s[ACROSS] += table[j, 0] * table[j, 2]


@kernel
def next_stage(table: FloatArray, s: FloatArray, radius: float) -> None:
    """Start the next stage at the average of this one."""
    n, p, kappa = s[DONE], s[POSITIVE] / s[TOTAL], s[LONGEST]
    positive, negative = s[POSITIVE], s[TOTAL] - s[POSITIVE]
    s[LENGTH0] = s[ALPHA0] = 0.0
    # The new centre, its squared length, and alpha0 = its mean score on negatives less that on
    # positives.
    for j in range(table.shape[0]):
        mean = s[SUM_CENTRE] * table[j, 2] + s[SUM_SCALE] * table[j, 0] - table[j, 1]
        mean /= n
        table[j, 2] = mean
        table[j, 0] = table[j, 1] = 0.0
        s[LENGTH0] += mean * mean
        s[ALPHA0] += mean * (table[j, 4] / negative - table[j, 3] / positive)
    s[A0] = s[A] = s[SUM_A] / n
    s[B0] = s[B] = s[SUM_B] / n
    s[ALPHA] = s[ALPHA0]
    # The part of D_k that does not depend on the ball, as in the authors' code with delta = 0.1:
    #   4 sqrt(2) kappa (2 + sqrt(2 g)) (1 + 2 kappa) radius / sqrt(min(p, 1-p) n - sqrt(2 n g)),
    # g = log(12 / delta), n the steps of the stage; without bound where the root has no value.
    log = math.log(120.0)
    few = min(p, 1.0 - p) * n - math.sqrt(2.0 * n * log)
    wide = 4.0 * math.sqrt(2.0) * kappa * (2.0 + math.sqrt(2.0 * log)) * (1.0 + 2.0 * kappa)
    s[REACH] = wide * radius / math.sqrt(few) if few > 0.0 else math.inf
    s[CENTRE], s[SCALE], s[LENGTH], s[ACROSS] = 1.0, 1.0, 0.0, 0.0
    s[SUM_CENTRE] = s[SUM_SCALE] = s[SUM_A] = s[SUM_B] = s[DONE] = 0.0
    s[STAGE] += 1.0
    s[GOAL] = math.floor(s[GOAL] * s[GROWTH])
