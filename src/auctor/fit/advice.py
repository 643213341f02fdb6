"""Warnings about fits that converged but are of little use."""

from __future__ import annotations

import numpy as np

from auctor.core.errors import AuctorWarning
from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray
from auctor.metrics import average_precision
from auctor.minimise import minimise
from auctor.penalties import L2, Separable
from auctor.problem import Problem
from auctor.solvers.choose import choose

#: A fit that lowers the loss of a constant score by less than this share is examined.
SMALL_GAIN = 0.01
#: A fit that lowers the loss of a constant score by less than this share has learnt nothing.
NO_GAIN = 1e-3
#: Share of the way from a constant score's average precision to 1 that counts as learnt.
RANKING_SHARE = 0.1
#: Strength, relative to the mean square of each column, at which the penalty hardly matters.
FREE_STRENGTH = 1e-6
#: Iterations, at most, of that almost unpenalised solve.
FREE_STEPS = 200
#: Share by which an almost unpenalised solve must lower the loss of a constant score.
USEFUL_GAIN = 0.01
#: Tolerance of that solve, as a share of USEFUL_GAIN: well below the difference that it must prove.
FREE_ACCURACY = 0.2
#: Smallest mean square of a column, as a share of the largest, in that solve.
LEAST_SPREAD = 1e-9
#: Share of the loss that doubled scores must not go below, or the scale is unbounded.
UNBOUNDED = 0.99


def advice(
    loss: Loss,
    penalty: Penalty,
    data: Data,
    solution: Solution,
    *,
    fit_intercept: bool = True,
    examine: bool = False,
) -> AuctorWarning | None:
    """A warning about a fit that is of little use, or ``None``.

    Parameters
    ----------
    loss, penalty, data, fit_intercept
        The problem that was solved.
    examine : bool
        Whether the loss can be vacuous (see `auctor.fit.metric.Surrogate`). The examination
        solves another problem, for at most as long as the fit took, or one second.
    """
    if examine and _learnt_little(loss, data, solution):
        seconds = max(1.0, solution.seconds)
        if vacuous(loss, data, fit_intercept=fit_intercept, max_seconds=seconds):
            return AuctorWarning(
                does=f"trains on a surrogate that is vacuous here, {type(loss).__name__}: the "
                "positives are so rare, or so hard to tell from the negatives, that no "
                "weights lower it by one per cent, whatever the strength. Use "
                "`surrogate='logistic'` or `metric='auc'`."
            )
    if penalty.value(np.ones(data.n_columns)) == 0.0:  # there is no penalty
        scores = data.scores(solution.coef, solution.intercept)
        here, beyond = (loss.value(k * scores, data.target) for k in (1.0, 2.0))
        if _separates(scores, data.target.y > 0.0) and 0.0 < beyond < UNBOUNDED * here:
            return AuctorWarning(
                does="separates the classes, and nothing bounds the scale of the coefficients. Set "
                "`strength` above 0 and a `penalty`."
            )
    return None


def _learnt_little(loss: Loss, data: Data, solution: Solution) -> bool:
    """Whether a fit lowered its loss by very little and its scores rank the rows badly."""
    target = data.target
    constant = loss.value(np.full(data.n_rows, solution.intercept), target)
    left = solution.value / constant if constant > 0.0 else 1.0  # share of the loss that is left
    if not 1.0 - SMALL_GAIN <= left < 1.0 - NO_GAIN:
        return left >= 1.0 - NO_GAIN
    positive = target.y > 0.0
    chance = float(target.share[positive].sum())
    scores = data.scores(solution.coef, solution.intercept)
    reached = average_precision(positive, scores, weight=target.weight)
    return reached < chance + RANKING_SHARE * (1.0 - chance)


def vacuous(
    loss: Loss, data: Data, *, fit_intercept: bool = True, max_seconds: float | None = None
) -> bool:
    """Whether a solve with almost no penalty proves that no weights lower the loss noticeably."""
    spread = Problem(loss, L2(1.0), data, fit_intercept=fit_intercept).spread[: data.n_columns]
    top = float(spread.max(initial=0.0))
    if top == 0.0:
        return True
    penalty = Separable(l2=FREE_STRENGTH * np.maximum(spread, LEAST_SPREAD * top))
    problem = Problem(loss, penalty, data, fit_intercept=fit_intercept)
    least = (1.0 - USEFUL_GAIN) * problem.null.loss
    solution = minimise(
        problem,
        choose(problem),
        tol=FREE_ACCURACY * USEFUL_GAIN,
        max_iter=FREE_STEPS,
        max_seconds=max_seconds,
        rng=0,
        on_failure="ignore",
        on_step=lambda step: step.value < least,
    )
    # Only a converged solve proves it; one that ran out of time or steps may still go lower.
    return solution.converged and solution.value >= least


def _separates(scores: FloatArray, positive: Array) -> bool:
    return bool(scores[positive].min() > scores[~positive].max())
