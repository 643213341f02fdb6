"""Flags for what losses, penalties and data offer and what solvers need."""

from __future__ import annotations

from enum import Enum, Flag, auto


class Access(Flag):
    """Capabilities of a data set beyond its sizes, its target and the two products.

    Each flag stands for a small protocol in `auctor.core.protocols`.
    """

    PRODUCTS = 0
    SECOND_ORDER = auto()
    GRAM = auto()
    ROWS = auto()
    COLUMNS = auto()
    SUBSETS = auto()
    DENSE = auto()
    RETARGET = auto()
    EVERYTHING = SECOND_ORDER | GRAM | ROWS | COLUMNS | SUBSETS | DENSE | RETARGET


class Coupling(Flag):
    """Whether a loss is a sum over rows or depends on several rows jointly (pairs, sets)."""

    ROW = auto()
    GLOBAL = auto()


class Splits(Enum):
    """How a loss can be computed from parts of the rows, without all scores in one place.

    ``ROWS``: as the weighted mean of the losses of the parts. ``PAIRS``: as the weighted mean over
    the pairs of each part of one class with all rows of the other. ``THRESHOLD``: as a sum over
    rows once a threshold is known, which is found by sums over the parts. ``NOT``: it needs all
    scores.
    """

    ROWS = auto()
    PAIRS = auto()
    THRESHOLD = auto()
    NOT = auto()


class Offers(Flag):
    """Capabilities of a loss beyond its value, its gradient and (if ``order`` is 2) its curvature.

    Each flag stands for a small protocol in `auctor.core.capabilities`.
    """

    NOTHING = 0
    CONJUGATE = auto()
    SMOOTHING = auto()
    TANGENT = auto()
    CENTRING = auto()
    SHIFTS = auto()
    SORTING = auto()
    COMPILED = auto()
    PAIRS = auto()
    THRESHOLD = auto()


class Need(Flag):
    """What a solver needs of a problem; ``Problem.provides`` has the flags of what it offers."""

    NONE = 0
    SMOOTH_LOSS = auto()
    CURVATURE = auto()
    CONVEX_LOSS = auto()
    PAIR_LOSS = auto()
    THRESHOLD_LOSS = auto()
    LOW_RANK_CURVATURE = auto()
    MATRIX_CURVATURE = auto()
    QUADRATIC_LOSS = auto()
    QUADRATIC_PAIRS = auto()
    SCALE_INVARIANT_LOSS = auto()
    SMOOTHABLE_LOSS = auto()
    CENTRED_SMOOTHING = auto()
    ROW_LOSS = auto()
    POINTWISE_LOSS = auto()
    BOUNDED_CURVATURE = auto()
    SMOOTH_PENALTY = auto()
    PROX = auto()
    SEPARABLE_PENALTY = auto()
    STRONG_PENALTY = auto()
    BLOCK_PENALTY = auto()
    TREE_PENALTY = auto()
    UNBOUNDED = auto()
    GRAM = auto()
    COLUMNS = auto()
    COLUMN_SUBSETS = auto()
    MATRIX_COLUMNS = auto()
    ROWS = auto()
    DENSE = auto()


#: Text of each missing need in an error message.
NEED_WORDS = {
    Need.SMOOTH_LOSS: "a differentiable loss",
    Need.CURVATURE: "a loss with curvature",
    Need.CONVEX_LOSS: "a convex loss with a subgradient",
    Need.PAIR_LOSS: "a loss that is a mean over pairs of a row loss",
    Need.THRESHOLD_LOSS: "a loss that is a row loss with a free threshold",
    Need.LOW_RANK_CURVATURE: "a loss whose curvature is diagonal plus a few columns",
    Need.MATRIX_CURVATURE: "such a loss, or a convex one with curvature on data of few columns",
    Need.QUADRATIC_LOSS: "a loss that is quadratic in the scores",
    Need.QUADRATIC_PAIRS: "the pairwise square loss without groups",
    Need.SCALE_INVARIANT_LOSS: "a loss of Gaussian scores, ExpectedError or ExpectedAuc",
    Need.SMOOTHABLE_LOSS: "a non-smooth loss with a smoothed form",
    Need.CENTRED_SMOOTHING: "a loss smoothed row by row",
    Need.ROW_LOSS: "a loss that is a sum over rows",
    Need.BOUNDED_CURVATURE: "a loss with a known bound on its curvature",
    Need.POINTWISE_LOSS: "a loss with a compiled form per row",
    Need.SMOOTH_PENALTY: "a differentiable penalty",
    Need.PROX: "a penalty with a prox",
    Need.SEPARABLE_PENALTY: "a penalty that separates over coordinates",
    Need.BLOCK_PENALTY: "a penalty on disjoint groups of coordinates",
    Need.TREE_PENALTY: "a penalty on disjoint or nested groups of coordinates",
    Need.UNBOUNDED: "a penalty that leaves every weight unbounded",
    Need.STRONG_PENALTY: "an l2 part on every column and no box",
    Need.GRAM: "weighted Gram matrices of the data",
    Need.COLUMNS: "column access to the data",
    Need.COLUMN_SUBSETS: "data that can leave columns out",
    Need.MATRIX_COLUMNS: "column access to the data, or Gram matrices of some columns",
    Need.ROWS: "row access to the data",
    Need.DENSE: "a dense copy of the data",
}


def describe(needs: Need) -> str:
    """The needs as text.

    Examples
    --------
    >>> describe(Need.CURVATURE | Need.PROX)
    'a loss with curvature, a penalty with a prox'
    """
    return ", ".join(words for flag, words in NEED_WORDS.items() if flag in needs)
