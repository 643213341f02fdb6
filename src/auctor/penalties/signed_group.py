"""Group lasso with given signs of some weights."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from auctor.core.errors import ParameterError, speaks_for_itself
from auctor.core.types import Array, FloatArray
from auctor.penalties.base import BasePenalty
from auctor.penalties.group import GroupL2, Groups
from auctor.penalties.separable import Weights


class SignedGroupL2(BasePenalty):
    """`GroupL2` on the cone of weights with given signs: ``sign_j w_j >= 0`` where one is given.

    As the norm depends only on absolute values, the prox is that of `GroupL2` at the projection of
    v onto the cone, and a dual point is feasible if its projection is. Every operation costs O(d).

    Parameters
    ----------
    strength : float >= 0
    groups, weights, l1_ratio, free
        As in `GroupL2`.
    signs : (d,) array of -1, 0 and 1
        1 keeps a weight from being negative, -1 from being positive, 0 leaves it free.

    Examples
    --------
    >>> import numpy as np
    >>> penalty = SignedGroupL2(1.0, [[0, 1], [2]], [1, 0, -1], weights=[1.0, 1.0])
    >>> penalty.prox(np.array([-3.0, 4.0, 2.0]), 1.0)
    array([0., 3., 0.])
    """

    @speaks_for_itself
    def __init__(
        self,
        strength: float,
        groups: Groups,
        signs: Sequence[int] | Array,
        *,
        weights: Weights = None,
        l1_ratio: float = 0.0,
        free: Sequence[int] | None = None,
    ) -> None:
        self.strength, self.groups, self.signs = strength, groups, signs
        self.weights, self.l1_ratio, self.free = weights, l1_ratio, free
        self._norm = GroupL2(strength, groups, weights=weights, l1_ratio=l1_ratio, free=free)
        array = np.asarray(signs)
        if array.ndim != 1 or not np.isin(array, (-1, 0, 1)).all():
            raise ParameterError(
                f"`signs` to hold -1, 0 or 1 for every column; got {signs!r}. Pass 1 for weights "
                "that may not be negative, 0 for free ones."
            )
        # Raises if the groups do not cover as many columns as there are signs.
        self._norm.blocks(array.size)
        self._lower = np.where(array > 0, 0.0, -math.inf)
        self._upper = np.where(array < 0, 0.0, math.inf)

    def _projected(self, v: FloatArray) -> FloatArray:
        """The projection of v onto the cone."""
        return np.clip(v, self._lower, self._upper)

    def value(self, w: FloatArray) -> float:
        """Penalty at w; infinite where a sign is wrong."""
        inside = bool((self._projected(w) == w).all())
        return self._norm.value(w) if inside else math.inf

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        return self._norm.prox(self._projected(v), step)

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w, plus that of w to the cone.

        At a weight of zero with a sign, a slope that points out of the cone counts as zero.
        """
        inside = self._projected(w)
        # Where w is 0 the cone adds its normals: only the part of -grad inside the cone counts.
        slope = np.where(inside == 0.0, -self._projected(-grad), grad)
        return self._norm.violation(inside, slope) + np.abs(w - inside)

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``: 0 where the projection is in the dual ball."""
        return self._norm.conjugate(self._projected(v))

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        return self._norm.dual_scale(self._projected(v))

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [
            cls(0.3, 2, [1, 0, -1, 0]),
            cls(0.2, [7, 3, 7, 3], [1, 1, 1, 1], weights=[1.0, 2.0]),
            cls(0.2, [[0, 2], [1]], [0, -1, 1, 1], l1_ratio=0.4, free=[3]),
        ]
