"""Defaults that a new penalty inherits; a subclass defines `value`, `prox` and `violation`."""

from __future__ import annotations

import math
from typing import Self

from auctor.core.errors import ParameterError, speaks_for_itself
from auctor.core.types import BlockSpec, FloatArray, SeparableSpec, TreeSpec


class BasePenalty:
    """A convex, non-smooth penalty without a known conjugate unless a subclass says otherwise."""

    def __repr__(self) -> str:
        shown = {k: v for k, v in vars(self).items() if not k.startswith("_") and v is not None}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    @property
    def smooth(self) -> bool:
        """Whether it is a quadratic function of w, so that solvers may differentiate it."""
        return False

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``; infinite where unknown."""
        return math.inf

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        return 0.0

    @property
    def levels(self) -> SeparableSpec | None:
        """l1, l2 and bounds of a sum over coordinates, one number or array each; else ``None``."""
        return None

    def separable(self, d: int) -> SeparableSpec | None:
        """The arrays of a penalty that is a sum over coordinates, else ``None``."""
        return None

    def blocks(self, d: int) -> BlockSpec | None:
        """The arrays of a penalty on disjoint groups of coordinates, else ``None``."""
        return None

    def tree(self, d: int) -> TreeSpec | None:
        """The arrays of a penalty on disjoint or nested groups of coordinates, else ``None``."""
        return None

    @speaks_for_itself
    def with_strength(self, strength: float) -> Self:
        """A copy with another strength, made from the public attributes.

        Examples
        --------
        >>> from auctor.penalties import ElasticNet
        >>> ElasticNet(1.0, 0.9).with_strength(0.1)
        ElasticNet(strength=0.1, l1_ratio=0.9)
        """
        # Public attributes are the parameters of the constructor, by convention.
        params = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        if "strength" not in params:
            raise ParameterError(
                f"a penalty with a strength; got {type(self).__name__}. Pass one of L1, L2, "
                "ElasticNet, GroupL2 or TreeL2."
            )
        return type(self)(**(params | {"strength": strength}))

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests; add non-default parameters."""
        return [cls()]
