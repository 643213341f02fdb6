"""Array aliases, targets, and the arrays by which penalties and data are passed to kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

#: Rows of a part of a target; its labels and shares take 1 MB as float64.
PART_ROWS = 1 << 16


def even(value: float, size: int) -> FloatArray:
    """An array of ``size`` equal numbers that takes the memory of one; it must not be written to.

    Examples
    --------
    >>> even(0.5, 3)
    array([0.5, 0.5, 0.5])
    """
    # Not np.broadcast_to: kernels would be compiled once more for read-only arrays.
    return np.lib.stride_tricks.as_strided(np.array([value]), shape=(size,), strides=(0,))


def absolute_sum(values: FloatArray) -> float:
    """``np.abs(values).sum()`` without a temporary array of all values.

    Examples
    --------
    >>> absolute_sum(np.array([1.0, -2.0]))
    3.0
    """
    if not isinstance(values, np.ndarray):  # values held by workers, which sum them there
        return float(np.abs(values).sum())
    parts = range(0, max(1, values.shape[0]), PART_ROWS)
    return float(sum(np.abs(values[low : low + PART_ROWS]).sum() for low in parts))


class ClassRows(NamedTuple):
    """Rows of one class, their weights within the class (summing to 1) and its total weight."""

    rows: IntArray
    share: FloatArray
    total: float


class ClassSplit(NamedTuple):
    """Both classes of a binary target."""

    positive: ClassRows
    negative: ClassRows


class PairRows(NamedTuple):
    """Rows of one class that have a pair, group after group.

    Parameters
    ----------
    rows : (m,) int array
    share : (m,) array
        Weights within class and group, summing to 1 in each group.
    weight : (m,) array
        ``share`` times the weight of the group, summing to 1.
    start : (groups + 1,) int array
        Rows of group g are ``start[g]:start[g + 1]``.
    group : (m,) int array
        Group of each row; empty where there is one group only.
    """

    rows: IntArray
    share: FloatArray
    weight: FloatArray
    start: IntArray
    group: IntArray


class PairSplit(NamedTuple):
    """Both classes of a binary target for pair losses, and the weight of each group."""

    positive: PairRows
    negative: PairRows
    part: FloatArray


@dataclass(frozen=True)
class Target:
    """Labels or values that a loss compares the scores with, with the weights and groups of rows.

    Parameters
    ----------
    y : (n,) float64 array
        Encoded target: -1/+1 for binary classification, any real for regression. Labels may be
        int8 (`compacted`), as those of shards are; kernels take them as float64 from `parts`.
    weight : (n,) float64 array, optional
        Non-negative row weights; ``None`` means all equal.
    groups : (n,) int array, optional
        Group of each row (a query, a day): losses over pairs then compare only rows of the same
        group. Losses over rows ignore it.
    total : float, optional
        Sum of weights that `share` is relative to; by default that of these rows. A part of the
        rows has the sum over all rows.
    """

    y: Array
    weight: FloatArray | None = None
    groups: IntArray | None = None
    total: float | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.y.shape[0])

    @property
    def share(self) -> FloatArray:
        """Weights divided by their sum, so that a weighted mean is a dot product.

        Those of a compact target are not cached.

        Examples
        --------
        >>> import numpy as np
        >>> Target(np.array([1.0, -1.0]), np.array([3.0, 1.0])).share
        array([0.75, 0.25])
        """
        return self._found_share() if self.has_byte_labels else self._kept_share

    @cached_property
    def _kept_share(self) -> FloatArray:
        return self._found_share()

    def _found_share(self) -> FloatArray:
        if self.weight is None:
            return np.full(self.n_rows, 1.0 / self._all)
        share: FloatArray = self.weight / self._all
        return share

    @cached_property
    def _all(self) -> float:
        """Sum of weights that `share` is relative to."""
        if self.total is not None:
            return self.total
        return float(self.n_rows if self.weight is None else self.weight.sum())

    @property
    def has_byte_labels(self) -> bool:
        """Whether the labels are int8."""
        return self.y.dtype == np.int8

    @property
    def wide_y(self) -> FloatArray:
        """`y` as float64, for kernels over all rows."""
        return self.y.astype(np.float64, copy=False)

    def compacted(self) -> Target:
        """The same target with labels -1 and +1 as int8, other values as float64.

        Examples
        --------
        >>> import numpy as np
        >>> Target(np.array([1.0, -1.0])).compacted().y
        array([ 1, -1], dtype=int8)
        """
        labels = bool((np.abs(self.y) == 1).all())
        y = self.y.astype(np.int8 if labels else np.float64, copy=False)
        return self if y is self.y else replace(self, y=y)

    def parts(self) -> Iterator[tuple[slice, Target]]:
        """Slices of the rows with their targets as float64, for sums over rows.

        Parts have `PART_ROWS` rows and are not cached; a target of fewer than twice as many float64
        labels is one part. Shares are relative to all rows, so that a row loss is the sum of its
        values on the parts.

        Examples
        --------
        >>> import numpy as np
        >>> target = Target(np.array([1.0, -1.0])).compacted()
        >>> [(rows.stop, part.y, part.share) for rows, part in target.parts()]
        [(2, array([ 1., -1.]), array([0.5, 0.5]))]
        """
        return ((rows, self.part(rows)) for rows in self.part_rows())

    def part_rows(self) -> list[slice]:
        """The slices of `parts`."""
        if not self.has_byte_labels and self.n_rows < 2 * PART_ROWS:
            return [slice(0, self.n_rows)]
        lows = range(0, self.n_rows, PART_ROWS)
        return [slice(low, min(low + PART_ROWS, self.n_rows)) for low in lows]

    def part(self, rows: slice) -> Target:
        """The targets of one of the slices of `part_rows`."""
        if not self.has_byte_labels and rows.stop - rows.start == self.n_rows:
            return self
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return Target(self.y[rows].astype(np.float64, copy=False), weight, groups, self._all)

    @property
    def classes(self) -> ClassSplit:
        """Rows of each class that carry weight, with weights normalised within the class.

        Row numbers take eight bytes each, so that those of a compact target are not cached.
        """
        return self._found_classes() if self.has_byte_labels else self._kept_classes

    @cached_property
    def _kept_classes(self) -> ClassSplit:
        return self._found_classes()

    def _found_classes(self) -> ClassSplit:
        return ClassSplit(self._one_class(1.0), self._one_class(-1.0))

    def _one_class(self, label: float) -> ClassRows:
        in_class = self.y == label
        if self.weight is not None:
            in_class &= self.weight > 0
        rows = np.flatnonzero(in_class)
        if self.weight is None:
            return ClassRows(rows, even(1.0 / max(1, rows.size), rows.size), float(rows.size))
        weight = self.weight[rows]
        total = float(weight.sum())
        return ClassRows(rows, weight / total if rows.size else weight, total)

    @property
    def pairs(self) -> PairSplit:
        """Rows with at least one row of the other class in their group.

        The weight of a group is in proportion to that of its rows; groups without one of the
        classes are left out. For a compact target without groups the rows are not cached, as in
        `classes`.

        Examples
        --------
        >>> import numpy as np
        >>> y, groups = np.array([1.0, -1.0, -1.0, 1.0]), np.array([7, 7, 7, 8])
        >>> Target(y, groups=groups).pairs.negative.weight
        array([0.5, 0.5])
        """
        large = self.has_byte_labels and self.groups is None
        return self._found_pairs() if large else self._kept_pairs

    @cached_property
    def _kept_pairs(self) -> PairSplit:
        return self._found_pairs()

    def _found_pairs(self) -> PairSplit:
        pos, neg = self.classes
        if self.groups is None:
            return PairSplit(_ungrouped(pos), _ungrouped(neg), np.ones(1))
        # Groups with both classes; the rows of each class in their order.
        used = np.intersect1d(self.groups[pos.rows], self.groups[neg.rows])
        pos, neg = (self._by_group(side.rows, used) for side in (pos, neg))
        codes = [np.searchsorted(used, self.groups[side.rows]) for side in (pos, neg)]
        totals = [
            np.bincount(code, side.share, minlength=used.size).astype(float)
            for code, side in zip(codes, (pos, neg), strict=True)
        ]
        # Weight of each group, of sum 1.
        part = (totals[0] + totals[1]) / (totals[0].sum() + totals[1].sum())
        first, second = (
            _grouped(side, code, total, part)
            for side, code, total in zip((pos, neg), codes, totals, strict=True)
        )
        return PairSplit(first, second, part)

    def _by_group(self, rows: IntArray, used: IntArray) -> ClassRows:
        """Rows of some groups, group after group, with their weights as given."""
        assert self.groups is not None
        rows = rows[np.isin(self.groups[rows], used)]
        rows = rows[np.argsort(self.groups[rows], kind="stable")]
        weight = np.ones(rows.size) if self.weight is None else self.weight[rows]
        return ClassRows(rows, weight, float(weight.sum()))

    def take(self, index: IntArray) -> Target:
        """Target of the rows ``index``."""
        weight = None if self.weight is None else self.weight[index]
        groups = None if self.groups is None else self.groups[index]
        return Target(self.y[index], weight, groups)


def _ungrouped(side: ClassRows) -> PairRows:
    """Rows of a class that are all in one group."""
    start = np.array([0, side.rows.size], dtype=np.int64)
    return PairRows(side.rows, side.share, side.share, start, np.empty(0, dtype=np.int64))


def _grouped(side: ClassRows, code: IntArray, total: FloatArray, part: FloatArray) -> PairRows:
    """Rows of a class in groups of weight ``part``, where the class weighs ``total``."""
    share = side.share / total[code]
    start = np.searchsorted(code, np.arange(total.size + 1)).astype(np.int64)
    return PairRows(side.rows, share, share * part[code], start, code)


class DuplicateRows(NamedTuple):
    """Rows of a matrix sorted so that equal rows are adjacent.

    ``order`` holds the row numbers, ``starts`` the positions in it at which a set of equal rows
    begins.
    """

    order: IntArray
    starts: IntArray

    def total(self, values: FloatArray) -> FloatArray:
        """Sum of the values over each set of equal rows."""
        sums: FloatArray = np.add.reduceat(values[self.order], self.starts)
        return sums


class SeparableSpec(NamedTuple):
    """A penalty that is a sum over coordinates, as arrays for coordinate kernels.

    Coordinate j contributes ``l1_j |w_j| + l2_j/2 w_j^2`` and is bounded by ``[lower_j, upper_j]``.
    """

    l1: FloatArray
    l2: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def uniform(self) -> bool:
        """Whether each field is a single number, the same for all coordinates."""
        return not any(level.ndim for level in self)


class BlockSpec(NamedTuple):
    """A penalty on disjoint groups of coordinates, as arrays for block kernels.

    Block b holds the coordinates ``indices[indptr[b]:indptr[b + 1]]`` (unsigned) and contributes
    ``weight_b |w_b|_2 + l1_b |w_b|_1``. Every coordinate is in one block.
    """

    indptr: Array
    indices: Array
    weight: FloatArray
    l1: FloatArray


class TreeSpec(NamedTuple):
    """A penalty on nested groups of coordinates, as arrays for tree kernels.

    Node t contributes ``weight_t |w_D(t)|_2``, D(t) the coordinates at or below it. The first nodes
    are the coordinates, the others hold none. ``parent`` is the node above each node, or the number
    of nodes for those at the top; ``order`` lists children before parents (both unsigned).
    """

    parent: Array
    order: Array
    weight: FloatArray


class CompressedColumns(NamedTuple):
    """Compressed columns for coordinate kernels, ``indptr`` and ``indices`` unsigned.

    Dense columns store every row. Compressed rows are the compressed columns of the transpose.
    """

    indptr: Array
    indices: Array
    values: Array
