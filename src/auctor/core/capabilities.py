"""What a loss may offer beyond its value and gradient: one small protocol per capability.

A loss that implements a protocol has its capability. Who can use one asks for it by the constant
that follows the protocol, and gets the loss with the type of the protocol:

    SORTING.find(loss)    the loss as `Sorting`, or ``None`` if it does not sort
    COMPILED.of(loss)     the loss as `PointwiseLoss`, or an `IncompatibleError`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from auctor.core.capability import Capability, Kind
from auctor.core.curvature import Curvature
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray, Target

if TYPE_CHECKING:
    from auctor.core.evaluation import Evaluation

LOSS = Kind(Loss, "another loss", repr)


class Curved(Loss, Protocol):
    """A loss with second derivatives: ``order`` is 2."""

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""


CURVED: Capability[Loss, Curved] = Capability(
    Curved, "a loss with curvature", LOSS, lambda loss: loss.order >= 2
)


class Centrable(Loss, Protocol):
    """A loss whose smoothing can be centred at given slopes."""

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Shift of the scores, per unit of width, that centres the smoothing at the slopes."""

    def smoothed_around(self, width: float, slopes: FloatArray, target: Target) -> Loss | None:
        """The smoothed form that penalises the distance of its slopes from given ones."""

    def margin(self, target: Target) -> float | None:
        """The margin of the loss in score units; ``None`` if it has none."""


CENTRABLE: Capability[Loss, Centrable] = Capability(
    Centrable, "a loss whose smoothing can be centred", LOSS
)


class Shifted(NamedTuple):
    """A loss with a constant added to all scores: its value, and its slope in the constant.

    ``slope`` is the sum of the slopes of the rows, and ``size`` the sum of their absolute values.
    """

    value: float
    slope: float
    size: float


class Shifts(Protocol):
    """A loss as a function of a constant added to all scores."""

    def at(self, t: float) -> Shifted:
        """Value and slope with t added."""

    def curve(self, t: float) -> float:
        """Second derivative with t added; 0 where the loss has none."""

    def root(self) -> float | None:
        """The best constant, accurate to rounding, where it has a closed form; else ``None``."""

    def steps(self) -> tuple[FloatArray, FloatArray] | None:
        """Where the slope of each row steps up, and minus the slope before; ``None`` if not a step.

        The best constant is then a quantile of the positions (smoothed over the width of the loss).
        """


class Shiftable(Loss, Protocol):
    """A loss that moves all scores by a constant at less than the usual cost."""

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""


SHIFTABLE: Capability[Loss, Shiftable] = Capability(
    Shiftable, "a loss with a form for a constant added to all scores", LOSS
)


class Sorting(Loss, Protocol):
    """A loss that sorts the scores, and reuses their order if it can."""

    def evaluation(
        self, scores: FloatArray, target: Target, near: Evaluation | None = None
    ) -> Evaluation:
        """The loss at some scores; ``near`` is the latest evaluation of a problem."""


SORTING: Capability[Loss, Sorting] = Capability(Sorting, "a loss that sorts the scores", LOSS)


class PointwiseLoss(Loss, Protocol):
    """A row loss that compiled loops evaluate, by a kind with its parameters."""

    @property
    def kind(self) -> int:
        """Code of the loss in the kernels."""

    @property
    def param(self) -> float:
        """Shape parameter."""

    @property
    def width(self) -> float:
        """Smoothing width in score units."""

    @property
    def closed_prox(self) -> bool:
        """Whether its prox has a closed form: its pieces are quadratic or linear."""


COMPILED: Capability[Loss, PointwiseLoss] = Capability(
    PointwiseLoss, "a loss with a compiled form per row", LOSS
)


class PairLoss(Loss, Protocol):
    """A mean over pairs of a row loss of the difference of their scores."""

    @property
    def per_pair(self) -> Loss:
        """The row loss; its targets are all +1."""

    @property
    def pair_square(self) -> Loss:
        """The square loss of the same pairs, whose curvature is constant and of low rank."""

    def conjugate_of_total(self, total: float) -> float | None:
        """The conjugate, given the sum of its argument over the positives; ``None``: unknown."""


PAIRED: Capability[Loss, PairLoss] = Capability(
    PairLoss, "a loss that is a mean over pairs of a row loss", LOSS
)


class ByRows(NamedTuple):
    """A loss of scores s as ``constant + outside * min over b of loss(inside * s + b)``."""

    loss: Loss
    inside: float
    outside: float
    constant: float


class LossByRows(Loss, Protocol):
    """A loss on sets of rows that is a row loss for a given threshold."""

    def by_rows(self, target: Target) -> ByRows:
        """The row loss whose intercept is the threshold of the scores."""


THRESHOLDED: Capability[Loss, LossByRows] = Capability(
    LossByRows, "a loss that is a row loss with a free threshold", LOSS
)


class ScaleInvariantLoss(Loss, Protocol):
    """A loss that depends only on ratios of class means and standard deviations of the scores."""

    def value_grad_rate(
        self, scores: FloatArray, target: Target, spread: float
    ) -> tuple[float, FloatArray, float]:
        """Value with ``spread`` added to both variances, its gradient, its derivative in spread."""

    def best_shift(self, scores: FloatArray, target: Target, spread: float = 0.0) -> float:
        """The best constant to add to all scores; not used for shift-invariant losses."""

    def of_moments(
        self, prior: FloatArray, mean: FloatArray, variance: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The loss for these priors, means and variances of the classes, the positive one first.

        With its derivatives in the means and in the variances.
        """


SCALE_INVARIANT: Capability[Loss, ScaleInvariantLoss] = Capability(
    ScaleInvariantLoss,
    "a loss of Gaussian scores, ExpectedError or ExpectedAuc",
    LOSS,
    lambda loss: loss.scale_invariant,
)
