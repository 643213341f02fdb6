"""Data on which the cutting-plane method needs about 1/accuracy steps, with adversarial oracles.

Both have ``lambda = 1``. The adversarial oracle breaks ties so that every cut is as weak as
possible; the iterates of the bundle method are then known in closed form. The number of columns
grows with the rows, so that the instances do not contradict the rates for bounded rows.

References
----------
Zhang, Saha, Vishwanathan, Smoothing multivariate performance measures, JMLR 2012, Theorems 4, 5.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from auctor.core.checks import check_real
from auctor.core.types import FloatArray
from auctor.losses import PairwiseHinge, Prbep
from auctor.losses.base import BaseLoss

#: Distance below which a score counts as tied: rounding errors of the iterates are far below.
TIE = 1e-9


@dataclass(frozen=True)
class HardInstance(ABC):
    """A data set with its adversarial oracle and the known iterates of the bundle method.

    Parameters
    ----------
    accuracy : float in (0, 1)
        Target accuracy; the method needs a multiple of ``1/accuracy`` steps, and as many rows.
    """

    accuracy: float

    #: Strength of the ridge ``strength/2 |w|^2``.
    strength = 1.0

    def __post_init__(self) -> None:
        check_real(
            type(self).__name__, "accuracy", self.accuracy,
            low=0.0, high=1.0, open_low=True, open_high=True,
        )  # fmt: skip

    @property
    @abstractmethod
    def n_steps(self) -> int:
        """Steps until the bundle method has converged exactly."""

    @property
    @abstractmethod
    def loss(self) -> BaseLoss:
        """The exact loss."""

    @property
    @abstractmethod
    def X(self) -> FloatArray:
        """The rows, (n, d)."""

    @property
    @abstractmethod
    def start(self) -> FloatArray:
        """First iterate of the method."""

    @property
    @abstractmethod
    def optimum(self) -> float:
        """Smallest value of the objective."""

    @abstractmethod
    def oracle(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and the least useful one of its subgradients."""

    @abstractmethod
    def iterate(self, k: int) -> FloatArray:
        """The method's k-th iterate, 1 <= k < n_steps."""

    @abstractmethod
    def gap(self, k: int) -> float:
        """The method's gap after k steps."""

    @property
    def y(self) -> FloatArray:
        """Labels: the first row is positive, all others negative."""
        y = np.full(self.X.shape[0], -1.0)
        y[0] = 1.0
        return y

    def objective(self, w: FloatArray) -> float:
        """Risk plus ridge."""
        return self.oracle(w)[0] + 0.5 * self.strength * float(w @ w)


@dataclass(frozen=True)
class HardPrbep(HardInstance):
    """Break-even point: after k steps the gap is ``1/(2k)``, and ``n`` steps are needed.

    ``J(w_k) = (2 + 1/k)/4`` and ``min J = (n - 1)/(2n - 1)`` with ``n = ceil(1/accuracy) + 1``
    rows. An ordinary oracle needs almost as many steps.

    Examples
    --------
    >>> HardPrbep(0.5).n_steps
    3
    """

    @property
    def n_steps(self) -> int:
        """Steps until the bundle method has converged exactly: the number of rows."""
        return math.ceil(1.0 / self.accuracy) + 1

    @property
    def loss(self) -> BaseLoss:
        """The exact loss."""
        return Prbep()

    @property
    def X(self) -> FloatArray:
        """Rows."""
        n, size = self.n_steps, math.sqrt(2.0) / 4.0 * self.n_steps
        X = np.zeros((n, n + 2))
        X[0, 1] = size
        X[1:, 2] = -size
        X[np.arange(1, n), np.arange(3, n + 2)] = -size
        return X

    @property
    def start(self) -> FloatArray:
        """Where the method starts."""
        w = np.zeros(self.n_steps + 2)
        w[0], w[1:3] = 1.0, math.sqrt(0.5)
        return w

    @property
    def optimum(self) -> float:
        """Smallest objective."""
        return (self.n_steps - 1) / (2 * self.n_steps - 1)

    def oracle(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk; at ties the subgradient that flips the first of the tied rows."""
        X, n = self.X, self.n_steps
        # Loss of flipping the positive row with each negative one; the worst of them is the risk.
        scores = X @ w
        flips = 1.0 + 2.0 / n * (scores[1:] - scores[0])
        top = float(flips.max())
        if top < -TIE:
            return 0.0, np.zeros_like(w)
        i = int(np.argmax(flips >= top - TIE)) + 1
        return max(top, 0.0), 2.0 / n * (X[i] - X[0])

    def iterate(self, k: int) -> FloatArray:
        """The method's k-th iterate."""
        w = np.zeros(self.n_steps + 2)
        w[1:3] = math.sqrt(0.5)
        w[3 : 3 + k] = math.sqrt(0.5) / k
        return w

    def gap(self, k: int) -> float:
        """The method's gap after k steps."""
        return 0.5 / k


@dataclass(frozen=True)
class HardRoc(HardInstance):
    """Area under the ROC curve: after k steps the gap is ``1/k``, and ``n + 1`` are needed.

    ``J(w_k) = (1/n + 1/k)/2`` and ``min J = 1/(4n)`` with ``n = floor(1/accuracy)`` negatives. An
    ordinary oracle needs two steps.

    Examples
    --------
    >>> HardRoc(0.5).n_steps
    3
    """

    @property
    def n_negatives(self) -> int:
        """Number of negative rows."""
        return math.floor(1.0 / self.accuracy)

    @property
    def n_steps(self) -> int:
        """Steps until the bundle method has converged exactly."""
        return self.n_negatives + 1

    @property
    def loss(self) -> BaseLoss:
        """The exact loss."""
        return PairwiseHinge()

    @property
    def X(self) -> FloatArray:
        """Rows."""
        n = self.n_negatives
        X = np.zeros((n + 1, n + 2))
        X[0, 1] = math.sqrt(n)
        X[np.arange(1, n + 1), np.arange(2, n + 2)] = -n
        return X

    @property
    def start(self) -> FloatArray:
        """Where the method starts."""
        w = np.zeros(self.n_negatives + 2)
        w[0], w[1] = 1.0, 1.0 / math.sqrt(self.n_negatives)
        return w

    @property
    def optimum(self) -> float:
        """Smallest objective."""
        return 0.25 / self.n_negatives

    def oracle(self, w: FloatArray) -> tuple[float, FloatArray]:
        """The risk and the subgradient of all violated pairs; if none, of the first tied pair."""
        X, n = self.X, self.n_negatives
        # Pairwise hinge losses of the positive row with each negative one.
        pairs = X[0] - X[1:]
        miss = 1.0 - pairs @ w
        chosen = np.flatnonzero(miss > TIE)
        if chosen.size == 0:
            chosen = np.flatnonzero(miss >= -TIE)[:1]
        return float(np.maximum(miss, 0.0).mean()), -pairs[chosen].sum(axis=0) / n

    def iterate(self, k: int) -> FloatArray:
        """The method's k-th iterate."""
        w = np.zeros(self.n_negatives + 2)
        w[1] = 1.0 / math.sqrt(self.n_negatives)
        w[2 : 2 + k] = 1.0 / k
        return w

    def gap(self, k: int) -> float:
        """The method's gap after k steps."""
        return 1.0 / k
