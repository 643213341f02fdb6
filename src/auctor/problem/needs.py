"""`Need`: what a solver may need of a problem, each with its words and its condition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag
from functools import cached_property
from typing import Any

import numpy as np

from auctor.core.capabilities import (
    BLOCKS,
    CENTRABLE,
    COMPILED,
    CURVED,
    PAIRED,
    SCALE_INVARIANT,
    SEPARABLE,
    THRESHOLDED,
    TREE,
    Capability,
    PenaltyForm,
)
from auctor.core.data_capabilities import COLUMNS, DENSE, GRAM, ROWS, SUBSETS
from auctor.core.protocols import Coupling, Data, Loss, Penalty
from auctor.core.types import SeparableSpec
from auctor.kernels.losses.pointwise import curve_bound
from auctor.problem.hessian import FACTOR_PARAMS, PAIR_ENTRIES


@dataclass(frozen=True)
class Parts:
    """The parts of a problem, with the facts that several needs depend on."""

    loss: Loss
    penalty: Penalty
    data: Data
    n_params: int

    @cached_property
    def spec(self) -> SeparableSpec | None:
        """The arrays of the penalty, if it separates over coordinates."""
        return self.penalty.separable(self.data.n_columns)

    @cached_property
    def free(self) -> bool:
        """Whether the penalty leaves every weight unbounded."""
        spec = self.spec
        return spec is None or bool(np.isinf(spec.lower).all() and np.isinf(spec.upper).all())

    @property
    def one_group(self) -> bool:
        """Whether no pairs within groups are compared; those would need factors for every group."""
        return self.loss.coupling is Coupling.ROW or self.data.target.groups is None

    @property
    def low_rank(self) -> bool:
        """Whether the curvature is a diagonal plus a few columns."""
        return CURVED.has(self.loss) and self.loss.low_rank and self.one_group

    @property
    def small_matrix(self) -> bool:
        """Whether the curvature of a convex loss can be formed as a dense matrix."""
        d = self.n_params
        few = d <= FACTOR_PARAMS and self.data.n_rows * d <= PAIR_ENTRIES
        return CURVED.has(self.loss) and self.loss.convex and few and DENSE.has(self.data)

    @property
    def curve_bound(self) -> float:
        """The largest curvature of a row; infinite where no bound is known."""
        loss = COMPILED.find(self.loss)
        return math.inf if loss is None else curve_bound(loss.kind, loss.width)


Condition = Callable[[Parts], bool]


def _fact(words: str, condition: Condition) -> tuple[str, Condition]:
    return words, condition


def _of_loss(capability: Capability[Loss, Any]) -> tuple[str, Condition]:
    return capability.words, lambda parts: capability.has(parts.loss)


def _of_data(capability: Capability[Data, Any]) -> tuple[str, Condition]:
    return capability.words, lambda parts: capability.has(parts.data)


def _of_penalty(form: PenaltyForm[Any]) -> tuple[str, Condition]:
    return form.words, lambda parts: form.find(parts.penalty, parts.data.n_columns) is not None


class Need(Flag):
    """What a solver needs of a problem; ``Problem.provides`` has the flags of what it offers.

    Each need is declared by its words in messages and its condition on the parts of a problem;
    capabilities of losses, data and penalties bring theirs along.
    """

    words: str
    condition: Condition

    def __new__(cls, words: str, condition: Condition) -> Need:
        """The next flag, with its words and its condition."""
        need = object.__new__(cls)
        need._value_ = 1 << len(cls.__members__)
        need.words, need.condition = words, condition
        return need

    SMOOTH_LOSS = _fact("a differentiable loss", lambda p: p.loss.smooth and p.loss.order >= 1)
    CURVATURE = _of_loss(CURVED)
    CONVEX_LOSS = _fact(
        "a convex loss with a subgradient", lambda p: p.loss.convex and p.loss.order >= 1
    )
    PAIR_LOSS = _of_loss(PAIRED)
    THRESHOLD_LOSS = _fact(
        THRESHOLDED.words, lambda p: THRESHOLDED.has(p.loss) and not p.loss.smooth
    )
    LOW_RANK_CURVATURE = _fact(
        "a loss whose curvature is diagonal plus a few columns", lambda p: p.low_rank
    )
    MATRIX_CURVATURE = _fact(
        "such a loss, or a convex one with curvature on data of few columns",
        lambda p: p.low_rank or p.small_matrix,
    )
    QUADRATIC_LOSS = _fact("a loss that is quadratic in the scores", lambda p: p.loss.quadratic)
    QUADRATIC_PAIRS = _fact(
        "the pairwise square loss without groups",
        lambda p: p.loss.quadratic and p.loss.coupling is Coupling.GLOBAL and p.one_group,
    )
    SCALE_INVARIANT_LOSS = _of_loss(SCALE_INVARIANT)
    SMOOTHABLE_LOSS = _fact(
        "a non-smooth loss with a smoothed form", lambda p: p.loss.smoothed(1.0) is not None
    )
    CENTRED_SMOOTHING = _of_loss(CENTRABLE)
    ROW_LOSS = _fact("a loss that is a sum over rows", lambda p: p.loss.coupling is Coupling.ROW)
    BOUNDED_CURVATURE = _fact(
        "a loss with a known bound on its curvature", lambda p: math.isfinite(p.curve_bound)
    )
    POINTWISE_LOSS = _of_loss(COMPILED)
    SMOOTH_PENALTY = _fact("a differentiable penalty", lambda p: p.penalty.smooth)
    PROX = _fact("a penalty with a prox", lambda p: True)
    SEPARABLE_PENALTY = _of_penalty(SEPARABLE)
    BLOCK_PENALTY = _of_penalty(BLOCKS)
    TREE_PENALTY = _of_penalty(TREE)
    UNBOUNDED = _fact("a penalty that leaves every weight unbounded", lambda p: p.free)
    STRONG_PENALTY = _fact(
        "an l2 part on every column and no box",
        lambda p: p.spec is not None and p.free and bool((p.spec.l2 > 0.0).all()),
    )
    GRAM = _of_data(GRAM)
    COLUMNS = _of_data(COLUMNS)
    COLUMN_SUBSETS = _of_data(SUBSETS)
    MATRIX_COLUMNS = _fact(
        "column access to the data, or Gram matrices of some columns",
        lambda p: COLUMNS.has(p.data) or (GRAM.has(p.data) and SUBSETS.has(p.data)),
    )
    ROWS = _of_data(ROWS)
    DENSE = _of_data(DENSE)


#: A solver that needs nothing.
NOTHING = Need.PROX ^ Need.PROX


def provided(parts: Parts) -> Need:
    """The union of the needs that a problem of these parts fulfils."""
    met = NOTHING
    for need in Need:
        if need.condition(parts):
            met |= need
    return met


def describe(needs: Need) -> str:
    """The needs as text.

    Examples
    --------
    >>> describe(Need.CURVATURE | Need.PROX)
    'a loss with curvature, a penalty with a prox'
    """
    return ", ".join(need.words for need in needs)
