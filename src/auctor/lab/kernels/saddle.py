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
from enum import IntEnum

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import inline_kernel, kernel
from auctor.kernels.streaming.rescaling import SMALL_SCALE


class Saddle(IntEnum):
    """Positions in the vector ``s`` of scalars, here and in the state of a learner."""

    #: Steps so far.
    STEPS = 0
    #: Rows so far.
    ROWS = 1
    #: Weight of the rows so far.
    TOTAL = 2
    #: Sum of the weighted squared lengths of the rows.
    SQUARES = 3
    #: Largest length of a row so far.
    LONGEST = 4
    #: Weight of the positive rows so far.
    POSITIVE = 5
    #: Factor of ``table[:, 0]`` in w.
    SCALE = 6
    #: Factor of ``table[:, 0]`` in the sum of the iterates.
    SUM_SCALE = 7
    #: Total weight of the averaged iterates.
    MASS = 8
    #: Squared length of ``table[:, 0]``.
    LENGTH = 9
    #: Primal variable of the positive scores.
    A = 10
    #: Primal variable of the negative scores.
    B = 11
    #: Dual variable.
    ALPHA = 12
    #: Weighted sum of the iterates of A.
    SUM_A = 13
    #: Weighted sum of the iterates of B.
    SUM_B = 14
    #: Weighted sum of the iterates of ALPHA.
    SUM_ALPHA = 15
    #: Finished stages (this slot and those below are used by `fsauc` alone).
    STAGE = 16
    #: Steps done in the current stage.
    DONE = 17
    #: Planned number of steps of the current stage.
    GOAL = 18
    #: Factor by which GOAL grows from stage to stage.
    GROWTH = 19
    #: Value of A at the centre of the stage.
    A0 = 20
    #: Value of B at the centre of the stage.
    B0 = 21
    #: Value of ALPHA at the centre of the stage.
    ALPHA0 = 22
    #: Factor of the centre c of the stage in w.
    CENTRE = 23
    #: Sum of the factors CENTRE over the steps of the stage.
    SUM_CENTRE = 24
    #: Squared length of the centre c.
    LENGTH0 = 25
    #: Product of the centre c with ``table[:, 0]``.
    ACROSS = 26
    #: Largest distance of alpha from ALPHA0, the centre of the stage.
    REACH = 27
    #: Constant beta of the theoretical step of the stage, 0 in the first.
    BETA = 28


#: Probability delta with which the bound on alpha of a stage may fail.
ALPHA_RISK = 0.1
#: Rows from which a single row may be reported as an outlier.
OUTLIER_ROWS = 100


@inline_kernel
def count_row(s: FloatArray, weight: float, positive: bool, square: float) -> bool:
    """Count a row; return whether both classes have been seen, so that a step is possible."""
    s[Saddle.ROWS] += 1.0
    s[Saddle.TOTAL] += weight
    s[Saddle.SQUARES] += weight * square
    s[Saddle.LONGEST] = max(s[Saddle.LONGEST], math.sqrt(square))
    if positive:
        s[Saddle.POSITIVE] += weight
    return bool(0.0 < s[Saddle.POSITIVE] < s[Saddle.TOTAL] and s[Saddle.SQUARES] > 0.0)


def dominated_by_one_row(s: FloatArray) -> bool:
    """Whether one of many rows has more than half of the total squared length.

    Steps are divided by the mean squared length, so they would be too short for all other rows.
    """
    if s[Saddle.ROWS] < OUTLIER_ROWS:
        return False
    return bool(2.0 * s[Saddle.LONGEST] ** 2 * s[Saddle.TOTAL] / s[Saddle.ROWS] > s[Saddle.SQUARES])


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
    power: float,
    rate: float,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """SOLAM: steps ``rate / t ** power`` in the ball of the given radius.

    The steps of w are divided by the mean squared length of the rows. O(entries of the row) each.
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
        # Step t: gamma_t = rate / t ** power, for w over the mean squared length of the rows.
        s[Saddle.STEPS] += 1.0
        p = s[Saddle.POSITIVE] / s[Saddle.TOTAL]
        gamma = rate / s[Saddle.STEPS] ** power
        length = gamma * s[Saddle.TOTAL] / s[Saddle.SQUARES]
        share = weight[i] * s[Saddle.ROWS] / s[Saddle.TOTAL]
        on_w, on_a, on_b, on_alpha = slopes(
            positive, p, s[Saddle.SCALE] * vx, s[Saddle.A], s[Saddle.B], s[Saddle.ALPHA]
        )
        # Sums of the iterates, weighted by gamma, for their average.
        s[Saddle.SUM_SCALE] += gamma * s[Saddle.SCALE]
        s[Saddle.SUM_A] += gamma * s[Saddle.A]
        s[Saddle.SUM_B] += gamma * s[Saddle.B]
        s[Saddle.SUM_ALPHA] += gamma * s[Saddle.ALPHA]
        s[Saddle.MASS] += gamma
        # The ridge step changes the scale alone; the gradient step changes the columns of the row.
        s[Saddle.SCALE] *= max(1.0 - length * p * (1.0 - p) * l2, 0.0)
        if s[Saddle.SCALE] < SMALL_SCALE:
            vx *= s[Saddle.SCALE]
            unscale(table, s)
        move = -length * share * on_w / s[Saddle.SCALE]
        past = s[Saddle.SUM_SCALE] * move
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            table[j, 0] += move * x
            table[j, 1] += past * x
        s[Saddle.LENGTH] = max(s[Saddle.LENGTH] + move * (2.0 * vx + move * square), 0.0)
        # Project w on |w| <= radius; |a|, |b| <= radius kappa and |alpha| <= 2 radius kappa hold
        # for the saddle point, kappa the longest row so far.
        norm = s[Saddle.SCALE] * math.sqrt(s[Saddle.LENGTH])
        if norm > radius:
            s[Saddle.SCALE] *= radius / norm
            if s[Saddle.SCALE] < SMALL_SCALE:
                unscale(table, s)
        bound = radius * s[Saddle.LONGEST]
        s[Saddle.A] = clip(s[Saddle.A] - gamma * share * on_a, bound)
        s[Saddle.B] = clip(s[Saddle.B] - gamma * share * on_b, bound)
        s[Saddle.ALPHA] = clip(s[Saddle.ALPHA] + gamma * share * on_alpha, 2.0 * bound)


@kernel
def unscale(table: FloatArray, s: FloatArray) -> None:
    """Multiply the scale into the columns and recompute their length."""
    s[Saddle.LENGTH] = 0.0
    for j in range(table.shape[0]):
        table[j, 1] -= s[Saddle.SUM_SCALE] * table[j, 0]
        table[j, 0] *= s[Saddle.SCALE]
        s[Saddle.LENGTH] += table[j, 0] * table[j, 0]
    s[Saddle.SCALE], s[Saddle.SUM_SCALE] = 1.0, 0.0


@kernel
def fsauc(
    indptr: Array,
    indices: Array,
    values: Array,
    y: FloatArray,
    weight: FloatArray,
    radius: float,
    rate: float,
    theory: bool,
    l1: bool,
    table: FloatArray,
    s: FloatArray,
) -> None:
    """FSAUC: stages of constant steps in a ball around the average of the stage before.

    Step size and radius are halved from stage to stage; ``theory`` takes the published step size,
    ``l1`` bounds the sum of the absolute weights by ``radius``. A step costs O(entries of the row),
    with ``l1`` O(d), the end of a stage O(d).
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
        s[Saddle.STEPS] += 1.0
        p, kappa = s[Saddle.POSITIVE] / s[Saddle.TOTAL], s[Saddle.LONGEST]
        half = 0.5 ** s[Saddle.STAGE]
        ball = 2.0 * math.sqrt(1.0 + 2.0 * kappa * kappa) * radius * half
        gamma = rate * half
        length = gamma * s[Saddle.TOTAL] / s[Saddle.SQUARES]
        if theory:
            length = gamma = rate * theoretical_step(s, radius, kappa, ball)
        share = weight[i] * s[Saddle.ROWS] / s[Saddle.TOTAL]
        score = s[Saddle.CENTRE] * cx + s[Saddle.SCALE] * vx
        on_w, on_a, on_b, on_alpha = slopes(
            positive, p, score, s[Saddle.A], s[Saddle.B], s[Saddle.ALPHA]
        )
        move = -length * share * on_w / s[Saddle.SCALE]
        past = s[Saddle.SUM_SCALE] * move
        for k in range(start, stop):
            j, x = indices[k], float(values[k])
            table[j, 0] += move * x
            table[j, 1] += past * x
        # |table[:, 0]|^2 and its product with c after the step.
        s[Saddle.LENGTH] = max(s[Saddle.LENGTH] + move * (2.0 * vx + move * square), 0.0)
        s[Saddle.ACROSS] += move * cx
        s[Saddle.A] -= gamma * share * on_a
        s[Saddle.B] -= gamma * share * on_b
        # Alternating projections on the two sets.
        for _ in range(2):
            if l1:
                project_l1(table, s, radius, kappa, ball)
            else:
                project(s, radius, kappa, ball)
        if s[Saddle.SCALE] < SMALL_SCALE:
            unscale_stage(table, s)
        # alpha in [alpha0 - D_k, alpha0 + D_k], D_k = 2 sqrt(2) kappa ball + REACH (`next_stage`).
        reach = 2.0 * math.sqrt(2.0) * kappa * ball + s[Saddle.REACH]
        alpha = s[Saddle.ALPHA] + gamma * share * on_alpha
        alpha = s[Saddle.ALPHA0] + clip(alpha - s[Saddle.ALPHA0], reach)
        s[Saddle.ALPHA] = clip(alpha, 2.0 * radius * kappa)
        # Sums for the average of the stage.
        s[Saddle.SUM_SCALE] += s[Saddle.SCALE]
        s[Saddle.SUM_CENTRE] += s[Saddle.CENTRE]
        s[Saddle.SUM_A] += s[Saddle.A]
        s[Saddle.SUM_B] += s[Saddle.B]
        s[Saddle.DONE] += 1.0
        if s[Saddle.DONE] >= s[Saddle.GOAL]:
            next_stage(table, s, radius)


@inline_kernel
def project(s: FloatArray, radius: float, kappa: float, ball: float) -> None:
    """Project on the bounds of w, a and b, then on the ball around the centre."""
    square = s[Saddle.CENTRE] ** 2 * s[Saddle.LENGTH0] + s[Saddle.SCALE] ** 2 * s[Saddle.LENGTH]
    square += 2.0 * s[Saddle.CENTRE] * s[Saddle.SCALE] * s[Saddle.ACROSS]
    norm = math.sqrt(max(square, 0.0))
    if norm > radius:
        s[Saddle.CENTRE] *= radius / norm
        s[Saddle.SCALE] *= radius / norm
    s[Saddle.A], s[Saddle.B] = clip(s[Saddle.A], radius * kappa), clip(s[Saddle.B], radius * kappa)
    off = s[Saddle.CENTRE] - 1.0
    square = off * off * s[Saddle.LENGTH0] + s[Saddle.SCALE] ** 2 * s[Saddle.LENGTH]
    square += 2.0 * off * s[Saddle.SCALE] * s[Saddle.ACROSS]
    square = max(square, 0.0) + (s[Saddle.A] - s[Saddle.A0]) ** 2
    square += (s[Saddle.B] - s[Saddle.B0]) ** 2
    if square > ball * ball:
        shrink = ball / math.sqrt(square)
        s[Saddle.CENTRE] = 1.0 + shrink * off
        s[Saddle.SCALE] *= shrink
        s[Saddle.A] = s[Saddle.A0] + shrink * (s[Saddle.A] - s[Saddle.A0])
        s[Saddle.B] = s[Saddle.B0] + shrink * (s[Saddle.B] - s[Saddle.B0])


@inline_kernel
def theoretical_step(s: FloatArray, radius: float, kappa: float, ball: float) -> float:
    """``sqrt(beta) ball / (G sqrt(2 n))`` for n steps in the stage (Algorithm 11)."""
    bound = max(
        (1.0 + 4.0 * kappa) * kappa * (radius + 1.0),
        2.0 * kappa * (2.0 * radius + 1.0 + 2.0 * radius * kappa),
        2.0 * kappa * (4.0 * kappa * radius + 11.0 * radius + 1.0),
    )  # G
    beta = s[Saddle.BETA] if s[Saddle.BETA] > 0.0 else 1.0 + 8.0 * kappa * kappa
    return float(math.sqrt(beta) * ball / (bound * math.sqrt(2.0 * s[Saddle.GOAL])))


@kernel
def l1_level(table: FloatArray, radius: float) -> float:
    """The number by which the entries of ``w = c + table[:, 0]`` shrink to ``|w|_1 = radius``.

    Michelot's iteration: the mean excess of the entries above the level of the last time.
    """
    level = -1.0
    while True:
        total, count = -radius, 0
        for j in range(table.shape[0]):
            size = abs(table[j, 2] + table[j, 0])
            if size > level:
                total += size
                count += 1
        if count == 0 or total / count <= level:
            return max(level, 0.0)
        level = total / count


@kernel
def project_l1(table: FloatArray, s: FloatArray, radius: float, kappa: float, ball: float) -> None:
    """`project` with the bound on ``|w|_1``; both scales stay 1."""
    norm = 0.0
    for j in range(table.shape[0]):
        norm += abs(table[j, 2] + table[j, 0])
    level = l1_level(table, radius) if norm > radius else 0.0
    s[Saddle.A], s[Saddle.B] = clip(s[Saddle.A], radius * kappa), clip(s[Saddle.B], radius * kappa)
    square = (s[Saddle.A] - s[Saddle.A0]) ** 2 + (s[Saddle.B] - s[Saddle.B0]) ** 2
    for j in range(table.shape[0]):
        w = table[j, 2] + table[j, 0]
        shorter = w - min(max(w, -level), level)
        v = shorter - table[j, 2] if level > 0.0 else table[j, 0]
        table[j, 1] += s[Saddle.SUM_SCALE] * (v - table[j, 0])
        table[j, 0] = v
        square += v * v
    if square > ball * ball:
        shrink = ball / math.sqrt(square)
        for j in range(table.shape[0]):
            table[j, 1] -= s[Saddle.SUM_SCALE] * (1.0 - shrink) * table[j, 0]
            table[j, 0] *= shrink
        s[Saddle.A] = s[Saddle.A0] + shrink * (s[Saddle.A] - s[Saddle.A0])
        s[Saddle.B] = s[Saddle.B0] + shrink * (s[Saddle.B] - s[Saddle.B0])


@kernel
def unscale_stage(table: FloatArray, s: FloatArray) -> None:
    """Multiply the scale into the columns and recompute their products."""
    unscale(table, s)
    s[Saddle.ACROSS] = 0.0
    for j in range(table.shape[0]):
        s[Saddle.ACROSS] += table[j, 0] * table[j, 2]


@kernel
def next_stage(table: FloatArray, s: FloatArray, radius: float) -> None:
    """Start the next stage at the average of this one."""
    n, p, kappa = s[Saddle.DONE], s[Saddle.POSITIVE] / s[Saddle.TOTAL], s[Saddle.LONGEST]
    positive, negative = s[Saddle.POSITIVE], s[Saddle.TOTAL] - s[Saddle.POSITIVE]
    s[Saddle.LENGTH0] = s[Saddle.ALPHA0] = 0.0
    # The new centre, its squared length, and alpha0 = its mean score on negatives less that on
    # positives.
    for j in range(table.shape[0]):
        mean = s[Saddle.SUM_CENTRE] * table[j, 2] + s[Saddle.SUM_SCALE] * table[j, 0] - table[j, 1]
        mean /= n
        table[j, 2] = mean
        table[j, 0] = table[j, 1] = 0.0
        s[Saddle.LENGTH0] += mean * mean
        s[Saddle.ALPHA0] += mean * (table[j, 4] / negative - table[j, 3] / positive)
    s[Saddle.A0] = s[Saddle.A] = s[Saddle.SUM_A] / n
    s[Saddle.B0] = s[Saddle.B] = s[Saddle.SUM_B] / n
    s[Saddle.ALPHA] = s[Saddle.ALPHA0]
    # The part of D_k that does not depend on the ball, as in the authors' code:
    #   4 sqrt(2) kappa (2 + sqrt(2 g)) (1 + 2 kappa) radius / sqrt(min(p, 1-p) n - sqrt(2 n g)),
    # g = log(12 / ALPHA_RISK), n the steps of the stage; without bound where the root has no value.
    log = math.log(12.0 / ALPHA_RISK)  # g
    few = min(p, 1.0 - p) * n - math.sqrt(2.0 * n * log)
    wide = 4.0 * math.sqrt(2.0) * kappa * (2.0 + math.sqrt(2.0 * log)) * (1.0 + 2.0 * kappa)
    s[Saddle.REACH] = wide * radius / math.sqrt(few) if few > 0.0 else math.inf
    # beta of the next stage, as there; the last one where the denominator is not positive.
    few = min(p, 1.0 - p) - math.sqrt(2.0 * log / n)
    if few > 0.0:
        wide = 32.0 * (kappa * (1.0 + 2.0 * kappa) * (2.0 + math.sqrt(2.0 * log))) ** 2
        s[Saddle.BETA] = 1.0 + 8.0 * kappa * kappa + wide / few
    s[Saddle.CENTRE], s[Saddle.SCALE], s[Saddle.LENGTH], s[Saddle.ACROSS] = 1.0, 1.0, 0.0, 0.0
    s[Saddle.SUM_CENTRE] = s[Saddle.SUM_SCALE] = 0.0
    s[Saddle.SUM_A] = s[Saddle.SUM_B] = s[Saddle.DONE] = 0.0
    s[Saddle.STAGE] += 1.0
    s[Saddle.GOAL] = math.floor(s[Saddle.GOAL] * s[Saddle.GROWTH])
