"""What a fit should tell its user besides the model."""

from __future__ import annotations

import numpy as np

from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray
from auctor.minimise import minimise
from auctor.penalties import L2, Separable
from auctor.problem import Problem
from auctor.solvers.choose import choose

#: A fit that takes less than this share off the loss of a constant score has learnt next to
#: nothing, and is examined.
LITTLE = 0.01
#: Strength, over the mean square of each column, that leaves the weights next to free.
FREE_STRENGTH = 1e-6
#: Iterations that weights next to free may take to do better than none.
FREE_STEPS = 200
#: Share of the loss of a constant score that such weights must take off to count as helping: a
#: surrogate that gets no lower than 0.996 of it ranked at random on held-out rows.
HELP = 0.01
#: Scores twice as large that lower the loss below this share of it show that nothing bounds them.
UNBOUNDED = 0.99


def advice(
    loss: Loss,
    penalty: Penalty,
    data: Data,
    solution: Solution,
    *,
    fit_intercept: bool = True,
    instead: str = "",
) -> str:
    """One thing to know and one thing to do about a fit, or nothing.

    Parameters
    ----------
    loss, penalty, data, fit_intercept
        The problem that was solved.
    solution : Solution
    instead : str
        What to use where the loss is vacuous (see `auctor.training.metric.Surrogate`). Without it
        that is not examined. The examination solves another problem, for as long as the fit took
        or for a second.
    """
    if instead:
        constant = loss.value(np.full(data.n_rows, solution.intercept), data.target)
        if solution.value >= (1.0 - LITTLE) * constant and vacuous(
            loss, data, fit_intercept=fit_intercept, max_seconds=max(1.0, solution.seconds)
        ):
            return (
                f"the {type(loss).__name__} surrogate is vacuous here: with positives as rare or "
                "as hidden as these, no weights lower it by a hundredth, whatever the strength. "
                f"Use {instead}."
            )
    if penalty.value(np.ones(data.n_columns)) == 0.0:
        scores = data.scores(solution.coef, solution.intercept)
        here, beyond = (loss.value(k * scores, data.target) for k in (1.0, 2.0))
        if _separates(scores, data.target.y > 0.0) and 0.0 < beyond < UNBOUNDED * here:
            return (
                "the classes are separable and nothing bounds the scale of the coefficients. "
                "Set strength > 0 with a penalty."
            )
    return ""


def vacuous(
    loss: Loss, data: Data, *, fit_intercept: bool = True, max_seconds: float | None = None
) -> bool:
    """Whether it is proved that weights that are next to free do hardly better than none."""
    spread = Problem(loss, L2(1.0), data, fit_intercept=fit_intercept).spread[: data.n_columns]
    top = float(spread.max(initial=0.0))
    if top == 0.0:
        return True
    penalty = Separable(l2=FREE_STRENGTH * np.maximum(spread, 1e-9 * top))
    problem = Problem(loss, penalty, data, fit_intercept=fit_intercept)
    least = (1.0 - HELP) * problem.null.loss
    found = minimise(
        problem,
        choose(problem),
        tol=0.2 * HELP,
        max_iter=FREE_STEPS,
        max_seconds=max_seconds,
        rng=0,
        on_failure="ignore",
        on_step=lambda step: step.value < least,
    )
    return found.converged and found.value >= least


def _separates(scores: FloatArray, positive: Array) -> bool:
    return bool(scores[positive].min() > scores[~positive].max())
