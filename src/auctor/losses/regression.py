"""Losses of real targets that are sums over rows: s is the score, y the target, r = s - y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from auctor.core.capabilities import Shifts
from auctor.core.checks import check_real
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.types import FloatArray, Target
from auctor.kernels.losses import pointwise as kernels
from auctor.losses.base import BaseLoss
from auctor.losses.pointwise import KinkedPointwise, Pointwise, StepShifts


class Squared(Pointwise):
    """Squared loss ``1/2 r^2``."""

    kind = kernels.SQUARED
    order = 2
    targets = "real"

    quadratic = True


@dataclass(frozen=True)
class Huber(Pointwise):
    """Huber loss ``1/2 r^2`` for ``|r| <= delta``, else ``delta (|r| - delta/2)``.

    Parameters
    ----------
    delta : float > 0
        Absolute residual from which it is linear.
    """

    delta: float = 1.0

    kind = kernels.HUBER
    order = 2
    targets = "real"

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("delta", self.delta, low=0.0, open_low=True)

    @property
    def param(self) -> float:
        """Shape parameter the kernel takes."""
        return self.delta

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(delta=0.1), cls(delta=5.0)]


@dataclass(frozen=True)
class Quantile(KinkedPointwise):
    """Pinball loss ``max(tau (y - s), (1 - tau) (s - y))``, minimised by the tau-quantile.

    Parameters
    ----------
    tau : float in (0, 1)
        The quantile that minimises the loss.
    width : float >= 0
        Smoothing width in score units; 0 for the exact loss.
    """

    tau: float = 0.5
    width: float = 0.0

    kind = kernels.QUANTILE
    targets = "real"

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("tau", self.tau, low=0.0, high=1.0, open_low=True, open_high=True)
        check_real("width", self.width, low=0.0)

    @property
    def param(self) -> float:
        """Shape parameter the kernel takes."""
        return self.tau

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return StepShifts(self, scores, target, np.full_like(scores, self.tau))

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(tau=0.2), cls(tau=0.9, width=0.3)]


@dataclass(frozen=True)
class EpsilonInsensitive(KinkedPointwise):
    """Epsilon-insensitive loss ``max(0, |r| - epsilon)``.

    Parameters
    ----------
    epsilon : float >= 0
        Absolute errors up to this size have no loss.
    width : float >= 0
        Smoothing width in score units; 0 for the exact loss.
    """

    epsilon: float = 0.1
    width: float = 0.0

    kind = kernels.EPSILON
    targets = "real"

    @speaks_for_itself
    def __post_init__(self) -> None:
        check_real("epsilon", self.epsilon, low=0.0)
        check_real("width", self.width, low=0.0)

    @property
    def param(self) -> float:
        """Shape parameter the kernel takes."""
        return self.epsilon

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(epsilon=1.0), cls(epsilon=0.5, width=0.2)]


class Absolute(EpsilonInsensitive):
    """Absolute loss ``|r|``: the epsilon-insensitive loss with epsilon 0."""

    def __init__(self, width: float = 0.0) -> None:
        super().__init__(0.0, width)

    def smoothed(self, width: float) -> Absolute | None:
        """The Huberised lower bound; ``None`` for a smooth loss."""
        return None if self.smooth else Absolute(width)

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(), cls(width=0.4)]


class Poisson(Pointwise):
    """Poisson loss ``exp(s) - y s`` for counts y >= 0, with log link."""

    kind = kernels.POISSON
    order = 2
    closed_prox = False
    targets = "real"

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse negative counts."""
        if (target.y < 0).any():
            raise DataError(
                f"targets that are not negative; got {target.y.min():g}. Use another loss."
            )

    def infimum(self, target: Target) -> float:
        """Weighted mean of ``y - y log y``, each row at its own best score."""
        y = target.y
        best = y - y * np.log(np.where(y > 0, y, 1.0))
        return float(target.share @ best)

    def response(self, scores: FloatArray) -> FloatArray:
        """Expected count ``exp(s)``."""
        return np.exp(scores)
