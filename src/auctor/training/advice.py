"""What a fit should tell its user besides the model."""

from __future__ import annotations

import numpy as np

from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray
from auctor.losses.contingency import Contingency
from auctor.losses.partial import PartialPairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L2, Separable
from auctor.problem import Problem
from auctor.solvers.choose import choose

#: A fit that takes less than this off the loss of a constant score has learnt next to nothing.
LITTLE = 0.01
#: Strength, over the mean square of each column, that leaves weights free; steps to use it; and
#: what they take off at least where they help.
FREE, STEPS, HELP = 1e-6, 200, 1e-3


def advice(
    loss: Loss, penalty: Penalty, data: Data, solution: Solution, *, fit_intercept: bool = True
) -> str:
    """One thing to know and one thing to do about a fit, or nothing.

    To find out may take as long as the fit, or a second.
    """
    if isinstance(loss, (Contingency, PartialPairwiseHinge)):
        constant = loss.value(np.full(data.n_rows, solution.intercept), data.target)
        if solution.value >= (1.0 - LITTLE) * constant and vacuous(
            loss, data, fit_intercept=fit_intercept, max_seconds=max(1.0, solution.seconds)
        ):
            others = (
                "metric='auc' or surrogate='logistic', or give positives more class_weight"
                if isinstance(loss, Contingency)
                else "metric='auc' or a larger max_fpr"
            )
            return (
                f"the {type(loss).__name__} surrogate is vacuous here: with positives as rare or "
                "as hidden as these, no weights do better than none, whatever the strength. Use "
                f"{others}."
            )
    if penalty.value(np.ones(data.n_columns)) == 0.0:
        scores = data.scores(solution.coef, solution.intercept)
        here, beyond = (loss.value(k * scores, data.target) for k in (1.0, 2.0))
        if _separates(scores, data.target.y > 0.0) and 0.0 < beyond < 0.99 * here:
            return (
                "the classes are separable and nothing bounds the scale of the coefficients. "
                "Set strength > 0 with a penalty."
            )
    return ""


def vacuous(
    loss: Loss, data: Data, *, fit_intercept: bool = True, max_seconds: float | None = None
) -> bool:
    """Whether it is proved that weights that are next to free do no better than none."""
    spread = Problem(loss, L2(1.0), data, fit_intercept=fit_intercept).spread[: data.n_columns]
    top = float(spread.max(initial=0.0))
    if top == 0.0:
        return True
    penalty = Separable(l2=FREE * np.maximum(spread, 1e-9 * top))
    problem = Problem(loss, penalty, data, fit_intercept=fit_intercept)
    least = (1.0 - HELP) * problem.null.loss
    found = minimise(
        problem, choose(problem), tol=0.2 * HELP, max_iter=STEPS, max_seconds=max_seconds, rng=0,
        on_failure="ignore", on_step=lambda step: step.value < least,
    )  # fmt: skip
    return found.converged and found.value >= least


def _separates(scores: FloatArray, positive: Array) -> bool:
    return bool(scores[positive].min() > scores[~positive].max())
