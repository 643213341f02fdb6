"""What a loss may offer beyond its value and gradient: one small protocol per capability.

A loss names its capabilities by flags (``offers``); each flag stands for one of the protocols
below. Who can use a capability asks for it by its constant, and gets the loss with the type of the
protocol:

    CONJUGATED.find(loss)    the loss as `Conjugated`, or ``None`` if it has no conjugate
    COMPILED.of(loss)        the loss as `PointwiseLoss`, or an `IncompatibleError`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from auctor.core.capability import Capability, Kind
from auctor.core.curvature import Curvature
from auctor.core.errors import IncompatibleError
from auctor.core.needs import Offers
from auctor.core.protocols import Loss
from auctor.core.types import FloatArray, Target

if TYPE_CHECKING:
    from auctor.core.evaluation import Evaluation

C = TypeVar("C", bound=Loss)

#: Words of errors about losses.
LOSS = Kind("a loss that offers it", "another loss", repr)


class Curved(Loss, Protocol):
    """A loss with second derivatives: ``order`` is 2."""

    def curvature(self, scores: FloatArray, target: Target) -> Curvature:
        """Second derivative in the scores."""


class Conjugated(Loss, Protocol):
    """A loss whose conjugate gives a certificate: `Offers.CONJUGATE`."""

    def conjugate(self, dscores: FloatArray, target: Target) -> float | None:
        """``sup_s dscores.s - R(s)``, or ``None`` if these parameters have no closed form."""


class Smoothable(Loss, Protocol):
    """A loss with kinks and a smoothed form: `Offers.SMOOTHING`."""

    def smoothed(self, width: float) -> Loss | None:
        """A smooth lower bound within O(width), or ``None`` if these parameters have none."""


class Tangential(Loss, Protocol):
    """A smoothed loss that knows a plane below the loss it smooths: `Offers.TANGENT`."""

    def tangent(self, scores: FloatArray, target: Target) -> float | None:
        """C such that ``gradient.s + C`` is below the unsmoothed loss; ``None`` if unknown."""


class Centrable(Smoothable, Protocol):
    """A loss whose smoothing can be centred at given slopes: `Offers.CENTRING`."""

    def centre(self, dscores: FloatArray, target: Target) -> FloatArray:
        """Shift of the scores, per unit of width, that centres the smoothing at the slopes."""

    def smoothed_around(self, width: float, slopes: FloatArray, target: Target) -> Loss | None:
        """The smoothed form that penalises the distance of its slopes from given ones."""

    def margin(self, target: Target) -> float | None:
        """The margin of the loss in score units; ``None`` if it has none."""


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
    """A loss that moves all scores by a constant at less than the usual cost: `Offers.SHIFTS`."""

    def shifts(self, scores: FloatArray, target: Target) -> Shifts:
        """The loss as a function of a constant added to all scores."""


class Sorting(Loss, Protocol):
    """A loss that sorts the scores, and reuses their order if it can: `Offers.SORTING`."""

    def evaluation(
        self, scores: FloatArray, target: Target, near: Evaluation | None = None
    ) -> Evaluation:
        """The loss at some scores; ``near`` is the latest evaluation of a problem."""


class PointwiseLoss(Loss, Protocol):
    """A row loss that compiled loops evaluate, by a kind with its parameters: `Offers.COMPILED`."""

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


class PairLoss(Loss, Protocol):
    """A mean over pairs of a row loss of the difference of their scores: `Offers.PAIRS`."""

    @property
    def per_pair(self) -> Loss:
        """The row loss; its targets are all +1."""

    @property
    def pair_square(self) -> Loss:
        """The square loss of the same pairs, whose curvature is constant and of low rank."""

    def conjugate_of_total(self, total: float) -> float | None:
        """The conjugate, given the sum of its argument over the positives; ``None``: unknown."""


class ByRows(NamedTuple):
    """A loss of scores s as ``constant + outside * min over b of loss(inside * s + b)``."""

    loss: Loss
    inside: float
    outside: float
    constant: float


class LossByRows(Loss, Protocol):
    """A loss on sets of rows that is a row loss for a given threshold: `Offers.THRESHOLD`."""

    def by_rows(self, target: Target) -> ByRows:
        """The row loss whose intercept is the threshold of the scores."""


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


def lacking(loss: Loss, words: str) -> IncompatibleError:
    """The error of a loss that does not have what was asked of it."""
    return LOSS.lacks(loss, words)


def loss_capability(words: str, has: Callable[[Loss], bool]) -> Capability[Loss, C]:
    """A capability of losses."""
    return Capability(words, has, LOSS)


def _flagged(flag: Offers) -> Callable[[Loss], bool]:
    return lambda loss: flag in loss.offers


CURVED: Capability[Loss, Curved] = loss_capability("the curvature", lambda loss: loss.order >= 2)
CONJUGATED: Capability[Loss, Conjugated] = loss_capability(
    "the conjugate", _flagged(Offers.CONJUGATE)
)
SMOOTHABLE: Capability[Loss, Smoothable] = loss_capability(
    "a smoothed form", _flagged(Offers.SMOOTHING)
)
TANGENTIAL: Capability[Loss, Tangential] = loss_capability(
    "a plane below its unsmoothed form", _flagged(Offers.TANGENT)
)
CENTRABLE: Capability[Loss, Centrable] = loss_capability(
    "a smoothed form that can be centred", _flagged(Offers.CENTRING)
)
SHIFTABLE: Capability[Loss, Shiftable] = loss_capability(
    "a form for a constant added to all scores", _flagged(Offers.SHIFTS)
)
SORTING: Capability[Loss, Sorting] = loss_capability(
    "reusable sorted scores", _flagged(Offers.SORTING)
)
COMPILED: Capability[Loss, PointwiseLoss] = loss_capability(
    "a compiled form per row", _flagged(Offers.COMPILED)
)
PAIRED: Capability[Loss, PairLoss] = loss_capability("a form over pairs", _flagged(Offers.PAIRS))
THRESHOLDED: Capability[Loss, LossByRows] = loss_capability(
    "a form over rows with a threshold", _flagged(Offers.THRESHOLD)
)
SCALE_INVARIANT: Capability[Loss, ScaleInvariantLoss] = loss_capability(
    "scores whose scale does not matter", lambda loss: loss.scale_invariant
)


def smoothed(loss: Loss, width: float) -> Loss | None:
    """A smooth lower bound of the loss within O(width), or ``None`` if it has none."""
    found = SMOOTHABLE.find(loss)
    return None if found is None else found.smoothed(width)


def conjugate(loss: Loss, dscores: FloatArray, target: Target) -> float | None:
    """``sup_s dscores.s - R(s)``, or ``None`` if there is no closed form."""
    found = CONJUGATED.find(loss)
    return None if found is None else found.conjugate(dscores, target)
