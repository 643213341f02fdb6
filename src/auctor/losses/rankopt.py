"""RankOpt: a smooth estimate of AUC from at most as many pairs as rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.errors import speaks_for_itself
from auctor.core.protocols import Splits
from auctor.core.types import FloatArray, Target
from auctor.kernels.losses.coupling import coupled_sigmoid
from auctor.losses.base import BaseLoss
from auctor.losses.pairwise import Pairwise


@dataclass(frozen=True)
class RankOpt(Pairwise):
    """Mean of ``sigmoid((s_j - s_i) / width)`` over few (positive, negative) pairs; O(n).

    It estimates 1 - AUC and is not convex. Instead of all pairs it uses matched pairs: rows of the
    two classes are matched in the order of the data, each with as much of the other class as its
    weight. With k times as many negatives as positives every positive is matched with k negatives.
    Integer weights equal repeated rows. Another order of the rows gives other pairs, so sorted data
    should be shuffled first.

    The value decreases as the scale of correct scores grows, so the scale must be bounded: an l2
    penalty replaces the fixed norm of w in the paper.

    Parameters
    ----------
    width : float > 0
        Score difference at which the sigmoid of a pair is 0.73: its scale, in score units.

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

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("width", self.width, low=0.0, open_low=True)

    convex = False

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Mean over the matched pairs and its gradient in the scores."""
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
