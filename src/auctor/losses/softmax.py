"""The log-loss of several classes: multinomial logistic regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auctor.core.checks import check_int
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.protocols import Coupling
from auctor.core.types import FloatArray, IntArray, Target
from auctor.kernels.losses import softmax as kernels
from auctor.losses.base import BaseLoss
from auctor.losses.contingency import DOMAIN

#: Largest number of Newton steps for the offsets.
MOST_STEPS = 50
#: Largest number of halvings of a step that does not lower the loss: 2^-30 of it is left.
MOST_HALVINGS = 30


class _AtOffsets(NamedTuple):
    """The loss at its offsets, with the probabilities (n, K) and the shares of the rows."""

    value: float
    offset: FloatArray
    probability: FloatArray
    share: FloatArray


@dataclass(frozen=True)
class Softmax(BaseLoss):
    """``log sum_k exp z_ik - z_i,own`` with ``z = s + b``, minimised over class offsets b.

    Every row has one score per class, stored together: scores and targets have the shape (n K,),
    and the target of a row is +1 at its own class and -1 at the others. `one_hot` makes such
    targets and `auctor.data.Stacked` the data for them.

    With ``offsets`` the intercepts of the classes are minimised inside the loss instead of being
    parameters. The minimum of a convex function over some variables is convex in the others, and
    its gradient is that at the minimum. So no parameter is unpenalised, and the duality gap is a
    certificate. A Newton step for the offsets takes O(n K^2).

    Parameters
    ----------
    n_classes : int >= 2
    offsets : bool
        Whether every class has an offset; else all are 0.

    Examples
    --------
    >>> import numpy as np
    >>> target = one_hot(np.array([0, 1, 2, 2]), 3)
    >>> round(Softmax(3, offsets=False).value(np.zeros(12), target), 6)
    1.098612
    >>> np.exp(Softmax(3).offsets_at(np.zeros(12), target)).round(6)
    array([0.793701, 0.793701, 1.587401])
    """

    n_classes: int
    offsets: bool = True

    coupling = Coupling.GLOBAL
    exchangeable = False
    shift_invariant = True

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_int("n_classes", self.n_classes, low=2)

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets without exactly one class per row, and classes without weight."""
        super().check_target(target)
        y = target.y
        if y.size % self.n_classes or not ((self._table(y) > 0.0).sum(axis=1) == 1).all():
            raise DataError(
                f"targets of {self.n_classes} classes, one of them +1 in every row; got shape "
                f"{y.shape}. Make the target with one_hot."
            )
        if not (self._row_shares(target) @ (self._table(y) > 0.0)).all():
            raise DataError(
                "a row with positive weight for every class; got a class without. Drop it."
            )

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        evaluation = self._at_offsets(scores, target)
        slopes = evaluation.probability
        kernels.to_slopes(slopes, self._table(target.wide_y), evaluation.share)
        return evaluation.value, slopes.ravel()

    def offsets_at(self, scores: FloatArray, target: Target) -> FloatArray:
        """The best offsets of the classes at some scores, with a mean of 0."""
        return self._at_offsets(scores, target).offset

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Weighted mean of ``sum_k q_k log q_k`` with the probabilities q that give the slopes."""
        share = self._row_shares(target)
        slopes = self._table(dscores)
        seen = share > 0.0
        q = slopes[seen] / share[seen, None] + (self._table(target.wide_y)[seen] > 0.0)
        value, low = kernels.negative_entropy(q, share[seen])
        outside = low < -DOMAIN or np.abs(q.sum(axis=1) - 1.0).max(initial=0.0) > DOMAIN
        if self.offsets:
            outside = outside or bool(np.abs(slopes.sum(axis=0)).max() > DOMAIN)
        return math.inf if outside or slopes[~seen].any() else value

    def _table(self, values: FloatArray) -> FloatArray:
        """Reshape to (rows, classes)."""
        return values.reshape(-1, self.n_classes)

    def _row_shares(self, target: Target) -> FloatArray:
        """Weights of the rows, summing to 1."""
        share: FloatArray = self._table(target.share).sum(axis=1)
        return share

    def _at_offsets(self, scores: FloatArray, target: Target) -> _AtOffsets:
        """The loss at the best offsets, by damped Newton steps in a kernel."""
        table, y, share = self._table(scores), self._table(target.wide_y), self._row_shares(target)
        p = np.empty(table.shape)
        offset = np.zeros(self.n_classes)
        if self.offsets:
            value = kernels.fit_offsets(table, y, share, offset, p, MOST_STEPS, MOST_HALVINGS)
        else:
            value = kernels.log_loss(table, y, share, offset, p)
        return _AtOffsets(value, offset, p, share)


def one_hot(codes: IntArray, n_classes: int, weight: FloatArray | None = None) -> Target:
    """The target of `Softmax` for rows of the classes ``codes``.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot(np.array([1, 0]), 2).y
    array([-1.,  1.,  1., -1.])
    """
    y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0).ravel()
    return Target(y, None if weight is None else np.repeat(weight, n_classes))
