"""What a loss may offer beyond its value and gradient: one small protocol per capability.

A loss that implements a protocol has its capability. Who can use one asks for it by the constant
that follows the protocol, and gets the loss with the type of the protocol:

    SORTING.find(loss)    the loss as `Sorting`, or ``None`` if it does not sort
    COMPILED.of(loss)     the loss as `PointwiseLoss`, or an `IncompatibleError`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

from auctor.core.curvature import Curvature
from auctor.core.errors import IncompatibleError
from auctor.core.protocols import Loss, Penalty
from auctor.core.types import BlockSpec, FloatArray, SeparableSpec, Target, TreeSpec

P = TypeVar("P")
C = TypeVar("C")


class Kind(NamedTuple):
    """One kind of part: its protocol, what to use instead of a part, how a part is shown."""

    core: Any
    instead: str
    shown: Callable[[Any], str]

    def lacks(self, part: object, words: str) -> IncompatibleError:
        """The error of a part that does not have what was asked of it."""
        return IncompatibleError(
            words,
            got=self.shown(part),
            todo=f"Use another solver, or {self.instead}.",
            part="The solver",
        )


@dataclass(frozen=True)
class Capability(Generic[P, C]):
    """Something that only some parts of type P can do; C is the type of those that can.

    A part can if it has every member of the protocol, unless it has a method ``offers(capability)``
    that says otherwise: a view answers for what it shows.

    Parameters
    ----------
    protocol : type
        The protocol C.
    words : str
        What is needed, for messages: "a loss with curvature".
    kind : Kind
        The kind of the parts of type P.
    fact : callable, optional
        Whether a part can, where a fact of the part decides instead of its members.

    Examples
    --------
    >>> from auctor.core.capabilities import COMPILED
    >>> from auctor.losses import Hinge, PairwiseHinge
    >>> COMPILED.of(Hinge()).closed_prox, COMPILED.find(PairwiseHinge())
    (True, None)
    """

    protocol: Any
    words: str
    kind: Kind
    fact: Callable[[P], bool] | None = None

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names of the members of the protocol that not every part of type P has."""
        lines = [base for base in self.protocol.__mro__ if base not in self.kind.core.__mro__]
        return tuple(name for base in lines for name in vars(base) if not name.startswith("_"))

    def has(self, part: P) -> bool:
        """Whether the part has the capability."""
        if self.fact is not None:
            return self.fact(part)
        offers = getattr(part, "offers", None)
        return self.implemented(part) if offers is None else bool(offers(self))

    def implemented(self, part: P) -> bool:
        """Whether the part has every member of the protocol; no property is computed."""
        return all(hasattr(type(part), name) or name in vars(part) for name in self.members)

    def lacks(self, part: P) -> IncompatibleError:
        """The error of a part without the capability."""
        return self.kind.lacks(part, self.words)

    def find(self, part: P) -> C | None:
        """The part, with the type C, if it has the capability; otherwise ``None``."""
        return cast(C, part) if self.has(part) else None

    def of(self, part: P) -> C:
        """The part, with the type C; an `IncompatibleError` if it lacks the capability."""
        if not self.has(part):
            raise self.lacks(part)
        return cast(C, part)


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


S = TypeVar("S")

PENALTY = Kind(Penalty, "another penalty", repr)


@dataclass(frozen=True)
class PenaltyForm(Generic[S]):
    """A form of penalties, with the type S of its arrays.

    Parameters
    ----------
    words : str
        What is needed, for messages: "a penalty on disjoint groups of coordinates".
    find : callable
        The form of a penalty of d weights, or ``None`` if it has none.

    Examples
    --------
    >>> from auctor.penalties import L1
    >>> SEPARABLE.of(L1(2.0), 3).l1
    array([2., 2., 2.])
    """

    words: str
    find: Callable[[Penalty, int], S | None]

    def of(self, penalty: Penalty, d: int) -> S:
        """The form of a penalty of d weights; an `IncompatibleError` if it has none."""
        form = self.find(penalty, d)
        if form is None:
            raise PENALTY.lacks(penalty, self.words)
        return form


SEPARABLE: PenaltyForm[SeparableSpec] = PenaltyForm(
    "a penalty that separates over coordinates", lambda penalty, d: penalty.separable(d)
)
BLOCKS: PenaltyForm[BlockSpec] = PenaltyForm(
    "a penalty on disjoint groups of coordinates", lambda penalty, d: penalty.blocks(d)
)
TREE: PenaltyForm[TreeSpec] = PenaltyForm(
    "a penalty on disjoint or nested groups of coordinates", lambda penalty, d: penalty.tree(d)
)


class Evaluation:
    """A loss at some scores; losses that sort the scores have a subclass that caches the order."""

    #: Whether a later evaluation can reuse a part of this one, so that a problem stores the latest.
    lasting: ClassVar[bool] = False

    def __init__(self, loss: Loss, scores: FloatArray, target: Target) -> None:
        self.loss, self.scores, self.target = loss, scores, target

    def value_grad(self) -> tuple[float, FloatArray]:
        """Weighted mean loss and its gradient in the scores."""
        return self.loss.value_grad(self.scores, self.target)

    def curvature(self) -> Curvature:
        """Second derivative in the scores."""
        return CURVED.of(self.loss).curvature(self.scores, self.target)
