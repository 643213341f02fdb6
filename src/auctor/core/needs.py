"""How a loss depends on the rows."""

from __future__ import annotations

from enum import Enum, Flag, auto


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
