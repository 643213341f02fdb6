"""The Gamma loss, for targets above 0 whose spread grows with their mean."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.curvature import LowRankCurvature
from auctor.core.errors import DataError, speaks_for_itself
from auctor.core.types import FloatArray, Target
from auctor.losses.base import BaseLoss


class Gamma(BaseLoss):
    """Gamma loss ``y exp(-s) + s`` for targets y > 0, with log link: claims, waiting times.

    It is half the deviance of the Gamma distribution, up to a constant.

    Examples
    --------
    >>> loss, target = Gamma(), Target(np.array([1.0, 4.0]))
    >>> loss.value(np.log(target.y), target)
    1.6931471805599454
    """

    order = 2
    targets = "real"

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets that are not above 0."""
        super().check_target(target)
        if not (target.y > 0.0).all():
            raise DataError(
                f"targets above 0; got {target.y.min():g}. Use the loss poisson for zeros."
            )

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        with np.errstate(over="ignore"):
            part = target.y * np.exp(-scores)
        return float(target.share @ (part + scores)), target.share * (1.0 - part)

    def curvature(self, scores: FloatArray, target: Target) -> LowRankCurvature:
        """Second derivative in the scores, a diagonal."""
        with np.errstate(over="ignore"):
            return LowRankCurvature(target.share * target.y * np.exp(-scores))

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """Weighted mean of ``(1 - u) (log((1 - u) / y) - 1)`` with the slopes u of single rows."""
        share = target.share
        seen = share > 0.0
        if dscores[~seen].any():
            return math.inf
        left = 1.0 - dscores[seen] / share[seen]  # y exp(-s) at the point of this slope
        if (left < 0.0).any():
            return math.inf
        logs = np.log(np.where(left > 0.0, left, 1.0) / target.y[seen])
        return float(share[seen] @ (left * (logs - 1.0)))

    def infimum(self, target: Target) -> float:
        """Weighted mean of ``1 + log y``, each row at its own best score."""
        return float(target.share @ (1.0 + np.log(target.y)))

    def response(self, scores: FloatArray) -> FloatArray:
        """Expected value ``exp(s)``."""
        return np.exp(scores)
