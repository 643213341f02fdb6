"""The same penalty on the weights of each of several classes."""

from __future__ import annotations

from typing import Self

import numpy as np

from auctor.core.protocols import Penalty
from auctor.core.types import FloatArray, SeparableSpec
from auctor.penalties.base import BasePenalty
from auctor.penalties.group import GroupL2
from auctor.penalties.separable import L1, ElasticNet


class Repeated(BasePenalty):
    """The sum of one penalty over equal parts of w: ``penalty(w_1) + ... + penalty(w_K)``.

    Parameters
    ----------
    times : int
        Number of parts, such as classes.

    Examples
    --------
    >>> import numpy as np
    >>> Repeated(L1(0.5), 2).value(np.array([1.0, 0.0, -2.0, 1.0]))
    2.0
    """

    def __init__(self, penalty: Penalty, times: int) -> None:
        self.penalty, self.times = penalty, times

    @classmethod
    def of(cls, penalty: Penalty, times: int) -> Penalty:
        """The repeated penalty; the penalty itself if it has the same levels for all columns."""
        # One level for all columns: the sum over all parts is the penalty on the whole vector.
        if penalty.levels is not None and penalty.levels.uniform:
            return penalty
        return cls(penalty, times)

    def _parts(self, w: FloatArray) -> FloatArray:
        return w.reshape(self.times, -1)

    @property
    def smooth(self) -> bool:
        """Whether it is a quadratic that solvers may differentiate."""
        return self.penalty.smooth

    def value(self, w: FloatArray) -> float:
        """Penalty at w."""
        return float(sum(self.penalty.value(part) for part in self._parts(w)))

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        return np.concatenate([self.penalty.prox(part, step) for part in self._parts(v)])

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w."""
        pairs = zip(self._parts(w), self._parts(grad), strict=True)
        return np.concatenate([self.penalty.violation(part, slope) for part, slope in pairs])

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``."""
        return float(sum(self.penalty.conjugate(part) for part in self._parts(v)))

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        return min(self.penalty.dual_scale(part) for part in self._parts(v))

    def separable(self, d: int) -> SeparableSpec | None:
        """The arrays of a penalty that is a sum over coordinates."""
        spec = self.penalty.separable(d // self.times)
        return None if spec is None else SeparableSpec(*(np.tile(a, self.times) for a in spec))

    def with_strength(self, strength: float) -> Self:
        """A copy with another strength."""
        return type(self)(self.penalty.with_strength(strength), self.times)

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [cls(L1(0.3), 2), cls(ElasticNet(0.2, 0.4), 4), cls(GroupL2(0.3, [[0, 1]]), 2)]
