"""Kernel regression with a shifted tube: by stochastic subgradients, or to a certified gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from auctor.core.types import FloatArray
from auctor.kernel.dual import Dual
from auctor.kernel.machine import regression, solve_dual
from auctor.kernel.parameters import KernelParameters
from auctor.kernel.points import Points
from auctor.kernels.descent.tube import tube_steps


@dataclass(frozen=True)
class Tube:
    """A loss of residuals ``r = y - f``: zero in a tube, linear outside, mean over the rows.

    Without ``quantile`` the tube is ``[-(epsilon + shift), epsilon - shift]`` and the slopes are 1:
    a positive shift penalises forecasts that are too low earlier. With it the loss is the pinball
    loss of that quantile, whose slopes differ instead.
    """

    epsilon: float = 0.0
    shift: float = 0.0
    quantile: float | None = None

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """Ends of the tube below and above 0, and the slopes there."""
        if self.quantile is not None:
            return 0.0, 0.0, 1.0 - self.quantile, self.quantile
        return self.epsilon + self.shift, self.epsilon - self.shift, 1.0, 1.0

    def value(self, residual: FloatArray) -> float:
        """Mean loss."""
        low, high, down, up = self.numbers
        return float(np.mean(np.maximum(up * (residual - high), down * (-low - residual)).clip(0)))

    def dual(self, y: FloatArray, caps: FloatArray) -> Dual:
        """The dual with an unpenalised intercept."""
        if self.quantile is None:
            return regression(y, caps, self.epsilon, self.shift)
        low, high = -(1.0 - self.quantile) * caps, self.quantile * caps
        return Dual(y, low, high, np.arange(y.size))


class TubeFit(NamedTuple):
    """Coefficients, intercept, objective ``mean loss + strength / 2 |f|^2`` and its gap."""

    coef: FloatArray
    intercept: float
    objective: float
    gap: float


def stochastic_tube(
    K: FloatArray,
    y: FloatArray,
    tube: Tube,
    strength: float,
    *,
    passes: float,
    batch: int,
    rng: np.random.Generator,
) -> TubeFit:
    """Projected stochastic subgradient steps on batches that are drawn uniformly.

    The intercept is the mean of y. The norm of the optimum is at most ``sqrt(mean |y| / strength)``
    for centred y, since its square times the strength is the mean of ``slope_i f(x_i)``.
    """
    intercept = float(y.mean())
    centred, n = y - intercept, y.size
    radius = float(np.sqrt(np.abs(centred).mean() / strength))
    batch = min(batch, n)
    drawn = rng.integers(n, size=(max(1, round(passes * n / batch)), batch)).view(np.uint64)
    coef, scores = np.zeros(n), np.zeros(n)
    tube_steps(K, centred, coef, scores, drawn, strength, *tube.numbers, radius)
    scores = K @ coef
    objective = tube.value(centred - scores) + 0.5 * strength * float(coef @ scores)
    return TubeFit(coef, intercept, objective, float("nan"))


def certified_tube(
    points: Points, y: FloatArray, tube: Tube, strength: float, params: KernelParameters
) -> tuple[TubeFit, bool]:
    """The optimum within the tolerance, by the solver of kernel machines, and whether it got there.

    ``strength |f|^2 / 2 + mean loss`` is ``strength`` times ``|f|^2 / 2 + C sum loss`` with
    ``C = 1 / (n strength)``.
    """
    caps = np.full(y.size, 1.0 / (y.size * strength))
    one = solve_dual(points, tube.dual(y, caps), params)
    coef = one.beta if tube.quantile is not None else one.beta[: y.size] + one.beta[y.size :]
    gap = one.gap * strength
    fit = TubeFit(coef, one.intercept, strength * one.value + gap, gap)
    return fit, one.converged
