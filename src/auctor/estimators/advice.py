"""What a fit should tell its user besides the model."""

from __future__ import annotations

import numpy as np

from auctor.core.protocols import Data, Loss, Penalty
from auctor.core.result import Solution
from auctor.losses.contingency import Contingency, vacuous

#: A fit that takes less than this off the loss of a constant score has learnt next to nothing.
LITTLE = 0.01


def advice(loss: Loss, penalty: Penalty, data: Data, solution: Solution) -> str:
    """One thing to know and one thing to do about a fit, or nothing."""
    if isinstance(loss, Contingency):
        constant = loss.value(np.full(data.n_rows, solution.intercept), data.target)
        if solution.value >= (1.0 - LITTLE) * constant and vacuous(loss, data):
            return (
                f"the {type(loss).__name__} surrogate is vacuous here: with positives as rare or "
                "as hidden as these, no weights do better than none, whatever the strength. Use "
                "metric='auc' or surrogate='logistic', or give positives more class_weight."
            )
    if penalty.value(np.ones(data.n_columns)) == 0.0:
        scores, positive = data.scores(solution.coef), data.target.y > 0.0
        if scores[positive].min() > scores[~positive].max():
            return (
                "the classes are separable and nothing bounds the scale of the coefficients. "
                "Set strength > 0 with a penalty."
            )
    return ""
