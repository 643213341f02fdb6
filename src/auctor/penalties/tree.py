"""The hierarchical norm: groups of descendants in a tree over the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from auctor.core.checks import check_int
from auctor.core.errors import ParameterError, speaks_for_itself
from auctor.core.types import Array, FloatArray, SeparableSpec, TreeSpec
from auctor.kernels.penalties import trees as kernels
from auctor.penalties.base import BasePenalty
from auctor.penalties.group import check_strength, check_weights, checked_columns
from auctor.penalties.separable import Weights


class TreeNorm(BasePenalty):
    """``sum_t weight_t |w_D(t)|_2`` for d columns; D(t) are the nodes at or below t in a tree."""

    def __init__(self, spec: TreeSpec, d: int) -> None:
        self._spec, self._d = spec, d
        self._cached_top_nodes: tuple[Array, FloatArray] | None = None

    def _top_nodes(self) -> tuple[Array, FloatArray]:
        """Nodes with only weights of 0 above, and the largest weight at or below each node."""
        if self._cached_top_nodes is None:
            m = self._spec.weight.shape[0]
            top, reach = np.empty(m + 1, dtype=bool), np.empty(m + 1)
            kernels.tree_top_nodes(*self._spec, top, reach)
            self._cached_top_nodes = top[:m], reach[:m]
        return self._cached_top_nodes

    @speaks_for_itself
    def tree(self, d: int) -> TreeSpec:
        """The nested groups of d columns."""
        if d != self._d:
            raise ParameterError(f"one parent per column ({d}); got {self._d}. Pass as many.")
        return self._spec

    def value(self, w: FloatArray) -> float:
        """Penalty at w."""
        return kernels.tree_value(w, *self.tree(w.shape[0]))

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        out = np.empty_like(v)
        kernels.tree_prox(v, step, *self.tree(v.shape[0]), out)
        return out

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w; its Euclidean norm is the distance."""
        out = np.empty_like(w)
        kernels.tree_violation(w, grad, *self.tree(w.shape[0]), out)
        return out

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``: 0 in the dual ball, where the prox is 0; else infinite."""
        inside = kernels.tree_in_ball(v, *self.tree(v.shape[0]), *self._top_nodes())
        return 0.0 if inside else math.inf

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        return kernels.tree_dual_scale(v, *self.tree(v.shape[0]), self._top_nodes()[0])

    def separable(self, d: int) -> SeparableSpec | None:
        """``None``: the norm of a group is not a sum over its coordinates."""
        self.tree(d)
        return None


class TreeL2(TreeNorm):
    """Hierarchical norm ``strength sum_t weight_t |w_D(t)|_2``, D(t) the nodes at or below t.

    A column is non-zero only if its ancestors are (unless an ancestor's own weight happens to be
    exactly zero). The prox is exact and takes one pass up the tree and one down, O(d).

    Parameters
    ----------
    strength : float >= 0
    parents : (m,) integer array
        The node above each node; -1 for nodes at the top, of which there may be several.
    weights : (m,) array, optional
        Multiplier >= 0 of each node's group; 1 by default.
    columns : int, optional
        The first nodes are the columns: this many, all by default. Further nodes hold no column of
        their own, like the inner nodes of a taxonomy whose columns are leaves; they have weights
        too.

    Examples
    --------
    >>> import numpy as np
    >>> TreeL2(0.5, [-1, 0, 0]).prox(np.array([0.3, 0.9, 0.8]), 1.0).round(4)
    array([0.0428, 0.057 , 0.0428])
    >>> nested = TreeL2.from_groups(1.0, [[0, 1], [0, 1, 2]], columns=3)
    >>> nested.value(np.array([3.0, 4.0, 0.0]))
    10.0

    References
    ----------
    Jenatton, Mairal, Obozinski, Bach, Proximal methods for hierarchical sparse coding, 2011.
    """

    @speaks_for_itself
    def __init__(
        self,
        strength: float,
        parents: Sequence[int] | Array,
        *,
        weights: Weights = None,
        columns: int | None = None,
    ) -> None:
        self.strength, self.parents, self.weights = strength, parents, weights
        self.columns = columns
        check_strength(strength)
        parent, order = _checked_tree(parents)
        m = parent.shape[0]
        d = m if columns is None else check_int("columns", columns, low=1)
        if d > m:
            raise ParameterError(
                f"one parent per column ({d}); got {m}. Pass those of all nodes, columns first."
            )
        weight = np.ones(m) if weights is None else check_weights(weights)
        if weight.shape != (m,):
            raise ParameterError(f"one weight per node ({m}); got {weight.size}. Pass as many.")
        self._unit = weight
        super().__init__(TreeSpec(parent, order, strength * weight), d)

    @classmethod
    @speaks_for_itself
    def from_groups(
        cls,
        strength: float,
        groups: Sequence[Sequence[int]],
        *,
        columns: int,
        weights: Weights = None,
    ) -> TreeL2:
        """The norm of groups of columns that are nested or disjoint.

        Parameters
        ----------
        strength : float >= 0
        groups : list of lists of columns
            Any two groups are disjoint or nested. Columns in no group are not penalised.
        columns : int
            Number of columns.
        weights : (n_groups,) array, optional
            Multipliers >= 0; 1 by default.
        """
        check_int("columns", columns, low=1)
        lists = [checked_columns(f"group {k}", g) for k, g in enumerate(groups)]
        # above[j] is the smallest group so far that holds column j, as a node number; -1 for none.
        above = np.full(columns, -1)
        parents = np.full(columns + len(lists), -1)
        # Larger groups first: the parent of a group is the last one that covered its columns.
        for k in sorted(range(len(lists)), key=lambda k: -lists[k].size):
            group = lists[k]
            if not group.size or group.max() >= columns or np.unique(group).size < group.size:
                raise ParameterError(
                    f"groups of the columns 0 to {columns - 1}, each once; got group {k} with "
                    f"{group[:4].tolist()}. Correct this group or leave it out."
                )
            if (above[group] != above[group[0]]).any():
                raise ParameterError(
                    f"groups that are nested or disjoint; got group {k}, which shares only some of "
                    "its columns with another. Split one of the two groups."
                )
            parents[columns + k] = above[group[0]]
            above[group] = columns + k
        # Columns have no penalty of their own: weight 0.
        parents[:columns] = above
        unit = np.ones(len(lists)) if weights is None else check_weights(weights)
        return cls(
            strength, parents, weights=np.concatenate((np.zeros(columns), unit)), columns=columns
        )

    @speaks_for_itself
    def with_strength(self, strength: float) -> Self:
        """A copy with another strength that shares the tree."""
        other = copy(self)
        other.strength = check_strength(strength)
        # The parts of a copy are its own to change.
        other._spec = self._spec._replace(weight=strength * self._unit)  # noqa: SLF001
        other._cached_top_nodes = None  # noqa: SLF001
        return other

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [
            cls(0.3, [-1, 0, 0, 1]),
            cls(0.2, [2, -1, 1, -1], weights=[1.0, 0.5, 2.0, 3.0]),
            cls(0.2, [-1, 0, 1, 0], weights=[0.0, 0.5, 0.0, 1.0]),
            cls.from_groups(0.2, [[0, 1], [2, 3], [0, 1, 2, 3], [3]], columns=4),
        ]


def _checked_tree(parents: Sequence[int] | Array) -> tuple[Array, Array]:
    """Parents as unsigned numbers (m stands for the root), and the nodes with children first."""
    try:
        array = np.asarray(parents)
    except ValueError as error:
        raise ParameterError(
            "`parents` to be one integer per column; got lists of several lengths. Pass the number "
            "of the column above, -1 at the top."
        ) from error
    d = array.shape[0] if array.ndim == 1 else 0
    if d == 0 or array.dtype.kind not in "iu":
        raise ParameterError(
            f"`parents` to be one integer per column; got shape {array.shape} of {array.dtype}. "
            "Pass the number of the column above, -1 at the top."
        )
    outside = np.flatnonzero((array < -1) | (array >= d))
    if outside.size:
        t = outside[0]
        raise ParameterError(
            f"`parents` from -1 to {d - 1}; got {array[t]} for column {t}. Use -1 at the top."
        )
    # The number of nodes stands for the virtual root.
    parent = np.where(array < 0, d, array).astype(np.uint32)
    order = np.empty(d, dtype=np.uint32)
    count = kernels.leaves_first(parent, order)
    if count < d:
        on_cycle = np.setdiff1d(np.arange(d), order[:count])[0]
        raise ParameterError(
            f"`parents` that form a tree; got a cycle that leads back to column {on_cycle}. Give "
            "one column of it the parent -1."
        )
    return parent, order
