"""What a fit should tell its user besides the model."""

from __future__ import annotations

import numpy as np

from auctor.core.errors import AuctorWarning, Option
from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Solution
from auctor.core.types import Array, FloatArray
from auctor.metrics import average_precision
from auctor.minimise import minimise
from auctor.penalties import L2, Separable
from auctor.problem import Problem
from auctor.solvers.choose import choose

#: A fit that takes less than this share off the loss of a constant score has learnt next to
#: nothing, and is examined.
LITTLE = 0.01
#: A fit that takes less than this share off it has learnt nothing: what its scores rank by is left
#: to the solver. Ten times the default tolerance.
NOTHING = 1e-3
#: A fit between the two has learnt something where its average precision on the training rows is
#: this share of the way from that of a constant score to 1. Set by hand: a ranking at random has
#: about 0, the models of the gallery's review team, better than logistic regression on held-out
#: rows, have 0.57 and more.
RANKS = 0.1
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
    who: str,
    loss: Loss,
    penalty: Penalty,
    data: Data,
    solution: Solution,
    *,
    fit_intercept: bool = True,
    examine: bool = False,
) -> AuctorWarning | None:
    """One thing to know and one thing to do about a fit, or nothing.

    Parameters
    ----------
    who : str
        Name used in the message.
    loss, penalty, data, fit_intercept
        The problem that was solved.
    solution : Solution
    examine : bool
        Whether the loss can be vacuous (see `auctor.training.metric.Surrogate`). The examination
        solves another problem, for as long as the fit took or for a second.
    """
    if examine and _learnt_little(loss, data, solution):
        seconds = max(1.0, solution.seconds)
        if vacuous(loss, data, fit_intercept=fit_intercept, max_seconds=seconds):
            return AuctorWarning(
                who,
                does=f"trains on a surrogate that is vacuous here, {type(loss).__name__}: with "
                "positives as rare or as hidden as these, no weights lower it by a hundredth, "
                "whatever the strength",
                todo="Use {option} or {option2}.",
                option=(Option("surrogate", "logistic"), Option("metric", "auc")),
            )
    if penalty.value(np.ones(data.n_columns)) == 0.0:
        scores = data.scores(solution.coef, solution.intercept)
        here, beyond = (loss.value(k * scores, data.target) for k in (1.0, 2.0))
        if _separates(scores, data.target.y > 0.0) and 0.0 < beyond < UNBOUNDED * here:
            return AuctorWarning(
                who,
                does="separates the classes, and nothing bounds the scale of the coefficients",
                todo="Set {option} above 0 and a {option2}.",
                option=(Option("strength", bare=True), Option("penalty", bare=True)),
            )
    return None


def _learnt_little(loss: Loss, data: Data, solution: Solution) -> bool:
    """Whether a fit hardly lowered its loss, and its scores do not rank all the same."""
    target = data.target
    constant = loss.value(np.full(data.n_rows, solution.intercept), target)
    left = solution.value / constant if constant > 0.0 else 1.0
    if not 1.0 - LITTLE <= left < 1.0 - NOTHING:
        return left >= 1.0 - NOTHING
    positive = target.y > 0.0
    chance = float(target.share[positive].sum())
    scores = data.scores(solution.coef, solution.intercept)
    reached = average_precision(positive, scores, weight=target.weight)
    return reached < chance + RANKS * (1.0 - chance)


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
