"""Sums of penalties with an exact prox."""

from __future__ import annotations

import math

import numpy as np

from auctor.core.errors import DataError, IncompatibleError, speaks_for_itself
from auctor.core.protocols import Penalty
from auctor.penalties.base import BasePenalty
from auctor.penalties.separable import L1, L2, Box, ElasticNet, NonNegative, Separable


class Sum(Separable):
    """The sum of separable penalties, itself separable: strengths add, boxes intersect.

    Examples
    --------
    >>> import numpy as np
    >>> Sum(L1(0.5), NonNegative()).prox(np.array([2.0, -3.0]), 1.0)
    array([1.5, 0. ])
    """

    @speaks_for_itself
    def __init__(self, *parts: Penalty) -> None:
        own_strengths = []
        for part in parts:
            if part.levels is None:
                raise IncompatibleError(
                    f"separable penalties; got {type(part).__name__}. The prox of such a sum does "
                    "not follow from those of its parts; write a penalty with its own prox."
                )
            own_strengths.append(part.levels)
        self.parts = parts
        # Shapes must agree before levels of one column are added to levels of another.
        try:
            np.broadcast_shapes(*(level.shape for levels in own_strengths for level in levels))
        except ValueError as error:
            raise DataError(
                "parts for the same number of columns", got=error, todo="Pass values of one length."
            ) from error
        # Strengths add, boxes intersect; start from no penalty and no box.
        l1, l2, lower, upper = Separable().levels
        for levels in own_strengths:
            l1, l2 = l1 + levels.l1, l2 + levels.l2
            lower, upper = np.maximum(lower, levels.lower), np.minimum(upper, levels.upper)
        super().__init__(l1, l2, lower=lower, upper=upper)

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [
            cls(L1(0.2), NonNegative()),
            cls(ElasticNet(0.3, 0.5), Box(-math.inf, 0.3), L2(0.1, weights=[1.0, 0.0, 2.0, 3.0])),
        ]
