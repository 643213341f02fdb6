"""Losses that are evaluated on the device, where the scores are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from auctor.core.capabilities import PAIRED, SHIFTABLE, Capability, Shifted, Shifts
from auctor.core.protocols import Loss
from auctor.core.shift import ShiftedScores
from auctor.core.types import FloatArray, Target
from auctor.data.shards import compact
from auctor.data.spread import Leaf, Spread
from auctor.gpu.stores import Tensor
from auctor.losses import (
    FBeta,
    GaussianAuc,
    Hinge,
    Logistic,
    PairwiseHinge,
    PairwiseLogistic,
    PairwiseSquare,
    PairwiseSquaredHinge,
    PartialPairwiseHinge,
    PrecisionAtK,
    SmoothedHinge,
    Squared,
    SquaredHinge,
)
from auctor.losses.contingency import DOMAIN
from auctor.problem.placed_loss import PlacedLoss, as_array, value_and_slopes
from auctor.scans.fbeta import f_beta
from auctor.scans.gaussian import gaussian_auc
from auctor.scans.logistic import logistic_pairs
from auctor.scans.pairs import hinge_pairs, squared_hinge_pairs
from auctor.scans.partial import partial_pairs
from auctor.scans.rows import PairRows, SetRows, pair_rows, set_rows
from auctor.scans.threshold import precision_at_k
from auctor.torch.ops import OPS


class DeviceRows(NamedTuple):
    """The target on the device, with the weights that losses over pairs and over sets take."""

    y: Tensor
    share: Tensor
    pairs: PairRows | None
    sets: SetRows | None


def device_rows(y: Tensor, weight: Tensor | None, group: Tensor | None) -> DeviceRows:
    """The target of all rows; labels other than -1 and +1 have no classes."""
    every = torch.ones_like(y) if weight is None else weight
    labels = bool((y.abs() == 1).all())
    pairs = pair_rows(OPS, y > 0, weight, group) if labels else None
    sets = set_rows(OPS, y > 0, weight) if labels else None
    return DeviceRows(y, every / every.sum(), pairs, sets)


def _ramp(loss: Any, z: Tensor) -> tuple[Tensor, Tensor]:
    """The hinge of z smoothed over a width, and its derivative."""
    part = (z / loss.width).clamp(0.0, 1.0)
    return part * (z - 0.5 * loss.width * part), part


def _margins(of: Callable[[Any, Tensor], tuple[Tensor, Tensor]]) -> Any:
    """A loss over rows as a function of ``1 - y s``."""

    def scan(loss: Any, scores: Tensor, rows: DeviceRows) -> tuple[Tensor, Tensor]:
        value, slope = of(loss, 1.0 - rows.y * scores)
        return rows.share @ value, -rows.share * rows.y * slope

    return scan


def _logistic(loss: Any, scores: Tensor, rows: DeviceRows) -> tuple[Tensor, Tensor]:
    z = -rows.y * scores
    return rows.share @ OPS.softplus(z), -rows.share * rows.y * torch.sigmoid(z)


def _squared(loss: Any, scores: Tensor, rows: DeviceRows) -> tuple[Tensor, Tensor]:
    miss = scores - rows.y
    return 0.5 * (rows.share @ (miss * miss)), rows.share * miss


def _pair_square(loss: Any, scores: Tensor, rows: Any) -> tuple[Tensor, Tensor]:
    value, slopes = gaussian_auc(OPS, scores, rows.pairs)
    return 2.0 * value, 2.0 * slopes


#: Value and slopes of a loss on the device, by the class of the loss.
SCANS: dict[type[Any], Callable[[Any, Tensor, Any], tuple[Tensor, Tensor]]] = {
    Logistic: _logistic,
    Squared: _squared,
    Hinge: _margins(lambda _, z: (z.clamp(min=0.0), (z > 0.0).double())),
    SmoothedHinge: _margins(_ramp),
    SquaredHinge: _margins(lambda _, z: (0.5 * z.clamp(min=0.0) ** 2, z.clamp(min=0.0))),
    PairwiseSquare: _pair_square,
    GaussianAuc: lambda _, s, rows: gaussian_auc(OPS, s, rows.pairs),
    PairwiseSquaredHinge: lambda _, s, rows: squared_hinge_pairs(OPS, s, rows.pairs),
    PairwiseHinge: lambda loss, s, rows: hinge_pairs(OPS, s, rows.pairs, loss.width),
    PairwiseLogistic: lambda _, s, rows: logistic_pairs(OPS, s, rows.pairs),
    PartialPairwiseHinge: lambda loss, s, rows: partial_pairs(
        OPS, s, rows.pairs, loss.max_fpr, loss.width
    ),
    PrecisionAtK: lambda loss, s, rows: precision_at_k(OPS, s, rows.sets, loss.k, loss.width),
    FBeta: lambda loss, s, rows: f_beta(OPS, s, rows.sets, loss.beta, loss.width),
}


class Evaluated(NamedTuple):
    """A loss at scores: its value, the sum of its slopes and of their absolutes, and the slopes."""

    value: float
    total: float
    size: float
    slopes: Tensor


def evaluate(loss: Loss, rows: DeviceRows, scores: Tensor) -> Evaluated:
    """A loss at scores; three numbers come back."""
    value, slopes = SCANS[type(loss)](loss, scores, rows)
    slopes = torch.where(torch.isfinite(scores).all(), slopes, slopes * float("nan"))
    value, total, size = torch.stack([value, slopes.sum(), slopes.abs().sum()]).tolist()
    return Evaluated(value, total, size, slopes)


class DeviceLoss(PlacedLoss):
    """A loss on the device. It offers value, gradient and certificate, but no curvature."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.order = min(1, self.order)

    def offers(self, capability: Capability[Loss, Any]) -> bool:
        """What needs values and slopes alone."""
        return capability is SHIFTABLE or (capability is PAIRED and super().offers(capability))

    @property
    def low_rank(self) -> bool:
        """There is no curvature."""
        return False

    @property
    def per_pair(self) -> Loss:
        """The row loss of a pair."""
        return PAIRED.of(self.inner).per_pair

    @property
    def pair_square(self) -> Loss:
        """The square loss of the same pairs."""
        return PAIRED.of(self.inner).pair_square

    def _sent_parts(self) -> Leaf:
        target: Target = self.rows.target
        given = (compact(target.y), target.weight, target.groups)
        sent = [None if one is None else self.holder.split(one) for one in given]
        return self.holder.keep("device_rows", *sent)

    def _evaluated(self, scores: Spread) -> tuple[float, Spread]:
        return value_and_slopes(
            self, self.holder.keep("device_loss", self.inner, self.parts, scores)
        )

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""
        return DeviceShifts(self, self._at(scores))

    def _conjugate(self, slopes: Spread, target: Target) -> float | None:
        """The conjugate where it is a sum on the device; else of the slopes in this process.

        Smooth losses without such a form have None: then the bound by convexity is used.
        """
        if isinstance(self.inner, Logistic):
            return float(self.holder.total("logistic_conjugate", self.parts, slopes))
        loss = PAIRED.find(self.inner)
        if loss is None:
            return None if self.inner.smooth else super()._conjugate(slopes, target)
        if loss.conjugate_of_total(0.0) is None:
            return None
        return loss.conjugate_of_total(float(self.holder.total("class_total", self.parts, slopes)))


class DeviceShifts(ShiftedScores):
    """A loss on the device as a function of a constant added to all scores."""

    def __init__(self, loss: DeviceLoss, scores: Spread) -> None:
        super().__init__(loss, as_array(scores), loss.rows.target)
        self._placed, self._spread = loss, scores

    def at(self, t: float) -> Shifted:
        """Value and slope with t added; three numbers come back."""
        loss, given = self._placed, (self._spread, float(t))
        found = loss.holder.ask("device_shifted", loss.inner, loss.parts, *given)
        return Shifted(*found[0])

    def curve(self, t: float) -> float:
        """There is no second derivative: the search goes by chords."""
        return 0.0


def logistic_conjugate(rows: DeviceRows, slopes: Tensor) -> Tensor:
    """``sum share (m log m + (1 - m) log(1 - m))`` with m in [0, 1] the slopes over the shares."""
    some = rows.share > 0.0
    part = torch.where(some, -rows.y * slopes / torch.where(some, rows.share, 1.0), 0.0)
    inside = ((part >= -DOMAIN) & (part <= 1.0 + DOMAIN)).all()
    part = part.clamp(0.0, 1.0)
    total = rows.share @ (torch.xlogy(part, part) + torch.xlogy(1.0 - part, 1.0 - part))
    return torch.where(inside, total, float("inf"))


def kind_of(loss: Loss) -> type[DeviceLoss] | None:
    """The form of a loss on the device; None without one: its scores come to this process."""
    whole = isinstance(loss, FBeta) and loss.whole
    return DeviceLoss if type(loss) in SCANS and not whole else None
