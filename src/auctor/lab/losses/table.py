"""Max-margin loss of any measure of the contingency table, which a user gives as a function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from auctor.core.errors import DataError, ParameterError, speaks_for_itself
from auctor.core.types import FloatArray, Target
from auctor.kernels.linalg.sorting import ascending_order
from auctor.lab.kernels.tables import largest
from auctor.losses.base import BaseLoss
from auctor.losses.contingency import Contingency

#: Entries of a part of the table that is held at a time: 32 MB of floats.
PART = 1 << 22


@dataclass(frozen=True)
class TableLoss(Contingency):
    """Max-margin loss of a measure ``delta`` of the contingency table (SVM-perf).

    ``max over labellings z of delta(z) + mean_i s_i (z_i - y_i)``, which is at least the delta of
    predicting the rows with a score above 0. For each table the most violated labelling predicts
    the highest scores of each class positive, so the maximum is over tables: it takes a sort and
    ``(n_pos + 1) (n_neg + 1)`` sums. The loss has kinks and no smoothed form; `Bmrm` minimises it
    by cutting planes with a certified gap.

    Parameters
    ----------
    delta : callable
        ``delta(a, b)`` of a true positives and b false positives, or ``delta(a, b, c, d)`` with c
        false negatives and d true negatives too. It takes arrays that broadcast, and returns the
        loss of each table; -inf for a table that is not allowed. Lower is better.

    Examples
    --------
    One minus Jaccard's index, ``TP / (TP + FP + FN)``:

    >>> jaccard = TableLoss(lambda a, b, c, d: 1.0 - a / (a + b + c))
    >>> target = Target(np.array([1.0, 1.0, -1.0, -1.0]))
    >>> jaccard.value(np.array([3.0, 2.0, -2.0, -3.0]), target)
    0.0
    >>> jaccard.value(np.zeros(4), target)
    1.0

    References
    ----------
    Joachims, A support vector method for multivariate performance measures, 2005.
    """

    delta: Callable[..., Any]

    smooth = False
    weights = "class"  # the counts of a table have no meaning with other weights

    @speaks_for_itself
    def __post_init__(self) -> None:
        if not callable(self.delta) or self._width not in (2, 4):
            raise ParameterError(
                "`delta` to be a function of 2 or of 4 counts; got "
                f"{getattr(self.delta, '__name__', repr(self.delta))}. Pass delta(a, b)."
            )

    @property
    def _width(self) -> int:
        """Number of arguments of ``delta`` without a default."""
        try:
            arguments = inspect.signature(self.delta).parameters.values()
        except (TypeError, ValueError):  # a compiled function without a signature
            return 2
        return sum(one.default is one.empty for one in arguments)

    @speaks_for_itself
    def check_target(self, target: Target) -> None:
        """Refuse targets with one class, and weights, for which a table has no counts."""
        super().check_target(target)
        check_equal_weights(target)

    def value_grad(self, scores: FloatArray, target: Target) -> tuple[float, FloatArray]:
        """Loss and a subgradient in the scores; O(n log n + n_pos n_neg)."""
        grad = np.zeros_like(scores)
        if np.isnan(scores).any():
            grad.fill(np.nan)
            return math.nan, grad
        count = sum(rows.rows.size for rows in target.classes)
        sums, orders = [], []
        for rows in target.classes:
            order = rows.rows[ascending_order(-scores[rows.rows])]  # the highest first
            top = np.concatenate(([0.0], np.cumsum(scores[order])))
            sums.append(2.0 / count * top)
            orders.append(order)
        # A positive that is not predicted loses its score twice: once as z, once as y.
        gains_pos, gains_neg = sums[0] - sums[0][-1], sums[1]
        best = (-math.inf, 0, 0)
        for first, part in self._parts(orders[0].size, orders[1].size):
            best = largest(part, gains_pos, gains_neg, first, best)
        value, a, b = best
        if not math.isfinite(value):
            raise DataError(
                f"`delta` that allows a table; got {value} for all of them. Return numbers.",
                part="TableLoss",
            )
        grad[orders[0][a:]] = -2.0 / count
        grad[orders[1][:b]] = 2.0 / count
        return value, grad

    def infimum(self, target: Target) -> float:
        """The loss of the true labelling, unless it is not allowed."""
        pos, neg = (rows.rows.size for rows in target.classes)
        _, part = next(self._parts(pos, neg, last=True))
        return float(part[0, 0]) if np.isfinite(part[0, 0]) else -math.inf

    def _parts(self, pos: int, neg: int, *, last: bool = False) -> Iterator[tuple[int, FloatArray]]:
        """The table of ``delta``, some numbers of true positives at a time; only the last one."""
        step = max(1, PART // (neg + 1))
        b = np.arange(neg + 1, dtype=np.float64)[None, :]
        for first in range(pos if last else 0, pos + 1, step):
            a = np.arange(first, min(first + step, pos + 1), dtype=np.float64)[:, None]
            counts = (a, b) if self._width == 2 else (a, b, pos - a, neg - b)
            with np.errstate(all="ignore"):
                table = np.asarray(self.delta(*counts), dtype=np.float64)
            shape = (a.size, b.size)
            try:
                table = np.ascontiguousarray(np.broadcast_to(table, shape))
            except ValueError as error:
                raise DataError(
                    f"`delta` to return an array of shape {shape}; got {table.shape}. Write it for "
                    "arrays that broadcast.",
                    part="TableLoss",
                ) from error
            yield first, np.where(np.isnan(table), -np.inf, table)

    @classmethod
    def examples(cls) -> list[BaseLoss]:
        """Instances the conformance kit tests."""
        return [cls(error_of), cls(lambda a, b, c, d: 1.0 - a / (a + b + c))]


def check_equal_weights(target: Target) -> None:
    """Refuse weights that differ, unless they are 0: those rows do not count."""
    weight = np.ones(1) if target.weight is None else target.weight[target.weight > 0.0]
    if weight.min() < weight.max():
        raise DataError("rows of equal weights to count; got different ones. Drop the weights.")


def error_of(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Error rate of a contingency table."""
    return (b + c) / (a + b + c + d)
