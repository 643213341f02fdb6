"""Sums of penalties with an exact prox."""

from __future__ import annotations

import math

from auctor.core.errors import IncompatibleError
from auctor.core.types import SeparableSpec
from auctor.penalties.base import BasePenalty
from auctor.penalties.separable import L1, L2, Box, ElasticNet, NonNegative, Separable


class Sum(Separable):
    """The sum of separable penalties, itself separable: strengths add, boxes intersect.

    Parameters
    ----------
    *parts : Separable penalties

    Examples
    --------
    >>> import numpy as np
    >>> Sum(L1(0.5), NonNegative()).prox(np.array([2.0, -3.0]), 1.0)
    array([1.5, 0. ])
    """

    def __init__(self, *parts: Separable) -> None:
        for part in parts:
            if not isinstance(part, Separable):
                raise IncompatibleError(
                    f"Sum needs separable penalties; got {type(part).__name__}. The prox of such "
                    "a sum is not made of its parts'; write a penalty with its own prox."
                )
        super().__init__()
        self.parts = parts

    @property
    def smooth(self) -> bool:
        """Whether it is a quadratic that solvers may differentiate."""
        return all(part.smooth for part in self.parts)

    def separable(self, d: int) -> SeparableSpec:
        """The four arrays for d coordinates."""
        if self._spec is None or self._spec.l1.shape[0] != d:
            l1, l2, lower, upper = Separable().separable(d)
            for part in self.parts:
                spec = part.separable(d)
                l1, l2 = l1 + spec.l1, l2 + spec.l2
                lower, upper = lower.clip(min=spec.lower), upper.clip(max=spec.upper)
            self._spec = Separable(l1, l2, lower=lower, upper=upper).separable(d)
        return self._spec

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [
            cls(L1(0.2), NonNegative()),
            cls(ElasticNet(0.3, 0.5), Box(-math.inf, 0.3), L2(0.1, weights=[1.0, 0.0, 2.0, 3.0])),
        ]
