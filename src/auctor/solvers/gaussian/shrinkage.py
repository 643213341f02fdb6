"""Ledoit-Wolf shrinkage of class covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from auctor.core.checks import check_choice, check_real
from auctor.core.data_capabilities import ROWS
from auctor.core.protocols import Data
from auctor.core.result import Counts
from auctor.core.rounding import ROUNDING
from auctor.core.types import FloatArray
from auctor.solvers.gaussian.moments import ClassMoments, class_moments, class_shares

#: Least distance of a shrinkage intensity from 1 in the equivalent ridge, which would be infinite.
LEAST_REST = 1e-6


class Shrinkage(NamedTuple):
    """Ledoit-Wolf intensities of the classes, and the equivalent ridge on their sum.

    Attributes
    ----------
    positive, negative : float in [0, 1]
        Weight of the average variance times the identity in place of each class's covariance.
    strength : float
        Strength for ``L2(strength)`` with `GaussianAuc`, `ExpectedAuc` or `ExpectedError`.
    """

    positive: float
    negative: float
    strength: float


def shrinkage(data: Data) -> Shrinkage:
    """Ledoit-Wolf intensities with which to shrink class covariances towards the identity.

    The intensity of least expected squared error, ``sum_i p_i^2 |x x' - S|^2 / |S - m I|^2`` with
    m the average variance. The effective number of rows is ``1 / sum p_i^2`` over distinct rows, so
    neither repeated rows nor the scale of the weights matter. The target has the same variance for
    every column: standardise columns of different scale first. Costs the moments of `class_moments`
    and three passes.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor.data import as_data
    >>> X = np.random.default_rng(0).normal(size=(40, 100))
    >>> found = shrinkage(as_data(X, np.where(np.arange(40) % 2, 1.0, -1.0)))
    >>> found.positive > 0.5
    True

    References
    ----------
    Ledoit, Wolf, A well-conditioned estimator for large-dimensional covariance matrices, 2004.
    """
    return shrinkage_of(data, class_moments(data))


@dataclass(frozen=True)
class FixedShrinkage:
    """The same shrinkage of both classes.

    Parameters
    ----------
    amount : float in [0, 1]
    """

    amount: float

    #: Whether it is estimated from the rows, which needs full covariances.
    estimated: ClassVar[bool] = False

    def amounts(self, data: Data, moments: ClassMoments, counts: Counts) -> FloatArray:
        """Shrinkage of each class, the positive one first."""
        return np.full(2, self.amount)


class LedoitWolf:
    """The intensities of `shrinkage`."""

    estimated: ClassVar[bool] = True

    def amounts(self, data: Data, moments: ClassMoments, counts: Counts) -> FloatArray:
        """Shrinkage of each class, the positive one first."""
        return np.array(shrinkage_of(data, moments, counts)[:2])


#: Rules by the name that users type.
RULES = {"auto": LedoitWolf()}


def shrinkage_rule(value: str | float | None) -> FixedShrinkage | LedoitWolf | None:
    """The rule that a parameter stands for: none, a name, or a number in [0, 1]."""
    if value is None:
        return None
    if isinstance(value, str):
        return RULES[check_choice("shrinkage", value, tuple(RULES))]
    return FixedShrinkage(check_real("shrinkage", value, low=0.0, high=1.0))


def shrinkage_of(data: Data, moments: ClassMoments, counts: Counts | None = None) -> Shrinkage:
    """`shrinkage` from full or diagonal moments that are already computed."""
    d, noises = data.n_columns, []
    if counts is not None:
        counts.passes += 4
    by_row = ROWS.of(data)
    lengths, duplicates = by_row.row_lengths(np.ones(d)), by_row.duplicate_rows
    sizes = [float((matrix * matrix).sum()) for matrix in moments.covariance]
    for rows, mean, size in zip(data.target.classes, _column_means(data), sizes, strict=True):
        # Squared distances |x - mean|^2, and their mean square: the mean of |(x-m)(x-m)'|^2.
        about = lengths - 2.0 * data.scores(mean) + float(mean @ mean)
        fourth = float(rows.share @ np.maximum(about[rows.rows], 0.0) ** 2)
        # Equal rows count as one row of their total weight: a weight of 2 is a repeated row.
        merged = duplicates.total(class_shares(data, rows))
        noises.append(float(merged @ merged) * max(fourth - size, 0.0))
    levels = average_variances(moments, d)
    levels_of_classes = [
        _intensity(*parts, d) for parts in zip(noises, sizes, levels.tolist(), strict=True)
    ]
    total = moments.covariance[0] + moments.covariance[1]
    level = float(levels.sum())
    common = _intensity(sum(noises), float((total * total).sum()), level, d)
    return Shrinkage(
        levels_of_classes[0], levels_of_classes[1], common * level / max(1.0 - common, LEAST_REST)
    )


def _column_means(data: Data) -> FloatArray:
    return np.stack([data.gradient(class_shares(data, rows)) for rows in data.target.classes])


def average_variances(moments: ClassMoments, d: int) -> FloatArray:
    """Average variance of the d columns in each class."""
    return np.asarray(moments.variances.sum(axis=1) / d)


def _intensity(noise: float, size: float, level: float, d: int) -> float:
    """Shrinkage intensity: noise over the squared distance from the target, at most 1."""
    distance = size - d * level * level
    return min(1.0, noise / distance) if distance > ROUNDING * size else 1.0
