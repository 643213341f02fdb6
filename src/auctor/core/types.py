"""Array aliases and the small values that travel between parts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


class ClassRows(NamedTuple):
    """Rows of one class, their weights within the class (summing to 1) and its total weight."""

    rows: IntArray
    share: FloatArray
    total: float


class ClassSplit(NamedTuple):
    """Both classes of a binary target."""

    positive: ClassRows
    negative: ClassRows


@dataclass(frozen=True)
class Target:
    """What a loss compares the scores with; it travels with the rows.

    Parameters
    ----------
    y : (n,) float64 array
        Encoded target: -1/+1 for binary classification, any real for regression.
    weight : (n,) float64 array, optional
        Non-negative row weights; ``None`` means all equal.
    """

    y: FloatArray
    weight: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.y.shape[0])

    @cached_property
    def share(self) -> FloatArray:
        """Weights divided by their sum, so that a weighted mean is a dot product.

        Examples
        --------
        >>> import numpy as np
        >>> Target(np.array([1.0, -1.0]), np.array([3.0, 1.0])).share
        array([0.75, 0.25])
        """
        if self.weight is None:
            return np.full(self.n_rows, 1.0 / self.n_rows)
        share: FloatArray = self.weight / self.weight.sum()
        return share

    @cached_property
    def classes(self) -> ClassSplit:
        """Rows of each class that carry weight, with weights normalised within the class."""
        return ClassSplit(self._one_class(1.0), self._one_class(-1.0))

    def _one_class(self, label: float) -> ClassRows:
        chosen = self.y == label
        if self.weight is not None:
            chosen &= self.weight > 0
        rows = np.flatnonzero(chosen)
        weight = np.ones(rows.size) if self.weight is None else self.weight[rows]
        total = float(weight.sum())
        return ClassRows(rows, weight / total if rows.size else weight, total)

    def take(self, index: IntArray) -> Target:
        """Target of the rows ``index``."""
        return Target(self.y[index], None if self.weight is None else self.weight[index])


class SeparableSpec(NamedTuple):
    """A penalty that is a sum over coordinates, as the arrays coordinate kernels take.

    Coordinate j contributes ``l1_j |w_j| + l2_j/2 w_j^2`` and is confined to
    ``[lower_j, upper_j]``.
    """

    l1: FloatArray
    l2: FloatArray
    lower: FloatArray
    upper: FloatArray


class BlockSpec(NamedTuple):
    """A penalty on disjoint groups of coordinates, as the arrays block kernels take.

    Block b holds the coordinates ``indices[indptr[b]:indptr[b + 1]]`` (unsigned) and contributes
    ``weight_b |w_b|_2 + l1_b |w_b|_1``. Every coordinate is in one block.
    """

    indptr: Array
    indices: Array
    weight: FloatArray
    l1: FloatArray


class Columns(NamedTuple):
    """Compressed columns for coordinate kernels, ``indptr`` and ``indices`` unsigned.

    Dense columns store every row.
    """

    indptr: Array
    indices: Array
    values: Array
