"""Penalties on disjoint groups of columns that make whole groups zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from typing import Any, Self, TypeAlias

import numpy as np

from auctor.core.checks import check_int, check_real, check_vector
from auctor.core.errors import ParameterError, speaks_for_itself
from auctor.core.types import Array, BlockSpec, FloatArray, IntArray, SeparableSpec, TreeSpec
from auctor.kernels.penalties import groups as kernels
from auctor.penalties.base import BasePenalty
from auctor.penalties.separable import Weights

Groups: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]] | Array


class GroupL2(BasePenalty):
    """Group lasso: ``strength sum_g weight_g |w_g|_2``, which makes whole groups zero.

    With ``l1_ratio`` r the sparse-group lasso,
    ``strength ((1 - r) sum_g weight_g |w_g|_2 + r |w|_1)``. Every operation costs O(d).

    Parameters
    ----------
    strength : float >= 0
    groups : int, (d,) integer array, or list of lists of columns
        A size (each run of that many columns is a group), a label per column, or the groups
        themselves. Groups are not empty and share no column.
    weights : (n_groups,) array, optional
        Multipliers >= 0 in the order of the groups (of the sorted labels); the square roots of
        the group sizes by default.
    l1_ratio : float in [0, 1]
    free : list of columns, optional
        Unpenalised columns. Every column that is in no group must be listed here.

    Examples
    --------
    >>> import numpy as np
    >>> penalty = GroupL2(1.0, [[0, 1], [2]], weights=[2.0, 1.0])
    >>> penalty.value(np.array([3.0, 4.0, -1.0]))
    11.0
    >>> penalty.prox(np.array([3.0, 4.0, -1.0]), 1.0)
    array([ 1.8,  2.4, -0. ])

    References
    ----------
    Yuan, Lin, Model selection and estimation in regression with grouped variables, 2006; Simon,
    Friedman, Hastie, Tibshirani, A sparse-group lasso, 2013.
    """

    @speaks_for_itself
    def __init__(
        self,
        strength: float,
        groups: Groups,
        *,
        weights: Weights = None,
        l1_ratio: float = 0.0,
        free: Sequence[int] | None = None,
    ) -> None:
        self.strength, self.groups, self.weights = strength, groups, weights
        self.l1_ratio, self.free = l1_ratio, free
        check_strength(strength)
        check_real("l1_ratio", l1_ratio, low=0.0, high=1.0)
        self._free = np.zeros(0, dtype=np.int64) if free is None else checked_columns("free", free)
        self._size, self._lists = _parse(groups)
        if self._size and self._free.size:
            raise ParameterError(
                f"`groups` as lists or labels to use `free`; got {groups!r}. Pass lists of columns."
            )
        self._weights = None if weights is None else check_weights(weights)
        # The arrays depend on the number of columns: they are built on first use and cached.
        self._spec: BlockSpec | None = None
        self._spec_columns = -1
        self._tree: TreeSpec | None = None
        self._n_groups = 0
        # Lists and labels fix the number of columns, so mistakes in them are found here.
        if not self._size:
            _check_disjoint([*self._lists, self._free])
            self.blocks(sum(g.size for g in self._lists) + self._free.size)

    def blocks(self, d: int) -> BlockSpec:
        """The groups of d columns with their strengths; each free column is a group of weight 0."""
        if self._spec is None or self._spec_columns != d:
            self._spec, self._spec_columns = self._build(d), d
        return self._spec

    def tree(self, d: int) -> TreeSpec:
        """The groups as a tree: columns with their l1 parts, and one node above each group."""
        if self._tree is None or self._tree.weight.shape[0] - self._n_groups != d:
            spec = self.blocks(d)
            bounds: IntArray = spec.indptr.astype(np.int64)
            size = bounds[1:] - bounds[:-1]
            self._n_groups = size.size
            # Nodes 0 to d - 1 are the columns, the others the groups; the parent of a group is the
            # root.
            parent = np.full(d + size.size, d + size.size, dtype=np.uint32)
            parent[spec.indices] = np.repeat(np.arange(d, d + size.size), size)
            weight = np.concatenate((np.empty(d), spec.weight))
            weight[spec.indices] = np.repeat(spec.l1, size)
            order = np.arange(d + size.size, dtype=np.uint32)
            self._tree = TreeSpec(parent, order, weight)
        return self._tree

    @speaks_for_itself
    def with_strength(self, strength: float) -> Self:
        """A copy with another strength that shares the groups."""
        other = copy(self)
        other.strength = check_strength(strength)
        # The parts of a copy are its own to change.
        other._tree = None  # noqa: SLF001
        if self._spec is not None:
            other._spec = other._levels(self._spec)  # noqa: SLF001
        return other

    def _levels(self, spec: BlockSpec) -> BlockSpec:
        """The groups of ``spec`` with the weights of this strength."""
        # The last blocks are the free columns, with all levels 0.
        ratio, free = self.l1_ratio, np.zeros(self._free.size)
        size = np.diff(spec.indptr)[: spec.weight.size - free.size].astype(np.float64)
        unit = np.sqrt(size) if self._weights is None else self._weights
        return spec._replace(
            weight=np.concatenate((self.strength * (1.0 - ratio) * unit, free)),
            l1=np.concatenate((np.full(size.size, self.strength * ratio), free)),
        )

    @speaks_for_itself
    def _build(self, d: int) -> BlockSpec:
        lists = self._lists
        if self._size:
            if d % self._size:
                raise ParameterError(
                    f"a multiple of {self._size} columns; got {d}. Pass lists or labels."
                )
            lists = list(np.arange(d).reshape(-1, self._size))
        _check_cover(lists, self._free, d)
        size = np.array([g.size for g in lists], dtype=np.float64)
        if self._weights is not None and self._weights.shape != size.shape:
            raise ParameterError(
                f"one weight per group ({size.size}); got {self._weights.size}. Pass as many."
            )
        # Groups first, then one block for each free column.
        counts = np.concatenate(([0], size, np.ones(self._free.size)))
        none = np.zeros(counts.size - 1)
        return self._levels(
            BlockSpec(
                indptr=np.cumsum(counts).astype(np.uint32),
                indices=np.concatenate([*lists, self._free]).astype(np.uint32),
                weight=none,
                l1=none,
            )
        )

    def value(self, w: FloatArray) -> float:
        """Penalty at w."""
        return kernels.group_value(w, *self.blocks(w.shape[0]))

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """``argmin_x penalty(x) + |x - v|^2 / (2 step)``."""
        out = np.empty_like(v)
        kernels.group_prox(v, step, *self.blocks(v.shape[0]), out)
        return out

    def violation(self, w: FloatArray, grad: FloatArray) -> FloatArray:
        """Distance of ``-grad`` to the subdifferential at w; that of a group is its norm."""
        out = np.empty_like(w)
        kernels.group_violation(w, grad, *self.blocks(w.shape[0]), out)
        return out

    def conjugate(self, v: FloatArray) -> float:
        """``sup_w v.w - penalty(w)``: 0 in the dual ball, infinite outside."""
        return 0.0 if kernels.group_in_ball(v, *self.blocks(v.shape[0])) else math.inf

    def dual_scale(self, v: FloatArray) -> float:
        """Largest c in [0, 1] with a finite ``conjugate(c v)``."""
        return kernels.group_dual_scale(v, *self.blocks(v.shape[0]))

    def separable(self, d: int) -> SeparableSpec | None:
        """``None``: the norm of a group is not a sum over its coordinates."""
        self.blocks(d)
        return None

    @classmethod
    def examples(cls) -> list[BasePenalty]:
        """Instances the conformance kit tests."""
        return [
            cls(0.3, 2),
            cls(0.2, [7, 3, 7, 3], weights=[1.0, 2.0]),
            cls(0.2, [[0, 2], [1]], l1_ratio=0.4, free=[3]),
            cls(0.5, [[3, 0, 1], [2]], l1_ratio=0.2),
        ]


def check_strength(strength: object) -> float:
    """Return the strength as a finite number >= 0, or raise."""
    number = check_real("strength", strength, low=0.0)
    if math.isinf(number):
        raise ParameterError("a finite strength; got inf. Pass a number.")
    return number


def check_weights(weights: Weights) -> FloatArray:
    """Return the weights as finite numbers >= 0, or raise."""
    checked = check_vector("weights", weights)
    if (checked < 0).any():
        raise ParameterError(f"`weights` >= 0; got {checked.min():g}. Pass non-negative weights.")
    return checked


def checked_columns(what: str, columns: Any) -> IntArray:
    """Return the column numbers of one group as an array, or raise."""
    array = np.atleast_1d(np.asarray(columns))
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise ParameterError(f"`{what}` as column numbers from 0; got {columns!r}. Pass integers.")
    return array.astype(np.int64)


def _parse(groups: Any) -> tuple[int, list[IntArray]]:
    """Return a group size and no groups, or 0 and the groups as arrays of columns."""
    if isinstance(groups, int | np.integer):
        return check_int("groups", groups, low=1), []
    try:
        items = list(groups)
    except TypeError as error:
        raise ParameterError(
            f"groups as a size, labels or lists of columns; got {groups!r}. Pass `groups=5`, for "
            "example, for groups of five columns in a row."
        ) from error
    # One number per column: labels. They are turned into lists of columns, in the order of labels.
    if items and all(np.ndim(item) == 0 for item in items):
        labels = np.asarray(items)
        if labels.dtype.kind not in "iu":
            raise ParameterError(
                f"integer labels, one per column; got {items[:4]}. Number groups, or pass lists."
            )
        _, number = np.unique(labels, return_inverse=True)
        order = np.argsort(number, kind="stable")
        return 0, np.split(order, np.cumsum(np.bincount(number))[:-1])
    # Otherwise lists of columns.
    lists = [checked_columns(f"group {k}", item) for k, item in enumerate(items)]
    empty = [k for k, group in enumerate(lists) if not group.size]
    if empty or not lists:
        what = f"group {empty[0]} is empty" if empty else "no group at all"
        raise ParameterError(f"groups that hold columns; got {what}. Leave the group out.")
    return 0, lists


def _check_disjoint(lists: list[IntArray]) -> None:
    """Raise if a column is in two groups."""
    values, counts = np.unique(np.concatenate(lists), return_counts=True)
    twice = values[counts > 1]
    if twice.size:
        raise ParameterError(
            f"groups that share no column; got column {twice[0]} twice. Keep one, or use TreeL2."
        )


def _check_cover(lists: list[IntArray], free: IntArray, d: int) -> None:
    """Raise unless every one of d columns is in a group or free."""
    seen = np.zeros(d, dtype=bool)
    for group in (*lists, free):
        if group.size and group.max() >= d:
            beyond = "" if seen.all() else " (or a column is missing)"
            raise ParameterError(
                f"groups of the columns 0 to {d - 1}; got column {group.max()}{beyond}. Number the "
                "columns from 0 and name those in no group in `free`."
            )
        seen[group] = True
    if not seen.all():
        raise ParameterError(
            f"every one of {d} columns in a group; got none for column {np.flatnonzero(~seen)[0]}. "
            "Name unpenalised columns in `free`."
        )
