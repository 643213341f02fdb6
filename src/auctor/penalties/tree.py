"""The hierarchical norm: groups of descendants in a tree over the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from auctor.core.errors import ParameterError
from auctor.core.types import Array, FloatArray, SeparableSpec
from auctor.kernels import groups as kernels
from auctor.penalties.base import BasePenalty
from auctor.penalties.group import check_strength, check_weights
from auctor.penalties.separable import Weights


class TreeL2(BasePenalty):
    """Hierarchical norm ``strength sum_t weight_t |w_D(t)|_2``, D(t) the descendants of t with t.

    A column is non-zero only if its ancestors are (unless the data make one exactly zero). The
    prox is exact and takes one pass up the tree and one down, O(d).

    Parameters
    ----------
    strength : float >= 0
    parents : (d,) integer array
        The column above each column; -1 for columns at the top, of which there may be several.
    weights : (d,) array, optional
        Multiplier >= 0 of each column's group; 1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> TreeL2(0.5, [-1, 0, 0]).prox(np.array([0.3, 0.9, 0.8]), 1.0).round(4)
    array([0.0428, 0.057 , 0.0428])

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach, Proximal methods for hierarchical sparse coding, 2011.
    """

    def __init__(
        self, strength: float, parents: Sequence[int] | Array, *, weights: Weights = None
    ) -> None:
        self.strength, self.parents, self.weights = strength, parents, weights
        check_strength("TreeL2", strength)
        self._parent, self._order = _checked_tree(parents)
        d = self._parent.shape[0]
        weight = np.ones(d) if weights is None else check_weights("TreeL2", weights)
        if weight.shape != (d,):
            raise ParameterError(
                f"TreeL2 needs one weight per column ({d}); got {weight.size}. Pass one per column."
            )
        self._weight = strength * weight
        top, reach = np.empty(d + 1, dtype=bool), np.empty(d + 1)
        kernels.tree_surface(self._parent, self._order, self._weight, top, reach)
        self._top, self._reach = top[:d], reach[:d]

    def _checked(self, v: FloatArray) -> FloatArray:
        self.separable(v.shape[0])
        return v

    def value(self, w: FloatArray) -> float:
        """Penalty at w."""
        return kernels.tree_value(self._checked(w), self._parent, self._order, self._weight)

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        out = np.empty_like(v)
        kernels.tree_prox(self._checked(v), step, self._parent, self._order, self._weight, out)
        return out

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w; its norm is the distance."""
        out = np.empty_like(w)
        kernels.tree_violation(self._checked(w), grad, self._parent, self._order, self._weight, out)
        return out

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``: 0 in the dual ball, where the prox is 0; else infinite."""
        tree = self._parent, self._order, self._weight, self._top, self._reach
        return 0.0 if kernels.tree_in_ball(self._checked(v), *tree) else math.inf

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        tree = self._parent, self._order, self._weight, self._top
        return kernels.tree_dual_scale(self._checked(v), *tree)

    def separable(self, d: int) -> SeparableSpec | None:
        """``None``: groups tie coordinates together."""
        if d != self._parent.shape[0]:
            raise ParameterError(
                f"TreeL2 needs one parent per column ({d}); got {self._parent.shape[0]}. Pass an "
                "array of that length."
            )
        return None

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [
            cls(0.3, [-1, 0, 0, 1]),
            cls(0.2, [2, -1, 1, -1], weights=[1.0, 0.5, 2.0, 3.0]),
            cls(0.2, [-1, 0, 1, 0], weights=[0.0, 0.5, 0.0, 1.0]),
        ]


def _checked_tree(parents: Sequence[int] | Array) -> tuple[Array, Array]:
    """Parents as unsigned indices, d for the virtual root, and the nodes with children first."""
    try:
        array = np.asarray(parents)
    except ValueError as error:
        raise ParameterError(
            "TreeL2 needs parents to be one integer per column; got lists of several lengths. "
            "Pass the number of the column above, -1 at the top."
        ) from error
    d = array.shape[0] if array.ndim == 1 else 0
    if d == 0 or array.dtype.kind not in "iu":
        raise ParameterError(
            f"TreeL2 needs parents to be one integer per column; got shape {array.shape} of "
            f"{array.dtype}. Pass the number of the column above, -1 at the top."
        )
    outside = np.flatnonzero((array < -1) | (array >= d))
    if outside.size:
        t = outside[0]
        raise ParameterError(
            f"TreeL2 needs parents from -1 to {d - 1}; got {array[t]} for column {t}. Number the "
            "columns from 0, with -1 at the top."
        )
    parent = np.where(array < 0, d, array).astype(np.uint32)
    order = np.empty(d, dtype=np.uint32)
    count = kernels.leaves_first(parent, order)
    if count < d:
        on_cycle = np.setdiff1d(np.arange(d), order[:count])[0]
        raise ParameterError(
            f"TreeL2 needs parents that form a tree; got a cycle that leads back to column "
            f"{on_cycle}. Give one column of it the parent -1."
        )
    return parent, order
