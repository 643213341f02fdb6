"""RankOpt: a smooth AUC over as many pairs as rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.needs import Splits
from auctor.core.types import FloatArray, Target
from auctor.kernels.losses.coupling import coupled_sigmoid
from auctor.losses.base import BaseLoss
from auctor.losses.pairwise import Pairwise


@dataclass(frozen=True)
class RankOpt(Pairwise):
    """Mean of ``sigmoid((s_j - s_i) / width)`` over few (positive, negative) pairs; O(n).

    It estimates 1 - AUC and is not convex. Instead of all pairs it takes a coupling: rows of the
    two classes are matched in the order of the data, each with as much of the other class as its
    weight, so with k times as many negatives as positives every positive meets k negatives. Integer
    weights equal repeated rows; another order of the rows gives other pairs, and data sorted by
    something that matters should be shuffled first.

    The value falls without end as correct scores grow, so the scale needs a bound: an l2 penalty,
    whose strength takes the place of a fixed norm of w.

    Parameters
    ----------
    width : float > 0
        Score difference at which a pair counts as decided.

    Examples
    --------
    >>> import numpy as np
    >>> RankOpt().value(np.zeros(3), Target(np.array([1.0, -1.0, -1.0])))
    0.5

    References
    ----------
    Herschtal, Raskutti, Optimising area under the ROC curve using gradient descent, 2004.
    """

    width: float = 1.0

    splits = Splits.NOT
    exchangeable = False

    def __post_init__(self) -> None:
        check_real("RankOpt", "width", self.width, low=0.0, open_low=True)

    convex = False

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Mean over the coupled pairs and its gradient in the scores."""
        pos, neg, _ = target.pairs
        grad = np.zeros_like(scores)
        value = coupled_sigmoid(
            scores, pos.rows, pos.weight, pos.start, neg.rows, neg.weight, neg.start,
            self.width, grad,
        )  # fmt: skip
        return value, grad

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(width=0.3)]
