"""Penalties that are sums over coordinates: ``l1_j |w_j| + l2_j/2 w_j^2`` on a box."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from auctor.core.checks import check_real, check_vector
from auctor.core.errors import DataError, ParameterError, speaks_for_itself
from auctor.core.types import FloatArray, SeparableSpec, TreeSpec
from auctor.kernels.penalties import separable as kernels
from auctor.penalties.base import BasePenalty

Weights: TypeAlias = FloatArray | Sequence[float] | None


class Separable(BasePenalty):
    """A penalty given by one `SeparableSpec`; subclasses fill in the four arrays.

    Parameters
    ----------
    l1, l2 : float or (d,) array, >= 0
        Strength of ``|w_j|`` and of ``w_j^2 / 2``.
    lower, upper : float or (d,) array
        Bounds of w; lower <= 0 <= upper is not required.
    """

    @speaks_for_itself
    def __init__(
        self,
        l1: float | FloatArray = 0.0,
        l2: float | FloatArray = 0.0,
        *,
        lower: float | FloatArray = -math.inf,
        upper: float | FloatArray = math.inf,
    ) -> None:
        self._levels = SeparableSpec(
            _checked("l1", l1),
            _checked("l2", l2),
            _checked("lower", lower, low=-math.inf, high=sys.float_info.max),
            _checked("upper", upper, low=-sys.float_info.max, high=math.inf),
        )
        low, high = self._levels[2:]
        if not (low <= high).all():
            raise ParameterError(f"`lower` <= `upper`; got {low} and {high}. Exchange the two.")
        # The arrays for d columns are built on first use and cached.
        self._spec: SeparableSpec | None = None

    @property
    def levels(self) -> SeparableSpec:
        """The checked l1, l2, lower and upper as they were given: one number, or one per column."""
        return self._levels

    @speaks_for_itself
    def separable(self, d: int) -> SeparableSpec:
        """The four arrays for d coordinates."""
        if self._spec is None or self._spec.l1.shape[0] != d:
            for level in self._levels:
                if level.ndim and level.shape != (d,):
                    raise DataError(
                        f"one value per column ({d}); got {level.shape[0]}. Pass as many."
                    )
            self._spec = SeparableSpec(*(np.full(d, level) for level in self._levels))
        return self._spec

    def tree(self, d: int) -> TreeSpec | None:
        """The l1 part as a tree of d columns without edges; ``None`` without l1 or with a box."""
        spec = self.separable(d)
        if not spec.l1.any() or np.isfinite((spec.lower, spec.upper)).any():
            return None
        # Every column is a tree of its own: its parent is the virtual root d.
        alone = np.full(d, d, dtype=np.uint32)
        return TreeSpec(alone, np.arange(d, dtype=np.uint32), spec.l1)

    @property
    def smooth(self) -> bool:
        """Whether it is a quadratic that solvers may differentiate."""
        l1, _, lower, upper = self._levels
        return not l1.any() and bool(np.isinf(lower).all() and np.isinf(upper).all())

    def value(self, w: FloatArray) -> float:
        """Penalty at w; infinite outside the box."""
        return kernels.separable_value(w, *self.separable(w.shape[0]))

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        out = np.empty_like(v)
        kernels.separable_prox(v, step, *self.separable(v.shape[0]), out)
        return out

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w."""
        out = np.empty_like(w)
        kernels.separable_violation(w, grad, *self.separable(w.shape[0]), out)
        return out

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``."""
        return kernels.separable_conjugate(v, *self.separable(v.shape[0]))

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        return kernels.separable_dual_scale(v, *self.separable(v.shape[0]))

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls(0.2, 0.5), cls(0.1, lower=-0.3, upper=0.5)]


def _checked(
    name: str, level: object, *, low: float = 0.0, high: float = sys.float_info.max
) -> FloatArray:
    """Return one number or one per column, all in [low, high], or raise."""
    # A plain number in range, the usual case, needs no conversion.
    if isinstance(level, float) and low <= level <= high:
        return np.array(level)
    try:
        array = np.asarray(level, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"`{name}` to be numbers; got {level!r}. Pass one number, or one per column."
        ) from error
    if array.ndim > 1 or not ((array >= low) & (array <= high)).all():
        raise ParameterError(
            f"`{name}` in [{low:.3g}, {high:.3g}]; got {level}. Pass numbers in that range."
        )
    return array


def _level(strength: float, weights: Weights) -> float | FloatArray:
    """``strength`` times the per-column weights."""
    check_real("strength", strength, low=0.0, high=math.inf)
    if math.isinf(strength):
        raise ParameterError("a finite strength; got inf. Pass a number.")
    if weights is None:
        return float(strength)
    checked = check_vector("weights", weights)
    if (checked < 0).any():
        raise ParameterError(f"`weights` >= 0; got {checked.min():g}. Pass non-negative weights.")
    with np.errstate(over="ignore"):  # an infinite product is refused by the check of the range
        return float(strength) * checked


class NoPenalty(Separable):
    """No penalty at all."""

    def __init__(self) -> None:
        super().__init__()

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls()]


class L2(Separable):
    """Ridge: ``strength/2 sum_j weight_j w_j^2``.

    Parameters
    ----------
    strength : float >= 0
    weights : (d,) array, optional
        Per-column multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> L2(0.1).value(np.array([1.0, 2.0]))
    0.25
    """

    @speaks_for_itself
    def __init__(self, strength: float = 1.0, *, weights: Weights = None) -> None:
        self.strength, self.weights = strength, weights
        super().__init__(l2=_level(strength, weights))

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls(), cls(0.3), cls(0.3, weights=[1.0, 0.0, 2.0, 0.5])]


class L1(Separable):
    """Lasso: ``strength sum_j weight_j |w_j|``.

    Parameters
    ----------
    strength : float >= 0
    weights : (d,) array, optional
        Per-column multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> L1(0.5).prox(np.array([2.0, 0.1]), 1.0)
    array([1.5, 0. ])
    """

    @speaks_for_itself
    def __init__(self, strength: float = 1.0, *, weights: Weights = None) -> None:
        self.strength, self.weights = strength, weights
        super().__init__(l1=_level(strength, weights))

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls(), cls(0.3), cls(0.3, weights=[1.0, 0.0, 2.0, 0.5])]


class ElasticNet(Separable):
    """``strength (l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2)``, with per-column weights.

    Parameters
    ----------
    strength : float >= 0
    l1_ratio : float in [0, 1]
    weights : (d,) array, optional
        Per-column multipliers of both parts.
    """

    @speaks_for_itself
    def __init__(
        self, strength: float = 1.0, l1_ratio: float = 0.5, *, weights: Weights = None
    ) -> None:
        self.strength, self.l1_ratio, self.weights = strength, l1_ratio, weights
        ratio = check_real("l1_ratio", l1_ratio, low=0.0, high=1.0)
        level = _level(strength, weights)
        super().__init__(ratio * level, (1.0 - ratio) * level)

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls(), cls(0.3, 0.9), cls(0.2, 0.1, weights=[1.0, 0.0, 2.0, 0.5])]


class BoundedElasticNet(Separable):
    """``strength sum_j (l1_j |w_j| + l2_j/2 w_j^2)`` on a box that does not depend on the strength.

    Parameters
    ----------
    strength : float >= 0
    l1, l2 : float or (d,) array, >= 0
        Per-column weights of the two parts.
    lower, upper : float or (d,) array
        Bounds of the weights. ``lower=0`` keeps a weight from being negative.

    Examples
    --------
    >>> import numpy as np
    >>> BoundedElasticNet(0.5, lower=[0.0, -np.inf]).prox(np.array([-2.0, -2.0]), 1.0)
    array([ 0. , -1.5])
    """

    @speaks_for_itself
    def __init__(
        self,
        strength: float = 1.0,
        l1: float | Sequence[float] | FloatArray = 1.0,
        l2: float | Sequence[float] | FloatArray = 0.0,
        *,
        lower: float | Sequence[float] | FloatArray = -math.inf,
        upper: float | Sequence[float] | FloatArray = math.inf,
    ) -> None:
        self.strength, self.l1, self.l2 = strength, l1, l2
        self.lower, self.upper = lower, upper
        level = _level(strength, None)
        super().__init__(
            level * np.asarray(l1, dtype=np.float64),
            level * np.asarray(l2, dtype=np.float64),
            lower=np.asarray(lower, dtype=np.float64),
            upper=np.asarray(upper, dtype=np.float64),
        )

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls(), cls(0.3, 0.5, 0.2, lower=0.0), cls(0.2, upper=0.4)]


class Box(Separable):
    """Confines every w_j to ``[lower_j, upper_j]``.

    Parameters
    ----------
    lower, upper : float or (d,) array
    """

    def __init__(self, lower: float | FloatArray = -1.0, upper: float | FloatArray = 1.0) -> None:
        self.lower, self.upper = lower, upper
        super().__init__(lower=lower, upper=upper)

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls(), cls(0.1, 0.2), cls(-np.inf, 0.4)]


class NonNegative(Separable):
    """Confines w to ``w >= 0``."""

    def __init__(self) -> None:
        super().__init__(lower=0.0)

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls()]
