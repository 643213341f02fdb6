"""The functions that a worker runs on vectors of its rows: formulas, sums, and losses.

A vector with one number per row, such as the scores, need not come to the driver: every worker
stores its part, and receives formulas of such vectors. A loss that is a sum over rows, or over
pairs, is evaluated part by part: with ``share`` the weight of a part among all rows, the loss is
the sum of ``share`` times the loss of each part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from auctor.core.capabilities import CENTRABLE, CURVED, LOSS, Capability
from auctor.core.curvature import Curvature
from auctor.core.protocols import Loss
from auctor.core.shift import shifts_of
from auctor.core.types import Array, FloatArray, IntArray, Target
from auctor.kernels.losses.thresholds import Flips, Threshold, next_above, ramp_sums


class Slot(NamedTuple):
    """Reference to a stored result: its place in a list, and the name of its field, if any."""

    place: int
    part: str = ""


class Formula(NamedTuple):
    """A numpy function by its name, and its arguments: vectors, numbers or formulas."""

    name: str
    parts: tuple[Any, ...]


def filled(argument: Any, kept: Sequence[Any]) -> Any:
    """An argument with slots replaced by stored results, and formulas evaluated."""
    if isinstance(argument, Slot):
        value = kept[argument.place]
        return getattr(value, argument.part) if argument.part else value
    if isinstance(argument, Formula):
        function = getattr(np, argument.name)
        assert isinstance(function, np.ufunc)  # no other numpy function may be called
        return function(*(filled(part, kept) for part in argument.parts))
    return argument


# --- vectors --------------------------------------------------------------------------------


def _constant(data: Any, value: float) -> FloatArray:
    return np.full(data.n_rows, value)


def _combined(data: Any, values: FloatArray) -> FloatArray:
    return values


def _total(data: Any, values: FloatArray) -> float:
    return float(values.sum())


def _dot(data: Any, first: FloatArray, second: FloatArray) -> float:
    return float(first @ second)


def _extremes(data: Any, values: Array) -> tuple[float, float]:
    """Smallest and largest value; infinite if there are no rows."""
    if not values.size:
        return np.inf, -np.inf
    return float(values.min()), float(values.max())


# --- losses over rows -----------------------------------------------------------------------


class WorkerTarget(NamedTuple):
    """The target of a worker's part of the loss, and its share of the total weight.

    For a loss over rows it is the target of the worker's rows. For a loss over pairs it holds all
    ``n_rare`` rows of the rarer class, followed by the worker's rows of the other class (``own``);
    ``share`` is then their share of that class's weight, and ``rare`` are the worker's rows of the
    rarer class.
    """

    target: Target
    share: float
    own: IntArray
    rare: IntArray
    n_rare: int = 0

    def whole(self, scores: FloatArray, rare: FloatArray) -> FloatArray:
        """Values of all rows of the rarer class, followed by those of the own rows."""
        return np.concatenate([rare, scores[self.own]])

    @property
    def row_share(self) -> FloatArray:
        """Weight of every row, as a share of the weight of all rows of all workers."""
        if not self.share:
            return np.zeros(self.target.n_rows)
        return self.share * self.target.share


class Evaluated(NamedTuple):
    """A loss at scores: its value, the sum of its slopes and of their absolutes, and the slopes.

    Slopes are derivatives in the scores. ``rare`` are those of all rows of the rarer class, which
    other workers may hold.
    """

    value: float
    total: float
    size: float
    slopes: FloatArray
    rare: FloatArray


NOTHING: FloatArray = np.empty(0)


def _placed_rows(data: Any, y: Array, weight: FloatArray | None, share: float) -> WorkerTarget:
    target = Target(y.astype(np.float64), weight)
    return WorkerTarget(target, share, np.arange(data.n_rows), np.empty(0, dtype=np.int64))


def _row_loss(data: Any, loss: Loss, part: WorkerTarget, scores: FloatArray) -> Evaluated:
    """The share of the loss on the worker's rows, and its slopes."""
    if not part.share:
        return _evaluated(0.0, np.zeros_like(scores))
    value, slopes = loss.value_grad(scores, part.target)
    return _evaluated(part.share * value, part.share * slopes)


def _evaluated(value: float, slopes: FloatArray, rare: FloatArray = NOTHING) -> Evaluated:
    return Evaluated(value, float(slopes.sum()), float(np.abs(slopes).sum()), slopes, rare)


def _summary(data: Any, evaluation: Evaluated) -> tuple[float, float, float, FloatArray]:
    """The fields of an evaluation that the driver needs."""
    return evaluation.value, evaluation.total, evaluation.size, evaluation.rare


def _row_curvature(data: Any, loss: Loss, part: WorkerTarget, scores: FloatArray) -> FloatArray:
    """Second derivatives of the worker's rows, times its share."""
    if not part.share:
        return np.zeros_like(scores)
    return part.share * CURVED.of(loss).curvature(scores, part.target).diagonal


def _row_shifted(
    data: Any, loss: Loss, part: WorkerTarget, scores: FloatArray, t: float, curved: bool
) -> tuple[float, float, float, float]:
    """Value, slope, sum of absolute slopes and curvature with t added to all scores."""
    if not part.share:
        return 0.0, 0.0, 0.0, 0.0
    shifts = shifts_of(loss, scores, part.target)
    shifted = shifts.at(t)
    curve = shifts.curve(t) if curved else 0.0
    return tuple(part.share * one for one in (*shifted, curve))  # type: ignore[return-value]


class Steps(NamedTuple):
    """Kinks of a loss in the constant added to all scores, one per row.

    ``values`` are the constants at which the slope of each row steps up, ``goal`` the weight of the
    rows that must have stepped at the best constant, ``mass`` the total weight.
    """

    values: FloatArray
    goal: float
    mass: float
    finite: bool


def _row_steps(data: Any, loss: Loss, part: WorkerTarget, scores: FloatArray) -> Steps | None:
    """Kinks of the worker's rows; None if the loss has none of this form."""
    if not part.share:
        return Steps(NOTHING, 0.0, 0.0, True)
    steps = shifts_of(loss, scores, part.target).steps()
    if steps is None:
        return None
    values, before = steps
    goal, mass = float(part.row_share @ before), float(part.row_share.sum())
    return Steps(values, goal, mass, bool(np.isfinite(values).all()))


def _steps_summary(data: Any, steps: Steps | None) -> tuple[float, float, float] | None:
    return None if steps is None else (steps.goal, steps.mass, float(steps.finite))


def _row_conjugate(data: Any, loss: Loss, part: WorkerTarget, slopes: FloatArray) -> float | None:
    """The share of the conjugate; None if there is no closed form."""
    if not part.share:
        return 0.0 if not slopes.any() else None
    conjugate = loss.conjugate(slopes / part.share, part.target)
    return None if conjugate is None else part.share * conjugate


def _row_tangent(data: Any, loss: Loss, part: WorkerTarget, scores: FloatArray) -> float | None:
    """The shard's part of the constant term of a plane below the exact loss; None without one."""
    if not part.share:
        return 0.0
    tangent = loss.tangent(scores, part.target)
    return None if tangent is None else part.share * tangent


def _row_centre(data: Any, loss: Loss, part: WorkerTarget, slopes: FloatArray) -> FloatArray:
    if not part.share:
        return np.zeros_like(slopes)
    return CENTRABLE.of(loss).centre(slopes / part.share, part.target)


# --- losses over pairs ----------------------------------------------------------------------


def _placed_pairs(
    data: Any,
    y: Array,
    weight: FloatArray | None,
    share: float,
    rare: float,
    n_rare: int,
    rare_weight: FloatArray | None,
) -> WorkerTarget:
    """The part of a pair loss that this worker evaluates."""
    # The target of the pairs: all rows of the rarer class, then the own rows of the other.
    own, mine = np.flatnonzero(y == -rare), np.flatnonzero(y == rare)
    labels = np.concatenate([np.full(n_rare, rare), np.full(own.size, -rare)])
    if weight is None or rare_weight is None:
        return WorkerTarget(Target(labels), share, own, mine, n_rare)
    weights = np.concatenate([rare_weight, weight[own]])
    return WorkerTarget(Target(labels, weights), share, own, mine, n_rare)


def _pair_loss(
    data: Any, loss: Loss, part: WorkerTarget, scores: FloatArray, rare: FloatArray
) -> Evaluated:
    """The loss of the pairs with the own rows; slopes of the rarer class are partial sums."""
    slopes, partial = np.zeros_like(scores), np.zeros(part.n_rare)
    if not part.share:
        return _evaluated(0.0, slopes, partial)
    # The mean over pairs with the own rows, times their share of the class.
    value, spread_slopes = loss.value_grad(part.whole(scores, rare), part.target)
    slopes[part.own] = part.share * spread_slopes[part.n_rare :]
    return _evaluated(part.share * value, slopes, part.share * spread_slopes[: part.n_rare])


def _pair_curvature(
    data: Any, loss: Loss, part: WorkerTarget, scores: FloatArray, rare: FloatArray
) -> Curvature | None:
    """Curvature of the pairs with the own rows; None if they have no weight."""
    if not part.share:
        return None
    return CURVED.of(loss).curvature(part.whole(scores, rare), part.target)


def _pair_diagonal(
    data: Any, curvature: Curvature | None, part: WorkerTarget, like: FloatArray
) -> Evaluated:
    """Diagonal of the curvature of the pairs with the own rows."""
    if curvature is None:
        return _evaluated(0.0, np.zeros_like(like), np.zeros(part.n_rare))
    return _by_class(part, like, curvature.diagonal)


def _pair_product(
    data: Any, curvature: Curvature | None, part: WorkerTarget, change: FloatArray, rare: FloatArray
) -> Evaluated:
    """Curvature of the pairs with the own rows, times a change of the scores."""
    if curvature is None:
        return _evaluated(0.0, np.zeros_like(change), np.zeros(part.n_rare))
    return _by_class(part, change, curvature.matvec(part.whole(change, rare)))


def _by_class(part: WorkerTarget, like: FloatArray, slopes: FloatArray) -> Evaluated:
    """Values of the own rows in their places, and those of the rarer class, times the share."""
    out = np.zeros_like(like)
    out[part.own] = part.share * slopes[part.n_rare :]
    return _evaluated(0.0, out, part.share * slopes[: part.n_rare])


def _class_total(data: Any, part: WorkerTarget, slopes: FloatArray, rare: bool) -> float:
    """Sum over the worker's rows of the rarer class, or of the other class."""
    return float(slopes[part.rare if rare else part.own].sum())


def _rare_values(data: Any, part: WorkerTarget, values: FloatArray) -> FloatArray:
    """Values of the worker's rows of the rarer class."""
    return values[part.rare]


def _joined(data: Any, part: WorkerTarget, own: FloatArray, rare: FloatArray) -> FloatArray:
    """Values of all rows of the worker, with those of the rarer class filled in."""
    out = own.copy()
    out[part.rare] = rare
    return out


# --- losses around a threshold --------------------------------------------------------------


class PartedThresholdLoss(Loss, Protocol):
    """A loss on sets of rows that is a sum over rows for a given threshold of the scores."""

    @property
    def width(self) -> float:
        """Smoothing width in score units."""

    def margins(self, target: Target) -> Any:
        """Shares and margins for a target, which the methods below take."""

    def raised(self, scores: FloatArray, y: FloatArray, margins: Any) -> FloatArray:
        """Scores with the margin added to those of the negatives."""

    def around_threshold(
        self, u: FloatArray, y: FloatArray, share: FloatArray, at: Threshold, margins: Any
    ) -> tuple[float, FloatArray]:
        """Contribution of rows with raised scores u to the loss, and its slopes."""

    def centre_of(
        self, dscores: FloatArray, y: FloatArray, share: FloatArray, margins: Any
    ) -> FloatArray:
        """Shift of the scores, per unit of width, that centres the smoothing at the slopes."""

    def flips_of(
        self, dscores: FloatArray, y: FloatArray, share: FloatArray, margins: Any, most: float
    ) -> Flips:
        """The label flips that the slopes correspond to."""

    def conjugate_of_flips(self, flips: Flips, margins: Any) -> float | None:
        """The conjugate at slopes that correspond to these flips."""


PARTED: Capability[Loss, PartedThresholdLoss] = Capability(
    PartedThresholdLoss, "a loss by sums around a threshold", LOSS
)


def _raised(
    data: Any, loss: PartedThresholdLoss, part: WorkerTarget, scores: FloatArray, margins: Any
) -> FloatArray:
    """Scores with the loss's margins added."""
    return loss.raised(scores, part.target.y, margins)


def _ramped(
    data: Any, values: FloatArray, part: WorkerTarget, cuts: FloatArray, width: float
) -> tuple[FloatArray, FloatArray]:
    """Weight below each threshold, and the number of kinks of that function below each."""
    ends = (0.0, width) if width else (0.0,)
    kinks = [sum(np.count_nonzero(values < cut - end) for end in ends) for cut in cuts]
    return ramp_sums(values, part.row_share, cuts, width), np.array(kinks, dtype=np.float64)


def _between(
    data: Any, values: FloatArray, part: WorkerTarget, low: float, high: float, width: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values and weights of rows with kinks between two thresholds, and sums of the others.

    The sums are the weight of rows below, the weight and weighted values of rows that are on the
    ramp throughout, and the weight of rows above.
    """
    # A value has kinks at itself and, with a ramp, at itself plus the width.
    share = part.row_share
    inside = (values >= low) & (values <= high)
    if width:
        inside |= (values + width >= low) & (values + width <= high)
    below = ~inside & (values + width < low)
    ramp = ~inside & ~below & (values < low)
    above = ~inside & (values > high)
    sums = [share[below].sum(), share[ramp].sum(), share[ramp] @ values[ramp], share[above].sum()]
    return values[inside], share[inside], np.array(sums)


def _next_above(data: Any, values: FloatArray, part: WorkerTarget, low: float) -> float:
    above = next_above(values, part.row_share, low)
    return float(above) if above > low else np.inf


def _threshold_loss(
    data: Any,
    loss: PartedThresholdLoss,
    part: WorkerTarget,
    raised: FloatArray,
    at: Threshold,
    margins: Any,
) -> Evaluated:
    """The worker's part of the loss around a threshold, and its slopes."""
    share = part.row_share
    value, slopes = loss.around_threshold(raised, part.target.y, share, at, margins)
    return _evaluated(value, slopes)


def _threshold_flips(
    data: Any,
    loss: PartedThresholdLoss,
    part: WorkerTarget,
    slopes: FloatArray,
    margins: Any,
    most: float,
) -> tuple[float, ...]:
    """The worker's sums of the label flips that slopes correspond to."""
    flips = loss.flips_of(slopes, part.target.y, part.row_share, margins, most)
    return tuple(float(one) for one in flips)


def _threshold_centre(
    data: Any, loss: PartedThresholdLoss, part: WorkerTarget, slopes: FloatArray, margins: Any
) -> FloatArray:
    """Shift of the scores, per unit of width, that centres the smoothing at the slopes."""
    return loss.centre_of(slopes, part.target.y, part.row_share, margins)


#: Functions that the driver calls by name on every worker, in addition to matrix products.
ROW_METHODS: dict[str, Callable[..., Any]] = {
    "constant": _constant,
    "combined": _combined,
    "total": _total,
    "dot": _dot,
    "extremes": _extremes,
    "placed_rows": _placed_rows,
    "row_loss": _row_loss,
    "summary": _summary,
    "row_curvature": _row_curvature,
    "row_shifted": _row_shifted,
    "row_steps": _row_steps,
    "steps_summary": _steps_summary,
    "row_conjugate": _row_conjugate,
    "row_tangent": _row_tangent,
    "row_centre": _row_centre,
    "placed_pairs": _placed_pairs,
    "pair_loss": _pair_loss,
    "pair_curvature": _pair_curvature,
    "pair_diagonal": _pair_diagonal,
    "pair_product": _pair_product,
    "rare_values": _rare_values,
    "joined": _joined,
    "raised": _raised,
    "ramped": _ramped,
    "between": _between,
    "next_above": _next_above,
    "threshold_loss": _threshold_loss,
    "threshold_flips": _threshold_flips,
    "threshold_centre": _threshold_centre,
    "class_total": _class_total,
}
