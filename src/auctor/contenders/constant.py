"""A constant score as a contender: every model should be better."""

from __future__ import annotations

import math

import numpy as np

from auctor.evaluate.contest import THEIRS, Contender, Rules, TunedContender, TuningRows
from auctor.evaluate.verdict import CONSTANT
from auctor.fit.threshold import unweighted_threshold


def constant_contender() -> Contender:
    """The same score for every row."""
    return Contender("constant", THEIRS, _fit_constant, kind=CONSTANT)


def _fit_constant(part: TuningRows, rules: Rules) -> TunedContender:
    """The same score for every row, with the threshold by the same rule.

    For metrics of log-odds the score is the log-odds of the share of positives.
    """
    share = float(np.average(part.hits, weights=part.weight))
    score = math.log(share / (1.0 - share)) if rules.objective.by_level else 0.0
    cut = unweighted_threshold(
        rules.objective, part.hits, np.full(part.hits.size, score), part.weight
    )
    return TunedContender(lambda X: np.full(X.shape[0], score - cut))
